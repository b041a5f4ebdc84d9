/* SPDX-License-Identifier: BSD-3-Clause */
/* opal/roll/census.c: processes that run, sleep, are stopped or have ended, and their rolls. */
#include "opal/roll/census.h"

#include <pthread.h>
#include <signal.h>
#include <sys/wait.h>

#include "opal/include/clock.h"
#include "test/unit/opal/support.h"

static const opal_pmi_job_t job = {.job_id = (char *)"unit job", .rank = 1, .size = 2};
static int told[2];

static void tell(void)
{
    ck_assert_int_eq(write(told[1], "x", 1), 1);
}

static void hear(void)
{
    char byte;
    ck_assert_int_eq(read(told[0], &byte, 1), 1);
}

/* A child that has a roll, writes an entry, and does something until it is killed. */
static pid_t begin(bool has_threads, bool is_loop, void (*act)(void))
{
    ck_assert_int_eq(pipe(told), 0);
    pid_t child = fork();
    if (child == 0) {
        opal_roll_start(&job, has_threads);
        opal_roll_write(is_loop, 7, "wait call=MPI_Recv", strlen("wait call=MPI_Recv"));
        act();
        tell();
        for (;;)
            pause();
    }
    hear();
    return child;
}

static void end(pid_t child)
{
    kill(child, SIGKILL);
    waitpid(child, NULL, 0);
    close(told[0]);
    close(told[1]);
}

static void nothing(void)
{
}

static void *wait_for_ever(void *lock)
{
    pthread_mutex_lock(lock);
    return NULL;
}

static void *sleep_for_ever(void *unused)
{
    for (;;)
        pause();
    return unused;
}

static pthread_mutex_t held = PTHREAD_MUTEX_INITIALIZER;

static void begin_thread(void *(*act)(void *))
{
    pthread_t thread;
    pthread_mutex_lock(&held);
    ck_assert_int_eq(pthread_create(&thread, NULL, act, &held), 0);
}

static void with_sleeping_thread(void)
{
    begin_thread(sleep_for_ever);
}

static void with_blocked_thread(void)
{
    begin_thread(wait_for_ever);
}

/* Taken again until the process has that state, and then looked at. */
static opal_census_t await(pid_t child, char state)
{
    opal_census_t census;
    for (;;) {
        opal_census_take(child, &census);
        if (census.count == 1 && census.processes[0].state == state)
            return census;
        opal_census_free(&census);
    }
}

START_TEST(a_process_that_sleeps)
{
    pid_t child = begin(false, false, nothing);
    opal_census_t census = await(child, 'S');
    const opal_census_process_t *process = &census.processes[0];
    ck_assert_int_eq(process->pid, child);
    ck_assert_uint_eq(process->rank, 1);
    ck_assert_str_eq(process->job_id, "unit job");
    ck_assert_str_eq(process->command, "census");
    ck_assert_uint_gt(process->memory_bytes, 0);
    ck_assert_int_eq(process->tracer, 0);
    ck_assert_uint_eq(process->wait_count, 1);
    ck_assert_uint_eq(process->waits[0].since_nsec, 7);
    ck_assert_str_eq(process->waits[0].text, "wait call=MPI_Recv");
    opal_census_free(&census);
    end(child);
    opal_census_take(child, &census);
    ck_assert_uint_eq(census.count, 0);
    opal_census_free(&census);
}
END_TEST

START_TEST(a_process_that_is_stopped)
{
    pid_t child = begin(false, false, nothing);
    kill(child, SIGSTOP);
    opal_census_t census = await(child, 'T');
    ck_assert_uint_eq(census.processes[0].wait_count, 1);
    opal_census_free(&census);
    end(child);
}
END_TEST

/* Nobody withdraws the entry of a loop that ends: it grows old. */
START_TEST(a_loop_that_goes_round_no_more)
{
    pid_t child = begin(false, true, nothing);
    uint64_t begun = opal_clock_nsec();
    opal_census_t census = await(child, 'S');
    bool was_there = census.processes[0].wait_count == 1;
    ck_assert(was_there || opal_clock_nsec() - begun > OPAL_NSEC_PER_SEC);
    for (bool is_there = true; is_there;) {
        opal_census_free(&census);
        census = await(child, 'S');
        is_there = census.processes[0].wait_count == 1;
    }
    opal_census_free(&census);
    end(child);
}
END_TEST

static bool is_elsewhere(bool has_threads, void (*act)(void), bool wanted)
{
    pid_t child = begin(has_threads, false, act);
    bool result;
    do {
        opal_census_t census = await(child, 'S');
        result = census.processes[0].is_elsewhere;
        opal_census_free(&census);
    } while (result != wanted); /* the thread may not have begun to wait */
    end(child);
    return result;
}

/* A thread that only waits for another one cannot help; one that sleeps may wake up and send. Where
 * only one thread may call MPI, the others do not count. */
START_TEST(other_threads)
{
    ck_assert(!is_elsewhere(true, nothing, false));
    ck_assert(!is_elsewhere(true, with_blocked_thread, false));
    ck_assert(is_elsewhere(true, with_sleeping_thread, true));
    ck_assert(!is_elsewhere(false, with_sleeping_thread, false));
}
END_TEST

/* As the process itself sees it, and those of its node; it is alone. */
START_TEST(the_own_node)
{
    opal_census_t census;
    opal_roll_start(&job, false);
    opal_roll_write(false, 7, "wait call=MPI_Recv", strlen("wait call=MPI_Recv"));
    opal_census_take_node(&job, &census);
    ck_assert_uint_eq(census.count, 1);
    ck_assert_int_eq(census.processes[0].pid, getpid());
    ck_assert_uint_eq(census.processes[0].wait_count, 1);
    ck_assert_str_eq(census.processes[0].waits[0].text, "wait call=MPI_Recv");
    opal_census_free(&census);
    opal_roll_withdraw(false);
    opal_roll_stop();
}
END_TEST

static const unit_test_t tests[] = {
    {&the_own_node, 0, 0, 0},
    {&a_process_that_sleeps, 0, 0, 0},
    {&a_process_that_is_stopped, 0, 0, 0},
    {&a_loop_that_goes_round_no_more, 0, 0, 0},
#ifndef __SANITIZE_THREAD__ /* it has a thread of its own, which sleeps */
    {&other_threads, 0, 0, 0},
#endif
};

UNIT_MAIN("census", tests, NULL);
