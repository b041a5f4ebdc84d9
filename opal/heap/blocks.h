/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Blocks of any kind: which block a pointer means, and taking one. For realloc and the like, which
 * are built on them.
 */
#ifndef OPAL_HEAP_BLOCKS_H
#define OPAL_HEAP_BLOCKS_H

#include "opal/heap/layout.h"

typedef struct opal_heap_block {
    uint32_t kind; /* of its chunk; 0: no block begins there */
    bool ours;     /* of this process' heap */
    opal_heap_chunk_t *chunk;
} opal_heap_block_t;

/* `pointer` may be any pointer. */
opal_heap_block_t opal_heap_find_block(opal_heap_t *heap, const void *pointer);

/* Any size and alignment, a power of two or 0. NULL, with errno. */
void *opal_heap_take(opal_heap_t *heap, size_t bytes, size_t alignment, bool zero);

#endif
