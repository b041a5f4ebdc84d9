/* SPDX-License-Identifier: BSD-3-Clause */
/* tools/mpirun/descendants.c: a signal reaches the process that was seen, and no other with its
 * pid. */
#include "tools/mpirun/descendants.h"

#include <errno.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include "test/unit/opal/support.h"

static pid_t start_child(void)
{
    pid_t pid = fork();
    while (pid == 0)
        pause();
    ck_assert_int_gt(pid, 0);
    return pid;
}

/* Ends it by a signal that nobody has sent yet; what ended it tells whether another one came
 * before. */
static int end_child(pid_t pid)
{
    int status;
    kill(pid, SIGKILL);
    ck_assert_int_eq(waitpid(pid, &status, 0), pid);
    return WTERMSIG(status);
}

START_TEST(what_was_seen_is_signalled)
{
    descendant_t seen;
    int status;
    pid_t pid = start_child();
    ck_assert(descendant_read(pid, &seen));
    ck_assert_int_eq(seen.parent, getpid());
    ck_assert(descendant_signal(&seen, SIGUSR1));
    ck_assert_int_eq(waitpid(pid, &status, 0), pid);
    ck_assert_int_eq(WTERMSIG(status), SIGUSR1);
    ck_assert(!descendant_signal(&seen, SIGUSR1));
    ck_assert_int_eq(errno, ESRCH);
}
END_TEST

START_TEST(another_with_its_pid_is_not)
{
    descendant_t seen, before;
    pid_t pid = start_child();
    ck_assert(descendant_read(pid, &seen));
    before = seen;
    before.start--; /* whoever had the pid before began earlier */
    ck_assert(!descendant_signal(&before, SIGUSR1));
    ck_assert_int_eq(errno, ESRCH);
    ck_assert_int_eq(end_child(pid), SIGKILL);
}
END_TEST

START_TEST(a_child_of_others_is_not)
{
    /* Seen with a parent that it does not have: that pid was another process' when it was read. */
    descendant_t seen;
    ck_assert(descendant_read(getppid(), &seen));
    seen.parent = getpid();
    ck_assert(!descendant_signal(&seen, 0));
    ck_assert_int_eq(errno, ESRCH);
}
END_TEST

static const unit_test_t tests[] = {
    {.test = &what_was_seen_is_signalled},
    {.test = &another_with_its_pid_is_not},
    {.test = &a_child_of_others_is_not},
};

UNIT_MAIN("descend", tests, NULL);
