/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A snapshot of a region, taken from outside. The region is read by pread and never mapped: holes
 * of the file stay holes, a read past its end raises no signal, and nothing can be changed. The job
 * runs meanwhile, so numbers may be inconsistent, and every number is checked.
 */
#ifndef TOOLS_HEAP_SNAPSHOT_H
#define TOOLS_HEAP_SNAPSHOT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "opal/heap/look.h"

/* A chunk that has pages. */
typedef struct snapshot_chunk {
    uint32_t number; /* in the region */
    opal_heap_use_t use;
    uint8_t fill[OPAL_HEAP_LOOK_UNITS];
} snapshot_chunk_t;

/* The part of the region that one process was given. Its bytes are counted: in blocks (used),
 * between blocks (hole), in free chunks (free), and in resident pages (resident). */
typedef struct snapshot_pool {
    int pid; /* 0: the process is attaching */
    int rank;
    bool has_ended;       /* its chunks are not reused yet, or other processes hold blocks of it */
    bool is_vacant;       /* it has no process; snapshot_take removes vacant pools */
    uint64_t base, least; /* as in region_file.h */
    uint32_t given;       /* chunks */
    uint64_t used_bytes, hole_bytes, longest_hole_bytes, free_bytes, resident_bytes;
    uint64_t blocks;
    snapshot_chunk_t *chunks; /* NULL: none */
    size_t chunk_count;
} snapshot_pool_t;

typedef struct snapshot {
    uint64_t bytes, base;
    uint32_t chunks, given; /* in the region; to pools, or taken by its own tables */
    int creator;            /* pid */
    uint32_t spare;         /* given chunks of processes that have ended, free for any process */
    snapshot_pool_t *pools;
    size_t pool_count;
} snapshot_t;

/* Takes a snapshot. Returns NULL, or the reason why there is none. */
const char *snapshot_take(int fd, snapshot_t *snapshot);
void snapshot_free(snapshot_t *snapshot);

/* Free memory between blocks, in percent of the chunks that hold blocks. */
unsigned snapshot_fragmentation(const snapshot_pool_t *pool);

#endif
