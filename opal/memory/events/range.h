/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Which pages a call drops, computed before the call as the kernel does. A range covers everything
 * that the call can drop, and more only where that cannot be known. An empty range: the call drops
 * nothing, mostly because it cannot succeed. Internal to opal/memory.
 *
 * Threading: no state; no allocation, no lock; errno stays.
 */
#ifndef OPAL_MEMORY_EVENTS_RANGE_H
#define OPAL_MEMORY_EVENTS_RANGE_H

#include <stdint.h>

#include "opal/memory/events/events.h"

typedef struct opal_memory_range {
    uintptr_t start;
    size_t length; /* 0: empty */
} opal_memory_range_t;

/* Whole pages from `address` on; empty if that is unaligned, or not all in the address space. */
opal_memory_range_t opal_memory_range_of(const void *address, size_t length);

/* What mmap with these arguments replaces. */
opal_memory_range_t opal_memory_range_mmap(const opal_memory_event_t *event);

/* What mremap drops: at the old address, and at the new one. */
opal_memory_range_t opal_memory_range_mremap_old(const opal_memory_event_t *event);
opal_memory_range_t opal_memory_range_mremap_new(const opal_memory_event_t *event);

/* Where shmat with SHM_REMAP will put the segment; what it has mapped at `address`. */
opal_memory_range_t opal_memory_range_shmat(const opal_memory_event_t *event);
opal_memory_range_t opal_memory_range_segment(int id, const void *address);

/* What shmdt detaches. */
opal_memory_range_t opal_memory_range_shmdt(const void *address);

/* The pages between two positions of the break: what goes when it sinks from `high` to `low`, or
 * comes when it rises. */
opal_memory_range_t opal_memory_range_break(const void *low, const void *high);

/* What madvise drops; empty for advice that drops nothing. */
opal_memory_range_t opal_memory_range_madvise(const void *address, size_t length, int advice);

#endif
