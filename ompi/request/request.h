/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Requests: operations that end later, and waiting for them.
 *
 *                 start                     complete
 *   INACTIVE  ------------>  ACTIVE, not done  ------->  ACTIVE, done
 *      ^                                                     |
 *      +------ persistent: Wait or Test ---------------------+------> freed, if not persistent
 *
 * Whoever runs an operation completes its request exactly once per start. A wait does not look
 * at its requests while it sleeps: it hangs one `ompi_wait_t` on all of them and counts down.
 *
 * Threading: everything here is under the message lock (ompi_lock), which exists only at
 * MPI_THREAD_MULTIPLE, but for asking whether a request is done, settled or loose, and for
 * ompi_request_finish_unlocked. Who completes a request has the lock, or has just made it. A
 * request is not touched any more when it has been said that it is done: its owner may be looking
 * without the lock, and free it.
 */
#ifndef OMPI_REQUEST_H
#define OMPI_REQUEST_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "opal/include/compiler.h"
#include "ompi/object/object.h"

struct ompi_communicator;
struct ompi_request;

/* One wait for one or several requests. */
typedef struct ompi_wait {
    atomic_int done; /* what opal_wait_until watches */
    size_t missing;  /* completions until then */
} ompi_wait_t;

/* What kinds of operations do differently. Slots may be NULL where said. */
typedef struct ompi_request_ops {
    /*
     * Begins a persistent operation; it may complete in here. The status is what the last round
     * left, the rest of the request is as of a new one. An error: the request is inactive again.
     * NULL: there are no persistent ones.
     */
    int (*start)(struct ompi_request *request);

    /* Asks for an early end of one that is active, perhaps done; it completes anyhow, cancelled or
     * not. NULL: no effect. */
    int (*cancel)(struct ompi_request *request);

    /*
     * The user's part of a generalized request, called without the message lock. `query` fills in
     * the status whenever it is told; `leave` is called once, when the request is done and the
     * user has let go of it. They return the user's error codes. NULL: there is no such part.
     */
    int (*query)(struct ompi_request *request, MPI_Status *status);
    int (*leave)(struct ompi_request *request);

    /* A done one may be released without the message lock; it has no `query` and no `leave`. */
    bool can_finish_unlocked;
} ompi_request_ops_t;

typedef struct ompi_request {
    ompi_object_t head;
    const ompi_request_ops_t *ops;
    struct ompi_communicator *comm; /* whose error handler is told, retained; NULL: self's */
    atomic_int done;                /* paired with the reads of ompi_request_is_done */
    bool active;                    /* false: a persistent one that is not started */
    bool persistent;
    bool orphan;               /* MPI_Request_free: it ends without anybody waiting */
    bool is_cancel_unanswered; /* MPI_Cancel: what comes of it is not known, and nobody has asked
                                  yet */
    ompi_wait_t *wait;         /* the wait that hangs on it, or NULL */
    void (*on_complete)(struct ompi_request *request, void *context); /* runs once, or NULL */
    void *on_complete_context;
    MPI_Status status; /* MPI_ERROR is the result; valid when done */
} ompi_request_t;

/* Begins an operation whose request nobody gets to see: it has no head and is not released, and the
 * communicator is not retained. */
OPAL_EXPORT void ompi_request_init_bare(ompi_request_t *request, const ompi_request_ops_t *ops,
                                        struct ompi_communicator *comm);

/* Begins the life of a request as an active one. `destroy` gets its head, as of any object. */
OPAL_EXPORT void ompi_request_init(ompi_request_t *request, const ompi_request_ops_t *ops,
                                   struct ompi_communicator *comm,
                                   void (*destroy)(ompi_object_t *head));

/* A request that is done already, as those to and from MPI_PROC_NULL. NULL: no memory. */
ompi_request_t *ompi_request_create_done(const MPI_Status *status);

/* Turns a request that was just made into a persistent one, which is inactive. */
static inline void ompi_request_make_persistent(ompi_request_t *request)
{
    request->persistent = true;
    request->active = false;
}

/* A persistent one that is done whenever it is started. NULL: no memory. */
ompi_request_t *ompi_request_create_persistent_done(const MPI_Status *status);

/* Starts a persistent request that is inactive. */
OPAL_EXPORT int ompi_request_start(ompi_request_t *request);

/* A send that is complete, as most small ones are when they have begun: one for all of them. It is
 * never freed, and nothing of it changes: whoever hangs something on a request looks first whether
 * it is done. */
