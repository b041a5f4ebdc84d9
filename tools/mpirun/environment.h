/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The environment of a rank, in three layers: that of mpirun without the variables of another
 * launcher; what -x and --mca set; and what identifies the rank:
 *
 *   PMI_FD PMI_RANK PMI_SIZE PMI_SPAWNED      how to reach mpirun (pmi/wire)
 *   MICA_JOBID                                unlike any other job's on this node
 *   MICA_SUPERVISOR                           the pid of the process that serves PMI_FD
 *   MICA_APP_NUMBER                           MPI_APPNUM
 *   MICA_PARENT_PORT                          of a job that a rank started: that rank's port
 *   MICA_REPORTER                             1: prints what is printed once per job
 *   MICA_LOCAL_RANK MICA_LOCAL_SIZE           among the ranks of this node
 *   MICA_NODE_FD                              the node's segment, if the node has several ranks
 *   MICA_CRASH_FD                             where the first rank that fails says why (board.h)
 *   MICA_HEAP_FD                              the region of the shared heap, if there is one
 *   MICA_MCA_COMMAND_LINE                     the names that --mca set, separated by commas
 *   OMPI_COMM_WORLD_* OMPI_UNIVERSE_SIZE      as under Open MPI, for scripts
 *   MPI_LOCALRANKID MPI_LOCALNRANKS           as under MPICH, for scripts
 */
#ifndef MPIRUN_ENVIRONMENT_H
#define MPIRUN_ENVIRONMENT_H

#include "tools/mpirun/job.h"

/*
 * The descriptors of the PMI socket, the node's segment, the shared heap and the board in a rank.
 * Shell scripts use 3 to 9 for their files, and shells use 10 and the next ones, so these begin
 * at 20.
 */
enum { PMI_FD_OF_RANK = 20, NODE_FD_OF_RANK = 21, HEAP_FD_OF_RANK = 22, CRASH_FD_OF_RANK = 23 };

/* Adds the --mca settings to mpirun's own environment, because mpirun has parameters, too. */
void environment_adopt_mca(const opal_strings_t *mca);

/* Removes the variables of an enclosing launcher from mpirun's own environment. */
void environment_drop_foreign(void);

/* Stores the first two layers in app->environment; the first is that of app->inherited, if there is
 * one. */
void environment_of_app(app_t *app);

/* The strings of the third layer, and an array of all three layers that ends in NULL. */
typedef struct rank_environment {
    opal_strings_t own;
    char **all; /* points into `own` and into the app's */
} rank_environment_t;

void environment_of_rank(const job_t *job, unsigned rank, rank_environment_t *environment);
void environment_free(rank_environment_t *environment);

#endif
