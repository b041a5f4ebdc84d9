/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Standard output and standard error of the ranks.
 *
 * Direct: with one rank, a terminal, /dev/null or --output-filename, a rank writes to the target
 * itself, without a copy through mpirun. Gathered: otherwise lines of several ranks that share a
 * pipe or a file would mix, so each rank writes into its own pipe, and gather.c passes whole lines
 * on.
 *
 * If stdout and stderr of mpirun are the same file, those of a rank are the same pipe, so that the
 * order of its output is kept; except with tags, which distinguish the two.
 *
 * Jobs that ranks start at run time share the targets. Their output is gathered if a line could be
 * cut; labels and directories name the job, unless it is the first one.
 */
#ifndef MPIRUN_OUTPUT_H
#define MPIRUN_OUTPUT_H

#include "tools/mpirun/job.h"
#include "tools/mpirun/loop.h"

typedef struct output output_t;

/* Inspects the targets and decides between direct and gathered. `job` is the first one. NULL: an
 * error was reported. */
output_t *output_create(loop_t *loop, const job_t *job);
void output_destroy(output_t *output);

/*
 * Sets standard[1] and standard[2] to the descriptors that become the rank's stdout and stderr, or
 * to -1 for mpirun's own. The caller calls output_opened, which closes them, when the rank has its
 * copies. False: an error was reported.
 */
bool output_open(output_t *output, const job_t *job, unsigned rank, int standard[3]);
void output_opened(int standard[3]);

/* Frees what belongs to streams that have ended; to be called between two turns of the loop. */
void output_sweep(output_t *output);

/* To be called when all writers have ended. Writes what is left; true when nothing is left. */
bool output_finished(output_t *output);

#endif
