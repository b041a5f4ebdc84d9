/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Buffers that stay pinned: long messages over sock, out of memory that comes, goes, moves and
 * comes back at the same address between two messages. What the system sends is what lies in the
 * pages that it has pinned, so a registration that was kept for too long would send old bytes.
 *
 *   pinned [ROUNDS [SEED SECONDS]]     what the memory hooks see: every message is right
 *   pinned unseen                      the same change by system calls of our own, which nobody
 *                                      sees: the old bytes do arrive
 *
 * Run with mpi_leave_pinned or mpi_leave_pinned_pipeline, and limits that make short messages long.
 */
#define _GNU_SOURCE
#include <mpi.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "tap.h"

enum { THREADS = 4, PAGE = 4096, MOST_PAGES = 16, BRK_ROUNDS = 200, ROUNDS = 2000 };

static int rank, rounds = ROUNDS;
static unsigned seed = 1;
static double seconds = 1e9, began;
static atomic_int wrong, done_rounds;
static MPI_Comm comms[THREADS];

typedef struct walk {
    int thread;
    uint64_t state, stamp;
    unsigned char *in;
} walk_t;

static uint64_t next(walk_t *walk)
{
    walk->state ^= walk->state << 13;
    walk->state ^= walk->state >> 7;
    walk->state ^= walk->state << 17;
    return walk->state;
}

static void fill(void *start, size_t bytes, uint64_t stamp)
{
    uint64_t *words = start;
    for (size_t i = 0; i < bytes / sizeof *words; i++)
        words[i] = stamp * UINT64_C(0x9e3779b97f4a7c15) + i;
}

static bool is_filled(const void *start, size_t bytes, uint64_t stamp)
{
    const uint64_t *words = start;
    for (size_t i = 0; i < bytes / sizeof *words; i++) {
        if (words[i] != stamp * UINT64_C(0x9e3779b97f4a7c15) + i)
            return false;
    }
    return true;
}

/* A message with new bytes in it, from rank 0 to rank 1. */
static void send_new(walk_t *walk, void *start, size_t bytes)
{
    fill(start, bytes, ++walk->stamp);
    MPI_Send(start, (int)bytes, MPI_BYTE, 1, 0, comms[walk->thread]);
}

static void receive(walk_t *walk, size_t bytes)
{
    MPI_Recv(walk->in, (int)bytes, MPI_BYTE, 0, 0, comms[walk->thread], MPI_STATUS_IGNORE);
    if (!is_filled(walk->in, bytes, ++walk->stamp))
        atomic_fetch_add(&wrong, 1);
}

static void *map(void *at, size_t bytes)
{
    int fixed = at != NULL ? MAP_FIXED : 0;
    return mmap(at, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | fixed, -1, 0);
}

/* -- what a round does with memory; each sends twice ------------------------------------------ */

