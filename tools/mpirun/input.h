/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Standard input of the ranks (--stdin).
 *
 * With one rank, that rank inherits mpirun's stdin and nothing is copied. With all, mpirun reads
 * and writes a copy to each rank, no faster than the slowest rank reads; a rank that closes its
 * stdin or ends gets no more. All other ranks, and those of further jobs, read /dev/null.
 */
#ifndef MPIRUN_INPUT_H
#define MPIRUN_INPUT_H

#include "tools/mpirun/job.h"
#include "tools/mpirun/loop.h"

typedef struct input input_t;

/* NULL: an error was reported. */
input_t *input_create(loop_t *loop, const job_t *job);
void input_destroy(input_t *input);

/*
 * Sets standard[0] to the descriptor that becomes the rank's stdin, or to -1 for mpirun's own. The
 * caller calls input_opened when the rank has its copy. False: an error was reported.
 */
bool input_open(input_t *input, const job_t *job, unsigned rank, int standard[3]);
void input_opened(input_t *input, int standard[3]);

/* Begins to copy. Called when all ranks are started. */
void input_start(input_t *input);

#endif
