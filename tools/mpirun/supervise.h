/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The supervisor: the process that is the parent of the ranks, from their start to the last byte of
 * their output. One thread around one event loop.
 *
 *            a rank fails              50 ms, or all ended
 *   RUNNING -------------> SETTLING ---------------------+
 *      |  abort, --timeout, a signal, PMI nonsense       v      grace over
 *      +-----------------------------------------> ENDING -----------> KILLING
 *                                                (SIGTERM)            (SIGKILL)
 *
 * In SETTLING the supervisor collects failures, so that failures with one cause are reported in one
 * message. From ENDING on, ranks end because they were asked to, and their statuses do not count.
 * A rank may ask for further jobs. They are watched and end as the first one does: the failure of a
 * rank ends all jobs. One whose ranks have all ended well is freed. A further job of which a rank
 * ends before it has begun with PMI is abandoned: its parents learn why, and go on.
 *
 * When no rank is left, the supervisor kills what the ranks have started, writes the rest of the
 * output, and exits.
 */
#ifndef MPIRUN_SUPERVISE_H
#define MPIRUN_SUPERVISE_H

#include <signal.h>

#include "tools/mpirun/job.h"

/* Filled by front.c. */
typedef struct supervise_setup {
    job_t *job;
    double kill_grace;    /* seconds between SIGTERM and SIGKILL */
    int front_fd;         /* the socket to the front (front_link.h) */
    sigset_t signals;     /* blocked signals, which the supervisor reads from a signalfd */
    const sigset_t *mask; /* for the ranks: the signals that were blocked when mpirun started */
    int client_fd;        /* the program that is served instead of a job (client.c); -1: none */
} supervise_setup_t;

/* Runs the job. Returns the exit status of mpirun. */
int supervise_job(const supervise_setup_t *setup);

#endif
