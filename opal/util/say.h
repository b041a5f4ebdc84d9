/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Messages from code that may call nothing: inside an allocator, in a constructor that runs before
 * all others, while code is being patched. A line of at most 512 bytes is formatted on the stack
 * and goes to stderr by one write(). No allocation, no stdio, no lock, no locale.
 *
 * All other code uses opal/util/log.h. Any thread, signal handlers too.
 */
#ifndef OPAL_UTIL_SAY_H
#define OPAL_UTIL_SAY_H

#include "opal/include/compiler.h"

enum { OPAL_SAY_MAX_BYTES = 512 };

typedef enum opal_say_level {
    OPAL_SAY_FATAL,
    OPAL_SAY_ERROR,
    OPAL_SAY_WARNING,
    OPAL_SAY_INFO,
    OPAL_SAY_DEBUG,
    OPAL_SAY_TRACE,
} opal_say_level_t;

/* The last level that is printed; OPAL_SAY_WARNING unless a parameter has changed it. */
OPAL_EXPORT extern int opal_say_threshold;

/*
 * Knows %s %c %d %i %u %x %p %%, and the lengths l, ll and z. A line that is too long ends in
 * "...". errno stays.
 */
OPAL_EXPORT void opal_say(opal_say_level_t level, const char *format, ...) OPAL_PRINTF(2, 3);

/* Formats into a buffer of `size` bytes, which always ends in a zero; for reasons that are printed
 * later. */
OPAL_EXPORT void opal_say_into(char *buffer, size_t size, const char *format, ...)
    OPAL_PRINTF(3, 4);

#endif
