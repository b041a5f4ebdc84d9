/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Carrying out a schedule, round by round.
 *
 * `pending` counts the messages of the round that are not done. While the round is being started it
 * counts one more, so that a message that completes meanwhile does not start the next round.
 */
#include "ompi/schedule/internal.h"

#include <stdlib.h>

#include "opal/progress/wait.h"
#include "ompi/errhandler/errhandler.h"
#include "ompi/request/status.h"

static void advance(ompi_schedule_t *schedule);

/* The messages of this schedule are empty. With `lacks_memory` they are from the start, whatever
 * the first error is. */
static bool has_no_memory(const ompi_schedule_t *schedule)
{
    return opal_unlikely(schedule->error == MPI_ERR_NO_MEM || schedule->lacks_memory);
}

/* This rank passes on data and has an error, so what it sends has a wrong length. */
static bool relays_error(const ompi_schedule_t *schedule)
{
    return schedule->relays && opal_unlikely(schedule->error != MPI_SUCCESS);
}

/* Called for a message that should bring data. An empty one means that its sender had no memory. */
static void note_received(ompi_schedule_t *schedule, int error, const MPI_Status *status)
{
    size_t bytes = error == MPI_SUCCESS ? ompi_status_bytes(status) : 0;
    if (error == MPI_SUCCESS && opal_unlikely(bytes == 0))
        error = MPI_ERR_NO_MEM;
    schedule->missing -= bytes;
    ompi_schedule_note_error(schedule, error);
}

/* All messages of a round are done. */
static void end_round(ompi_schedule_t *schedule)
{
    if (opal_unlikely(schedule->missing != 0) && schedule->is_exact)
        ompi_schedule_note_error(schedule, MPI_ERR_TRUNCATE);
    schedule->missing = 0;
}

/* Without memory for the list, a message is not cancelled when the schedule is abandoned. */
static void note_open(ompi_schedule_t *schedule, ompi_request_t *message, bool is_send)
{
    if (schedule->open_count == schedule->open_capacity) {
        size_t capacity = 2 * schedule->open_capacity + OMPI_SCHEDULE_STEPS;
        ompi_schedule_open_t *open = realloc(schedule->open, capacity * sizeof *open);
        if (open == NULL)
            return;
        schedule->open = open;
        schedule->open_capacity = capacity;
    }
    schedule->open[schedule->open_count++] = (ompi_schedule_open_t){message, is_send};
}

/* The last one takes its place. */
static void forget_open(ompi_schedule_t *schedule, const ompi_request_t *message)
{
    size_t i = schedule->open_count;
    while (i > 0 && schedule->open[i - 1].message != message)
        i--;
    if (i > 0)
        schedule->open[i - 1] = schedule->open[--schedule->open_count];
}

static void end_message(ompi_schedule_t *schedule)
{
    if (--schedule->pending > 0)
        return;
    end_round(schedule);
    if (schedule->is_blocking)
        ompi_request_complete(&schedule->request);
    else
        advance(schedule);
}

static void message_done(ompi_request_t *request, void *context)
{
    forget_open(context, request);
    ompi_schedule_note_error(context, request->status.MPI_ERROR);
    end_message(context);
}

static void data_done(ompi_request_t *request, void *context)
{
    forget_open(context, request);
    note_received(context, request->status.MPI_ERROR, &request->status);
    end_message(context);
}

/* Counts the request of a message in `pending`, unless it is done or could not be started. */
static void follow(ompi_schedule_t *schedule, int error, ompi_request_t *message, bool is_send,
                   bool brings_data)
{
    ompi_schedule_note_error(schedule, error);
    if (error != MPI_SUCCESS)
        return;
    if (ompi_request_is_done(message)) {
        if (brings_data)
            note_received(schedule, message->status.MPI_ERROR, &message->status);
        else
            ompi_schedule_note_error(schedule, message->status.MPI_ERROR);
        ompi_request_release(message);
        return;
    }
    schedule->pending++;
    if (schedule->call != 0)
        note_open(schedule, message, is_send);
    message->on_complete = brings_data ? data_done : message_done;
    message->on_complete_context = schedule;
    message->orphan = OMPI_ORPHAN_INTERNAL; /* the request releases itself */
}

static void begin_send(ompi_schedule_t *schedule, const ompi_route_t *route,
                       const ompi_data_t *data, bool waits)
{
    ompi_request_t *message = NULL;
    if (waits && schedule->pending == 1) {
        ompi_schedule_note_error(schedule, ompi_pml->send(route, data, OMPI_SEND_STANDARD));
        return;
    }
    int error = ompi_pml->isend(route, data, OMPI_SEND_STANDARD, &message);
    follow(schedule, error, message, true, false);
}

