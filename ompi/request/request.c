/* SPDX-License-Identifier: BSD-3-Clause */
/* Completing requests and waiting for them. */
#include "ompi/request/request.h"

#include <sched.h>
#include <stdlib.h>

#include "opal/progress/descriptor.h"
#include "opal/threads/lock.h"
#include "opal/progress/wait.h"
#include "ompi/api/mpi.h"
#include "ompi/communicator/communicator.h"
#include "ompi/request/describe.h"
#include "ompi/request/status.h"

/* How long a test polls for the answer to MPI_Cancel: a receiver that is in MPI answers by then,
 * and a message to the own rank needs a few polls. */
enum { CANCEL_WAIT_LOOKS = 64, CANCEL_WAIT_NSEC = 1000000 };

/*
 * Of ompi_request_spin. Threads that share cores run fast while a thread and its peer run at the
 * same time, and neither yields for the time of a window of messages: with 64 polls each of two
 * threads of two ranks on two cores (AMD EPYC) yielded more than once a window, with 256 in one of
 * three.
 */
enum { SPIN_POLLS = 256, OVERSUBSCRIBED_POLLS = 4, SPIN_YIELDS = 16 };

/* Of polls of requests that are not messages: about as long as a peer needs that is in the same
 * operation. */
enum { REQUEST_POLLS = 400 };

static const ompi_request_ops_t no_ops = {.can_finish_unlocked = true};

ompi_request_t ompi_request_sent = {
    .head = OMPI_OBJECT_PREDEFINED(OMPI_REQUEST, &ompi_request_sent),
    .ops = &no_ops,
    .done = 1,
    .active = true,
    .status = {.MPI_SOURCE = MPI_ANY_SOURCE, .MPI_TAG = MPI_ANY_TAG, .MPI_ERROR = MPI_SUCCESS},
};

bool ompi_lock_needed;
atomic_bool ompi_lock_is_shared;
OPAL_REACHED_DIRECTLY(ompi_request_sent);
OPAL_REACHED_DIRECTLY(ompi_lock_needed);
OPAL_REACHED_DIRECTLY(ompi_lock_is_shared);
OPAL_REACHED_DIRECTLY(ompi_message_lock);
opal_lock_t ompi_message_lock;

static bool has_threads; /* the program's level is MPI_THREAD_MULTIPLE */
static bool has_background;
static bool have_processes_left; /* one has */

/* If it is so already, nothing changes: the background may have the lock. */
static void need_lock(bool is_needed)
{
    if (ompi_lock_needed == is_needed)
        return;
    ompi_lock_needed = ompi_object_threads = is_needed;
    atomic_store(&ompi_lock_is_shared, false);
    if (is_needed)
        opal_lock_bias(&ompi_message_lock);
}

void ompi_lock_start(bool threads)
{
    has_threads = threads;
    ompi_object_threads = ompi_lock_needed; /* it was true before MPI had started */
    need_lock(has_threads || has_background);
}

void ompi_lock_begin_background(void)
{
    has_background = true;
    need_lock(true);
}

/* If threads have shared, messages may be under way in lanes: the lock stays. */
void ompi_lock_end_background(void)
{
    has_background = false;
    if (!ompi_threads_share())
        need_lock(has_threads);
}

/* A thread that does not hold the lock by its bias is the second one, or a later one; or the owner
 * of the bias while the lock is borrowed, which leaves the bias. */
void ompi_lock_acquire_slow(void)
{
    if (opal_lock_enter_by_bias(&ompi_message_lock))
        return;
    opal_lock_acquire_unbiased(&ompi_message_lock);
    if (!ompi_threads_share() && opal_lock_has_no_bias(&ompi_message_lock))
        atomic_store_explicit(&ompi_lock_is_shared, true, memory_order_release);
}

void ompi_lock_release_slow(void)
{
    opal_lock_release(&ompi_message_lock);
}

static void yield_lock(void)
{
    if (opal_unlikely(opal_lock_is_wanted(&ompi_message_lock)))
        opal_lock_give_way(&ompi_message_lock);
}

static const opal_wait_lock_t wait_lock = {
    .yield = yield_lock,
    .release = ompi_unlock,
    .acquire = ompi_lock,
};

static void borrow(void)
{
    opal_lock_borrow(&ompi_message_lock);
}

static void return_lock(void)
{
    opal_lock_return(&ompi_message_lock);
}

static void yield_borrowed(void)
{
    if (opal_unlikely(opal_lock_is_wanted(&ompi_message_lock))) {
        return_lock();
        sched_yield();
        borrow();
    }
}

const opal_wait_lock_t ompi_lock_of_background = {
    .yield = yield_borrowed,
    .release = return_lock,
    .acquire = borrow,
};

