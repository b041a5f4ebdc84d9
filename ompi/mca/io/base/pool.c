/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The threads and their queue. See pool.h.
 *
 * A thread that ends joins the one that has ended before it, and ompi_io_pool_stop joins the last:
 * so nothing of them is left, and none needs a place in a table.
 */
#include "ompi/mca/io/base/pool.h"

#include <pthread.h>
#include <sched.h>
#include <stdbool.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "opal/mca/pmi/base/base.h"
#include "opal/threads/thread.h"
#include "ompi/mca/io/base/base.h"

enum { IDLE_SEC = 1 };

static const char name[] = "mica-io";

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER; /* for all below */
static pthread_cond_t changed;                           /* work has come, or threads are to end */
static pthread_cond_t empty;                             /* the last thread has ended */
static opal_list_t queue;
static unsigned queued, idle, threads;
static bool is_stopping;
static bool has_ended; /* a thread; it is not joined yet: */
static pthread_t ended;

static pthread_once_t once = PTHREAD_ONCE_INIT;
static ompi_io_cpus_t cpus; /* where the threads may run, if known */
static bool has_cpus;

static void begin_empty(void)
{
    pthread_condattr_t clock;
    pthread_condattr_init(&clock);
    pthread_condattr_setclock(&clock, CLOCK_MONOTONIC);
    pthread_cond_init(&changed, &clock);
    pthread_condattr_destroy(&clock);
    pthread_cond_init(&empty, NULL);
    opal_list_init(&queue);
    queued = idle = threads = 0;
    is_stopping = has_ended = false;
}

/* The child of a fork has none of the threads, and their work is the parent's. */
static void begin_child(void)
{
    pthread_mutex_init(&lock, NULL);
    begin_empty();
}

/* On the core that a launcher has bound a rank to, the threads would take turns with the program.
 * The launcher, which is the parent, may run where it had the choice for its ranks. Without a
 * launcher the user has chosen where this process runs. */
static void find_cpus(void)
{
    opal_pmi_origin_t origin = opal_pmi_origin(NULL);
    has_cpus = origin != OPAL_PMI_ALONE && origin != OPAL_PMI_LOST &&
               sched_getaffinity(getppid(), sizeof cpus, (cpu_set_t *)(void *)&cpus) == 0;
}

static void begin(void)
{
    find_cpus();
    begin_empty();
    pthread_atfork(NULL, NULL, begin_child);
}

/* Waits for work for a while. With the lock. NULL: the thread is to end. */
static ompi_io_work_t *take(void)
{
    struct timespec limit;
    int error = 0;
    clock_gettime(CLOCK_MONOTONIC, &limit);
    limit.tv_sec += IDLE_SEC;
    idle++;
    while (queued == 0 && !is_stopping && error == 0)
        error = pthread_cond_timedwait(&changed, &lock, &limit);
    idle--;
    if (queued == 0)
        return NULL;
    opal_list_node_t *node = opal_list_first(&queue);
    opal_list_remove(node);
    queued--;
    return opal_container_of(node, ompi_io_work_t, node);
}

static void *run(void *unused OPAL_UNUSED)
{
    ompi_io_work_t *work;
    pthread_mutex_lock(&lock);
    while ((work = take()) != NULL) {
        pthread_mutex_unlock(&lock);
        work->run(work);
        pthread_mutex_lock(&lock);
    }
    bool is_first = !has_ended;
    pthread_t before = ended;
    ended = pthread_self();
    has_ended = true;
    if (--threads == 0)
        pthread_cond_signal(&empty);
    pthread_mutex_unlock(&lock);
    if (!is_first)
        pthread_join(before, NULL);
    return NULL;
}

/* It begins where it may run: else it would begin on the caller's core, before the caller goes on.
 * If the system refuses these CPUs it runs where the caller does. */
static int create_thread(pthread_t *thread)
{
    pthread_attr_t traits;
    int error = -1;
    if (has_cpus && pthread_attr_init(&traits) == 0) {
        pthread_attr_setaffinity_np(&traits, sizeof cpus, (cpu_set_t *)(void *)&cpus);
        error = opal_thread_start(thread, &traits, name, run);
        pthread_attr_destroy(&traits);
    }
    return error == 0 ? 0 : opal_thread_start(thread, NULL, name, run);
}

/* With the lock. A failure is no error: there are other threads, or the caller does the work. */
static void start_thread(void)
{
    pthread_t thread;
    if (create_thread(&thread) == 0)
        threads++;
}

void ompi_io_pool_add(ompi_io_work_t *work)
{
    pthread_once(&once, begin);
    pthread_mutex_lock(&lock);
    if (queued >= idle && threads < ompi_io_threads)
        start_thread();
    bool has_threads = threads > 0;
    if (has_threads) {
        opal_list_append(&queue, &work->node);
        queued++;
        pthread_cond_signal(&changed);
    }
    pthread_mutex_unlock(&lock);
    if (!has_threads)
        work->run(work);
}

void ompi_io_pool_stop(void)
{
    pthread_once(&once, begin);
    pthread_mutex_lock(&lock);
    is_stopping = true;
    pthread_cond_broadcast(&changed);
    while (threads > 0)
        pthread_cond_wait(&empty, &lock);
    bool is_any = has_ended;
    has_ended = is_stopping = false;
    pthread_mutex_unlock(&lock);
    if (is_any)
        pthread_join(ended, NULL);
}

bool ompi_io_pool_unbind(ompi_io_cpus_t *before)
{
    pthread_once(&once, begin);
    return has_cpus && sched_getaffinity(0, sizeof *before, (cpu_set_t *)(void *)before) == 0 &&
           memcmp(before, &cpus, sizeof cpus) != 0 &&
           sched_setaffinity(0, sizeof cpus, (cpu_set_t *)(void *)&cpus) == 0;
}

void ompi_io_pool_bind(const ompi_io_cpus_t *before)
{
    sched_setaffinity(0, sizeof *before, (const cpu_set_t *)(const void *)before);
}
