/* SPDX-License-Identifier: BSD-3-Clause */
/* ompi/request/look.c: how often it looks, and several that wait at a time. */
#include "ompi/request/look.h"

#include <pthread.h>
#include <stdlib.h>

#include "ompi/request/request.h"
#include "opal/mca/base/param.h"
#include "opal/progress/wait.h"
#include "test/unit/opal/support.h"

enum { WAITS = 4 };

static void setup(void)
{
    setenv("OMPI_MCA_mca_base_param_files", "", 1);
    opal_param_init();
    ck_assert_int_eq(opal_wait_register(), OPAL_SUCCESS);
    ompi_lock_start(true);
}

/* Finds it at the look of that number, from 1. */
typedef struct wish {
    int at, looks;
    ompi_look_t found;
} wish_t;

static ompi_look_t look(void *what)
{
    wish_t *wish = what;
    wish->looks++;
    return wish->looks < wish->at ? OMPI_LOOK_WAITS : wish->found;
}

static int wait_for(ompi_look_fn_t *function, void *what)
{
    ompi_lock();
    int error = ompi_look_wait(function, what);
    ompi_unlock();
    return error;
}

START_TEST(it_looks_until_it_is_over)
{
    for (int at = 1; at < 5; at++) {
        wish_t over = {.at = at, .found = OMPI_LOOK_OVER};
        wish_t failed = {.at = at, .found = OMPI_LOOK_FAILED};
        ck_assert_int_eq(wait_for(look, &over), MPI_SUCCESS);
        ck_assert_int_eq(wait_for(look, &failed), MPI_ERR_PROC_ABORTED);
        ck_assert_int_eq(over.looks, at);
        ck_assert_int_eq(failed.looks, at);
    }
    ck_assert_int_eq(opal_progress(), 0);
}
END_TEST

/* -- several ------------------------------------------------------------------------------- */

static atomic_int events;

typedef struct waiter {
    pthread_t thread;
    int after; /* so many events */
    atomic_int looks;
    int seen; /* events, at the end */
} waiter_t;

static ompi_look_t look_at_events(void *what)
{
    waiter_t *waiter = what;
    atomic_fetch_add(&waiter->looks, 1);
    return atomic_load(&events) < waiter->after ? OMPI_LOOK_WAITS : OMPI_LOOK_OVER;
}

static void *run(void *what)
{
    waiter_t *waiter = what;
    ck_assert_int_eq(wait_for(look_at_events, waiter), MPI_SUCCESS);
    waiter->seen = atomic_load(&events);
    return NULL;
}

/* The last one to begin to wait is the first whose wait is over. */
START_TEST(each_thread_waits_for_its_own)
{
    waiter_t waiters[WAITS] = {0};
    for (int i = 0; i < WAITS; i++) {
        waiters[i].after = WAITS - i;
        ck_assert_int_eq(pthread_create(&waiters[i].thread, NULL, run, &waiters[i]), 0);
        while (atomic_load(&waiters[i].looks) == 0)
            sched_yield();
    }
    for (int i = WAITS - 1; i >= 0; i--) {
        atomic_fetch_add(&events, 1);
        opal_wait_notify_self();
        ck_assert_int_eq(pthread_join(waiters[i].thread, NULL), 0);
        ck_assert_int_eq(waiters[i].seen, waiters[i].after);
    }
    ck_assert_int_eq(opal_progress(), 0);
}
END_TEST

static const unit_test_t tests[] = {
    {.test = &it_looks_until_it_is_over},
    {.test = &each_thread_waits_for_its_own},
};

UNIT_MAIN("look", tests, setup);
