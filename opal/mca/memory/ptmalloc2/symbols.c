/* SPDX-License-Identifier: BSD-3-Clause */
/* malloc's family under our names. */
#include "opal/mca/memory/ptmalloc2/symbols.h"

#include <errno.h>

#include "opal/memory/malloc/family.h"
#include "opal/mca/memory/ptmalloc2/allocator.h"

/* Whether a block is of another allocator; NULL is not. */
static inline bool is_foreign(const opal_heap_t *heap, const void *block)
{
    return opal_unlikely(heap == NULL || !opal_heap_owns(heap, block)) && block != NULL;
}

static void *no_memory(void)
{
    errno = ENOMEM;
    return NULL;
}

void *opal_memory_ptmalloc2_malloc(size_t bytes)
{
    opal_heap_t *heap = ptmalloc2_heap();
    return opal_likely(heap != NULL) ? opal_heap_malloc(heap, bytes) : no_memory();
}

void opal_memory_ptmalloc2_free(void *block)
{
    opal_heap_t *heap = ptmalloc2_heap();
    if (is_foreign(heap, block))
        opal_memory_family_free(block);
    else if (opal_likely(heap != NULL))
        opal_heap_free(heap, block);
}

void *opal_memory_ptmalloc2_calloc(size_t count, size_t bytes)
{
    opal_heap_t *heap = ptmalloc2_heap();
    return opal_likely(heap != NULL) ? opal_heap_calloc(heap, count, bytes) : no_memory();
}

void *opal_memory_ptmalloc2_realloc(void *block, size_t bytes)
{
    opal_heap_t *heap = ptmalloc2_heap();
    if (is_foreign(heap, block))
        return opal_memory_family_realloc(block, bytes);
    return opal_likely(heap != NULL) ? opal_heap_realloc(heap, block, bytes) : no_memory();
}

void *opal_memory_ptmalloc2_reallocarray(void *block, size_t count, size_t bytes)
{
    size_t total;
    if (__builtin_mul_overflow(count, bytes, &total))
        return no_memory();
    return opal_memory_ptmalloc2_realloc(block, total);
}

void *opal_memory_ptmalloc2_memalign(size_t alignment, size_t bytes)
{
    opal_heap_t *heap = ptmalloc2_heap();
    return opal_likely(heap != NULL) ? opal_heap_memalign(heap, alignment, bytes) : no_memory();
}

int opal_memory_ptmalloc2_posix_memalign(void **block, size_t alignment, size_t bytes)
{
    opal_heap_t *heap = ptmalloc2_heap();
    return opal_likely(heap != NULL) ? opal_heap_posix_memalign(heap, block, alignment, bytes)
                                     : ENOMEM;
}

void *opal_memory_ptmalloc2_aligned_alloc(size_t alignment, size_t bytes)
{
    return opal_memory_ptmalloc2_memalign(alignment, bytes);
}

void *opal_memory_ptmalloc2_valloc(size_t bytes)
{
    opal_heap_t *heap = ptmalloc2_heap();
    return opal_likely(heap != NULL) ? opal_heap_valloc(heap, bytes) : no_memory();
}

void *opal_memory_ptmalloc2_pvalloc(size_t bytes)
{
    opal_heap_t *heap = ptmalloc2_heap();
    return opal_likely(heap != NULL) ? opal_heap_pvalloc(heap, bytes) : no_memory();
}

size_t opal_memory_ptmalloc2_malloc_usable_size(void *block)
{
    opal_heap_t *heap = ptmalloc2_heap();
    if (is_foreign(heap, block))
        return opal_memory_family_malloc_usable_size(block);
    return heap != NULL ? opal_heap_usable_size(heap, block) : 0;
}

int opal_memory_ptmalloc2_malloc_trim(size_t keep_bytes)
{
    opal_heap_t *heap = ptmalloc2_heap();
    return heap != NULL ? opal_heap_trim(heap, keep_bytes) : 0;
}

void opal_memory_ptmalloc2_malloc_stats(void)
{
    opal_heap_t *heap = ptmalloc2_heap();
    if (heap != NULL)
        opal_heap_print_stats(heap);
}

struct mallinfo2 opal_memory_ptmalloc2_mallinfo2(void)
{
    opal_heap_t *heap = ptmalloc2_heap();
    return heap != NULL ? opal_heap_mallinfo2(heap) : (struct mallinfo2){0};
}

struct mallinfo opal_memory_ptmalloc2_mallinfo(void)
{
    return opal_memory_narrow(opal_memory_ptmalloc2_mallinfo2());
}

int opal_memory_ptmalloc2_mallopt(int name, int value OPAL_UNUSED)
{
    return opal_memory_accept_mallopt(name);
}
