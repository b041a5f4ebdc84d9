/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Ranges, lists, the index of a list, and the builder. See group.h.
 *
 * The index is a hash table of ranks with open addressing; it is at most half full, so that a
 * look-up sees 1.5 slots on average. A slot holds rank + 1, and 0 when it is free.
 */
#include "ompi/group/group.h"

#include <stdint.h>
#include <stdlib.h>

#include "opal/include/compiler.h"
#include "opal/process/process.h"
#include "ompi/handle/handle.h"

/* Shorter lists are searched from one end to the other. */
enum { INDEX_MIN_SIZE = 16 };

typedef struct ompi_group_index {
    unsigned shift; /* 32 - log2 of the number of slots */
    int ranks[];
} index_t;

ompi_group_t ompi_group_empty = {.head = OMPI_OBJECT_PREDEFINED(OMPI_GROUP, MPI_GROUP_EMPTY),
                                 .rank = MPI_UNDEFINED,
                                 .stride = 1};

static int own_process; /* written by ompi_group_init */

void ompi_group_init(int process)
{
    own_process = process;
    ompi_handle_define(&ompi_group_empty.head);
}

void ompi_group_fini(void)
{
    ompi_handle_undefine(&ompi_group_empty.head);
}

static void destroy(ompi_object_t *object)
{
    ompi_group_t *group = opal_container_of(object, ompi_group_t, head);
    for (int rank = 0; group->has_foreign && rank < group->size; rank++)
        opal_process_drop((uint32_t)ompi_group_process(group, rank));
    if (group->session != NULL)
        ompi_object_release(group->session);
    free(atomic_load_explicit(&group->index, memory_order_relaxed));
    free(group->processes);
    free(group);
}

/* Where a look-up of the process begins: the upper bits of a product by 2^32 / golden ratio. */
static uint32_t first_slot(const index_t *index, int process)
{
    return (uint32_t)process * UINT32_C(2654435769) >> index->shift;
}

static uint32_t next_slot(const index_t *index, uint32_t slot)
{
    return (slot + 1) & (UINT32_MAX >> index->shift);
}

/* NULL: no memory. */
static index_t *make_index(const ompi_group_t *group)
{
    unsigned bits = 1;
    while ((INT64_C(1) << bits) < 2 * (int64_t)group->size)
        bits++;
    index_t *index = calloc(1, sizeof *index + ((size_t)1 << bits) * sizeof index->ranks[0]);
    if (index == NULL)
        return NULL;
    index->shift = 32 - bits;
    for (int rank = 0; rank < group->size; rank++) {
        uint32_t slot = first_slot(index, group->processes[rank]);
        while (index->ranks[slot] != 0)
            slot = next_slot(index, slot);
        index->ranks[slot] = rank + 1;
    }
    return index;
}

/* The index, made now if need be; of two threads that make one, the first wins. */
static index_t *get_index(ompi_group_t *group)
{
    index_t *index = atomic_load_explicit(&group->index, memory_order_acquire);
    if (index != NULL || group->size < INDEX_MIN_SIZE)
        return index;
    index_t *made = make_index(group);
    if (made != NULL && atomic_compare_exchange_strong(&group->index, &index, made))
        return made;
    free(made);
    return index;
}

static int search_list(ompi_group_t *group, int process)
{
    const index_t *index = get_index(group);
    if (index == NULL) {
        for (int rank = 0; rank < group->size; rank++) {
            if (group->processes[rank] == process)
                return rank;
        }
        return MPI_UNDEFINED;
    }
    uint32_t slot = first_slot(index, process);
    for (; index->ranks[slot] != 0; slot = next_slot(index, slot)) {
        if (group->processes[index->ranks[slot] - 1] == process)
            return index->ranks[slot] - 1;
    }
    return MPI_UNDEFINED;
}

