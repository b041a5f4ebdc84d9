/* SPDX-License-Identifier: BSD-3-Clause */
/* opal/runtime/complaint.c: of the ranks of a node that fail to start, one says why. */
#include "opal/runtime/complaint.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <sched.h>
#include <sys/socket.h>
#include <sys/wait.h>

#include "test/unit/opal/support.h"
#include "test/unit/opal/shortage.h"

enum { FOUND = 1, LONG_MSEC = 50000 };

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

static void *claim(void *result)
{
    *(opal_complaint_t *)result = opal_complaint_claim(FOUND);
    return NULL;
}

START_TEST(the_first_says_it_and_others_do_not)
{
    enum { OTHERS = 3 };
    pthread_t threads[OTHERS];
    opal_complaint_t others[OTHERS], first = opal_complaint_claim(FOUND);
    ck_assert(first.is_mine);
    ck_assert(fcntl(first.name, F_GETFD) & FD_CLOEXEC);
    for (int i = 0; i < OTHERS; i++)
        ck_assert_int_eq(pthread_create(&threads[i], NULL, claim, &others[i]), 0);
    opal_complaint_release(&first, OTHERS, LONG_MSEC); /* the runner's limit is shorter */
    ck_assert_int_eq(first.name, -1);
    for (int i = 0; i < OTHERS; i++) {
        pthread_join(threads[i], NULL);
        ck_assert(!others[i].is_mine);
        ck_assert_int_eq(others[i].name, -1);
    }
}
END_TEST

/* How late it comes makes no difference: the first one stays until it has come. */
START_TEST(a_late_rank_is_waited_for)
{
    opal_complaint_t late, first = opal_complaint_claim(FOUND);
    int ready[2];
    ck_assert_int_eq(pipe(ready), 0);
    if (fork() == 0) {
        char byte;
        if (read(ready[0], &byte, 1) != 1)
            _exit(2);
        claim(&late);
        _exit(late.is_mine);
    }
    ck_assert_int_eq(write(ready[1], "", 1), 1);
    opal_complaint_release(&first, 1, LONG_MSEC);
    int status;
    ck_assert_int_gt(wait(&status), 0);
    ck_assert_int_eq(status, 0);
}
END_TEST

START_TEST(ranks_that_never_fail_are_not_waited_for_long)
{
    opal_complaint_t first = opal_complaint_claim(FOUND);
    opal_complaint_release(&first, 1, 1);
    ck_assert_int_eq(first.name, -1);
    first = opal_complaint_claim(FOUND);
    ck_assert(first.is_mine);
    opal_complaint_release(&first, 0, LONG_MSEC); /* at once */
}
END_TEST

/* It waits for descriptors, or for its time limit, without a spin. */
START_TEST(a_rank_that_cannot_be_answered_is_waited_for)
{
    pthread_t thread;
    opal_complaint_t other, first = opal_complaint_claim(FOUND);
    struct pollfd asked = {.fd = first.name, .events = POLLIN};
    ck_assert_int_eq(pthread_create(&thread, NULL, claim, &other), 0);
    ck_assert_int_eq(poll(&asked, 1, LONG_MSEC), 1);
    rlim_t before = shortage_begin();
    double used = cpu_seconds();
    opal_complaint_release(&first, 1, 300);
    ck_assert_double_lt(cpu_seconds() - used, 0.1);
    shortage_end(before);
    pthread_join(thread, NULL);
    ck_assert(other.is_mine);
    opal_complaint_release(&other, 0, 0);
}
END_TEST

/* A rank asks, and gets no answer: the one that should have said it has been killed. */
START_TEST(a_rank_that_dies_has_a_successor)
{
    pthread_t thread;
    opal_complaint_t next, first = opal_complaint_claim(FOUND);
    ck_assert_int_eq(pthread_create(&thread, NULL, claim, &next), 0);
    int asked = accept(first.name, NULL, NULL);
    while (asked < 0 && errno == EAGAIN) {
        sched_yield();
        asked = accept(first.name, NULL, NULL);
    }
    ck_assert_int_ge(asked, 0);
    close(first.name);
    close(asked);
    pthread_join(thread, NULL);
    ck_assert(next.is_mine);
    opal_complaint_release(&next, 0, 0);
}
END_TEST

/* Where the job has no name, each rank is on its own. */
START_TEST(without_a_name_each_says_it)
{
    unsetenv("PMIX_NAMESPACE");
    opal_complaint_t first = opal_complaint_claim(FOUND), second = opal_complaint_claim(FOUND);
    ck_assert(first.is_mine && second.is_mine);
    ck_assert_int_eq(first.name, -1);
    opal_complaint_release(&first, 1, LONG_MSEC);
}
END_TEST

START_TEST(other_jobs_and_other_findings_have_other_names)
{
    opal_complaint_t own = opal_complaint_claim(FOUND);
    opal_complaint_t finding = opal_complaint_claim(FOUND + 1);
    char *name = opal_xprintf("complaint-%d-of-others", (int)getpid());
    setenv("PMIX_NAMESPACE", name, 1);
    free(name);
    opal_complaint_t others = opal_complaint_claim(FOUND);
    ck_assert(own.is_mine && finding.is_mine && others.is_mine);
    opal_complaint_release(&own, 0, 0);
    opal_complaint_release(&finding, 0, 0);
    opal_complaint_release(&others, 0, 0);
}
END_TEST

static const unit_test_t tests[] = {
    {.test = &the_first_says_it_and_others_do_not},
    {.test = &a_late_rank_is_waited_for},
    {.test = &ranks_that_never_fail_are_not_waited_for_long},
    {.test = &a_rank_that_cannot_be_answered_is_waited_for},
    {.test = &a_rank_that_dies_has_a_successor},
    {.test = &without_a_name_each_says_it},
    {.test = &other_jobs_and_other_findings_have_other_names},
};

UNIT_MAIN("complaint", tests, setup);
