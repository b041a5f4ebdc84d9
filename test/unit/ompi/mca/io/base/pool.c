/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * ompi/mca/io/base/pool.c: what the threads of the pool do, and how many there are. The linker
 * wraps pthread_create, which may fail and counts the threads that have ended, and
 * pthread_cond_timedwait: a thread is idle until a test says that this was long enough. The threads
 * in /proc are no count: one that was joined is there for a moment more.
 */
#include "ompi/mca/io/base/pool.h"

#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <sched.h>
#include <semaphore.h>
#include <signal.h>
#include <stdatomic.h>
#include <sys/wait.h>

#include "ompi/mca/io/base/base.h"
#include "test/unit/opal/support.h"

enum { WORKS = 200, MAX_THREADS = 3 };

static atomic_bool create_fails, cpus_are_refused, is_impatient;
static atomic_uint created, ended; /* threads */
static atomic_uint waits;          /* calls */
static void *(*_Atomic run_pool)(void *);

int __real_pthread_create(pthread_t *, const pthread_attr_t *, void *(*)(void *), void *);
int __wrap_pthread_create(pthread_t *, const pthread_attr_t *, void *(*)(void *), void *);
int __wrap_pthread_cond_timedwait(pthread_cond_t *, pthread_mutex_t *, const struct timespec *);

/* The end of a thread takes a while, so that whoever does not wait for it is found out. */
static void *run_and_count(void *argument)
{
    void *(*run)(void *) = atomic_load(&run_pool);
    void *result = run(argument);
    poll(NULL, 0, 1);
    atomic_fetch_add(&ended, 1);
    return result;
}

int __wrap_pthread_create(pthread_t *thread, const pthread_attr_t *traits, void *(*run)(void *),
                          void *argument)
{
    if (atomic_load(&create_fails))
        return EAGAIN;
    if (traits != NULL && atomic_load(&cpus_are_refused))
        return EINVAL;
    atomic_fetch_add(&created, 1);
    atomic_store(&run_pool, run);
    return __real_pthread_create(thread, traits, run_and_count, argument);
}

int __wrap_pthread_cond_timedwait(pthread_cond_t *condition, pthread_mutex_t *lock,
                                  const struct timespec *limit OPAL_UNUSED)
{
    atomic_fetch_add(&waits, 1);
    return atomic_load(&is_impatient) ? ETIMEDOUT : pthread_cond_wait(condition, lock);
}

static void setup(void)
{
    ompi_io_threads = MAX_THREADS;
}

/* -- works ------------------------------------------------------------------------------------- */

typedef struct job {
    ompi_io_work_t work;
    unsigned number;
    pthread_t thread;
} job_t;

static job_t jobs[WORKS];
static atomic_uint ran, running, most_running;
static unsigned order[WORKS];
static sem_t gate, begun;

static job_t *job_of(ompi_io_work_t *work)
{
    return opal_container_of(work, job_t, work);
}

static void note(ompi_io_work_t *work)
{
    job_t *job = job_of(work);
    job->thread = pthread_self();
    order[atomic_fetch_add(&ran, 1)] = job->number;
}

/* Counts those that run at once, and lets others run. */
static void crowd(ompi_io_work_t *work)
{
    unsigned now = atomic_fetch_add(&running, 1) + 1, most = atomic_load(&most_running);
    while (now > most && !atomic_compare_exchange_weak(&most_running, &most, now))
        ;
    sched_yield();
    atomic_fetch_sub(&running, 1);
    note(work);
}

static void wait_at_gate(ompi_io_work_t *work)
{
    sem_post(&begun);
    while (sem_wait(&gate) != 0)
        ;
    note(work);
}

static void add(unsigned number, void (*run)(ompi_io_work_t *work))
{
    jobs[number].number = number;
    jobs[number].work.run = run;
    ompi_io_pool_add(&jobs[number].work);
}

static void make_gate(void)
{
    sem_init(&gate, 0, 0);
    sem_init(&begun, 0, 0);
}

START_TEST(one_thread_runs_them_in_their_order)
{
    ompi_io_threads = 1;
    for (unsigned i = 0; i < WORKS; i++)
        add(i, note);
    ompi_io_pool_stop();
    ck_assert_uint_eq(ran, WORKS);
    for (unsigned i = 0; i < WORKS; i++) {
        ck_assert_uint_eq(order[i], i);
        ck_assert(pthread_equal(jobs[i].thread, jobs[0].thread));
        ck_assert(!pthread_equal(jobs[i].thread, pthread_self()));
    }
    ck_assert_uint_eq(created, 1);
}
END_TEST

