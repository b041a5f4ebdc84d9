/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Blocks that have chunks of their own.
 *
 * The block begins one system page behind the start of its first chunk, or where its alignment
 * wants it, at most at the start of the second one. It may have more pages than were asked for, if
 * they were there already.
 *
 * Threading: the block's user changes its header; others look at it with the heap's lock held, so
 * `end` is written with the lock held.
 */
#include "opal/heap/engine.h"

#include <string.h>

enum { IDLE_SHARE = 4, ROOM_SHARE = 8 };

static size_t round_up(size_t bytes, size_t step)
{
    return (bytes + step - 1) & ~(step - 1);
}

static uint32_t chunks_for(size_t bytes)
{
    return (uint32_t)(round_up(bytes, OPAL_HEAP_CHUNK_BYTES) >> OPAL_HEAP_CHUNK_SHIFT);
}

static opal_heap_chunk_t *chunk_number(opal_heap_chunk_t *chunk, uint32_t i)
{
    return (opal_heap_chunk_t *)((uintptr_t)chunk + ((uintptr_t)i << OPAL_HEAP_CHUNK_SHIFT));
}

/* The offset up to which a block is usable whose chunks were taken for `total` bytes. */
static size_t usable_end(const opal_heap_t *heap, opal_heap_chunk_t *chunk, size_t total)
{
    uint32_t last = chunks_for(total) - 1;
    return ((size_t)last << OPAL_HEAP_CHUNK_SHIFT) +
           opal_heap_chunk_usable_bytes(heap, chunk_number(chunk, last));
}

/* Pages that were there before are not zero. */
static void zero_block(const opal_heap_t *heap, opal_heap_chunk_t *chunk, size_t bytes)
{
    size_t block = chunk->huge.block, end = block + bytes;
    for (uint32_t i = 0; i < chunks_for(end); i++) {
        size_t from = (size_t)i << OPAL_HEAP_CHUNK_SHIFT;
        size_t to = from + opal_heap_chunk_dirty_bytes(heap, chunk_number(chunk, i));
        from = from < block ? block : from;
        to = to > end ? end : to;
        if (from < to)
            memset((char *)chunk + from, 0, to - from);
    }
}

static bool begins_dirty(const opal_heap_t *heap, opal_heap_chunk_t *chunk)
{
    uint32_t first = chunk->huge.block >> OPAL_HEAP_CHUNK_SHIFT;
    return opal_heap_chunk_dirty_bytes(heap, chunk_number(chunk, first)) >
           (chunk->huge.block & OPAL_HEAP_CHUNK_MASK);
}

/* The block ends at `total`, its pages at `end`. Locked. */
static void set_end(opal_heap_t *heap, opal_heap_chunk_t *chunk, size_t end, size_t total)
{
    heap->stats.huge_bytes += end - chunk->huge.end;
    heap->idle_bytes -= (size_t)chunk->huge.idle_pages << OPAL_HEAP_PAGE_SHIFT;
    chunk->huge.end = end;
    chunk->huge.idle_pages = opal_heap_pages_for(end - total);
    heap->idle_bytes += (size_t)chunk->huge.idle_pages << OPAL_HEAP_PAGE_SHIFT;
}

/* Pages that were there already are left behind the end, but neither too many of one block nor of
   all. Locked. */
static bool is_too_idle(const opal_heap_t *heap, size_t end, size_t total)
{
    return end - total > total / 2 && heap->idle_bytes > heap->peak_needed_bytes / IDLE_SHARE;
}

/* Gives the pages from `end` on back to the system. */
static void cut_tail(opal_heap_t *heap, opal_heap_chunk_t *chunk, size_t end)
{
    size_t old = chunk->huge.end, retained_end = (size_t)chunks_for(end) << OPAL_HEAP_CHUNK_SHIFT;
    opal_heap_enter(heap);
    set_end(heap, chunk, end, end);
    if (old > retained_end)
        opal_heap_chunks_drop(heap, chunk, chunks_for(end), old);
    opal_heap_leave(heap);
    size_t here = (old < retained_end ? old : retained_end) - end;
    if (here == 0)
        return;
    opal_heap_release(heap, (char *)chunk + end, here, false);
    opal_heap_enter(heap);
    heap->stats.committed_bytes -= here;
    heap->stats.released_bytes += here;
    opal_heap_leave(heap);
}

