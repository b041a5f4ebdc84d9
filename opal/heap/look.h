/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What the header of a chunk says of its use: for viewers of another process' heap. That process
 * goes on allocating, so the numbers are roughly right; and it may have damaged its header, so
 * every number is clipped to what is possible.
 *
 * Threading: functions of their arguments.
 */
#ifndef OPAL_HEAP_LOOK_H
#define OPAL_HEAP_LOOK_H

#include <stddef.h>
#include <stdint.h>

#include "opal/include/compiler.h"

enum {
    OPAL_HEAP_LOOK_BYTES = 12 << 10, /* the longest header */
    OPAL_HEAP_LOOK_UNITS = 64,       /* parts of a chunk, each with its own use */
    OPAL_HEAP_LOOK_FULL = 16,        /* the use of a full unit, in pages of 4 KiB */
};

typedef enum opal_heap_use {
    OPAL_HEAP_USE_NONE,  /* free, or the inside of a huge block */
    OPAL_HEAP_USE_SLABS, /* blocks up to 32 KiB */
    OPAL_HEAP_USE_RUNS,  /* up to 1 MiB */
    OPAL_HEAP_USE_HUGE,  /* one block */
} opal_heap_use_t;

/* Blocks that another process has freed, and that have not come home yet, count as used, but for
 * those of slabs. */
typedef struct opal_heap_look {
    opal_heap_use_t use;
    uint32_t chunks;     /* that the header describes; more than one: of a huge block */
    uint32_t blocks;     /* in use */
    uint64_t used_bytes; /* in these blocks */
    uint64_t hole_bytes; /* free in chunks that are in use */
    uint64_t longest_hole_bytes;
} opal_heap_look_t;

/*
 * `header` is a copy of the first OPAL_HEAP_LOOK_BYTES of a chunk, aligned to 64 bytes. From that
 * chunk on the heap has `most_chunks` chunks, at least one. fill[i] becomes the use of unit i of
 * the first chunk, 0 to OPAL_HEAP_LOOK_FULL.
 */
OPAL_EXPORT void opal_heap_look(const void *header, uint32_t most_chunks, opal_heap_look_t *look,
                                uint8_t fill[OPAL_HEAP_LOOK_UNITS]);

/* Fills in the use of chunk number `i` of a huge block. */
OPAL_EXPORT void opal_heap_look_inside(const opal_heap_look_t *look, uint32_t i,
                                       uint8_t fill[OPAL_HEAP_LOOK_UNITS]);

#endif
