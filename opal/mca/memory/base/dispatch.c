/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The handlers, and the delivery of events to them.
 *
 * Handlers are a singly linked list, sorted by priority. Who delivers (a reader) walks it without a
 * lock; who adds or removes (a writer) changes one pointer at a time under a lock. A removed
 * handler may still be in some reader's hands, so its owner waits until all readers that could have
 * seen it are out:
 *
 *   reader   inside[epoch] += 1; walk the list; inside[epoch] -= 1
 *   writer   unlink; twice: { old = epoch; epoch ^= 1; wait until inside[old] is 0 }
 *
 * Switching the epoch keeps new readers out of the count that is waited for. Twice, since a reader
 * may have read the epoch before a switch and count itself only after it. The counts are spread
 * over shards by thread, so that threads do not fight for a cache line. All of it is sequentially
 * consistent: a reader that counts itself too late to be waited for sees the list without the
 * handler.
 *
 * Counts and locks lie in a page that fork zeroes in the child (MADV_WIPEONFORK): the child has one
 * thread, which is in no handler, and what the other threads held or counted is none of its
 * business. A child of vfork shares the page as it shares the list.
 */
#include "opal/mca/memory/base/dispatch.h"

#include <limits.h>
#include <linux/futex.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

enum { SHARDS = 16, LINE_BYTES = 64, PAGE_ALIGNMENT = 4096 };

typedef struct shard {
    _Alignas(LINE_BYTES) atomic_uint inside[2]; /* readers by epoch; futex */
} shard_t;

typedef struct opal_memory_shared {
    shard_t shards[SHARDS];
    _Alignas(LINE_BYTES) atomic_uint epoch;    /* 0 or 1 */
    atomic_bool waiting;                       /* a writer sleeps on some `inside` */
    atomic_uint locks[OPAL_MEMORY_LOCK_COUNT]; /* futex: 0 free, 1 held, 2 held and wanted */
} shared_t;

/* A handler that this thread is running; they nest when handlers map and unmap. */
typedef struct frame {
    const opal_memory_handler_t *handler;
    struct frame *outer;
} frame_t;

/* `shared` is set before the first handler is in the list, and never again. */
opal_memory_hot_t opal_memory_hot;

/* initial-exec: no allocation at a thread's first access. */
static _Thread_local frame_t *frames __attribute__((tls_model("initial-exec")));

/* -- the page ------------------------------------------------------------------- */

/* Where the system has no MADV_WIPEONFORK, a child of a threaded program may wait for ever when it
 * removes a handler: everything else works there too. */
