/* SPDX-License-Identifier: BSD-3-Clause */
/* opal/progress/wait.c: poll functions, and every way in which a wait ends. Threads stand in for
 * peers; processes are in test/unit/opal/mca/btl/sm/sm.c. */
#include "opal/progress/wait.h"

#include <time.h>

#include "opal/include/clock.h"
#include "test/unit/opal/progress/sleeper.h"

static void setup(void)
{
    set_up_sleeper();
    open_waiting();
}

/* -- polling ------------------------------------------------------------------------------- */

static int add_to(void *state)
{
    return ++*(int *)state;
}

START_TEST(polls_come_and_go)
{
    int first = 0, second = 10;
    ck_assert_int_eq(opal_progress(), 0);
    ck_assert_int_eq(opal_progress_add(add_to, &first), OPAL_SUCCESS);
    ck_assert_int_eq(opal_progress_add(add_to, &second), OPAL_SUCCESS);
    ck_assert_int_eq(opal_progress(), 12);
    opal_progress_remove(add_to, &first);
    ck_assert_int_eq(opal_progress(), 12);
    opal_progress_remove(add_to, &first); /* not there: nothing happens */
    opal_progress_remove(add_to, &second);
    ck_assert_int_eq(opal_progress(), 0);
}
END_TEST

START_TEST(there_is_room_for_sixteen)
{
    int counts[17] = {0};
    for (int i = 0; i < 16; i++)
        ck_assert_int_eq(opal_progress_add(add_to, &counts[i]), OPAL_SUCCESS);
    ck_assert_int_eq(opal_progress_add(add_to, &counts[16]), OPAL_ERR_TOO_LARGE);
    ck_assert_int_eq(opal_progress(), 16);
}
END_TEST

static int end_after(void *state)
{
    if (--*(int *)state == 0)
        atomic_store(&done, 1);
    return *(int *)state >= 0;
}

START_TEST(a_poll_ends_a_wait)
{
    int left = 1000;
    opal_wait_set_oversubscribed(_i == 1);
    opal_progress_add(end_after, &left);
    opal_wait_until(&done, NULL);
    ck_assert_int_eq(left, 0);
    opal_wait_until(&done, NULL); /* done already: nobody is polled */
    ck_assert_int_eq(left, 0);
}
END_TEST

static int naps;

int __wrap_nanosleep(const struct timespec *length, struct timespec *rest);
int __wrap_nanosleep(const struct timespec *length OPAL_UNUSED, struct timespec *rest OPAL_UNUSED)
{
    naps++;
    return 0;
}

/* It yields its core, and naps each time that this was for nothing wait_yields times: 50. */
START_TEST(who_looks_again_and_again_naps_among_strangers)
{
    opal_wait_set_oversubscribed(true);
    opal_wait_set_apart(_i == 1);
    for (int i = 0; i < 51 * 20; i++)
        opal_wait_look(NULL);
    ck_assert_int_eq(naps, _i == 1 ? 20 : 0);
}
END_TEST

/* -- sleeping ------------------------------------------------------------------------------ */

START_TEST(another_thread_ends_a_wait)
{
    pthread_t thread;
    opal_wait_set_oversubscribed(_i == 1);
    pthread_create(&thread, NULL, end_when_asleep, NULL);
    opal_wait_until(&done, NULL);
    pthread_join(thread, NULL);
    ck_assert(!is_asleep());
    ck_assert_uint_eq(atomic_load(&bell->state), _i == 1 ? OPAL_DOORBELL_FENCED : 0);
}
END_TEST

static void *end_under_lock(void *unused)
{
    while (atomic_load(&released) == 0)
        sched_yield();
    acquire();
    atomic_store(&done, 1);
    release();
    opal_wait_notify_self();
    return unused;
}

START_TEST(the_lock_is_given_back)
{
    pthread_t thread;
    acquire();
    pthread_create(&thread, NULL, end_under_lock, NULL);
    opal_wait_until(&done, &wait_lock);
    ck_assert_int_ne(pthread_mutex_trylock(&mutex), 0);
    release();
    pthread_join(thread, NULL);
}
END_TEST

enum { WAITERS = 4, ROUNDS = 300 };
static atomic_int turn[WAITERS];

static void *wait_for_turns(void *mine)
{
    atomic_int *own = mine;
    for (int i = 0; i < ROUNDS; i++) {
        acquire();
        opal_wait_until(own, &wait_lock);
        atomic_store(own, 0);
        release();
    }
    return NULL;
}

static void wake_without_lock(atomic_int *done_word)
{
    atomic_store(done_word, 1);
    opal_wait_notify_self();
}

static void signal_under_lock(atomic_int *done_word)
{
    acquire();
    opal_wait_signal(done_word);
    release();
}

/* Each of several threads is woken for what is its own, while it yields, falls asleep or sleeps;
 * all sleep on one doorbell. */
