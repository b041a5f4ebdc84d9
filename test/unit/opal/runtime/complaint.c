/* SPDX-License-Identifier: BSD-3-Clause */
/* opal/runtime/complaint.c: of the ranks of a node that fail to start, one says why. */
#include "opal/runtime/complaint.h"

#include <fcntl.h>
#include <pthread.h>
#include <sched.h>

#include "test/unit/opal/support.h"

enum { LONG_MSEC = 50000, SHORT_MSEC = 1 };

static void setup(void)
{
    unsetenv("PMI_FD");
    unsetenv("SLURM_JOB_ID");
    unsetenv("SLURM_STEP_ID");
    char *name = opal_xprintf("complaint-%d", (int)getpid());
    setenv("PMIX_NAMESPACE", name, 1);
    setenv("PMIX_RANK", "1", 1);
    free(name);
}

START_TEST(who_is_alone_says_it_after_a_while)
{
    opal_complaint_t other = opal_complaint_claim(false, SHORT_MSEC);
    ck_assert(other.is_mine);
    ck_assert_int_ge(other.name, 0);
    opal_complaint_release(&other, 0);
    ck_assert_int_eq(other.name, -1);
}
END_TEST

START_TEST(the_reporter_says_it_and_others_do_not)
{
    opal_complaint_t reporter = opal_complaint_claim(true, LONG_MSEC);
    ck_assert(reporter.is_mine);
    for (int i = 0; i < 3; i++)
        ck_assert(!opal_complaint_claim(false, SHORT_MSEC).is_mine);
    opal_complaint_release(&reporter, SHORT_MSEC);
    opal_complaint_t late = opal_complaint_claim(false, SHORT_MSEC);
    ck_assert(late.is_mine);
    opal_complaint_release(&late, 0);
}
END_TEST

START_TEST(without_the_reporter_one_says_it)
{
    opal_complaint_t first = opal_complaint_claim(false, SHORT_MSEC);
    opal_complaint_t second = opal_complaint_claim(false, SHORT_MSEC);
    ck_assert(first.is_mine && !second.is_mine);
    ck_assert_int_eq(second.name, -1);
    opal_complaint_release(&second, LONG_MSEC);
    opal_complaint_release(&first, 0);
}
END_TEST

static void *wait_for_reporter(void *result)
{
    opal_complaint_t *other = result;
    *other = opal_complaint_claim(false, LONG_MSEC);
    return NULL;
}

/* Somebody listens under the job's name. To try it would take the name, or be a sign. */
static bool is_claimed(void)
{
    static const char listens[] = " 00010000 "; /* the flags of its line */
    char line[512];
    bool found = false;
    char *end = opal_xprintf("-%s\n", getenv("PMIX_NAMESPACE"));
    FILE *sockets = fopen("/proc/net/unix", "r");
    ck_assert_ptr_nonnull(sockets);
    while (!found && fgets(line, sizeof line, sockets) != NULL)
        found = strstr(line, listens) != NULL && strstr(line, end) != NULL;
    fclose(sockets);
    free(end);
    return found;
}

START_TEST(a_reporter_that_comes_later_is_heard)
{
    pthread_t thread;
    opal_complaint_t other;
    ck_assert_int_eq(pthread_create(&thread, NULL, wait_for_reporter, &other), 0);
    while (!is_claimed())
        sched_yield();
    opal_complaint_t reporter = opal_complaint_claim(true, LONG_MSEC);
    ck_assert(reporter.is_mine);
    ck_assert_int_eq(reporter.name, -1);
    pthread_join(thread, NULL); /* at once: the runner's limit is shorter */
    ck_assert(!other.is_mine);
    opal_complaint_release(&other, 0);
}
END_TEST

/* Where the job has no name, each waits for the launcher, and then says it. */
START_TEST(without_a_name_each_is_on_its_own)
{
    unsetenv("PMIX_NAMESPACE");
    opal_complaint_t first = opal_complaint_claim(false, SHORT_MSEC);
    opal_complaint_t second = opal_complaint_claim(false, SHORT_MSEC);
    ck_assert(first.is_mine && second.is_mine);
    ck_assert_int_eq(first.name, -1);
    ck_assert(opal_complaint_claim(true, LONG_MSEC).is_mine);
}
END_TEST

START_TEST(other_jobs_have_other_names)
{
    opal_complaint_t own = opal_complaint_claim(true, LONG_MSEC);
    char *name = opal_xprintf("complaint-%d-of-others", (int)getpid());
    setenv("PMIX_NAMESPACE", name, 1);
    free(name);
    opal_complaint_t others = opal_complaint_claim(false, SHORT_MSEC);
    ck_assert(own.is_mine && others.is_mine);
    ck_assert(fcntl(own.name, F_GETFD) & FD_CLOEXEC);
    opal_complaint_release(&own, 0);
    opal_complaint_release(&others, 0);
}
END_TEST

static const unit_test_t tests[] = {
    {.test = &who_is_alone_says_it_after_a_while},
    {.test = &the_reporter_says_it_and_others_do_not},
    {.test = &without_the_reporter_one_says_it},
    {.test = &a_reporter_that_comes_later_is_heard},
    {.test = &without_a_name_each_is_on_its_own},
    {.test = &other_jobs_have_other_names},
};

UNIT_MAIN("complaint", tests, setup);
