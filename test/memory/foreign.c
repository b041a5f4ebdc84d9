/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Allocates, in threads, with whatever malloc this process has; the hooks hear what it unmaps or
 * drops. Argument "missing": some function is another library's, so that is reported instead. With
 * HAVE_UCM another library has hooks too, installed before ours (argument "first") or behind them:
 * both hear. Prints TAP.
 *
 * What is written inside a call of libc is volatile or atomic: libc's declarations promise that
 * such a call changes nothing of ours, and compilers believe them.
 */
#include <pthread.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#ifdef HAVE_UCM
#include <ucm/api/ucm.h>
#endif

#include "opal/memory/events/events.h"
#include "test/mpi/tap.h"

enum { THREADS = 4, ROUNDS = 100, LARGE = 64 << 20 };

static atomic_uintptr_t watched;
static atomic_uint ours, theirs;

static bool holds_watched(void *address, size_t length)
{
    uintptr_t start = (uintptr_t)address, wanted = atomic_load(&watched);
    return wanted != 0 && start <= wanted && wanted - start < length;
}

static opal_memory_verdict_t watch(opal_memory_event_t *event, void *context)
{
    (void)context;
    if (holds_watched(event->vm.address, event->vm.length))
        atomic_fetch_add(&ours, 1);
    return OPAL_MEMORY_PASS;
}

static opal_memory_handler_t handler = {.events = OPAL_MEMORY_VM_UNMAPPED, .fn = watch};

#ifdef HAVE_UCM
static void watch_ucm(ucm_event_type_t type, ucm_event_t *event, void *context)
{
    (void)type;
    (void)context;
    if (holds_watched(event->vm_unmapped.address, event->vm_unmapped.size))
        atomic_fetch_add(&theirs, 1);
}

static void install_other(void)
{
    ucs_status_t status = ucm_set_event_handler(UCM_EVENT_VM_UNMAPPED, 0, watch_ucm, NULL);
    tap_check(status == UCS_OK, "the other library has its hooks");
}
#endif

static void *allocate(void *context)
{
    for (size_t i = 0; i < ROUNDS; i++) {
        size_t size = (1 + i * 7919 % 3000) * 1000;
        char *volatile block = malloc(size);
        block[0] = block[size - 1] = (char)i;
        block = realloc(block, 2 * size);
        if (block[0] != (char)i || block[size - 1] != (char)i)
            abort();
        free(block);
    }
    return context;
}

static void check_missing(void)
{
    opal_memory_report_t report;
    opal_memory_events_report(OPAL_MEMORY_VM_UNMAPPED, &report);
    tap_check(report.finding == OPAL_MEMORY_MISSING && report.reason[0] != 0, "it is told why: %s",
              report.reason);
}

static void check_unmap(bool both)
{
    char *page = mmap(NULL, 4096, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    atomic_store(&ours, 0);
    atomic_store(&theirs, 0);
    atomic_store(&watched, (uintptr_t)page);
    munmap(page, 4096);
    atomic_store(&watched, 0);
    /* Twice if the function that we go on to asks for libc's, and is led to us. */
    unsigned most = getenv("WRAPPED") != NULL ? 2 : 1;
    tap_check(atomic_load(&ours) >= 1 && atomic_load(&ours) <= most, "we hear munmap");
    if (both)
        tap_check(atomic_load(&theirs) == 1, "and so does the other library");
}

static void check_free(void)
{
    char *volatile block = malloc(LARGE);
    memset(block, 1, LARGE);
    atomic_store(&ours, 0);
    atomic_store(&watched, (uintptr_t)block + LARGE / 2);
    free(block);
    atomic_store(&watched, 0);
    tap_check(atomic_load(&ours) > 0, "we hear what the allocator gives back");
}

int main(int argc, char **argv)
{
    pthread_t threads[THREADS];
    const char *mode = argc > 1 ? argv[1] : "";
    bool both = false, missing = strcmp(mode, "missing") == 0;
    tap_rank(0);
#ifdef HAVE_UCM
    bool first = strcmp(mode, "first") == 0;
    both = true;
    if (first)
        install_other();
#endif
    opal_status_t status = opal_memory_handler_add(&handler);
    if (!both)
        tap_check((status == OPAL_SUCCESS) != missing, "all events are verified, or said to miss");
#ifdef HAVE_UCM
    if (!first)
        install_other();
#endif
    for (size_t i = 0; i < THREADS; i++)
        pthread_create(&threads[i], NULL, allocate, NULL);
    for (size_t i = 0; i < THREADS; i++)
        pthread_join(threads[i], NULL);
    if (missing)
        check_missing();
    else
        check_unmap(both);
    if (!both && !missing) /* else what libc calls itself may be the other one's alone */
        check_free();
    tap_check(opal_memory_handler_remove(&handler), "and hear no more");
    return tap_finish();
}
