/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * opal/mca/memory/smheap/source.c with the engine on it: processes that allocate from one region,
 * free each other's blocks, and are killed in the middle of it. The others go on.
 */
#include "opal/mca/memory/smheap/source.h"

#include <sched.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>

#include "opal/heap/layout.h"
#include "test/unit/opal/support.h"

enum { PROCESSES = 5, SLOTS = 256, ROUNDS = 12 };

/* What the processes hand each other: offsets of blocks in the region. */
typedef struct exchange {
    _Atomic uint64_t slots[SLOTS];
    _Atomic uint64_t steps;
    atomic_bool broken, over;
} exchange_t;

static const opal_memory_shared_t settings = {.min_bytes = 1};
static exchange_t *exchange;
static smheap_region_t region;
static opal_heap_t heap;
static char reason[200];

static int make(unsigned chunks)
{
    const char *step;
    const opal_region_request_t request = {.bytes = (uint64_t)chunks * OPAL_HEAP_CHUNK_BYTES,
                                           .ranks = PROCESSES};
    int fd = opal_region_create(&request, &step);
    ck_assert_int_ge(fd, 0);
    return fd;
}

static bool open_heap(int fd)
{
    if (!smheap_attach(&region, fd, 0, &settings, reason, sizeof reason))
        return false;
    atomic_store(&region.pool->ties, OPAL_REGION_MET | OPAL_REGION_SEEN); /* blocks go around */
    const opal_heap_config_t config = {
        .ops = &smheap_source, .context = &region, .base = region.header, .bytes = region.bytes};
    return opal_heap_open(&heap, &config) == 0;
}

static uint64_t next_random(uint64_t *state)
{
    *state ^= *state << 13, *state ^= *state >> 7, *state ^= *state << 17;
    return *state;
}

/* A block begins with its size and is full of its lowest byte; somebody else frees it. */
static bool is_whole(const unsigned char *block)
{
    size_t bytes;
    memcpy(&bytes, block, sizeof bytes);
    for (size_t i = sizeof bytes; i < bytes; i += 61)
        if (block[i] != (unsigned char)bytes)
            return false;
    return bytes >= sizeof bytes;
}

static uint64_t new_block(uint64_t random)
{
    size_t bytes = 16 + random % (random % 7 == 0 ? 3000000 : random % 3 == 0 ? 60000 : 500);
    unsigned char *block = opal_heap_malloc(&heap, bytes);
    if (block == NULL)
        return 0;
    memset(block, (int)(unsigned char)bytes, bytes);
    memcpy(block, &bytes, sizeof bytes);
    return (uint64_t)(block - (unsigned char *)heap.base);
}

/* Puts blocks of its own into slots, and frees what it finds there, until it is told to end. */
static bool trade(uint64_t seed)
{
    uint64_t random = seed * 0x9e3779b97f4a7c15u + 1;
    while (!exchange->over && !exchange->broken) {
        uint64_t mine = new_block(next_random(&random));
        uint64_t theirs = atomic_exchange(&exchange->slots[next_random(&random) % SLOTS], mine);
        atomic_fetch_add(&exchange->steps, 1);
        if (theirs == 0)
            continue;
        unsigned char *block = (unsigned char *)heap.base + theirs;
        if (!is_whole(block))
            return false;
        opal_heap_free(&heap, block);
    }
    return true;
}

static pid_t start(int fd, uint64_t seed)
{
    pid_t child = fork();
    if (child != 0)
        return child;
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    bool good = open_heap(fd) && trade(seed);
    if (!good)
        exchange->broken = true;
    _exit(!good);
}

/* Until the others have come so far. */
static void wait_for_steps(uint64_t more)
{
    uint64_t end = atomic_load(&exchange->steps) + more;
    while (atomic_load(&exchange->steps) < end && !exchange->broken)
        sched_yield();
}

