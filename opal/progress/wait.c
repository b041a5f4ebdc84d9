/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The loop that every blocking call ends in. See wait.h.
 *
 * The sleeper and a sender cannot miss each other: each writes one word and reads the other's. The
 * sleeper's membarrier is a full fence on every core that runs a peer. So either the sender's load
 * comes after it and sees ASLEEP, or the sleeper's last poll sees what the sender has published.
 * With FENCED both sides fence instead. A process turns FENCED once, with a membarrier behind it,
 * after which every sender sees it.
 */
#include "opal/progress/wait.h"

#include <errno.h>
#include <limits.h>
#include <pthread.h>
#include <sched.h>
#include <time.h>
#include <unistd.h>

#include "opal/arch/pause.h"
#include "opal/mca/base/param.h"
#include "opal/mca/base/pvar.h"
#include "opal/progress/background.h"
#include "opal/progress/descriptor.h"
#include "opal/progress/listener.h"
#include "opal/progress/cpu_migration.h"
#include "opal/threads/futex.h"
#include "opal/threads/membarrier.h"
#include "opal/include/clock.h"
#include "opal/arch/ticks.h"
#include "opal/profile/profile.h"
#include "opal/util/list.h"

enum {
    MAX_POLLS = 16,      /* all users together are ten */
    POLLS_PER_LOOK = 32, /* polls between two looks at the clock, while spinning */
    POLLS_WITHOUT_PAUSE = 256,
    PARKED_YIELDS = 5,        /* of a parked thread before it sleeps */
    YIELD_NSEC = 20000,       /* of polling in vain */
    LONG_NSEC = 3000,         /* ... to record a wait takes a fortieth of that on an AMD EPYC */
    WATCH_NSEC = 1000000000,  /* the longest sleep while there is a watch */
    UNHEARD_NSEC = 2000000,   /* ... while no notification can end it */
    LASTING_NSEC = 100000000, /* a wait for longer has an observer */
    SLOW_NSEC = 20000000,     /* a loop of looks that takes longer for 32 of them is a slow one */
    BUSY_NSEC = 30000, /* of CPU between two looks: more than a loop that only sleeps needs */
};

static struct {
    opal_poll_fn_t *poll;
    void *state;
} polls[MAX_POLLS];
static unsigned poll_count;

/* What the background sees of the program's threads. Written under the upper layer's lock. */
static atomic_uint poll_calls, wait_calls;

static opal_doorbell_t private_doorbell;
static opal_doorbell_t *own = &private_doorbell;
static bool has_membarrier;
static atomic_bool oversubscribed; /* read without a lock, too */
static bool early, apart;
static void (*_Atomic watch)(void); /* set by any thread, without the lock */
static const opal_wait_observer_t *observer;

/* A thread in a wait while another one is the poller; on that thread's stack. */
typedef struct parked {
    opal_list_node_t node;
    const atomic_int *done; /* what it waits for */
    atomic_uint state;      /* PARKED_YIELDING and so on: a futex */
} parked_t;

enum { PARKED_YIELDING, PARKED_ASLEEP, PARKED_WOKEN };

/* What the poller waits for; NULL: there is none. Written under the upper layer's lock. */
static _Atomic(const atomic_int *) polling_for;
static pthread_mutex_t parked_lock = PTHREAD_MUTEX_INITIALIZER; /* the list; the innermost lock */
static opal_list_t parked_threads = {{&parked_threads.head, &parked_threads.head}};
static atomic_uint parked_count; /* paired with `done`: each side writes one and reads the other */
static atomic_uint asleep_count; /* of the parked ones; paired with `done`, too */

/* The background sleeps until the poller leaves: a futex. Paired with polling_for: the poller
 * writes that and reads this, and the background writes this and reads that. */
static atomic_uint resting;

static opal_cpu_migration_t migration;

static unsigned spin_usec, oversubscribed_yields;

