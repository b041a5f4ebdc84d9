/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * realloc, and the functions with an alignment.
 *
 * realloc leaves a block where it is if it can: a slab's block may be up to twice as large as
 * wanted, runs and huge blocks grow into what is free behind them, and huge ones are moved by the
 * system's page tables. A block that has grown once grows again, so a block that had to be copied
 * gets some room to spare.
 */
#include "opal/heap/engine.h"

#include <errno.h>
#include <string.h>

enum { ROOM_SHARE = 8, ALWAYS_RETAINED_BYTES = 64 };

/* Of room for the user. */
static size_t bytes_of(const opal_heap_block_t *found, const void *block)
{
    opal_heap_chunk_t *chunk = found->chunk;
    uint32_t offset = opal_heap_offset(chunk, block);
    switch (found->kind) {
    case OPAL_HEAP_SLABS:
        return atomic_load_explicit(&chunk->pages[offset >> OPAL_HEAP_UNIT_SHIFT].block_bytes,
                                    memory_order_relaxed);
    case OPAL_HEAP_RUNS:
        return (size_t)opal_heap_runs_of(chunk)->length[offset >> OPAL_HEAP_PAGE_SHIFT]
               << OPAL_HEAP_PAGE_SHIFT;
    default:
        return chunk->huge.end - chunk->huge.block;
    }
}

size_t opal_heap_usable_size(opal_heap_t *heap, const void *block)
{
    if (block == NULL)
        return 0;
    opal_heap_block_t found = opal_heap_find_block(heap, block);
    if (found.kind == 0) {
        opal_heap_fault(heap, OPAL_HEAP_NO_BLOCK, block);
        return 0;
    }
    return bytes_of(&found, block);
}

/* -- realloc --------------------------------------------------------------------------- */

/* Where the block is now, without having been copied; NULL: it must be. */
static void *resize(opal_heap_t *heap, const opal_heap_block_t *found, void *block, size_t old,
                    size_t bytes)
{
    if (found->ours && found->kind == OPAL_HEAP_RUNS && bytes > OPAL_HEAP_LARGEST_SLAB_BLOCK &&
        bytes <= OPAL_HEAP_LARGEST_RUN) {
        uint32_t page = opal_heap_offset(found->chunk, block) >> OPAL_HEAP_PAGE_SHIFT;
        uint32_t pages = opal_heap_pages_for(bytes);
        if (pages << OPAL_HEAP_PAGE_SHIFT == old)
            return block;
        opal_heap_enter(heap);
        bool done = opal_heap_run_resize(heap, found->chunk, page, pages);
        opal_heap_leave(heap);
        return done ? block : NULL;
    }
    if (found->ours && found->kind == OPAL_HEAP_HUGE && bytes > OPAL_HEAP_LARGEST_RUN)
        return opal_heap_huge_resize(heap, found->chunk, bytes);
    return bytes <= old && (bytes >= old / 2 || old <= ALWAYS_RETAINED_BYTES) ? block : NULL;
}

void *opal_heap_realloc(opal_heap_t *heap, void *block, size_t bytes)
{
    if (block == NULL)
        return opal_heap_malloc(heap, bytes);
    if (bytes == 0) {
        opal_heap_free(heap, block);
        return NULL;
    }
    opal_heap_block_t found = opal_heap_find_block(heap, block);
    if (found.kind == 0) {
        opal_heap_fault(heap, OPAL_HEAP_NO_BLOCK, block);
        errno = ENOMEM;
        return NULL;
    }
    size_t old = bytes_of(&found, block);
    void *moved = resize(heap, &found, block, old, bytes);
    if (moved != NULL)
        return moved;
    size_t room = 0;
    if (bytes > old && bytes > OPAL_HEAP_LARGEST_SLAB_BLOCK && bytes < heap->bytes)
        room = bytes / ROOM_SHARE;
    moved = opal_heap_malloc(heap, bytes + room);
    if (moved == NULL && room > 0)
        moved = opal_heap_malloc(heap, bytes);
    if (moved == NULL)
        return NULL;
    memcpy(moved, block, old < bytes ? old : bytes);
    opal_heap_free(heap, block);
    return moved;
}

void *opal_heap_reallocarray(opal_heap_t *heap, void *block, size_t count, size_t size)
{
    size_t bytes;
    if (__builtin_mul_overflow(count, size, &bytes)) {
        errno = ENOMEM;
        return NULL;
    }
    return opal_heap_realloc(heap, block, bytes);
}

/* -- alignment ------------------------------------------------------------------------- */

static bool is_power_of_two(size_t number)
{
    return number != 0 && (number & (number - 1)) == 0;
}

void *opal_heap_memalign(opal_heap_t *heap, size_t alignment, size_t bytes)
{
    if (alignment > SIZE_MAX / 2 + 1) {
        errno = EINVAL;
        return NULL;
    }
    size_t power = 1;
    while (power < alignment)
        power *= 2;
    return opal_heap_take(heap, bytes, power, false);
}

int opal_heap_posix_memalign(opal_heap_t *heap, void **block, size_t alignment, size_t bytes)
{
    if (!is_power_of_two(alignment) || alignment % sizeof(void *) != 0)
        return EINVAL;
    int saved = errno;
    void *taken = opal_heap_take(heap, bytes, alignment, false);
    errno = saved;
    if (taken == NULL)
        return ENOMEM;
    *block = taken;
    return 0;
}

void *opal_heap_valloc(opal_heap_t *heap, size_t bytes)
{
    return opal_heap_take(heap, bytes, heap->system_page_bytes, false);
}

void *opal_heap_pvalloc(opal_heap_t *heap, size_t bytes)
{
    size_t page = heap->system_page_bytes;
    if (bytes > SIZE_MAX - page) {
        errno = ENOMEM;
        return NULL;
    }
    return opal_heap_valloc(heap, (bytes + page - 1) & ~(page - 1));
}
