/* SPDX-License-Identifier: BSD-3-Clause */
/* Lists of attached memory. See attach.h. */
#include "ompi/mca/osc/base/attach.h"

#include <sched.h>
#include <stdlib.h>
#include <string.h>

enum { LEAST_REGIONS = 32 };

/* Where a list is: in the node's segment if the area is. `head` has its capacity. */
typedef struct list {
    opal_shared_t head;
    ompi_osc_region_t regions[];
} list_t;

static list_t *list_at(const ompi_osc_window_t *window, uint64_t where)
{
    if (where == 0)
        return NULL;
    return window->area_is_shared ? opal_node_at(where) : (list_t *)(uintptr_t)where;
}

static size_t list_bytes(size_t capacity)
{
    return sizeof(list_t) + capacity * sizeof(ompi_osc_region_t);
}

static size_t capacity_of(const list_t *list)
{
    return list == NULL ? 0 : (list->head.bytes - sizeof *list) / sizeof list->regions[0];
}

static list_t *make_list(const ompi_osc_window_t *window, size_t capacity)
{
    size_t bytes = list_bytes(capacity);
    if (window->area_is_shared)
        return (list_t *)opal_shared_make(bytes, sizeof(opal_shared_t), bytes);
    list_t *list = calloc(1, bytes);
    if (list != NULL)
        list->head.bytes = bytes;
    return list;
}

/* Of malloc'ed ones each keeps the one before it, which a thread may be reading. */
static void drop_lists(const ompi_osc_window_t *window, list_t *list)
{
    if (list != NULL && window->area_is_shared) {
        opal_shared_release(&list->head, 0);
        return;
    }
    for (opal_shared_t *next, *each = list != NULL ? &list->head : NULL; each != NULL;
         each = next) {
        next = each->next;
        free(each);
    }
}

static void begin_change(ompi_osc_line_t *own)
{
    atomic_fetch_add(&own->regions_version, 1);
    atomic_thread_fence(memory_order_release);
}

static void end_change(ompi_osc_line_t *own)
{
    atomic_fetch_add(&own->regions_version, 1);
}

/* A list with room for one more. NULL: no memory. */
static list_t *grow(ompi_osc_window_t *window, list_t *old, unsigned count)
{
    ompi_osc_line_t *own = window->own;
    list_t *list = make_list(window, count < LEAST_REGIONS ? LEAST_REGIONS : 2 * (size_t)count);
    if (list == NULL)
        return NULL;
    if (old != NULL)
        memcpy(list->regions, old->regions, count * sizeof old->regions[0]);
    begin_change(own);
    atomic_store(&own->regions,
                 window->area_is_shared ? opal_node_offset(list) : (uint64_t)(uintptr_t)list);
    end_change(own);
    if (window->area_is_shared)
        drop_lists(window, old);
    else
        list->head.next = old != NULL ? &old->head : NULL;
    return list;
}

/* The number of regions that begin at or before an address. */
static size_t count_to(const ompi_osc_region_t *regions, size_t count, uintptr_t address)
{
    size_t low = 0, high = count;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (regions[middle].base <= address)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

static bool overlaps(const ompi_osc_region_t *region, uintptr_t base, size_t bytes)
{
    return bytes > 0 && region->bytes > 0 && region->base < base + bytes &&
           base < region->base + region->bytes;
}

/* Whether the bytes overlap a region of a list, in which they would be number `at`. Empty regions
 * may lie anywhere, also within others. */
static bool overlaps_any(const list_t *list, size_t count, size_t at, uintptr_t base, size_t bytes)
{
    size_t before = at, behind = at;
    while (before > 0 && list->regions[before - 1].bytes == 0)
        before--;
    while (behind < count && list->regions[behind].bytes == 0)
        behind++;
    return (before > 0 && overlaps(&list->regions[before - 1], base, bytes)) ||
           (behind < count && overlaps(&list->regions[behind], base, bytes));
}

int ompi_osc_attach(ompi_osc_window_t *window, uintptr_t base, size_t bytes)
{
    ompi_osc_line_t *own = window->own;
    unsigned count = atomic_load(&own->region_count);
    list_t *list = list_at(window, atomic_load(&own->regions));
    size_t at = list != NULL ? count_to(list->regions, count, base) : 0;
    if (list != NULL && overlaps_any(list, count, at, base, bytes))
        return MPI_ERR_RMA_ATTACH;
    if (list == NULL || count == capacity_of(list))
        list = grow(window, list, count);
    if (list == NULL)
        return MPI_ERR_NO_MEM;
    begin_change(own);
    memmove(&list->regions[at + 1], &list->regions[at], (count - at) * sizeof list->regions[0]);
    list->regions[at] = (ompi_osc_region_t){base, bytes};
    atomic_store(&own->region_count, count + 1);
    end_change(own);
    return MPI_SUCCESS;
}

int ompi_osc_detach(ompi_osc_window_t *window, uintptr_t base)
{
    ompi_osc_line_t *own = window->own;
    unsigned count = atomic_load(&own->region_count);
    list_t *list = list_at(window, atomic_load(&own->regions));
    size_t behind = list != NULL ? count_to(list->regions, count, base) : 0;
    if (behind == 0 || list->regions[behind - 1].base != base)
        return MPI_ERR_RMA_ATTACH;
    begin_change(own);
    memmove(&list->regions[behind - 1], &list->regions[behind],
            (count - behind) * sizeof list->regions[0]);
    atomic_store(&own->region_count, count - 1);
    end_change(own);
    return MPI_SUCCESS;
}

void ompi_osc_detach_all(ompi_osc_window_t *window)
{
    if (window->own != NULL)
        drop_lists(window, list_at(window, atomic_exchange(&window->own->regions, 0)));
}

static bool is_within(const ompi_osc_region_t *regions, size_t count, uintptr_t start, size_t bytes)
{
    size_t behind = count_to(regions, count, start);
    /* Empty regions may lie before the one that has the bytes, and within it. */
    while (behind > 0 && regions[behind - 1].bytes == 0)
        behind--;
    if (behind == 0)
        return false;
    /* Regions that adjoin are one. */
    for (size_t i = behind - 1; i < count; i++) {
        size_t offset = start - regions[i].base;
        if (regions[i].bytes == 0)
            continue;
        if (offset > regions[i].bytes)
            return false;
        if (bytes <= regions[i].bytes - offset)
            return true;
        bytes -= regions[i].bytes - offset;
        start += regions[i].bytes - offset;
    }
    return false;
}

bool ompi_osc_is_attached(const ompi_osc_window_t *window, int local, uintptr_t start, size_t bytes)
{
    const ompi_osc_line_t *line = ompi_osc_line(window, local);
    for (;;) {
        unsigned version = atomic_load_explicit(&line->regions_version, memory_order_acquire);
        uint64_t where = atomic_load_explicit(&line->regions, memory_order_relaxed);
        unsigned count = atomic_load_explicit(&line->region_count, memory_order_relaxed);
        bool is_sound = version % 2 == 0 &&
                        (!window->area_is_shared || where + list_bytes(count) <= opal_node_bytes());
        bool found = is_sound && where != 0 &&
                     is_within(list_at(window, where)->regions, count, start, bytes);
        atomic_thread_fence(memory_order_acquire);
        if (is_sound &&
            version == atomic_load_explicit(&line->regions_version, memory_order_relaxed))
            return found;
        if (ompi_osc_has_deaths() && ompi_osc_has_ended(window, window->locals[local].rank))
            return false;
        opal_node_watch();
        sched_yield();
    }
}
