/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Locks without starvation, one of them biased to a single thread, one for short sections.
 *
 * opal_fair_lock_t: acquire and release take one atomic instruction each. A thread may take a free
 * lock past threads that wait: handing the lock to a thread that is not running would stop all of
 * them until the kernel runs it. But a thread that has waited for OPAL_LOCK_STARVING_NSEC is
 * starving, and while a thread is starving no other thread takes the lock. A waiting thread spins,
 * then yields its core, then sleeps: the holder may need this core.
 *
 * opal_lock_t: a fair lock with a bias. It begins as the lock of one thread (opal_lock_bias), the
 * owner of the bias, which takes it by plain loads and stores, without an atomic instruction. The
 * first other thread that wants the lock ends the bias for good:
 *
 *   owner     inside = 1; has the bias ended? no: it has the lock         inside = 0
 *   another   bias = ended; membarrier; wait until inside == 0; from then on the fair lock
 *
 * membarrier(2) is a fence on the owner's core. So either the owner sees that the bias has ended,
 * or the other thread sees the owner inside.
 *
 * One thread that seldom needs the lock may borrow it, and leaves the bias: while it has or awaits
 * the lock the bias is suspended, and the owner takes the fair lock like all others.
 *
 *   borrower  bias = suspended; membarrier; wait until inside == 0; take the fair lock
 *             ... bias = biased, unless it has ended meanwhile; release the fair lock
 *
 * So the bias comes back only while the borrower has the fair lock. An owner that has waited for
 * the fair lock holds it without the bias for once, which excludes all others, too: each of them
 * takes the fair lock after it has seen nobody inside.
 *
 * opal_short_lock_t: for critical sections of a few instructions. No thread sleeps until it is
 * released, so the release is a plain store. A waiting thread spins, then yields its core, then
 * naps: the holder may have lost its core, or have a lower priority. A starving thread goes first,
 * as above.
 *
 * None of the locks is recursive or works between processes. After fork the child has the locks in
 * the state in which they were.
 */
#ifndef OPAL_THREADS_LOCK_H
#define OPAL_THREADS_LOCK_H

#include <stdatomic.h>
#include <stdbool.h>

#include "opal/include/compiler.h"
#include "opal/threads/self.h"

enum { OPAL_LOCK_STARVING_NSEC = 1000000 };

/* All zero is a free lock of each kind, without a bias. */

typedef struct opal_fair_lock {
    atomic_uint state;    /* OPAL_LOCK_FREE and so on: a futex */
    atomic_uint wanted;   /* waiting threads */
    atomic_uint starving; /* waiting threads that are starving */
} opal_fair_lock_t;

typedef struct opal_lock {
    _Alignas(64) opal_fair_lock_t fair;
    atomic_uint bias;   /* paired with `inside`: each side writes one, reads the other */
    atomic_uint inside; /* the owner of the bias has the lock, or is about to look */
    bool is_biased;     /* the holder took it by the bias; protected by the lock */
    uintptr_t owner;    /* of the bias, a thread; constant while there is a bias */
} opal_lock_t;

typedef struct opal_short_lock {
    atomic_uint held;     /* 0 or 1 */
    atomic_uint starving; /* waiting threads that are starving */
} opal_short_lock_t;

/* -- the fair lock ------------------------------------------------------------------------- */

/* Values of `state`. OPAL_LOCK_ASLEEP: held, and threads may be asleep on it. */
enum { OPAL_LOCK_FREE, OPAL_LOCK_HELD, OPAL_LOCK_ASLEEP };

/* The slow paths: of acquire when the lock is not free, of release when a thread may be asleep. */
OPAL_EXPORT void opal_fair_wait(opal_fair_lock_t *lock);
OPAL_EXPORT void opal_fair_wake(opal_fair_lock_t *lock);

/* Takes a free lock, even while other threads are starving; `state` becomes `as`. */
static inline bool opal_fair_take(opal_fair_lock_t *lock, unsigned as)
{
    unsigned seen = OPAL_LOCK_FREE;
    return atomic_load_explicit(&lock->state, memory_order_relaxed) == OPAL_LOCK_FREE &&
           atomic_compare_exchange_strong_explicit(&lock->state, &seen, as, memory_order_acquire,
                                                   memory_order_relaxed);
}

static inline void opal_fair_acquire(opal_fair_lock_t *lock)
{
    if (opal_unlikely(atomic_load_explicit(&lock->starving, memory_order_relaxed) != 0 ||
                      !opal_fair_take(lock, OPAL_LOCK_HELD)))
        opal_fair_wait(lock);
}

