/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The pages of a thread: where its next blocks come from when the active page has none left.
 *
 * In this order: what others freed into the active page; its never used part; the next listed page;
 * a page of a state whose thread has ended; a slab that this thread has in reserve; one of the
 * heap.
 *
 * Threading: the thread state is the caller's. What others push meanwhile comes by atomic words.
 */
#include "opal/heap/engine.h"

enum {
    EXTEND_BYTES = 4096, /* of a slab, linked at a time, since that touches the memory */
    LOOKED_AT = 4,       /* idle states, when a page is wanted */
};

opal_heap_page_t opal_heap_no_page;

/* -- counting; only the owner writes --------------------------------------------------- */

static uint32_t used_of(opal_heap_page_t *page)
{
    return atomic_load_explicit(&page->used, memory_order_relaxed);
}

static void subtract_used(opal_heap_page_t *page, uint32_t less)
{
    atomic_store_explicit(&page->used, used_of(page) - less, memory_order_relaxed);
}

static uint32_t bytes_of(opal_heap_page_t *page)
{
    return atomic_load_explicit(&page->block_bytes, memory_order_relaxed);
}

/* -- lists ----------------------------------------------------------------------------- */

static void list_last(opal_heap_thread_t *thread, opal_heap_page_t *page)
{
    opal_heap_page_list_t *list = &thread->listed[page->size_class];
    page->flags |= OPAL_HEAP_PAGE_LISTED;
    page->next = NULL;
    page->previous = list->last;
    if (list->last != NULL)
        list->last->next = page;
    else
        list->first = page;
    list->last = page;
}

static void unlist(opal_heap_thread_t *thread, opal_heap_page_t *page)
{
    opal_heap_page_list_t *list = &thread->listed[page->size_class];
    page->flags &= (uint16_t)~OPAL_HEAP_PAGE_LISTED;
    if (page->previous != NULL)
        page->previous->next = page->next;
    else
        list->first = page->next;
    if (page->next != NULL)
        page->next->previous = page->previous;
    else
        list->last = page->previous;
}

/* -- getting free blocks into `free` --------------------------------------------------- */

/* Takes what others freed. `free` may have blocks. Whether there was any. */
static bool collect(opal_heap_page_t *page)
{
    if (opal_heap_remote_first(atomic_load_explicit(&page->remote, memory_order_relaxed)) == 0)
        return false;
    uint64_t remote = atomic_exchange_explicit(&page->remote, 0, memory_order_acquire);
    uint32_t first = opal_heap_remote_first(remote);
    if (page->free != 0) {
        opal_heap_chunk_t *chunk = opal_heap_chunk_of_page(page);
        opal_heap_word_t *last = opal_heap_at(chunk, first);
        while ((uint32_t)*last != 0)
            last = opal_heap_at(chunk, (uint32_t)*last);
        *last |= page->free;
    }
    page->free = first;
    subtract_used(page, opal_heap_remote_count(remote));
    return true;
}

/* Links the next of the blocks that were never out; they say whether they are zero. */
static bool extend(opal_heap_page_t *page)
{
    uint32_t bytes = bytes_of(page), count = (page->end - page->fresh) / bytes;
    if (count == 0)
        return false;
    uint32_t wanted = bytes < EXTEND_BYTES ? EXTEND_BYTES / bytes : 1;
    count = count < wanted ? count : wanted;
    opal_heap_chunk_t *chunk = opal_heap_chunk_of_page(page);
    bool zero = page->flags & OPAL_HEAP_PAGE_ZERO;
    uint32_t offset = page->fresh, last = offset + (count - 1) * bytes;
    for (; offset < last; offset += bytes)
        *(opal_heap_word_t *)opal_heap_at(chunk, offset) =
            opal_heap_link(offset, offset + bytes, zero);
    *(opal_heap_word_t *)opal_heap_at(chunk, last) = opal_heap_link(last, page->free, zero);
    page->free = page->fresh;
    page->fresh = last + bytes;
    return true;
}

/* Parks a page until a block of it is freed. False: one was freed just now. Release: the thread
   that clears the PARKED bit reads the owner, with acquire. */
