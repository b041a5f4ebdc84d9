/* SPDX-License-Identifier: BSD-3-Clause */
/* The registrations, and which of their pages are still there. */
#include "ompi/mca/mpool/rcache/rcache.h"

#include <stdlib.h>

#include "opal/util/log.h"

static rcache_span_t *span_of(opal_interval_t *pages)
{
    return opal_container_of(pages, rcache_span_t, pages);
}

static bool is_used(const rcache_registration_t *registration)
{
    return !opal_list_is_empty(&registration->uses);
}

/* -- finding --------------------------------------------------------------------- */

static bool serves(opal_interval_t *pages, uintptr_t end, unsigned access)
{
    const rcache_registration_t *registration = span_of(pages)->registration;
    return pages->end >= end && !registration->retired &&
           (registration->outer.access & access) == access;
}

rcache_registration_t *rcache_find(const rcache_t *cache, uintptr_t begin, uintptr_t end,
                                   unsigned access)
{
    /* Usually no spans overlap, and then no other span can serve. */
    opal_interval_t *pages = opal_interval_before(&cache->spans, begin);
    if (opal_likely(pages != NULL && serves(pages, end, access)))
        return span_of(pages)->registration;
    for (pages = opal_interval_first(&cache->spans, begin, begin + 1); pages != NULL;
         pages = opal_interval_next(pages, begin, begin + 1)) {
        if (serves(pages, end, access))
            return span_of(pages)->registration;
    }
    return NULL;
}

/* -- coming and going -------------------------------------------------------------- */

rcache_registration_t *rcache_add(rcache_t *cache, uintptr_t begin, uintptr_t end, unsigned access,
                                  void *handle)
{
    rcache_registration_t *new = aligned_alloc(_Alignof(rcache_registration_t), sizeof *new);
    if (new == NULL)
        return NULL;
    *new = (rcache_registration_t){
        .first = {.pages = {.begin = begin, .end = end}, .registration = new},
        .outer = {.pool = &cache->outer,
                  .handle = handle,
                  .base = (void *)begin,
                  .bytes = end - begin,
                  .access = access},
        .live_bytes = end - begin,
    };
    opal_list_init(&new->uses);
    opal_interval_insert(&cache->spans, &new->first.pages);
    opal_list_append(&cache->unused, &new->node);

    rcache_counters_t *counters = &cache->counters;
    rcache_count(&counters->registrations, 1);
    rcache_count(&counters->registered_bytes, end - begin);
    size_t bytes = rcache_counted(&counters->registered_bytes);
    if (bytes > rcache_counted(&counters->peak_bytes))
        rcache_count(&counters->peak_bytes, bytes - rcache_counted(&counters->peak_bytes));
    return new;
}

static void free_span(rcache_span_t *span)
{
    if (span != &span->registration->first)
        free(span);
}

/* Removes all spans of the registration. */
static void remove_spans(rcache_t *cache, rcache_registration_t *registration)
{
    uintptr_t begin = (uintptr_t)registration->outer.base;
    uintptr_t end = begin + registration->outer.bytes;
    opal_interval_t *next, *pages = opal_interval_first(&cache->spans, begin, end);
    for (; registration->live_bytes > 0; pages = next) {
        next = opal_interval_next(pages, begin, end);
        if (span_of(pages)->registration != registration)
            continue;
        registration->live_bytes -= pages->end - pages->begin;
        opal_interval_remove(&cache->spans, pages);
        free_span(span_of(pages));
    }
}

void rcache_drop(rcache_t *cache, rcache_registration_t *registration)
{
    const ompi_mpool_registration_t *outer = &registration->outer;
    remove_spans(cache, registration);
    opal_list_remove(&registration->node);
    rcache_count(&cache->counters.registrations, (size_t)-1);
    rcache_count(&cache->counters.registered_bytes, -outer->bytes);
    cache->device->unpin(cache->device->context, outer->handle, outer->base, outer->bytes);
    free(registration);
}

