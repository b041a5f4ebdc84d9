/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The life of a schedule: for a blocking call on its stack, for the other forms as a request, or
 * within another schedule; and the numbers of persistent ones.
 */
#include "ompi/schedule/internal.h"

#include <stdlib.h>
#include <string.h>

#include "ompi/mca/pml/tags.h"
#include "ompi/request/describe.h"

static void describe(const ompi_request_t *request, ompi_description_t *description);

static const ompi_request_ops_t request_ops = {.poll = ompi_schedule_poll_request,
                                               .describe = describe};

/* A blocking call is described by its communicator. */
static void describe(const ompi_request_t *request, ompi_description_t *description)
{
    const ompi_schedule_t *schedule = opal_container_of(request, ompi_schedule_t, request);
    if (!schedule->is_blocking)
        ompi_describe_collective(description, schedule->comm, schedule->begun);
}

static void take_tags(ompi_schedule_t *schedule, ompi_communicator_t *comm)
{
    if (comm->parent != NULL) {
        schedule->tag = ompi_tags_at(OMPI_TAGS_COLLECTIVE, comm->parent->collectives - 1);
        return;
    }
    schedule->tag = ompi_tags_at(OMPI_TAGS_COLLECTIVE, comm->collectives++);
    if (ompi_comm_is_inter(comm))
        schedule->local_tag = ompi_tags_at(OMPI_TAGS_COLLECTIVE, comm->local->collectives++);
}

static void init(ompi_schedule_t *schedule, ompi_communicator_t *comm, ompi_op_t *op)
{
    schedule->comm = comm->parent != NULL ? comm->parent : comm;
    schedule->ranks = comm->parent_ranks;
    schedule->outer = NULL;
    schedule->op = op;
    schedule->byte = ompi_datatype_of(MPI_BYTE);
    schedule->is_blocking = schedule->holds = schedule->lacks_memory = false;
    schedule->is_exact = schedule->relays = schedule->is_described = false;
    schedule->error = MPI_SUCCESS;
    schedule->count = schedule->next = schedule->used = schedule->missing = 0;
    schedule->capacity = OMPI_SCHEDULE_STEPS;
    schedule->steps = schedule->first;
    schedule->blocks = NULL;
    schedule->at_end = NULL;
    schedule->is_local = schedule->is_polled = schedule->is_abandoned = schedule->is_watched =
        false;
    schedule->call = 0;
    schedule->check = (ompi_check_wait_t){0};
    schedule->open = NULL;
    schedule->open_count = schedule->open_capacity = 0;
    schedule->rank = comm->rank;
    schedule->size = ompi_comm_peers(comm);
}

void ompi_schedule_init(ompi_schedule_t *schedule, ompi_communicator_t *comm, ompi_op_t *op)
{
    ompi_request_init_bare(&schedule->request, &request_ops, comm);
    init(schedule, comm, op);
    schedule->is_blocking = true;
    take_tags(schedule, comm);
}

/* Retains or releases all that the schedule refers to. */
static void hold_all(ompi_schedule_t *schedule, void (*each)(ompi_object_t *object))
{
    for (size_t i = 0; i < schedule->count; i++)
        ompi_schedule_hold_types(&schedule->steps[i], each);
    if (schedule->op != NULL)
        each(&schedule->op->head);
    each(&schedule->comm->head);
}

void ompi_schedule_fini(ompi_schedule_t *schedule)
{
    if (schedule->at_end != NULL)
        schedule->at_end(schedule->at_end_context);
    if (schedule->holds)
        hold_all(schedule, ompi_object_release);
    for (size_t i = 0; i < schedule->count; i++) {
        if (schedule->steps[i].kind == OMPI_STEP_NESTED) {
            ompi_schedule_fini(schedule->steps[i].context);
            free(schedule->steps[i].context);
        }
    }
    if (schedule->steps != schedule->first)
        free(schedule->steps);
    free(schedule->open);
    while (schedule->blocks != NULL) {
        ompi_schedule_block_t *block = schedule->blocks;
        schedule->blocks = block->next;
        free(block);
    }
    ompi_schedule_fill_reserve();
}

static void join_living(ompi_schedule_t *schedule)
{
    ompi_schedule_t **first = &schedule->comm->persistent;
    schedule->next_living = *first;
    schedule->before_living = first;
    if (*first != NULL)
        (*first)->before_living = &schedule->next_living;
    *first = schedule;
}

static void leave_living(ompi_schedule_t *schedule)
{
    *schedule->before_living = schedule->next_living;
    if (schedule->next_living != NULL)
        schedule->next_living->before_living = schedule->before_living;
}

static void destroy(ompi_object_t *head)
{
    ompi_schedule_t *schedule = opal_container_of(head, ompi_schedule_t, request.head);
    if (schedule->request.persistent)
        leave_living(schedule);
    ompi_schedule_fini(schedule);
    free(schedule);
}

static int start(ompi_request_t *request)
{
    ompi_schedule_t *schedule = opal_container_of(request, ompi_schedule_t, request);
    schedule->error = schedule->lacks_memory ? MPI_ERR_NO_MEM : MPI_SUCCESS;
    schedule->next = 0;
    ompi_schedule_begin(schedule);
    return MPI_SUCCESS;
}

