/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The copy kernel, for vectors of any length. A file that includes it is one kernel, and defines
 * before:
 *
 *   COPY_NAME     the function's name
 *   COPY_VECTOR   bytes of a vector
 *   COPY_TARGET   the attribute for what not every CPU of this architecture has, or nothing
 *
 * Stores are aligned, to a line of the cache; loads are as they come. The first line and the last
 * step are not aligned, and overlap what is between them.
 *
 * Beyond the first cache, the block is copied as four at once, a step of each in turn. The CPU's
 * prefetcher follows every one of the streams, and so has more lines under way than it would have
 * of one; that counts if they must come from another core's cache, where the sender has just
 * written them. doc/PERFORMANCE.md has the figures.
 */
#include <stdint.h>

#include "opal/arch/copy.h"
#include "opal/arch/copy_kernel.h"

typedef char copy_vector_t __attribute__((vector_size(COPY_VECTOR), aligned(1), may_alias));

enum {
    LINE = 64,
    STEP = 4 * COPY_VECTOR,
    SKEW = 512,
    FAR_BYTES = 16 * 1024, /* source and destination together fill a first cache */
};

_Static_assert(SKEW % STEP == 0, "");
_Static_assert((int)STEP >= (int)LINE && (int)STEP <= (int)OPAL_COPY_INLINE_MAX, "");

/* GCC would mix up the stores. A CPU writes two halves of a line at once, if they come one after
 * the other: it makes a copy up to 1.6 times as fast. Elsewhere two stores become one instruction.
 */
#ifdef __x86_64__
#define IN_ORDER() __asm__ volatile("" ::: "memory")
#else
#define IN_ORDER() (void)0
#endif

COPY_TARGET static OPAL_ALWAYS_INLINE void copy_step(char *to, const char *from)
{
    const copy_vector_t *in = (const copy_vector_t *)from;
    copy_vector_t *out = (copy_vector_t *)to;
    copy_vector_t first = in[0], second = in[1], third = in[2], fourth = in[3];
    out[0] = first;
    IN_ORDER();
    out[1] = second;
    IN_ORDER();
    out[2] = third;
    IN_ORDER();
    out[3] = fourth;
}

COPY_TARGET static OPAL_ALWAYS_INLINE void copy_line(char *to, const char *from)
{
    if ((int)STEP == (int)LINE)
        copy_step(to, from);
    else
        for (int i = 0; i < LINE / COPY_VECTOR; i++)
            ((copy_vector_t *)to)[i] = ((const copy_vector_t *)from)[i];
}

/* Copies the bytes from `at` on; there the destination begins a cache line. */
COPY_TARGET static OPAL_ALWAYS_INLINE void copy_rest(char *to, const char *from, size_t at,
                                                     size_t bytes)
{
    size_t last = bytes - STEP;
    for (; at < last; at += STEP)
        copy_step(to + at, from + at);
    copy_step(to + last, from + last);
}

/*
 * Copies the bytes from `at` on in four streams, and what they leave at the end as one. The streams
 * are no power of two apart, or they would share the few ways that a cache has for such addresses.
 */
COPY_TARGET __attribute__((noinline)) static void copy_far(char *to, const char *from, size_t at,
                                                           size_t bytes)
{
    size_t each = (bytes - at) / 4 / STEP * STEP - SKEW;
    for (size_t end = at + each; at < end; at += STEP) {
        copy_step(to + at, from + at);
        copy_step(to + each + at, from + each + at);
        copy_step(to + 2 * each + at, from + 2 * each + at);
        copy_step(to + 3 * each + at, from + 3 * each + at);
    }
    copy_rest(to, from, at + 3 * each, bytes);
}

COPY_TARGET void COPY_NAME(char *to, const char *from, size_t bytes)
{
    size_t at = LINE - (uintptr_t)to % LINE;
    copy_line(to, from);
    if (bytes < FAR_BYTES)
        copy_rest(to, from, at, bytes);
    else
        copy_far(to, from, at, bytes);
}