void *opal_heap_huge_take(opal_heap_t *heap, size_t bytes, size_t alignment, bool zero, bool *dirty)
{
    size_t block = heap->system_page_bytes;
    if (alignment > block)
        block = alignment < OPAL_HEAP_CHUNK_BYTES ? alignment : OPAL_HEAP_CHUNK_BYTES;
    if (bytes > heap->bytes || alignment > heap->bytes)
        return NULL;
    size_t total = round_up(block + bytes, heap->system_page_bytes);
    opal_heap_enter(heap);
    opal_heap_take_home(heap);
    opal_heap_chunk_t *chunk =
        opal_heap_chunks_take(heap, total, alignment, block == OPAL_HEAP_CHUNK_BYTES);
    if (chunk == NULL) {
        opal_heap_leave(heap);
        return NULL;
    }
    chunk->home = heap->home;
    chunk->huge.block = (uint32_t)block;
    chunk->huge.end = chunk->huge.idle_pages = 0;
    set_end(heap, chunk, usable_end(heap, chunk, total), total);
    heap->stats.huge_blocks++;
    atomic_store_explicit(&chunk->pages[0].remote, OPAL_HEAP_REMOTE_PARKED, memory_order_relaxed);
    atomic_store_explicit(&chunk->pages[0].owner, heap->home, memory_order_relaxed);
    atomic_store_explicit(&chunk->kind, OPAL_HEAP_HUGE, memory_order_relaxed);
    bool idle = is_too_idle(heap, chunk->huge.end, total);
    opal_heap_leave(heap);
    if (idle)
        cut_tail(heap, chunk, total);
    *dirty = !zero && begins_dirty(heap, chunk);
    if (zero)
        zero_block(heap, chunk, bytes);
    return (char *)chunk + block;
}

void opal_heap_huge_give(opal_heap_t *heap, opal_heap_chunk_t *chunk)
{
    size_t end = chunk->huge.end;
    opal_heap_enter(heap);
    set_end(heap, chunk, 0, 0);
    heap->stats.huge_blocks--;
    atomic_store_explicit(&chunk->kind, 0, memory_order_relaxed);
    if (end > heap->config.keep_bytes / 2)
        opal_heap_chunks_drop(heap, chunk, 0, end);
    else
        opal_heap_chunks_give(heap, chunk, 0, end, end);
    opal_heap_leave(heap);
}

static bool grow_in_place(opal_heap_t *heap, opal_heap_chunk_t *chunk, size_t total)
{
    opal_heap_enter(heap);
    bool grown = opal_heap_chunks_grow(heap, chunk, chunk->huge.end, total);
    if (grown) {
        size_t end = usable_end(heap, chunk, total);
        set_end(heap, chunk, end, end);
    }
    opal_heap_leave(heap);
    return grown;
}

/* A block that grows will grow again: it gets some pages more, where pages cost nothing until they
 * are written to. */
static bool grow(opal_heap_t *heap, opal_heap_chunk_t *chunk, size_t total)
{
    size_t roomy = round_up(total + total / ROOM_SHARE, heap->system_page_bytes);
    bool free_of_charge = heap->config.commit_bytes == OPAL_HEAP_CHUNK_BYTES;
    return (free_of_charge && grow_in_place(heap, chunk, roomy)) ||
           grow_in_place(heap, chunk, total);
}

static opal_heap_chunk_t *move(opal_heap_t *heap, opal_heap_chunk_t *chunk, size_t total)
{
    size_t end = chunk->huge.end;
    if (heap->config.ops->move == NULL)
        return NULL;
    if (heap->config.ops->before_release != NULL)
        heap->config.ops->before_release(heap->config.context, chunk, end);
    opal_heap_enter(heap);
    opal_heap_chunk_t *moved = opal_heap_chunks_move(heap, chunk, end, total);
    if (moved != NULL)
        set_end(heap, moved, total, total);
    opal_heap_leave(heap);
    return moved;
}

void *opal_heap_huge_resize(opal_heap_t *heap, opal_heap_chunk_t *chunk, size_t bytes)
{
    size_t block = chunk->huge.block, end = chunk->huge.end;
    if (bytes > heap->bytes)
        return NULL;
    size_t total = round_up(block + bytes, heap->system_page_bytes);
    if (total > end && !grow(heap, chunk, total))
        chunk = move(heap, chunk, total);
    else if (total < end && end - total > total / 4)
        cut_tail(heap, chunk, total);
    return chunk == NULL ? NULL : (char *)chunk + block;
}
