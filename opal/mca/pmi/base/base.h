/* SPDX-License-Identifier: BSD-3-Clause */
/* The pmi framework object, and what is known before a component was chosen. */
#ifndef OPAL_MCA_PMI_BASE_H
#define OPAL_MCA_PMI_BASE_H

#include <stdbool.h>

#include "opal/mca/base/framework.h"
#include "opal/mca/pmi/pmi.h"

OPAL_EXPORT extern opal_framework_t mca_pmi_framework;

/*
 * Which launcher started this process, by its environment. Variables are inherited by all that a
 * process starts, even through another launcher, so several launchers may have left some. A
 * descriptor is not inherited through a launcher, so an open one identifies the last launcher.
 */
typedef enum opal_pmi_origin {
    OPAL_PMI_ALONE,  /* no launcher has left a trace */
    OPAL_PMI_MPIRUN, /* ours */
    OPAL_PMI_SOCKET, /* another one that speaks PMI-1: Hydra, srun --mpi=pmi2 */
    OPAL_PMI_PMIX,   /* one with a PMIx server */
    OPAL_PMI_LOST,   /* one that speaks PMI-1, but its descriptor did not come through */
    OPAL_PMI_SLURM,  /* srun, for one of several tasks, and without a word of PMI */
} opal_pmi_origin_t;

/* `why`, which may be NULL, becomes a phrase that names the variables. */
OPAL_EXPORT opal_pmi_origin_t opal_pmi_origin(char why[OPAL_REASON_MAX_BYTES]);

/*
 * Whether a parameter that is unknown here (without OMPI_MCA_) is one of Open MPI's mpirun, which
 * has started this process and hands its own settings down: no typing error of the user's.
 */
OPAL_EXPORT bool opal_pmi_launcher_owns(const char *parameter);

/*
 * Whether this process is the one that prints what is printed once per job, by the launcher's
 * environment alone: mpirun names the first rank of each program, elsewhere it is rank 0. For
 * failures before a component has been initialized.
 */
OPAL_EXPORT bool opal_pmi_is_reporter(void);

/*
 * How many ranks the job has, by the launcher's environment alone, before a component is chosen;
 * 0: a launcher that does not say it there.
 */
OPAL_EXPORT unsigned opal_pmi_announced_size(void);

/*
 * At most how many ranks this node has, by the launcher's environment alone; 0: it does not say.
 */
OPAL_EXPORT unsigned opal_pmi_announced_local_size(void);

/*
 * A name of the job, by the environment and the process' parent: unlike those of the user's other
 * jobs on this node. False: it has none, or it finds no room.
 */
OPAL_EXPORT bool opal_pmi_announced_name(char *name, size_t room);

/* Fills local_rank and local_size in from rank, size and node_of. */
OPAL_EXPORT void opal_pmi_count_local(opal_pmi_job_t *job);

/* The variable as a whole decimal number in [min, max]; false: not set, or no such number. */
OPAL_EXPORT bool opal_pmi_environment_int(const char *name, int min, int max, int *value);

#endif
