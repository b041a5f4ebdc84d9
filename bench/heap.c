/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Allocators beside each other: opal/heap, the C library's, and those that dlopen finds. A line for
 * each workload and allocator, twice: its time, and its peak memory.
 *
 *   ALLOCATOR NAME SIZE MEDIAN UNIT BEST       (after the first word as in samples.h)
 *
 *   heap [--quick] [NAME]
 *
 * Each run is a process of its own, so that none sees what another one left, and they take turns:
 * A B C, B C A, ... A workload is compiled once, and calls the allocator by a table.
 */
#include "heap.h"

#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "opal/heap/system.h"
#include "samples.h"

enum { MAX_ALLOCATORS = 4, REPEATS = 9, QUICK_REPEATS = 3, QUICK_SHARE = 10 };

/* -- the allocators -------------------------------------------------------------------- */

static opal_heap_t heap;

static void *our_malloc(size_t bytes)
{
    return opal_heap_malloc(&heap, bytes);
}

static void our_free(void *block)
{
    opal_heap_free(&heap, block);
}

static void *our_calloc(size_t count, size_t bytes)
{
    return opal_heap_calloc(&heap, count, bytes);
}

static void *our_realloc(void *block, size_t bytes)
{
    return opal_heap_realloc(&heap, block, bytes);
}

static void *our_aligned_alloc(size_t alignment, size_t bytes)
{
    return opal_heap_memalign(&heap, alignment, bytes);
}

static void open_ours(void)
{
    static opal_heap_system_t source;
    opal_heap_config_t config = {.bytes = 0};
    int error = opal_heap_system_open(&source, &config);
    if (error == 0)
        error = opal_heap_open(&heap, &config);
    if (error != 0) {
        fprintf(stderr, "heap: %s\n", strerror(error));
        exit(1);
    }
}

typedef struct allocator {
    const char *name, *library, *prefix;
    bench_allocator_t calls;
} allocator_t;

static allocator_t allocators[MAX_ALLOCATORS] = {
    {.name = "Mica", .calls = {our_malloc, our_free, our_calloc, our_realloc, our_aligned_alloc}},
    {.name = "glibc", .calls = {malloc, free, calloc, realloc, aligned_alloc}},
    {.name = "mimalloc", .library = "libmimalloc.so.2", .prefix = "mi_"},
    {.name = "jemalloc", .library = "libjemalloc.so.2", .prefix = ""},
};

/* A function of the library, not one that another library puts in front of it. */
static void *find(void *library, const char *prefix, const char *name)
{
    char symbol[64];
    snprintf(symbol, sizeof symbol, "%s%s", prefix, name);
    return dlsym(library, symbol);
}

/* Whether it can take part. */
static int load(allocator_t *allocator)
{
    bench_allocator_t *calls = &allocator->calls;
    if (allocator->library == NULL)
        return 1;
    void *library = dlopen(allocator->library, RTLD_NOW | RTLD_LOCAL);
    if (library == NULL)
        return 0;
    *(void **)&calls->malloc = find(library, allocator->prefix, "malloc");
    *(void **)&calls->free = find(library, allocator->prefix, "free");
    *(void **)&calls->calloc = find(library, allocator->prefix, "calloc");
    *(void **)&calls->realloc = find(library, allocator->prefix, "realloc");
    *(void **)&calls->aligned_alloc = find(library, allocator->prefix, "aligned_alloc");
    if (calls->aligned_alloc == NULL) /* its arguments are swapped in mimalloc's own order */
        *(void **)&calls->aligned_alloc = find(library, allocator->prefix, "memalign");
    return calls->malloc != NULL && calls->aligned_alloc != NULL;
}

/* -- one run --------------------------------------------------------------------------- */

typedef struct outcome {
    double sec;
    long peak_kib;
} outcome_t;

