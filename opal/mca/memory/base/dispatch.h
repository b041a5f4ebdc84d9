/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The inside of delivery: what the hooks ask before they do any work. Internal to
 * opal/mca/memory/base.
 */
#ifndef OPAL_MCA_MEMORY_BASE_DISPATCH_H
#define OPAL_MCA_MEMORY_BASE_DISPATCH_H

#include <stdatomic.h>

#include "opal/mca/memory/base/events.h"

/*
 * The events that some handler wants: those told before the call in the low half, those told
 * behind it in the high one; VM events in both. One relaxed load is all that a hook pays while
 * nobody listens. A thread that misses a handler which is just being added has made its call
 * before that.
 */
enum { OPAL_MEMORY_AFTER_SHIFT = 16 };
extern atomic_uint opal_memory_interest;

static inline bool opal_memory_wanted(unsigned events)
{
    unsigned both = events | events << OPAL_MEMORY_AFTER_SHIFT;
    return (atomic_load_explicit(&opal_memory_interest, memory_order_relaxed) & both) != 0;
}

/* True in a handler of any event, in this thread. */
bool opal_memory_inside_handler(void);

/*
 * A lock that works before main and that a forked child finds open whoever held it: one of a few,
 * in the page of the dispatcher. Not recursive; not for the delivery.
 */
typedef enum opal_memory_lock {
    OPAL_MEMORY_LIST_LOCK,    /* the list of handlers */
    OPAL_MEMORY_GRACE_LOCK,   /* one waits for the readers at a time */
    OPAL_MEMORY_INSTALL_LOCK, /* install.c */
    OPAL_MEMORY_LOCK_COUNT,
} opal_memory_lock_t;

void opal_memory_lock(opal_memory_lock_t which);
void opal_memory_unlock(opal_memory_lock_t which);

#endif
