/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Copying between two lists of segments (struct iovec), which may be cut at different offsets.
 *
 * Threading: functions of their arguments.
 */
#ifndef OPAL_UTIL_SEGMENTS_H
#define OPAL_UTIL_SEGMENTS_H

#include <stddef.h>
#include <stdint.h>
#include <sys/uio.h>

#include "opal/include/compiler.h"

/*
 * Copies until one of the two lists ends, and returns the number of bytes. `shift` is added to the
 * addresses in `from`, if those are of another process whose memory is mapped here.
 */
OPAL_EXPORT size_t opal_segments_copy(const struct iovec *to, size_t to_count,
                                      const struct iovec *from, size_t from_count, uintptr_t shift);

/* Shortens segments of `has` bytes together to `bytes` bytes. Returns how many are left. */
OPAL_EXPORT size_t opal_segments_cut(struct iovec *segments, size_t count, size_t has,
                                     size_t bytes);

#endif
