/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Read sections around deliveries, and waiting until they have ended: a form of RCU. Internal to
 * opal/memory.
 *
 * A thread that delivers (a reader) walks the list of handlers without a lock, in a read section. A
 * removed handler may still be in use by a reader, so the thread that removed it (a writer) waits
 * for all read sections that could have seen it:
 *
 *   reader   turns += 1 (now odd); walk the list; turns += 1 (now even)
 *   writer   unlink; barrier in all threads; of each slot: if turns is odd, wait until it changes
 *
 * A slot belongs to one thread, so its words are written by plain stores, which makes munmap's hook
 * cheap. The writer orders them: membarrier is a full barrier on every processor that runs a thread
 * of this process. A reader whose odd number the writer does not see begins its walk behind the
 * barrier, and does not find the handler.
 *
 * The overflow is for readers without a slot, because there are more threads than slots, or no
 * membarrier:
 *
 *   reader   inside[epoch] += 1; walk the list; inside[epoch] -= 1      (atomic)
 *   writer   unlink; twice: { old = epoch; epoch ^= 1; wait until inside[old] is 0 }
 *
 * Switching the epoch keeps new readers out of the count that is waited for. Twice, since a reader
 * may have read the epoch before a switch and count itself only after it. All of it is sequentially
 * consistent: a reader that counts itself too late to be waited for sees the list without the
 * handler.
 *
 * Slots, counts and locks lie in a page that fork zeroes in the child (MADV_WIPEONFORK): the child
 * has one thread, which is in no handler, and the locks and counts of the parent's other threads
 * mean nothing there. A child of vfork shares the page as it shares the list.
 */
#ifndef OPAL_MEMORY_EVENTS_READERS_H
#define OPAL_MEMORY_EVENTS_READERS_H

#include <stdatomic.h>

#include "opal/memory/events/dispatch.h"

enum { OPAL_MEMORY_OVERFLOW = 4, OPAL_MEMORY_SLOTS = 58, OPAL_MEMORY_LINE_BYTES = 64 };

typedef struct opal_memory_slot {
    _Alignas(OPAL_MEMORY_LINE_BYTES) atomic_uint turns; /* the owner writes it; futex */
    /* The address of the owner's opal_memory_thread; 0: none. A thread that has ended leaves its
     * slot to the thread that gets its address. */
    atomic_uintptr_t owner;
} opal_memory_slot_t;

typedef struct opal_memory_overflow {
    _Alignas(OPAL_MEMORY_LINE_BYTES) atomic_uint inside[2]; /* readers by epoch; futex */
} opal_memory_overflow_t;

typedef struct opal_memory_shared {
    opal_memory_slot_t slots[OPAL_MEMORY_SLOTS];
    opal_memory_overflow_t overflow[OPAL_MEMORY_OVERFLOW];
    _Alignas(OPAL_MEMORY_LINE_BYTES) atomic_uint epoch; /* 0 or 1 */
    atomic_bool waiting;                       /* a writer sleeps until a read section ends */
    atomic_uint locks[OPAL_MEMORY_LOCK_COUNT]; /* futex: 0 free, 1 held, 2 held and wanted */
} opal_memory_shared_t;

/* A handler that this thread is running; they nest when handlers map and unmap. */
typedef struct opal_memory_frame {
    const opal_memory_handler_t *handler;
    struct opal_memory_frame *outer;
} opal_memory_frame_t;

typedef struct opal_memory_thread {
    opal_memory_frame_t *frames;
    opal_memory_slot_t
        *slot;           /* of the last read section; in a child of fork another page is there */
    bool is_in_overflow; /* there was no free slot */
    bool below;          /* inside a function that a hook goes on to: system.c */
} opal_memory_thread_t;

/* initial-exec: no allocation at a thread's first access. */
extern _Thread_local opal_memory_thread_t opal_memory_thread
    __attribute__((tls_model("initial-exec")));

/* A slot for this thread, or NULL. */
opal_memory_slot_t *opal_memory_claim_slot(void);

/* Begins a read section without a slot, and returns its counter. */
atomic_uint *opal_memory_enter_overflow(void);

/* Wakes a writer that sleeps on this word. */
void opal_memory_wake(atomic_uint *word);

/* A read section; both NULL: one inside another, which ends nothing. */
typedef struct opal_memory_read_section {
    opal_memory_slot_t *slot;
    atomic_uint *overflow;
} opal_memory_read_section_t;

static inline opal_memory_read_section_t opal_memory_enter(void)
{
    opal_memory_read_section_t section = {.slot = opal_memory_thread.slot};
    if (opal_unlikely(section.slot == NULL ||
                      atomic_load_explicit(&section.slot->owner, memory_order_relaxed) !=
                          (uintptr_t)&opal_memory_thread))
        section.slot = opal_memory_claim_slot();
    if (opal_unlikely(section.slot == NULL)) {
        section.overflow = opal_memory_enter_overflow();
        return section;
    }
    unsigned turns = atomic_load_explicit(&section.slot->turns, memory_order_relaxed);
    if (opal_unlikely(turns % 2 != 0))
        return (opal_memory_read_section_t){0};
    atomic_store_explicit(&section.slot->turns, turns + 1, memory_order_relaxed);
    atomic_signal_fence(
        memory_order_seq_cst); /* for the processor the writer's membarrier orders this */
    return section;
}

static inline void opal_memory_leave(opal_memory_read_section_t section)
{
    atomic_uint *word = section.overflow;
    if (opal_likely(section.slot != NULL)) {
        word = &section.slot->turns;
        unsigned turns = atomic_load_explicit(word, memory_order_relaxed);
        atomic_store_explicit(word, turns + 1, memory_order_release);
        atomic_signal_fence(memory_order_seq_cst);
    } else if (word == NULL || atomic_fetch_sub(word, 1) != 1) {
        return;
    }
    opal_memory_shared_t *page =
        atomic_load_explicit(&opal_memory_hot.shared, memory_order_relaxed);
    if (opal_unlikely(atomic_load_explicit(&page->waiting, memory_order_seq_cst)))
        opal_memory_wake(word);
}

#endif
