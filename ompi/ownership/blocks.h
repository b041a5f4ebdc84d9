/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The blocks that this process owns: it got them from MICA_Alloc or MICA_Take, and has neither
 * freed nor given them away. A table, so that any pointer can be checked without reading what it
 * points to.
 *
 * Threading: under the message lock.
 */
#ifndef OMPI_OWNERSHIP_BLOCKS_H
#define OMPI_OWNERSHIP_BLOCKS_H

#include <stdbool.h>
#include <stddef.h>

typedef struct ompi_block {
    void *start; /* never NULL */
    size_t bytes;
    bool is_taken; /* it lies in the region, and may be another process' to free */
} ompi_block_t;

/* Reserves a slot, so that ompi_block_own cannot fail. False: no memory. */
bool ompi_block_reserve(void);
void ompi_block_unreserve(void);

/* Enters an owned block. Uses a reserved slot. */
void ompi_block_own(const ompi_block_t *block);

/* find looks a block up by its start; disown also removes it, and its slot stays reserved. False:
 * the block is not owned. */
bool ompi_block_find(const void *start, ompi_block_t *block);
bool ompi_block_disown(const void *start, ompi_block_t *block);

/* Allocates memory for a block that is not owned yet, in the region if there is one; false: no
 * memory. free returns the memory. */
bool ompi_block_allocate(size_t bytes, ompi_block_t *block);
void ompi_block_free(const ompi_block_t *block);

/* The process will not access a taken block again: reports its pages as unmapped, because their
 * owner may release them without a memory event in this process. */
void ompi_block_leave(const ompi_block_t *block);

/* Empties the table. The blocks are not freed. */
void ompi_blocks_end(void);

#endif
