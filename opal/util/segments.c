/* SPDX-License-Identifier: BSD-3-Clause */
#include "opal/util/segments.h"

#include "opal/arch/copy.h"

/* A walk over segments: the segments that are left, and how much of the first one is done. */
typedef struct walk {
    const struct iovec *segments;
    size_t count, done;
} walk_t;

static uintptr_t walk_address(const walk_t *walk)
{
    return (uintptr_t)walk->segments->iov_base + walk->done;
}

static size_t walk_left(const walk_t *walk)
{
    return walk->segments->iov_len - walk->done;
}

static void walk_on(walk_t *walk, size_t bytes)
{
    walk->done += bytes;
    if (walk->done < walk->segments->iov_len)
        return;
    walk->segments++;
    walk->count--;
    walk->done = 0;
}

size_t opal_segments_copy(const struct iovec *to, size_t to_count, const struct iovec *from,
                          size_t from_count, uintptr_t shift)
{
    walk_t write = {to, to_count, 0}, read = {from, from_count, 0};
    size_t total = 0;
    while (write.count > 0 && read.count > 0) {
        size_t room = walk_left(&write), there = walk_left(&read);
        size_t bytes = room < there ? room : there;
        opal_copy((void *)walk_address(&write), (const void *)(walk_address(&read) + shift), bytes);
        total += bytes;
        walk_on(&write, bytes);
        walk_on(&read, bytes);
    }
    return total;
}

size_t opal_segments_cut(struct iovec *segments, size_t count, size_t has, size_t bytes)
{
    for (; has > bytes; count--) {
        size_t over = has - bytes;
        if (segments[count - 1].iov_len > over) {
            segments[count - 1].iov_len -= over;
            break;
        }
        has -= segments[count - 1].iov_len;
    }
    return count;
}
