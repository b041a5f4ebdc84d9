/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Runs of system pages, for blocks between a slab's and a megabyte or so.
 *
 * Each chunk of runs has a map of its free pages. The chunks are in bins by their longest free run;
 * within a chunk the shortest run that is long enough is taken.
 *
 * Threading: the heap's lock, held by the caller but for the trim.
 */
#include "opal/heap/engine.h"

enum {
    FIRST_PAGE = 1, /* behind the header */
    MOST_PAGES = OPAL_HEAP_PAGES - FIRST_PAGE,
    LOOKED_AT = 8, /* chunks of a bin that may have room */
};

/* -- bits ------------------------------------------------------------------------------ */

static uint64_t word_mask(uint32_t begin, uint32_t count)
{
    return (count < 64 ? ((uint64_t)1 << count) - 1 : ~(uint64_t)0) << begin;
}

static void set_bits(uint64_t *map, uint32_t begin, uint32_t count, bool to)
{
    while (count > 0) {
        uint32_t bit = begin % 64, here = 64 - bit < count ? 64 - bit : count;
        uint64_t mask = word_mask(bit, here);
        map[begin / 64] = to ? map[begin / 64] | mask : map[begin / 64] & ~mask;
        begin += here;
        count -= here;
    }
}

/* The first bit from `begin` on that is as wanted; OPAL_HEAP_PAGES if there is none. */
static uint32_t find_bit(const uint64_t *map, uint32_t begin, bool wanted)
{
    if (begin >= OPAL_HEAP_PAGES)
        return OPAL_HEAP_PAGES;
    uint64_t flip = wanted ? 0 : ~(uint64_t)0;
    uint64_t word = (map[begin / 64] ^ flip) & ~(uint64_t)0 << begin % 64;
    for (uint32_t i = begin / 64;; word = map[i] ^ flip) {
        if (word != 0)
            return i * 64 + (uint32_t)__builtin_ctzll(word);
        if (++i == OPAL_HEAP_MAP_WORDS)
            return OPAL_HEAP_PAGES;
    }
}

static bool any_bit(const uint64_t *map, uint32_t begin, uint32_t count)
{
    return find_bit(map, begin, true) < begin + count;
}

static bool all_bits(const uint64_t *map, uint32_t begin, uint32_t count)
{
    return find_bit(map, begin, false) >= begin + count;
}

/* -- chunks ---------------------------------------------------------------------------- */

/* Four bins for each doubling. */
static uint32_t bin_of(uint32_t pages)
{
    if (pages < 4)
        return 0;
    uint32_t log = 31 - (uint32_t)__builtin_clz(pages);
    return (log - 2) * 4 + (pages >> (log - 2) & 3);
}

static uint32_t longest_of(opal_heap_chunk_t *chunk)
{
    const opal_heap_runs_t *runs = opal_heap_runs_of(chunk);
    uint32_t longest = 0;
    for (uint32_t begin = find_bit(runs->free, 0, true), end; begin < OPAL_HEAP_PAGES;
         begin = find_bit(runs->free, end, true)) {
        end = find_bit(runs->free, begin, false);
        if (end - begin > longest)
            longest = end - begin;
    }
    return longest;
}

static void relist(opal_heap_t *heap, opal_heap_chunk_t *chunk, uint32_t longest)
{
    uint32_t bin = bin_of(longest);
    chunk->runs.longest = longest;
    if (bin == chunk->runs.bin)
        return;
    opal_heap_chunk_unlist(&heap->run_chunks[chunk->runs.bin], chunk);
    chunk->runs.bin = bin;
    opal_heap_chunk_list(&heap->run_chunks[bin], chunk);
}