/* Without its communicator. A request has no error handler; ompi_request_sent no references. */
static inline void release_alone(ompi_request_t *request)
{
    ompi_object_t *head = &request->head;
    if (opal_unlikely(atomic_load_explicit(&head->references, memory_order_acquire) != 1 ||
                      atomic_load_explicit(&head->number, memory_order_relaxed) != 0)) {
        ompi_object_release(head);
        return;
    }
    head->mark = 0;
    head->destroy(head);
}

/* The last request of a communicator that the user has freed ends it. */
static inline void release(ompi_request_t *request)
{
    ompi_communicator_t *comm = request->comm;
    release_alone(request);
    if (ompi_request_leave_comm(comm))
        ompi_object_release(&comm->head);
}

void ompi_request_release(ompi_request_t *request)
{
    release(request);
}

static void destroy_done(ompi_object_t *head)
{
    free(opal_container_of(head, ompi_request_t, head));
}

static int start_done(ompi_request_t *request)
{
    ompi_request_complete(request);
    return MPI_SUCCESS;
}

static ompi_request_t *create_done(const MPI_Status *status)
{
    static const ompi_request_ops_t nothing = {.start = start_done, .can_finish_unlocked = true};
    ompi_request_t *request = malloc(sizeof *request);
    if (request == NULL)
        return NULL;
    ompi_request_init(request, &nothing, NULL, destroy_done);
    request->status = *status;
    return request;
}

ompi_request_t *ompi_request_create_done(const MPI_Status *status)
{
    ompi_request_t *request = create_done(status);
    if (request != NULL)
        ompi_request_complete(request);
    return request;
}

ompi_request_t *ompi_request_create_persistent_done(const MPI_Status *status)
{
    ompi_request_t *request = create_done(status);
    if (request != NULL)
        ompi_request_make_persistent(request);
    return request;
}

int ompi_request_start(ompi_request_t *request)
{
    atomic_store_explicit(&request->done, 0, memory_order_relaxed);
    request->active = true;
    request->is_cancel_unanswered = false;
    int error = request->ops->start(request);
    if (error != MPI_SUCCESS)
        request->active = false;
    return error;
}

static void note_freed_ended(ompi_communicator_t *comm)
{
    if (--comm->freed == 0 && comm->all_ended != NULL)
        opal_wait_signal(comm->all_ended);
}

void ompi_request_complete(ompi_request_t *request)
{
    if (request->on_complete != NULL) {
        void (*call)(ompi_request_t *, void *) = request->on_complete;
        request->on_complete = NULL;
        call(request, request->on_complete_context);
    }
    /* No thread waits for it or will free it. */
    if (opal_unlikely(request->orphan != OMPI_ORPHAN_NOT)) {
        request->active = false;
        if (request->orphan == OMPI_ORPHAN_FREED && request->comm != NULL)
            note_freed_ended(request->comm);
        ompi_request_release(request);
        return;
    }
    ompi_wait_t *wait = request->wait;
    request->wait = NULL;
    /* From here on the owner may free it. */
    atomic_store_explicit(&request->done, 1, memory_order_release);
    if (wait != NULL && --wait->missing == 0)
        opal_wait_signal(&wait->done);
}

/* The user's callbacks may call MPI. */
static int call_leave(ompi_request_t *request)
{
    if (request->ops->leave == NULL)
        return MPI_SUCCESS;
    ompi_unlock();
    int error = request->ops->leave(request);
    ompi_lock();
    return error;
}

int ompi_request_query(ompi_request_t *request, MPI_Status *status)
{
    int error = MPI_SUCCESS;
    if (request->ops->query != NULL) {
        ompi_unlock();
        error = request->ops->query(request, &request->status);
        ompi_lock();
    }
    ompi_status_fill(status, &request->status);
    return error;
}

/* A request of a kind without callbacks. */
OPAL_INLINE int finish_plain(ompi_request_t **slot, MPI_Status *status,
                             void (*release_it)(ompi_request_t *request))
{
    ompi_request_t *request = *slot;
    int error = request->status.MPI_ERROR;
    ompi_status_fill(status, &request->status);
    if (request == &ompi_request_sent) {
        *slot = NULL;
        return MPI_SUCCESS;
    }
    request->active = false;
    if (!request->persistent) {
        *slot = NULL;
        release_it(request);
    }
    return error;
}

int ompi_request_finish(ompi_request_t **slot, MPI_Status *status)
{
    ompi_request_t *request = *slot;
    if (opal_likely(request->ops->can_finish_unlocked))
        return finish_plain(slot, status, release);
    int error = ompi_request_query(request, status);
    if (error == MPI_SUCCESS)
        error = request->status.MPI_ERROR;
    request->active = false;
    if (!request->persistent) {
        int left = call_leave(request);
        if (left != MPI_SUCCESS)
            error = left;
        *slot = NULL;
        ompi_request_release(request);
    }
    return error;
}

