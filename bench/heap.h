/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The workloads of bench/heap.c: what each does is told in heap_workloads.c.
 */
#ifndef BENCH_HEAP_H
#define BENCH_HEAP_H

#include <stddef.h>

typedef struct bench_allocator {
    void *(*malloc)(size_t bytes);
    void (*free)(void *block);
    void *(*calloc)(size_t count, size_t bytes);
    void *(*realloc)(void *block, size_t bytes);
    void *(*aligned_alloc)(size_t alignment, size_t bytes);
} bench_allocator_t;

typedef struct bench_workload {
    const char *name;
    int threads;
    int has_peak; /* its peak memory says something */
    /* Seconds. `share`: so much less work. */
    double (*run)(const bench_allocator_t *with, int share);
} bench_workload_t;

/* Ends with one without a name. */
extern const bench_workload_t bench_workloads[];

#endif
