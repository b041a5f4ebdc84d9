/* SPDX-License-Identifier: BSD-3-Clause */
/* Reading headers that cannot be trusted. See look.h. */
#include "opal/heap/look.h"

#include <stdbool.h>
#include <string.h>

#include "opal/heap/layout.h"

_Static_assert((int)OPAL_HEAP_SLABS_HEADER <= (int)OPAL_HEAP_LOOK_BYTES, "all headers fit");
_Static_assert((int)OPAL_HEAP_LOOK_UNITS == (int)OPAL_HEAP_UNITS &&
                   OPAL_HEAP_LOOK_FULL * OPAL_HEAP_PAGE_BYTES == OPAL_HEAP_UNIT_BYTES,
               "units are the engine's");

enum { LEAST_BLOCK = 16, PAGES_OF_UNIT = OPAL_HEAP_LOOK_FULL };

static uint8_t pages_of(uint64_t bytes)
{
    uint64_t pages = (bytes + OPAL_HEAP_PAGE_BYTES - 1) >> OPAL_HEAP_PAGE_SHIFT;
    return (uint8_t)(pages < PAGES_OF_UNIT ? pages : PAGES_OF_UNIT);
}

/* A stretch that is free, or the end of one. */
static void add_hole(opal_heap_look_t *look, uint64_t *stretch, uint64_t bytes, bool goes_on)
{
    look->hole_bytes += bytes;
    *stretch = goes_on ? *stretch + bytes : 0;
    if (*stretch > look->longest_hole_bytes)
        look->longest_hole_bytes = *stretch;
}

/* Bytes of a slab's blocks that are out. */
static uint64_t slab_bytes(const opal_heap_page_t *page, uint32_t *blocks)
{
    uint32_t size = atomic_load_explicit(&page->block_bytes, memory_order_relaxed);
    uint32_t used = atomic_load_explicit(&page->used, memory_order_relaxed);
    uint32_t away =
        opal_heap_remote_count(atomic_load_explicit(&page->remote, memory_order_relaxed));
    if (size < LEAST_BLOCK || size > OPAL_HEAP_LARGEST_SLAB_BLOCK)
        return 0;
    if (used > OPAL_HEAP_UNIT_BYTES / size)
        used = OPAL_HEAP_UNIT_BYTES / size;
    used -= away < used ? away : used;
    *blocks += used;
    return (uint64_t)used * size;
}

static void look_at_slabs(const opal_heap_chunk_t *chunk, opal_heap_look_t *look, uint8_t *fill)
{
    uint64_t stretch = 0;
    for (int i = 1; i < OPAL_HEAP_UNITS; i++) {
        bool is_free = chunk->slabs.free_units >> i & 1;
        uint64_t used = is_free ? 0 : slab_bytes(&chunk->pages[i], &look->blocks);
        fill[i] = pages_of(used);
        look->used_bytes += used;
        add_hole(look, &stretch, OPAL_HEAP_UNIT_BYTES - used, is_free);
    }
}

/* The map of free pages says what is free, the lengths how many blocks there are in the rest. */
static void look_at_runs(const opal_heap_chunk_t *chunk, opal_heap_look_t *look, uint8_t *fill)
{
    const opal_heap_runs_t *runs = (const opal_heap_runs_t *)(const void *)&chunk->pages[1];
    uint64_t stretch = 0;
    for (uint32_t i = 1; i < OPAL_HEAP_PAGES; i++) {
        bool is_free = runs->free[i / 64] >> i % 64 & 1;
        look->blocks += !is_free && runs->length[i] > 0;
        look->used_bytes += is_free ? 0 : OPAL_HEAP_PAGE_BYTES;
        fill[i / PAGES_OF_UNIT] += !is_free;
        add_hole(look, &stretch, is_free ? OPAL_HEAP_PAGE_BYTES : 0, is_free);
    }
}

static void look_at_huge(const opal_heap_chunk_t *chunk, uint32_t most_chunks,
                         opal_heap_look_t *look)
{
    uint64_t end = chunk->huge.end, block = chunk->huge.block;
    uint64_t most = (uint64_t)most_chunks << OPAL_HEAP_CHUNK_SHIFT;
    if (end > most)
        end = most;
    if (block > OPAL_HEAP_CHUNK_BYTES || block >= end)
        return; /* it is just coming or going */
    look->use = OPAL_HEAP_USE_HUGE;
    look->chunks = (uint32_t)((end + OPAL_HEAP_CHUNK_MASK) >> OPAL_HEAP_CHUNK_SHIFT);
    look->blocks = 1;
    look->used_bytes = end;
    uint64_t room = (uint64_t)look->chunks << OPAL_HEAP_CHUNK_SHIFT;
    look->hole_bytes = look->longest_hole_bytes = room - end;
}

void opal_heap_look_inside(const opal_heap_look_t *look, uint32_t i,
                           uint8_t fill[OPAL_HEAP_LOOK_UNITS])
{
    uint64_t begin = (uint64_t)i << OPAL_HEAP_CHUNK_SHIFT;
    uint64_t left = look->used_bytes > begin ? look->used_bytes - begin : 0;
    for (int unit = 0; unit < OPAL_HEAP_LOOK_UNITS; unit++) {
        fill[unit] = pages_of(left);
        left -= left < OPAL_HEAP_UNIT_BYTES ? left : OPAL_HEAP_UNIT_BYTES;
    }
}

void opal_heap_look(const void *header, uint32_t most_chunks, opal_heap_look_t *look,
                    uint8_t fill[OPAL_HEAP_LOOK_UNITS])
{
    const opal_heap_chunk_t *chunk = header;
    *look = (opal_heap_look_t){.chunks = 1};
    memset(fill, 0, OPAL_HEAP_LOOK_UNITS);
    switch (atomic_load_explicit(&chunk->kind, memory_order_relaxed)) {
    case OPAL_HEAP_SLABS:
        look->use = OPAL_HEAP_USE_SLABS;
        look_at_slabs(chunk, look, fill);
        break;
    case OPAL_HEAP_RUNS:
        look->use = OPAL_HEAP_USE_RUNS;
        look_at_runs(chunk, look, fill);
        break;
    case OPAL_HEAP_HUGE:
        look_at_huge(chunk, most_chunks, look);
        opal_heap_look_inside(look, 0, fill);
        break;
    default:
        break;
    }
}
