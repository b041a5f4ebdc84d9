/* SPDX-License-Identifier: BSD-3-Clause */
/* How a rank ended, what that means for the job, and how it is told. */
#ifndef MPIRUN_OUTCOME_H
#define MPIRUN_OUTCOME_H

#include "tools/mpirun/job.h"
#include "tools/mpirun/pmi_server.h"

/*
 * The exit status that an ended rank stands for: 128 + N for signal N, its own, or 1
 * if it left with 0 in the middle of MPI. 0: it ended well.
 */
int outcome_status(const rank_t *rank, pmi_state_t state);

/* True if the others cannot go on: it failed, and not after MPI_Finalize by its own exit. */
bool outcome_ends_job(const rank_t *rank, pmi_state_t state);

/* The status of the lowest rank that failed by itself; 0: none did. */
int outcome_of_job(const job_t *job, const pmi_server_t *pmi);

/*
 * One message that names the ranks that failed by themselves and what becomes of the others. None
 * for exits after MPI_Finalize alone, unless mpirun is verbose: mpirun's exit status tells those.
 */
void outcome_report(const job_t *job, const pmi_server_t *pmi);

/* "rank 3 on node7 (pid 4711)" */
char *outcome_name_rank(const job_t *job, unsigned rank);

/* "ranks 0, 2-5": those that run. */
char *outcome_list_running(const job_t *job);

/* "SIGSEGV (segmentation fault)" */
char *outcome_name_signal(int signal);

#endif
