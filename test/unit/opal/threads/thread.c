/* SPDX-License-Identifier: BSD-3-Clause */
/* opal/threads/thread.c: threads of the library have a name, and none of the program's signals. */
#include "opal/threads/thread.h"

#include <signal.h>

#include "test/unit/opal/support.h"

static int was_here;

static void *look(void *unused)
{
    char name[16] = "";
    sigset_t mask;
    pthread_getname_np(pthread_self(), name, sizeof name);
    pthread_sigmask(SIG_SETMASK, NULL, &mask);
    ck_assert_str_eq(name, "mica-test");
    ck_assert_int_eq(sigismember(&mask, SIGTERM), 1);
    ck_assert_int_eq(sigismember(&mask, SIGALRM), 1);
    ck_assert_ptr_null(unused);
    return &was_here;
}

/* The name is given by who starts it, maybe when it runs already. */
static void *look_when_named(void *unused)
{
    char name[16] = "";
    while (strcmp(name, "mica-test") != 0)
        pthread_getname_np(pthread_self(), name, sizeof name);
    return look(unused);
}

static void joins(pthread_t thread)
{
    void *result;
    sigset_t mask;
    ck_assert_int_eq(pthread_join(thread, &result), 0);
    ck_assert_ptr_eq(result, &was_here);
    pthread_sigmask(SIG_SETMASK, NULL, &mask);
    ck_assert_int_eq(sigismember(&mask, SIGTERM), 0);
}

START_TEST(a_thread)
{
    pthread_t thread;
    ck_assert_int_eq(opal_thread_start(&thread, NULL, "mica-test", look_when_named), 0);
    joins(thread);
}
END_TEST

START_TEST(a_small_thread)
{
    pthread_t thread;
    ck_assert_int_eq(opal_thread_start_small(&thread, 64 << 10, "mica-test", look_when_named), 0);
    joins(thread);
}
END_TEST

static const unit_test_t tests[] = {
    {.test = &a_thread},
    {.test = &a_small_thread},
};

UNIT_MAIN("thread", tests, NULL);
