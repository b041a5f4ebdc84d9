/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The time since the machine has started, for durations and deadlines. Allocates nothing, and may
 * be called before main, by any thread, and in a signal handler.
 */
#ifndef OPAL_INCLUDE_CLOCK_H
#define OPAL_INCLUDE_CLOCK_H

#include <stdint.h>
#include <time.h>

#define OPAL_NSEC_PER_SEC  UINT64_C(1000000000)
#define OPAL_NSEC_PER_MSEC UINT64_C(1000000)

static inline uint64_t opal_clock_read(clockid_t clock)
{
    struct timespec now;
    clock_gettime(clock, &now);
    return (uint64_t)now.tv_sec * OPAL_NSEC_PER_SEC + (uint64_t)now.tv_nsec;
}

static inline uint64_t opal_clock_nsec(void)
{
    return opal_clock_read(CLOCK_MONOTONIC);
}

/* Cheaper, and up to some milliseconds late. */
static inline uint64_t opal_clock_coarse_nsec(void)
{
    return opal_clock_read(CLOCK_MONOTONIC_COARSE);
}

#endif
