/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The launcher of a job: this mpirun, on its own node, or the launcher that this machine has for
 * several nodes. The first condition that holds decides:
 *
 *   the parameter mpirun_launcher names one         that one
 *   --host or --hostfile, and all is this machine   self
 *   they name other hosts, in a Slurm allocation    srun
 *   they name other hosts                           hydra or prterun: the first one in PATH
 *   a Slurm allocation of several nodes, or of      srun
 *     one that is not this machine
 *   else                                            self
 *
 * Hydra comes before prterun because its ranks use pmi/wire, which is in every build of this
 * library; pmi/pmix is not.
 */
#ifndef MPIRUN_LAUNCHER_H
#define MPIRUN_LAUNCHER_H

#include <stdbool.h>

#include "opal/runtime/launcher.h"
#include "tools/mpirun/job.h"

/* The allocation of a batch system, as the environment describes it. */
typedef struct launcher_allocation {
    const char *slurm_job; /* NULL: there is none */
    unsigned nodes;        /* 0: unknown */
    bool is_here;          /* this machine is one of them */
} launcher_allocation_t;

void launcher_read_allocation(launcher_allocation_t *allocation, const char *this_host);

/*
 * Chooses the launcher and finds its program; `*path` is NULL for OPAL_LAUNCHER_SELF. `wanted` is
 * the value of the parameter. False: an error was reported.
 */
bool launcher_choose(const launcher_allocation_t *allocation, const hosts_t *hosts,
                     opal_launcher_t wanted, opal_launcher_t *launcher, char **path);

/* The name of its program, such as "srun". */
const char *launcher_name(opal_launcher_t launcher);

#endif