/* All of them are at the gate at once: each has a thread. */
START_TEST(as_many_as_there_may_be_threads_run_at_once)
{
    make_gate();
    for (unsigned i = 0; i < MAX_THREADS; i++)
        add(i, wait_at_gate);
    for (unsigned i = 0; i < MAX_THREADS; i++)
        sem_wait(&begun);
    for (unsigned i = 0; i < MAX_THREADS; i++)
        sem_post(&gate);
    ompi_io_pool_stop();
    ck_assert_uint_eq(ran, MAX_THREADS);
}
END_TEST

START_TEST(no_more_run_at_once)
{
    for (unsigned i = 0; i < WORKS; i++)
        add(i, crowd);
    ompi_io_pool_stop();
    ck_assert_uint_eq(ran, WORKS);
    ck_assert_uint_le(most_running, MAX_THREADS);
    ck_assert_uint_le(created, MAX_THREADS);
}
END_TEST

START_TEST(a_thread_that_is_idle_takes_the_next_work)
{
    add(0, note);
    while (atomic_load(&waits) == 0)
        sched_yield();
    add(1, note);
    ompi_io_pool_stop();
    ck_assert_uint_eq(created, 1);
    ck_assert(pthread_equal(jobs[1].thread, jobs[0].thread));
}
END_TEST

START_TEST(threads_are_started_when_none_is_idle)
{
    make_gate();
    add(0, wait_at_gate);
    sem_wait(&begun);
    ck_assert_uint_eq(created, 1);
    add(1, wait_at_gate);
    sem_wait(&begun);
    ck_assert_uint_eq(created, 2);
    sem_post(&gate);
    sem_post(&gate);
    ompi_io_pool_stop();
}
END_TEST

START_TEST(the_caller_runs_it_if_there_is_no_thread)
{
    ompi_io_threads = _i == 0 ? 0 : MAX_THREADS;
    create_fails = _i == 1;
    add(0, note);
    ck_assert_uint_eq(ran, 1);
    ck_assert(pthread_equal(jobs[0].thread, pthread_self()));
    ompi_io_pool_stop();
}
END_TEST

START_TEST(one_thread_does_what_a_second_one_would)
{
    make_gate();
    add(0, wait_at_gate);
    sem_wait(&begun);
    create_fails = true;
    add(1, note);
    sem_post(&gate);
    ompi_io_pool_stop();
    ck_assert_uint_eq(ran, 2);
    ck_assert(pthread_equal(jobs[1].thread, jobs[0].thread));
}
END_TEST

static sigset_t blocked;

static void see_signals(ompi_io_work_t *work OPAL_UNUSED)
{
    pthread_sigmask(SIG_SETMASK, NULL, &blocked);
}

START_TEST(signals_are_blocked_in_its_threads_alone)
{
    sigset_t own;
    add(0, see_signals);
    ompi_io_pool_stop();
    pthread_sigmask(SIG_SETMASK, NULL, &own);
    ck_assert(sigismember(&blocked, SIGTERM) && sigismember(&blocked, SIGPROF));
    ck_assert(!sigismember(&own, SIGTERM) && !sigismember(&own, SIGPROF));
}
END_TEST

static cpu_set_t seen_cpus;

static void see_cpus(ompi_io_work_t *work OPAL_UNUSED)
{
    sched_getaffinity(0, sizeof seen_cpus, &seen_cpus);
}

