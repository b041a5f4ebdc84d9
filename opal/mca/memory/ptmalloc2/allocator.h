/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The heap behind the name-shifted symbols, and putting them in the place of malloc's family.
 *
 * Threading: any thread at any time; ptmalloc2_replace before there are threads.
 */
#ifndef MEMORY_PTMALLOC2_ALLOCATOR_H
#define MEMORY_PTMALLOC2_ALLOCATOR_H

#include "opal/heap/heap.h"

/* The heap, opened by the first call; NULL: it cannot be, as there is no memory. */
opal_heap_t *ptmalloc2_heap(void);

/*
 * From now on the calls of malloc and its family, those of libc itself included, come to us. False
 * with a reason: nothing has changed, or not all of it has; what has keeps working.
 */
bool ptmalloc2_replace(char *reason, size_t size);

/* Whether malloc is ours: a block of libc's that changes its size may then become one of ours. */
bool ptmalloc2_hands_out(void);

/* Blocks that are handed out; for the probes. */
size_t ptmalloc2_used_blocks(void);

/* The functions of this family that would be called without us. */
typedef struct ptmalloc2_owner {
    void *(*malloc)(size_t bytes);
    void (*free)(void *block);
    void *(*realloc)(void *block, size_t bytes);
    size_t (*usable_size)(void *block);
} ptmalloc2_owner_t;

const ptmalloc2_owner_t *ptmalloc2_owner(void);

#endif