static void release_unlocked(ompi_request_t *request)
{
    ompi_communicator_t *comm = request->comm;
    release_alone(request);
    if (ompi_request_leave_comm(comm) && !ompi_object_release_unless_last(&comm->head)) {
        ompi_lock(); /* with it the communicator ends */
        ompi_object_release(&comm->head);
        ompi_unlock();
    }
}

int ompi_request_finish_unlocked(ompi_request_t **slot, MPI_Status *status)
{
    return finish_plain(slot, status, release_unlocked);
}

static bool is_in_vain(const ompi_request_t *request)
{
    return request->ops->is_in_vain != NULL && request->ops->is_in_vain(request);
}

int ompi_request_free(ompi_request_t **slot)
{
    ompi_request_t *request = *slot;
    *slot = NULL;
    if (request == &ompi_request_sent)
        return MPI_SUCCESS;
    ompi_request_hold(request);
    bool is_open = request->active && !ompi_request_is_done(request);
    request->orphan = is_open ? OMPI_ORPHAN_FREED : OMPI_ORPHAN_NOT;
    ompi_request_drop(request);
    if (is_open) {
        if (request->comm != NULL)
            request->comm->freed++;
        if (opal_unlikely(have_processes_left) && is_in_vain(request)) /* nobody can cancel it */
            request->ops->give_up(request);
        return MPI_SUCCESS;
    }
    request->active = false;
    int error = call_leave(request);
    ompi_request_release(request);
    return error;
}

void ompi_wait_until(const atomic_int *done)
{
    opal_wait_until(done, ompi_lock_needed ? &wait_lock : NULL);
}

void ompi_request_wait_freed(ompi_communicator_t *comm)
{
    while (comm->freed > 0) {
        atomic_int all_ended = 0;
        comm->all_ended = &all_ended;
        ompi_wait_until(&all_ended);
        comm->all_ended = NULL;
    }
}

void ompi_request_look(void)
{
    opal_wait_look(ompi_lock_needed ? &wait_lock : NULL);
}

/* A generalized request ends when its user says so. */
int ompi_request_cancel(ompi_request_t *request)
{
    const ompi_request_ops_t *ops = request->ops;
    if (!ompi_request_is_active(request) || ops->cancel == NULL)
        return MPI_SUCCESS;
    request->is_cancel_unanswered = ops->leave == NULL;
    return ops->cancel(request); /* it may be done then, and another thread may have freed it */
}

void ompi_request_await_cancel_slow(ompi_request_t *request, ompi_cancel_wait_t *cancel_wait)
{
    request->is_cancel_unanswered = false;
    if (cancel_wait->end == 0)
        cancel_wait->end = opal_clock_nsec() + CANCEL_WAIT_NSEC;
    for (; !ompi_request_is_done(request); cancel_wait->looks++) {
        if (cancel_wait->looks >= CANCEL_WAIT_LOOKS && opal_clock_nsec() >= cancel_wait->end)
            return;
        ompi_request_look();
    }
}

/* The first one from there on that is neither settled nor NULL; count: none is. */
static size_t next_open(ompi_request_t *const *requests, size_t count, size_t from)
{
    while (from < count && ompi_request_is_settled(requests[from]))
        from++;
    return from;
}

/* Whether the thread would wait for lanes alone. */
static bool all_have_lanes(ompi_request_t *const *requests, size_t count, size_t from)
{
    while (from < count && requests[from]->lane != 0)
        from = next_open(requests, count, from + 1);
    return from == count;
}

bool ompi_request_spin(ompi_request_t *const *requests, size_t count)
{
    const unsigned most = opal_wait_is_oversubscribed() ? OVERSUBSCRIBED_POLLS : SPIN_POLLS;
    unsigned polls = 0, yields = 0;
    size_t open = next_open(requests, count, 0);
    if (!all_have_lanes(requests, count, open))
        return false;
    for (; open < count; open = next_open(requests, count, open)) {
        int found = opal_btl_poll_lane(requests[open]->lane - 1);
        if (found < 0 && !ompi_request_is_done(requests[open]))
            return false;
        polls = found > 0 ? 0 : polls + 1;
        if (polls < most)
            continue;
        if (yields++ == SPIN_YIELDS)
            return false;
        sched_yield();
        polls = 0;
    }
    return true;
}

/* What this thread waits for, and the same for a wait alone; NULL: nothing, or a callback of the
 * program has waited meanwhile. Other models of access to it call a function. */
