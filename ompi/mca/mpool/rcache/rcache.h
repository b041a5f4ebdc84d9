/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * mpool/rcache: a cache of registrations.
 *
 *   spans          tree of intervals: which pages are known, and by which registration
 *     |
 *   registration   what the device knows; in one of two lists:
 *     |              unused   least recently used first, which is evicted first
 *     |              used
 *   uses           the transfers that need it now
 *
 * A registration begins with one span. Pages that leave the process are cut out of it: the span
 * gets shorter, or is split in two. The device still has all of the pages registered, which is
 * correct for those that stay; the others are never found. When most of its pages have left, the
 * registration is dropped.
 *
 * Spans may overlap. A new registration includes unused neighbours, as long as that does not double
 * what has to be pinned: so adjacent buffers become few registrations, and none is pinned again and
 * again.
 *
 * Threading: the lock protects everything except the marks. It is held while the device pins and
 * unpins, and no handler of memory events takes it.
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

/* In the list `unused` if and only if it has no use. live_bytes: its pages that are in spans. */
typedef struct rcache_registration {
    _Alignas(64) rcache_span_t first; /* not in the tree if its pages have left */
    ompi_mpool_registration_t outer;
    opal_list_t uses;
    bool retired; /* not found any more; dropped after its last use */
    opal_list_node_t node;
    size_t live_bytes;
} rcache_registration_t;

/* Changed under the lock, read by any thread. */
typedef struct rcache_counters {
    atomic_size_t hits, misses;
    atomic_size_t evictions;        /* unpinned to make room */
    atomic_size_t ranges_unmapped;  /* marks that were taken */
    atomic_size_t cuts;             /* spans that lost pages by them */
    atomic_size_t flushes;          /* all registrations were dropped, because marks overflowed */
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
    /* The caller holds the lock, so this needs no atomic addition. Adding may wrap, to subtract. */
    size_t now = atomic_load_explicit(counter, memory_order_relaxed);
    atomic_store_explicit(counter, now + add, memory_order_relaxed);
}

static inline size_t rcache_counted(const atomic_size_t *counter)
{
    return atomic_load_explicit(counter, memory_order_relaxed);
}

/* -- index.c: what is registered. The caller holds the lock. ---------------------------- */

/* A registration that covers [begin, end) with this access; NULL: none. */
rcache_registration_t *rcache_find(const rcache_t *cache, uintptr_t begin, uintptr_t end,
                                   unsigned access);

/* Adds what the device has pinned, as the most recently used of the unused. NULL: no memory. */
rcache_registration_t *rcache_add(rcache_t *cache, uintptr_t begin, uintptr_t end, unsigned access,
                                  void *handle);

/* Unpins a registration without uses, and frees it. */
void rcache_drop(rcache_t *cache, rcache_registration_t *registration);

/* From now on it is not found. Drops it, now or after its last use. */
void rcache_retire(rcache_t *cache, rcache_registration_t *registration);

/* Retires all. */
void rcache_retire_all(rcache_t *cache);

/* Whether a registration without uses stays. */
bool rcache_is_worth_keeping(const rcache_t *cache, const rcache_registration_t *registration);

/* These pages have left the process. Called by ompi_mpool_marks_take. */
void rcache_unmapped(void *cache, uintptr_t begin, uintptr_t end);

/* -- cache.c: the slots of the pool ------------------------------------------------------ */

opal_status_t rcache_acquire(ompi_mpool_t *pool, const void *address, size_t bytes, unsigned access,
                             ompi_mpool_use_t *use);
void rcache_release(ompi_mpool_use_t *use);
void rcache_progress(ompi_mpool_t *pool);

#endif