/* The parent of this process has more CPUs, as a launcher that binds it would. */
START_TEST(threads_run_where_a_launcher_may)
{
    cpu_set_t all, one;
    const bool is_launched = _i > 0, is_refused = _i == 2;
    ck_assert_int_eq(sched_getaffinity(getppid(), sizeof all, &all), 0);
    CPU_ZERO(&one);
    for (int cpu = 0; cpu < CPU_SETSIZE && CPU_COUNT(&one) == 0; cpu++) {
        if (CPU_ISSET(cpu, &all))
            CPU_SET(cpu, &one);
    }
    ck_assert_int_eq(sched_setaffinity(0, sizeof one, &one), 0);
    unsetenv("PMI_FD");
    unsetenv("PMIX_NAMESPACE");
    setenv("PMIX_RANK", "0", 1);
    if (is_launched)
        setenv("PMIX_NAMESPACE", "job", 1);
    cpus_are_refused = is_refused;
    add(0, see_cpus);
    ompi_io_pool_stop();
    ck_assert(CPU_EQUAL(&seen_cpus, is_launched && !is_refused ? &all : &one));
    ompi_io_cpus_t before;
    bool is_unbound = ompi_io_pool_unbind(&before);
    ck_assert(is_unbound == (is_launched && !CPU_EQUAL(&all, &one)));
    sched_getaffinity(0, sizeof seen_cpus, &seen_cpus);
    ck_assert(CPU_EQUAL(&seen_cpus, is_launched ? &all : &one));
    if (is_unbound)
        ompi_io_pool_bind(&before);
    ck_assert_int_eq(sched_getaffinity(0, sizeof all, &all), 0);
    ck_assert(CPU_EQUAL(&all, &one));
}
END_TEST

static void free_itself(ompi_io_work_t *work)
{
    free(job_of(work));
    atomic_fetch_add(&ran, 1);
}

START_TEST(a_work_may_free_itself)
{
    for (unsigned i = 0; i < WORKS; i++) {
        job_t *job = calloc(1, sizeof *job);
        job->work.run = free_itself;
        ompi_io_pool_add(&job->work);
    }
    ompi_io_pool_stop();
    ck_assert_uint_eq(ran, WORKS);
}
END_TEST

/* -- ends -------------------------------------------------------------------------------------- */

START_TEST(nothing_is_left_when_it_was_stopped)
{
    for (unsigned round = 0; round < 20; round++) {
        atomic_store(&ran, 0);
        for (unsigned i = 0; i < 10; i++)
            add(i, note);
        ompi_io_pool_stop();
        ck_assert_uint_eq(ran, 10);
        ck_assert_uint_eq(ended, created);
    }
    ompi_io_pool_stop();
}
END_TEST

START_TEST(idle_threads_end_and_others_come)
{
    make_gate();
    for (unsigned round = 1; round <= 5; round++) {
        is_impatient = false;
        for (unsigned i = 0; i < MAX_THREADS; i++)
            add(round * MAX_THREADS + i, wait_at_gate);
        for (unsigned i = 0; i < MAX_THREADS; i++)
            sem_wait(&begun);
        is_impatient = true;
        for (unsigned i = 0; i < MAX_THREADS; i++)
            sem_post(&gate);
        while (atomic_load(&ended) < round * MAX_THREADS)
            sched_yield();
    }
    ck_assert_uint_eq(created, 5 * MAX_THREADS);
    ompi_io_pool_stop();
}
END_TEST

/* The parent's thread and its work are not in the child. */
START_TEST(a_child_has_an_empty_pool)
{
#if !defined(__SANITIZE_THREAD__) /* it permits no threads there */
    int status = -1;
    ompi_io_threads = 1;
    make_gate();
    add(0, wait_at_gate);
    sem_wait(&begun);
    add(1, note);
    pid_t child = fork();
    ck_assert_int_ge(child, 0);
    if (child == 0) {
        add(2, note);
        ompi_io_pool_stop();
        _exit(ran == 1 && order[0] == 2 && jobs[2].thread != pthread_self() ? 0 : 1);
    }
    ck_assert_int_eq(waitpid(child, &status, 0), child);
    ck_assert_int_eq(status, 0);
    sem_post(&gate);
    ompi_io_pool_stop();
    ck_assert_uint_eq(ran, 2);
#endif
}
END_TEST

static const unit_test_t tests[] = {
    {.test = &one_thread_runs_them_in_their_order},
    {.test = &as_many_as_there_may_be_threads_run_at_once},
    {.test = &no_more_run_at_once},
    {.test = &a_thread_that_is_idle_takes_the_next_work},
    {.test = &threads_are_started_when_none_is_idle},
    {.test = &the_caller_runs_it_if_there_is_no_thread, .repeats = 2},
    {.test = &one_thread_does_what_a_second_one_would},
    {.test = &signals_are_blocked_in_its_threads_alone},
    {.test = &threads_run_where_a_launcher_may, .repeats = 3},
    {.test = &a_work_may_free_itself},
    {.test = &nothing_is_left_when_it_was_stopped},
    {.test = &idle_threads_end_and_others_come},
    {.test = &a_child_has_an_empty_pool},
};

UNIT_MAIN("pool", tests, setup);