static bool park(opal_heap_page_t *page)
{
    uint64_t nothing = 0;
    if (!atomic_compare_exchange_strong_explicit(&page->remote, &nothing, OPAL_HEAP_REMOTE_PARKED,
                                                 memory_order_release, memory_order_relaxed))
        return false;
    page->flags |= OPAL_HEAP_PAGE_PARKED;
    return true;
}

static bool has_blocks(opal_heap_page_t *page)
{
    return page->free != 0 || collect(page) || extend(page);
}

/* Whether it has a free block now; otherwise it is parked. */
static bool fill_or_park(opal_heap_page_t *page)
{
    while (!has_blocks(page))
        if (park(page))
            return false;
    return true;
}

/* Pages that were parked, and into which others have freed something since, are listed again. */
static void open_mail(opal_heap_t *heap, opal_heap_thread_t *thread)
{
    for (opal_heap_page_t *page = opal_heap_take_mail(heap, thread->id), *next; page != NULL;
         page = next) {
        next = page->next;
        page->flags &= (uint16_t)~OPAL_HEAP_PAGE_PARKED;
        list_last(thread, page);
    }
}

/* -- idle states ----------------------------------------------------------------------- */

void opal_heap_idle_add(opal_heap_t *heap, opal_heap_thread_t *thread)
{
    thread->next_idle = NULL;
    if (heap->idle == NULL)
        heap->idle = thread;
    else
        heap->last_idle->next_idle = thread;
    heap->last_idle = thread;
}

opal_heap_thread_t *opal_heap_idle_take(opal_heap_t *heap)
{
    opal_heap_thread_t *thread = heap->idle;
    if (thread != NULL)
        heap->idle = thread->next_idle;
    return thread;
}

/* A page with free blocks, which has no owner then; or NULL. For an idle state; locked. */
static opal_heap_page_t *page_from(opal_heap_t *heap, opal_heap_thread_t *thread,
                                   unsigned size_class)
{
    open_mail(heap, thread);
    opal_heap_page_t *page = thread->active[size_class];
    if (page != &opal_heap_no_page) {
        thread->active[size_class] = &opal_heap_no_page;
        page->flags &= (uint16_t)~OPAL_HEAP_PAGE_ACTIVE;
        if (fill_or_park(page))
            return page;
    }
    while ((page = thread->listed[size_class].first) != NULL) {
        unlist(thread, page);
        if (fill_or_park(page))
            return page;
    }
    return NULL;
}

/* A page of this class with free blocks from an idle state, or NULL. Not locked. */
static opal_heap_page_t *adopt(opal_heap_t *heap, uint32_t owner, unsigned size_class)
{
    opal_heap_page_t *page = NULL;
    if (atomic_load_explicit(&heap->idle, memory_order_relaxed) == NULL)
        return NULL;
    opal_heap_enter(heap);
    for (int i = 0; i < LOOKED_AT && page == NULL; i++) {
        opal_heap_thread_t *thread = opal_heap_idle_take(heap);
        if (thread == NULL)
            break;
        page = page_from(heap, thread, size_class);
        opal_heap_idle_add(heap, thread);
    }
    /* Before the lock is released: the state may become another thread's at once, and what it owns
       is then changed without a lock. */
    if (page != NULL)
        atomic_store_explicit(&page->owner, owner, memory_order_relaxed);
    opal_heap_leave(heap);
    return page;
}

/* -- slabs ----------------------------------------------------------------------------- */

static void set_up(opal_heap_page_t *page, unsigned size_class)
{
    opal_heap_chunk_t *chunk = opal_heap_chunk_of_page(page);
    uint32_t begin = (uint32_t)(page - chunk->pages) << OPAL_HEAP_UNIT_SHIFT;
    page->free = 0;
    page->fresh = begin;
    page->end = begin + OPAL_HEAP_UNIT_BYTES;
    atomic_store_explicit(&page->block_bytes, opal_heap_class_bytes(size_class),
                          memory_order_relaxed);
    atomic_store_explicit(&page->divisor, opal_heap_divisor(opal_heap_class_bytes(size_class)),
                          memory_order_relaxed);
    page->size_class = (uint16_t)size_class;
    page->flags &= OPAL_HEAP_PAGE_ZERO;
}

