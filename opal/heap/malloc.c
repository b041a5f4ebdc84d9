/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * malloc, calloc and free, and which block a pointer means.
 *
 * The fast paths are for small blocks of a page that belongs to this thread: no lock, no locked
 * instruction, no call. They read thread-local memory, the thread's state or the chunk's header,
 * the page, and the block itself.
 */
#include "opal/heap/engine.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "opal/util/say.h"

/* -- mistakes of the program ----------------------------------------------------------- */

void opal_heap_say(opal_heap_fault_t fault, const void *pointer)
{
    static const char *const texts[] = {
        [OPAL_HEAP_FREED_TWICE] = "the block is freed a second time",
        [OPAL_HEAP_NO_BLOCK] = "no block of memory begins there, so it cannot be freed or resized",
        [OPAL_HEAP_OVERWRITTEN] = "the block was written to after it was freed",
    };
    opal_say(OPAL_SAY_ERROR, "heap: %p: %s", pointer, texts[fault]);
}

void opal_heap_fault(opal_heap_t *heap, opal_heap_fault_t fault, const void *pointer)
{
    if (heap->config.ops->fault != NULL) {
        heap->config.ops->fault(heap->config.context, fault, pointer);
        return;
    }
    opal_heap_say(fault, pointer);
    abort();
}

/* -- taking ---------------------------------------------------------------------------- */

/* The first free block of a page; NULL if there is none, or if it was written to. */
static inline void *take_block(opal_heap_page_t *page, bool *zero)
{
    uint32_t offset = page->free;
    if (opal_unlikely(offset == 0))
        return NULL;
    opal_heap_word_t *block = opal_heap_at(opal_heap_chunk_of_page(page), offset);
    uint64_t link = *block;
    if (opal_unlikely(!opal_heap_is_link(link, offset)))
        return NULL;
    page->free = (uint32_t)link;
    atomic_store_explicit(&page->used, atomic_load_explicit(&page->used, memory_order_relaxed) + 1,
                          memory_order_relaxed);
    *block = 0;
    *zero = opal_heap_link_says_zero(link);
    return block;
}

static void *take_small(opal_heap_t *heap, opal_heap_thread_t *thread, unsigned size_class,
                        bool *zero)
{
    opal_heap_page_t *page = thread->active[size_class];
    for (;;) {
        void *block = take_block(page, zero);
        if (block != NULL)
            return block;
        if (page->free != 0) {
            /* Where the list goes on cannot be known: the rest of it is lost. */
            opal_heap_fault(heap, OPAL_HEAP_OVERWRITTEN,
                            opal_heap_at(opal_heap_chunk_of_page(page), page->free));
            page->free = 0;
        }
        page = opal_heap_refill(heap, thread, size_class);
        if (page == NULL)
            return NULL;
    }
}

/* The old first word may look like the link of a free block: of this one, if another process had
 * freed it, or of a block that lay here before. A program that frees the block without having
 * written to it would be blamed for a double free. */
static void forget_link(void *block)
{
    *(opal_heap_word_t *)block = 0;
}

static void *take_run(opal_heap_t *heap, size_t bytes, size_t alignment, bool *zero)
{
    uint32_t pages = alignment > OPAL_HEAP_PAGE_BYTES ? opal_heap_pages_for(alignment) : 1;
    opal_heap_enter(heap);
    opal_heap_take_home(heap);
    void *block = opal_heap_run_take(heap, opal_heap_pages_for(bytes), pages, zero);
    opal_heap_leave(heap);
    if (block != NULL && !*zero)
        forget_link(block);
    return block;
}

static void *take_huge(opal_heap_t *heap, size_t bytes, size_t alignment, bool zero)
{
    bool dirty = false;
    void *block = opal_heap_huge_take(heap, bytes, alignment, zero, &dirty);
    if (block != NULL && dirty)
        forget_link(block);
    return block;
}

static void *take_class(opal_heap_t *heap, unsigned size_class, bool *zero)
{
    opal_heap_thread_t *thread = opal_heap_thread_find(heap);
    if (opal_likely(thread != NULL))
        return take_small(heap, thread, size_class, zero);
    thread = opal_heap_common_enter(heap);
    if (thread == NULL)
        return NULL;
    void *block = take_small(heap, thread, size_class, zero);
    opal_heap_common_leave(heap);
    return block;
}

