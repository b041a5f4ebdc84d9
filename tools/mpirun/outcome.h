/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * How a rank ended, what that means for the job, and how it is reported. `jobs` are all that run,
 * linked by `next`.
 */
#ifndef MPIRUN_OUTCOME_H
#define MPIRUN_OUTCOME_H

#include "tools/mpirun/job.h"
#include "tools/mpirun/pmi_server.h"

/*
 * The exit status of mpirun for an ended rank: 128 + N for signal N; the rank's own status; 1 if it
 * exited with 0 between MPI_Init and MPI_Finalize. 0: it succeeded.
 */
int outcome_status(const rank_t *rank, pmi_state_t state);

/* True if the end of this rank ends the job: it failed, and not by exiting after MPI_Finalize. */
bool outcome_ends_job(const rank_t *rank, pmi_state_t state);

/* The status of the lowest rank of the first job in which a rank failed by itself; 0: none did. */
int outcome_of_jobs(const job_t *jobs);

/*
 * Prints one message that names the ranks that failed by themselves and says what happens to the
 * others. Prints none if all of them exited after MPI_Finalize, unless mpirun is verbose: then the
 * exit status says enough.
 */
void outcome_report(const job_t *jobs);

/* "rank 0 of job 2 on node7 (pid 4711) exited with status 1 before MPI_Init": of a rank that has
 * ended without PMI. */
char *outcome_describe_early_end(const job_t *job, unsigned rank);

/* "rank 3 on node7 (pid 4711)", "rank 3 of job 2 on node7 (pid 4711)" */
char *outcome_name_rank(const job_t *job, unsigned rank);

/* "ranks 0, 2-5", "rank 0 and ranks 0-3 of job 2": the running ranks. */
char *outcome_list_running(const job_t *jobs);

/* "SIGSEGV (segmentation fault)" */
char *outcome_name_signal(int signal);

#endif
