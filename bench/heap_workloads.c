/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What allocators are asked to do by bench/heap.c. Every block is written to as a program would:
 * at its ends, or in each page. The sequence of requests is the same for each allocator.
 */
#include "heap.h"

#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "samples.h"

enum { THREADS = 2, KIB = 1024, MIB = 1024 * KIB, PAGE = 4096 };

/* -- what they share ------------------------------------------------------------------- */

typedef uint64_t random_t;

static uint32_t next_random(random_t *state)
{
    *state = *state * 6364136223846793005u + 1442695040888963407u;
    return (uint32_t)(*state >> 33);
}

static size_t between(random_t *state, size_t least, size_t most)
{
    return least + next_random(state) % (most - least + 1);
}

/* As many small ones as large ones on a scale of logarithms. */
static size_t log_between(random_t *state, unsigned least_bits, unsigned most_bits)
{
    unsigned bits = least_bits + next_random(state) % (most_bits - least_bits);
    return ((size_t)1 << bits) + next_random(state) % ((size_t)1 << bits);
}

static void *checked(void *block)
{
    if (block == NULL) {
        fprintf(stderr, "heap: no memory\n");
        exit(1);
    }
    return block;
}

/* The first and the last byte, and one in each page. */
static void *write_to(void *block, size_t bytes)
{
    char *at = checked(block);
    for (size_t i = 0; i < bytes; i += PAGE)
        at[i] = (char)i;
    at[bytes - 1] = 1;
    return block;
}

/* Of pages that nothing in here allocates. */
static void *table(size_t count, size_t bytes)
{
    return memset(bench_memory(count * bytes), 0, count * bytes);
}

static double run_threads(void *(*work)(void *), void *const *arguments, int count)
{
    pthread_t threads[THREADS];
    double begin = bench_now();
    for (int i = 0; i < count; i++)
        if (pthread_create(&threads[i], NULL, work, arguments[i]) != 0)
            exit(1);
    for (int i = 0; i < count; i++)
        pthread_join(threads[i], NULL);
    return bench_now() - begin;
}

/* -- a set of live blocks, one of which is replaced at a time -------------------------- */

typedef struct set {
    const bench_allocator_t *with;
    void **blocks;
    int count;
    long steps;
    random_t random;
    size_t (*bytes)(random_t *random);
} set_t;

static void replace(set_t *set, int at)
{
    size_t bytes = set->bytes(&set->random);
    set->with->free(set->blocks[at]);
    set->blocks[at] = write_to(set->with->malloc(bytes), bytes);
}

static void *replace_many(void *context)
{
    set_t *set = context;
    for (long i = 0; i < set->steps; i++)
        replace(set, (int)(next_random(&set->random) % (unsigned)set->count));
    for (int i = 0; i < set->count; i++)
        set->with->free(set->blocks[i]);
    return NULL;
}

static double run_sets(const bench_allocator_t *with, int threads, int count, long steps,
                       size_t (*bytes)(random_t *))
{
    set_t sets[THREADS];
    void *arguments[THREADS];
    for (int i = 0; i < threads; i++) {
        sets[i] = (set_t){with, table((size_t)count, sizeof(void *)), count, steps, (random_t)i + 1,
                          bytes};
        arguments[i] = &sets[i];
    }
    if (threads > 1)
        return run_threads(replace_many, arguments, threads);
    double begin = bench_now();
    replace_many(&sets[0]);
    return bench_now() - begin;
}

static size_t small_bytes(random_t *random)
{
    return between(random, 8, 256);
}

static double small(const bench_allocator_t *with, int share)
{
    return run_sets(with, 1, 10000, 3000000 / share, small_bytes);
}

static double threads(const bench_allocator_t *with, int share)
{
    return run_sets(with, THREADS, 10000, 2000000 / share, small_bytes);
}

static size_t mixed_bytes(random_t *random)
{
    return next_random(random) % 100 == 0 ? log_between(random, 16, 20)
                                          : log_between(random, 3, 15);
}

static double mixed(const bench_allocator_t *with, int share)
{
    return run_sets(with, 1, 5000, 1000000 / share, mixed_bytes);
}

static size_t large_bytes(random_t *random)
{
    return log_between(random, 16, 23);
}

