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

#endif