static void make_page(void)
{
    static shared_t plain;
    shared_t *none = NULL;
    if (atomic_load(&opal_memory_hot.shared) != NULL)
        return;
    atomic_store(&opal_memory_hot.page_bytes, (size_t)getpagesize());
    /* By syscall(): the functions may be hooked. */
    size_t size = (sizeof(shared_t) + PAGE_ALIGNMENT - 1) / PAGE_ALIGNMENT * PAGE_ALIGNMENT;
    void *page = (void *)syscall(SYS_mmap, NULL, size, PROT_READ | PROT_WRITE,
                                 MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    bool usable = page != MAP_FAILED && syscall(SYS_madvise, page, size, MADV_WIPEONFORK) == 0;
    bool used =
        atomic_compare_exchange_strong(&opal_memory_hot.shared, &none, usable ? page : &plain) &&
        usable;
    if (page != MAP_FAILED && !used)
        syscall(SYS_munmap, page, size);
}

/* -- locks ---------------------------------------------------------------------- */

static void futex_wait(atomic_uint *word, unsigned seen)
{
    syscall(SYS_futex, word, FUTEX_WAIT_PRIVATE, seen, NULL, NULL, 0);
}

static void futex_wake(atomic_uint *word, int count)
{
    syscall(SYS_futex, word, FUTEX_WAKE_PRIVATE, count, NULL, NULL, 0);
}

void opal_memory_lock(opal_memory_lock_t which)
{
    make_page();
    atomic_uint *word = &atomic_load(&opal_memory_hot.shared)->locks[which];
    unsigned seen = 0;
    if (atomic_compare_exchange_strong(word, &seen, 1))
        return;
    while (atomic_exchange(word, 2) != 0)
        futex_wait(word, 2);
}

void opal_memory_unlock(opal_memory_lock_t which)
{
    atomic_uint *word = &atomic_load(&opal_memory_hot.shared)->locks[which];
    if (atomic_exchange(word, 0) == 2)
        futex_wake(word, 1);
}

/* -- readers -------------------------------------------------------------------- */

OPAL_MEMORY_HOT static atomic_uint *enter(void)
{
    shared_t *page = atomic_load_explicit(&opal_memory_hot.shared, memory_order_acquire);
    /* Thread-local storage of threads lies apart by whole stacks, mostly by powers of two. */
    uintptr_t thread = (uintptr_t)&frames;
    size_t shard = (size_t)((thread >> 12 ^ thread >> 20) % SHARDS);
    atomic_uint *inside = &page->shards[shard].inside[atomic_load(&page->epoch)];
    atomic_fetch_add(inside, 1);
    return inside;
}

OPAL_MEMORY_HOT static void leave(atomic_uint *inside)
{
    if (atomic_fetch_sub(inside, 1) == 1 &&
        atomic_load(&atomic_load(&opal_memory_hot.shared)->waiting))
        futex_wake(inside, INT_MAX);
}

OPAL_MEMORY_HOT static bool is_running(const opal_memory_handler_t *handler)
{
    for (const frame_t *frame = frames; frame != NULL; frame = frame->outer) {
        if (frame->handler == handler)
            return true;
    }
    return false;
}

bool opal_memory_inside_handler(void)
{
    return frames != NULL;
}

/* Tells the handlers with priorities from `lowest` to `highest`. True: one has answered. */
OPAL_MEMORY_HOT static bool walk(opal_memory_event_t *event, int lowest, int highest)
{
    bool answered = false;
    atomic_uint *inside = enter();
    for (opal_memory_handler_t *handler = atomic_load(&opal_memory_hot.first_handler);
         handler != NULL && handler->priority <= highest && !answered;
         handler = atomic_load(&handler->next)) {
        if ((handler->events & event->kind) == 0 || handler->priority < lowest ||
            is_running(handler))
            continue;
        frame_t frame = {handler, frames};
        frames = &frame;
        answered = handler->fn(event, handler->context) == OPAL_MEMORY_ANSWER;
        frames = frame.outer;
    }
    leave(inside);
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
        /* Its own `next` stays: who stands on it walks on from there. */
        atomic_store(link, atomic_load(&handler->next));
        update_interest();
    }
    opal_memory_unlock(OPAL_MEMORY_LIST_LOCK);
    return opal_memory_quiesce();
}

static void wait_for_readers(shared_t *page, unsigned epoch)
{
    for (size_t i = 0; i < SHARDS; i++) {
        atomic_uint *inside = &page->shards[i].inside[epoch];
        for (unsigned seen; (seen = atomic_load(inside)) != 0;)
            futex_wait(inside, seen);
    }
}

bool opal_memory_quiesce(void)
{
    if (opal_memory_inside_handler())
        return false;
    opal_memory_lock(OPAL_MEMORY_GRACE_LOCK);
    shared_t *page = atomic_load(&opal_memory_hot.shared);
    atomic_store(&page->waiting, true);
    for (unsigned round = 0; round < 2; round++) {
        unsigned old = atomic_load(&page->epoch);
        atomic_store(&page->epoch, old ^ 1);
        wait_for_readers(page, old);
    }
    atomic_store(&page->waiting, false);
    opal_memory_unlock(OPAL_MEMORY_GRACE_LOCK);
    return true;
}