static double large(const bench_allocator_t *with, int share)
{
    return run_sets(with, 1, 16, 4000 / share, large_bytes);
}

static double large_threads(const bench_allocator_t *with, int share)
{
    return run_sets(with, THREADS, 16, 3000 / share, large_bytes);
}

/* -- one thread takes, another one frees ----------------------------------------------- */

enum { RING = 1024 };

typedef struct pipe {
    const bench_allocator_t *with;
    long count;
    _Alignas(128) atomic_long put;
    _Alignas(128) atomic_long got;
    void *ring[RING];
} pipe_t;

static void *produce(void *context)
{
    pipe_t *pipe = context;
    random_t random = 1;
    for (long i = 0; i < pipe->count; i++) {
        size_t bytes = between(&random, 16, 512);
        void *block = write_to(pipe->with->malloc(bytes), bytes);
        while (i - atomic_load_explicit(&pipe->got, memory_order_acquire) >= RING)
            sched_yield();
        pipe->ring[i % RING] = block;
        atomic_store_explicit(&pipe->put, i + 1, memory_order_release);
    }
    return NULL;
}

static void *consume(void *context)
{
    pipe_t *pipe = context;
    for (long i = 0; i < pipe->count; i++) {
        while (atomic_load_explicit(&pipe->put, memory_order_acquire) <= i)
            sched_yield();
        pipe->with->free(pipe->ring[i % RING]);
        atomic_store_explicit(&pipe->got, i + 1, memory_order_release);
    }
    return NULL;
}

static void *one_end(void *context)
{
    pipe_t **end = context;
    return end[1] == NULL ? produce(end[0]) : consume(end[0]);
}

static double producer(const bench_allocator_t *with, int share)
{
    pipe_t *pipe = table(1, sizeof *pipe);
    pipe->with = with;
    pipe->count = 2000000 / share;
    pipe_t *ends[2][2] = {{pipe, NULL}, {pipe, pipe}};
    void *const arguments[] = {ends[0], ends[1]};
    return run_threads(one_end, arguments, 2);
}

/* -- a server: each thread serves for a while, then a new one goes on with its blocks --- */

typedef struct service {
    set_t set;
    int rounds;
} service_t;

static void *serve(void *context)
{
    service_t *service = context;
    for (long i = 0; i < service->set.steps; i++)
        replace(&service->set,
                (int)(next_random(&service->set.random) % (unsigned)service->set.count));
    return NULL;
}

static void *serve_in_turn(void *context)
{
    service_t *service = context;
    for (int i = 0; i < service->rounds; i++) {
        pthread_t thread;
        if (pthread_create(&thread, NULL, serve, service) != 0)
            exit(1);
        pthread_join(thread, NULL);
    }
    for (int i = 0; i < service->set.count; i++)
        service->set.with->free(service->set.blocks[i]);
    return NULL;
}

static size_t request_bytes(random_t *random)
{
    return between(random, 10, 1000);
}

static double server(const bench_allocator_t *with, int share)
{
    service_t services[THREADS];
    void *arguments[THREADS];
    for (int i = 0; i < THREADS; i++) {
        services[i] = (service_t){
            {with, table(5000, sizeof(void *)), 5000, 40000, (random_t)i + 1, request_bytes},
            50 / share};
        arguments[i] = &services[i];
    }
    return run_threads(serve_in_turn, arguments, THREADS);
}

/* -- vectors that grow ----------------------------------------------------------------- */

typedef struct vector {
    char *at;
    size_t bytes, most;
} vector_t;

static void grow(const bench_allocator_t *with, vector_t *vector, size_t bytes)
{
    vector->at = checked(with->realloc(vector->at, bytes));
    for (size_t i = vector->bytes; i < bytes; i += PAGE / 2)
        vector->at[i] = 1;
    vector->bytes = bytes;
}