static const opal_param_row_t params[] = {
    {.name = "spin_usec",
     .type = OPAL_PARAM_UNSIGNED,
     .value = &spin_usec,
     .preset = "1000",
     .max = "1000000",
     .unit = "us",
     .write = OPAL_PARAM_ANYTIME,
     .prose = "How long a wait polls before it sleeps, if every rank has a core (spin budget); "
              "to sleep and be woken takes 50 to 100 us; 0: it sleeps at once"},
    {.name = "yields",
     .type = OPAL_PARAM_UNSIGNED,
     .value = &oversubscribed_yields,
     .preset = "50",
     .max = "1000000",
     .is_internal = true,
     .write = OPAL_PARAM_ANYTIME,
     .prose = "How often a wait yields its core before it sleeps, if there are more ranks than "
              "cores"},
    {0},
};

/* -- performance variables ----------------------------------------------------- */

static opal_counter_t sleeps, slept_nsec, waited_nsec;
static opal_counter_t timed_slept_nsec; /* while waits are timed */
static opal_demand_t timing;            /* for waited_nsec, which takes two looks at the clock */

/* Ticks, since when the wait of this thread is a long one, if waits are recorded; 0: not yet. */
static _Thread_local uint64_t long_since __attribute__((tls_model("initial-exec")));

/* Of the time between the first started handle and now. A sleep of another thread may not be in a
 * wait that was timed. */
static uint64_t read_polling(const opal_pvar_row_t *row OPAL_UNUSED, void *object OPAL_UNUSED)
{
    uint64_t waited = opal_counted(&waited_nsec), slept = opal_counted(&timed_slept_nsec);
    return waited > slept ? waited - slept : 0;
}

static const opal_pvar_row_t pvars[] = {
    {.name = "waiting",
     .class = OPAL_PVAR_TIMER,
     .unit = "s",
     .value = &waited_nsec,
     .demand = &timing,
     .prose = "Time in blocking calls that waited for something"},
    {.name = "polling",
     .class = OPAL_PVAR_TIMER,
     .unit = "s",
     .read = read_polling,
     .demand = &timing,
     .prose = "Time in blocking calls that waited for something, without the time asleep"},
    {.name = "sleeping",
     .class = OPAL_PVAR_TIMER,
     .unit = "s",
     .value = &slept_nsec,
     .prose = "Time for which blocking calls slept until something came"},
    {.name = "sleeps",
     .class = OPAL_PVAR_COUNTER,
     .value = &sleeps,
     .prose = "How often a blocking call has gone to sleep until something came"},
    {0},
};

opal_status_t opal_wait_register(void)
{
    opal_pvar_register("wait", "", pvars);
    opal_status_t status = opal_param_register("wait", "", params);
    opal_status_t descriptor = opal_descriptor_register();
    return status != OPAL_SUCCESS ? status : descriptor;
}

