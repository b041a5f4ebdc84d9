/* SPDX-License-Identifier: BSD-3-Clause */
/* ompi/mca/osc/base/lock.c, with threads and processes that lock in earnest. */
#include <pthread.h>
#include <sched.h>
#include <sys/wait.h>

#include "ompi/mca/osc/base/lock.h"
#include "test/unit/ompi/mca/osc/base/fake_window.h"

enum { TARGET = 1, FAR_ROW = FAKE_RANKS, S = OMPI_OSC_SHARED, X = OMPI_OSC_EXCLUSIVE };
enum { ROUNDS = 3000, WRITES = ROUNDS - ROUNDS / 3 };

/* The far row is the target's own. */
static ompi_osc_window_t *window_of(int row)
{
    return &fake_windows[row == FAR_ROW ? TARGET : row];
}

static bool ask(int row, int kind)
{
    return ompi_osc_lock_ask(window_of(row), row, TARGET, (ompi_osc_lock_kind_t)kind);
}

static bool has(int row)
{
    return ompi_osc_lock_has(window_of(row), row, TARGET);
}

static void release(int row)
{
    ck_assert(has(row));
    ompi_osc_lock_release(window_of(row), row, TARGET);
    ck_assert(!has(row));
}

/* What the lock protects, twice: a reader sees both halves equal. */
typedef struct protected
{
    unsigned one, two;
}
protected_t;

static protected_t *counts;

static void acquire(int row, int kind)
{
    for (bool got = ask(row, kind); !got; got = has(row)) {
        if (__wrap_opal_node_deaths() != 0)
            ompi_osc_lock_recover(window_of(row), TARGET);
        sched_yield();
    }
}

/* Returns how often it read something torn. */
static unsigned lock_and_count(int row)
{
    unsigned torn = 0;
    for (int round = 0; round < ROUNDS; round++) {
        int kind = round % 3 == 2 ? S : X;
        acquire(row, kind);
        torn += counts->one != counts->two;
        if (kind == X) {
            counts->one++;
            if (round % 16 == 0)
                sched_yield(); /* with one half written */
            counts->two++;
        }
        release(row);
    }
    return torn;
}

static void *run_row(void *row)
{
    return (void *)(uintptr_t)lock_and_count((int)(uintptr_t)row);
}

START_TEST(threads_exclude_each_other)
{
    pthread_t threads[FAR_ROW + 1];
    counts = fake_shared(sizeof *counts);
    for (uintptr_t row = 0; row <= FAR_ROW; row++)
        ck_assert_int_eq(pthread_create(&threads[row], NULL, run_row, (void *)row), 0);
    for (int row = 0; row <= FAR_ROW; row++) {
        void *torn;
        pthread_join(threads[row], &torn);
        ck_assert_ptr_null(torn);
    }
    ck_assert_uint_eq(counts->one, (FAR_ROW + 1) * WRITES);
    ck_assert_uint_eq(atomic_load(&fake_shared_area()->lines[TARGET].lock), 0);
}
END_TEST

/* One of them dies with the lock. */
START_TEST(processes_go_on_behind_a_death)
{
    enum { VICTIM = 2 };
    pid_t pids[FAKE_RANKS];
    counts = fake_shared(sizeof *counts);
    for (int row = 0; row < FAKE_RANKS; row++) {
        pids[row] = fork();
        ck_assert_int_ge(pids[row], 0);
        if (pids[row] > 0)
            continue;
        if (row == VICTIM)
            acquire(row, X);
        _exit(row != VICTIM && lock_and_count(row) != 0);
    }
    int status;
    ck_assert_int_eq(waitpid(pids[VICTIM], &status, 0), pids[VICTIM]);
    fake_death(VICTIM);
    for (int row = 0; row < FAKE_RANKS; row++) {
        if (row != VICTIM)
            ck_assert_int_eq(waitpid(pids[row], &status, 0), pids[row]);
        ck_assert_int_eq(status, 0);
    }
    ck_assert_uint_eq(counts->one, (FAKE_RANKS - 1) * WRITES);
    ck_assert_uint_eq(atomic_load(&fake_shared_area()->lines[TARGET].lock), 0);
}
END_TEST

static const unit_test_t tests[] = {
    {.test = &threads_exclude_each_other},
    {.test = &processes_go_on_behind_a_death},
};

UNIT_MAIN("lock_race", tests, fake_setup);