void *opal_heap_take(opal_heap_t *heap, size_t bytes, size_t alignment, bool zero)
{
    if (alignment < heap->config.alignment)
        alignment = heap->config.alignment;
    bool is_zero = true;
    void *block;
    unsigned size_class = opal_heap_class_aligned(bytes, alignment);
    if (size_class != 0)
        block = take_class(heap, size_class, &is_zero);
    else if (bytes <= OPAL_HEAP_LARGEST_RUN && alignment <= OPAL_HEAP_LARGEST_RUN)
        block = take_run(heap, bytes == 0 ? 1 : bytes, alignment, &is_zero);
    else
        block = take_huge(heap, bytes, alignment, zero);
    if (opal_unlikely(block == NULL))
        errno = ENOMEM;
    else if (zero && !is_zero)
        memset(block, 0, bytes);
    return block;
}

/* The thread's state if it is at hand. */
static inline opal_heap_thread_t *thread_at_hand(const opal_heap_t *heap)
{
    return opal_likely(opal_heap_slots[0].heap == heap) ? opal_heap_slots[0].thread : NULL;
}

static inline void *take_fast(opal_heap_t *heap, size_t bytes, bool *zero)
{
    opal_heap_thread_t *thread = thread_at_hand(heap);
    if (opal_unlikely(bytes > OPAL_HEAP_TABLE_BYTES || thread == NULL))
        return NULL;
    size_t granule = (bytes + ((1 << OPAL_HEAP_GRANULE_SHIFT) - 1)) >> OPAL_HEAP_GRANULE_SHIFT;
    return take_block(thread->active[thread->class_of_granule[granule]], zero);
}

void *opal_heap_malloc(opal_heap_t *heap, size_t bytes)
{
    bool zero;
    void *block = take_fast(heap, bytes, &zero);
    return opal_likely(block != NULL) ? block : opal_heap_take(heap, bytes, 0, false);
}

void *opal_heap_calloc(opal_heap_t *heap, size_t count, size_t size)
{
    size_t bytes;
    if (opal_unlikely(__builtin_mul_overflow(count, size, &bytes))) {
        errno = ENOMEM;
        return NULL;
    }
    bool zero;
    void *block = take_fast(heap, bytes, &zero);
    if (opal_unlikely(block == NULL))
        return opal_heap_take(heap, bytes, 0, true);
    return zero ? block : memset(block, 0, bytes);
}

/* -- freeing --------------------------------------------------------------------------- */

opal_heap_block_t opal_heap_find_block(opal_heap_t *heap, const void *pointer)
{
    opal_heap_block_t found = {.kind = 0};
    if (!opal_heap_owns(heap, pointer) || (uintptr_t)pointer == heap->base)
        return found;
    opal_heap_chunk_t *chunk = opal_heap_chunk_of(pointer);
    opal_heap_standing_t standing = opal_heap_standing(heap, chunk);
    if (standing == OPAL_HEAP_NOBODYS)
        return found;
    uint32_t offset = opal_heap_offset(chunk, pointer), kind = opal_heap_kind_of(chunk);
    uint32_t unit = offset >> OPAL_HEAP_UNIT_SHIFT, page = offset >> OPAL_HEAP_PAGE_SHIFT;
    bool begins;
    switch (kind) {
    case OPAL_HEAP_SLABS:
        begins = unit > 0 && unit < OPAL_HEAP_UNITS &&
                 opal_heap_owner_of(&chunk->pages[unit]) != 0 &&
                 opal_heap_begins(&chunk->pages[unit], offset);
        break;
    case OPAL_HEAP_RUNS:
        begins = offset % OPAL_HEAP_PAGE_BYTES == 0 && page < OPAL_HEAP_PAGES &&
                 opal_heap_runs_of(chunk)->length[page] != 0;
        break;
    case OPAL_HEAP_HUGE:
        begins = offset == chunk->huge.block;
        break;
    default:
        begins = false;
    }
    if (begins)
        found = (opal_heap_block_t){kind, standing == OPAL_HEAP_OURS, chunk};
    return found;
}

