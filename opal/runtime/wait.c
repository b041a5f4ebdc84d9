/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The loop that every blocking call ends in. See wait.h.
 *
 * How the sleeper and a sender cannot miss each other: both write one word and read the other's.
 * The sleeper's membarrier makes every core that runs one of us pass a full fence, so either the
 * sender's look comes after it and sees ASLEEP, or what the sender published before is seen by the
 * sleeper's last poll. With FENCED both sides fence instead. A process turns FENCED once, with a
 * membarrier behind it, so nobody is left who has not seen it.
 */
#include "opal/runtime/wait.h"

#include <errno.h>
#include <limits.h>
#include <linux/futex.h>
#include <linux/membarrier.h>
#include <pthread.h>
#include <sched.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "opal/arch/pause.h"
#include "opal/mca/base/param.h"
#include "opal/runtime/place.h"
#include "opal/util/list.h"

enum {
    MAX_POLLS = 8,
    POLLS_PER_LOOK = 32, /* at the clock and around, while spinning */
    POLLS_WITHOUT_PAUSE = 256,
    WATCH_SECONDS = 1,
    YIELD_NSEC = 20000, /* of polling in vain */
};

static struct {
    opal_poll_fn_t *poll;
    void *state;
} polls[MAX_POLLS];
static unsigned poll_count;

static opal_doorbell_t private_doorbell;
static opal_doorbell_t *own = &private_doorbell;
static bool has_membarrier;
static bool crowded;
static void (*watch)(void);

/* A thread in a wait while another one polls; on that thread's stack. */
typedef struct parked {
    opal_list_node_t node;
    const atomic_int *done; /* what it waits for */
    atomic_uint woken;      /* futex */
} parked_t;

static const atomic_int *polling_for; /* what the poller waits for; the upper layer's lock */
static pthread_mutex_t parked_lock = PTHREAD_MUTEX_INITIALIZER; /* the list; the innermost lock */
static opal_list_t parked_threads = {{&parked_threads.head, &parked_threads.head}};
static atomic_uint parked_count; /* paired with `done`: each side writes one and reads the other */

static opal_place_t place;

static unsigned spin_usec, crowded_yields;

static const opal_param_row_t params[] = {
    {.name = "spin_usec",
     .type = OPAL_PARAM_UNSIGNED,
     .value = &spin_usec,
     .preset = "1000",
     .max = "1000000",
     .unit = "us",
     .prose =
         "How long a wait polls at full speed before it sleeps, when every rank has a core; to "
         "sleep and be woken takes 50 to 100"},
    {.name = "yields",
     .type = OPAL_PARAM_UNSIGNED,
     .value = &crowded_yields,
     .preset = "50",
     .max = "1000000",
     .prose = "How often a wait yields its core before it sleeps, when ranks outnumber cores"},
    {0},
};

opal_status_t opal_wait_register(void)
{
    return opal_param_register("wait", "", params);
}

void opal_wait_withdraw(void)
{
    opal_param_withdraw(params);
}

/* -- polling ------------------------------------------------------------------- */

opal_status_t opal_progress_add(opal_poll_fn_t *poll, void *state)
{
    if (poll_count == MAX_POLLS)
        return OPAL_ERR_TOO_LARGE;
    polls[poll_count].poll = poll;
    polls[poll_count].state = state;
    poll_count++;
    return OPAL_SUCCESS;
}

void opal_progress_remove(opal_poll_fn_t *poll, void *state)
{
    for (unsigned i = 0; i < poll_count; i++) {
        if (polls[i].poll != poll || polls[i].state != state)
            continue;
        poll_count--;
        for (; i < poll_count; i++)
            polls[i] = polls[i + 1];
        return;
    }
}

int opal_progress(void)
{
    int count = 0;
    for (unsigned i = 0; i < poll_count; i++)
        count += polls[i].poll(polls[i].state);
    return count;
}

/* -- ringing ------------------------------------------------------------------- */

/* Shared between processes, so without FUTEX_PRIVATE_FLAG. */
static void futex_wait(atomic_uint *word, unsigned seen, const struct timespec *timeout)
{
    syscall(SYS_futex, word, FUTEX_WAIT, seen, timeout, NULL, 0);
}