static opal_heap_page_t *new_page(opal_heap_t *heap, opal_heap_thread_t *thread,
                                  unsigned size_class)
{
    opal_heap_page_t *page = adopt(heap, thread->id, size_class);
    if (page != NULL)
        return page;
    if (thread->spare_count > 0)
        page = thread->spare[--thread->spare_count];
    else
        page = opal_heap_slab_take(heap, thread->id);
    if (page != NULL) {
        set_up(page, size_class);
        extend(page);
    }
    return page;
}

/* A page with no block in use, and in no list. */
static void put_away(opal_heap_t *heap, opal_heap_thread_t *thread, opal_heap_page_t *page)
{
    page->flags = 0;
    if (thread->spare_count < OPAL_HEAP_SPARES)
        thread->spare[thread->spare_count++] = page;
    else
        opal_heap_slab_give(heap, page);
}

opal_heap_page_t *opal_heap_refill(opal_heap_t *heap, opal_heap_thread_t *thread,
                                   unsigned size_class)
{
    opal_heap_page_t *page = thread->active[size_class];
    if (page != &opal_heap_no_page) {
        if (fill_or_park(page))
            return page;
        page->flags &= (uint16_t)~OPAL_HEAP_PAGE_ACTIVE;
        thread->active[size_class] = &opal_heap_no_page;
    }
    open_mail(heap, thread);
    while ((page = thread->listed[size_class].first) != NULL) {
        unlist(thread, page);
        if (fill_or_park(page))
            break;
    }
    if (page == NULL)
        page = new_page(heap, thread, size_class);
    if (page == NULL)
        return NULL;
    page->flags |= OPAL_HEAP_PAGE_ACTIVE;
    thread->active[size_class] = page;
    return page;
}

/* The owner has freed a block of a parked page. If another one has, too, the page comes by mail. */
static void unpark(opal_heap_thread_t *thread, opal_heap_page_t *page)
{
    uint64_t old =
        atomic_fetch_and_explicit(&page->remote, ~OPAL_HEAP_REMOTE_PARKED, memory_order_relaxed);
    if (old & OPAL_HEAP_REMOTE_PARKED) {
        page->flags &= (uint16_t)~OPAL_HEAP_PAGE_PARKED;
        list_last(thread, page);
    }
}

void opal_heap_settle(opal_heap_t *heap, opal_heap_thread_t *thread, opal_heap_page_t *page)
{
    if (page->flags & OPAL_HEAP_PAGE_PARKED)
        unpark(thread, page);
    if (used_of(page) == 0 && (page->flags & OPAL_HEAP_PAGE_LISTED)) {
        unlist(thread, page);
        put_away(heap, thread, page);
    }
}

void opal_heap_thread_trim(opal_heap_t *heap, opal_heap_thread_t *thread)
{
    open_mail(heap, thread);
    for (unsigned i = 1; i < OPAL_HEAP_CLASSES; i++) {
        opal_heap_page_t *page = thread->active[i], *next;
        if (page != &opal_heap_no_page) {
            collect(page);
            page->flags &= (uint16_t)~OPAL_HEAP_PAGE_ACTIVE;
            thread->active[i] = &opal_heap_no_page;
            list_last(thread, page);
        }
        for (page = thread->listed[i].first; page != NULL; page = next) {
            next = page->next;
            collect(page);
            if (used_of(page) == 0) {
                unlist(thread, page);
                opal_heap_slab_give(heap, page);
            }
        }
    }
    while (thread->spare_count > 0)
        opal_heap_slab_give(heap, thread->spare[--thread->spare_count]);
}

void opal_heap_idle_trim(opal_heap_t *heap)
{
    pthread_mutex_lock(&heap->lock);
    opal_heap_thread_t *todo = heap->idle;
    heap->idle = NULL;
    pthread_mutex_unlock(&heap->lock);
    while (todo != NULL) {
        opal_heap_thread_t *thread = todo;
        todo = thread->next_idle;
        opal_heap_thread_trim(heap, thread);
        pthread_mutex_lock(&heap->lock);
        opal_heap_idle_add(heap, thread);
        pthread_mutex_unlock(&heap->lock);
    }
}
