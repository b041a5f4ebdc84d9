/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What the ranks read from stdin (--stdin).
 *
 * One rank: it inherits mpirun's stdin itself and nothing is copied. All: mpirun reads
 * and writes a copy to each rank, no faster than the slowest of them reads; a rank that
 * closes its stdin or ends is left out from then on. The others read /dev/null.
 */
#ifndef MPIRUN_INPUT_H
#define MPIRUN_INPUT_H

#include "tools/mpirun/job.h"
#include "tools/mpirun/loop.h"

typedef struct input input_t;

/* NULL: it has said what is wrong. */
input_t *input_create(loop_t *loop, const job_t *job);
void input_destroy(input_t *input);

/*
 * standard[0]: what becomes the rank's stdin, or -1 for mpirun's own; input_opened when
 * the rank has its copy. False: it has said what is wrong.
 */
bool input_open(input_t *input, unsigned rank, int standard[3]);
void input_opened(input_t *input, int standard[3]);

/* All ranks are started: begins to copy. */
void input_start(input_t *input);

#endif
