/* SPDX-License-Identifier: BSD-3-Clause */
/* The grid of a communicator: parts, positions, and the two children of this rank. */
#include <stdlib.h>
#include <string.h>

#include "opal/node/node.h"
#include "opal/process/process.h"
#include "ompi/communicator/hw_topology.h"
#include "ompi/handle/handle.h"
#include "ompi/mca/coll/hier/hier.h"

int hier_domain_sizes[HIER_LEVELS_MAX + 1];

/* The last part whose first place is not behind that of the rank. */
int hier_part_of(const hier_comm_t *self, int rank)
{
    int low = 0, high = self->parts;
    while (high - low > 1) {
        int middle = low + (high - low) / 2;
        if (self->first[middle] <= self->places[rank])
            low = middle;
        else
            high = middle;
    }
    return low;
}

/* Memory without which this rank could not take part in any operation. */
static void *allocate(size_t bytes)
{
    void *memory = calloc(1, bytes);
    if (memory == NULL && ompi_schedule_spend_reserve())
        memory = calloc(1, bytes);
    return memory;
}

/* -- the parts ------------------------------------------------------------------------------- */

/* Replaces each key by the number of its part, in the order in which ranks first have the keys.
 * Returns the number of parts. `numbers` has room for 1 + the largest key, at least `count`. */
static int number_parts(int keys[], int count, int numbers[], int largest)
{
    int parts = 0;
    for (int key = 0; key <= largest; key++)
        numbers[key] = -1;
    for (int rank = 0; rank < count; rank++) {
        int *number = &numbers[keys[rank]];
        if (*number < 0)
            *number = parts++;
        keys[rank] = *number;
    }
    return parts;
}

/* Fills in the grid of ranks whose parts are known. `next` is the place of the next rank of each
 * part. */
static void arrange(hier_comm_t *self, const int part_of[], int next[])
{
    int size = self->comm->size;
    memset(self->first, 0, ((size_t)self->parts + 1) * sizeof self->first[0]);
    for (int rank = 0; rank < size; rank++)
        self->first[part_of[rank] + 1]++;
    self->width = size;
    self->is_even = true;
    for (int part = 0; part < self->parts; part++) {
        int ranks = self->first[part + 1];
        self->is_even &= ranks * self->parts == size;
        self->width = ranks < self->width ? ranks : self->width;
        self->first[part + 1] += self->first[part];
        next[part] = self->first[part];
    }
    self->is_in_order = true;
    for (int rank = 0; rank < size; rank++) {
        int place = next[part_of[rank]]++;
        self->ranks[place] = rank;
        self->places[rank] = place;
        self->is_in_order &= place == rank;
    }
    self->part = part_of[self->comm->rank];
    self->position = self->places[self->comm->rank] - self->first[self->part];
}

static int make_children(hier_comm_t *self, int room[])
{
    const int *own = self->ranks + self->first[self->part];
    int count = hier_part_size(self, self->part), error = MPI_SUCCESS;
    if (count > 1)
        error = ompi_coll_child_create(self->comm, own, count, &self->inner);
    if (error != MPI_SUCCESS || self->position >= self->width)
        return error;
    for (int part = 0; part < self->parts; part++)
        room[part] = self->ranks[self->first[part] + self->position];
    return ompi_coll_child_create(self->comm, room, self->parts, &self->outer);
}

/* The keys of all ranks are at least 0 and at most `largest`. Declines keys that do not divide the
 * ranks, or divide all of them. Overwrites the keys. */
static int divide(hier_comm_t *self, int keys[], int largest)
{
    size_t size = (size_t)self->comm->size, room = (size_t)largest + 1;
    int *numbers = allocate((room > size ? room : size) * sizeof *numbers);
    int *memory = allocate((3 * size + 1) * sizeof *memory);
    int error = numbers == NULL || memory == NULL ? MPI_ERR_NO_MEM : MPI_SUCCESS;
    if (error == MPI_SUCCESS) {
        self->parts = number_parts(keys, self->comm->size, numbers, largest);
        self->stage = HIER_DECLINED;
    }
    if (error == MPI_SUCCESS && self->parts > 1 && self->parts < self->comm->size) {
        self->places = memory;
        self->ranks = memory + size;
        self->first = memory + 2 * size;
        memory = NULL;
        arrange(self, keys, numbers);
        error = make_children(self, numbers);
        self->stage = HIER_READY;
    }
    free(memory);
    free(numbers);
    if (error != MPI_SUCCESS) {
        hier_grid_release(self);
        self->stage = HIER_NEW;
    }
    return error;
}