START_TEST(many_threads_wait)
{
    void (*const wake)(atomic_int *) = _i == 0 ? wake_without_lock : signal_under_lock;
    pthread_t threads[WAITERS];
    for (int i = 0; i < WAITERS; i++)
        pthread_create(&threads[i], NULL, wait_for_turns, &turn[i]);
    for (int round = 0; round < ROUNDS; round++) {
        for (int i = 0; i < WAITERS; i++) {
            while (atomic_load(&turn[i]) != 0)
                sched_yield();
            wake(&turn[i]);
        }
    }
    for (int i = 0; i < WAITERS; i++)
        pthread_join(threads[i], NULL);
    ck_assert(!is_asleep());
}
END_TEST

static _Thread_local bool is_parking, is_first_poller;
static atomic_int parked_done, poller_yields;
static int parked_yields;
/* The parked thread stays in its first yield until the poller yields, and the poller in its yield
 * until the parked thread has polled. */
static bool awaits_poller;
static atomic_bool is_parked;

int __real_sched_yield(void);
int __wrap_sched_yield(void);
int __wrap_sched_yield(void)
{
    if (is_first_poller) {
        atomic_fetch_add(&poller_yields, 1);
        while (atomic_load(&parked_done) == 0)
            __real_sched_yield();
    }
    if (is_parking && awaits_poller) {
        atomic_store(&is_parked, true);
        while (atomic_load(&poller_yields) == 0)
            __real_sched_yield();
    } else if (is_parking && ++parked_yields == 2) {
        acquire();
        opal_wait_signal(&parked_done);
        release();
    }
    return __real_sched_yield();
}

static void *park_beside_the_poller(void *unused)
{
    await_sleep();
    acquire();
    is_parking = true;
    opal_wait_until(&parked_done, &wait_lock);
    is_parking = false;
    release();
    return end_when_asleep(unused);
}

/* What is done soon costs the parked thread no sleep. */
START_TEST(a_parked_thread_yields_first)
{
    pthread_t thread;
    acquire();
    pthread_create(&thread, NULL, park_beside_the_poller, NULL);
    opal_wait_until(&done, &wait_lock);
    release();
    pthread_join(thread, NULL);
    ck_assert_int_eq(parked_yields, 2);
}
END_TEST

static void yield_unseen(void)
{
    release();
    __real_sched_yield();
    acquire();
}

/* Finds something until there is a parked thread. That thread, when it polls, ends both waits. */
static int end_if_parked_polls(void *unused OPAL_UNUSED)
{
    if (is_parking) {
        atomic_store(&parked_done, 1);
        atomic_store(&done, 1);
    }
    return !atomic_load(&is_parked);
}

static void *park_and_poll(void *unused)
{
    static const opal_wait_lock_t unseen = {release, acquire, yield_unseen};
    acquire();
    is_parking = true;
    opal_wait_until(&parked_done, &unseen);
    is_parking = false;
    release();
    return unused;
}

/* A poller that finds nothing lets a parked thread poll that gets the core. */
START_TEST(a_parked_thread_becomes_the_poller)
{
    static const opal_wait_lock_t unseen = {release, acquire, yield_unseen};
    pthread_t thread;
    awaits_poller = true;
    opal_progress_add(end_if_parked_polls, NULL);
    acquire();
    pthread_create(&thread, NULL, park_and_poll, NULL);
    is_first_poller = true;
    opal_wait_until(&done, &unseen);
    is_first_poller = false;
    release();
    pthread_join(thread, NULL);
    ck_assert_int_ge(atomic_load(&poller_yields), 1);
}
END_TEST

START_TEST(a_signal_ends_no_wait)
{
    wait_interrupted();
}
END_TEST

static int watched;

static void watch(void)
{
    if (++watched == 2)
        atomic_store(&done, 1);
}

/* No peer notifies: only the watch comes, by itself. */
START_TEST(the_watch_comes_each_second)
{
    opal_wait_set_watch(watch);
    opal_wait_until(&done, NULL);
    ck_assert_int_eq(watched, 2);
}
END_TEST

static void learn_load(void)
{
    watched++;
    opal_wait_set_oversubscribed(true);
    atomic_store(&done, 1);
}

static int count_polls(void *state)
{
    ++*(int *)state;
    return 0;
}

/* A wait that ends before it sleeps, too, learns how many ranks share a core. */
START_TEST(an_early_wait_watches_at_once)
{
    int polls_before = 0;
    ck_assert_int_eq(opal_progress_add(count_polls, &polls_before), OPAL_SUCCESS);
    opal_wait_set_watch(learn_load);
    opal_wait_set_early();
    opal_wait_until(&done, NULL);
    ck_assert_int_eq(watched, 1);
    ck_assert_int_eq(polls_before, 0);
    ck_assert(opal_wait_is_oversubscribed());
    opal_progress_remove(count_polls, &polls_before);
    opal_wait_set_watch(NULL);
    opal_wait_set_oversubscribed(false);
}
END_TEST

/* -- waits that last ------------------------------------------------------------------------- */

static int reports, ends;
static uint64_t reported_since;
static bool reported_loop;