OPAL_EXPORT extern ompi_request_t ompi_request_sent;

/* Ends a request that nobody waits for, and that is not under way. */
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

/* Null and inactive ones count as done in all that asks for all. */
static inline bool ompi_request_is_settled(const ompi_request_t *request)
{
    return !ompi_request_is_active(request) || ompi_request_is_done(request);
}

/* Whether it is settled and can be finished without the message lock. Threads share. */
static inline bool ompi_request_can_finish_unlocked(const ompi_request_t *request)
{
    return !ompi_request_is_active(request) ||
           (ompi_request_is_done(request) && request->ops->can_finish_unlocked);
}

/* The status of a done request, as it is told to the user. Returns the error code of the query. */
int ompi_request_query(ompi_request_t *request, MPI_Status *status);

/*
 * A done request is told to the user: `status` (may be MPI_STATUS_IGNORE) is written, a persistent
 * one becomes inactive, another is released and *slot becomes NULL. Returns the operation's error
 * code.
 */
OPAL_EXPORT int ompi_request_finish(ompi_request_t **slot, MPI_Status *status);

/* The same without the message lock, of one that is loose. */
int ompi_request_finish_unlocked(ompi_request_t **slot, MPI_Status *status);

/* MPI_Request_free. Returns the error code of `leave`. */
OPAL_EXPORT int ompi_request_free(ompi_request_t **slot);

/*
 * Waits until `wanted` of the requests that are active are done, or all that are active if there
 * are fewer. NULL entries are skipped. Nothing is finished.
 */
OPAL_EXPORT void ompi_request_wait(ompi_request_t *const *requests, size_t count, size_t wanted);

/* Until one is done that is active, and that nobody else knows. */
OPAL_EXPORT void ompi_request_wait_alone(ompi_request_t *request);

/* opal_wait_until, with the lock of the message layer given back while it sleeps. */
OPAL_EXPORT void ompi_wait_until(const atomic_int *done);

/* opal_wait_look with that lock: what calls do that look and do not wait. */
OPAL_EXPORT void ompi_request_look(void);

/* MPI_Cancel. */
int ompi_request_cancel(ompi_request_t *request);

/*
 * Behind ompi_request_look, for a request that is asked for. Whether a send was cancelled is often
 * for its receiver to say, and programs ask once, behind MPI_Cancel: so the first call that asks
 * looks for the answer for a moment, which is one for all of its requests. NULL: does nothing.
 */
typedef struct ompi_cancel_wait {
    uint64_t end; /* 0: it has not begun */
    int looks;
} ompi_cancel_wait_t;

void ompi_request_await_cancel_slow(ompi_request_t *request, ompi_cancel_wait_t *cancel_wait);
static inline void ompi_request_await_cancel(ompi_request_t *request,
                                             ompi_cancel_wait_t *cancel_wait)
{
    if (request != NULL && opal_unlikely(request->is_cancel_unanswered))
        ompi_request_await_cancel_slow(request, cancel_wait);
}

/*
 * The lock of the message layer: no-ops below MPI_THREAD_MULTIPLE. It begins as the lock of the
 * thread that starts MPI, and costs that one next to nothing while it is alone (opal_lock_t).
 *
 * From the moment when a second thread takes it, ompi_threads_share: what may be done without this
 * lock is done without, under finer ones. That never ends, and begins under the lock: who sees that
 * it has not begun takes this lock alone, and who has this lock sees the same until it gives it
 * back. Below MPI_THREAD_MULTIPLE, and while one thread alone is in MPI, it is a branch that is not
 * taken.
 */
OPAL_EXPORT extern bool ompi_lock_needed;
void ompi_lock_start(bool threads);
OPAL_EXPORT void ompi_lock_acquire_slow(void);
OPAL_EXPORT void ompi_lock_release_slow(void);

OPAL_EXPORT extern atomic_bool ompi_lock_is_shared;

static inline bool ompi_threads_share(void)
{
    return opal_unlikely(atomic_load_explicit(&ompi_lock_is_shared, memory_order_acquire));
}

static inline void ompi_lock(void)
{
    if (opal_unlikely(ompi_lock_needed))
        ompi_lock_acquire_slow();
}

static inline void ompi_unlock(void)
{
    if (opal_unlikely(ompi_lock_needed))
        ompi_lock_release_slow();
}

#endif