static void begin_recv(ompi_schedule_t *schedule, const ompi_route_t *route,
                       const ompi_data_t *data, bool waits)
{
    ompi_request_t *message = NULL;
    MPI_Status status;
    size_t bytes = ompi_datatype_bytes(data->type, data->count);
    bool brings_data = bytes > 0;
    schedule->missing += bytes;
    if (waits && brings_data) {
        note_received(schedule, ompi_pml->recv(route, data, &status), &status);
    } else if (waits) {
        ompi_schedule_note_error(schedule, ompi_pml->recv(route, data, MPI_STATUS_IGNORE));
    } else {
        int error = ompi_pml->irecv(route, data, &message);
        follow(schedule, error, message, false, brings_data);
    }
}

/* A message that the receiver cannot take for data, because its length is wrong. */
static ompi_data_t wrong_length_of(const ompi_schedule_t *schedule, const ompi_data_t *data)
{
    static char bytes[2];
    size_t expected = ompi_datatype_bytes(data->type, data->count);
    return ompi_data(bytes, expected == 1 ? 2 : expected > 1, schedule->byte);
}

static void begin_message(ompi_schedule_t *schedule, const ompi_step_t *step)
{
    ompi_communicator_t *comm = schedule->comm;
    const ompi_data_t nothing = {NULL, 0, schedule->byte};
    ompi_data_t wrong;
    const ompi_data_t *data = has_no_memory(schedule) ? &nothing : &step->to;
    if (relays_error(schedule) && data != &nothing && step->kind == OMPI_STEP_SEND) {
        wrong = wrong_length_of(schedule, &step->to);
        data = &wrong;
    }
    /* If a blocking schedule only waits for this message, a blocking call needs no request. */
    bool waits = schedule->is_blocking && step->ends_round && schedule->call == 0;
    ompi_route_t route = {comm, OMPI_CONTEXT_COLLECTIVE, step->rank, schedule->tag};
    if (step->is_local) {
        route.comm = comm->local;
        route.tag = schedule->local_tag;
    }
    if (step->kind == OMPI_STEP_SEND)
        begin_send(schedule, &route, data, waits);
    else
        begin_recv(schedule, &route, data, waits);
}

static void begin_copy(ompi_schedule_t *schedule, const ompi_step_t *step)
{
    size_t given = ompi_datatype_bytes(step->from.type, step->from.count);
    size_t wanted = ompi_datatype_bytes(step->to.type, step->to.count);
    if (opal_unlikely(given > wanted || (given < wanted && schedule->is_exact)))
        ompi_schedule_note_error(schedule, MPI_ERR_TRUNCATE);
    ompi_datatype_copy(step->from.type, step->from.count, step->from.buffer, step->to.type,
                       step->to.count, step->to.buffer);
}

/* Counts as a message of the round. */
static void begin_nested(ompi_schedule_t *schedule, ompi_schedule_t *nested)
{
    bool lacks_memory = nested->lacks_memory || has_no_memory(schedule);
    nested->error = lacks_memory ? MPI_ERR_NO_MEM : schedule->error;
    nested->next = 0;
    schedule->pending++;
    advance(nested);
}

/* -- polled steps -- */

static opal_list_t polled = {{&polled.head, &polled.head}};

/* Returns whether the next step, which is polled, is done. */
static bool poll_step(ompi_schedule_t *schedule)
{
    const ompi_step_t *step = &schedule->steps[schedule->next];
    int error = step->call(schedule, step->context);
    if (error == OMPI_STEP_AGAIN)
        return false;
    schedule->next++;
    ompi_schedule_note_error(schedule, error);
    return true;
}

static bool poll_schedule(ompi_schedule_t *schedule);

/* A schedule that ends may free itself, but no other one. */
static int poll_all(void *state OPAL_UNUSED)
{
    int count = 0;
    for (opal_list_node_t *node = opal_list_first(&polled), *next; node != NULL; node = next) {
        next = opal_list_next(&polled, node);
        count += poll_schedule(opal_container_of(node, ompi_schedule_t, polled));
    }
    return count;
}

static void join_polled(ompi_schedule_t *schedule)
{
    if (opal_list_first(&polled) == NULL && opal_progress_add(poll_all, NULL) != OPAL_SUCCESS) {
        ompi_schedule_note_error(schedule, MPI_ERR_INTERN);
        schedule->next++;
        return;
    }
    opal_list_append(&polled, &schedule->polled);
    schedule->is_polled = true;
}

