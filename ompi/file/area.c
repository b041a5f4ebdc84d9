/* SPDX-License-Identifier: BSD-3-Clause */
/* Areas: the ranks of this node find each other, and the memory that the first of them makes. */
#include "ompi/file/area.h"

#include <stdlib.h>
#include <string.h>

#include "ompi/file/file.h"
#include "ompi/request/request.h"

/* What a rank tells the others. */
typedef struct item {
    int64_t first;   /* the first rank of its node, as it sees it */
    uint64_t offset; /* if it is the first one: of the memory; 0: there is none */
} item_t;

static bool is_here(const ompi_communicator_t *comm, int rank)
{
    return rank == comm->rank || opal_node_has(ompi_comm_process(comm, rank));
}

static ompi_file_local_t local_of(const ompi_communicator_t *comm, int rank)
{
    ompi_file_local_t local = {.rank = rank};
    int local_rank = opal_node_local_rank(ompi_comm_process(comm, rank));
    if (local_rank >= 0) {
        local.local_rank = (unsigned)local_rank;
        local.doorbell = &opal_node_slot(local.local_rank)->doorbell;
    }
    return local;
}

/* Those that may be of this rank's node; all that fails for want of memory is done here. */
static int prepare(const ompi_communicator_t *comm, ompi_file_area_t **result)
{
    int count = 1;
    for (int rank = 0; rank < comm->size; rank++)
        count += rank != comm->rank && is_here(comm, rank);
    ompi_file_area_t *area = calloc(1, sizeof *area);
    ompi_file_local_t *locals = calloc((size_t)count, sizeof *locals);
    int *numbers = calloc(4 * (size_t)comm->size, sizeof *numbers);
    void *memory = NULL;
    if (area == NULL || locals == NULL || numbers == NULL ||
        posix_memalign(&memory, _Alignof(ompi_file_shared_t), sizeof *area->memory) != 0) {
        free(numbers);
        free(locals);
        free(area);
        return MPI_ERR_NO_MEM;
    }
    memset(memory, 0, sizeof *area->memory);
    *area = (ompi_file_area_t){
        .memory = memory, .locals = locals, .node_of = numbers, .order = numbers + comm->size};
    for (int rank = 0; rank < comm->size; rank++) {
        if (is_here(comm, rank))
            locals[area->local_count++] = local_of(comm, rank);
    }
    *result = area;
    return MPI_SUCCESS;
}

static ompi_file_shared_t *make_memory(void)
{
    size_t bytes = sizeof(ompi_file_shared_t);
    ompi_lock();
    opal_shared_t *shared = opal_shared_make(bytes, bytes, bytes);
    ompi_unlock();
    return (ompi_file_shared_t *)shared;
}

static void drop_memory(ompi_file_shared_t *memory)
{
    ompi_lock();
    opal_shared_release(&memory->shared, 0);
    ompi_unlock();
}

/* The ranks that share `memory`, or this one alone. */
static void join(ompi_file_area_t *area, const ompi_communicator_t *comm, const item_t *items,
                 ompi_file_shared_t *memory)
{
    int count = 0;
    for (int i = 0; i < area->local_count; i++) {
        int rank = area->locals[i].rank;
        bool is_self = rank == comm->rank;
        if (!is_self && (memory == NULL || items[rank].first != items[comm->rank].first))
            continue;
        if (is_self)
            area->self = count;
        area->locals[count++] = area->locals[i];
    }
    area->local_count = count;
    area->is_shared = memory != NULL;
    if (memory != NULL) {
        free(area->memory);
        area->memory = memory;
    }
}

/* A rank whose first one has no memory to share is alone. Returns how many areas there are. */
static int find_nodes(int *node_of, const item_t *items, int size)
{
    int nodes = 0;
    for (int rank = 0; rank < size; rank++) {
        int first = (int)items[rank].first;
        node_of[rank] = items[first].offset != 0 ? first : rank;
        nodes += node_of[rank] == rank;
    }
    return nodes;
}

/* All ranks have what they need; `items` has room for what they tell. */
static int meet(ompi_file_area_t *area, ompi_communicator_t *comm, item_t *items)
{
    ompi_file_shared_t *made = NULL;
    item_t own = {.first = area->locals[0].rank};
    if (own.first == comm->rank && area->local_count > 1)
        made = make_memory();
    if (made != NULL)
        own.offset = opal_node_offset(made);
    int error = ompi_file_exchange(comm, &own, sizeof own, items);
    if (error != MPI_SUCCESS) {
        if (made != NULL)
            drop_memory(made);
        return error;
    }
    uint64_t offset = items[own.first].offset;
    join(area, comm, items, offset != 0 ? opal_node_at(offset) : NULL);
    area->nodes = find_nodes(area->node_of, items, comm->size);
    return MPI_SUCCESS;
}

static void destroy(ompi_file_area_t *area)
{
    if (!area->is_shared)
        free(area->memory);
    free(area->node_of);
    free(area->locals);
    free(area);
}

int ompi_file_area_create(ompi_communicator_t *comm, int error, ompi_file_area_t **result)
{
    ompi_file_area_t *area = NULL;
    item_t *items = calloc((size_t)comm->size, sizeof *items);
    if (error == MPI_SUCCESS)
        error = items != NULL ? prepare(comm, &area) : MPI_ERR_NO_MEM;
    error = ompi_file_agree(comm, error);
    bool may_go_on = error == MPI_SUCCESS && area != NULL;
    if (may_go_on && comm->size > 1) {
        error = meet(area, comm, items);
    } else if (may_go_on) {
        join(area, comm, items, NULL);
        area->nodes = 1;
    }
    free(items);
    if (error == MPI_SUCCESS)
        *result = area;
    else if (area != NULL)
        destroy(area);
    return error;
}

void ompi_file_area_leave(ompi_file_area_t *area)
{
    if (area == NULL)
        return;
    if (area->is_shared) {
        if (area->self == 0)
            opal_shared_release(&area->memory->shared, area->local_count);
        opal_shared_leave(&area->memory->shared);
    }
    destroy(area);
}

bool ompi_file_area_has_ended(const ompi_file_area_t *area, int local)
{
    return local != area->self && opal_node_peer_is_dead(area->locals[local].local_rank);
}

void ompi_file_area_notify(const ompi_file_area_t *area, int local)
{
    if (local == area->self)
        opal_wait_notify_self();
    else
        opal_doorbell_notify(area->locals[local].doorbell);
}
