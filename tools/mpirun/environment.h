/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What a rank finds in its environment, in three layers: mpirun's own without
 * the traces of another launcher, what -x and --mca set, and who the rank is.
 *
 *   PMI_FD PMI_RANK PMI_SIZE PMI_SPAWNED      how to reach mpirun (pmi/wire)
 *   MICA_JOBID                                unlike any other job's on this node
 *   MICA_SUPERVISOR                           the pid of who has made the socket behind PMI_FD
 *   MICA_REPORTER                             1: says what is to be said once per job
 *   MICA_LOCAL_RANK MICA_LOCAL_SIZE           among the ranks of this node
 *   MICA_NODE_FD                              the node's segment, if it has more than one
 *   MICA_HEAP_FD                              the region of the shared heap, if there is one
 *   MICA_MCA_COMMAND_LINE                     names that --mca set, by commas
 *   OMPI_COMM_WORLD_* OMPI_UNIVERSE_SIZE      as under Open MPI, for scripts
 *   MPI_LOCALRANKID MPI_LOCALNRANKS           as under MPICH, for scripts
 */
#ifndef MPIRUN_ENVIRONMENT_H
#define MPIRUN_ENVIRONMENT_H

#include "tools/mpirun/job.h"

/*
 * The descriptors that a rank finds its PMI socket, the node's segment and the shared heap at: not
 * those that shell scripts use for files of their own (3 to 9) or shells pick first (10 on).
 */
enum { PMI_FD_OF_RANK = 20, NODE_FD_OF_RANK = 21, HEAP_FD_OF_RANK = 22 };

/* Puts the --mca settings into mpirun's own environment: it has parameters too. */
void environment_adopt_mca(const opal_strings_t *mca);

/* Takes what a launcher around us has left out of mpirun's own environment. */
void environment_drop_foreign(void);

/* Fills app->environment with the first two layers. */
void environment_of_app(app_t *app);

/* The strings of the third layer, and an array of all three that ends in NULL. */
typedef struct rank_environment {
    opal_strings_t own;
    char **all; /* points into `own` and into the app's */
} rank_environment_t;

void environment_of_rank(const job_t *job, unsigned rank, rank_environment_t *environment);
void environment_free(rank_environment_t *environment);

#endif
