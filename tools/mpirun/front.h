/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The front: the process that the user started. It forks the supervisor and does
 * next to nothing, so that whoever of the two is killed, the other one cleans up:
 *
 *   front (mpirun)  --fork-->  supervisor (mica-supervise)  --vfork-->  ranks
 *
 *   the front dies       the supervisor sees the pipe's end, kills all, exits
 *   the supervisor dies  its ranks are killed by the kernel (PR_SET_PDEATHSIG); what they
 *                        had started becomes the front's, a subreaper, and is killed
 *
 * All stay in one process group, so that the terminal's ^C, ^Z and its reading from the
 * foreground work as for any command. Signals sent to mpirun alone are handed on.
 */
#ifndef MPIRUN_FRONT_H
#define MPIRUN_FRONT_H

#include "tools/mpirun/job.h"

/* Runs the job in a supervisor. The exit status. */
int front_run(job_t *job, double kill_grace);

#endif
