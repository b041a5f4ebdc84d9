/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * How the MPI benchmarks measure. A benchmark describes a case: a function that does so many rounds
 * of something on each rank. Here is decided how many rounds fill a block of time that the clock
 * can resolve, and how many blocks are measured; a block is a sample (samples.h).
 *
 * Portable MPI with sends and receives alone, on MPI_COMM_WORLD, with BENCH_TAG. Single-threaded.
 *
 *   PROGRAM [--quick] [NAME]     NAME: only this series, or those that have it before a '/'
 */
#ifndef BENCH_MEASURE_H
#define BENCH_MEASURE_H

#include <stdbool.h>

#include "samples.h"

enum {
    BENCH_TAG = 32000,         /* and above: not for benchmarks */
    BENCH_MAX_BYTES = 4 << 20, /* the largest message */
};

/* Does `rounds` rounds, and comes back when they are over for this rank. */
typedef void bench_rounds_fn_t(void *context, int rounds);

typedef struct bench_case {
    const char *name;
    long size;
    bench_unit_t unit;
    double work; /* pieces of work in a round, on all ranks together */
    int ranks;   /* the first so many take part, the others wait without using a core; 0: all */
    bench_rounds_fn_t *run;
    void *context;
} bench_case_t;

extern int bench_rank, bench_ranks;
extern bool bench_quick;

/* MPI_Init, and the arguments. */
void bench_init(int *argc, char ***argv);

/* The same at a thread level; an MPI that does not have it ends the program. */
void bench_init_thread(int *argc, char ***argv, int level);

/* MPI_Finalize; main's result. */
int bench_fini(void);

/* Whether NAME, if it was given, wants this series. Alike on all ranks. */
bool bench_wants(const char *name);

/* Measures, if the series is wanted. All ranks call it, also those that take no part. The time of a
   block is the longest of the ranks'; rank 0 prints. */
void bench_measure(const bench_case_t *what);

/* The size behind this one: 0, 1, 2, 4, ... or, for a quick run, 0, 8, 64, ... */
long bench_next_size(long size);

#endif
