/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What every benchmark shares, with or without MPI: the clock, samples of one measured case, and
 * the one form of output, which bench/run.py reads. A line for each case:
 *
 *   NAME SIZE MEDIAN UNIT BEST
 *
 * NAME is that of a series, without blanks; what stands before a '/' in it names a plot. SIZE is
 * what the x axis has. Not for several threads.
 */
#ifndef BENCH_SAMPLES_H
#define BENCH_SAMPLES_H

#include <stddef.h>

enum { BENCH_MAX_SAMPLES = 64 };

typedef enum bench_unit {
    BENCH_USEC,              /* time of a piece of work, in microseconds */
    BENCH_GBYTES_PER_SEC,    /* a piece of work is a byte; 10^9 of them a second */
    BENCH_MESSAGES_PER_USEC, /* a piece of work is a message; 10^6 of them a second */
} bench_unit_t;

typedef struct bench_samples {
    double sec[BENCH_MAX_SAMPLES]; /* each the time of the same amount of work */
    int count;
} bench_samples_t;

/* Seconds, since some moment. */
double bench_now(void);

/* What is beyond the room for samples is dropped. */
void bench_add_sample(bench_samples_t *samples, double sec);

/* The line of a case: each sample was the time of `work` pieces. Sorts the samples. */
void bench_print(const char *name, long size, bench_unit_t unit, double work,
                 bench_samples_t *samples);

/* Page-aligned memory that has been written to; ends the program if there is none. */
void *bench_memory(size_t bytes);

#endif
