/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * ompi/mca/osc/base/accumulate.c with several threads: nothing is lost while the mode changes, the
 * change waits for those inside, and short accumulates exclude each other as a whole.
 */
#include <pthread.h>
#include <sched.h>

#include "ompi/mca/osc/base/accumulate.h"
#include "test/unit/ompi/mca/osc/base/fake_target.h"

enum { THREADS = 4, ROUNDS = 20000, INSIDE = 3 };

static void setup(void)
{
    fake_target_setup();
    ompi_lock_needed = true; /* there are several threads */
}

/* An accumulate of one value `count` times, seen from a rank. */
static ompi_osc_access_t repeated(int rank, MPI_Op op, const int64_t *values, size_t count,
                                  size_t offset)
{
    ompi_osc_access_t access = target_access(op, ompi_datatype_of(MPI_INT64_T), count, offset);
    access.window = &fake_windows[rank];
    access.target = &fake_windows[rank].targets[TARGET];
    access.is_shared = true;
    access.origin = (ompi_data_t){(void *)(uintptr_t)values, count, access.remote.type};
    return access;
}

static pthread_barrier_t start;

static void run_threads(void *(*run)(void *))
{
    pthread_t threads[THREADS];
    pthread_barrier_init(&start, NULL, THREADS);
    for (uintptr_t i = 0; i < THREADS; i++)
        ck_assert_int_eq(pthread_create(&threads[i], NULL, run, (void *)i), 0);
    for (int i = 0; i < THREADS; i++)
        pthread_join(threads[i], NULL);
}

/* Two threads are of one rank. */
static void *add(void *number)
{
    static const int64_t ones[] = {1, 1};
    int rank = (int)(uintptr_t)number % 3;
    pthread_barrier_wait(&start);
    for (int i = 0; i < ROUNDS; i++) {
        bool is_long = number == NULL && i > ROUNDS / 4; /* then the mode changes */
        ompi_osc_access_t access = repeated(rank, MPI_SUM, ones, is_long ? 2 : 1, 64);
        ompi_osc_accumulate_here(&access);
    }
    return NULL;
}

START_TEST(nothing_is_lost_when_the_mode_changes)
{
    int64_t *sums = (void *)(target_memory + 64);
    sums[0] = sums[1] = 0;
    run_threads(add);
    ck_assert_int_eq(sums[0], THREADS * ROUNDS);
    ck_assert_int_eq(sums[1], ROUNDS - ROUNDS / 4 - 1);
    ck_assert_uint_eq(target_mode(), OMPI_OSC_BY_LOCK);
    for (int rank = 0; rank < FAKE_RANKS; rank++)
        ck_assert_uint_eq(atomic_load(&fake_shared_area()->lines[rank].inside), 0);
}
END_TEST

/* Counts by comparing; the word before goes to where the comparand is. */
static void *swap(void *number)
{
    static const int64_t zeros[] = {0, 0};
    int rank = (int)(uintptr_t)number % 3;
    int64_t seen = 0;
    pthread_barrier_wait(&start);
    for (int i = 0; i < ROUNDS; i++) {
        int64_t guess = seen - 1;
        for (bool is_done = false; !is_done; is_done = seen == guess) {
            guess = seen;
            int64_t next = guess + 1;
            ompi_osc_access_t access = repeated(rank, MPI_REPLACE, &next, 1, 64);
            access.result = (ompi_data_t){&seen, 1, access.remote.type};
            ompi_osc_compare_here(&access, &seen);
        }
        seen++;
        if (number == NULL && i > ROUNDS / 4) { /* then the mode changes */
            ompi_osc_access_t access = repeated(rank, MPI_SUM, zeros, 2, 64);
            ompi_osc_accumulate_here(&access);
        }
    }
    return NULL;
}

START_TEST(nothing_is_lost_by_comparing)
{
    int64_t *count = (void *)(target_memory + 64);
    *count = 0;
    run_threads(swap);
    ck_assert_int_eq(*count, THREADS * ROUNDS);
    ck_assert_uint_eq(target_mode(), OMPI_OSC_BY_LOCK);
}
END_TEST

/* -- the change waits -------------------------------------------------------------------------- */

static void *add_two(void *context OPAL_UNUSED)
{
    static const int64_t ones[] = {1, 1};
    ompi_osc_access_t access = repeated(2, MPI_SUM, ones, 2, 64);
    ompi_osc_accumulate_here(&access);
    return NULL;
}

START_TEST(threads_of_a_rank_are_counted)
{
    const ompi_osc_window_t *window = &fake_windows[INSIDE];
    ck_assert(ompi_osc_enter(window, TARGET));
    ck_assert(ompi_osc_enter(window, TARGET));
    ompi_osc_leave(window);
    ck_assert_uint_eq(atomic_load(&window->own->inside), 1);
    ompi_osc_leave(window);
    ck_assert_uint_eq(atomic_load(&window->own->inside), 0);
}
END_TEST

/* Until it leaves (_i is 0) or dies inside. */
START_TEST(the_change_waits_for_who_is_inside)
{
    pthread_t thread;
    int64_t *sums = (void *)(target_memory + 64);
    sums[0] = sums[1] = 0;
    ck_assert(ompi_osc_enter(&fake_windows[INSIDE], TARGET));
    ck_assert_int_eq(pthread_create(&thread, NULL, add_two, NULL), 0);
    while (target_mode() == OMPI_OSC_BY_CPU)
        sched_yield();
    ck_assert(!ompi_osc_enter(&fake_windows[SELF], TARGET));
    for (int i = 0; i < 1000; i++) {
        ck_assert_uint_eq(target_mode(), OMPI_OSC_CHANGES);
        sched_yield();
    }
    if (_i == 0)
        ompi_osc_leave(&fake_windows[INSIDE]);
    else
        fake_death(INSIDE);
    pthread_join(thread, NULL);
    ck_assert_uint_eq(target_mode(), OMPI_OSC_BY_LOCK);
    ck_assert(sums[0] == 1 && sums[1] == 1);
}
END_TEST

/* -- short ones as a whole --------------------------------------------------------------------- */

enum { LENGTH = 120, ACROSS = OMPI_OSC_STRIPE_BYTES - 480 };

static atomic_uint torn;

/* All values are equal, at any time. */
static void *replace(void *number)
{
    pthread_barrier_wait(&start);
    for (int i = 0; i < ROUNDS; i++) {
        int64_t values[LENGTH], found[LENGTH];
        for (int k = 0; k < LENGTH; k++)
            values[k] = (int64_t)(uintptr_t)number * ROUNDS + i;
        ompi_osc_access_t access = repeated(SELF, MPI_REPLACE, values, LENGTH, ACROSS);
        access.result = (ompi_data_t){found, LENGTH, access.remote.type};
        ompi_osc_accumulate_here(&access);
        for (int k = 1; k < LENGTH; k++)
            atomic_fetch_add(&torn, found[k] != found[0]);
    }
    return NULL;
}

START_TEST(short_ones_exclude_each_other_across_stripes)
{
    memset(target_memory + ACROSS, 0, LENGTH * sizeof(int64_t));
    run_threads(replace);
    ck_assert_uint_eq(atomic_load(&torn), 0);
}
END_TEST

static const unit_test_t tests[] = {
    {.test = &nothing_is_lost_when_the_mode_changes},
    {.test = &nothing_is_lost_by_comparing},
    {.test = &threads_of_a_rank_are_counted},
    {.test = &the_change_waits_for_who_is_inside, .repeats = 2},
    {.test = &short_ones_exclude_each_other_across_stripes},
};

UNIT_MAIN("accumulate_race", tests, setup);
