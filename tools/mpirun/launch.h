/* SPDX-License-Identifier: BSD-3-Clause */
/* Starting the process of one rank. The caller has prepared all that the process gets. */
#ifndef MPIRUN_LAUNCH_H
#define MPIRUN_LAUNCH_H

#include <sched.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/types.h>

typedef struct launch_plan {
    const char *path; /* relative to wdir */
    char *const *argv;
    char *const *environment;
    const char *wdir;      /* NULL: mpirun's own */
    int standard[3];       /* become its descriptors 0, 1, 2; -1: mpirun's own */
    int terminal;          /* becomes these three, and its controlling terminal; -1: none */
    int pmi_fd;            /* becomes PMI_FD_OF_RANK */
    int node_fd;           /* becomes NODE_FD_OF_RANK; -1: there is none */
    int heap_fd;           /* becomes HEAP_FD_OF_RANK; -1: there is none */
    int crash_fd;          /* becomes CRASH_FD_OF_RANK; -1: there is none */
    const cpu_set_t *cpus; /* NULL: not bound */
    size_t cpus_bytes;
    const sigset_t *mask; /* its blocked signals */
    const struct rlimit *file_limit;
} launch_plan_t;

/* The step that failed in the child. */
typedef struct launch_failure {
    const char *step; /* "execute it" */
    int error;        /* errno */
} launch_failure_t;

/*
 * Returns the pid of a process that runs the program. -1: the fork failed, or a step in the child
 * failed and the child was reaped; `failure` says which step.
 */
pid_t launch_process(const launch_plan_t *plan, launch_failure_t *failure);

#endif