static opal_heap_chunk_t *new_chunk(opal_heap_t *heap)
{
    opal_heap_chunk_t *chunk =
        opal_heap_chunks_take(heap, heap->config.commit_bytes, OPAL_HEAP_CHUNK_BYTES, 0);
    if (chunk == NULL)
        return NULL;
    size_t usable = opal_heap_chunk_usable_bytes(heap, chunk);
    size_t dirty = opal_heap_chunk_dirty_bytes(heap, chunk);
    size_t whole = (usable + OPAL_HEAP_UNIT_BYTES - 1) & ~(size_t)(OPAL_HEAP_UNIT_BYTES - 1);
    if (whole != usable && !opal_heap_chunks_grow(heap, chunk, usable, whole)) {
        opal_heap_chunks_give(heap, chunk, 0, usable, usable);
        return NULL;
    }
    opal_heap_runs_t *runs = opal_heap_runs_of(chunk);
    opal_heap_page_t *page = &chunk->pages[0];
    *page = (opal_heap_page_t){0};
    *runs = (opal_heap_runs_t){0};
    set_bits(runs->free, FIRST_PAGE, MOST_PAGES, true);
    set_bits(runs->dirty, 0, opal_heap_pages_for(dirty), true);
    if (heap->home == 0) {
        heap->home = opal_heap_id_of(heap, chunk);
        atomic_store_explicit(opal_heap_mailbox(heap, heap->home), 0, memory_order_relaxed);
    }
    chunk->home = heap->home;
    chunk->committed = word_mask(0, (uint32_t)(whole >> OPAL_HEAP_UNIT_SHIFT));
    chunk->changed_msec = heap->now_msec;
    chunk->runs.longest = MOST_PAGES;
    chunk->runs.bin = bin_of(MOST_PAGES);
    opal_heap_chunk_list(&heap->run_chunks[chunk->runs.bin], chunk);
    atomic_store_explicit(&page->remote, OPAL_HEAP_REMOTE_PARKED, memory_order_relaxed);
    atomic_store_explicit(&page->owner, heap->home, memory_order_relaxed);
    atomic_store_explicit(&chunk->kind, OPAL_HEAP_RUNS, memory_order_relaxed);
    return chunk;
}

/* The home's mailbox is in one of them: it stays. */
static bool may_go(const opal_heap_t *heap, const opal_heap_chunk_t *chunk)
{
    return chunk->runs.longest == MOST_PAGES && opal_heap_id_of(heap, chunk) != heap->home;
}

static void give_chunk(opal_heap_t *heap, opal_heap_chunk_t *chunk)
{
    const opal_heap_runs_t *runs = opal_heap_runs_of(chunk);
    uint64_t gap = ~chunk->committed;
    size_t usable =
        gap == 0 ? OPAL_HEAP_CHUNK_BYTES : (size_t)__builtin_ctzll(gap) << OPAL_HEAP_UNIT_SHIFT;
    uint32_t dirty = FIRST_PAGE;
    for (uint32_t i = 0; i < OPAL_HEAP_MAP_WORDS; i++)
        if (runs->dirty[i] != 0)
            dirty = i * 64 + 64 - (uint32_t)__builtin_clzll(runs->dirty[i]);
    size_t touched = (size_t)dirty << OPAL_HEAP_PAGE_SHIFT;
    opal_heap_chunk_unlist(&heap->run_chunks[chunk->runs.bin], chunk);
    atomic_store_explicit(&chunk->kind, 0, memory_order_relaxed);
    opal_heap_chunks_give(heap, chunk, 0, usable, touched < usable ? touched : usable);
}

/* -- taking and giving ----------------------------------------------------------------- */

/* The shortest free run that has room; OPAL_HEAP_PAGES if none has. */
static uint32_t find_run(opal_heap_chunk_t *chunk, uint32_t pages, uint32_t alignment)
{
    const opal_heap_runs_t *runs = opal_heap_runs_of(chunk);
    uint32_t best = OPAL_HEAP_PAGES, best_length = OPAL_HEAP_PAGES + 1;
    for (uint32_t begin = find_bit(runs->free, 0, true), end; begin < OPAL_HEAP_PAGES;
         begin = find_bit(runs->free, end, true)) {
        end = find_bit(runs->free, begin, false);
        uint32_t aligned = (begin + alignment - 1) & ~(alignment - 1);
        if (aligned + pages <= end && end - begin < best_length) {
            best = aligned;
            best_length = end - begin;
            if (best_length == pages)
                break;
        }
    }
    return best;
}

