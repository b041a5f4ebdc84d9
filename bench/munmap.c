/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What the hook costs munmap: ./dev bench memory-munmap, or make bench/munmap && bench/munmap. With
 * --quick only whether it works.
 *
 * The hooks cannot be taken out again, so there is no changing back and forth between with and
 * without. Instead munmap takes turns with the bare system call, before the hooks are installed,
 * with them, and with a handler; each time by what the bare call takes at that time. The last
 * column is that ratio by the one of libc's own munmap.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>

#include "opal/arch/syscall.h"
#include "opal/memory/events/events.h"

enum { BATCH = 64, MOST_ROUNDS = 2000, QUICK_ROUNDS = 40, PAGE = 4096 };

static size_t rounds = MOST_ROUNDS;

static const struct {
    const char *name;
    size_t pages;
    bool touched;
} cases[] = {
    {"1 page, never touched", 1, false},
    {"1 page", 1, true},
    {"16 pages", 16, true},
};

enum { CASES = sizeof cases / sizeof cases[0] };

static void *areas[BATCH];
static double plain[CASES]; /* ratio without hooks */

static opal_memory_verdict_t add(opal_memory_event_t *event, void *context)
{
    *(volatile size_t *)context += event->vm.length;
    return OPAL_MEMORY_PASS;
}

static double now_nsec(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec * 1e9 + (double)now.tv_nsec;
}

static void map_all(size_t bytes, bool touched)
{
    for (size_t i = 0; i < BATCH; i++) {
        areas[i] = (void *)opal_syscall(SYS_mmap, 0, (long)bytes, PROT_READ | PROT_WRITE,
                                        MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
        if ((unsigned long)areas[i] > -4096UL)
            exit(1);
        for (size_t at = 0; touched && at < bytes; at += PAGE)
            ((char *)areas[i])[at] = 1;
    }
}

/* One call of a batch, in nanoseconds. */
static double time_batch(size_t bytes, bool touched, bool bare)
{
    map_all(bytes, touched);
    double start = now_nsec();
    for (size_t i = 0; i < BATCH; i++) {
        if (bare)
            opal_syscall(SYS_munmap, (long)areas[i], (long)bytes, 0, 0, 0, 0);
        else
            munmap(areas[i], bytes);
    }
    return (now_nsec() - start) / BATCH;
}

static int by_value(const void *left, const void *right)
{
    double a = *(const double *)left, b = *(const double *)right;
    return (a > b) - (a < b);
}

static double median(double *values)
{
    qsort(values, rounds, sizeof *values, by_value);
    return values[rounds / 2];
}

static void measure(const char *title, bool first)
{
    static double bare[MOST_ROUNDS], hooked[MOST_ROUNDS];
    printf("%-28s %10s %10s %8s\n", title, "bare ns", "munmap ns", "costs");
    for (size_t c = 0; c < CASES; c++) {
        size_t bytes = cases[c].pages * PAGE;
        for (size_t round = 0; round < rounds; round++) {
            bool order = round % 2 != 0;
            (order ? bare : hooked)[round] = time_batch(bytes, cases[c].touched, order);
            (order ? hooked : bare)[round] = time_batch(bytes, cases[c].touched, !order);
        }
        double without = median(bare), with = median(hooked), ratio = with / without;
        if (first)
            plain[c] = ratio;
        printf("  %-26s %10.1f %10.1f %+7.1f%%\n", cases[c].name, without, with,
               100 * (ratio / plain[c] - 1));
    }
}

int main(int argc, char **argv)
{
    size_t sum = 0;
    if (argc > 1 && strcmp(argv[1], "--quick") == 0)
        rounds = QUICK_ROUNDS;
    opal_memory_handler_t handler = {.events = OPAL_MEMORY_VM_UNMAPPED, .fn = add, .context = &sum};
    measure("libc's munmap", true);
    if (opal_memory_events_install(OPAL_MEMORY_VM_UNMAPPED) == 0) {
        fputs("the hooks cannot be installed; ompi_info --memory tells why\n", stderr);
        return 1;
    }
    measure("hooks, and nobody listens", false);
    opal_memory_handler_add_passive(&handler);
    measure("a handler of VM_UNMAPPED", false);
    return sum == 0;
}
