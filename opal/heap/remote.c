/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Blocks that are freed by another thread or process than the owner of their page. layout.h says
 * how they come home.
 *
 * Threading: pushing needs no lock. The owner of a page or mailbox takes its whole list at once,
 * and no thread takes a single entry; so a word that returns to an older value (ABA) does no harm.
 */
#include "opal/heap/engine.h"

/* Puts a page that was parked into the mailbox of its owner. */
static void mail(opal_heap_t *heap, opal_heap_page_t *page)
{
    opal_heap_mailbox_t *mailbox = opal_heap_mailbox(heap, opal_heap_owner_of(page));
    uint32_t mine = opal_heap_mail_of(heap, page);
    uint32_t first = atomic_load_explicit(mailbox, memory_order_relaxed);
    do
        page->mail_next = first;
    while (!atomic_compare_exchange_weak_explicit(mailbox, &first, mine, memory_order_release,
                                                  memory_order_relaxed)); /* with take_mail */
}

void opal_heap_push(opal_heap_t *heap, opal_heap_page_t *page, void *block)
{
    uint32_t offset = opal_heap_offset(opal_heap_chunk_of_page(page), block);
    uint64_t old = atomic_load_explicit(&page->remote, memory_order_relaxed), now;
    do {
        *(opal_heap_word_t *)block = opal_heap_link(offset, opal_heap_remote_first(old), false);
        now = (old & ~OPAL_HEAP_REMOTE_PARKED & ~(uint64_t)UINT32_MAX) + OPAL_HEAP_REMOTE_ONE +
              offset;
    } while (!atomic_compare_exchange_weak_explicit(
        &page->remote, &old, now, memory_order_acq_rel,
        memory_order_relaxed)); /* release: to the collecting owner; acquire: from the one that
                                   parked it */
    if (old & OPAL_HEAP_REMOTE_PARKED)
        mail(heap, page);
}

opal_heap_page_t *opal_heap_take_mail(opal_heap_t *heap, uint32_t id)
{
    opal_heap_mailbox_t *mailbox = opal_heap_mailbox(heap, id);
    if (atomic_load_explicit(mailbox, memory_order_relaxed) == 0)
        return NULL;
    uint32_t next = atomic_exchange_explicit(mailbox, 0, memory_order_acquire);
    opal_heap_page_t *first = NULL;
    while (next != 0) {
        opal_heap_page_t *page = opal_heap_page_of_mail(heap, next);
        next = page->mail_next;
        page->next = first;
        first = page;
    }
    return first;
}

/* The runs in this list, which others have freed. */
static void give_runs(opal_heap_t *heap, opal_heap_chunk_t *chunk, uint32_t offset)
{
    while (offset != 0) {
        uint32_t next = (uint32_t) * (opal_heap_word_t *)opal_heap_at(chunk, offset);
        opal_heap_run_give(heap, chunk, offset >> OPAL_HEAP_PAGE_SHIFT);
        offset = next;
    }
}

void opal_heap_take_home(opal_heap_t *heap)
{
    if (heap->home == 0)
        return;
    for (opal_heap_page_t *page = opal_heap_take_mail(heap, heap->home), *next; page != NULL;
         page = next) {
        next = page->next;
        opal_heap_chunk_t *chunk = opal_heap_chunk_of_page(page);
        uint64_t remote =
            atomic_exchange_explicit(&page->remote, OPAL_HEAP_REMOTE_PARKED, memory_order_acquire);
        uint32_t first = opal_heap_remote_first(remote);
        if (opal_heap_kind_of(chunk) == OPAL_HEAP_RUNS) {
            give_runs(heap, chunk, first);
        } else if (first != 0) { /* a copy that fork has made may have the mail without the block */
            pthread_mutex_unlock(&heap->lock);
            opal_heap_huge_give(heap, chunk);
            pthread_mutex_lock(&heap->lock);
        }
    }
}