void opal_doorbell_wake(opal_doorbell_t *doorbell)
{
    /* For FENCED, and for a ringer that is not one of us: mpirun. */
    atomic_thread_fence(memory_order_seq_cst);
    if ((atomic_load_explicit(&doorbell->state, memory_order_relaxed) & OPAL_DOORBELL_ASLEEP) == 0)
        return;
    /* Of many senders one makes the system call. */
    unsigned before = atomic_fetch_and(&doorbell->state, ~(unsigned)OPAL_DOORBELL_ASLEEP);
    if ((before & OPAL_DOORBELL_ASLEEP) == 0)
        return;
    atomic_fetch_add(&doorbell->bell, 1);
    syscall(SYS_futex, &doorbell->bell, FUTEX_WAKE, INT_MAX, NULL, NULL, 0);
}

static void unpark(parked_t *parked)
{
    atomic_store(&parked->woken, 1);
    syscall(SYS_futex, &parked->woken, FUTEX_WAKE_PRIVATE, 1, NULL, NULL, 0);
}

/* Wakes those that are parked for `done`; all, if that is NULL. */
static void wake_parked(const atomic_int *done)
{
    pthread_mutex_lock(&parked_lock);
    for (opal_list_node_t *node = opal_list_first(&parked_threads); node != NULL;
         node = opal_list_next(&parked_threads, node)) {
        parked_t *parked = opal_container_of(node, parked_t, node);
        if (done == NULL || parked->done == done)
            unpark(parked);
    }
    pthread_mutex_unlock(&parked_lock);
}

void opal_wait_ring_self(void)
{
    opal_doorbell_wake(own);
    if (atomic_load(&parked_count) != 0)
        wake_parked(NULL);
}

void opal_wait_poke(void)
{
    if (opal_unlikely(polling_for != NULL))
        opal_doorbell_wake(own);
}

void opal_wait_signal(atomic_int *done)
{
    atomic_store_explicit(done, 1, memory_order_release);
    /* Who waits has parked itself, or begun to poll, under the lock that the caller holds. */
    if (opal_unlikely(polling_for == done))
        opal_doorbell_wake(own);
    else if (opal_unlikely(atomic_load_explicit(&parked_count, memory_order_relaxed) != 0))
        wake_parked(done);
}

/* -- setting up ---------------------------------------------------------------- */

static bool membarrier(int command)
{
    return syscall(SYS_membarrier, command, 0, 0) == 0;
}

/* From now on senders fence; those that have not seen it yet are made to. */
static void turn_fenced(void)
{
    unsigned before = atomic_fetch_or(&own->state, OPAL_DOORBELL_FENCED);
    if ((before & OPAL_DOORBELL_FENCED) == 0 && has_membarrier)
        membarrier(MEMBARRIER_CMD_GLOBAL_EXPEDITED);
}

bool opal_wait_join_membarrier(void)
{
    has_membarrier = membarrier(MEMBARRIER_CMD_REGISTER_GLOBAL_EXPEDITED);
    if (!has_membarrier)
        turn_fenced();
    return has_membarrier;
}

void opal_wait_set_doorbell(opal_doorbell_t *mine)
{
    own = mine != NULL ? mine : &private_doorbell;
    if (!has_membarrier || crowded)
        turn_fenced();
}

void opal_wait_set_crowded(bool is_crowded)
{
    crowded = is_crowded;
    if (crowded)
        turn_fenced();
}

bool opal_wait_is_crowded(void)
{
    return crowded;
}

void opal_wait_set_watch(void (*function)(void))
{
    watch = function;
}

/* -- waiting ------------------------------------------------------------------- */

