/* SPDX-License-Identifier: BSD-3-Clause */
/* opal/threads/lock.[ch]: one at a time, with a bias, without, and while it ends; nobody starves.
 */
#include "opal/threads/lock.h"

#include <limits.h>
#include <linux/futex.h>
#include <sched.h>
#include <stdint.h>
#include <sys/syscall.h>
#include <time.h>

#include "test/unit/opal/support.h"

enum { THREADS = 6, ROUNDS = 20000 };

static opal_lock_t lock;
static long counter;       /* under the lock */
static bool is_taken;      /* likewise: somebody is inside */
static atomic_bool broken; /* two were inside */

/* The clock of lock.c is this test's: whether a thread is starving is a matter of time. So are its
 * system calls. */
static atomic_ullong now_nsec;
static atomic_uint looks; /* at the clock: each thread that waits looks again and again */
static atomic_int woken;  /* how many sleepers the last call may have woken */

int __wrap_clock_gettime(clockid_t clock, struct timespec *time);
int __wrap_clock_gettime(clockid_t clock OPAL_UNUSED, struct timespec *time)
{
    const uint64_t second = 1000000000, now = atomic_load(&now_nsec);
    atomic_fetch_add(&looks, 1);
    *time = (struct timespec){.tv_sec = (time_t)(now / second), .tv_nsec = (long)(now % second)};
    return 0;
}

long __wrap_syscall(long number, long a, long b, long c, long d, long e, long f);
long __real_syscall(long number, long a, long b, long c, long d, long e, long f);
long __wrap_syscall(long number, long a, long b, long c, long d, long e, long f)
{
    if (number == SYS_futex && (int)b == FUTEX_WAKE_PRIVATE)
        atomic_store(&woken, (int)c);
    return __real_syscall(number, a, b, c, d, e, f);
}

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

static atomic_bool is_over;

static void *borrow_often(void *argument OPAL_UNUSED)
{
    while (!atomic_load(&is_over)) {
        opal_lock_borrow(&lock);
        if (is_taken)
            atomic_store(&broken, true);
        is_taken = true;
        counter++;
        is_taken = false;
        opal_lock_return(&lock);
    }
    return NULL;
}

static pthread_t start_to_borrow(void)
{
    pthread_t borrower;
    setup();
    opal_lock_bias(&lock);
    atomic_store(&is_over, false);
    pthread_create(&borrower, NULL, borrow_often, NULL);
    return borrower;
}

/* The owner comes while the lock is free, while it is borrowed and while somebody waits for the
 * owner; in the end it has its bias. */
START_TEST(a_borrower_leaves_the_bias)
{
    long counted = 0, borrowed;
    pthread_t borrower = start_to_borrow();
    do {
        count_once();
        counted++;
        opal_lock_acquire(&lock);
        borrowed = counter - counted;
        opal_lock_release(&lock);
    } while (counted < ROUNDS || borrowed < 1000);
    atomic_store(&is_over, true);
    pthread_join(borrower, NULL);
    ck_assert(!atomic_load(&broken));
    ck_assert(!opal_lock_is_wanted(&lock));
    ck_assert(lock.owner == 0 || atomic_load(&lock.bias) == OPAL_LOCK_BIASED);
    opal_lock_acquire(&lock);
    ck_assert(lock.is_biased || lock.owner == 0); /* 0: no membarrier here */
    opal_lock_release(&lock);
}
END_TEST

START_TEST(a_bias_ends_while_the_lock_is_borrowed)
{
    for (int i = 0; i < 20; i++) {
        pthread_t other, borrower = start_to_borrow();
        pthread_create(&other, NULL, count_often, NULL);
        for (int j = 0; j < ROUNDS; j++)
            count_once();
        pthread_join(other, NULL);
        atomic_store(&is_over, true);
        pthread_join(borrower, NULL);
        ck_assert(counter >= 2 * (long)ROUNDS);
        ck_assert(!atomic_load(&broken));
        ck_assert(atomic_load(&lock.bias) == OPAL_LOCK_ENDED);
    }
}
END_TEST

static atomic_bool has_had_it;

