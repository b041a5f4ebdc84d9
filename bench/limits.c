/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What this machine can do at best, without MPI; bench/run.py draws it into the plots.
 *
 *   cache-line    a word in a cache line goes from one core to another: nothing can be told faster
 *   lines         a ring of cache lines, one core fills them and another empties them
 *   copy          memcpy on one core, by bytes, source and destination as warm as they become
 *
 *   limits [--quick]
 *
 * Two processes, each bound to a core of its own. On a single core only the copy is measured.
 */
#define _GNU_SOURCE /* cpu_set_t */
#include <sched.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "samples.h"

enum {
    LINE_BYTES = 128, /* neighbours are fetched together on some machines */
    RING = 256,
    PUBLISHED = 64, /* lines between two words about how far the reader is */
    SAMPLES = 41,
    QUICK_SAMPLES = 9,
    ROUNDS = 2000,
    STREAM = 20000,
    COPY_BYTES = 1 << 20, /* in a sample, at least */
    MAX_COPY = 4 << 20,
};

typedef struct line {
    _Alignas(LINE_BYTES) _Atomic uint64_t word;
    uint64_t rest[7];
} line_t;

/* Shared by both processes. A word is written by one side only. */
typedef struct shared {
    line_t start[2], ball[2], taken, ring[RING];
} shared_t;

static shared_t *shared;
static int me, samples_wanted = SAMPLES;

static void put(line_t *line, uint64_t value)
{
    atomic_store_explicit(&line->word, value, memory_order_release);
}

static void await(line_t *line, uint64_t value)
{
    while (atomic_load_explicit(&line->word, memory_order_acquire) < value)
        ;
}

/* Both sides come here with the same number, larger than the last one's. */
static void meet(uint64_t number)
{
    put(&shared->start[me], number);
    await(&shared->start[!me], number);
}

static void pass_ball(uint64_t *at)
{
    for (int i = 0; i < ROUNDS; i++) {
        ++*at;
        if (me == 0)
            put(&shared->ball[0], *at);
        await(&shared->ball[!me], *at);
        if (me == 1)
            put(&shared->ball[1], *at);
    }
}

static void fill_ring(uint64_t *at)
{
    for (uint64_t end = *at + STREAM; *at < end; ++*at) {
        line_t *line = &shared->ring[*at % RING];
        if (*at >= RING && *at % PUBLISHED == 0)
            await(&shared->taken, *at - RING + PUBLISHED);
        for (int i = 0; i < 7; i++)
            line->rest[i] = *at;
        put(line, *at + 1);
    }
    await(&shared->taken, *at / PUBLISHED * PUBLISHED);
}

static uint64_t empty_ring(uint64_t *at)
{
    uint64_t sum = 0;
    for (uint64_t end = *at + STREAM; *at < end;) {
        line_t *line = &shared->ring[*at % RING];
        await(line, *at + 1);
        for (int i = 0; i < 7; i++)
            sum += line->rest[i];
        if (++*at % PUBLISHED == 0)
            put(&shared->taken, *at);
    }
    return sum;
}

static void measure_lines(void)
{
    bench_samples_t pass = {.count = 0}, stream = {.count = 0};
    uint64_t passed = 0, streamed = 0, number = 0;
    volatile uint64_t sink = 0;
    for (int i = 0; i < samples_wanted; i++) {
        meet(++number);
        double begin = bench_now();
        pass_ball(&passed);
        bench_add_sample(&pass, bench_now() - begin);
        meet(++number);
        begin = bench_now();
        if (me == 0)
            fill_ring(&streamed);
        else
            sink += empty_ring(&streamed);
        bench_add_sample(&stream, bench_now() - begin);
    }
    if (me == 0) {
        bench_print("cache-line", 0, BENCH_USEC, 2 * ROUNDS, &pass);
        bench_print("lines", 0, BENCH_MESSAGES_PER_USEC, STREAM, &stream);
    }
}

static void measure_copies(void)
{
    char *from = bench_memory(MAX_COPY), *to = bench_memory(MAX_COPY);
    for (long bytes = 8; bytes <= MAX_COPY; bytes *= 2) {
        bench_samples_t samples = {.count = 0};
        int copies = bytes < COPY_BYTES ? (int)(COPY_BYTES / bytes) : 1;
        copies = copies > 10000 ? 10000 : copies;
        for (int i = 0; i < samples_wanted; i++) {
            double begin = bench_now();
            for (int j = 0; j < copies; j++) {
                memcpy(to, from, (size_t)bytes);
                /* The compiler must not see that all copies are the same. */
                __asm__ volatile("" : : "r"(to), "r"(from) : "memory");
            }
            bench_add_sample(&samples, bench_now() - begin);
        }
        bench_print("copy", bytes, BENCH_USEC, copies, &samples);
    }
    free(from);
    free(to);
}

/* Binds to the core with this number among those that we may use; false if there is none. */
static bool bind_core(int number)
{
    cpu_set_t allowed, one;
    if (sched_getaffinity(0, sizeof allowed, &allowed) != 0)
        return false;
    for (int cpu = 0; cpu < CPU_SETSIZE; cpu++) {
        if (!CPU_ISSET(cpu, &allowed) || number-- > 0)
            continue;
        CPU_ZERO(&one);
        CPU_SET(cpu, &one);
        return sched_setaffinity(0, sizeof one, &one) == 0;
    }
    return false;
}

static int measure_two_cores(void)
{
    shared = mmap(NULL, sizeof *shared, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (shared == MAP_FAILED) {
        perror("limits: mmap");
        return 1;
    }
    cpu_set_t allowed;
    if (sched_getaffinity(0, sizeof allowed, &allowed) != 0 || CPU_COUNT(&allowed) < 2) {
        fprintf(stderr, "limits: there is one core only, so nothing between cores\n");
        return 0;
    }
    fflush(stdout);
    pid_t child = fork();
    if (child < 0) {
        perror("limits: fork");
        return 1;
    }
    me = child == 0;
    if (!bind_core(me))
        fprintf(stderr, "limits: not bound to a core\n");
    measure_lines();
    if (child == 0)
        _exit(0);
    return waitpid(child, NULL, 0) != child;
}

int main(int argc, char **argv)
{
    if (argc > 1 && strcmp(argv[1], "--quick") == 0)
        samples_wanted = QUICK_SAMPLES;
    int status = measure_two_cores();
    measure_copies();
    return status;
}
