/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Chunks of slabs: which of their units are free. Units that were in use are taken again first.
 *
 * Threading: the heap's lock, taken here.
 */
#include "opal/heap/engine.h"

/* Unit 0 has the header. */
#define ALL_UNITS (~(uint64_t)1)

static bool is_full(const opal_heap_chunk_t *chunk)
{
    return chunk->slabs.free_units == 0;
}

/* Which of the heap's two lists a chunk with free units is in. */
static bool has_dirty(const opal_heap_chunk_t *chunk)
{
    return (chunk->slabs.free_units & chunk->slabs.dirty_units) != 0;
}

/* After the free or dirty units of a chunk changed from what they were in list `was`, -1 for none.
 */
static void relist(opal_heap_t *heap, opal_heap_chunk_t *chunk, int was)
{
    int is = is_full(chunk) ? -1 : has_dirty(chunk);
    if (is == was)
        return;
    if (was >= 0)
        opal_heap_chunk_unlist(&heap->slab_chunks[was], chunk);
    if (is >= 0)
        opal_heap_chunk_list(&heap->slab_chunks[is], chunk);
}

static int list_of(const opal_heap_chunk_t *chunk)
{
    return is_full(chunk) ? -1 : has_dirty(chunk);
}

static uint64_t units_below(size_t bytes)
{
    size_t units = (bytes + OPAL_HEAP_UNIT_BYTES - 1) >> OPAL_HEAP_UNIT_SHIFT;
    return units < OPAL_HEAP_UNITS ? ((uint64_t)1 << units) - 1 : ~(uint64_t)0;
}

static void set_kind(const opal_heap_t *heap, opal_heap_chunk_t *chunk, uint32_t kind)
{
    atomic_store_explicit(&chunk->kind, kind, memory_order_relaxed);
    atomic_store_explicit(&heap->is_slabs[((uintptr_t)chunk - heap->base) >> OPAL_HEAP_CHUNK_SHIFT],
                          kind == OPAL_HEAP_SLABS, memory_order_relaxed);
}

static opal_heap_chunk_t *new_chunk(opal_heap_t *heap)
{
    opal_heap_chunk_t *chunk =
        opal_heap_chunks_take(heap, heap->config.commit_bytes, OPAL_HEAP_CHUNK_BYTES, 0);
    if (chunk == NULL)
        return NULL;
    size_t usable = opal_heap_chunk_usable_bytes(heap, chunk);
    if (usable % OPAL_HEAP_UNIT_BYTES != 0) { /* a huge block lay there */
        size_t whole = (usable | (OPAL_HEAP_UNIT_BYTES - 1)) + 1;
        if (!opal_heap_chunks_grow(heap, chunk, usable, whole)) {
            opal_heap_chunks_give(heap, chunk, 0, usable, usable);
            return NULL;
        }
        usable = whole;
    }
    if (opal_heap_chunk_dirty_bytes(heap, chunk) > 0)
        for (int i = 0; i <= OPAL_HEAP_UNITS; i++) /* one more: of a pointer behind the chunk */
            atomic_store_explicit(&chunk->pages[i].owner, 0, memory_order_relaxed);
    chunk->home = heap->home;
    chunk->committed = units_below(usable);
    chunk->slabs.free_units = ALL_UNITS;
    chunk->slabs.dirty_units = units_below(opal_heap_chunk_dirty_bytes(heap, chunk));
    chunk->changed_msec = heap->now_msec;
    set_kind(heap, chunk, OPAL_HEAP_SLABS);
    relist(heap, chunk, -1);
    return chunk;
}

/* A chunk none of whose units is in use, and that is in no list. */
static void give_chunk(opal_heap_t *heap, opal_heap_chunk_t *chunk)
{
    uint64_t gap = ~chunk->committed, dirty = chunk->slabs.dirty_units | 1;
    size_t usable =
        gap == 0 ? OPAL_HEAP_CHUNK_BYTES : (size_t)__builtin_ctzll(gap) << OPAL_HEAP_UNIT_SHIFT;
    size_t touched = (size_t)(64 - __builtin_clzll(dirty)) << OPAL_HEAP_UNIT_SHIFT;
    set_kind(heap, chunk, 0);
    opal_heap_chunks_give(heap, chunk, 0, usable, touched < usable ? touched : usable);
}

