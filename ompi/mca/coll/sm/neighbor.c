/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Neighbourhood collectives: an alltoallv (vector.c) whose rows have an item for each edge, with
 * the rank that it is for. A rank copies what it sends and what it receives; if that is long, only
 * what it receives.
 *
 * All ranks of the communicator wait for all, not for their neighbours. On two cores that takes
 * less time than messages between neighbours do, for all numbers of ranks that were measured (2, 4,
 * 8; doc/PERFORMANCE.md). With many ranks it would take more, so there is a limit (sm.c).
 *
 * Nonblocking calls are messages (coll/p2p/neighbor.c): in the area they would have to wait.
 */
#include <stdlib.h>

#include "ompi/mca/coll/sm/vector.h"
#include "ompi/topology/topology.h"

enum {
    EDGES_BYTES = 4096, /* of items, in a row, beside the data */
    STACK_DEGREE = 16,  /* edges, in and out together, that need no allocated memory */
};

/* The edges of this rank. */
typedef struct edges {
    sm_ports_t outs, ins;
    bool is_one; /* all blocks of a rank are the same data */
    void *room;
    sm_port_t ports[STACK_DEGREE];
    int ranks[STACK_DEGREE];
} edges_t;

static int list_edges(const sm_comm_t *self, const ompi_coll_call_t *call, edges_t *edges)
{
    int in, out, *ranks = edges->ranks;
    edges->outs.first = edges->ports;
    edges->is_one = call->kind == OMPI_NEIGHBOR_ALLGATHER || call->kind == OMPI_NEIGHBOR_ALLGATHERV;
    ompi_topology_degrees(call->comm->topology, self->rank, &in, &out);
    size_t all = (size_t)in + (size_t)out;
    if (all > STACK_DEGREE) {
        edges->room = malloc(all * (sizeof(sm_port_t) + sizeof(int)));
        if (edges->room == NULL)
            return MPI_ERR_NO_MEM;
        edges->outs.first = edges->room;
        ranks = (int *)(void *)(edges->outs.first + all);
    }
    edges->ins.first = edges->outs.first + out;
    sm_neighbor_ports(call, self->rank, ranks, &edges->outs, &edges->ins);
    return MPI_SUCCESS;
}

/* How many of the first `count` ports are with a rank. */
static uint32_t ports_with(const sm_ports_t *ports, uint32_t count, int rank)
{
    uint32_t found = 0;
    for (uint32_t i = 0; i < count; i++)
        found += ports->first[i].rank == rank;
    return found;
}

/* Writes this rank's row, with up to `bytes` of packed data. If that is not possible, all ranks
 * leave the call to messages. */
static void write_edges(sm_comm_t *self, const sm_slot_t *slot, size_t row, size_t bytes,
                        const edges_t *edges, sm_source_t *source)
{
    sm_vector_blocks_t blocks = {.count = (int)edges->outs.count, .ports = edges->outs.first};
    size_t items_bytes = sm_vector_items_bytes(blocks.count), wanted = items_bytes + bytes;
    if (source->error == MPI_SUCCESS && items_bytes > row)
        source->error = SM_FALL_BACK;
    if (source->error == MPI_SUCCESS) {
        sm_vector_write(self, slot, wanted < row ? wanted : row, &blocks, false, source);
        sm_vector_item_t *items = sm_vector_items(self, slot, self->rank, blocks.count);
        for (int i = 0; i < blocks.count; i++)
            items[i].rank = edges->outs.first[i].rank;
        sm_vector_head(self, slot, self->rank)->items = blocks.count;
    }
    if (source->error != MPI_SUCCESS)
        atomic_store_explicit(&self->area->refused[slot->half], slot->step, memory_order_relaxed);
}

/* The item of an owner's row that matches the i-th edge into this rank. NULL: there is none. */
static const sm_vector_item_t *match(const sm_comm_t *self, const sm_slot_t *slot,
                                     const edges_t *edges, uint32_t i)
{
    int owner = edges->ins.first[i].rank, items = sm_vector_head(self, slot, owner)->items;
    uint32_t earlier = ports_with(&edges->ins, i, owner);
    const sm_vector_item_t *item = sm_vector_items(self, slot, owner, items);
    for (; items > 0; items--, item++) {
        if (item->rank == self->rank && earlier-- == 0)
            return item;
    }
    return NULL;
}

/* A block that this rank sends to itself, as the i-th edge. */
static int copy_to_self(const edges_t *edges, uint32_t i, int rank)
{
    uint32_t at = 0, earlier = ports_with(&edges->ins, i, rank);
    for (;; at++) {
        if (at == edges->outs.count)
            return MPI_ERR_TRUNCATE;
        if (edges->outs.first[at].rank == rank && earlier-- == 0)
            break;
    }
    ompi_data_t from = edges->outs.first[at].data, to = edges->ins.first[i].data;
    int error = sm_vector_fit(&to, ompi_coll_bytes(from));
    if (to.count > 0 && error != MPI_ERR_TRUNCATE)
        sm_copy_own(from, to);
    return error;
}

static int read_edge(sm_comm_t *self, const sm_slot_t *slot, const edges_t *edges, uint32_t i)
{
    int owner = edges->ins.first[i].rank;
    if (owner == self->rank)
        return copy_to_self(edges, i, owner);
    if (!sm_vector_matches(self, slot, owner))
        return sm_step_differ(self);
    const sm_vector_item_t *item = match(self, slot, edges, i);
    if (item == NULL)
        return MPI_ERR_TRUNCATE;
    int readers = edges->is_one ? sm_vector_head(self, slot, owner)->items : 1;
    return sm_vector_read_item(self, slot, owner, item, edges->ins.first[i].data, readers);
}

/* Called when all rows can be read. A rank counts the edges that have been read. */
static int read_edges(sm_comm_t *self, const sm_slot_t *slot, const edges_t *edges)
{
    int error = MPI_SUCCESS;
    for (uint32_t i = 0; i < edges->ins.count; i++) {
        int owner = edges->ins.first[i].rank, taken = read_edge(self, slot, edges, i);
        error = error != MPI_SUCCESS ? error : taken;
        const sm_vector_head_t *head = sm_vector_head(self, slot, owner);
        if (head->where == SM_IN_MEMORY && sm_vector_matches(self, slot, owner))
            sm_vector_reader_done(self, slot, owner, head->items);
    }
    if (sm_vector_head(self, slot, self->rank)->where != SM_IN_MEMORY)
        return error;
    return sm_vector_await_readers(self, slot, (int)edges->outs.count, error);
}

int sm_neighbor(sm_comm_t *self, const ompi_coll_call_t *call, size_t bytes)
{
    size_t row = EDGES_BYTES + bytes < self->room_bytes ? EDGES_BYTES + bytes : self->room_bytes;
    edges_t edges = {.room = NULL};
    sm_slot_t slot;
    sm_source_t source = {.error = list_edges(self, call, &edges)};
    int error = sm_step_begin(self, SM_SYNC, row, &slot);
    if (error == MPI_SUCCESS) {
        write_edges(self, &slot, row, bytes, &edges, &source);
        error = sm_step_sync(self, &slot);
    }
    if (error == MPI_SUCCESS &&
        atomic_load_explicit(&self->area->refused[slot.half], memory_order_relaxed) == slot.step)
        error = SM_FALL_BACK;
    if (error == MPI_SUCCESS)
        error = read_edges(self, &slot, &edges);
    sm_source_fini(&source);
    free(edges.room);
    return error;
}