/* By half of what they have, and every fourth one by a few bytes or pages. */
static double growth(const bench_allocator_t *with, int share)
{
    enum { VECTORS = 200 };
    vector_t vectors[VECTORS] = {{.at = NULL}};
    random_t random = 1;
    double begin = bench_now();
    for (int turn = 0; turn < 6 / share + 1; turn++) {
        for (int i = 0; i < VECTORS; i++)
            vectors[i] = (vector_t){.most = i == 0 ? 64 * MIB : log_between(&random, 10, 20)};
        for (int growing = VECTORS; growing > 0;) {
            growing = 0;
            for (int i = 0; i < VECTORS; i++) {
                vector_t *vector = &vectors[i];
                if (vector->bytes >= vector->most)
                    continue;
                growing++;
                grow(with, vector,
                     i % 4 == 3 ? vector->bytes + vector->most / 100 + 8
                                : vector->bytes * 3 / 2 + 16);
            }
        }
        for (int i = 0; i < VECTORS; i++)
            with->free(vectors[i].at);
    }
    return bench_now() - begin;
}

/* -- sizes that change over time ------------------------------------------------------- */

/* Of each generation of blocks a tenth lives on among those of the next ones. */
static double fragments(const bench_allocator_t *with, int share)
{
    enum { GENERATIONS = 24, OLD = 8 };
    int count = 100000 / share;
    void **blocks = table((size_t)count, sizeof(void *));
    void **old = table((size_t)OLD * (size_t)count / 10 + OLD, sizeof(void *));
    random_t random = 1;
    double begin = bench_now();
    for (int generation = 0; generation < GENERATIONS; generation++) {
        size_t least = 16 + (size_t)generation * 29 % 400;
        for (int i = 0; i < count; i++) {
            size_t bytes = between(&random, least, least + least / 2);
            blocks[i] = write_to(with->malloc(bytes), bytes);
        }
        void **kept = old + (size_t)(generation % OLD) * (size_t)(count / 10 + 1);
        for (int i = 0; i < count / 10; i++)
            with->free(kept[i]);
        for (int i = 0; i < count; i++)
            if (i % 10 == 0 && i / 10 < count / 10)
                kept[i / 10] = blocks[i];
            else
                with->free(blocks[i]);
    }
    return bench_now() - begin;
}

/* -- zeroed and aligned blocks --------------------------------------------------------- */

static double zeroed(const bench_allocator_t *with, int share)
{
    enum { LIVE = 2000 };
    void **blocks = table(LIVE, sizeof(void *));
    random_t random = 1;
    double begin = bench_now();
    for (int i = 0; i < 500000 / share; i++) {
        void **block = &blocks[next_random(&random) % LIVE];
        size_t bytes = log_between(&random, 5, 13);
        with->free(*block);
        *block = i % 2 == 0 ? with->calloc(1, bytes) : with->aligned_alloc(64, bytes);
        write_to(*block, bytes);
    }
    for (int i = 0; i < LIVE; i++)
        with->free(blocks[i]);
    return bench_now() - begin;
}

/* -- freeing 400,000 blocks: only that is timed ---------------------------------------- */

static double free_many(const bench_allocator_t *with, int share, int shuffled)
{
    int count = 400000 / share;
    void **blocks = table((size_t)count, sizeof(void *));
    random_t random = 1;
    for (int i = 0; i < count; i++) {
        size_t bytes = between(&random, 16, 512);
        blocks[i] = write_to(with->malloc(bytes), bytes);
    }
    for (int i = count - 1; shuffled && i > 0; i--) {
        int other = (int)(next_random(&random) % (unsigned)(i + 1));
        void *block = blocks[i];
        blocks[i] = blocks[other];
        blocks[other] = block;
    }
    double begin = bench_now();
    for (int i = 0; i < count; i++)
        with->free(blocks[i]);
    return bench_now() - begin;
}

static double free_in_order(const bench_allocator_t *with, int share)
{
    return free_many(with, share, 0);
}

static double free_shuffled(const bench_allocator_t *with, int share)
{
    return free_many(with, share, 1);
}

const bench_workload_t bench_workloads[] = {
    {"small", 1, 1, small},
    {"threads", THREADS, 1, threads},
    {"producer", THREADS, 1, producer},
    {"server", THREADS, 1, server},
    {"growth", 1, 1, growth},
    {"large", 1, 1, large},
    {"large-threads", THREADS, 1, large_threads},
    {"mixed", 1, 1, mixed},
    {"fragments", 1, 1, fragments},
    {"zeroed", 1, 1, zeroed},
    {"free/in-order", 1, 0, free_in_order},
    {"free/shuffled", 1, 0, free_shuffled},
    {NULL, 0, 0, NULL},
};
