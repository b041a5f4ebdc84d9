/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The front: the process that the user started. It forks the supervisor and does little else, so
 * that if one of the two is killed, the other one cleans up:
 *
 *   front (mpirun)  --fork-->  supervisor (mica-supervise)  --vfork-->  ranks
 *
 *   the front dies       the supervisor sees the end of a socket, kills the job, and exits
 *   the supervisor dies  the kernel kills the ranks (PR_SET_PDEATHSIG); their children are
 *                        reparented to the front, a subreaper, which kills them
 *
 * All processes stay in one process group, so that ^C, ^Z and reading from the terminal work as for
 * any command. Signals that are sent to mpirun alone are forwarded. Debuggers find the job here
 * (mpir.h).
 */
#ifndef MPIRUN_FRONT_H
#define MPIRUN_FRONT_H

#include "tools/mpirun/job.h"

/* Runs the job in a supervisor. `client_fd`: supervise.h. Returns the exit status. */
int front_run(job_t *job, double kill_grace, int client_fd);

#endif
