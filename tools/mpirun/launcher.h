/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Who starts the ranks: this mpirun, on its own node, or the launcher that the machine has for
 * several. By the first of these that holds:
 *
 *   the parameter mpirun_launcher names one         that one
 *   --host or --hostfile, and all is this machine   self
 *   they name other hosts, in a Slurm allocation    srun
 *   they name other hosts                           hydra, prterun: the first that is found
 *   a Slurm allocation of several nodes, or of      srun
 *     one that is not this machine
 *   else                                            self
 *
 * Hydra is before prterun because what its ranks speak (pmi/wire) is in every build of this
 * library, and PMIx need not be.
 */
#ifndef MPIRUN_LAUNCHER_H
#define MPIRUN_LAUNCHER_H

#include <stdbool.h>

#include "opal/runtime/launcher.h"
#include "tools/mpirun/job.h"

/* What the environment says of an allocation. */
typedef struct launcher_allocation {
    const char *slurm_job; /* NULL: there is none */
    unsigned nodes;        /* 0: it is not told */
    bool is_here;          /* this machine is one of them */
} launcher_allocation_t;

void launcher_read_allocation(launcher_allocation_t *allocation, const char *this_host);

/*
 * The launcher, and where it is; `*path` is NULL for OPAL_LAUNCHER_SELF. `wanted` is the parameter.
 * False: it has said why there is none, and what to do.
 */
bool launcher_choose(const launcher_allocation_t *allocation, const hosts_t *hosts,
                     opal_launcher_t wanted, opal_launcher_t *launcher, char **path);

/* Of its program: "srun". */
const char *launcher_name(opal_launcher_t launcher);

#endif