static void note_lasting(uint64_t since, bool is_loop)
{
    reported_since = since;
    reported_loop = is_loop;
    reports++;
}

static void note_over(bool is_loop)
{
    ck_assert_int_eq(is_loop, reported_loop);
    ends++;
}

static const opal_wait_observer_t observer = {note_lasting, note_over};

static int end_when_reported(void *unused OPAL_UNUSED)
{
    if (reports > 0)
        atomic_store(&done, 1);
    return reports > 0;
}

/* Nothing but the observer ends the wait. */
START_TEST(a_wait_that_lasts_is_reported_and_ended)
{
    uint64_t begin = opal_clock_nsec();
    opal_progress_add(end_when_reported, NULL);
    opal_wait_set_observer(&observer);
    opal_wait_until(&done, NULL);
    opal_wait_set_observer(NULL);
    opal_progress_remove(end_when_reported, NULL);
    ck_assert_int_eq(reports, 1);
    ck_assert_int_eq(ends, 1);
    ck_assert(!reported_loop);
    ck_assert_uint_ge(reported_since, begin);
    ck_assert_uint_ge(opal_clock_nsec() - reported_since, 100 * OPAL_NSEC_PER_MSEC);
}
END_TEST

static int find_when_asked(void *found)
{
    return *(int *)found;
}

static void look_for(uint64_t nsec)
{
    for (uint64_t end = opal_clock_nsec() + nsec; opal_clock_nsec() < end;)
        opal_wait_look(NULL);
}

static void look_until_reported(int *found)
{
    opal_progress_add(find_when_asked, found);
    opal_wait_set_observer(&observer);
    while (reports == 0)
        look_for(OPAL_NSEC_PER_MSEC);
}

/* A loop of looks is reported while it lasts, ended by what comes, and then begins anew. */
START_TEST(a_loop_of_looks_is_reported)
{
    int found = 0;
    look_until_reported(&found);
    ck_assert(reported_loop);
    uint64_t first = reported_since;
    while (reports == 1)
        look_for(OPAL_NSEC_PER_MSEC);
    ck_assert_uint_eq(reported_since, first);
    ck_assert_int_eq(ends, 0);
    found = 1;
    opal_wait_look(NULL);
    ck_assert_int_eq(ends, 1);
    found = 0;
    while (reports == 2)
        look_for(OPAL_NSEC_PER_MSEC);
    ck_assert_uint_gt(reported_since, first);
    found = 1;
    opal_wait_look(NULL);
    opal_wait_set_observer(NULL);
    opal_progress_remove(find_when_asked, &found);
}
END_TEST

/* The program stops to look, MPI_Finalize takes the observer away, and waits for the last time. */
START_TEST(a_loop_of_looks_may_outlast_its_observer)
{
    int found = 0;
    look_until_reported(&found);
    opal_wait_set_observer(NULL);
    found = 1;
    opal_wait_look(NULL);
    opal_progress_remove(find_when_asked, &found);
    ck_assert_int_eq(ends, 0);
}
END_TEST

/* -- notifying ----------------------------------------------------------------------------- */

START_TEST(who_is_awake_is_not_called)
{
    opal_doorbell_t other = {0};
    opal_doorbell_notify(&other);
    ck_assert_uint_eq(atomic_load(&other.bell), 0);
    atomic_store(&other.state, OPAL_DOORBELL_FENCED);
    opal_doorbell_notify(&other);
    ck_assert_uint_eq(atomic_load(&other.bell), 0);
    atomic_store(&other.state, OPAL_DOORBELL_FENCED | OPAL_DOORBELL_ASLEEP);
    opal_doorbell_notify(&other);
    opal_doorbell_notify(&other); /* the first one has done it */
    ck_assert_uint_eq(atomic_load(&other.bell), 1);
    ck_assert_uint_eq(atomic_load(&other.state), OPAL_DOORBELL_FENCED);
}
END_TEST

static const unit_test_t tests[] = {
    {.test = &polls_come_and_go},
    {.test = &there_is_room_for_sixteen},
    {.test = &a_poll_ends_a_wait, .repeats = 2},
    {.test = &who_looks_again_and_again_naps_among_strangers, .repeats = 2},
    {.test = &another_thread_ends_a_wait, .repeats = 2},
    {.test = &the_lock_is_given_back},
    {.test = &many_threads_wait, .repeats = 2},
    {.test = &a_parked_thread_yields_first},
    {.test = &a_parked_thread_becomes_the_poller, .repeats = 5},
    {.test = &a_signal_ends_no_wait},
    {.test = &the_watch_comes_each_second},
    {.test = &a_wait_that_lasts_is_reported_and_ended},
    {.test = &a_loop_of_looks_may_outlast_its_observer},
    {.test = &a_loop_of_looks_is_reported},
    {.test = &an_early_wait_watches_at_once},
    {.test = &who_is_awake_is_not_called},
};

UNIT_MAIN("wait", tests, setup);
