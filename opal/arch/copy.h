/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Copying bytes: the one function that every path which moves user data goes through.
 *
 * Small blocks are copied in line, by moves of which the last may overlap the one before, so that a
 * size known only at run time costs a compare or two and no call. The areas must not overlap.
 *
 * Threading: none of its own.
 */
#ifndef OPAL_ARCH_COPY_H
#define OPAL_ARCH_COPY_H

#include <stddef.h>
#include <string.h>

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

/* bytes >= OPAL_COPY_STEP */
static OPAL_ALWAYS_INLINE void opal_copy_steps(char *to, const char *from, size_t bytes)
{
    size_t done = 0;
    for (; done + OPAL_COPY_STEP <= bytes; done += OPAL_COPY_STEP)
        memcpy(to + done, from + done, OPAL_COPY_STEP);
    if (done < bytes)
        memcpy(to + bytes - OPAL_COPY_STEP, from + bytes - OPAL_COPY_STEP, OPAL_COPY_STEP);
}

static OPAL_ALWAYS_INLINE void opal_copy(void *to, const void *from, size_t bytes)
{
    if (bytes > OPAL_COPY_INLINE_MAX || (__builtin_constant_p(bytes) && bytes <= OPAL_COPY_STEP))
        memcpy(to, from, bytes); /* the compiler knows best what to do with a small constant */
    else if (bytes > OPAL_COPY_STEP)
        opal_copy_steps(to, from, bytes);
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