void opal_wait_withdraw(void)
{
    opal_listener_stop();
    opal_descriptor_withdraw();
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

static inline void count_one(atomic_uint *counter)
{
    unsigned before = atomic_load_explicit(counter, memory_order_relaxed);
    atomic_store_explicit(counter, before + 1, memory_order_relaxed);
}

int opal_progress(void)
{
    int count = 0;
    count_one(&poll_calls);
    for (unsigned i = 0; i < poll_count; i++)
        count += polls[i].poll(polls[i].state);
    if (opal_unlikely(opal_descriptor_active != 0))
        count += opal_descriptor_look_sometimes(count);
    return count;
}

/* -- notifying ----------------------------------------------------------------- */

/* Of many senders one makes the system call: the one that clears ASLEEP or WATCHED, which are the
 * bits. Returns the state before that; 0: another sender has cleared it. */
static unsigned take_bits(opal_doorbell_t *doorbell, unsigned bits)
{
    /* For FENCED, and for a process that never joined membarrier, such as the launcher. */
    atomic_thread_fence(memory_order_seq_cst);
    if ((atomic_load_explicit(&doorbell->state, memory_order_relaxed) & bits) == 0)
        return 0;
    unsigned before = atomic_fetch_and(&doorbell->state, ~bits);
    return (before & bits) != 0 ? before : 0;
}

static void wake_waiters(opal_doorbell_t *doorbell)
{
    atomic_fetch_add(&doorbell->bell, 1);
    opal_futex_wake(&doorbell->bell, INT_MAX, OPAL_FUTEX_SHARED);
}

void opal_doorbell_wake(opal_doorbell_t *doorbell)
{
    if (take_bits(doorbell, OPAL_DOORBELL_ASLEEP | OPAL_DOORBELL_WATCHED) != 0)
        wake_waiters(doorbell); /* if the owner is POLLING or WATCHED, its listener sees the bell */
}

/* The thread of this process that polls, which sleeps on that doorbell. */
static void wake_sleeper(opal_doorbell_t *doorbell)
{
    unsigned before = take_bits(doorbell, OPAL_DOORBELL_ASLEEP);
    if ((before & OPAL_DOORBELL_POLLING) != 0)
        opal_descriptor_wake();
    else if (before != 0)
        wake_waiters(doorbell);
}

static void wake_poller(void)
{
    wake_sleeper(own);
}

static void unpark(parked_t *parked)
{
    if (atomic_exchange(&parked->state, PARKED_WOKEN) == PARKED_ASLEEP)
        opal_futex_wake(&parked->state, 1, OPAL_FUTEX_PRIVATE);
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

void opal_wait_notify_self(void)
{
    wake_poller();
    opal_background_poke();
    if (atomic_load(&parked_count) != 0)
        wake_parked(NULL);
}

void opal_wait_poke(void)
{
    if (opal_unlikely(polling_for != NULL))
        wake_poller();
    else
        opal_background_poke();
}

bool opal_wait_is_asleep(void)
{
    return polling_for != NULL && (atomic_load(&own->state) & OPAL_DOORBELL_ASLEEP) != 0;
}

void opal_wait_signal(atomic_int *done)
{
    atomic_store_explicit(done, 1, memory_order_release);
    /* The waiting thread has parked itself, or begun to poll, under the lock of the caller. */
    if (opal_unlikely(atomic_load(&polling_for) == done))
        wake_poller();
    else if (opal_unlikely(atomic_load_explicit(&parked_count, memory_order_relaxed) != 0)) {
        atomic_thread_fence(memory_order_seq_cst);
        if (atomic_load_explicit(&asleep_count, memory_order_relaxed) != 0)
            wake_parked(done); /* a thread that is parked and yields sees `done` */
    }
}

/* -- setting up ---------------------------------------------------------------- */

/* From now on senders fence; the membarrier shows FENCED to those that are running. */
static void turn_fenced(void)
{
    unsigned before = atomic_fetch_or(&own->state, OPAL_DOORBELL_FENCED);
    if ((before & OPAL_DOORBELL_FENCED) == 0 && has_membarrier)
        opal_membarrier(MEMBARRIER_CMD_GLOBAL_EXPEDITED);
}

bool opal_wait_has_membarrier(void)
{
    return has_membarrier;
}

bool opal_wait_join_membarrier(void)
{
    has_membarrier = opal_membarrier(MEMBARRIER_CMD_REGISTER_GLOBAL_EXPEDITED);
    if (!has_membarrier)
        turn_fenced();
    return has_membarrier;
}

void opal_wait_set_doorbell(opal_doorbell_t *mine)
{
    opal_doorbell_t *before = own;
    opal_listener_stop();
    own = mine != NULL ? mine : &private_doorbell;
    if (!has_membarrier || oversubscribed)
        turn_fenced();
    wake_sleeper(before);
}

void opal_wait_set_early(void)
{
    early = true;
}

void opal_wait_set_oversubscribed(bool is_oversubscribed)
{
    early = false;
    oversubscribed = is_oversubscribed;
    if (oversubscribed)
        turn_fenced();
}

bool opal_wait_is_oversubscribed(void)
{
    return oversubscribed;
}

static bool sleeps_next;

bool opal_wait_sleeps_next(void)
{
    return sleeps_next;
}

void opal_wait_set_apart(bool is_apart)
{
    apart = is_apart;
}

void opal_wait_set_watch(void (*function)(void))
{
    atomic_store(&watch, function);
}

static void call_watch(void)
{
    void (*function)(void) = atomic_load_explicit(&watch, memory_order_acquire);
    if (function != NULL)
        function();
}

/* -- waits that last ------------------------------------------------------------- */

/* For how long nothing has come; on the stack of the thread that waits. */
typedef struct lull {
    uint64_t since, reported_at; /* nsec; reported_at 0: the observer does not know */
} lull_t;

/* Of a program that looks again and again. Under the upper layer's lock. */
static lull_t looking;

/* Something has come. */
static void end_lull(lull_t *lull, bool is_loop)
{
    if (opal_unlikely(lull->reported_at != 0))
        observer->is_over(is_loop);
    lull->since = lull->reported_at = 0;
}

/* Nothing has come. Called with the lock, if there is one. */
static void note_lull(lull_t *lull, bool is_loop)
{
    uint64_t now = opal_clock_nsec();
    if (lull->since == 0)
        lull->since = now;
    if (observer == NULL || now - lull->since < LASTING_NSEC)
        return;
    if (lull->reported_at == 0 || now - lull->reported_at >= WATCH_NSEC / (is_loop ? 4 : 1)) {
        observer->lasts(lull->since, is_loop);
        lull->reported_at = now;
    }
}

/* The next observer knows nothing of a loop that was reported to this one. */
void opal_wait_set_observer(const opal_wait_observer_t *new_observer)
{
    looking = (lull_t){0};
    observer = new_observer;
}

/* -- waiting ------------------------------------------------------------------- */

static bool is_done(const atomic_int *done)
{
    return atomic_load_explicit(done, memory_order_acquire) != 0;
}

/* The peer that is waited for may need this core. */
static void share_core(uint64_t now)
{
    sched_yield();
    if (migration.seed == 0)
        migration.seed = (unsigned)getpid();
    if (opal_cpu_migration_decide(&migration, now, opal_clock_nsec()))
        opal_cpu_migrate();
}

/* Called where a wait has taken so long, or is going to, that to record it costs nothing beside. */
static void note_long(void)
{
    if (opal_profile_is_on && long_since == 0)
        long_since = opal_ticks();
}

typedef enum polled {
    POLLED_DONE,
    POLLED_ENOUGH, /* for the spin budget; now it may sleep */
    POLLED_SHARE,  /* a parked thread that does not sleep yet may need this core, and poll */
} polled_t;

static bool has_yielding(const opal_wait_lock_t *lock)
{
    return lock != NULL && atomic_load_explicit(&parked_count, memory_order_relaxed) >
                               atomic_load_explicit(&asleep_count, memory_order_relaxed);
}

/* Polls until it is done or nothing has come for a while. */
static polled_t spin(const atomic_int *done, const opal_wait_lock_t *lock)
{
    uint64_t give_up = 0, next_yield = 0, long_at = 0;
    for (unsigned idle = 0;; idle++) {
        if (is_done(done))
            return POLLED_DONE;
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
        call_watch();
        if (has_yielding(lock))
            return POLLED_SHARE;
        uint64_t now = opal_clock_nsec();
        if (give_up == 0) {
            give_up = now + (uint64_t)spin_usec * 1000;
            next_yield = now + YIELD_NSEC;
            long_at = now + LONG_NSEC;
        }
        if (now >= long_at)
            note_long();
        if (now >= next_yield) {
            share_core(now);
            next_yield = now + YIELD_NSEC;
        }
        if (now >= give_up || oversubscribed) {
            note_long();
            return POLLED_ENOUGH;
        }
    }
}

/* With more ranks than cores, the peer that is waited for may need this core. */
static polled_t yield(const atomic_int *done, const opal_wait_lock_t *lock)
{
    for (unsigned idle = 0;; idle++) {
        if (opal_unlikely(early))
            call_watch(); /* ends `early` when the number of ranks for each core is known */
        if (is_done(done))
            return POLLED_DONE;
        if (lock != NULL)
            lock->yield();
        if (opal_progress() > 0) {
            idle = 0;
            continue;
        }
        if (idle >= oversubscribed_yields)
            return POLLED_ENOUGH;
        note_long();
        sched_yield();
    }
}

/* The shortest sleep that the system has. Any process may have the core meanwhile. */
static void nap(void)
{
    nanosleep(&(struct timespec){.tv_nsec = 1}, NULL);
}

/* What a program does between two looks of a loop that lasts. Under the upper layer's lock. */
static struct {
    uint64_t left_cpu; /* CPU time when the look has ended */
    unsigned busy;     /* of the last 8 gaps that were measured; a bit for each */
    bool is_open;      /* this one is measured */
} gap;

static uint64_t cpu_nsec(void)
{
    struct timespec time;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &time);
    return (uint64_t)time.tv_sec * OPAL_NSEC_PER_SEC + (uint64_t)time.tv_nsec;
}

static void begin_gap(void)
{
    gap.is_open = true;
    gap.left_cpu = cpu_nsec();
}

/* The time that passes meanwhile says nothing: the core may be another process'. */
static void end_gap(void)
{
    bool is_busy = cpu_nsec() - gap.left_cpu > BUSY_NSEC;
    gap.busy = (gap.busy << 1 | is_busy) & 0xff;
    gap.is_open = false;
}

bool opal_wait_computes_between_looks(void)
{
    return __builtin_popcount(gap.busy) > 4;
}

/* How many looks go by until the next look at the clock. */
static unsigned look_at_clock(void)
{
    static uint64_t before;
    call_watch();
    note_lull(&looking, true);
    uint64_t now = opal_clock_nsec();
    if (observer != NULL)
        begin_gap();
    bool is_slow = now - before > SLOW_NSEC;
    before = now;
    return is_slow ? 1 : POLLS_PER_LOOK;
}

void opal_wait_look(const opal_wait_lock_t *lock)
{
    static unsigned left = POLLS_PER_LOOK, in_a_row;
    if (opal_unlikely(gap.is_open))
        end_gap();
    if (opal_progress() > 0 || (opal_descriptor_active != 0 && opal_descriptor_look_again() > 0)) {
        in_a_row = 0;
        if (opal_unlikely(looking.since != 0))
            end_lull(&looking, true);
        return;
    }
    if (--left == 0)
        left = look_at_clock();
    if (!oversubscribed)
        return;
    bool is_tired = apart && in_a_row++ >= oversubscribed_yields;
    if (is_tired)
        in_a_row = 0;
    if (lock != NULL)
        lock->release();
    if (is_tired)
        nap();
    else
        sched_yield();
    if (lock != NULL)
        lock->acquire();
}

/* How the poller sleeps this time. */
typedef struct plan {
    bool on_descriptors;
    unsigned state; /* of the doorbell meanwhile */
    unsigned seen;  /* of the bell */
    int64_t longest_nsec;
} sleep_plan_t;

static void shorten(int64_t *longest, int64_t limit)
{
    if (*longest < 0 || *longest > limit)
        *longest = limit;
}

/* Called before the doorbell says that this process is asleep. */
static sleep_plan_t prepare_sleep(const lull_t *lull, const opal_wait_lock_t *lock)
{
    sleep_plan_t plan = {.on_descriptors = opal_descriptor_is_watched(),
                         .state = OPAL_DOORBELL_ASLEEP,
                         .longest_nsec = watch != NULL ? WATCH_NSEC : -1};
    if (observer != NULL && lull->reported_at == 0)
        shorten(&plan.longest_nsec, LASTING_NSEC);
    else if (observer != NULL && lock != NULL)
        shorten(&plan.longest_nsec, WATCH_NSEC);
    if (plan.on_descriptors && !opal_descriptor_sees_word()) {
        plan.state |= OPAL_DOORBELL_POLLING;
        /* No peer sees the private doorbell. */
        if (own != &private_doorbell && !opal_listener_start(&own->bell, opal_descriptor_wake_fd()))
            shorten(&plan.longest_nsec, UNHEARD_NSEC);
    }
    plan.seen = atomic_load(&own->bell);
    return plan;
}

static void count_sleep(uint64_t nsec)
{
    opal_count(&sleeps, 1);
    opal_count(&slept_nsec, nsec);
    if (opal_is_counted(&timing))
        opal_count(&timed_slept_nsec, nsec);
}

/* Returns how many descriptors had something. */
static int fall_asleep(sleep_plan_t *plan, const opal_wait_lock_t *lock)
{
    int64_t timer = opal_timer_left();
    if (timer >= 0)
        shorten(&plan->longest_nsec, timer);
    if (plan->on_descriptors)
        opal_descriptor_begin_block(&own->bell, plan->seen);
    if (lock != NULL)
        lock->release();
    uint64_t begin = opal_clock_nsec();
    if (plan->on_descriptors)
        opal_descriptor_block(plan->longest_nsec);
    else
        opal_futex_wait_for(&own->bell, plan->seen, plan->longest_nsec, OPAL_FUTEX_SHARED);
    uint64_t end = opal_clock_nsec();
    if (lock != NULL)
        lock->acquire();
    count_sleep(end - begin);
    if (plan->on_descriptors)
        return opal_descriptor_end_block();
    if (timer >= 0)
        opal_descriptor_look();
    return 0;
}

static int poll_before_sleep(void)
{
    sleeps_next = true;
    int found = opal_progress();
    sleeps_next = false;
    return found;
}

/* Shows what was written into the doorbell of this process to those that notify it. `before`: the
 * state before that. */
static void publish_state(unsigned before)
{
    if ((before & OPAL_DOORBELL_FENCED) != 0)
        atomic_thread_fence(memory_order_seq_cst);
    else
        opal_membarrier(MEMBARRIER_CMD_GLOBAL_EXPEDITED);
}

/* Sleeps unless something has come meanwhile. True: it slept, and found nothing. */
static bool sleep_once(const atomic_int *done, const opal_wait_lock_t *lock, lull_t *lull)
{
    bool in_vain = false;
    sleep_plan_t plan = prepare_sleep(lull, lock);
    publish_state(atomic_fetch_or(&own->state, plan.state));
    /* A poll function may add the first descriptor. */
    if (!is_done(done) && poll_before_sleep() == 0 && !is_done(done) &&
        opal_descriptor_is_watched() == plan.on_descriptors &&
        (!plan.on_descriptors || opal_descriptor_arm()))
        in_vain = fall_asleep(&plan, lock) == 0;
    atomic_fetch_and(&own->state, ~plan.state);
    call_watch();
    if (in_vain && !is_done(done))
        note_lull(lull, false);
    return in_vain;
}

/* Returns when it is done, or another thread should poll. */
static void poll_until(const atomic_int *done, const opal_wait_lock_t *lock)
{
    while ((oversubscribed || early ? yield(done, lock) : spin(done, lock)) == POLLED_ENOUGH) {
        lull_t lull = {.since = opal_clock_nsec()};
        end_lull(&looking, true);
        /* A timer may end a sleep again and again, which is no reason to poll at full speed. */
        while (sleep_once(done, lock, &lull) && !is_done(done) && opal_progress() == 0)
            continue;
        end_lull(&lull, false);
    }
}

/* It is done, or woken, or there is no poller. */
static bool is_woken(parked_t *self)
{
    return is_done(self->done) || atomic_load(&polling_for) == NULL ||
           atomic_load(&self->state) == PARKED_WOKEN;
}

/* To sleep and be woken takes longer than most messages do, so the thread first yields its core to
 * the others, a few times in one wait. */
static void sleep_parked(parked_t *self, const opal_wait_lock_t *lock, unsigned *yields)
{
    lull_t lull = {.since = opal_clock_nsec()};
    do {
        sched_yield();
        if (is_woken(self))
            return;
    } while (++*yields < PARKED_YIELDS);
    unsigned yielding = PARKED_YIELDING;
    atomic_fetch_add(&asleep_count, 1);
    atomic_compare_exchange_strong(&self->state, &yielding, PARKED_ASLEEP);
    atomic_thread_fence(memory_order_seq_cst); /* before is_woken reads */
    while (!is_woken(self)) {
        int64_t longest =
            observer != NULL ? (lull.reported_at == 0 ? LASTING_NSEC : WATCH_NSEC) : -1;
        opal_futex_wait_for(&self->state, PARKED_ASLEEP, longest, OPAL_FUTEX_PRIVATE);
        if (is_woken(self) || longest < 0)
            continue;
        lock->acquire();
        if (!is_done(self->done))
            note_lull(&lull, false);
        lock->release();
    }
    end_lull(&lull, false);
    atomic_fetch_sub(&asleep_count, 1);
}

/* Waits while another thread is the poller, until it is done or this thread can be the poller. */
static void park(const atomic_int *done, const opal_wait_lock_t *lock, unsigned *yields)
{
    parked_t self = {.done = done};
    note_long();
    pthread_mutex_lock(&parked_lock);
    opal_list_append(&parked_threads, &self.node);
    atomic_fetch_add(&parked_count, 1);
    pthread_mutex_unlock(&parked_lock);
    /* A thread that notifies without the lock has set `done` before it reads parked_count. */
    atomic_thread_fence(memory_order_seq_cst);
    lock->release();
    sleep_parked(&self, lock, yields);
    lock->acquire();
    pthread_mutex_lock(&parked_lock);
    opal_list_remove(&self.node);
    atomic_fetch_sub(&parked_count, 1);
    pthread_mutex_unlock(&parked_lock);
}

/* There is no poller: a parked thread becomes the poller. */
static void pass_polling_on(void)
{
    pthread_mutex_lock(&parked_lock);
    opal_list_node_t *node = opal_list_first(&parked_threads);
    if (node != NULL)
        unpark(opal_container_of(node, parked_t, node));
    pthread_mutex_unlock(&parked_lock);
}

static void wait_until(const atomic_int *done, const opal_wait_lock_t *lock)
{
    if (lock == NULL) {
        poll_until(done, NULL);
        return;
    }
    for (unsigned yields = 0; !is_done(done);) {
        if (atomic_load(&polling_for) == NULL) {
            count_one(&wait_calls);
            atomic_store(&polling_for, done);
            poll_until(done, lock);
            atomic_store(&polling_for, NULL);
            if (opal_unlikely(atomic_load(&resting) != 0))
                opal_wait_end_rest();
        }
        if (!is_done(done))
            park(done, lock, &yields);
    }
    /* A thread that was to be the poller may find itself done: it passes the role on, too. A parked
     * thread that does not sleep yet takes the role by itself. */
    atomic_thread_fence(memory_order_seq_cst); /* before the counts are read */
    if (atomic_load(&polling_for) == NULL && atomic_load(&parked_count) != 0 && !has_yielding(lock))
        pass_polling_on();
}

/* The caller has the lock, before and after. */
OPAL_NOINLINE static void wait_timed(const atomic_int *done, const opal_wait_lock_t *lock)
{
    uint64_t begin = opal_is_counted(&timing) ? opal_clock_nsec() : 0;
    uint64_t ticks = opal_profile_is_on ? opal_profile_wait_begin() : 0;
    long_since = 0;
    wait_until(done, lock);
    if ((ticks | long_since) != 0)
        opal_profile_wait_end(ticks, long_since);
    if (begin != 0)
        opal_count(&waited_nsec, opal_clock_nsec() - begin);
}

void opal_wait_set_profiled(bool profiled)
{
    opal_demand_set_profiled(&timing, profiled);
}

void opal_wait_until(const atomic_int *done, const opal_wait_lock_t *lock)
{
    if (opal_is_demanded(&timing))
        wait_timed(done, lock);
    else
        wait_until(done, lock);
}

/* -- for the background ---------------------------------------------------------- */

opal_wait_activity_t opal_wait_activity(void)
{
    return (opal_wait_activity_t){
        .polls = atomic_load_explicit(&poll_calls, memory_order_relaxed),
        .waits = atomic_load_explicit(&wait_calls, memory_order_relaxed),
        .has_poller = atomic_load_explicit(&polling_for, memory_order_relaxed) != NULL,
    };
}

void opal_wait_rest(const atomic_bool *is_over)
{
    atomic_store(&resting, 1);
    if (atomic_load(&polling_for) != NULL && !atomic_load(is_over))
        opal_futex_wait(&resting, 1, OPAL_FUTEX_PRIVATE);
    atomic_store(&resting, 0);
}

void opal_wait_end_rest(void)
{
    atomic_store(&resting, 0);
    opal_futex_wake(&resting, 1, OPAL_FUTEX_PRIVATE);
}

int opal_wait_serve(bool before_sleep)
{
    sleeps_next = before_sleep;
    int found = opal_progress();
    sleeps_next = false;
    return found + opal_descriptor_look();
}

int64_t opal_wait_watch_doorbell(int eventfd)
{
    if (own == &private_doorbell)
        return -1; /* no peer sees it */
    int64_t longest = opal_listener_start(&own->bell, eventfd) ? -1 : UNHEARD_NSEC;
    publish_state(atomic_fetch_or(&own->state, OPAL_DOORBELL_WATCHED));
    return longest;
}

void opal_wait_unwatch_doorbell(void)
{
    atomic_fetch_and(&own->state, ~(unsigned)OPAL_DOORBELL_WATCHED);
}
