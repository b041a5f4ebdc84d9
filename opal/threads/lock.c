/* SPDX-License-Identifier: BSD-3-Clause */
/* The slow paths of the locks, and the end of a bias. */
#include "opal/threads/lock.h"

#include <limits.h>
#include <sched.h>
#include <time.h>
#include <stdint.h>

#include "opal/arch/pause.h"
#include "opal/threads/futex.h"
#include "opal/threads/membarrier.h"
#include "opal/include/clock.h"

enum {
    SPINS = 64, /* about a microsecond: critical sections are short */
    YIELDS = 4, /* the holder may need this core; more yields cost this thread its later turns */
    NAP_NSEC = 20000,
};

static void nap(void)
{
    nanosleep(&(struct timespec){.tv_nsec = NAP_NSEC}, NULL);
}

/* Whether a waiting thread is starving. Looks at the clock; the first look begins the time. */
static bool starves(bool is_starving, uint64_t *starving_from, atomic_uint *starving)
{
    uint64_t now = opal_clock_nsec();
    if (*starving_from == 0)
        *starving_from = now + OPAL_LOCK_STARVING_NSEC;
    if (is_starving || now < *starving_from)
        return is_starving;
    atomic_fetch_add_explicit(starving, 1, memory_order_relaxed);
    return true;
}

/* -- the fair lock ----------------------------------------------------------------------- */

/* True: the lock was free, and is this thread's now. */
static bool sleep_for(opal_fair_lock_t *lock)
{
    /* Release: the thread that wakes the sleepers sees whether this one is starving. */
    if (atomic_exchange_explicit(&lock->state, OPAL_LOCK_ASLEEP, memory_order_acq_rel) ==
        OPAL_LOCK_FREE)
        return true;
    opal_futex_wait(&lock->state, OPAL_LOCK_ASLEEP, OPAL_FUTEX_PRIVATE);
    return false;
}

/*
 * A thread that has slept acquires the lock as OPAL_LOCK_ASLEEP, because other threads may still be
 * asleep behind it. While a thread is starving, the others neither take the lock nor sleep.
 */
static void wait_for(opal_fair_lock_t *lock)
{
    uint64_t starving_from = 0;
    bool is_starving = false;
    unsigned as = OPAL_LOCK_HELD;
    for (unsigned i = 0;; i++) {
        bool may_take =
            is_starving || atomic_load_explicit(&lock->starving, memory_order_relaxed) == 0;
        if (may_take && opal_fair_take(lock, as))
            break;
        if (i < SPINS) {
            opal_cpu_pause();
            continue;
        }
        is_starving = starves(is_starving, &starving_from, &lock->starving);
        if (i < SPINS + YIELDS || !may_take) {
            sched_yield();
            continue;
        }
        as = OPAL_LOCK_ASLEEP;
        if (sleep_for(lock))
            break;
    }
    if (is_starving)
        atomic_fetch_sub_explicit(&lock->starving, 1, memory_order_relaxed);
}

void opal_fair_wait(opal_fair_lock_t *lock)
{
    atomic_fetch_add_explicit(&lock->wanted, 1, memory_order_relaxed);
    wait_for(lock);
    atomic_fetch_sub_explicit(&lock->wanted, 1, memory_order_relaxed);
}

/* Wakes one sleeper. While a thread is starving it wakes all: only a starving one may take the
 * lock, and the kernel does not know which it is. */
void opal_fair_wake(opal_fair_lock_t *lock)
{
    unsigned starving = atomic_load_explicit(&lock->starving, memory_order_relaxed);
    opal_futex_wake(&lock->state, starving > 0 ? INT_MAX : 1, OPAL_FUTEX_PRIVATE);
}

/* -- the bias ---------------------------------------------------------------------------- */

void opal_lock_bias(opal_lock_t *lock)
{
    if (!opal_membarrier(MEMBARRIER_CMD_REGISTER_PRIVATE_EXPEDITED))
        return;
    lock->owner = opal_thread_self();
    atomic_store(&lock->bias, OPAL_LOCK_BIASED);
}