START_TEST(killed_in_the_middle)
{
    exchange =
        mmap(NULL, sizeof *exchange, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    int fd = make(4000), status;
    pid_t children[PROCESSES];
    uint64_t random = 99;
    for (int i = 0; i < PROCESSES; i++)
        children[i] = start(fd, (uint64_t)i);
    for (int round = 0; round < ROUNDS; round++) {
        wait_for_steps(next_random(&random) % 1500);
        int victim = round % PROCESSES;
        kill(children[victim], SIGKILL);
        waitpid(children[victim], &status, 0);
        ck_assert(WIFSIGNALED(status));
        children[victim] = start(fd, (uint64_t)(100 + round));
    }
    wait_for_steps(1500);
    exchange->over = true;
    for (int i = 0; i < PROCESSES; i++) {
        ck_assert_int_eq(waitpid(children[i], &status, 0), children[i]);
        ck_assert_int_eq(status, 0);
    }
    ck_assert(!exchange->broken);
}
END_TEST

/* What another process frees comes home, and may be had again: a small region is enough for ever.
 */
START_TEST(what_others_free_comes_home)
{
    exchange =
        mmap(NULL, sizeof *exchange, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    int fd = make(40), there[2], back[2], status;
    ck_assert(pipe(there) == 0 && pipe(back) == 0);
    pid_t child = fork();
    uint64_t offset;
    if (child == 0) {
        close(there[1]);
        bool good = open_heap(fd);
        while (good && read(there[0], &offset, sizeof offset) == (ssize_t)sizeof offset) {
            opal_heap_free(&heap, (char *)heap.base + offset);
            good = write(back[1], &offset, 1) == 1;
        }
        _exit(!good);
    }
    close(back[1]);
    ck_assert(open_heap(fd));
    const size_t sizes[] = {8 << 10, 30 << 10, 300 << 10, 5 << 20};
    for (int i = 0; i < 400; i++) {
        char *block = opal_heap_malloc(&heap, sizes[(size_t)i % OPAL_COUNT_OF(sizes)]), byte;
        ck_assert_msg(block != NULL, "block %d", i);
        offset = (uint64_t)(block - (char *)heap.base);
        ck_assert_int_eq(write(there[1], &offset, sizeof offset), (ssize_t)sizeof offset);
        ck_assert_int_eq(read(back[0], &byte, 1), 1);
    }
    close(there[1]);
    waitpid(child, &status, 0);
    ck_assert_int_eq(status, 0);
}
END_TEST

/* Fills a block with what free blocks at these places would begin with, and frees it. */
static void leave_links(size_t bytes)
{
    char *block = opal_heap_malloc(&heap, bytes);
    ck_assert_ptr_nonnull(block);
    memset(block, 0xff, bytes);
    for (size_t at = (size_t) - (uintptr_t)block % 4096; at + sizeof(uint64_t) <= bytes;
         at += 4096) {
        uintptr_t offset = (uintptr_t)(block + at) % OPAL_HEAP_CHUNK_BYTES;
        uint64_t link = opal_heap_link((uint32_t)offset, 0, false);
        memcpy(block + at, &link, sizeof link);
    }
    opal_heap_free(&heap, block);
}

/* Blocks that nobody has written to are freed by another process, whatever was there before. */
START_TEST(old_contents_do_not_matter)
{
    static const size_t sizes[] = {40 << 10, 33 << 10, 100 << 10, 900 << 10, 5 << 20, 6 << 20};
    uint64_t offsets[200];
    size_t count = 0;
    int fd = make(100), there[2], status;
    ck_assert(pipe(there) == 0);
    pid_t child = fork();
    if (child == 0) {
        close(there[1]);
        bool good = open_heap(fd);
        for (uint64_t offset; good && read(there[0], &offset, sizeof offset) > 0;)
            opal_heap_free(&heap, (char *)heap.base + offset);
        _exit(!good);
    }
    ck_assert(open_heap(fd));
    for (int i = 0; i < 6; i++)
        leave_links(1000000);
    leave_links(9 << 20);
    for (; count < 60; count++) {
        char *block = opal_heap_malloc(&heap, sizes[count % OPAL_COUNT_OF(sizes)]);
        ck_assert_ptr_nonnull(block);
        offsets[count] = (uint64_t)(block - (char *)heap.base);
    }
    ck_assert_int_eq(write(there[1], offsets, count * sizeof offsets[0]),
                     (ssize_t)(count * sizeof offsets[0]));
    close(there[1]);
    ck_assert_int_eq(waitpid(child, &status, 0), child);
    ck_assert_int_eq(status, 0);
}
END_TEST

static const unit_test_t tests[] = {
    {&killed_in_the_middle, 0, 0, 0},
    {&what_others_free_comes_home, 0, 0, 0},
    {.test = &old_contents_do_not_matter},
};

UNIT_MAIN("smheap/source", tests, NULL);
