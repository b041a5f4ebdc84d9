/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * mpool/rcache: a cache of registrations.
 *
 *   spans          tree of intervals: which pages are known, and by which registration
 *     |
 *   registration   what the device knows; in one of two lists:
 *     |              unused   the one whose last use is longest ago comes first, and goes first
 *     |              used
 *   uses           the transfers that need it now
 *
 * A registration begins with one span. Pages that leave the process are cut off: the span gets
 * shorter, or two are left of it. The device still knows the pages as a whole, and for those that
 * stayed this is right; what has left is never found. When most of it has left, it goes.
 *
 * Spans may overlap. One that is asked for in vain takes its unused neighbours in, as long as that
 * does not double what has to be pinned; so buffers that lie side by side become few registrations,
 * and none is pinned again and again.
 *
 * Threading: everything below the lock, marks excepted. The lock is held while the device pins and
 * unpins, and never taken by a handler of memory events.
 */
#ifndef OMPI_MCA_MPOOL_RCACHE_H
#define OMPI_MCA_MPOOL_RCACHE_H

#include <pthread.h>

#include "opal/util/interval.h"
#include "ompi/mca/mpool/base/base.h"
#include "ompi/mca/mpool/base/marks.h"

typedef struct rcache_span {
    opal_interval_t pages;
    struct rcache_registration *registration;
} rcache_span_t;

/* In `unused` exactly if it has no use. Its pages that are in spans are live_bytes. */
typedef struct rcache_registration {
    _Alignas(64) rcache_span_t first; /* not in the tree if its pages have left */
    ompi_mpool_registration_t outer;
    opal_list_t uses;
    bool retired; /* not to be found any more; goes after its last use */
    opal_list_node_t node;
    size_t live_bytes;
} rcache_registration_t;

/* What happened and what there is. Changed under the lock, read by anybody. */
typedef struct rcache_counters {
    atomic_size_t hits, misses;
    atomic_size_t evictions;        /* unpinned to make room */
    atomic_size_t ranges_gone;      /* marks that were taken */
    atomic_size_t cuts;             /* spans that lost pages by them */
    atomic_size_t flushes;          /* everything was forgotten, as marks were lost */
    atomic_size_t faults;           /* uses whose pages have left */
    atomic_size_t registrations;    /* now */
    atomic_size_t registered_bytes; /* now */
    atomic_size_t peak_bytes;       /* of registered_bytes */
} rcache_counters_t;

typedef struct rcache {
    ompi_mpool_t outer;
    const ompi_mpool_device_t *device;
    size_t max_bytes, max_registrations;
    size_t page_bytes;
    bool keeps;
    pthread_mutex_t lock;
    opal_interval_tree_t spans;
    opal_list_t unused, used;
    rcache_counters_t counters;
    ompi_mpool_marks_t marks;
    opal_list_node_t node; /* the component's */
} rcache_t;

static inline void rcache_count(atomic_size_t *counter, size_t add)
{
    /* Who changes it has the lock: no locked instruction. Subtracting is adding what wraps. */
    size_t now = atomic_load_explicit(counter, memory_order_relaxed);
    atomic_store_explicit(counter, now + add, memory_order_relaxed);
}

static inline size_t rcache_counted(const atomic_size_t *counter)
{
    return atomic_load_explicit(counter, memory_order_relaxed);
}

/* -- index.c: what is registered. The caller has the lock. ------------------------------ */

/* One that covers [begin, end) and allows this; NULL: none. */
rcache_registration_t *rcache_find(const rcache_t *cache, uintptr_t begin, uintptr_t end,
                                   unsigned access);

/* What the device has pinned becomes known: unused, as the one that was used last. NULL: no
 * memory. */
rcache_registration_t *rcache_add(rcache_t *cache, uintptr_t begin, uintptr_t end, unsigned access,
                                  void *handle);

/* Unpins it. It has no use. */
void rcache_drop(rcache_t *cache, rcache_registration_t *registration);

/* It is not found any more, and goes at once or after its last use. */
void rcache_retire(rcache_t *cache, rcache_registration_t *registration);

/* All of them. */
void rcache_retire_all(rcache_t *cache);

/* Whether it is to stay without a use. */
bool rcache_is_worth_keeping(const rcache_t *cache, const rcache_registration_t *registration);

/* These pages have left: what ompi_mpool_marks_take calls. */
void rcache_gone(void *cache, uintptr_t begin, uintptr_t end);

/* -- cache.c: the slots of the pool ------------------------------------------------------ */

opal_status_t rcache_acquire(ompi_mpool_t *pool, const void *address, size_t bytes, unsigned access,
                             ompi_mpool_use_t *use);
void rcache_release(ompi_mpool_use_t *use);
void rcache_progress(ompi_mpool_t *pool);

#endif
