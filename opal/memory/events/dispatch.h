/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The inside of delivery: what the hooks read before they do any work. Internal to opal/memory.
 */
#ifndef OPAL_MEMORY_EVENTS_DISPATCH_H
#define OPAL_MEMORY_EVENTS_DISPATCH_H

#include <stdatomic.h>
#include <unistd.h>

#include "opal/memory/events/system.h"

/*
 * All that a hook reads, in one page: munmap flushes the TLB, and each page that is touched
 * afterwards costs a miss. For the same reason the functions on the way are OPAL_MEMORY_HOT, which
 * the linker puts together, and call nothing of other libraries.
 */
typedef struct opal_memory_hot {
    /*
     * The events that have handlers: those before the call in the low half, those behind it in the
     * high one; VM events in both. A hook without handlers pays one relaxed load. A thread that
     * misses a handler that is just being added has made its call before that.
     */
    _Alignas(64) atomic_uint interest;
    atomic_size_t page_bytes; /* set before the first interest; 0 until then */
    opal_memory_handler_t *_Atomic first_handler;
    struct opal_memory_shared *_Atomic shared;       /* readers.h */
    void *_Atomic functions[OPAL_MEMORY_CALL_COUNT]; /* system.c */
} opal_memory_hot_t;

extern opal_memory_hot_t opal_memory_hot;

#define OPAL_MEMORY_HOT __attribute__((hot))

/* The first of these functions in the library. All are shorter than the alignment together, so they
 * lie in one page. */
#define OPAL_MEMORY_HOT_FIRST __attribute__((hot, aligned(2048)))

enum { OPAL_MEMORY_AFTER_SHIFT = 16 };

static inline bool opal_memory_wanted(unsigned events)
{
    unsigned both = events | events << OPAL_MEMORY_AFTER_SHIFT;
    return (atomic_load_explicit(&opal_memory_hot.interest, memory_order_relaxed) & both) != 0;
}

static inline size_t opal_memory_page_bytes(void)
{
    size_t bytes = atomic_load_explicit(&opal_memory_hot.page_bytes, memory_order_relaxed);
    return opal_likely(bytes != 0) ? bytes : (size_t)getpagesize();
}

/* opal_memory_raise and opal_memory_(un)mapped without the detour of an exported function. */
bool opal_memory_deliver(opal_memory_event_t *event, bool after);
void opal_memory_deliver_vm(unsigned kind, uintptr_t start, size_t length);

/* Whether this thread is in a handler, of any event. */
bool opal_memory_inside_handler(void);

/*
 * Locks that work before main, and that are free in a child of fork even if another thread held
 * them: they lie in the page of the readers. Not recursive; the delivery takes none.
 */
typedef enum opal_memory_lock {
    OPAL_MEMORY_LIST_LOCK,    /* the list of handlers */
    OPAL_MEMORY_GRACE_LOCK,   /* one writer waits for the readers at a time */
    OPAL_MEMORY_INSTALL_LOCK, /* install.c */
    OPAL_MEMORY_LOCK_COUNT,
} opal_memory_lock_t;

void opal_memory_lock(opal_memory_lock_t which);
void opal_memory_unlock(opal_memory_lock_t which);

#endif
