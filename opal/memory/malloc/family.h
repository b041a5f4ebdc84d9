/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * malloc's family, served by heaps of opal/heap: a call goes to the heap that serves its size, a
 * block back to the heap that it came from.
 *
 *   size               served by
 *   from `least` on    the heap for large blocks
 *   other sizes        the heap for all sizes
 *   without a heap     the allocator that malloc would be otherwise, here: the original
 *
 * A large block for which its heap has no room comes from the next line of this table. A block that
 * is resized stays in its heap if possible, but a block of another heap moves to the heap for large
 * blocks when it has grown large.
 *
 * Threading: know and serve are called before there are threads, the rest by any thread at any
 * time. The contracts are those of glibc's manual.
 */
#ifndef OPAL_MEMORY_MALLOC_FAMILY_H
#define OPAL_MEMORY_MALLOC_FAMILY_H

#include <malloc.h>
#include <stdbool.h>
#include <stddef.h>

#include "opal/heap/heap.h"

/* From now on blocks of this heap are recognized, and freed into it. `least`: the smallest size
   that it is to serve, or 0 for all sizes. One heap of each kind, as long as the process lives. */
void opal_memory_family_know(opal_heap_t *heap, size_t least);

/*
 * opal_memory_family_know, and lets the heap serve: the calls of the program and of libc itself are
 * redirected here from now on. False with a reason: the heap does not serve; calls that are
 * redirected already go on to the original.
 */
bool opal_memory_family_serve(opal_heap_t *heap, size_t least, char *reason, size_t room);

/* Why no heap can serve in this process, as far as is known without trying. NULL: unknown. */
const char *opal_memory_family_obstacle(void);

/* The heap that a block is from; NULL: none of the known ones. */
opal_heap_t *opal_memory_family_heap_of(const void *block);

/* Whether the heap for all sizes serves. */
bool opal_memory_family_is_whole(void);

/* Where redirected calls arrive. */
void *opal_memory_family_malloc(size_t bytes);
void opal_memory_family_free(void *block);
void *opal_memory_family_calloc(size_t count, size_t bytes);
void *opal_memory_family_realloc(void *block, size_t bytes);
void *opal_memory_family_reallocarray(void *block, size_t count, size_t bytes);
void *opal_memory_family_memalign(size_t alignment, size_t bytes);
int opal_memory_family_posix_memalign(void **block, size_t alignment, size_t bytes);
void *opal_memory_family_valloc(size_t bytes);
void *opal_memory_family_pvalloc(size_t bytes);
size_t opal_memory_family_malloc_usable_size(void *block);
int opal_memory_family_malloc_trim(size_t keep_bytes);
void opal_memory_family_malloc_stats(void);
struct mallinfo opal_memory_family_mallinfo(void);
struct mallinfo2 opal_memory_family_mallinfo2(void);
int opal_memory_family_mallopt(int name, int value);

/* For other families on a heap: the old form of mallinfo, in which large numbers wrap; and the
   answer of a mallopt without anything to tune. */
struct mallinfo opal_memory_narrow(struct mallinfo2 wide);
int opal_memory_accept_mallopt(int name);

#endif
