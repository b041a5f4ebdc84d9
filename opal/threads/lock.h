/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Locks that are fair, and one of them also cheap for a thread that is alone.
 *
 * opal_fair_lock_t: an atomic instruction each to take it and to give it back. Whoever comes takes
 * a free lock, also past others that wait, since to give it to a thread that does not run stops all
 * of them for as long as the kernel likes. But who has waited for OPAL_LOCK_STARVING_NSEC is
 * starving, and while somebody is, nobody else takes it. Waiting is to spin for a moment, to yield
 * the core for some more, and then to sleep: the holder may be a thread that needs this core.
 *
 * opal_lock_t: the same, and biased. It begins as the lock of one thread (opal_lock_bias), which
 * takes it by plain loads and stores, without an atomic instruction. The first other thread that
 * wants it ends that for good:
 *
 *   owner     inside = 1; is the bias ended? no: it has the lock          inside = 0
 *   another   ended = yes; membarrier; wait until inside == 0; from now on like everybody
 *
 * The membarrier(2) is a fence on the owner's core, so either the owner sees that it has ended, or
 * the other one sees it inside.
 *
 * Threading: that is what they are for. Not recursive; not between processes. After fork the child
 * has them as they were.
 */
#ifndef OPAL_THREADS_LOCK_H
#define OPAL_THREADS_LOCK_H

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>

#include "opal/include/compiler.h"

enum { OPAL_LOCK_STARVING_NSEC = 1000000 };

/* All zero is a free lock, of either kind, without a bias. */

typedef struct opal_fair_lock {
    atomic_uint state;    /* OPAL_LOCK_FREE and so on: a futex */
    atomic_uint wanted;   /* threads that wait for it */
    atomic_uint starving; /* those of them that have waited too long */
} opal_fair_lock_t;

typedef struct opal_lock {
    _Alignas(64) opal_fair_lock_t fair;
    atomic_uint bias;   /* paired with `inside`: each side writes one, reads the other */
    atomic_uint inside; /* the owner of the bias has the lock, or is about to look */
    bool is_biased;     /* whoever holds it has it by the bias; under the lock */
    pthread_t owner;    /* does not change while there is a bias */
} opal_lock_t;

/* -- fair ---------------------------------------------------------------------------- */

/* Of `state`. Asleep: held, and perhaps somebody sleeps. */
enum { OPAL_LOCK_FREE, OPAL_LOCK_HELD, OPAL_LOCK_ASLEEP };

/* What acquire does when it is not free, release when somebody may sleep. */
OPAL_EXPORT void opal_fair_wait(opal_fair_lock_t *lock);
OPAL_EXPORT void opal_fair_wake(opal_fair_lock_t *lock);

/* Takes it if it is free, without regard to who is starving; `state` becomes `as`. */
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

/* -- biased, too --------------------------------------------------------------------- */

/* Makes it the lock of the calling thread, where the system can do that. It is free, and no other
 * thread knows it yet. */
OPAL_EXPORT void opal_lock_bias(opal_lock_t *lock);

/* Of `bias`; it only falls. */
enum { OPAL_LOCK_ENDED = 0, OPAL_LOCK_ENDING = 1, OPAL_LOCK_BIASED = 2 };

/* Takes it if the bias is the caller's, and lasts. */
static inline bool opal_lock_enter_by_bias(opal_lock_t *lock)
{
    if (atomic_load_explicit(&lock->bias, memory_order_acquire) != OPAL_LOCK_BIASED ||
        !pthread_equal(lock->owner, pthread_self()))
        return false;
    atomic_store_explicit(&lock->inside, 1, memory_order_relaxed);
    atomic_signal_fence(memory_order_seq_cst); /* the processor's fence is the other one's call */
    if (opal_likely(atomic_load_explicit(&lock->bias, memory_order_acquire) == OPAL_LOCK_BIASED)) {
        lock->is_biased = true;
        return true;
    }
    atomic_store_explicit(&lock->inside, 0, memory_order_release);
    return false;
}

/* Takes it as others than the owner of the bias do, which ends that. */
OPAL_EXPORT void opal_lock_acquire_unbiased(opal_lock_t *lock);

static inline void opal_lock_acquire(opal_lock_t *lock)
{
    if (opal_unlikely(!opal_lock_enter_by_bias(lock)))
        opal_lock_acquire_unbiased(lock);
}

static inline void opal_lock_release(opal_lock_t *lock)
{
    if (opal_likely(lock->is_biased)) {
        lock->is_biased = false;
        atomic_store_explicit(&lock->inside, 0, memory_order_release);
    } else {
        opal_fair_release(&lock->fair);
    }
}

/* Lets somebody else have it, who waits for it, before it is ours again. */
OPAL_EXPORT void opal_lock_give_way(opal_lock_t *lock);

/* Whether somebody waits for it. */
static inline bool opal_lock_is_wanted(const opal_lock_t *lock)
{
    return atomic_load_explicit(&lock->fair.wanted, memory_order_relaxed) != 0;
}

#endif
