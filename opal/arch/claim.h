/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Reading data that another core has written and is going to write again.
 *
 * A core that only loads another's lines leaves them in both caches, as shared lines. When the
 * owner writes them again, the copies must go first, and some CPUs do this for one line after the
 * other. A line to which the reader has stored is in its cache only, and the owner gets it back as
 * fast as it would read it. So the reader claims the lines: it stores to each of them what is there
 * already.
 *
 * Two cores of an AMD EPYC (Genoa, virtual), 128 KiB, near and far from each other, in us:
 *
 *                           near   far
 *   copying without claims   2.9   7.5    and then writing it again   14.1   57.5
 *   copying with claims      3.1   8.2                                 1.9    5.8
 *
 * It is for data with one reader: cores that read the same lines would take them from each other.
 * Nobody may write the data meanwhile. Data that its owner has not written since this core read it
 * is not claimed: this core still has it, and a claim would take as long as the owner's store.
 */
#ifndef OPAL_ARCH_CLAIM_H
#define OPAL_ARCH_CLAIM_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __x86_64__
#include <x86intrin.h>
#endif

enum {
    OPAL_CLAIM_LINE = 64,
    OPAL_CLAIM_STEP = 1024, /* bytes that are claimed before they are read; measured as above */
};

static inline void opal_claim(const void *data, size_t bytes)
{
    uintptr_t at = (uintptr_t)data, end = at + bytes;
    for (; at < end; at = (at | (OPAL_CLAIM_LINE - 1)) + 1) {
        volatile char *byte = (volatile char *)at, same = *byte;
        *byte = same;
    }
}

/* -- whether the owner has written the data ---------------------------------------------------- */

#ifdef __x86_64__

enum {
    OPAL_CLAIM_APART = 4 * OPAL_CLAIM_LINE, /* the lines that are tried */
    OPAL_CLAIM_TRIED = 4 * OPAL_CLAIM_APART,
    OPAL_CLAIM_LEAST = 4 * OPAL_CLAIM_TRIED, /* lines in the middle are not prefetched */
};

/* Whether this core no longer has the lines from `at` on, by the time of loads of which each waits
 * for the one before: 26 to 104 ticks where it has them, else 180 to 360 and more. */
static inline bool opal_claim_lines_are_away(uintptr_t at)
{
    enum { AWAY_TICKS = 140 };
    _mm_lfence();
    uint64_t begin = __rdtsc();
    for (uintptr_t end = at + OPAL_CLAIM_TRIED; at < end;) {
        uint64_t byte = *(const volatile unsigned char *)at;
        __asm__ volatile("" : "+r"(byte)); /* for all that the compiler knows, more than a byte */
        at += OPAL_CLAIM_APART + (byte >> 8);
    }
    _mm_lfence();
    return __rdtsc() - begin > AWAY_TICKS;
}

/* Whether a claim of lines is fast: 78 ticks for lines that the owner has written since they were
 * claimed; 156 or 442 for lines that it has only read since then, so that they are shared, but also
 * for lines that it has written, but that were not claimed the last time. So a slow claim may be
 * the first of many fast ones: one in four, by the clock, counts as fast. If the owner only reads,
 * the next read without a claim ends that, because then the lines are not away. */
static inline bool opal_claim_is_fast(uintptr_t at)
{
    enum { FAST_TICKS = 120, CLOCK_STEP = 32 };
    volatile char *one = (volatile char *)at, *other = one + OPAL_CLAIM_APART;
    char in_one = *one, in_other = *other;
    _mm_lfence();
    uint64_t begin = __rdtsc();
    *one = in_one;
    *other = in_other;
    _mm_mfence();
    _mm_lfence();
    uint64_t end = __rdtsc();
    return end - begin <= FAST_TICKS || end / CLOCK_STEP % 4 == 0;
}

#endif

/* Whether the owner has written the data since this core read it, and so may write it again. Tries
 * a few lines; the figures are of the machine above. */
static inline bool opal_claim_pays(const void *data, size_t bytes)
{
#ifdef __x86_64__
    uintptr_t at = (uintptr_t)data;
    return bytes >= OPAL_CLAIM_LEAST && opal_claim_lines_are_away(at) &&
           opal_claim_is_fast(at + bytes / 2);
#else
    (void)data;
    return bytes >= OPAL_CLAIM_STEP;
#endif
}

#endif