void hier_grid_release(hier_comm_t *self)
{
    ompi_coll_child_release(self->outer);
    ompi_coll_child_release(self->inner);
    free(self->places); /* the block of ranks and first, too */
    self->outer = self->inner = NULL;
    self->places = NULL;
}

/* -- by nodes, or by the settings ------------------------------------------------------------ */

static int divide_by_nodes(hier_comm_t *self, int keys[])
{
    int largest = 0;
    for (int rank = 0; rank < self->comm->size; rank++) {
        keys[rank] = (int)opal_process(ompi_comm_process(self->comm, rank))->node;
        largest = keys[rank] > largest ? keys[rank] : largest;
    }
    return divide(self, keys, largest);
}

static int divide_by_settings(hier_comm_t *self, int keys[])
{
    int size = self->comm->size, error = MPI_SUCCESS, largest = (int)opal_node_ranks();
    for (int level = 0; hier_domain_sizes[level] > 0 && error == MPI_SUCCESS; level++) {
        for (int rank = 0; rank < size; rank++)
            keys[rank] = opal_node_local_rank(ompi_comm_process(self->comm, rank)) /
                         hier_domain_sizes[level];
        error = divide(self, keys, largest);
        if (self->stage == HIER_READY)
            break;
    }
    return error;
}

int hier_grid_make(hier_comm_t *self)
{
    if (self->is_on_node && hier_domain_sizes[0] == 0)
        return MPI_SUCCESS;
    int *keys = allocate((size_t)self->comm->size * sizeof *keys);
    if (keys == NULL)
        return MPI_ERR_NO_MEM;
    int error = self->is_on_node ? divide_by_settings(self, keys) : divide_by_nodes(self, keys);
    free(keys);
    return error;
}

/* -- by the hardware ------------------------------------------------------------------------- */

/* Outermost first. */
static const char *const level_names[] = {"Package", "NUMANode", "L3Cache"};
enum { LEVELS = OPAL_COUNT_OF(level_names) };

/* In which domain of each level a rank is; -1: in none or in several. */
typedef struct domains {
    int of[LEVELS];
} domains_t;

static domains_t find_domains(void)
{
    domains_t own;
    for (int i = 0; i < LEVELS; i++) {
        int level = ompi_hw_level_of(level_names[i]), color;
        own.of[i] = ompi_hw_level_find(level, &color) == OMPI_HW_ONE ? color : -1;
    }
    return own;
}

/* Colors of hw_topology.h become small numbers, because on one node they differ in their lowest CPU
 * only. False: a rank is in no domain of that level. */
static bool take_keys(const domains_t all[], int level, int size, int keys[], int *largest)
{
    int least = all[0].of[level];
    for (int rank = 0; rank < size; rank++)
        least = all[rank].of[level] < least ? all[rank].of[level] : least;
    *largest = 0;
    for (int rank = 0; rank < size; rank++) {
        keys[rank] = all[rank].of[level] - least;
        *largest = keys[rank] > *largest ? keys[rank] : *largest;
    }
    return least >= 0;
}

/* An allgather of the components of lower priority. */
static int gather_domains(hier_comm_t *self, domains_t all[])
{
    domains_t own = find_domains();
    ompi_datatype_t *type = ompi_datatype_of(MPI_INT);
    ompi_coll_call_t call = {.kind = OMPI_ALLGATHER,
                             .comm = self->comm,
                             .send = {.buffer = own.of, .count = LEVELS, .type = type},
                             .recv = {.buffer = all, .count = LEVELS, .type = type}};
    ompi_schedule_t schedule;
    ompi_schedule_init(&schedule, self->comm, NULL);
    int error = ompi_coll_build_behind(&call, self, &schedule);
    if (error == MPI_SUCCESS)
        error = ompi_schedule_run(&schedule);
    ompi_schedule_fini(&schedule);
    return error;
}

int hier_grid_agree(hier_comm_t *self)
{
    int size = self->comm->size, error = MPI_ERR_NO_MEM, largest;
    domains_t *all = allocate((size_t)size * sizeof *all);
    int *keys = allocate((size_t)size * sizeof *keys);
    if (all != NULL && keys != NULL)
        error = gather_domains(self, all);
    for (int level = 0; level < LEVELS && error == MPI_SUCCESS && self->stage != HIER_READY;
         level++) {
        if (take_keys(all, level, size, keys, &largest))
            error = divide(self, keys, largest);
    }
    if (error == MPI_SUCCESS && self->stage == HIER_NEW)
        self->stage = HIER_DECLINED;
    free(keys);
    free(all);
    return error;
}
