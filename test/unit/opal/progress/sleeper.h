/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What the tests of waiting share: the flag that ends a wait, the doorbell by which other threads
 * see that one sleeps, and a lock in the place of the upper layer's.
 */
#ifndef UNIT_PROGRESS_SLEEPER_H
#define UNIT_PROGRESS_SLEEPER_H

#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdatomic.h>

#include "opal/mca/base/param.h"
#include "opal/progress/wait.h"
#include "test/unit/opal/support.h"

#define SET(name, value) setenv("OMPI_MCA_" name, value, 1)

static atomic_int done;
static opal_doorbell_t *bell; /* shared with children */

/* The setup of each test. */
static inline void set_up_sleeper(void)
{
    SET("mca_base_param_files", "");
    SET("wait_spin_usec", "0");
    bell = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    ck_assert_ptr_ne(bell, MAP_FAILED);
}

/* The test has set its parameters by now. */
static inline void open_waiting(void)
{
    opal_param_init();
    ck_assert_int_eq(opal_wait_register(), OPAL_SUCCESS);
    opal_wait_join_membarrier();
    opal_wait_set_doorbell(bell);
}

static inline bool is_asleep(void)
{
    return (atomic_load(&bell->state) & OPAL_DOORBELL_ASLEEP) != 0;
}

static inline void await_sleep(void)
{
    while (!is_asleep())
        sched_yield();
}

/* A thread that ends the wait of another one. */
static inline void *end_when_asleep(void *unused)
{
    await_sleep();
    atomic_store(&done, 1);
    opal_wait_notify_self();
    return unused;
}

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static atomic_int released; /* how often a wait has given it back */

static inline void acquire(void)
{
    pthread_mutex_lock(&mutex);
}

static inline void release(void)
{
    pthread_mutex_unlock(&mutex);
}

static inline void release_and_count(void)
{
    atomic_fetch_add(&released, 1);
    release();
}

static inline void yield(void)
{
    release();
    sched_yield();
    acquire();
}

static const opal_wait_lock_t wait_lock = {release_and_count, acquire, yield};

static inline void *wait_under_lock(void *unused)
{
    acquire();
    opal_wait_until(&done, &wait_lock);
    release();
    return unused;
}

static inline void do_nothing(int signal OPAL_UNUSED)
{
}

/* A thread that interrupts *waiter again and again while it sleeps, and then ends its wait. */
static inline void *interrupt(void *waiter)
{
    for (int i = 0; i < 100; i++) {
        await_sleep();
        pthread_kill(*(pthread_t *)waiter, SIGUSR1);
    }
    return end_when_asleep(NULL);
}

static inline void wait_interrupted(void)
{
    pthread_t thread, self = pthread_self();
    struct sigaction action = {.sa_handler = do_nothing};
    sigaction(SIGUSR1, &action, NULL);
    pthread_create(&thread, NULL, interrupt, &self);
    opal_wait_until(&done, NULL);
    ck_assert_int_eq(atomic_load(&done), 1);
    pthread_join(thread, NULL);
}

#endif
