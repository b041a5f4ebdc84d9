/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * acquire and release: a use begins and ends.
 *
 * The marks are taken before each look-up of spans, so the pages that are found were there when the
 * caller asked (base/marks.h).
 */
#include "ompi/mca/mpool/rcache/rcache.h"

#include "opal/util/log.h"
#include "ompi/tool/event_point.h"

/* The pages that are to be pinned. */
typedef struct plan {
    uintptr_t begin, end;
    unsigned access;
} plan_t;

static void take_marks(rcache_t *cache)
{
    if (opal_likely(!ompi_mpool_marks_pending(&cache->marks)))
        return;
    if (!ompi_mpool_marks_take(&cache->marks, rcache_unmapped, cache)) {
        rcache_count(&cache->counters.flushes, 1);
        rcache_retire_all(cache);
    }
}

/*
 * The filter of the marks is reset only here, not as soon as nothing is registered: a neighbour
 * that is included in a new registration is not registered between its drop and the pin of the
 * whole, and may leave in that time.
 */
static void unlock(rcache_t *cache)
{
    if (cache->spans.count == 0)
        ompi_mpool_marks_watch_nothing(&cache->marks);
    pthread_mutex_unlock(&cache->lock);
}

/* -- planning ------------------------------------------------------------------------ */

/*
 * Grows the plan over neighbours. A registration inside the plan is replaced by the new one. One
 * that overlaps or touches is included if it is unused and has the same access, and if at most
 * twice the bytes that were asked for must be pinned.
 */
static void grow(const rcache_t *cache, plan_t *plan)
{
    const plan_t asked = *plan;
    uintptr_t low = asked.begin > 0 ? asked.begin - 1 : 0, high = asked.end + 1;
    size_t limit = 2 * (asked.end - asked.begin);
    if (cache->max_bytes > 0 && limit > cache->max_bytes)
        limit = cache->max_bytes;

    for (opal_interval_t *pages = opal_interval_first(&cache->spans, low, high); pages != NULL;
         pages = opal_interval_next(pages, low, high)) {
        const rcache_registration_t *registration =
            opal_container_of(pages, rcache_span_t, pages)->registration;
        if (registration->retired)
            continue;
        uintptr_t begin = pages->begin < plan->begin ? pages->begin : plan->begin;
        uintptr_t end = pages->end > plan->end ? pages->end : plan->end;
        bool inside = pages->begin >= asked.begin && pages->end <= asked.end;
        bool alike =
            registration->outer.access == asked.access && opal_list_is_empty(&registration->uses);
        if (!inside && (!alike || end - begin > limit))
            continue;
        plan->begin = begin;
        plan->end = end;
        plan->access |= registration->outer.access;
    }
}

/* Retires registrations that are completely inside the plan. */
static void absorb(rcache_t *cache, const plan_t *plan)
{
    opal_interval_t *next, *pages = opal_interval_first(&cache->spans, plan->begin, plan->end);
    for (; pages != NULL; pages = next) {
        rcache_registration_t *registration =
            opal_container_of(pages, rcache_span_t, pages)->registration;
        next = opal_interval_next(pages, plan->begin, plan->end);
        if (pages->begin >= plan->begin && pages->end <= plan->end && !registration->retired &&
            pages->end - pages->begin == registration->live_bytes)
            rcache_retire(cache, registration);
    }
}

/* -- pinning --------------------------------------------------------------------------- */

OPAL_NOINLINE static void raise_evicted(const rcache_registration_t *registration)
{
    ompi_event_evicted_t data = {.address = (MPI_Count)(uintptr_t)registration->outer.base,
                                 .bytes = (MPI_Count)registration->outer.bytes};
    ompi_event_raise(OMPI_EVENT_REGISTRATION_EVICTED, OMPI_EVENT_LOCKED, NULL, &data);
}

/* Drops up to `count` unused registrations, least recently used first. Returns how many. */
static size_t evict(rcache_t *cache, size_t count)
{
    size_t done = 0;
    for (opal_list_node_t *node; done < count && (node = opal_list_first(&cache->unused)) != NULL;
         done++) {
        rcache_registration_t *registration = opal_container_of(node, rcache_registration_t, node);
        if (ompi_event_is_wanted(OMPI_EVENT_REGISTRATION_EVICTED))
            raise_evicted(registration);
        rcache_drop(cache, registration);
    }
    rcache_count(&cache->counters.evictions, done);
    return done;
}

static opal_status_t make_room(rcache_t *cache, size_t bytes)
{
    const rcache_counters_t *counters = &cache->counters;
    if (cache->max_bytes > 0 && bytes > cache->max_bytes)
        return OPAL_ERR_TOO_LARGE;
    while ((cache->max_bytes > 0 &&
            rcache_counted(&counters->registered_bytes) > cache->max_bytes - bytes) ||
           (cache->max_registrations > 0 &&
            rcache_counted(&counters->registrations) >= cache->max_registrations)) {
        if (evict(cache, 1) == 0)
            return OPAL_ERR_BUSY;
    }
    return OPAL_SUCCESS;
}

