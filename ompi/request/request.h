/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Requests: operations that end later, and waiting for them.
 *
 *                 start                     complete
 *   INACTIVE  ------------>  ACTIVE, not done  ------->  ACTIVE, done
 *      ^                                                     |
 *      +------ persistent: Wait or Test ---------------------+------> freed, if not persistent
 *
 * The code that runs an operation completes its request exactly once per start. A wait does not
 * poll its requests while it sleeps: it links one `ompi_wait_t` to all of them, which counts down.
 *
 * Threading: all functions are called under the message lock (ompi_lock), which exists only where
 * several threads may be in MPI. Exceptions are ompi_request_is_done, _is_settled, _spin,
 * _can_finish_unlocked and _finish_unlocked. A request is completed by a thread that holds the
 * lock, or has just made the request, or delivers the frames of its lane (opal/mca/btl/lane.h); the
 * last one completes only requests that nothing is linked to, and what is linked to a request is
 * changed while the lane is held. After `done` is set the completing thread does not access the
 * request: its owner may see that without the lock, and free the request.
 */
#ifndef OMPI_REQUEST_H
#define OMPI_REQUEST_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "opal/include/compiler.h"
#include "opal/mca/btl/lane.h"
#include "opal/progress/wait.h"
#include "opal/threads/lock.h"
#include "ompi/communicator/communicator.h"
#include "ompi/object/object.h"
#include "ompi/request/status.h"

struct ompi_description;
struct ompi_request;

/* One wait for one or several requests. */
typedef struct ompi_wait {
    atomic_int done; /* what opal_wait_until watches; set before that to look again */
    long missing;    /* completions until done is set; below 0: more have come at once */
    struct ompi_request *const *requests; /* for a description */
    size_t count;
} ompi_wait_t;

/* What differs between kinds of operations. A slot may be NULL where its comment says so. */
typedef struct ompi_request_ops {
    /*
     * Begins a persistent operation, which may complete before start returns. The status is that of
     * the last round; all other fields are as in a new request. After an error the request is
     * inactive again. NULL: the kind has no persistent operations.
     */
    int (*start)(struct ompi_request *request);

    /* Cancels an operation that is active, perhaps done. It completes in any case, cancelled or
     * not. NULL: no effect. */
    int (*cancel)(struct ompi_request *request);

    /*
     * Callbacks of a generalized request, called without the message lock. `query` fills in the
     * status each time the status is returned to the user; `leave` is called once, when the request
     * is done and the user has freed it. They return the user's error codes. NULL: no callback.
     */
    int (*query)(struct ompi_request *request, MPI_Status *status);
    int (*leave)(struct ompi_request *request);

    /* The object whose error handler gets the operation's error. NULL: it is the communicator. */
    ompi_object_t *(*error_object)(const struct ompi_request *request);

    /*
     * For ompi_request_poll. Looks at once whether an operation that is active and not done can go
     * on, and lets it. A wait calls it for a short time, because that is faster than to poll
     * everything. False: the operation waits for messages now, so that this does nothing. Calls of
     * opal_progress do what it does, too. NULL: the kind waits for messages alone.
     */
    bool (*poll)(struct ompi_request *request);

    /*
     * Whether an operation that is active and not done waits for a process that has left, so that
     * only MPI_Cancel could end it. Asked after ompi_request_processes_left, by waits, and when the
     * user frees the request. give_up ends such an operation with an error. NULL, both: the
     * operation ends by itself in any case.
     */
    bool (*is_in_vain)(const struct ompi_request *request);
    void (*give_up)(struct ompi_request *request);

    /* Says what an operation that is active and not done is (describe.h). NULL: it is a part of the
     * call that waits for it. */
    void (*describe)(const struct ompi_request *request, struct ompi_description *description);

    /* A done request may be finished without the message lock. It has no `query` and no `leave`. */
    bool can_finish_unlocked;
} ompi_request_ops_t;

/* Whether a request is released when it completes, as nobody waits for it. */
typedef enum ompi_orphan {
    OMPI_ORPHAN_NOT,
    OMPI_ORPHAN_INTERNAL, /* it is a part of something */
    OMPI_ORPHAN_FREED,    /* by MPI_Request_free; its communicator, if it has one, counts it */
} ompi_orphan_t;

typedef struct ompi_request {
    ompi_object_t head;
    const ompi_request_ops_t *ops;
    ompi_communicator_t *comm; /* retained; its error handler is invoked; NULL: that of self */
    atomic_int done;           /* paired with the reads of ompi_request_is_done */
    bool active;               /* false: a persistent one that is not started */
    bool persistent;
    uint8_t orphan;            /* ompi_orphan_t */
    bool is_cancel_unanswered; /* MPI_Cancel was called, and no test or wait since */
    unsigned lane;             /* 1 + that of the message that completes it; 0: none is known */
    ompi_wait_t *wait;         /* the wait that is linked to it, or NULL */
    void (*on_complete)(struct ompi_request *request, void *context); /* runs once, or NULL */
    void *on_complete_context;
    MPI_Status status; /* MPI_ERROR is the result; valid when done */
} ompi_request_t;

