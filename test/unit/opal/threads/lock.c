/* SPDX-License-Identifier: BSD-3-Clause */
/* opal/threads/lock.[ch]: one at a time, with a bias, without, and while it ends; nobody starves.
 */
#include "opal/threads/lock.h"

#include <sched.h>
#include <stdint.h>
#include <time.h>

#include "test/unit/opal/support.h"

enum { THREADS = 6, ROUNDS = 20000 };

static opal_lock_t lock;
static long counter;       /* under the lock */
static bool is_taken;      /* likewise: somebody is inside */
static atomic_bool broken; /* two were inside */

static void setup(void)
{
    lock = (opal_lock_t){0};
    counter = 0;
    is_taken = false;
    atomic_store(&broken, false);
}

static void count_once(void)
{
    opal_lock_acquire(&lock);
    if (is_taken)
        atomic_store(&broken, true);
    is_taken = true;
    counter++;
    is_taken = false;
    opal_lock_release(&lock);
}

static void *count_often(void *argument OPAL_UNUSED)
{
    for (int i = 0; i < ROUNDS; i++)
        count_once();
    return NULL;
}

static void count_in_threads(void)
{
    pthread_t threads[THREADS];
    for (int i = 0; i < THREADS; i++)
        pthread_create(&threads[i], NULL, count_often, NULL);
    for (int i = 0; i < ROUNDS; i++)
        count_once();
    for (int i = 0; i < THREADS; i++)
        pthread_join(threads[i], NULL);
    ck_assert_int_eq(counter, (THREADS + 1) * (long)ROUNDS);
    ck_assert(!atomic_load(&broken));
    ck_assert(!opal_lock_is_wanted(&lock));
}

START_TEST(one_thread_at_a_time)
{
    count_in_threads();
}
END_TEST

/* The main thread counts by its bias until the first of the others comes, in the middle of it. */
START_TEST(one_at_a_time_while_the_bias_ends)
{
    for (int i = 0; i < 20; i++) {
        setup();
        opal_lock_bias(&lock);
        opal_lock_acquire(&lock);
        ck_assert(lock.is_biased || atomic_load(&lock.bias) == 0); /* 0: no membarrier here */
        opal_lock_release(&lock);
        count_in_threads();
        ck_assert(atomic_load(&lock.bias) == 0);
    }
}
END_TEST

static void *want_once(void *argument OPAL_UNUSED)
{
    opal_lock_acquire(&lock);
    counter++;
    opal_lock_release(&lock);
    return NULL;
}

/* Who holds it by its bias, and gives way: the others have it in between. */
START_TEST(the_owner_gives_way)
{
    pthread_t threads[THREADS];
    opal_lock_bias(&lock);
    opal_lock_acquire(&lock);
    for (int i = 0; i < THREADS; i++)
        pthread_create(&threads[i], NULL, want_once, NULL);
    while (counter < THREADS) {
        if (opal_lock_is_wanted(&lock))
            opal_lock_give_way(&lock);
        else
            sched_yield();
    }
    opal_lock_release(&lock);
    for (int i = 0; i < THREADS; i++)
        pthread_join(threads[i], NULL);
}
END_TEST

/* The clock of lock.c is this test's: hunger is a matter of time. */
static atomic_ullong now_nsec;

int __wrap_clock_gettime(clockid_t clock, struct timespec *time);
int __wrap_clock_gettime(clockid_t clock OPAL_UNUSED, struct timespec *time)
{
    const uint64_t second = 1000000000, now = atomic_load(&now_nsec);
    *time = (struct timespec){.tv_sec = (time_t)(now / second), .tv_nsec = (long)(now % second)};
    return 0;
}

/* It finds the lock held until it is starving; the one that holds the lock gives it back, and wants
 * it again at once, but has it behind the starving one. */
START_TEST(a_hungry_one_goes_first)
{
    for (int i = 0; i < 10; i++) {
        pthread_t thread;
        counter = 0;
        opal_lock_acquire(&lock);
        pthread_create(&thread, NULL, want_once, NULL);
        while (atomic_load(&lock.fair.state) != OPAL_LOCK_ASLEEP)
            sched_yield();
        ck_assert_int_eq((int)atomic_load(&lock.fair.starving), 0);
        atomic_fetch_add(&now_nsec, OPAL_LOCK_STARVING_NSEC);
        while (atomic_load(&lock.fair.starving) == 0) {
            opal_fair_wake(&lock.fair); /* for nothing: it is not free */
            sched_yield();
        }
        opal_lock_release(&lock);
        opal_lock_acquire(&lock);
        ck_assert_int_eq(counter, 1);
        opal_lock_release(&lock);
        pthread_join(thread, NULL);
    }
}
END_TEST

static void *sleep_on_it(void *argument OPAL_UNUSED)
{
    count_once();
    return NULL;
}

/* They sleep, and each wakes the next one. */
START_TEST(sleepers_are_woken)
{
    pthread_t threads[THREADS];
    opal_lock_acquire(&lock);
    for (int i = 0; i < THREADS; i++)
        pthread_create(&threads[i], NULL, sleep_on_it, NULL);
    while (atomic_load(&lock.fair.state) != OPAL_LOCK_ASLEEP ||
           atomic_load(&lock.fair.wanted) < THREADS)
        sched_yield();
    opal_lock_release(&lock);
    for (int i = 0; i < THREADS; i++)
        pthread_join(threads[i], NULL);
    ck_assert_int_eq(counter, THREADS);
    ck_assert_int_eq((int)atomic_load(&lock.fair.starving), 0);
}
END_TEST

/* A fair lock by itself, which several threads take and give back at once. */
static opal_fair_lock_t fair;

static void *count_fairly(void *argument OPAL_UNUSED)
{
    for (int i = 0; i < ROUNDS; i++) {
        opal_fair_acquire(&fair);
        if (is_taken)
            atomic_store(&broken, true);
        is_taken = true;
        counter++;
        is_taken = false;
        opal_fair_release(&fair);
    }
    return NULL;
}

START_TEST(a_fair_lock_alone)
{
    pthread_t threads[THREADS];
    for (int i = 0; i < THREADS; i++)
        pthread_create(&threads[i], NULL, count_fairly, NULL);
    for (int i = 0; i < THREADS; i++)
        pthread_join(threads[i], NULL);
    ck_assert_int_eq(counter, THREADS * (long)ROUNDS);
    ck_assert(!atomic_load(&broken));
    ck_assert_int_eq((int)atomic_load(&fair.state), OPAL_LOCK_FREE);
    ck_assert_int_eq((int)atomic_load(&fair.wanted), 0);
}
END_TEST

static const unit_test_t tests[] = {
    {.test = &one_thread_at_a_time}, {.test = &one_at_a_time_while_the_bias_ends},
    {.test = &the_owner_gives_way},  {.test = &a_hungry_one_goes_first},
    {.test = &sleepers_are_woken},   {.test = &a_fair_lock_alone},
};

UNIT_MAIN("lock", tests, setup);
