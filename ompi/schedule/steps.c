/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What a schedule consists of: its steps, its temporary memory, and the reserve that pays for both
 * when there is no other memory.
 */
#include "ompi/schedule/internal.h"

#include <stdlib.h>
#include <string.h>

/* -- the reserve ------------------------------------------------------------------------ */

/* MOST_BYTES: memory of at most that size is worth the reserve. */
enum { RESERVE_BYTES = 96 << 10, MOST_BYTES = 16 << 10 };

static void *reserve;

void ompi_schedule_fill_reserve(void)
{
    if (opal_unlikely(reserve == NULL))
        reserve = malloc(RESERVE_BYTES);
}

bool ompi_schedule_spend_reserve(void)
{
    bool is_there = reserve != NULL;
    free(reserve);
    reserve = NULL;
    return is_there;
}

void *ompi_schedule_allocate(size_t bytes)
{
    void *memory = aligned_alloc(_Alignof(ompi_schedule_t), bytes);
    if (opal_unlikely(memory == NULL) && bytes <= MOST_BYTES && ompi_schedule_spend_reserve())
        memory = aligned_alloc(_Alignof(ompi_schedule_t), bytes);
    return memory;
}

/* -- adding -------------------------------------------------------------------------- */

void ompi_schedule_lack_memory(ompi_schedule_t *schedule)
{
    schedule->lacks_memory = true;
    ompi_schedule_note_error(schedule, MPI_ERR_NO_MEM);
}

static bool grow(ompi_schedule_t *schedule)
{
    size_t capacity = 2 * schedule->capacity + OMPI_SCHEDULE_STEPS;
    ompi_step_t *old = schedule->steps != schedule->first ? schedule->steps : NULL;
    ompi_step_t *steps = realloc(old, capacity * sizeof *steps);
    if (opal_unlikely(steps == NULL) && ompi_schedule_spend_reserve())
        steps = realloc(old, capacity * sizeof *steps);
    if (steps == NULL) {
        ompi_schedule_lack_memory(schedule);
        return false;
    }
    if (old == NULL)
        memcpy(steps, schedule->first, sizeof schedule->first);
    schedule->steps = steps;
    schedule->capacity = capacity;
    return true;
}

void ompi_schedule_hold_types(const ompi_step_t *step, void (*each)(ompi_object_t *object))
{
    if (step->to.type != NULL)
        each(&step->to.type->head);
    if (step->from.type != NULL)
        each(&step->from.type->head);
}

ompi_step_t *ompi_schedule_add(ompi_schedule_t *schedule, ompi_step_kind_t kind, int rank,
                               ompi_data_t to, ompi_data_t from)
{
    if (schedule->count == schedule->capacity && !grow(schedule))
        return NULL;
    ompi_step_t *step = &schedule->steps[schedule->count++];
    if (schedule->ranks != NULL && rank >= 0)
        rank = schedule->ranks[rank];
    *step = (ompi_step_t){
        .kind = kind, .is_local = schedule->is_local, .rank = rank, .to = to, .from = from};
    if (schedule->holds)
        ompi_schedule_hold_types(step, ompi_object_retain);
    return step;
}

void ompi_schedule_send(ompi_schedule_t *schedule, int rank, ompi_data_t what)
{
    ompi_schedule_add(schedule, OMPI_STEP_SEND, rank, what, (ompi_data_t){0});
}

void ompi_schedule_recv(ompi_schedule_t *schedule, int rank, ompi_data_t where)
{
    ompi_schedule_add(schedule, OMPI_STEP_RECV, rank, where, (ompi_data_t){0});
}

void ompi_schedule_copy(ompi_schedule_t *schedule, ompi_data_t from, ompi_data_t to)
{
    ompi_schedule_add(schedule, OMPI_STEP_COPY, MPI_PROC_NULL, to, from);
}

void ompi_schedule_reduce(ompi_schedule_t *schedule, const void *in, ompi_data_t inout)
{
    ompi_schedule_add(schedule, OMPI_STEP_REDUCE, MPI_PROC_NULL, inout,
                      ompi_data(in, inout.count, inout.type));
}

void ompi_schedule_call(ompi_schedule_t *schedule, ompi_schedule_fn_t *call, void *context,
                        ompi_data_t from, ompi_data_t to)
{
    ompi_step_t *step = ompi_schedule_add(schedule, OMPI_STEP_CALL, MPI_PROC_NULL, to, from);
    if (step == NULL)
        return;
    step->call = call;
    step->context = context;
}

void ompi_schedule_poll(ompi_schedule_t *schedule, ompi_schedule_fn_t *call, void *context)
{
    size_t before = schedule->count;
    ompi_schedule_wait(schedule);
    ompi_schedule_call(schedule, call, context, (ompi_data_t){0}, (ompi_data_t){0});
    if (schedule->count > before)
        schedule->steps[before].kind = OMPI_STEP_POLL;
    ompi_schedule_wait(schedule);
}

void ompi_schedule_within(ompi_schedule_t *schedule, bool is_local)
{
    ompi_communicator_t *comm = schedule->comm;
    schedule->is_local = is_local;
    schedule->rank = comm->rank;
    schedule->size = is_local ? comm->size : ompi_comm_peers(comm);
}

void *ompi_schedule_memory(ompi_schedule_t *schedule, size_t bytes)
{
    size_t rounded = (bytes + 63) & ~(size_t)63;
    if (rounded >= bytes && rounded <= sizeof schedule->bytes - schedule->used) {
        schedule->used += rounded;
        return schedule->bytes + schedule->used - rounded;
    }
    ompi_schedule_block_t *block = NULL;
    if (rounded >= bytes && rounded + sizeof *block > rounded)
        block = ompi_schedule_allocate(sizeof *block + rounded);
    if (block == NULL) {
        ompi_schedule_lack_memory(schedule);
        return NULL;
    }
    block->next = schedule->blocks;
    schedule->blocks = block;
    return block->bytes;
}

void *ompi_schedule_room(ompi_schedule_t *schedule, size_t bytes)
{
    void *memory = ompi_schedule_memory(schedule, bytes);
    return memory != NULL ? memory : schedule->bytes;
}

void *ompi_schedule_elements(ompi_schedule_t *schedule, size_t count, const ompi_datatype_t *type)
{
    if (count == 0)
        count = 1;
    MPI_Count last = (MPI_Count)(count - 1) * ompi_datatype_extent(type);
    uintptr_t lowest = (uintptr_t)(ompi_datatype_true_lb(type) + (last < 0 ? last : 0));
    /* The lowest address of the elements is aligned as the memory is. */
    size_t skip = lowest % _Alignof(ompi_schedule_block_t);
    void *memory = ompi_schedule_room(schedule, skip + (size_t)ompi_datatype_span(type, count));
    return (void *)((uintptr_t)memory + skip - lowest);
}