/*
 * The message lock: no-ops below MPI_THREAD_MULTIPLE, unless there is a thread in the background
 * (opal/progress/background.h). It is biased towards the thread that starts MPI, which pays next to
 * nothing for it while it is the only one (opal_lock_t); the background borrows it.
 *
 * When a second thread of the program takes the lock for the first time, ompi_threads_share()
 * becomes true for ever: the unlocked fast paths are tried then, under finer locks. It becomes true
 * under the lock, so it does not change while a thread holds the lock. Below MPI_THREAD_MULTIPLE,
 * and while one thread alone is in MPI, asking costs a branch that is not taken.
 */
OPAL_EXPORT extern bool ompi_lock_needed;
OPAL_EXPORT extern opal_lock_t ompi_message_lock; /* by these functions only */
void ompi_lock_start(bool threads);

/* Before the background starts, and after it was stopped. Called without the lock; below
 * MPI_THREAD_MULTIPLE no other thread is in MPI. */
void ompi_lock_begin_background(void);
void ompi_lock_end_background(void);

/* The lock as the background takes it. */
extern const opal_wait_lock_t ompi_lock_of_background;
OPAL_EXPORT void ompi_lock_acquire_slow(void);
OPAL_EXPORT void ompi_lock_release_slow(void);

OPAL_EXPORT extern atomic_bool ompi_lock_is_shared;

static inline bool ompi_threads_share(void)
{
    return opal_unlikely(atomic_load_explicit(&ompi_lock_is_shared, memory_order_acquire));
}

static inline void ompi_lock(void)
{
    if (opal_unlikely(ompi_lock_needed) && !opal_lock_enter_by_bias(&ompi_message_lock))
        ompi_lock_acquire_slow();
}

static inline void ompi_unlock(void)
{
    if (opal_unlikely(ompi_lock_needed) && !opal_lock_leave_by_bias(&ompi_message_lock))
        ompi_lock_release_slow();
}

/* Counts the requests of a communicator. Returns how many there were before. */
static inline int ompi_request_count(ompi_communicator_t *comm, int change)
{
    if (ompi_threads_share())
        return atomic_fetch_add_explicit(&comm->requests, change, memory_order_acq_rel);
    int before = atomic_load_explicit(&comm->requests, memory_order_relaxed);
    atomic_store_explicit(&comm->requests, before + change, memory_order_relaxed);
    return before;
}

/* All requests of a communicator share one reference to it: the first one retains it. */
static inline void ompi_request_enter_comm(ompi_communicator_t *comm)
{
    if (comm != NULL && comm->head.destroy != NULL && ompi_request_count(comm, 1) == 0)
        ompi_object_retain(&comm->head);
}

/* True: it was the last request, and the caller has its reference to the communicator. */
static inline bool ompi_request_leave_comm(ompi_communicator_t *comm)
{
    return comm != NULL && comm->head.destroy != NULL && ompi_request_count(comm, -1) == 1;
}

/* Initializes an active request that no user sees: it has no head, is not released, and does not
 * retain the communicator. */
static inline void ompi_request_init_bare(ompi_request_t *request, const ompi_request_ops_t *ops,
                                          ompi_communicator_t *comm)
{
    request->ops = ops;
    request->comm = comm;
    atomic_store_explicit(&request->done, 0, memory_order_relaxed);
    request->active = true;
    request->persistent = request->is_cancel_unanswered = false;
    request->orphan = OMPI_ORPHAN_NOT;
    request->lane = 0;
    request->wait = NULL;
    request->on_complete = NULL;
    ompi_status_set_empty(&request->status);
}

/* Initializes an active request. `destroy` is called with its head, as for any object. */
static inline void ompi_request_init(ompi_request_t *request, const ompi_request_ops_t *ops,
                                     ompi_communicator_t *comm,
                                     void (*destroy)(ompi_object_t *head))
{
    ompi_object_init(&request->head, OMPI_REQUEST, destroy);
    ompi_request_init_bare(request, ops, comm);
    ompi_request_enter_comm(comm);
}

/* A request that is done already, as for sends to MPI_PROC_NULL. NULL: no memory. */
ompi_request_t *ompi_request_create_done(const MPI_Status *status);

/* Makes a request that was just initialized persistent and inactive. */
static inline void ompi_request_make_persistent(ompi_request_t *request)
{
    request->persistent = true;
    request->active = false;
}

/* A persistent request that completes whenever it is started. NULL: no memory. */
ompi_request_t *ompi_request_create_persistent_done(const MPI_Status *status);

/* Starts a persistent request that is inactive. */
OPAL_EXPORT int ompi_request_start(ompi_request_t *request);

/* The request of all sends that are complete when they have begun, as most small ones are. It is
 * never freed and never changes. Code that sets on_complete or wait of a request first checks that
 * it is not done. */
OPAL_EXPORT extern ompi_request_t ompi_request_sent;

/* Releases a request that no thread waits for and whose operation is not running. */
OPAL_EXPORT void ompi_request_release(ompi_request_t *request);

