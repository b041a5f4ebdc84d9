/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * malloc's family in the hands of the memory components: each call leads to the heap that serves
 * its size, each block to whom it came from.
 *
 *   size                  served by
 *   from `least` on       the heap that was offered for large blocks (memory/smheap)
 *   all others            the heap that was offered for all (memory/ptmalloc2)
 *   what nobody serves    the allocator that malloc would be without us, here: the original
 *
 * A large block for which its heap has no room comes from the next one in this list. A block that
 * changes its size stays with its heap as long as that can be, but one of the others' moves to the
 * heap for large blocks when it has grown large.
 *
 * Threading: know and serve before there are threads; the rest any thread at any time. The
 * contracts are those of glibc's manual.
 */
#ifndef OPAL_MEMORY_MALLOC_FAMILY_H
#define OPAL_MEMORY_MALLOC_FAMILY_H

#include <malloc.h>
#include <stdbool.h>
#include <stddef.h>

#include "opal/heap/heap.h"

/* Blocks of this heap find home from now on. `least`: from which size on it is to serve, or 0 for
   all sizes; one heap of each kind, which stays for ever. */
void opal_memory_family_know(opal_heap_t *heap, size_t least);

/*
 * Lets a heap serve, which is known by this too: the calls of the program and of libc itself come
 * to us from now on. False with a reason: it does not serve; what came to us keeps doing so and
 * goes on to the original.
 */
bool opal_memory_family_serve(opal_heap_t *heap, size_t least, char *reason, size_t room);

/* Why nobody can serve in this process, without trying. NULL: nothing is known to be in the way. */
const char *opal_memory_family_obstacle(void);

/* Which heap a block is from; NULL: none that is known. */
opal_heap_t *opal_memory_family_heap_of(const void *block);

/* Whether all sizes are served. */
bool opal_memory_family_is_whole(void);

/* What calls lead to. */
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

/* For a heap's own members of the family: the old form of mallinfo, in which what does not fit
   wraps; and what mallopt answers that has nothing to tune. */
struct mallinfo opal_memory_narrow(struct mallinfo2 wide);
int opal_memory_accept_mallopt(int name);

#endif
