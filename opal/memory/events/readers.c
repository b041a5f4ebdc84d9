/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The page of the readers, the locks in it, and waiting for read sections.
 *
 * No function of libc that may be hooked is called here: system calls go by syscall(). The locks
 * are not those of opal/threads/lock.c: they lie in the page, so that a child of fork finds them
 * free.
 */
#include "opal/memory/events/readers.h"

#include <errno.h>
#include <limits.h>
#include <sched.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "opal/threads/futex.h"
#include "opal/threads/membarrier.h"

enum { PAGE_ALIGNMENT = 4096 };

/* `shared` is set before the first handler is in the list, and never again. */
opal_memory_hot_t opal_memory_hot;

_Thread_local opal_memory_thread_t opal_memory_thread __attribute__((tls_model("initial-exec")));

/* The system has membarrier, so threads may have slots. Set before the page is there. */
static atomic_bool has_barrier;

/* -- the page ------------------------------------------------------------------- */

/* Without MADV_WIPEONFORK a child of a threaded program may wait for ever when it removes a
 * handler. Everything else works. */
static void make_page(void)
{
    static opal_memory_shared_t plain;
    opal_memory_shared_t *none = NULL;
    if (atomic_load(&opal_memory_hot.shared) != NULL)
        return;
    atomic_store(&opal_memory_hot.page_bytes, (size_t)getpagesize());
    atomic_store(&has_barrier, opal_membarrier(MEMBARRIER_CMD_REGISTER_PRIVATE_EXPEDITED));
    size_t size =
        (sizeof(opal_memory_shared_t) + PAGE_ALIGNMENT - 1) / PAGE_ALIGNMENT * PAGE_ALIGNMENT;
    void *page = (void *)syscall(SYS_mmap, NULL, size, PROT_READ | PROT_WRITE,
                                 MAP_PRIVATE | MAP_ANONYMOUS, -1, 0L);
    bool usable = page != MAP_FAILED && syscall(SYS_madvise, page, size, MADV_WIPEONFORK) == 0;
    bool used =
        atomic_compare_exchange_strong(&opal_memory_hot.shared, &none, usable ? page : &plain) &&
        usable;
    if (page != MAP_FAILED && !used)
        syscall(SYS_munmap, page, size);
}

/* -- locks ---------------------------------------------------------------------- */

void opal_memory_lock(opal_memory_lock_t which)
{
    make_page();
    atomic_uint *word = &atomic_load(&opal_memory_hot.shared)->locks[which];
    unsigned seen = 0;
    if (atomic_compare_exchange_strong(word, &seen, 1))
        return;
    while (atomic_exchange(word, 2) != 0)
        opal_futex_wait(word, 2, OPAL_FUTEX_PRIVATE);
}

void opal_memory_unlock(opal_memory_lock_t which)
{
    atomic_uint *word = &atomic_load(&opal_memory_hot.shared)->locks[which];
    if (atomic_exchange(word, 0) == 2)
        opal_futex_wake(word, 1, OPAL_FUTEX_PRIVATE);
}

/* -- readers -------------------------------------------------------------------- */

static opal_memory_slot_t *take_slot(opal_memory_slot_t *slot)
{
    opal_memory_thread.slot = slot;
    return slot;
}

opal_memory_slot_t *opal_memory_claim_slot(void)
{
    opal_memory_shared_t *page = atomic_load(&opal_memory_hot.shared);
    uintptr_t me = (uintptr_t)&opal_memory_thread;
    if (opal_memory_thread.is_in_overflow || !atomic_load(&has_barrier))
        return NULL;
    for (size_t i = 0; i < OPAL_MEMORY_SLOTS; i++) {
        if (atomic_load(&page->slots[i].owner) == me)
            return take_slot(&page->slots[i]);
    }
    for (size_t i = 0; i < OPAL_MEMORY_SLOTS; i++) {
        uintptr_t nobody = 0;
        if (atomic_compare_exchange_strong(&page->slots[i].owner, &nobody, me))
            return take_slot(&page->slots[i]);
    }
    opal_memory_thread.is_in_overflow = true;
    return NULL;
}

atomic_uint *opal_memory_enter_overflow(void)
{
    opal_memory_shared_t *page = atomic_load(&opal_memory_hot.shared);
    /* Thread-local storage of threads lies apart by whole stacks, mostly by powers of two. */
    uintptr_t thread = (uintptr_t)&opal_memory_thread;
    size_t index = (size_t)((thread >> 12 ^ thread >> 20) % OPAL_MEMORY_OVERFLOW);
    atomic_uint *inside = &page->overflow[index].inside[atomic_load(&page->epoch)];
    atomic_fetch_add(inside, 1);
    return inside;
}

void opal_memory_wake(atomic_uint *word)
{
    opal_futex_wake(word, INT_MAX, OPAL_FUTEX_PRIVATE);
}

/* -- writers -------------------------------------------------------------------- */

/* A child of fork may have to register again. The kernel refuses nothing that it has agreed to;
 * only a filter of system calls that the program sets up meanwhile may, and then no barrier orders
 * a reader's stores. */
static void barrier_in_all_threads(void)
{
    if (!atomic_load(&has_barrier))
        return;
    do {
        opal_membarrier(MEMBARRIER_CMD_REGISTER_PRIVATE_EXPEDITED);
        if (opal_membarrier(MEMBARRIER_CMD_PRIVATE_EXPEDITED))
            return;
        sched_yield();
    } while (errno == ENOMEM); /* the kernel wants some for a moment */
}

static void wait_for_slots(opal_memory_shared_t *page)
{
    for (size_t i = 0; i < OPAL_MEMORY_SLOTS; i++) {
        atomic_uint *turns = &page->slots[i].turns;
        unsigned seen = atomic_load(turns);
        while (seen % 2 != 0 && atomic_load(turns) == seen)
            opal_futex_wait(turns, seen, OPAL_FUTEX_PRIVATE);
    }
}

static void wait_for_overflow(opal_memory_shared_t *page, unsigned epoch)
{
    for (size_t i = 0; i < OPAL_MEMORY_OVERFLOW; i++) {
        atomic_uint *inside = &page->overflow[i].inside[epoch];
        for (unsigned seen; (seen = atomic_load(inside)) != 0;)
            opal_futex_wait(inside, seen, OPAL_FUTEX_PRIVATE);
    }
}

bool opal_memory_inside_handler(void)
{
    return opal_memory_thread.frames != NULL;
}

bool opal_memory_quiesce(void)
{
    int saved_errno = errno;
    if (opal_memory_inside_handler())
        return false;
    opal_memory_lock(OPAL_MEMORY_GRACE_LOCK);
    opal_memory_shared_t *page = atomic_load(&opal_memory_hot.shared);
    atomic_store(&page->waiting, true);
    barrier_in_all_threads();
    wait_for_slots(page);
    for (unsigned round = 0; round < 2; round++) {
        unsigned old = atomic_load(&page->epoch);
        atomic_store(&page->epoch, old ^ 1);
        wait_for_overflow(page, old);
    }
    atomic_store(&page->waiting, false);
    opal_memory_unlock(OPAL_MEMORY_GRACE_LOCK);
    errno = saved_errno;
    return true;
}