static _Thread_local const ompi_wait_t *current_wait __attribute__((tls_model("initial-exec")));
static const ompi_request_t *waits_alone;

/* False: it is done. */
static bool link_wait(ompi_request_t *request, ompi_wait_t *wait)
{
    ompi_request_hold(request);
    bool is_open = !ompi_request_is_done(request);
    if (is_open)
        request->wait = wait;
    ompi_request_drop(request);
    return is_open;
}

static void unlink_wait(ompi_request_t *request, const ompi_wait_t *wait)
{
    ompi_request_hold(request);
    if (request->wait == wait)
        request->wait = NULL;
    ompi_request_drop(request);
}

bool ompi_request_poll(ompi_request_t *const *requests, size_t count)
{
    unsigned left = opal_wait_is_oversubscribed() ? 1 : REQUEST_POLLS;
    size_t open = next_open(requests, count, 0);
    for (; open < count && left > 0; left--) {
        ompi_request_t *request = requests[open];
        if (request->ops->poll == NULL || !request->ops->poll(request))
            return false;
        open = next_open(requests, count, open);
    }
    return open == count;
}

void ompi_request_processes_left(void)
{
    have_processes_left = true;
}

static bool is_linked(const ompi_request_t *request, const ompi_wait_t *wait)
{
    return request != NULL && request->wait == wait;
}

/* Ends requests that are in vain until the others are as many as the wait misses. */
static void give_up(ompi_request_t *const *requests, size_t count, const ompi_wait_t *wait)
{
    long good = 0;
    for (size_t i = 0; i < count; i++)
        good += is_linked(requests[i], wait) && !is_in_vain(requests[i]);
    for (size_t i = 0; i < count && good < wait->missing; i++) {
        if (is_linked(requests[i], wait) && is_in_vain(requests[i]))
            requests[i]->ops->give_up(requests[i]);
    }
}

/* A process has left, perhaps since the wait began. */
OPAL_NOINLINE static void wait_with_loss(ompi_wait_t *wait)
{
    while (wait->missing > 0) {
        atomic_store_explicit(&wait->done, 0, memory_order_relaxed);
        give_up(wait->requests, wait->count, wait);
        if (wait->missing > 0)
            ompi_wait_until(&wait->done);
    }
}

OPAL_INLINE void wait_for(ompi_wait_t *wait)
{
    current_wait = wait;
    if (opal_likely(!have_processes_left))
        ompi_wait_until(&wait->done);
    if (opal_unlikely(wait->missing > 0))
        wait_with_loss(wait);
    current_wait = NULL;
}

void ompi_request_wait(ompi_request_t *const *requests, size_t count, size_t wanted)
{
    ompi_wait_t wait = {.requests = requests, .count = count};
    size_t open = 0, done = 0;
    for (size_t i = 0; i < count; i++) {
        if (!ompi_request_is_active(requests[i]))
            continue;
        if (link_wait(requests[i], &wait))
            open++;
        else
            done++;
    }
    size_t missing = wanted > done ? wanted - done : 0;
    bool awaits_all = open <= missing; /* then each has let go of the wait afterwards */
    wait.missing = (long)(awaits_all ? open : missing);
    if (wait.missing > 0)
        wait_for(&wait);
    for (size_t i = 0; !awaits_all && i < count; i++) {
        if (requests[i] != NULL)
            unlink_wait(requests[i], &wait);
    }
}

void ompi_request_wait_alone(ompi_request_t *request)
{
    if (ompi_lock_needed)
        ompi_request_wait(&request, 1, 1); /* woken by its own wait alone */
    else {
        waits_alone = request; /* there is one thread */
        opal_wait_until(&request->done, NULL);
        waits_alone = NULL;
    }
}

/* -- descriptions ---------------------------------------------------------------------- */

static void describe(const ompi_request_t *request, ompi_description_t *description)
{
    if (request->ops->describe != NULL)
        request->ops->describe(request, description);
}

size_t ompi_request_describe_wait(ompi_description_t *description)
{
    const ompi_wait_t *wait = current_wait;
    size_t described = 0, open = 0;
    if (waits_alone != NULL)
        describe(waits_alone, description);
    if (wait == NULL)
        return waits_alone != NULL;
    for (size_t i = 0; i < wait->count; i++) {
        if (!is_linked(wait->requests[i], wait))
            continue;
        open++;
        if (described++ < OMPI_DESCRIBED_OPERATIONS)
            describe(wait->requests[i], description);
    }
    if (open > OMPI_DESCRIBED_OPERATIONS) {
        opal_roll_line(&description->text, "left");
        opal_roll_add(&description->text, " operations=%zu", open - OMPI_DESCRIBED_OPERATIONS);
    }
    return wait->missing > 0 ? (size_t)wait->missing : 0;
}