static const ompi_request_ops_t persistent_ops = {.start = start,
                                                  .poll = ompi_schedule_poll_request,
                                                  .describe = describe,
                                                  .can_finish_unlocked = true};

static ompi_schedule_t *allocate(ompi_communicator_t *comm, ompi_op_t *op,
                                 const ompi_request_ops_t *ops)
{
    ompi_schedule_t *schedule = ompi_schedule_allocate(sizeof(ompi_schedule_t));
    if (schedule == NULL)
        return NULL;
    ompi_request_init(&schedule->request, ops, comm, destroy);
    init(schedule, comm, op);
    return schedule;
}

ompi_schedule_t *ompi_schedule_create(ompi_communicator_t *comm, ompi_op_t *op)
{
    ompi_schedule_t *schedule = allocate(comm, op, &request_ops), none;
    take_tags(schedule != NULL ? schedule : &none, comm);
    return schedule;
}

/* Persistent operations have their own share of tags, because they use a tag as long as they exist.
 */
ompi_schedule_t *ompi_schedule_create_persistent(ompi_communicator_t *comm, ompi_op_t *op,
                                                 uint32_t number)
{
    ompi_schedule_t *schedule = allocate(comm, op, &persistent_ops);
    if (schedule == NULL)
        return NULL;
    ompi_request_make_persistent(&schedule->request);
    schedule->number = number;
    schedule->tag = schedule->local_tag = ompi_tags_at(OMPI_TAGS_PERSISTENT, number);
    join_living(schedule);
    return schedule;
}

/* Retains from the start what its steps refer to, because a step of it may add steps later. */
ompi_schedule_t *ompi_schedule_nest(ompi_schedule_t *schedule, ompi_communicator_t *child,
                                    ompi_op_t *op)
{
    ompi_schedule_t *nested = ompi_schedule_allocate(sizeof(ompi_schedule_t));
    ompi_step_t *step = NULL;
    if (nested != NULL)
        step = ompi_schedule_add(schedule, OMPI_STEP_NESTED, MPI_PROC_NULL, (ompi_data_t){0},
                                 (ompi_data_t){0});
    if (step == NULL) {
        ompi_schedule_lack_memory(schedule);
        free(nested);
        return NULL;
    }
    step->context = nested;
    ompi_request_init_bare(&nested->request, &request_ops, schedule->comm);
    init(nested, child, op);
    nested->outer = schedule;
    nested->call = schedule->call;
    nested->tag = nested->local_tag = schedule->tag;
    nested->holds = true;
    hold_all(nested, ompi_object_retain);
    return nested;
}

void ompi_schedule_drop(ompi_schedule_t *schedule)
{
    ompi_request_release(&schedule->request);
}

ompi_request_t *ompi_schedule_request(ompi_schedule_t *schedule)
{
    ompi_request_t *request = &schedule->request;
    schedule->holds = true;
    hold_all(schedule, ompi_object_retain);
    if (!request->persistent) {
        ompi_schedule_begin(schedule);
    }
    return request;
}

/* -- numbers of persistent schedules ---------------------------------------------------
 *
 * The number of a persistent schedule gives its tags. There are as many numbers as the share of
 * tags has, and no two schedules of a communicator that exist at the same time in any of its ranks
 * have the same number.
 *
 * The first time around, the next number is free in all ranks, and nothing is exchanged. From then
 * on ranks may have freed different schedules. So before a window of numbers is used the ranks
 * exchange which of its numbers are in use; the calls that make persistent operations may
 * communicate.
 */

static void mark_living(const ompi_communicator_t *comm, uint32_t first, uint32_t count,
                        uint64_t words[])
{
    for (const ompi_schedule_t *each = comm->persistent; each != NULL; each = each->next_living) {
        uint32_t at = each->number - first;
        if (each->number >= first && at < count)
            words[at / 64] |= UINT64_C(1) << at % 64;
    }
}

int ompi_schedule_take_number(ompi_communicator_t *comm, ompi_schedule_agree_fn_t *agree,
                              uint32_t *number)
{
    uint32_t all = ompi_tags_count(OMPI_TAGS_PERSISTENT);
    uint32_t window = all < OMPI_COMM_NUMBERS ? all : OMPI_COMM_NUMBERS;
    /* All numbers, and the rest of the window that was agreed on earlier. */
    for (uint64_t tried = 0; tried < (uint64_t)all + window; tried++) {
        uint64_t next = comm->prepared;
        uint32_t at = (uint32_t)(next & (window - 1)), first = (uint32_t)(next & (all - 1)) - at;
        if (next >= all && at == 0) {
            memset(comm->numbers, 0, sizeof comm->numbers);
            mark_living(comm, first, window, comm->numbers);
            int error = agree(comm, comm->numbers, OMPI_COMM_NUMBERS / 64);
            if (error != MPI_SUCCESS)
                return error;
        }
        comm->prepared++;
        if (next < all || (comm->numbers[at / 64] >> at % 64 & 1) == 0) {
            *number = first + at;
            return MPI_SUCCESS;
        }
    }
    return MPI_ERR_OTHER;
}
