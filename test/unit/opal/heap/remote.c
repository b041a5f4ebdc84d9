/* SPDX-License-Identifier: BSD-3-Clause */
/* opal/heap/remote.c: processes that share a region free each other's blocks. One of them may have
 * the region at another address. */
#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <sys/wait.h>

#include "opal/heap/layout.h"
#include "test/unit/opal/heap/fake_source.h"

enum {
    CHUNKS = 64,
    CHUNKS_AT_A_TIME = 8,
    MESSAGES = 20000,
    RING = 256,
    SIDES = 2,
};

#define REGION_BYTES ((size_t)CHUNKS * OPAL_HEAP_CHUNK_BYTES)

/* Both processes have it, outside of the region. */
typedef struct shared {
    atomic_int chunks_given;
    atomic_int step[SIDES];
    _Atomic uintptr_t
        ring[SIDES][RING]; /* offsets in the region, of blocks for that side; 0: none */
    size_t used_bytes[SIDES];
} shared_t;

static shared_t *shared;
static int region_fd;
static char *region;
static int me;

/* -- a source: chunks by fetch-add; pages of a file that is shared --------------------- */

static void *take_chunks(void *context OPAL_UNUSED, size_t *bytes)
{
    int wanted = (int)(*bytes / OPAL_HEAP_CHUNK_BYTES);
    int count = wanted > CHUNKS_AT_A_TIME ? wanted : CHUNKS_AT_A_TIME;
    int first = atomic_fetch_add(&shared->chunks_given, count);
    if (first + count > CHUNKS)
        return NULL;
    *bytes = (size_t)count * OPAL_HEAP_CHUNK_BYTES;
    return region + (size_t)first * OPAL_HEAP_CHUNK_BYTES;
}

static int commit_pages(void *context OPAL_UNUSED, void *start, size_t bytes)
{
    return fallocate(region_fd, 0, (char *)start - region, (off_t)bytes) == 0 ? 0 : ENOMEM;
}

static void decommit_pages(void *context OPAL_UNUSED, void *start, size_t bytes,
                           bool again OPAL_UNUSED)
{
    fallocate(region_fd, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, (char *)start - region,
              (off_t)bytes);
}

static const opal_heap_source_ops_t shared_ops = {
    .extend = take_chunks,
    .commit = commit_pages,
    .decommit = decommit_pages,
    .fault = fake_say,
};