static inline void opal_fair_release(opal_fair_lock_t *lock)
{
    if (opal_unlikely(atomic_exchange_explicit(&lock->state, OPAL_LOCK_FREE,
                                               memory_order_acq_rel) == OPAL_LOCK_ASLEEP))
        opal_fair_wake(lock);
}

/* -- the biased lock ----------------------------------------------------------------------- */

/* Biases a free lock that no other thread knows yet to the calling thread. Without membarrier(2)
 * there is no bias. */
OPAL_EXPORT void opal_lock_bias(opal_lock_t *lock);

/* Values of `bias`. It changes between the last two, and otherwise only falls. */
enum {
    OPAL_LOCK_ENDED = 0,
    OPAL_LOCK_ENDING = 1,
    OPAL_LOCK_BIASED = 2,
    OPAL_LOCK_SUSPENDED = 3,
};

/* Takes the lock by the bias. False: the bias is not the caller's, or has ended. */
static inline bool opal_lock_enter_by_bias(opal_lock_t *lock)
{
    if (atomic_load_explicit(&lock->bias, memory_order_acquire) != OPAL_LOCK_BIASED ||
        lock->owner != opal_thread_self())
        return false;
    atomic_store_explicit(&lock->inside, 1, memory_order_relaxed);
    atomic_signal_fence(memory_order_seq_cst); /* end_bias() fences this core */
    if (opal_likely(atomic_load_explicit(&lock->bias, memory_order_acquire) == OPAL_LOCK_BIASED)) {
        lock->is_biased = true;
        return true;
    }
    atomic_store_explicit(&lock->inside, 0, memory_order_release);
    return false;
}

/* Takes the lock without the bias. This ends the bias, if it is another thread's. */
OPAL_EXPORT void opal_lock_acquire_unbiased(opal_lock_t *lock);

/* Whether there is no bias any more, or never was one. */
static inline bool opal_lock_has_no_bias(const opal_lock_t *lock)
{
    return atomic_load_explicit(&lock->bias, memory_order_acquire) == OPAL_LOCK_ENDED;
}

/* Takes and releases the lock, and leaves the bias to its owner. For one thread at a time, which is
 * not the owner. */
OPAL_EXPORT void opal_lock_borrow(opal_lock_t *lock);
OPAL_EXPORT void opal_lock_return(opal_lock_t *lock);

static inline void opal_lock_acquire(opal_lock_t *lock)
{
    if (opal_unlikely(!opal_lock_enter_by_bias(lock)))
        opal_lock_acquire_unbiased(lock);
}

/* Releases the lock if the holder took it by the bias; false: it did not. */
static inline bool opal_lock_leave_by_bias(opal_lock_t *lock)
{
    if (opal_unlikely(!lock->is_biased))
        return false;
    lock->is_biased = false;
    atomic_store_explicit(&lock->inside, 0, memory_order_release);
    return true;
}

static inline void opal_lock_release(opal_lock_t *lock)
{
    if (!opal_lock_leave_by_bias(lock))
        opal_fair_release(&lock->fair);
}

/* Called by the holder: releases the lock to a waiting thread and takes it again. */
OPAL_EXPORT void opal_lock_give_way(opal_lock_t *lock);

/* Whether a thread waits for the lock. */
static inline bool opal_lock_is_wanted(const opal_lock_t *lock)
{
    return atomic_load_explicit(&lock->fair.wanted, memory_order_relaxed) != 0;
}

/* -- the short lock ------------------------------------------------------------------------ */

/* The slow path of acquire. */
OPAL_EXPORT void opal_short_wait(opal_short_lock_t *lock);

/* Takes a free lock, even while other threads are starving. */
static inline bool opal_short_take(opal_short_lock_t *lock)
{
    return atomic_load_explicit(&lock->held, memory_order_relaxed) == 0 &&
           atomic_exchange_explicit(&lock->held, 1, memory_order_acquire) == 0;
}

/* False: it is not free, or a thread is starving. */
static inline bool opal_short_try(opal_short_lock_t *lock)
{
    return atomic_load_explicit(&lock->starving, memory_order_relaxed) == 0 &&
           opal_short_take(lock);
}

static inline void opal_short_acquire(opal_short_lock_t *lock)
{
    if (opal_unlikely(!opal_short_try(lock)))
        opal_short_wait(lock);
}

static inline void opal_short_release(opal_short_lock_t *lock)
{
    atomic_store_explicit(&lock->held, 0, memory_order_release);
}

#endif