/* Of a page of this thread. */
static inline void give_block(opal_heap_t *heap, opal_heap_thread_t *thread, opal_heap_page_t *page,
                              void *block, uint32_t offset)
{
    uint32_t next = page->free;
    uint32_t used = atomic_load_explicit(&page->used, memory_order_relaxed) - 1;
    *(opal_heap_word_t *)block = opal_heap_link(offset, next, false);
    page->free = offset;
    atomic_store_explicit(&page->used, used, memory_order_relaxed);
    if (opal_unlikely(next == 0 || used == 0))
        opal_heap_settle(heap, thread, page);
}

/* Looks like a free block: in its own page that can be found out. */
static bool is_free(opal_heap_page_t *page, uint32_t offset)
{
    opal_heap_chunk_t *chunk = opal_heap_chunk_of_page(page);
    uint64_t remote = atomic_load_explicit(&page->remote, memory_order_acquire);
    const uint32_t lists[] = {page->free, opal_heap_remote_first(remote)};
    for (size_t i = 0; i < OPAL_COUNT_OF(lists); i++)
        for (uint32_t at = lists[i]; at != 0;
             at = (uint32_t) * (opal_heap_word_t *)opal_heap_at(chunk, at))
            if (at == offset)
                return true;
    return offset >= page->fresh;
}

static void free_small(opal_heap_t *heap, opal_heap_chunk_t *chunk, void *block)
{
    uint32_t offset = opal_heap_offset(chunk, block);
    opal_heap_page_t *page = &chunk->pages[offset >> OPAL_HEAP_UNIT_SHIFT];
    uint32_t owner = opal_heap_owner_of(page);
    opal_heap_thread_t *thread = opal_heap_thread_here(heap);
    bool mine = thread != NULL && owner == thread->id;
    if (opal_heap_is_link(*(opal_heap_word_t *)block, offset) && (!mine || is_free(page, offset))) {
        opal_heap_fault(heap, OPAL_HEAP_FREED_TWICE, block);
        return;
    }
    if (mine)
        give_block(heap, thread, page, block, offset);
    else
        opal_heap_push(heap, page, block);
}

/* Another process' run or huge block: its home frees it. */
static void send_home(opal_heap_t *heap, opal_heap_chunk_t *chunk, void *block)
{
    if (opal_heap_is_link(*(opal_heap_word_t *)block, opal_heap_offset(chunk, block)))
        opal_heap_fault(heap, OPAL_HEAP_FREED_TWICE, block);
    else
        opal_heap_push(heap, &chunk->pages[0], block);
}

static void free_run(opal_heap_t *heap, opal_heap_chunk_t *chunk, const void *block)
{
    opal_heap_enter(heap);
    opal_heap_run_give(heap, chunk, opal_heap_offset(chunk, block) >> OPAL_HEAP_PAGE_SHIFT);
    opal_heap_leave(heap);
}

/* All but the fast path. */
static __attribute__((noinline)) void free_any(opal_heap_t *heap, void *block)
{
    if (block == NULL)
        return;
    opal_heap_block_t found = opal_heap_find_block(heap, block);
    if (found.kind == 0)
        opal_heap_fault(heap, OPAL_HEAP_NO_BLOCK, block);
    else if (found.kind == OPAL_HEAP_SLABS)
        free_small(heap, found.chunk, block);
    else if (!found.ours)
        send_home(heap, found.chunk, block);
    else if (found.kind == OPAL_HEAP_RUNS)
        free_run(heap, found.chunk, block);
    else
        opal_heap_huge_give(heap, found.chunk);
}

void opal_heap_free(opal_heap_t *heap, void *block)
{
    opal_heap_thread_t *thread = thread_at_hand(heap);
    uintptr_t number = opal_heap_chunk_number(heap, block);
    if (opal_likely(thread != NULL && number < heap->chunks &&
                    atomic_load_explicit(&heap->is_slabs[number], memory_order_relaxed))) {
        opal_heap_chunk_t *chunk = opal_heap_chunk_of(block);
        uint32_t offset = opal_heap_offset(chunk, block);
        opal_heap_page_t *page = &chunk->pages[offset >> OPAL_HEAP_UNIT_SHIFT];
        if (opal_likely(opal_heap_owner_of(page) == thread->id && opal_heap_begins(page, offset) &&
                        !opal_heap_is_link(*(opal_heap_word_t *)block, offset))) {
            give_block(heap, thread, page, block, offset);
            return;
        }
    }
    free_any(heap, block);
}
