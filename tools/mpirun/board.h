/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The board of the jobs of this mpirun (opal/crash/board.h): made before the first rank, handed to
 * all of them, and read when a rank has failed.
 */
#ifndef MPIRUN_BOARD_H
#define MPIRUN_BOARD_H

#include "opal/crash/board.h"
#include "tools/mpirun/job.h"

/* Gives the first job a board; without one, ranks print their reports themselves. */
void board_create(job_t *first);
void board_destroy(job_t *first);

/* A further job uses the board of the first. */
void board_share(job_t *job, const job_t *first);

/* What this rank has written on the board, to be freed; NULL: nothing, or it has no claim. */
char *board_take_report(const job_t *job, unsigned rank);

/* What any rank of the job has written. Of ranks that abort at the same time, another one may reach
 * mpirun first. */
char *board_take_any_report(const job_t *job);

/* Whether a rank owns the claim: it was the first that failed. */
bool board_is_owner(const job_t *job, unsigned rank);

#endif