static void leave_polled(ompi_schedule_t *schedule)
{
    opal_list_remove(&schedule->polled);
    schedule->is_polled = false;
    if (opal_list_first(&polled) == NULL)
        opal_progress_remove(poll_all, NULL);
}

/* -- watched schedules -- */

static opal_list_t watched = {{&watched.head, &watched.head}};

/* Cancels the receives, which ends each of them, and lets the sends go on alone. The schedule ends
 * when the last of its messages has, which may free it. */
static void abandon(ompi_schedule_t *schedule, int error)
{
    ompi_schedule_note_error(schedule, error);
    schedule->is_abandoned = true;
    if (schedule->is_polled)
        leave_polled(schedule);
    schedule->pending++;
    for (size_t i = 0; i < schedule->next; i++) {
        ompi_schedule_t *nested = schedule->steps[i].context;
        if (schedule->steps[i].kind == OMPI_STEP_NESTED && nested->open_count > 0)
            abandon(nested, error);
    }
    for (size_t i = schedule->open_count; i > 0; i--) {
        ompi_schedule_open_t open = schedule->open[i - 1];
        if (open.is_send) {
            open.message->on_complete = NULL;
            schedule->open[i - 1] = schedule->open[--schedule->open_count];
            schedule->pending--;
        } else {
            ompi_request_cancel(open.message);
        }
    }
    end_message(schedule);
}

/* After one was abandoned, any other one may be gone. */
static int poll_watched(void *state OPAL_UNUSED)
{
    for (opal_list_node_t *node = opal_list_first(&watched); node != NULL;
         node = opal_list_next(&watched, node)) {
        ompi_schedule_t *schedule = opal_container_of(node, ompi_schedule_t, watched);
        int error = schedule->is_abandoned
                        ? MPI_SUCCESS
                        : ompi_check_wait(schedule->comm, schedule->call, &schedule->check);
        if (error == MPI_SUCCESS)
            continue;
        abandon(schedule, error);
        return 1;
    }
    return 0;
}

static void join_watched(ompi_schedule_t *schedule)
{
    if (schedule->call == 0 || schedule->outer != NULL || schedule->is_watched)
        return;
    if (opal_list_first(&watched) == NULL && opal_progress_add(poll_watched, NULL) != OPAL_SUCCESS)
        return;
    opal_list_append(&watched, &schedule->watched);
    schedule->is_watched = true;
}

static void leave_watched(ompi_schedule_t *schedule)
{
    if (!schedule->is_watched)
        return;
    opal_list_remove(&schedule->watched);
    schedule->is_watched = false;
    if (opal_list_first(&watched) == NULL)
        opal_progress_remove(poll_watched, NULL);
}

void ompi_schedule_watch(ompi_schedule_t *schedule, uint64_t call)
{
    schedule->call = call;
    for (size_t i = 0; i < schedule->count; i++) {
        if (schedule->steps[i].kind == OMPI_STEP_NESTED)
            ompi_schedule_watch(schedule->steps[i].context, call);
    }
}

/* Looks at the calls of the ranks when a watched schedule has ended. */
static void compare_calls(ompi_schedule_t *schedule)
{
    int found = MPI_SUCCESS;
    if (schedule->error == MPI_SUCCESS)
        found = ompi_check_compare_next(schedule->comm, schedule->call);
    else if (schedule->error == MPI_ERR_TRUNCATE || schedule->error == MPI_ERR_NO_MEM)
        found = ompi_check_compare(schedule->comm, schedule->call);
    schedule->error = found != MPI_SUCCESS ? found : schedule->error;
}

/* -- all kinds of steps -- */

static void begin_step(ompi_schedule_t *schedule, const ompi_step_t *step)
{
    switch (step->kind) {
    case OMPI_STEP_SEND:
    case OMPI_STEP_RECV:
        begin_message(schedule, step);
        return;
    case OMPI_STEP_COPY:
        if (has_no_memory(schedule))
            return;
        begin_copy(schedule, step);
        return;
    case OMPI_STEP_REDUCE:
        if (has_no_memory(schedule) || relays_error(schedule))
            return;
        ompi_op_reduce(schedule->op, step->from.buffer, step->to.buffer, step->to.count,
                       step->to.type);
        return;
    case OMPI_STEP_CALL:
        ompi_schedule_note_error(schedule, step->call(schedule, step->context));
        return;
    case OMPI_STEP_POLL: /* see begin_round */
        return;
    case OMPI_STEP_NESTED:
        begin_nested(schedule, step->context);
        return;
    }
}

/* This rank could not reach another one, and its error handler ends the job. It sends no messages
 * of wrong length then: their receivers would end the job too, and could report a misleading error
 * first. */
