/* SPDX-License-Identifier: BSD-3-Clause */
/* The calls, and a handler that notes what it hears from this thread. */
#include "opal/memory/hooks/probe.h"

#include <errno.h>
#include <limits.h>
#include <pthread.h>
#include <stdatomic.h>
#include <sys/mman.h>
#include <sys/shm.h>
#include <unistd.h>

typedef struct probe {
    pthread_t thread;
    atomic_uint heard; /* kinds of events since the call began; libc's declarations promise that its
                        * calls change nothing of ours, and compilers believe them */
    void *const *functions;
    char *pages;   /* what a call may work on */
    size_t length; /* of what is left of them: other threads may have the rest by now */
} probe_t;

static opal_memory_verdict_t hear(opal_memory_event_t *event, void *context)
{
    probe_t *probe = context;
    if (pthread_equal(pthread_self(), probe->thread))
        atomic_fetch_or(&probe->heard, event->kind);
    return OPAL_MEMORY_PASS;
}

/* What to call: the function given, or the one that the name leads to. */
#define CALL(probe, call, name)                                                                    \
    ((probe)->functions != NULL ? (__typeof__(&(name)))(probe)->functions[OPAL_MEMORY_CALL_##call] \
                                : &(name))

/* Makes one call; returns the events that it must raise. */
static unsigned make_call(probe_t *probe, opal_memory_call_t call)
{
    size_t page = (size_t)getpagesize();
    switch (call) {
    case OPAL_MEMORY_CALL_MMAP: {
        void *pages =
            CALL(probe, MMAP, mmap)(NULL, 2 * page, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
        if (pages != MAP_FAILED)
            opal_memory_system_munmap(pages, 2 * page);
        return OPAL_MEMORY_MMAP | OPAL_MEMORY_VM_MAPPED;
    }
    case OPAL_MEMORY_CALL_MREMAP:
        if (CALL(probe, MREMAP, mremap)(probe->pages, 2 * page, page, 0) != MAP_FAILED)
            probe->length = page;
        return OPAL_MEMORY_MREMAP | OPAL_MEMORY_VM_UNMAPPED;
    case OPAL_MEMORY_CALL_MADVISE:
        CALL(probe, MADVISE, madvise)(probe->pages, page, MADV_DONTNEED);
        return OPAL_MEMORY_VM_UNMAPPED;
    case OPAL_MEMORY_CALL_MUNMAP:
        if (CALL(probe, MUNMAP, munmap)(probe->pages, 2 * page) == 0)
            probe->length = 0;
        return OPAL_MEMORY_MUNMAP | OPAL_MEMORY_VM_UNMAPPED;
    case OPAL_MEMORY_CALL_SHMAT:
        CALL(probe, SHMAT, shmat)(-1, NULL, 0);
        return OPAL_MEMORY_SHMAT;
    case OPAL_MEMORY_CALL_SHMDT:
        CALL(probe, SHMDT, shmdt)(NULL);
        return OPAL_MEMORY_SHMDT;
    case OPAL_MEMORY_CALL_SBRK:
        CALL(probe, SBRK, sbrk)(0);
        return OPAL_MEMORY_SBRK;
    case OPAL_MEMORY_CALL_BRK:
        return CALL(probe, BRK, brk)(NULL) == 0 ? OPAL_MEMORY_SBRK : 0;
    default:
        return 0;
    }
}

static bool is_caught(probe_t *probe, opal_memory_call_t call)
{
    probe->length = 2 * (size_t)getpagesize();
    probe->pages =
        opal_memory_system_mmap(NULL, probe->length, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (probe->pages == MAP_FAILED)
        return false;
    atomic_store(&probe->heard, 0);
    unsigned expected = make_call(probe, call);
    bool caught = expected != 0 && (atomic_load(&probe->heard) & expected) == expected;
    if (probe->length > 0)
        opal_memory_system_munmap(probe->pages, probe->length);
    return caught;
}

unsigned opal_memory_probe(unsigned calls, void *const *functions)
{
    probe_t probe = {.thread = pthread_self(), .functions = functions};
    opal_memory_handler_t handler = {
        .events = OPAL_MEMORY_ALL_EVENTS, .priority = INT_MIN, .fn = hear, .context = &probe};
    unsigned caught = 0;
    int saved_errno = errno;

    opal_memory_handler_add_passive(&handler);
    for (unsigned call = 0; call < OPAL_MEMORY_CALL_COUNT; call++) {
        if ((calls & 1U << call) != 0 && is_caught(&probe, (opal_memory_call_t)call))
            caught |= 1U << call;
    }
    opal_memory_handler_remove(&handler);
    errno = saved_errno;
    return caught;
}