/* The units that a run touches must be usable. */
static bool commit_run(opal_heap_t *heap, opal_heap_chunk_t *chunk, uint32_t page, uint32_t pages)
{
    uint32_t per_unit = OPAL_HEAP_UNIT_BYTES / OPAL_HEAP_PAGE_BYTES;
    uint32_t first = page / per_unit, last = (page + pages - 1) / per_unit;
    return opal_heap_commit_units(heap, chunk, word_mask(first, last - first + 1));
}

/* A chunk with room and where; NULL if there is none. */
static opal_heap_chunk_t *find_chunk(opal_heap_t *heap, uint32_t pages, uint32_t alignment,
                                     uint32_t *page)
{
    for (uint32_t bin = bin_of(pages); bin < OPAL_HEAP_RUN_BINS; bin++) {
        int looked_at = 0;
        for (opal_heap_chunk_t *chunk = heap->run_chunks[bin];
             chunk != NULL && looked_at < LOOKED_AT; chunk = chunk->next, looked_at++) {
            if (chunk->runs.longest < pages)
                continue;
            *page = find_run(chunk, pages, alignment);
            if (*page < OPAL_HEAP_PAGES)
                return chunk;
        }
    }
    return NULL;
}

void *opal_heap_run_take(opal_heap_t *heap, uint32_t pages, uint32_t alignment, bool *zero)
{
    uint32_t page;
    opal_heap_chunk_t *chunk = find_chunk(heap, pages, alignment, &page);
    if (chunk == NULL) {
        chunk = new_chunk(heap);
        if (chunk == NULL)
            return NULL;
        page = find_run(chunk, pages, alignment);
        if (page >= OPAL_HEAP_PAGES) { /* the alignment leaves no room: the chunk is for others */
            give_chunk(heap, chunk);
            return NULL;
        }
    }
    if (!commit_run(heap, chunk, page, pages))
        return NULL;
    opal_heap_runs_t *runs = opal_heap_runs_of(chunk);
    *zero = !any_bit(runs->dirty, page, pages);
    set_bits(runs->free, page, pages, false);
    set_bits(runs->dirty, page, pages, true);
    runs->length[page] = (uint16_t)pages;
    relist(heap, chunk, longest_of(chunk));
    return opal_heap_at(chunk, page << OPAL_HEAP_PAGE_SHIFT);
}

/* Pages are free now: the run around them may be the longest. */
static void pages_freed(opal_heap_t *heap, opal_heap_chunk_t *chunk, uint32_t page, uint32_t pages)
{
    set_bits(opal_heap_runs_of(chunk)->free, page, pages, true);
    chunk->changed_msec = heap->now_msec;
    relist(heap, chunk, longest_of(chunk));
    if (may_go(heap, chunk))
        give_chunk(heap, chunk);
}

void opal_heap_run_give(opal_heap_t *heap, opal_heap_chunk_t *chunk, uint32_t page)
{
    opal_heap_runs_t *runs = opal_heap_runs_of(chunk);
    uint32_t pages = runs->length[page];
    runs->length[page] = 0;
    pages_freed(heap, chunk, page, pages);
}