static uint64_t now_nsec(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

static bool is_done(const atomic_int *done)
{
    return atomic_load_explicit(done, memory_order_acquire) != 0;
}

/* Another one may need this core, the very one that is waited for. */
static void share_core(uint64_t now)
{
    sched_yield();
    if (place.seed == 0)
        place.seed = (unsigned)getpid();
    if (opal_place_decide(&place, now, now_nsec()))
        opal_place_move();
}

/* Polls until it is done or nothing has come for the time of the parameter. True: done. */
static bool spin(const atomic_int *done, const opal_wait_lock_t *lock)
{
    uint64_t give_up = 0, next_yield = 0;
    for (unsigned idle = 0;; idle++) {
        if (is_done(done))
            return true;
        if (lock != NULL)
            lock->yield();
        if (opal_progress() > 0) {
            idle = 0;
            give_up = 0;
            continue;
        }
        /* A pause may take longer than a message does. */
        if (idle >= POLLS_WITHOUT_PAUSE)
            opal_cpu_pause();
        if (idle % POLLS_PER_LOOK != POLLS_PER_LOOK - 1)
            continue;
        if (watch != NULL)
            watch();
        uint64_t now = now_nsec();
        if (give_up == 0) {
            give_up = now + (uint64_t)spin_usec * 1000;
            next_yield = now + YIELD_NSEC;
        }
        if (now >= next_yield) {
            share_core(now);
            next_yield = now + YIELD_NSEC;
        }
        if (now >= give_up || crowded)
            return false;
    }
}

/* With more ranks than cores, who is waited for may need this one. True: done. */
static bool yield(const atomic_int *done, const opal_wait_lock_t *lock)
{
    for (unsigned idle = 0;; idle++) {
        if (is_done(done))
            return true;
        if (lock != NULL)
            lock->yield();
        if (opal_progress() > 0) {
            idle = 0;
            continue;
        }
        if (idle >= crowded_yields)
            return false;
        sched_yield();
    }
}

void opal_wait_look(const opal_wait_lock_t *lock)
{
    static unsigned idle;
    if (opal_progress() > 0)
        return;
    if (watch != NULL && ++idle % POLLS_PER_LOOK == 0)
        watch();
    if (!crowded)
        return;
    if (lock != NULL)
        lock->release();
    sched_yield();
    if (lock != NULL)
        lock->acquire();
}

/* Goes to sleep unless something has come meanwhile. */
static void sleep_once(const atomic_int *done, const opal_wait_lock_t *lock)
{
    static const struct timespec watch_time = {.tv_sec = WATCH_SECONDS};
    unsigned seen = atomic_load(&own->bell);
    unsigned before = atomic_fetch_or(&own->state, OPAL_DOORBELL_ASLEEP);
    if ((before & OPAL_DOORBELL_FENCED) != 0)
        atomic_thread_fence(memory_order_seq_cst);
    else
        membarrier(MEMBARRIER_CMD_GLOBAL_EXPEDITED);
    if (!is_done(done) && opal_progress() == 0 && !is_done(done)) {
        if (lock != NULL)
            lock->release();
        futex_wait(&own->bell, seen, watch != NULL ? &watch_time : NULL);
        if (lock != NULL)
            lock->acquire();
    }
    atomic_fetch_and(&own->state, ~(unsigned)OPAL_DOORBELL_ASLEEP);
    if (watch != NULL)
        watch();
}

static void poll_until(const atomic_int *done, const opal_wait_lock_t *lock)
{
    while (!(crowded ? yield(done, lock) : spin(done, lock)))
        sleep_once(done, lock);
}

/* Sleeps while another thread polls, until it is done or this one is to poll. */
static void park(const atomic_int *done, const opal_wait_lock_t *lock)
{
    parked_t self = {.done = done};
    pthread_mutex_lock(&parked_lock);
    opal_list_append(&parked_threads, &self.node);
    atomic_fetch_add(&parked_count, 1);
    pthread_mutex_unlock(&parked_lock);
    /* Who rings without the lock has set `done` before it looks for the parked. */
    atomic_thread_fence(memory_order_seq_cst);
    lock->release();
    while (!is_done(done) && atomic_load(&self.woken) == 0)
        syscall(SYS_futex, &self.woken, FUTEX_WAIT_PRIVATE, 0, NULL, NULL, 0);
    lock->acquire();
    pthread_mutex_lock(&parked_lock);
    opal_list_remove(&self.node);
    atomic_fetch_sub(&parked_count, 1);
    pthread_mutex_unlock(&parked_lock);
}

/* Nobody polls: one of those that are parked is going to. */
static void hand_on(void)
{
    pthread_mutex_lock(&parked_lock);
    opal_list_node_t *node = opal_list_first(&parked_threads);
    if (node != NULL)
        unpark(opal_container_of(node, parked_t, node));
    pthread_mutex_unlock(&parked_lock);
}

void opal_wait_until(const atomic_int *done, const opal_wait_lock_t *lock)
{
    if (lock == NULL) {
        poll_until(done, NULL);
        return;
    }
    while (!is_done(done)) {
        if (polling_for != NULL) {
            park(done, lock);
            continue;
        }
        polling_for = done;
        poll_until(done, lock);
        polling_for = NULL;
    }
    /* Also by one that was to poll and found itself done: there may be no other. */
    if (polling_for == NULL && atomic_load(&parked_count) != 0)
        hand_on();
}
