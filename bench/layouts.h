/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Layouts of data in memory, as applications have them, for the benchmarks of datatypes. Each can
 * be made for any multiple of 1 KiB, and spans at most BENCH_SPREAD times its data.
 */
#ifndef BENCH_LAYOUTS_H
#define BENCH_LAYOUTS_H

#include <mpi.h>

enum { BENCH_SPREAD = 8 };

typedef struct bench_layout {
    const char *name;
    MPI_Datatype (*create)(int bytes); /* not committed; may hold a little less than `bytes` */
} bench_layout_t;

/* The last one has no name. */
extern const bench_layout_t bench_layouts[];

#endif