static bool ends_job(const ompi_schedule_t *schedule)
{
    int error = schedule->error;
    return opal_unlikely(error != MPI_SUCCESS) && error != MPI_ERR_TRUNCATE &&
           error != MPI_ERR_NO_MEM && ompi_errhandler_ends_job(&schedule->comm->head);
}

/* Starts the next steps, up to the end of a round. True: the round is done. */
static bool begin_round(ompi_schedule_t *schedule)
{
    bool ends_round;
    if (schedule->steps[schedule->next].kind == OMPI_STEP_POLL) {
        if (poll_step(schedule))
            return true;
        join_polled(schedule);
        return !schedule->is_polled;
    }
    schedule->pending = 1;
    do {
        const ompi_step_t *step = &schedule->steps[schedule->next++];
        ends_round = step->ends_round; /* a call may add steps, and move them */
        begin_step(schedule, step);
        /* Only if no message is under way: its peer may wait for later messages of this rank. */
        ends_round |= schedule->pending == 1 && ends_job(schedule);
    } while (schedule->next < schedule->count && !ends_round);
    if (--schedule->pending > 0)
        return false;
    end_round(schedule);
    return true;
}

/* Whether the schedule is finished. */
static bool is_over(const ompi_schedule_t *schedule)
{
    return schedule->next == schedule->count || schedule->is_abandoned || ends_job(schedule);
}

/* -- events of tools -- */

OPAL_NOINLINE static void raise_begun(ompi_schedule_t *schedule)
{
    schedule->event.number = ompi_event_number();
    if (ompi_event_is_wanted(OMPI_EVENT_COLLECTIVE_BEGUN))
        ompi_event_raise(OMPI_EVENT_COLLECTIVE_BEGUN, OMPI_EVENT_LOCKED, schedule->comm,
                         &schedule->event);
}

OPAL_NOINLINE static void raise_ended(ompi_schedule_t *schedule)
{
    schedule->event.error = schedule->error;
    ompi_event_raise(OMPI_EVENT_COLLECTIVE_ENDED, OMPI_EVENT_LOCKED, schedule->comm,
                     &schedule->event);
}

/* The operation is started, as a nonblocking or as a persistent one. */
static inline void note_begun(ompi_schedule_t *schedule)
{
    schedule->event.number = 0;
    if (ompi_event_is_either_wanted(OMPI_EVENT_COLLECTIVE_BEGUN, OMPI_EVENT_COLLECTIVE_ENDED) &&
        schedule->is_described)
        raise_begun(schedule);
}

/* Starts rounds until messages are under way or the schedule ends. The schedule may be freed when
 * this returns. */
static void advance(ompi_schedule_t *schedule)
{
    while (!is_over(schedule)) {
        if (!begin_round(schedule))
            return;
    }
    if (schedule->outer != NULL) {
        ompi_schedule_note_error(schedule->outer, schedule->error);
        end_message(schedule->outer);
        return;
    }
    leave_watched(schedule);
    if (schedule->call != 0)
        compare_calls(schedule);
    schedule->request.status.MPI_ERROR = schedule->error;
    if (ompi_event_is_wanted(OMPI_EVENT_COLLECTIVE_ENDED) && schedule->event.number != 0)
        raise_ended(schedule);
    ompi_request_complete(&schedule->request);
}

/* Returns whether the polled step is done; the schedule may be freed then. */
static bool poll_schedule(ompi_schedule_t *schedule)
{
    if (!poll_step(schedule))
        return false;
    leave_polled(schedule);
    if (schedule->is_blocking)
        ompi_request_complete(&schedule->request);
    else
        advance(schedule);
    return true;
}

bool ompi_schedule_poll_request(ompi_request_t *request)
{
    ompi_schedule_t *schedule = opal_container_of(request, ompi_schedule_t, request);
    bool is_polled = schedule->is_polled;
    if (is_polled)
        poll_schedule(schedule);
    return is_polled;
}

int ompi_schedule_run(ompi_schedule_t *schedule)
{
    ompi_request_t *request = &schedule->request;
    ompi_schedule_wait(schedule);
    join_watched(schedule);
    while (!is_over(schedule)) {
        atomic_store_explicit(&request->done, 0, memory_order_relaxed);
        if (!begin_round(schedule))
            ompi_request_wait(&request, 1, 1);
    }
    leave_watched(schedule);
    return schedule->error;
}

void ompi_schedule_begin(ompi_schedule_t *schedule)
{
    note_begun(schedule);
    join_watched(schedule);
    advance(schedule);
}
