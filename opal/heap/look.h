/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A chunk of somebody else's heap, as far as its header tells, for who draws a picture of a region.
 * The heap is at work meanwhile, so what is told is roughly right; and who wrote it may have lost
 * its mind, so every number is clipped to what can be.
 *
 * Threading: looks at nothing but what it is given.
 */
#ifndef OPAL_HEAP_LOOK_H
#define OPAL_HEAP_LOOK_H

#include <stddef.h>
#include <stdint.h>

#include "opal/include/compiler.h"

enum {
    OPAL_HEAP_LOOK_BYTES = 12 << 10, /* so much of a chunk's start has all that is needed */
    OPAL_HEAP_LOOK_UNITS = 64,       /* parts of a chunk whose use is told one by one */
    OPAL_HEAP_LOOK_FULL = 16,        /* what a unit is counted in: pages of 4 KiB */
};

typedef enum opal_heap_use {
    OPAL_HEAP_USE_NONE,  /* free, or the inside of a huge block */
    OPAL_HEAP_USE_SLABS, /* blocks up to 32 KiB */
    OPAL_HEAP_USE_RUNS,  /* up to 1 MiB */
    OPAL_HEAP_USE_HUGE,  /* one block */
} opal_heap_use_t;

/* Blocks that another process has freed and that have not come home yet count as used, but for
 * those of slabs. */
typedef struct opal_heap_look {
    opal_heap_use_t use;
    uint32_t chunks;     /* that the header speaks of; more than one: of a huge block */
    uint32_t blocks;     /* that are out */
    uint64_t used_bytes; /* in them */
    uint64_t hole_bytes; /* free in chunks that are in use */
    uint64_t longest_hole_bytes;
} opal_heap_look_t;

/*
 * `header` is a copy of the first OPAL_HEAP_LOOK_BYTES of a chunk, aligned to 64 bytes; at most
 * `most_chunks`, at least one, belong together from there on. fill[i] becomes the use of unit i of
 * the first chunk, 0 to OPAL_HEAP_LOOK_FULL.
 */
OPAL_EXPORT void opal_heap_look(const void *header, uint32_t most_chunks, opal_heap_look_t *look,
                                uint8_t fill[OPAL_HEAP_LOOK_UNITS]);

/* The same for chunk number `i` of a huge block. */
OPAL_EXPORT void opal_heap_look_inside(const opal_heap_look_t *look, uint32_t i,
                                       uint8_t fill[OPAL_HEAP_LOOK_UNITS]);

#endif
