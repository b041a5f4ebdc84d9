/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Copying bytes: the one function that every path which moves user data goes through.
 *
 * Small blocks are copied in line, by moves of which the last may overlap the one before, so that a
 * size known only at run time costs a compare or two and no call. Larger ones go to the kernel that
 * was chosen for this machine (copy_kernel.h). The areas must not overlap.
 *
 * Threading: any thread, any time.
 */
#ifndef OPAL_ARCH_COPY_H
#define OPAL_ARCH_COPY_H

#include <stddef.h>
#include <string.h>

#include "opal/include/compiler.h"

#define OPAL_ALWAYS_INLINE inline __attribute__((always_inline))

/* half <= bytes <= 2 * half, and half is a constant. */
static OPAL_ALWAYS_INLINE void opal_copy_two(char *to, const char *from, size_t bytes, size_t half)
{
    memcpy(to, from, half);
    memcpy(to + bytes - half, from + bytes - half, half);
}

enum {
    OPAL_COPY_STEP = 64,
    OPAL_COPY_INLINE_MAX = 256, /* from here on a call costs less than what it gains */
};

/* bytes >= OPAL_COPY_INLINE_MAX */
typedef void opal_copy_fn_t(char *to, const char *from, size_t bytes);

/* The kernel that was chosen, or what chooses it. A pointer and no function around it: for a few
 * hundred bytes in cache, the second jump is a fifth of the time. */
OPAL_EXPORT extern opal_copy_fn_t *opal_copy_current;

/* bytes >= OPAL_COPY_INLINE_MAX */
static OPAL_ALWAYS_INLINE void opal_copy_large(void *to, const void *from, size_t bytes)
{
    __atomic_load_n(&opal_copy_current, __ATOMIC_RELAXED)((char *)to, (const char *)from, bytes);
}

/* bytes >= OPAL_COPY_STEP */
static OPAL_ALWAYS_INLINE void opal_copy_steps(char *to, const char *from, size_t bytes)
{
    size_t done = 0;
    for (; done + OPAL_COPY_STEP <= bytes; done += OPAL_COPY_STEP)
        memcpy(to + done, from + done, OPAL_COPY_STEP);
    if (done < bytes)
        memcpy(to + bytes - OPAL_COPY_STEP, from + bytes - OPAL_COPY_STEP, OPAL_COPY_STEP);
}

/* bytes > OPAL_COPY_STEP */
static OPAL_ALWAYS_INLINE void opal_copy_many(char *to, const char *from, size_t bytes)
{
    if (bytes > OPAL_COPY_INLINE_MAX)
        opal_copy_large(to, from, bytes);
    else
        opal_copy_steps(to, from, bytes);
}

static OPAL_ALWAYS_INLINE void opal_copy(void *to, const void *from, size_t bytes)
{
    if (__builtin_constant_p(bytes) && bytes <= OPAL_COPY_STEP)
        memcpy(to, from, bytes); /* the compiler knows best what to do with a small constant */
    else if (opal_unlikely(bytes > OPAL_COPY_STEP))
        opal_copy_many(to, from, bytes);
    else if (bytes > 32)
        opal_copy_two(to, from, bytes, 32);
    else if (bytes >= 16)
        opal_copy_two(to, from, bytes, 16);
    else if (bytes >= 8)
        opal_copy_two(to, from, bytes, 8);
    else if (bytes >= 4)
        opal_copy_two(to, from, bytes, 4);
    else if (bytes >= 2)
        opal_copy_two(to, from, bytes, 2);
    else if (bytes == 1)
        memcpy(to, from, 1);
}

#endif
