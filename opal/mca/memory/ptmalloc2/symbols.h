/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The allocator of this component under names of its own, so that it can be in every process, used
 * or not. The functions may be called directly at any time: before main, in constructors, by
 * threads. If the component is enabled, malloc and its family do the same
 * (opal/memory/malloc/family.h).
 *
 * A block of another allocator is passed to the allocator that malloc would be without this
 * component. The contracts are those of glibc's manual.
 */
#ifndef MEMORY_PTMALLOC2_SYMBOLS_H
#define MEMORY_PTMALLOC2_SYMBOLS_H

#include <malloc.h>
#include <stdbool.h>
#include <stddef.h>

#include "opal/include/compiler.h"

OPAL_EXPORT void *opal_memory_ptmalloc2_malloc(size_t bytes);
OPAL_EXPORT void opal_memory_ptmalloc2_free(void *block);
OPAL_EXPORT void *opal_memory_ptmalloc2_calloc(size_t count, size_t bytes);
OPAL_EXPORT void *opal_memory_ptmalloc2_realloc(void *block, size_t bytes);
OPAL_EXPORT void *opal_memory_ptmalloc2_reallocarray(void *block, size_t count, size_t bytes);
OPAL_EXPORT void *opal_memory_ptmalloc2_memalign(size_t alignment, size_t bytes);
OPAL_EXPORT int opal_memory_ptmalloc2_posix_memalign(void **block, size_t alignment, size_t bytes);
OPAL_EXPORT void *opal_memory_ptmalloc2_aligned_alloc(size_t alignment, size_t bytes);
OPAL_EXPORT void *opal_memory_ptmalloc2_valloc(size_t bytes);
OPAL_EXPORT void *opal_memory_ptmalloc2_pvalloc(size_t bytes);
OPAL_EXPORT size_t opal_memory_ptmalloc2_malloc_usable_size(void *block);
OPAL_EXPORT int opal_memory_ptmalloc2_malloc_trim(size_t keep_bytes);
OPAL_EXPORT void opal_memory_ptmalloc2_malloc_stats(void);
OPAL_EXPORT struct mallinfo opal_memory_ptmalloc2_mallinfo(void); /* what does not fit wraps */
OPAL_EXPORT struct mallinfo2 opal_memory_ptmalloc2_mallinfo2(void);
OPAL_EXPORT int opal_memory_ptmalloc2_mallopt(int name, int value);

#endif
