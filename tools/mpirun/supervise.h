/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The supervisor: the process that is the parent of the ranks, from their start to
 * the last byte of their output. Single-threaded around one event loop.
 *
 *            a rank fails              50 ms, or all gone
 *   RUNNING -------------> SETTLING ---------------------+
 *      |  abort, --timeout, a signal, PMI nonsense       v      grace over
 *      +-----------------------------------------> ENDING -----------> KILLING
 *                                                (SIGTERM)            (SIGKILL)
 *
 * SETTLING lets failures that have one cause be told together. From ENDING on, ranks
 * end because they were asked to, and their statuses do not count. When no rank is left,
 * what they have started is killed, the output is moved on, and the supervisor exits.
 */
#ifndef MPIRUN_SUPERVISE_H
#define MPIRUN_SUPERVISE_H

#include <signal.h>

#include "tools/mpirun/job.h"

/* How the supervisor is set up by front.c. */
typedef struct supervise_setup {
    job_t *job;
    double kill_grace;    /* seconds between SIGTERM and SIGKILL */
    int front_fd;         /* reads end-of-file when mpirun itself is gone */
    sigset_t signals;     /* blocked: those to be taken from a signalfd */
    const sigset_t *mask; /* the ranks': what was blocked when mpirun was started */
} supervise_setup_t;

/* Runs the job. The exit status of mpirun. */
int supervise_job(const supervise_setup_t *setup);

#endif