static void unmap_between(walk_t *walk, size_t bytes)
{
    void *start = map(NULL, bytes);
    send_new(walk, start, bytes);
    munmap(start, bytes);
    void *again = mmap(start, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    send_new(walk, again, bytes);
    munmap(again, bytes);
}

static void map_over(walk_t *walk, size_t bytes)
{
    void *start = map(NULL, bytes);
    send_new(walk, start, bytes);
    map(start, bytes);
    send_new(walk, start, bytes);
    munmap(start, bytes);
}

static void drop_pages(walk_t *walk, size_t bytes)
{
    void *start = map(NULL, bytes);
    send_new(walk, start, bytes);
    madvise(start, bytes, MADV_DONTNEED);
    send_new(walk, start, bytes);
    munmap(start, bytes);
}

static void move_pages(walk_t *walk, size_t bytes)
{
    void *start = map(NULL, bytes), *other = map(NULL, bytes);
    send_new(walk, start, bytes);
    send_new(walk, other, bytes);
    mremap(start, bytes, bytes, MREMAP_MAYMOVE | MREMAP_FIXED, other);
    send_new(walk, other, bytes);
    start = map(NULL, bytes);
    send_new(walk, start, bytes);
    munmap(start, bytes);
    munmap(other, bytes);
}

static void allocate(walk_t *walk, size_t bytes)
{
    void *start = malloc(bytes);
    send_new(walk, start, bytes);
    start = realloc(start, 4 * bytes);
    send_new(walk, start, bytes);
    free(start);
    start = malloc(bytes);
    send_new(walk, start, bytes);
    free(start);
}

typedef struct action {
    void (*run)(walk_t *walk, size_t bytes);
    int messages;
} action_t;

static const action_t actions[] = {
    {unmap_between, 2}, {map_over, 2}, {drop_pages, 2}, {move_pages, 4}, {allocate, 3}};

static void *walk_along(void *argument)
{
    walk_t *walk = argument;
    walk->in = malloc((size_t)MOST_PAGES * PAGE);
    int go = 1;
    for (int round = 0; go; round++) {
        const action_t *action = &actions[next(walk) % (sizeof actions / sizeof actions[0])];
        size_t bytes = (1 + next(walk) % MOST_PAGES) * PAGE;
        if (rank == 0)
            action->run(walk, bytes);
        for (int i = 0; rank == 1 && i < action->messages; i++)
            receive(walk, bytes);
        go = round + 1 < rounds && (round % 16 != 15 || MPI_Wtime() - began < seconds);
        if (round % 16 == 15)
            MPI_Bcast(&go, 1, MPI_INT, 0, comms[walk->thread]);
        atomic_fetch_add(&done_rounds, 1);
    }
    free(walk->in);
    return NULL;
}

/* The heap's end is the process', so no other thread may run. */
static void move_break(walk_t *walk)
{
    walk->in = malloc((size_t)MOST_PAGES * PAGE);
    for (int round = 0; round < BRK_ROUNDS; round++) {
        size_t bytes = (1 + next(walk) % MOST_PAGES) * PAGE;
        if (rank == 1) {
            receive(walk, bytes);
            receive(walk, bytes);
            continue;
        }
        for (int i = 0; i < 2; i++) {
            char *end = sbrk((intptr_t)bytes + PAGE);
            send_new(walk, (void *)(((uintptr_t)end + PAGE - 1) & -(uintptr_t)PAGE), bytes);
            if (sbrk(0) == end + bytes + PAGE)
                sbrk(-(intptr_t)bytes - PAGE);
        }
    }
    free(walk->in);
}

/* -- the tests --------------------------------------------------------------------------------- */

static long pinned_kib(void)
{
    char line[128];
    long kib = 0;
    FILE *status = fopen("/proc/self/status", "r");
    while (status != NULL && fgets(line, sizeof line, status) != NULL)
        sscanf(line, "VmPin: %ld", &kib);
    if (status != NULL)
        fclose(status);
    return kib;
}

/* Nothing is pinned where the system does not permit io_uring. */
static bool has_io_uring(void)
{
    unsigned char setup[512] = {0};
    long fd = syscall(SYS_io_uring_setup, 1, setup);
    if (fd >= 0)
        close((int)fd);
    return fd >= 0;
}

/* The pages are the system's until they leave the process. */
static void check_pinned(void)
{
    size_t bytes = 64 * PAGE;
    walk_t walk = {.thread = 0, .in = malloc(bytes)};
    void *start = map(NULL, bytes);
    long before = pinned_kib(), during = 0, after = 0;
    if (rank == 0) {
        send_new(&walk, start, bytes);
        during = pinned_kib();
        munmap(start, bytes);
        start = map(NULL, bytes);
        for (int i = 0; i < 4; i++)
            send_new(&walk, start, bytes);
        after = pinned_kib();
    }
    for (int i = 0; rank == 1 && i < 5; i++)
        receive(&walk, bytes);
    long kib = has_io_uring() ? (long)bytes / 1024 : 0;
    tap_check(rank != 0 || during - before == kib, "a buffer that was sent stays pinned (%ld KiB)",
              during - before);
    tap_check(rank != 0 || after - before == kib, "until it is unmapped (%ld KiB)", after - before);
    munmap(start, bytes);
    free(walk.in);
}

static void check_rounds(void)
{
    pthread_t threads[THREADS];
    walk_t walks[THREADS];
    walk_t first = {.thread = 0, .state = seed + 99};
    move_break(&first);
    tap_check(atomic_load(&wrong) == 0, "brk: %d messages of %d are wrong", atomic_load(&wrong),
              2 * BRK_ROUNDS);
    for (int i = 0; i < THREADS; i++) {
        walks[i] = (walk_t){.thread = i, .state = (uint64_t)seed * 77 + (uint64_t)i + 1};
        pthread_create(&threads[i], NULL, walk_along, &walks[i]);
    }
    for (int i = 0; i < THREADS; i++)
        pthread_join(threads[i], NULL);
    tap_check(atomic_load(&wrong) == 0, "%d of the messages of %d rounds in %d threads are wrong",
              atomic_load(&wrong), atomic_load(&done_rounds), THREADS);
}

/* Pages that are exchanged behind everybody's back. */
static void check_unseen(void)
{
    size_t bytes = 8 * PAGE;
    walk_t walk = {.thread = 0, .in = malloc(bytes)};
    void *start = map(NULL, bytes);
    if (rank == 0) {
        send_new(&walk, start, bytes);
        syscall(SYS_munmap, start, bytes);
        syscall(SYS_mmap, start, bytes, PROT_READ | PROT_WRITE,
                MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0);
        send_new(&walk, start, bytes);
    } else {
        receive(&walk, bytes);
        tap_check(atomic_load(&wrong) == 0, "the first message is right");
        MPI_Recv(walk.in, (int)bytes, MPI_BYTE, 0, 0, comms[0], MPI_STATUS_IGNORE);
        tap_check(is_filled(walk.in, bytes, 1), "the second one has the first one's bytes");
        tap_check(!is_filled(walk.in, bytes, 2), "and not its own");
    }
    munmap(start, bytes);
    free(walk.in);
    if (rank == 0)
        tap_check(true, "pages were exchanged by system calls of our own");
}

int main(int argc, char **argv)
{
    int provided;
    MPI_Init_thread(&argc, &argv, MPI_THREAD_MULTIPLE, &provided);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    tap_rank(rank);
    bool unseen = argc > 1 && strcmp(argv[1], "unseen") == 0;
    if (argc > 1 && !unseen)
        rounds = atoi(argv[1]);
    if (argc > 3) {
        seed = (unsigned)strtoul(argv[2], NULL, 0);
        seconds = atof(argv[3]);
    }
    for (int i = 0; i < THREADS; i++)
        MPI_Comm_dup(MPI_COMM_WORLD, &comms[i]);
    began = MPI_Wtime();
    if (TAP_HAS_SANITIZER) {
        tap_skip("buffers that stay pinned", "malloc is the sanitizer's");
        check_rounds();
    } else if (unseen && !has_io_uring()) {
        tap_skip("old bytes arrive", "no io_uring here");
    } else if (unseen) {
        check_unseen();
    } else {
        check_pinned();
        check_rounds();
    }
    for (int i = 0; i < THREADS; i++)
        MPI_Comm_free(&comms[i]);
    MPI_Finalize();
    return tap_finish();
}