/* The operation has ended; request->status says how. */
OPAL_EXPORT void ompi_request_complete(ompi_request_t *request);

static inline bool ompi_request_is_done(const ompi_request_t *request)
{
    return atomic_load_explicit(&request->done, memory_order_acquire) != 0;
}

static inline bool ompi_request_is_active(const ompi_request_t *request)
{
    return request != NULL && request->active;
}

/* Until it is dropped no thread completes the request, but the caller. */
static inline void ompi_request_hold(const ompi_request_t *request)
{
    if (opal_unlikely(request->lane != 0))
        opal_btl_lane_hold(request->lane - 1);
}

static inline void ompi_request_drop(const ompi_request_t *request)
{
    if (opal_unlikely(request->lane != 0))
        opal_btl_lane_drop(request->lane - 1);
}

/* Null and inactive requests count as done in MPI_Waitall and MPI_Testall. */
static inline bool ompi_request_is_settled(const ompi_request_t *request)
{
    return !ompi_request_is_active(request) || ompi_request_is_done(request);
}

/* Whether it is settled and can be finished without the message lock. For ompi_threads_share(). */
static inline bool ompi_request_can_finish_unlocked(const ompi_request_t *request)
{
    return !ompi_request_is_active(request) ||
           (ompi_request_is_done(request) && request->ops->can_finish_unlocked);
}

/* Fills in the user's status of a done request. Returns the error code of the query. */
int ompi_request_query(ompi_request_t *request, MPI_Status *status);

/*
 * Returns a done request to the user: fills in `status` (may be MPI_STATUS_IGNORE); a persistent
 * request becomes inactive, any other is released and *slot becomes NULL. Returns the error code of
 * the operation.
 */
OPAL_EXPORT int ompi_request_finish(ompi_request_t **slot, MPI_Status *status);

/*
 * Waits for a while without the message lock, if all requests that are active and not done wait for
 * messages of lanes. True: all are done now. For ompi_threads_share().
 */
bool ompi_request_spin(ompi_request_t *const *requests, size_t count);

/* Polls the requests for a short time, one after the other, up to one that waits for messages.
 * True: all are settled now. */
bool ompi_request_poll(ompi_request_t *const *requests, size_t count);

/* ompi_request_finish without the message lock, for ompi_request_can_finish_unlocked. */
int ompi_request_finish_unlocked(ompi_request_t **slot, MPI_Status *status);

/* MPI_Request_free. Returns the error code of `leave`. */
OPAL_EXPORT int ompi_request_free(ompi_request_t **slot);

/* Waits until no operation of the communicator is active whose request was freed. */
void ompi_request_wait_freed(ompi_communicator_t *comm);

/*
 * Waits until `wanted` of the requests that are active are done, or all that are active if there
 * are fewer. NULL entries are skipped. Nothing is finished.
 */
OPAL_EXPORT void ompi_request_wait(ompi_request_t *const *requests, size_t count, size_t wanted);

/* Waits for an active request that no other thread can see. */
OPAL_EXPORT void ompi_request_wait_alone(ompi_request_t *request);

/* Describes what this thread waits for, if it waits for requests. Returns how many completions are
 * missing. Called by an observer of waits (opal/progress/wait.h). */
size_t ompi_request_describe_wait(struct ompi_description *description);

/* opal_wait_until; releases the message lock while it sleeps. */
OPAL_EXPORT void ompi_wait_until(const atomic_int *done);

/* opal_wait_look with that lock: progress for calls that test and do not wait. */
OPAL_EXPORT void ompi_request_look(void);

/*
 * A process has left through MPI_Finalize. A receive of its messages stays as it is, since a
 * correct program may cancel it, and may test it before. But a thread that waits for what will
 * never come waits for ever: from now on a wait gives up requests that are in vain, as many as it
 * cannot do without. MPI_Waitany gives up the first one when no other request is left that can end.
 */
OPAL_EXPORT void ompi_request_processes_left(void);

/* The wait for an open request looks again for what is in vain. */
static inline void ompi_request_rouse(const ompi_request_t *request)
{
    if (request->wait != NULL)
        opal_wait_signal(&request->wait->done);
}

/* MPI_Cancel. */
int ompi_request_cancel(ompi_request_t *request);

/*
 * Called after ompi_request_look for each request (may be NULL) of a test. Whether a send was
 * cancelled is often decided by its receiver, and programs test once after MPI_Cancel. So the first
 * test polls for the answer for a limited time, which all requests of the test share.
 */
typedef struct ompi_cancel_wait {
    uint64_t end; /* 0: the time has not begun */
    int looks;
} ompi_cancel_wait_t;

void ompi_request_await_cancel_slow(ompi_request_t *request, ompi_cancel_wait_t *cancel_wait);
static inline void ompi_request_await_cancel(ompi_request_t *request,
                                             ompi_cancel_wait_t *cancel_wait)
{
    if (request != NULL && opal_unlikely(request->is_cancel_unanswered))
        ompi_request_await_cancel_slow(request, cancel_wait);
}

#endif