/* After `bias` was changed: the owner does not get in any more, and this waits until it is out. */
static void await_owner(opal_lock_t *lock)
{
    opal_membarrier(MEMBARRIER_CMD_PRIVATE_EXPEDITED);
    for (unsigned i = 0; atomic_load_explicit(&lock->inside, memory_order_acquire) != 0; i++) {
        if (i < SPINS)
            opal_cpu_pause();
        else if (i < 2 * SPINS)
            sched_yield();
        else
            nap();
    }
}

/* The owner of the bias comes here, too, while another thread ends the bias. */
static void end_bias(opal_lock_t *lock)
{
    unsigned seen = atomic_load_explicit(&lock->bias, memory_order_relaxed);
    while (seen >= OPAL_LOCK_BIASED &&
           !atomic_compare_exchange_weak(&lock->bias, &seen, OPAL_LOCK_ENDING))
        continue;
    await_owner(lock);
    atomic_store(&lock->bias, OPAL_LOCK_ENDED);
}

/* -- the biased lock --------------------------------------------------------------------- */

/* Counts as waiting, so that the owner of the bias gives way. */
static void end_bias_wanting(opal_lock_t *lock)
{
    atomic_fetch_add_explicit(&lock->fair.wanted, 1, memory_order_relaxed);
    end_bias(lock);
    atomic_fetch_sub_explicit(&lock->fair.wanted, 1, memory_order_relaxed);
}

/* The owner comes here, too, while the bias is suspended, which may be over meanwhile. */
void opal_lock_acquire_unbiased(opal_lock_t *lock)
{
    unsigned bias = atomic_load_explicit(&lock->bias, memory_order_acquire);
    bool is_own = bias >= OPAL_LOCK_BIASED && lock->owner == opal_thread_self();
    if (opal_unlikely(bias != OPAL_LOCK_ENDED && !is_own))
        end_bias_wanting(lock);
    opal_fair_acquire(&lock->fair);
}

void opal_lock_borrow(opal_lock_t *lock)
{
    unsigned seen = OPAL_LOCK_BIASED;
    atomic_fetch_add_explicit(&lock->fair.wanted, 1, memory_order_relaxed);
    if (atomic_compare_exchange_strong(&lock->bias, &seen, OPAL_LOCK_SUSPENDED))
        await_owner(lock);
    else if (seen == OPAL_LOCK_ENDING)
        end_bias(lock);
    atomic_fetch_sub_explicit(&lock->fair.wanted, 1, memory_order_relaxed);
    opal_fair_acquire(&lock->fair);
}

void opal_lock_return(opal_lock_t *lock)
{
    unsigned seen = OPAL_LOCK_SUSPENDED;
    atomic_compare_exchange_strong(&lock->bias, &seen, OPAL_LOCK_BIASED);
    opal_fair_release(&lock->fair);
}

/* A spinning thread takes the lock at once. One that is not running may need this core. */
void opal_lock_give_way(opal_lock_t *lock)
{
    opal_lock_release(lock);
    for (unsigned i = 0;
         i < SPINS && opal_lock_is_wanted(lock) &&
         atomic_load_explicit(&lock->fair.state, memory_order_relaxed) == OPAL_LOCK_FREE;
         i++)
        opal_cpu_pause();
    if (opal_lock_is_wanted(lock) &&
        atomic_load_explicit(&lock->fair.state, memory_order_relaxed) == OPAL_LOCK_FREE)
        sched_yield();
    opal_lock_acquire(lock);
}

/* -- the short lock ---------------------------------------------------------------------- */

void opal_short_wait(opal_short_lock_t *lock)
{
    uint64_t starving_from = 0;
    bool is_starving = false;
    for (unsigned i = 0;; i++) {
        bool may_take =
            is_starving || atomic_load_explicit(&lock->starving, memory_order_relaxed) == 0;
        if (may_take && opal_short_take(lock))
            break;
        if (i < SPINS) {
            opal_cpu_pause();
            continue;
        }
        is_starving = starves(is_starving, &starving_from, &lock->starving);
        if (i < SPINS + YIELDS)
            sched_yield();
        else
            nap();
    }
    if (is_starving)
        atomic_fetch_sub_explicit(&lock->starving, 1, memory_order_relaxed);
}
