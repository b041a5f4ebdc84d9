/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Where the ranks' stdout and stderr go.
 *
 * Direct, with no copy through mpirun: a job of one rank, a terminal, /dev/null, or
 * --output-filename; the rank then writes to the target itself. Gathered otherwise,
 * since several ranks that share a pipe or a file would cut into each other's lines:
 * each rank writes into a pipe of its own, and gather.c passes whole lines on.
 *
 * Where stdout and stderr of mpirun are the same file, a rank's are the same pipe, so
 * that their order is kept; not so with tags, which tell the two apart.
 */
#ifndef MPIRUN_OUTPUT_H
#define MPIRUN_OUTPUT_H

#include "tools/mpirun/job.h"
#include "tools/mpirun/loop.h"

typedef struct output output_t;

/* Looks at the targets and decides. NULL: it has said what is wrong. */
output_t *output_create(loop_t *loop, const job_t *job);
void output_destroy(output_t *output);

/*
 * What becomes a rank's stdout and stderr: standard[1] and standard[2] get descriptors,
 * or -1 for mpirun's own. They stay the output's: output_opened closes them when the rank
 * has its copies. False: it has said what is wrong.
 */
bool output_open(output_t *output, unsigned rank, int standard[3]);
void output_opened(int standard[3]);

/* When all writers have ended: moves on what is left; true when nothing is. */
bool output_finished(output_t *output);

#endif
