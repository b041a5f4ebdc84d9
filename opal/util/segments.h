/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Copying from one layout to another: both given as segments, whose borders need not meet.
 *
 * Threading: none of its own.
 */
#ifndef OPAL_UTIL_SEGMENTS_H
#define OPAL_UTIL_SEGMENTS_H

#include <stddef.h>
#include <stdint.h>
#include <sys/uio.h>

#include "opal/include/compiler.h"

/*
 * Copies until one of the two ends, and returns how many bytes that were. `shift` is added to the
 * addresses in `from`: where they are seen here.
 */
OPAL_EXPORT size_t opal_segments_copy(const struct iovec *to, size_t to_count,
                                      const struct iovec *from, size_t from_count, uintptr_t shift);

/* Cuts segments, which have `has` bytes together, to `bytes` of them. Returns how many are left. */
OPAL_EXPORT size_t opal_segments_cut(struct iovec *segments, size_t count, size_t has,
                                     size_t bytes);

#endif