/* The device may have less room than its limits say. Each try is expensive, so more registrations
 * are evicted each time. */
static opal_status_t pin_by_device(rcache_t *cache, const plan_t *plan, void **handle)
{
    const ompi_mpool_device_t *device = cache->device;
    size_t count = 1;
    opal_status_t status;
    do {
        status = device->pin(device->context, (void *)plan->begin, plan->end - plan->begin,
                             plan->access, handle);
        count *= 2;
    } while (status == OPAL_ERR_NO_MEMORY && evict(cache, count) > 0);
    return status;
}

static opal_status_t pin(rcache_t *cache, const plan_t *plan, rcache_registration_t **registration)
{
    void *handle;
    size_t bytes = plan->end - plan->begin;
    absorb(cache, plan);
    opal_status_t status = make_room(cache, bytes);
    if (status != OPAL_SUCCESS)
        return status;
    ompi_mpool_marks_watch(&cache->marks, plan->begin, plan->end);
    status = pin_by_device(cache, plan, &handle);
    if (status != OPAL_SUCCESS)
        return status;
    *registration = rcache_add(cache, plan->begin, plan->end, plan->access, handle);
    if (*registration != NULL)
        return OPAL_SUCCESS;
    cache->device->unpin(cache->device->context, handle, (void *)plan->begin, bytes);
    return OPAL_ERR_NO_MEMORY;
}

static opal_status_t add(rcache_t *cache, const plan_t *asked, rcache_registration_t **registration)
{
    plan_t plan = *asked;
    rcache_count(&cache->counters.misses, 1);
    grow(cache, &plan);
    opal_status_t status = pin(cache, &plan, registration);
    /* A neighbour may be the reason: its pages may have left, or be read-only by now. */
    bool grown =
        plan.begin != asked->begin || plan.end != asked->end || plan.access != asked->access;
    if (status != OPAL_SUCCESS && grown)
        status = pin(cache, asked, registration);
    return status;
}

/* -- the slots --------------------------------------------------------------------------- */

static bool whole_pages(const rcache_t *cache, uintptr_t begin, size_t bytes, plan_t *plan)
{
    uintptr_t mask = cache->page_bytes - 1, end;
    if (bytes == 0 || __builtin_add_overflow(begin, bytes, &end) ||
        end > OMPI_MPOOL_MARK_LIMIT - cache->page_bytes)
        return false;
    plan->begin = begin & ~mask;
    plan->end = (end + mask) & ~mask;
    return true;
}

static void begin_use(rcache_t *cache, rcache_registration_t *registration, ompi_mpool_use_t *use)
{
    if (opal_list_is_empty(&registration->uses)) {
        opal_list_remove(&registration->node);
        opal_list_append(&cache->used, &registration->node);
    }
    opal_list_append(&registration->uses, &use->node);
    use->registration = &registration->outer;
}

opal_status_t rcache_acquire(ompi_mpool_t *pool, const void *address, size_t bytes, unsigned access,
                             ompi_mpool_use_t *use)
{
    rcache_t *cache = opal_container_of(pool, rcache_t, outer);
    uintptr_t begin = (uintptr_t)address;
    plan_t asked = {.access = access};
    if (!whole_pages(cache, begin, bytes, &asked))
        return OPAL_ERR_BAD_PARAM;

    opal_status_t status = OPAL_SUCCESS;
    pthread_mutex_lock(&cache->lock);
    take_marks(cache);
    rcache_registration_t *registration = rcache_find(cache, asked.begin, asked.end, access);
    if (opal_likely(registration != NULL))
        rcache_count(&cache->counters.hits, 1);
    else
        status = add(cache, &asked, &registration);
    if (status == OPAL_SUCCESS) {
        use->begin = begin;
        use->end = begin + bytes;
        use->is_reported = false;
        begin_use(cache, registration, use);
    }
    unlock(cache);
    return status;
}

void rcache_release(ompi_mpool_use_t *use)
{
    rcache_registration_t *registration =
        opal_container_of(use->registration, rcache_registration_t, outer);
    rcache_t *cache = opal_container_of(registration->outer.pool, rcache_t, outer);
    pthread_mutex_lock(&cache->lock);
    /* Pages that left during this use are reported now, not at the next use. */
    take_marks(cache);
    opal_list_remove(&use->node);
    if (opal_list_is_empty(&registration->uses)) {
        opal_list_remove(&registration->node);
        opal_list_append(&cache->unused, &registration->node);
        if (!rcache_is_worth_keeping(cache, registration))
            rcache_drop(cache, registration);
    }
    unlock(cache);
}

void rcache_progress(ompi_mpool_t *pool)
{
    rcache_t *cache = opal_container_of(pool, rcache_t, outer);
    if (opal_likely(!ompi_mpool_marks_pending(&cache->marks)) ||
        pthread_mutex_trylock(&cache->lock) != 0)
        return;
    take_marks(cache);
    unlock(cache);
}
