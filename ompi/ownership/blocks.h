/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The blocks that this process owns: those that MICA_Alloc and MICA_Take have brought and that it
 * has neither freed nor given away. So it is known of every pointer whether it is one, without
 * looking at what it points to.
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

/* Room for one block more, so that ompi_block_own cannot fail. False: no memory. */
bool ompi_block_reserve(void);
void ompi_block_unreserve(void);

/* From now on it is owned. Uses what was reserved. */
void ompi_block_own(const ompi_block_t *block);

/* Finds a block by its start; false: it is not owned. disown: and it is not any more, but the room
 * stays reserved. */
bool ompi_block_find(const void *start, ompi_block_t *block);
bool ompi_block_disown(const void *start, ompi_block_t *block);

/* Memory for a block, in the region if there is one, which is not owned yet; false: there is none.
 * And back to where it came from. */
bool ompi_block_allocate(size_t bytes, ompi_block_t *block);
void ompi_block_free(const ompi_block_t *block);

/* The process will not look at a taken block again: what is known of its pages is forgotten, as
 * they may go without a word to this process. */
void ompi_block_leave(const ompi_block_t *block);

/* Forgets what is owned, which stays where it is. */
void ompi_blocks_end(void);

#endif