void rcache_retire(rcache_t *cache, rcache_registration_t *registration)
{
    if (is_used(registration))
        registration->retired = true;
    else
        rcache_drop(cache, registration);
}

void rcache_retire_all(rcache_t *cache)
{
    opal_list_node_t *node;
    while ((node = opal_list_first(&cache->unused)) != NULL)
        rcache_drop(cache, opal_container_of(node, rcache_registration_t, node));
    for (node = opal_list_first(&cache->used); node != NULL;
         node = opal_list_next(&cache->used, node))
        opal_container_of(node, rcache_registration_t, node)->retired = true;
}

bool rcache_is_worth_keeping(const rcache_t *cache, const rcache_registration_t *registration)
{
    return cache->keeps && !registration->retired &&
           registration->live_bytes >= registration->outer.bytes / 2;
}

/* -- pages that have left ------------------------------------------------------------ */

static void report_uses(rcache_t *cache, rcache_registration_t *registration, uintptr_t begin,
                        uintptr_t end)
{
    for (opal_list_node_t *node = opal_list_first(&registration->uses); node != NULL;
         node = opal_list_next(&registration->uses, node)) {
        ompi_mpool_use_t *use = opal_container_of(node, ompi_mpool_use_t, node);
        if (use->is_reported || use->begin >= end || use->end <= begin)
            continue;
        use->is_reported = true;
        rcache_count(&cache->counters.faults, 1);
        opal_log_error("memory was unmapped, freed or replaced during its transfer: 0x%zx to 0x%zx "
                       "of the buffer 0x%zx to 0x%zx, which %s is using. The data of this message "
                       "may be wrong; keep the buffer until the request is complete",
                       (size_t)(begin > use->begin ? begin : use->begin),
                       (size_t)(end < use->end ? end : use->end), (size_t)use->begin,
                       (size_t)use->end, cache->device->name);
    }
}

/* The part behind a hole. NULL: no memory; then the caller forgets the shorter part. */
static rcache_span_t *split_off(rcache_registration_t *registration)
{
    rcache_span_t *span = malloc(sizeof *span);
    if (span != NULL)
        *span = (rcache_span_t){.registration = registration};
    return span;
}

static void put_back(rcache_t *cache, rcache_span_t *span, uintptr_t begin, uintptr_t end)
{
    span->pages.begin = begin;
    span->pages.end = end;
    span->registration->live_bytes += end - begin;
    opal_interval_insert(&cache->spans, &span->pages);
}

/* Takes [begin, end) out of a span that overlaps it. */
static void cut(rcache_t *cache, rcache_span_t *span, uintptr_t begin, uintptr_t end)
{
    rcache_registration_t *registration = span->registration;
    uintptr_t low = span->pages.begin, high = span->pages.end;
    bool left = low<begin, right = high> end;
    rcache_span_t *behind = left && right ? split_off(registration) : span;
    if (behind == NULL) {
        left = begin - low >= high - end;
        right = !left;
        behind = span;
    }
    opal_interval_remove(&cache->spans, &span->pages);
    registration->live_bytes -= high - low;
    if (left)
        put_back(cache, span, low, begin);
    if (right)
        put_back(cache, behind, end, high);
    if (!left && !right)
        free_span(span);
    rcache_count(&cache->counters.cuts, 1);
}

void rcache_unmapped(void *context, uintptr_t begin, uintptr_t end)
{
    rcache_t *cache = context;
    opal_interval_t *pages;
    rcache_count(&cache->counters.ranges_unmapped, 1);
    while ((pages = opal_interval_first(&cache->spans, begin, end)) != NULL) {
        rcache_registration_t *registration = span_of(pages)->registration;
        report_uses(cache, registration, begin, end);
        cut(cache, span_of(pages), begin, end);
        if (!is_used(registration) && !rcache_is_worth_keeping(cache, registration))
            rcache_drop(cache, registration);
    }
}
