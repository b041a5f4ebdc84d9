/* SPDX-License-Identifier: BSD-3-Clause */
/* The clock, the samples and the output of the benchmarks; see samples.h. */
#include "samples.h"

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

double bench_now(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

void bench_add_sample(bench_samples_t *samples, double sec)
{
    if (samples->count < BENCH_MAX_SAMPLES)
        samples->sec[samples->count++] = sec;
}

static int compare(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

/* The value of a unit is scale * (time of a piece of work), or scale / that. */
static const struct unit {
    const char *name;
    double scale;
    bool is_rate;
} units[] = {
    [BENCH_USEC] = {"us", 1e6, false},
    [BENCH_GBYTES_PER_SEC] = {"GB/s", 1e-9, true},
    [BENCH_MESSAGES_PER_USEC] = {"M/s", 1e-6, true},
};

static double in_unit(const struct unit *unit, double sec)
{
    return unit->is_rate ? unit->scale / sec : unit->scale * sec;
}

void bench_print(const char *name, long size, bench_unit_t unit, double work,
                 bench_samples_t *samples)
{
    const struct unit *with = &units[unit];
    if (samples->count == 0)
        return;
    qsort(samples->sec, (size_t)samples->count, sizeof samples->sec[0], compare);
    /* Of the times, so that it does not depend on the unit which one it is. */
    double median = samples->sec[samples->count / 2] / work, best = samples->sec[0] / work;
    printf("%s %ld %.5g %s %.5g\n", name, size, in_unit(with, median), with->name,
           in_unit(with, best));
    fflush(stdout);
}

void *bench_memory(size_t bytes)
{
    enum { PAGE = 4096 };
    size_t whole = (bytes + PAGE) / PAGE * PAGE;
    void *memory = aligned_alloc(PAGE, whole);
    if (memory == NULL) {
        fprintf(stderr, "no memory for %zu bytes\n", bytes);
        exit(1);
    }
    memset(memory, 1, whole);
    return memory;
}
