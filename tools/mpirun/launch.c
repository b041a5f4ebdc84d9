/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Starting a process by vfork. See launch.h.
 *
 * vfork is faster than fork, because no page table is copied. The child runs in the parent's memory
 * until exec: it makes system calls only, and stores its failure in a variable of the parent, so no
 * pipe is needed.
 */
#include "tools/mpirun/launch.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/ioctl.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tools/mpirun/environment.h"

/* Duplicates a descriptor to a number at which it survives exec. */
static int dup_to(int fd, int number)
{
    if (fd == number)
        return fcntl(fd, F_SETFD, 0);
    return dup2(fd, number);
}

/* Runs in the child. Returns only if a step failed: the name of the step, with errno. */
static const char *become_program(const launch_plan_t *plan, pid_t parent)
{
    /* No rank outlives the supervisor. The supervisor may have died before the prctl. */
    if (prctl(PR_SET_PDEATHSIG, SIGKILL) != 0)
        return "tie its life to mpirun's";
    if (getppid() != parent)
        _exit(1);
    if (plan->terminal >= 0 && (setsid() < 0 || ioctl(plan->terminal, TIOCSCTTY, 0) != 0))
        return "take its terminal";
    for (int i = 0; i < 3; i++) {
        if (plan->terminal >= 0 && dup_to(plan->terminal, i) < 0)
            return "take its terminal";
        if (plan->standard[i] >= 0 && dup_to(plan->standard[i], i) < 0)
            return "set up its standard input and output";
    }
    /* These may have the numbers that other descriptors are to get. */
    int node_fd = fcntl(plan->node_fd, F_DUPFD_CLOEXEC, CRASH_FD_OF_RANK + 1);
    int heap_fd = fcntl(plan->heap_fd, F_DUPFD_CLOEXEC, CRASH_FD_OF_RANK + 1);
    int crash_fd = fcntl(plan->crash_fd, F_DUPFD_CLOEXEC, CRASH_FD_OF_RANK + 1);
    if (dup_to(plan->pmi_fd, PMI_FD_OF_RANK) < 0)
        return "set up its PMI socket";
    if (plan->node_fd >= 0 && dup_to(node_fd, NODE_FD_OF_RANK) < 0)
        return "set up the node's shared memory";
    if (plan->heap_fd >= 0 && dup_to(heap_fd, HEAP_FD_OF_RANK) < 0)
        return "set up the shared heap";
    if (plan->crash_fd >= 0 && dup_to(crash_fd, CRASH_FD_OF_RANK) < 0)
        return "set up the board of crashes";
    setrlimit(RLIMIT_NOFILE, plan->file_limit);
    if (plan->cpus != NULL && sched_setaffinity(0, plan->cpus_bytes, plan->cpus) != 0)
        return "bind it";
    if (plan->wdir != NULL && chdir(plan->wdir) != 0)
        return "go to its directory";
    sigprocmask(SIG_SETMASK, plan->mask, NULL);
    execve(plan->path, plan->argv, plan->environment);
    return "execute it";
}

pid_t launch_process(const launch_plan_t *plan, launch_failure_t *failure)
{
    volatile launch_failure_t child_failure = {
        0}; /* written by the child, in the parent's memory */
    pid_t self = getpid();
    pid_t pid = vfork();
    if (pid == 0) {
        child_failure.step = become_program(plan, self);
        child_failure.error = errno;
        _exit(1);
    }
    if (pid < 0) {
        *failure = (launch_failure_t){.step = "start a process for it", .error = errno};
        return -1;
    }
    if (child_failure.step != NULL) {
        while (waitpid(pid, NULL, 0) < 0 && errno == EINTR)
            continue;
        *failure = (launch_failure_t){.step = child_failure.step, .error = child_failure.error};
        return -1;
    }
    return pid;
}
