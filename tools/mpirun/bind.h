/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Where ranks may run: the only file that asks hwloc. The default job (-n given,
 * nothing bound) never gets here: a topology costs milliseconds.
 */
#ifndef MPIRUN_BIND_H
#define MPIRUN_BIND_H

#include "tools/mpirun/job.h"

/* How many objects of a level mpirun, and so its ranks, may use; at least 1. */
unsigned bind_count(topology_level_t level);

/*
 * Deals the ranks to the parts of the machine (--map-by, --rank-by, --rankfile) and gives each the
 * set of hardware threads that it is bound to (--bind-to). 0, or the exit status after it has said
 * why not.
 */
int bind_ranks(job_t *job);

#endif