/* The region at some address that is aligned to chunks. */
static void map_region(void)
{
    char *hole = mmap(NULL, REGION_BYTES + OPAL_HEAP_CHUNK_BYTES, PROT_NONE,
                      MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    ck_assert_ptr_ne(hole, MAP_FAILED);
    uintptr_t base = ((uintptr_t)hole + OPAL_HEAP_CHUNK_MASK) & ~(uintptr_t)OPAL_HEAP_CHUNK_MASK;
    region = mmap((void *)base, REGION_BYTES, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_FIXED,
                  region_fd, 0);
    ck_assert_ptr_eq(region, (void *)base);
}

static void open_shared(void)
{
    opal_heap_config_t config = {
        .ops = &shared_ops, .base = region, .bytes = REGION_BYTES, .commit_bytes = 64 << 10};
    ck_assert_int_eq(opal_heap_open(&heap, &config), 0);
}

static void make_region(void)
{
    shared = mmap(NULL, sizeof *shared, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    ck_assert_ptr_ne(shared, MAP_FAILED);
    region_fd = memfd_create("region", MFD_CLOEXEC);
    ck_assert_int_ge(region_fd, 0);
    ck_assert_int_eq(ftruncate(region_fd, (off_t)REGION_BYTES), 0);
    map_region();
}

static size_t used_bytes(void)
{
    opal_heap_stats_t stats;
    opal_heap_stats(&heap, &stats);
    return stats.used_bytes;
}

/* -- the tests ------------------------------------------------------------------------- */

static size_t bytes_of(unsigned i)
{
    return 16 + (i % 50 == 0 ? i % 300000 : i % 201 == 0 ? 2 * MIB : i % 2000);
}

/* The other side's blocks that have come. */
static unsigned receive_blocks(void)
{
    unsigned count = 0;
    for (int i = 0; i < RING; i++) {
        uintptr_t offset = atomic_exchange(&shared->ring[me][i], 0);
        if (offset == 0)
            continue;
        unsigned *block = (unsigned *)(void *)(region + offset);
        ck_assert(fake_is_filled(block + 1, bytes_of(*block) - sizeof *block, *block));
        ck_assert_uint_ge(opal_heap_usable_size(&heap, block), bytes_of(*block));
        if (*block % 3 == 0) {
            block = opal_heap_realloc(&heap, block, bytes_of(*block) * 3);
            ck_assert(fake_is_filled(block + 1, bytes_of(*block) - sizeof *block, *block));
        }
        opal_heap_free(&heap, block);
        count++;
    }
    return count;
}

static void send_block(unsigned i)
{
    unsigned *block = opal_heap_malloc(&heap, bytes_of(i));
    ck_assert_ptr_nonnull(block);
    *block = i;
    fake_fill(block + 1, bytes_of(i) - sizeof *block, i);
    uintptr_t nothing = 0;
    while (!atomic_compare_exchange_strong(&shared->ring[!me][i % RING], &nothing,
                                           (uintptr_t)block - (uintptr_t)region)) {
        nothing = 0;
        receive_blocks();
        sched_yield();
    }
}

/* Meanwhile the other side may have to get rid of something. */
static void meet(int step)
{
    atomic_store(&shared->step[me], step);
    while (atomic_load(&shared->step[!me]) < step) {
        receive_blocks();
        sched_yield();
    }
}

static void side(void)
{
    open_shared();
    for (unsigned i = 0; i < MESSAGES; i++) {
        send_block(i);
        if (i % 16 == 0)
            receive_blocks();
    }
    meet(1);
    receive_blocks();
    meet(2);
    /* All of ours was freed over there, and comes home. */
    opal_heap_trim(&heap, 0);
    shared->used_bytes[me] = used_bytes();
    ck_assert_int_eq(atomic_load(&fake_faults), 0);
}

/* _i: the child has the region elsewhere. */
START_TEST(two_processes)
{
    make_region();
    pid_t child = fork();
    ck_assert_int_ge(child, 0);
    me = child == 0;
    if (child == 0 && _i == 1) {
        char *old = region;
        map_region();
        ck_assert_ptr_ne(region, old);
        munmap(old, REGION_BYTES);
    }
    side();
    if (child == 0)
        _exit(0);
    int status;
    ck_assert_int_eq(waitpid(child, &status, 0), child);
    ck_assert_int_eq(status, 0);
    ck_assert_uint_eq(shared->used_bytes[0], 0);
    ck_assert_uint_eq(shared->used_bytes[1], 0);
}
END_TEST

/* Nobody needs the process that a block comes from. */
START_TEST(the_home_has_died)
{
    make_region();
    pid_t child = fork();
    ck_assert_int_ge(child, 0);
    if (child == 0) {
        open_shared();
        for (unsigned i = 0; i < RING; i++) {
            unsigned *block = opal_heap_malloc(&heap, bytes_of(i));
            fake_fill(block, bytes_of(i), i);
            atomic_store(&shared->ring[0][i], (uintptr_t)((char *)block - region));
        }
        kill(getpid(), SIGKILL);
    }
    int status;
    ck_assert_int_eq(waitpid(child, &status, 0), child);
    open_shared();
    for (unsigned i = 0; i < RING; i++) {
        char *block = region + atomic_load(&shared->ring[0][i]);
        ck_assert(fake_is_filled(block, bytes_of(i), i));
        opal_heap_free(&heap, block);
    }
    ck_assert_int_eq(atomic_load(&fake_faults), 0);
    for (unsigned i = 0; i < RING; i++) /* ours, from chunks of our own */
        ck_assert_ptr_nonnull(opal_heap_malloc(&heap, bytes_of(i)));
}
END_TEST

START_TEST(misuse_of_the_others_blocks)
{
    make_region();
    pid_t child = fork();
    ck_assert_int_ge(child, 0);
    if (child == 0) {
        static const size_t sizes[] = {100, 100000, 2 * MIB};
        open_shared();
        for (int i = 0; i < 3; i++)
            atomic_store(&shared->ring[0][i],
                         (uintptr_t)((char *)opal_heap_calloc(&heap, 1, sizes[i]) - region));
        _exit(0);
    }
    int status;
    ck_assert_int_eq(waitpid(child, &status, 0), child);
    open_shared();
    for (int i = 0; i < 3; i++) {
        char *block = region + atomic_load(&shared->ring[0][i]);
        opal_heap_free(&heap, block + 8);
        ck_assert_int_eq(atomic_exchange(&fake_faults, 0), 1);
        ck_assert_int_eq(fake_fault, OPAL_HEAP_NO_BLOCK);
        opal_heap_free(&heap, block);
        ck_assert_int_eq(atomic_load(&fake_faults), 0);
        opal_heap_free(&heap, block);
        ck_assert_int_eq(atomic_exchange(&fake_faults, 0), 1);
        ck_assert_int_eq(fake_fault, OPAL_HEAP_FREED_TWICE);
    }
    opal_heap_free(&heap, region + REGION_BYTES - 4096); /* of no process yet */
    ck_assert_int_eq(fake_fault, OPAL_HEAP_NO_BLOCK);
}
END_TEST

/* The region has an end. */
START_TEST(the_region_is_full)
{
    make_region();
    open_shared();
    size_t bytes = 0;
    void *block, *last = NULL;
    errno = 0;
    while ((block = opal_heap_malloc(&heap, 700000)) != NULL) {
        bytes += 700000;
        last = block;
    }
    ck_assert_int_eq(errno, ENOMEM);
    ck_assert_uint_ge(bytes, REGION_BYTES / 10 * 8);
    ck_assert_ptr_null(opal_heap_malloc(&heap, 50 * MIB));
    opal_heap_free(&heap, last);
    ck_assert_ptr_eq(opal_heap_malloc(&heap, 700000), last);
}
END_TEST

/* Committing takes memory, so it is done in small steps. */
START_TEST(little_is_committed)
{
    make_region();
    open_shared();
    for (int i = 0; i < 10; i++)
        ck_assert_ptr_nonnull(opal_heap_malloc(&heap, 100));
    opal_heap_stats_t stats;
    opal_heap_stats(&heap, &stats);
    ck_assert_uint_le(stats.committed_bytes, 4 * 64 << 10);
}
END_TEST

static const unit_test_t tests[] = {
    {.test = &two_processes, .repeats = 2}, {.test = &the_home_has_died},
    {.test = &misuse_of_the_others_blocks}, {.test = &the_region_is_full},
    {.test = &little_is_committed},
};

UNIT_MAIN("opal/heap/remote", tests, NULL);
