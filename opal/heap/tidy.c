/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The heap's lock. Now and then the thread that releases it also looks for memory that has been
 * free for long, and gives it back: there is no thread for that.
 */
#include "opal/heap/engine.h"

#include <errno.h>

#include "opal/include/clock.h"

static uint32_t now_msec(const opal_heap_t *heap)
{
    if (heap->config.ops->now_msec != NULL)
        return heap->config.ops->now_msec(heap->config.context);
    return (uint32_t)(opal_clock_coarse_nsec() / OPAL_NSEC_PER_MSEC);
}

void opal_heap_enter(opal_heap_t *heap)
{
    pthread_mutex_lock(&heap->lock);
    heap->now_msec = now_msec(heap);
}

void opal_heap_leave(opal_heap_t *heap)
{
    uint32_t keep_msec = heap->config.keep_msec;
    bool much = heap->stats.retained_bytes > heap->config.keep_bytes;
    bool long_ago = heap->now_msec - heap->swept_msec > keep_msec / 2;
    if (long_ago)
        heap->swept_msec = heap->now_msec;
    pthread_mutex_unlock(&heap->lock);
    if (opal_unlikely(much || long_ago))
        opal_heap_tidy(heap, heap->config.keep_bytes, keep_msec);
}

bool opal_heap_tidy(opal_heap_t *heap, size_t keep_bytes, uint32_t keep_msec)
{
    int saved = errno;
    bool any = opal_heap_slabs_trim(heap, keep_msec);
    any |= opal_heap_runs_trim(heap, keep_msec);
    pthread_mutex_lock(&heap->lock);
    any |= opal_heap_chunks_trim(heap, keep_bytes, keep_msec);
    pthread_mutex_unlock(&heap->lock);
    errno = saved;
    return any;
}

void opal_heap_chunk_list(opal_heap_chunk_t **list, opal_heap_chunk_t *chunk)
{
    chunk->previous = NULL;
    chunk->next = *list;
    if (*list != NULL)
        (*list)->previous = chunk;
    *list = chunk;
}

void opal_heap_chunk_unlist(opal_heap_chunk_t **list, opal_heap_chunk_t *chunk)
{
    if (chunk->previous != NULL)
        chunk->previous->next = chunk->next;
    else
        *list = chunk->next;
    if (chunk->next != NULL)
        chunk->next->previous = chunk->previous;
}