int ompi_group_rank_of(ompi_group_t *group, int process)
{
    if (group->processes != NULL)
        return search_list(group, process);
    int64_t distance = (int64_t)process - group->first;
    if (group->stride != 1) {
        if (distance % group->stride != 0)
            return MPI_UNDEFINED;
        distance /= group->stride;
    }
    return distance >= 0 && distance < group->size ? (int)distance : MPI_UNDEFINED;
}

ompi_group_t *ompi_group_range(int first, int size)
{
    ompi_group_builder_t builder = {0};
    builder.size = size;
    builder.first = first;
    builder.stride = 1;
    builder.has_self = own_process >= first && own_process - first < size;
    builder.rank = own_process - first;
    return ompi_group_builder_finish(&builder);
}

static bool grow(ompi_group_builder_t *builder)
{
    int64_t capacity = builder->capacity < 16 ? 32 : 2 * (int64_t)builder->capacity;
    int *processes = realloc(builder->processes, (size_t)capacity * sizeof *processes);
    if (processes == NULL) {
        builder->no_memory = true;
        return false;
    }
    builder->processes = processes;
    builder->capacity = capacity < INT32_MAX ? (int)capacity : INT32_MAX;
    return true;
}

/* Writes down the processes of the range. */
static bool become_list(ompi_group_builder_t *builder)
{
    builder->capacity = builder->size;
    if (!grow(builder))
        return false;
    for (int i = 0; i < builder->size; i++)
        builder->processes[i] = builder->first + builder->stride * i;
    return true;
}

/* Whether the process continues the range; then it does. */
static bool extend_range(ompi_group_builder_t *builder, int process)
{
    switch (builder->size) {
    case 0:
        builder->first = process;
        builder->stride = 1;
        return true;
    case 1:
        builder->stride = process - builder->first;
        return true;
    default:
        return process == builder->first + (int64_t)builder->stride * builder->size;
    }
}

void ompi_group_builder_add(ompi_group_builder_t *builder, int process)
{
    if (builder->no_memory)
        return;
    if (builder->processes != NULL || !extend_range(builder, process)) {
        if (builder->processes == NULL && !become_list(builder))
            return;
        if (builder->size == builder->capacity && !grow(builder))
            return;
        builder->processes[builder->size] = process;
    }
    if (process == own_process) {
        builder->rank = builder->size;
        builder->has_self = true;
    }
    builder->size++;
}

/* The ends of a range are checked first, so that a range of the own job costs nothing. */
static void retain_foreign(ompi_group_t *group)
{
    bool may_be = group->processes != NULL || opal_process_is_foreign((uint32_t)group->first) ||
                  opal_process_is_foreign((uint32_t)ompi_group_process(group, group->size - 1));
    for (int rank = 0; may_be && rank < group->size; rank++) {
        uint32_t process = (uint32_t)ompi_group_process(group, rank);
        group->has_foreign |= opal_process_is_foreign(process);
        opal_process_retain(process);
    }
}

/* Makes a group of what was built, and takes its list. */
static ompi_group_t *create(ompi_group_builder_t *builder)
{
    ompi_group_t *group = calloc(1, sizeof *group);
    if (group == NULL)
        return NULL;
    ompi_object_init(&group->head, OMPI_GROUP, destroy);
    group->size = builder->size;
    group->rank = builder->has_self ? builder->rank : MPI_UNDEFINED;
    group->first = builder->first;
    group->stride = builder->stride;
    if (builder->processes != NULL) {
        int *cut = realloc(builder->processes, (size_t)builder->size * sizeof *cut);
        group->processes = cut != NULL ? cut : builder->processes;
        builder->processes = NULL;
    }
    if (builder->session != NULL)
        ompi_object_retain(builder->session);
    group->session = builder->session;
    retain_foreign(group);
    return group;
}

ompi_group_t *ompi_group_builder_finish(ompi_group_builder_t *builder)
{
    ompi_group_t *group = NULL;
    if (!builder->no_memory)
        group = builder->size > 0 ? create(builder) : &ompi_group_empty;
    free(builder->processes);
    *builder = (ompi_group_builder_t){0};
    return group;
}