/* A field of /proc/self/status. */
static long status_kib(const char *field)
{
    FILE *file = fopen("/proc/self/status", "r");
    char line[128];
    long kib = 0;
    size_t length = strlen(field);
    while (file != NULL && fgets(line, sizeof line, file) != NULL)
        if (strncmp(line, field, length) == 0)
            kib = strtol(line + length, NULL, 10);
    if (file != NULL)
        fclose(file);
    return kib;
}

/* From here on the peak counts anew. */
static long forget_peak(void)
{
    FILE *file = fopen("/proc/self/clear_refs", "w");
    if (file != NULL) {
        fputs("5", file);
        fclose(file);
    }
    return status_kib("VmRSS:");
}

static void run_here(const bench_workload_t *workload, const allocator_t *allocator, int share,
                     int answer)
{
    if (allocator->library == NULL && allocator->calls.malloc == our_malloc)
        open_ours();
    long before = forget_peak();
    outcome_t outcome = {.sec = workload->run(&allocator->calls, share)};
    outcome.peak_kib = status_kib("VmHWM:") - before;
    if (write(answer, &outcome, sizeof outcome) != (ssize_t)sizeof outcome)
        _exit(1);
    _exit(0);
}

/* False: it died. */
static int run_once(const bench_workload_t *workload, const allocator_t *allocator, int share,
                    outcome_t *outcome)
{
    int pipe_ends[2], status;
    if (pipe(pipe_ends) != 0)
        return 0;
    pid_t child = fork();
    if (child == 0)
        run_here(workload, allocator, share, pipe_ends[1]);
    close(pipe_ends[1]);
    ssize_t length = read(pipe_ends[0], outcome, sizeof *outcome);
    close(pipe_ends[0]);
    return waitpid(child, &status, 0) == child && status == 0 && length == (ssize_t)sizeof *outcome;
}

static int compare(const void *a, const void *b)
{
    long x = *(const long *)a, y = *(const long *)b;
    return (x > y) - (x < y);
}

static int measure(const bench_workload_t *workload, int quick)
{
    static bench_samples_t times[MAX_ALLOCATORS];
    long peaks[MAX_ALLOCATORS][REPEATS];
    int repeats = quick ? QUICK_REPEATS : REPEATS, failed = 0;
    memset(times, 0, sizeof times);
    for (int turn = 0; turn < repeats; turn++)
        for (int i = 0; i < MAX_ALLOCATORS; i++) {
            int who = (turn + i) % MAX_ALLOCATORS;
            outcome_t outcome;
            if (allocators[who].calls.malloc == NULL)
                continue;
            if (!run_once(workload, &allocators[who], quick ? QUICK_SHARE : 1, &outcome)) {
                fprintf(stderr, "heap: %s failed in %s\n", allocators[who].name, workload->name);
                failed = 1;
                continue;
            }
            peaks[who][times[who].count] = outcome.peak_kib;
            bench_add_sample(&times[who], outcome.sec);
        }
    for (int who = 0; who < MAX_ALLOCATORS; who++) {
        int count = times[who].count;
        if (count == 0)
            continue;
        qsort(peaks[who], (size_t)count, sizeof peaks[who][0], compare);
        printf("%s ", allocators[who].name);
        bench_print(workload->name, workload->threads, BENCH_USEC, 1, &times[who]);
        if (workload->has_peak)
            printf("%s memory/%s %d %ld KiB %ld\n", allocators[who].name, workload->name,
                   workload->threads, peaks[who][count / 2], peaks[who][0]);
    }
    return failed;
}

int main(int argc, char **argv)
{
    int quick = 0, failed = 0;
    const char *name = NULL;
    for (int i = 1; i < argc; i++)
        if (strcmp(argv[i], "--quick") == 0)
            quick = 1;
        else
            name = argv[i];
    for (int i = 0; i < MAX_ALLOCATORS; i++)
        if (!load(&allocators[i]))
            allocators[i].calls.malloc = NULL;
    for (const bench_workload_t *workload = bench_workloads; workload->name != NULL; workload++)
        if (name == NULL || strcmp(name, workload->name) == 0)
            failed |= measure(workload, quick);
    return failed;
}