bool opal_heap_run_resize(opal_heap_t *heap, opal_heap_chunk_t *chunk, uint32_t page,
                          uint32_t pages)
{
    opal_heap_runs_t *runs = opal_heap_runs_of(chunk);
    uint32_t old = runs->length[page];
    if (pages < old) {
        runs->length[page] = (uint16_t)pages;
        pages_freed(heap, chunk, page + pages, old - pages);
        return true;
    }
    uint32_t more = pages - old;
    if (page + pages > OPAL_HEAP_PAGES || !all_bits(runs->free, page + old, more) ||
        !commit_run(heap, chunk, page, pages))
        return false;
    set_bits(runs->free, page + old, more, false);
    set_bits(runs->dirty, page + old, more, true);
    runs->length[page] = (uint16_t)pages;
    relist(heap, chunk, longest_of(chunk));
    return true;
}

/* -- giving back to the system --------------------------------------------------------- */

/* Takes out of a chunk, as if in use, the free pages that were used; the map of them. Only whole
   system pages. Whether there are any. */
static bool detach(const opal_heap_t *heap, opal_heap_chunk_t *chunk, uint64_t *pages)
{
    opal_heap_runs_t *runs = opal_heap_runs_of(chunk);
    uint32_t step = heap->system_page_bytes / OPAL_HEAP_PAGE_BYTES;
    bool any = false;
    for (uint32_t i = 0; i < OPAL_HEAP_MAP_WORDS; i++) {
        pages[i] = 0;
        for (uint32_t bit = 0; bit < 64; bit += step) {
            uint64_t mask = word_mask(bit, step);
            if ((runs->free[i] & mask) == mask && (runs->dirty[i] & mask) != 0)
                pages[i] |= mask;
        }
        runs->free[i] &= ~pages[i];
        any |= pages[i] != 0;
    }
    return any;
}

static void attach(opal_heap_t *heap, opal_heap_chunk_t *chunk, const uint64_t *pages)
{
    opal_heap_runs_t *runs = opal_heap_runs_of(chunk);
    for (uint32_t i = 0; i < OPAL_HEAP_MAP_WORDS; i++) {
        runs->free[i] |= pages[i];
        runs->dirty[i] &= ~pages[i];
        heap->stats.released_bytes += (size_t)__builtin_popcountll(pages[i])
                                      << OPAL_HEAP_PAGE_SHIFT;
    }
    relist(heap, chunk, longest_of(chunk));
    if (may_go(heap, chunk))
        give_chunk(heap, chunk);
}

static void release_pages(opal_heap_t *heap, opal_heap_chunk_t *chunk, const uint64_t *pages)
{
    for (uint32_t begin = find_bit(pages, 0, true), end; begin < OPAL_HEAP_PAGES;
         begin = find_bit(pages, end, true)) {
        end = find_bit(pages, begin, false);
        opal_heap_release(heap, opal_heap_at(chunk, begin << OPAL_HEAP_PAGE_SHIFT),
                          (size_t)(end - begin) << OPAL_HEAP_PAGE_SHIFT, true);
    }
}

/* A chunk that was not changed for so long and has something to give; NULL if there is none. */
static opal_heap_chunk_t *find_old(opal_heap_t *heap, uint32_t keep_msec, uint64_t *pages)
{
    for (uint32_t bin = 0; bin < OPAL_HEAP_RUN_BINS; bin++)
        for (opal_heap_chunk_t *chunk = heap->run_chunks[bin]; chunk != NULL; chunk = chunk->next)
            if (heap->now_msec - chunk->changed_msec >= keep_msec && detach(heap, chunk, pages))
                return chunk;
    return NULL;
}

bool opal_heap_runs_trim(opal_heap_t *heap, uint32_t keep_msec)
{
    uint64_t pages[OPAL_HEAP_MAP_WORDS];
    bool any = false;
    opal_heap_enter(heap);
    for (opal_heap_chunk_t *chunk; (chunk = find_old(heap, keep_msec, pages)) != NULL;) {
        relist(heap, chunk, longest_of(chunk));
        pthread_mutex_unlock(&heap->lock);
        release_pages(heap, chunk, pages);
        pthread_mutex_lock(&heap->lock);
        attach(heap, chunk, pages);
        any = true;
    }
    pthread_mutex_unlock(&heap->lock);
    return any;
}
