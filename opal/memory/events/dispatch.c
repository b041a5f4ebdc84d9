/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The handlers, and the delivery of events to them.
 *
 * Handlers are a singly linked list, sorted by priority. A delivery walks it without a lock
 * (readers.h); add and remove change one pointer at a time under a lock.
 */
#include "opal/memory/events/dispatch.h"

#include <limits.h>

#include "opal/memory/events/readers.h"

/* -- delivery ------------------------------------------------------------------- */

OPAL_MEMORY_HOT static bool is_running(const opal_memory_handler_t *handler)
{
    for (const opal_memory_frame_t *frame = opal_memory_thread.frames; frame != NULL;
         frame = frame->outer) {
        if (frame->handler == handler)
            return true;
    }
    return false;
}

/* Calls the handlers with priorities from `lowest` to `highest`. True: one has answered. */
OPAL_MEMORY_HOT static bool walk(opal_memory_event_t *event, int lowest, int highest)
{
    bool answered = false;
    opal_memory_read_section_t section = opal_memory_enter();
    for (opal_memory_handler_t *handler = atomic_load(&opal_memory_hot.first_handler);
         handler != NULL && handler->priority <= highest && !answered;
         handler = atomic_load(&handler->next)) {
        if ((handler->events & event->kind) == 0 || handler->priority < lowest ||
            is_running(handler))
            continue;
        opal_memory_frame_t frame = {handler, opal_memory_thread.frames};
        opal_memory_thread.frames = &frame;
        answered = handler->fn(event, handler->context) == OPAL_MEMORY_ANSWER;
        opal_memory_thread.frames = frame.outer;
    }
    opal_memory_leave(section);
    return answered;
}

OPAL_MEMORY_HOT bool opal_memory_deliver(opal_memory_event_t *event, bool after)
{
    const unsigned vm_events = OPAL_MEMORY_VM_MAPPED | OPAL_MEMORY_VM_UNMAPPED;
    unsigned wanted = atomic_load_explicit(&opal_memory_hot.interest, memory_order_relaxed);
    if ((wanted >> (after ? OPAL_MEMORY_AFTER_SHIFT : 0) & event->kind) == 0)
        return false;
    if ((event->kind & vm_events) != 0)
        return walk(event, INT_MIN, INT_MAX);
    return after ? walk(event, 0, INT_MAX) : walk(event, INT_MIN, -1);
}

OPAL_MEMORY_HOT void opal_memory_deliver_vm(unsigned kind, uintptr_t start, size_t length)
{
    if (length == 0 || !opal_memory_wanted(kind))
        return;
    opal_memory_event_t event = {.kind = kind, .vm = {(void *)start, length}};
    walk(&event, INT_MIN, INT_MAX);
}

bool opal_memory_raise(opal_memory_event_t *event, bool after)
{
    return opal_memory_deliver(event, after);
}

void opal_memory_mapped(void *address, size_t length)
{
    opal_memory_deliver_vm(OPAL_MEMORY_VM_MAPPED, (uintptr_t)address, length);
}

void opal_memory_unmapped(void *address, size_t length)
{
    opal_memory_deliver_vm(OPAL_MEMORY_VM_UNMAPPED, (uintptr_t)address, length);
}

bool opal_memory_unmapping_matters(void)
{
    return opal_memory_wanted(OPAL_MEMORY_VM_UNMAPPED);
}

/* -- writers -------------------------------------------------------------------- */

static void update_interest(void)
{
    const unsigned vm_events = OPAL_MEMORY_VM_MAPPED | OPAL_MEMORY_VM_UNMAPPED;
    unsigned interest = 0;
    for (opal_memory_handler_t *handler = atomic_load(&opal_memory_hot.first_handler);
         handler != NULL; handler = atomic_load(&handler->next)) {
        unsigned events = handler->events & OPAL_MEMORY_ALL_EVENTS;
        unsigned before = handler->priority < 0 ? events : events & vm_events;
        unsigned after = handler->priority >= 0 ? events : events & vm_events;
        interest |= before | after << OPAL_MEMORY_AFTER_SHIFT;
    }
    atomic_store(&opal_memory_hot.interest, interest);
}

/* The pointer that leads to the first handler behind this priority, or to `handler` itself. */
static opal_memory_handler_t *_Atomic *find_link(const opal_memory_handler_t *handler, int priority)
{
    opal_memory_handler_t *_Atomic *link = &opal_memory_hot.first_handler;
    for (opal_memory_handler_t *at; (at = atomic_load(link)) != NULL; link = &at->next) {
        if (at == handler || at->priority > priority)
            break;
    }
    return link;
}

void opal_memory_handler_add_passive(opal_memory_handler_t *handler)
{
    opal_memory_lock(OPAL_MEMORY_LIST_LOCK);
    opal_memory_handler_t *_Atomic *link = find_link(handler, handler->priority);
    if (atomic_load(link) != handler) {
        atomic_store(&handler->next, atomic_load(link));
        atomic_store(link, handler);
        update_interest();
    }
    opal_memory_unlock(OPAL_MEMORY_LIST_LOCK);
}

bool opal_memory_handler_remove(opal_memory_handler_t *handler)
{
    opal_memory_lock(OPAL_MEMORY_LIST_LOCK);
    opal_memory_handler_t *_Atomic *link = find_link(handler, handler->priority);
    if (atomic_load(link) == handler) {
        /* Its own `next` stays: a reader that is at this handler walks on from there. */
        atomic_store(link, atomic_load(&handler->next));
        update_interest();
    }
    opal_memory_unlock(OPAL_MEMORY_LIST_LOCK);
    return opal_memory_quiesce();
}
