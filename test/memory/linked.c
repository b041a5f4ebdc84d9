/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A program that has the memory layer in it by some way of linking, which must change nothing:
 * every event is caught by the method that the argument names, and the allocator serves under its
 * own names, in threads and in a child. Prints TAP.
 */
#include <pthread.h>
#include <stdatomic.h>
#include <stdint.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "opal/memory/events/events.h"
#include "opal/mca/memory/ptmalloc2/symbols.h"
#include "test/mpi/tap.h"

enum { PAGE = 4096, LARGE = 64 << 20, THREADS = 4, ROUNDS = 3000 };

static atomic_uintptr_t watched;
static atomic_uint gone;

static opal_memory_verdict_t watch(opal_memory_event_t *event, void *context)
{
    uintptr_t start = (uintptr_t)event->vm.address, wanted = atomic_load(&watched);
    (void)context;
    if (event->kind == OPAL_MEMORY_VM_UNMAPPED && start <= wanted &&
        wanted - start < event->vm.length)
        atomic_fetch_add(&gone, 1);
    return OPAL_MEMORY_PASS;
}

static unsigned times_gone(void)
{
    return atomic_exchange(&gone, 0);
}

static void check_methods(const char *wanted)
{
    for (unsigned event = 1; event < OPAL_MEMORY_ALL_EVENTS; event <<= 1) {
        opal_memory_report_t report;
        opal_memory_events_report(event, &report);
        const char *method = opal_memory_method_name(report.method);
        tap_check(report.finding == OPAL_MEMORY_VERIFIED && strcmp(method, wanted) == 0,
                  "%s is caught by %s: %s", opal_memory_event_name(event), wanted, method);
    }
}

static void check_calls(void)
{
    char *pages = mmap(NULL, 3 * PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    atomic_store(&watched, (uintptr_t)pages + 2 * PAGE);
    tap_check(mremap(pages, 3 * PAGE, 2 * PAGE, 0) == pages && times_gone() == 1, "mremap");
    atomic_store(&watched, (uintptr_t)pages);
    tap_check(madvise(pages, PAGE, MADV_DONTNEED) == 0 && times_gone() == 1, "madvise");
    tap_check(munmap(pages, 2 * PAGE) == 0 && times_gone() == 1, "munmap");
}

static void check_allocator(void)
{
    char *block = opal_memory_ptmalloc2_malloc(100);
    memset(block, 7, 100);
    block = opal_memory_ptmalloc2_realloc(block, LARGE);
    tap_check(block != NULL && block[99] == 7, "realloc keeps what is in the block");
    memset(block, 1, LARGE);
    atomic_store(&watched, (uintptr_t)block + LARGE / 2);
    opal_memory_ptmalloc2_free(block);
    tap_check(times_gone() > 0, "what free gives back is reported");
}

static void *allocate(void *number)
{
    uintptr_t wrong = 0;
    for (size_t i = 1; i <= ROUNDS; i++) {
        unsigned char *block = opal_memory_ptmalloc2_memalign(64, i * 37 % 70000 + 1);
        memset(block, (int)(i % 251), i * 37 % 70000 + 1);
        wrong += (uintptr_t)block % 64 != 0 || block[i * 37 % 70000] != i % 251;
        opal_memory_ptmalloc2_free(block);
    }
    return (void *)((uintptr_t)number + wrong);
}

static uintptr_t allocate_in_threads(void)
{
    pthread_t threads[THREADS];
    uintptr_t wrong = 0;
    for (size_t i = 0; i < THREADS; i++)
        wrong += pthread_create(&threads[i], NULL, allocate, NULL) != 0;
    for (size_t i = 0; i < THREADS; i++) {
        void *result;
        pthread_join(threads[i], &result);
        wrong += (uintptr_t)result;
    }
    return wrong;
}

int main(int argc, char **argv)
{
    int status = -1;
    opal_memory_handler_t handler = {.events = OPAL_MEMORY_ALL_EVENTS, .fn = watch};
    tap_rank(0);
    tap_check(opal_memory_handler_add(&handler) == OPAL_SUCCESS, "every event is caught");
    check_methods(argc > 1 ? argv[1] : "");
    check_calls();
    check_allocator();
    tap_check(allocate_in_threads() == 0, "threads allocate");
    fflush(stdout);
    pid_t child = fork();
    if (child == 0)
        _exit(allocate_in_threads() == 0 ? 7 : 8);
    tap_check(waitpid(child, &status, 0) == child && status == 7 << 8, "and so does a child");
    tap_check(opal_memory_handler_remove(&handler), "the handler is taken out");
    return tap_finish();
}
