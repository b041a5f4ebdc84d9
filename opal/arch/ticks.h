/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The counter of the core that goes at a constant rate, alike on all cores of a node: the cheapest
 * clock there is. What a tick is in nanoseconds is measured beside opal_clock_nsec.
 */
#ifndef OPAL_ARCH_TICKS_H
#define OPAL_ARCH_TICKS_H

#include <stdint.h>

#if defined(__x86_64__) || defined(__i386__)
#include <x86intrin.h>
#else
#include "opal/include/clock.h"
#endif

static inline uint64_t opal_ticks(void)
{
#if defined(__x86_64__) || defined(__i386__)
    return __rdtsc();
#elif defined(__aarch64__)
    uint64_t ticks;
    __asm__ volatile("mrs %0, cntvct_el0" : "=r"(ticks));
    return ticks;
#else
    return opal_clock_nsec();
#endif
}

#endif