static void *want_once(void *argument OPAL_UNUSED)
{
    opal_lock_acquire(&lock);
    counter++;
    atomic_store(&has_had_it, true);
    opal_lock_release(&lock);
    return NULL;
}

/* The owner of the bias gives way: the other threads have the lock in between. */
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

/* A thread that comes while another one is starving does not take the lock, though it is free. The
 * test says that one is starving; how often the thread looks at the clock shows that it waits. */
START_TEST(no_thread_passes_a_starving_one)
{
    pthread_t thread;
    atomic_store(&lock.fair.starving, 1);
    pthread_create(&thread, NULL, want_once, NULL);
    while (!atomic_load(&has_had_it) && atomic_load(&looks) < 100)
        sched_yield();
    ck_assert(!atomic_load(&has_had_it));
    ck_assert_int_eq((int)atomic_load(&lock.fair.wanted), 1);
    atomic_store(&lock.fair.starving, 0);
    pthread_join(thread, NULL);
    ck_assert_int_eq(counter, 1);
}
END_TEST

/* It finds the lock held until it is starving; the one that holds the lock gives it back, and wants
 * it again at once, but has it behind the starving one. */
START_TEST(a_starving_one_goes_first)
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
        opal_fair_wake(&lock.fair);
        ck_assert_int_eq(atomic_load(&woken),
                         INT_MAX); /* one that is not starving would not take it */
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

/* A short lock. Its waiting threads nap, so the last one has it, too, and nobody is starving in the
 * end. */
static opal_short_lock_t brief;

static void *count_briefly(void *argument OPAL_UNUSED)
{
    for (int i = 0; i < ROUNDS; i++) {
        opal_short_acquire(&brief);
        if (is_taken)
            atomic_store(&broken, true);
        is_taken = true;
        counter++;
        is_taken = false;
        opal_short_release(&brief);
        if (i % 64 == 0) /* some of those that wait become starving */
            atomic_fetch_add(&now_nsec, OPAL_LOCK_STARVING_NSEC / 2);
    }
    return NULL;
}

START_TEST(a_short_lock)
{
    pthread_t threads[THREADS];
    for (int i = 0; i < THREADS; i++)
        pthread_create(&threads[i], NULL, count_briefly, NULL);
    for (int i = 0; i < THREADS; i++)
        pthread_join(threads[i], NULL);
    ck_assert_int_eq(counter, THREADS * (long)ROUNDS);
    ck_assert(!atomic_load(&broken));
    ck_assert_int_eq((int)atomic_load(&brief.held), 0);
    ck_assert_int_eq((int)atomic_load(&brief.starving), 0);
}
END_TEST

static void *want_briefly(void *argument OPAL_UNUSED)
{
    opal_short_acquire(&brief);
    atomic_store(&has_had_it, true);
    opal_short_release(&brief);
    return NULL;
}

/* As no_thread_passes_a_starving_one. */
START_TEST(no_thread_passes_a_starving_one_briefly)
{
    pthread_t thread;
    atomic_store(&brief.starving, 1);
    pthread_create(&thread, NULL, want_briefly, NULL);
    while (!atomic_load(&has_had_it) && atomic_load(&looks) < 20)
        sched_yield();
    ck_assert(!atomic_load(&has_had_it));
    atomic_store(&brief.starving, 0);
    pthread_join(thread, NULL);
    ck_assert(atomic_load(&has_had_it));
}
END_TEST

static const unit_test_t tests[] = {
    {.test = &one_thread_at_a_time},
    {.test = &one_at_a_time_while_the_bias_ends},
    {.test = &a_borrower_leaves_the_bias},
    {.test = &a_bias_ends_while_the_lock_is_borrowed},
    {.test = &the_owner_gives_way},
    {.test = &no_thread_passes_a_starving_one},
    {.test = &a_starving_one_goes_first},
    {.test = &sleepers_are_woken},
    {.test = &a_fair_lock_alone},
    {.test = &a_short_lock},
    {.test = &no_thread_passes_a_starving_one_briefly},
};

UNIT_MAIN("lock", tests, setup);
