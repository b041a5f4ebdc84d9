/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The heap behind the name-shifted symbols, and replacing malloc's family by them.
 *
 * Threading: any thread at any time; ptmalloc2_replace before there are threads.
 */
#ifndef MEMORY_PTMALLOC2_ALLOCATOR_H
#define MEMORY_PTMALLOC2_ALLOCATOR_H

#include "opal/heap/heap.h"

/* The heap, opened by the first call; NULL: there is no memory for one. */
opal_heap_t *ptmalloc2_heap(void);

/*
 * Redirects the calls of malloc and its family, those of libc itself included, to the heap. False
 * with a reason: none or not all of the calls are redirected; those that are keep working.
 */
bool ptmalloc2_replace(char *reason, size_t size);

#endif
