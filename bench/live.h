/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Buffers that are in use, and not at rest: the sender writes all of the buffer before each send,
 * the receiver reads all of it after each receive. Both by libc's functions, as fast as they go.
 */
#ifndef BENCH_LIVE_H
#define BENCH_LIVE_H

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { BENCH_LIVE_VALUES = 200 };

static inline void bench_live_write(char *buffer, size_t bytes, unsigned round)
{
    memset(buffer, (int)(round % BENCH_LIVE_VALUES), bytes);
}

/* Looks for a byte that nobody wrote; and whether it is this round's data. */
static inline void bench_live_read(const char *buffer, size_t bytes, unsigned round)
{
    if (memchr(buffer, BENCH_LIVE_VALUES, bytes) == NULL &&
        (unsigned char)buffer[bytes - 1] == round % BENCH_LIVE_VALUES)
        return;
    fprintf(stderr, "%zu bytes arrived, but not what was sent\n", bytes);
    exit(1);
}

#endif
