/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Descriptors that run out, and the time that a server uses meanwhile: who polls a socket on which
 * it cannot accept spins.
 */
#ifndef OPAL_UNIT_SHORTAGE_H
#define OPAL_UNIT_SHORTAGE_H

#include <stdbool.h>
#include <sys/resource.h>
#include <time.h>
#include <unistd.h>

/* Nothing can be opened until shortage_end, which gets what this returns. Nothing is closed
 * meanwhile, and all descriptors below the lowest free one are in use. */
static inline rlim_t shortage_begin(void)
{
    struct rlimit limit;
    getrlimit(RLIMIT_NOFILE, &limit);
    rlim_t before = limit.rlim_cur;
    int next = dup(STDERR_FILENO);
    close(next);
    limit.rlim_cur = (rlim_t)next;
    setrlimit(RLIMIT_NOFILE, &limit);
    return before;
}

static inline void shortage_end(rlim_t before)
{
    struct rlimit limit;
    getrlimit(RLIMIT_NOFILE, &limit);
    limit.rlim_cur = before;
    setrlimit(RLIMIT_NOFILE, &limit);
}

/* Of this thread. */
static inline double cpu_seconds(void)
{
    struct timespec used;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &used);
    return (double)used.tv_sec + (double)used.tv_nsec / 1e9;
}

#endif
