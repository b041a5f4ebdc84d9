/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What a region looks like at some moment, seen from outside. It is read by pread, never mapped: a
 * file's holes stay holes, its end is no signal, and nothing can be changed. The job goes on
 * meanwhile, so pools need not quite fit together; every number is checked.
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

/* What one process has been given. Bytes: in blocks; between them; in chunks that are free;
 * really there, used or not. */
typedef struct snapshot_pool {
    int pid; /* 0: it was just attaching */
    int rank;
    bool has_ended; /* nobody has use for its chunks yet, or somebody has some of its blocks */
    bool is_vacant; /* it is nobody's: not in a snapshot that is ready */
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
    uint32_t spare; /* of the given chunks: of processes that have ended, for who wants them */
    snapshot_pool_t *pools;
    size_t pool_count;
} snapshot_t;

/* NULL, or why there is none. */
const char *snapshot_take(int fd, snapshot_t *snapshot);
void snapshot_free(snapshot_t *snapshot);

/* Free memory between blocks, of a hundred parts of the chunks that blocks are in. */
unsigned snapshot_fragmentation(const snapshot_pool_t *pool);

#endif