/* The lowest unit, so that what lies at a chunk's end may become free. */
static opal_heap_page_t *take_unit(opal_heap_t *heap, opal_heap_chunk_t *chunk)
{
    int was = list_of(chunk);
    uint64_t wanted = chunk->slabs.free_units & chunk->slabs.dirty_units;
    bool dirty = wanted != 0;
    if (!dirty)
        wanted = chunk->slabs.free_units;
    uint64_t unit = wanted & -wanted;
    if (!opal_heap_commit_units(heap, chunk, unit))
        return NULL;
    chunk->slabs.free_units &= ~unit;
    relist(heap, chunk, was);
    opal_heap_page_t *page = &chunk->pages[__builtin_ctzll(unit)];
    page->flags = dirty ? 0 : OPAL_HEAP_PAGE_ZERO;
    atomic_store_explicit(&page->used, 0, memory_order_relaxed);
    atomic_store_explicit(&page->remote, 0, memory_order_relaxed);
    return page;
}

opal_heap_page_t *opal_heap_slab_take(opal_heap_t *heap, uint32_t owner)
{
    opal_heap_page_t *page = NULL;
    opal_heap_enter(heap);
    opal_heap_take_home(heap);
    opal_heap_chunk_t *chunk =
        heap->slab_chunks[1] != NULL ? heap->slab_chunks[1] : heap->slab_chunks[0];
    if (chunk == NULL)
        chunk = new_chunk(heap);
    if (chunk != NULL)
        page = take_unit(heap, chunk);
    opal_heap_leave(heap);
    if (page != NULL)
        atomic_store_explicit(&page->owner, owner, memory_order_relaxed);
    return page;
}

/* Units that are free and usable: they are listed again, and the chunk goes if it can. */
static void units_freed(opal_heap_t *heap, opal_heap_chunk_t *chunk, uint64_t units, int was)
{
    chunk->slabs.free_units |= units;
    if (chunk->slabs.free_units != ALL_UNITS) {
        relist(heap, chunk, was);
        return;
    }
    if (was >= 0)
        opal_heap_chunk_unlist(&heap->slab_chunks[was], chunk);
    give_chunk(heap, chunk);
}

void opal_heap_slab_give(opal_heap_t *heap, opal_heap_page_t *page)
{
    opal_heap_chunk_t *chunk = opal_heap_chunk_of_page(page);
    uint64_t unit = (uint64_t)1 << (page - chunk->pages);
    atomic_store_explicit(&page->owner, 0, memory_order_relaxed);
    opal_heap_enter(heap);
    int was = list_of(chunk);
    chunk->slabs.dirty_units |= unit;
    chunk->changed_msec = heap->now_msec;
    units_freed(heap, chunk, unit, was);
    opal_heap_leave(heap);
}

/* Free units that were used and stay usable go back, each row of them at once. */
static void release_units(opal_heap_t *heap, opal_heap_chunk_t *chunk, uint64_t units)
{
    while (units != 0) {
        int begin = __builtin_ctzll(units);
        int count = __builtin_ctzll(~(units >> begin)); /* bit 0 is never set, so there is an end */
        opal_heap_release(heap, opal_heap_at(chunk, (uint32_t)begin << OPAL_HEAP_UNIT_SHIFT),
                          (size_t)count << OPAL_HEAP_UNIT_SHIFT, true);
        units &= ~((((uint64_t)1 << count) - 1) << begin);
    }
}

bool opal_heap_slabs_trim(opal_heap_t *heap, uint32_t keep_msec)
{
    bool any = false;
    opal_heap_enter(heap);
    opal_heap_chunk_t *chunk = heap->slab_chunks[1];
    while (chunk != NULL) {
        if (heap->now_msec - chunk->changed_msec < keep_msec) {
            chunk = chunk->next;
            continue;
        }
        uint64_t units = chunk->slabs.free_units & chunk->slabs.dirty_units;
        chunk->slabs.free_units &= ~units;
        relist(heap, chunk, 1);
        pthread_mutex_unlock(&heap->lock);
        release_units(heap, chunk, units);
        pthread_mutex_lock(&heap->lock);
        int was = list_of(chunk);
        chunk->slabs.dirty_units &= ~units;
        heap->stats.released_bytes += (size_t)__builtin_popcountll(units) << OPAL_HEAP_UNIT_SHIFT;
        units_freed(heap, chunk, units, was);
        any = true;
        chunk = heap->slab_chunks[1]; /* the next one may have left the list */
    }
    pthread_mutex_unlock(&heap->lock);
    return any;
}
