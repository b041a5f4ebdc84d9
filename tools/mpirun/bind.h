/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * CPU binding: the only file that uses hwloc. The default job (-n given, nothing bound) does not
 * call it, because reading a topology costs milliseconds.
 */
#ifndef MPIRUN_BIND_H
#define MPIRUN_BIND_H

#include "tools/mpirun/job.h"

/* The number of objects of a level that mpirun, and so its ranks, may use; at least 1. */
unsigned bind_count(topology_level_t level);

/*
 * Maps the ranks to parts of the machine (--map-by, --rank-by, --rankfile) and sets the hardware
 * threads that each rank is bound to (--bind-to). Returns 0, or the exit status after an error was
 * reported.
 */
int bind_ranks(job_t *job);

#endif
