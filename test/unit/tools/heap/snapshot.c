/* SPDX-License-Identifier: BSD-3-Clause */
/* tools/heap/snapshot.c: a region made by hand is seen as it is; one that has lost its mind is
 * refused, or shown with numbers that can be. */
#include "tools/heap/snapshot.h"

#include <sys/mman.h>

#include "opal/heap/layout.h"
#include "opal/node/region_reap.h"
#include "test/unit/opal/support.h"

enum { CHUNK = OPAL_HEAP_CHUNK_BYTES, REGION_BYTES = 24 * CHUNK, FUZZED = 3000 };

static int fd;
static opal_region_header_t *header;

static void *at_chunk(uint32_t number)
{
    return (char *)header + (size_t)number * CHUNK;
}

/* Three pools: the first with a huge block over two chunks and a chunk of runs, the second, with
 * one chunk in the midst of the first's, has ended; the third's chunks are spare. */
static void make(void)
{
    const char *step;
    const opal_region_request_t request = {.bytes = REGION_BYTES, .ranks = 2};
    fd = opal_region_create(&request, &step);
    ck_assert_int_ge(fd, 0);
    header = mmap(NULL, REGION_BYTES, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    ck_assert_ptr_ne(header, MAP_FAILED);
    uint32_t first = header->first_chunk;
    opal_region_pool_t *pools = opal_region_pools(header);
    _Atomic uint32_t *owners = opal_region_owners(header, header->pool_count);
    opal_region_life_t self;
    opal_region_own_life(&self);
    atomic_store(&header->attached, 3);
    atomic_store(&header->given, first + 9);
    atomic_store(&pools[0].pid, self.pid);
    pools[0].program = self.program;
    pools[1].rank = 1;
    atomic_store(&pools[1].pid, INT32_MAX); /* more than the system has */
    pools[0].space = pools[1].space = self.space;
    atomic_store(&pools[2].pid, OPAL_REGION_VACANT);
    static const uint32_t owner_of[] = {1, 1, 1, 2, 1, 0, OPAL_REGION_SPARE, OPAL_REGION_SPARE, 0};
    for (uint32_t i = 0; i < OPAL_COUNT_OF(owner_of); i++)
        atomic_store(&owners[first + i], owner_of[i]);
    opal_heap_chunk_t *huge = at_chunk(first), *runs = at_chunk(first + 4);
    atomic_store(&huge->kind, OPAL_HEAP_HUGE);
    huge->huge.block = 4096;
    huge->huge.end = CHUNK + 3 * OPAL_HEAP_UNIT_BYTES;
    atomic_store(&runs->kind, OPAL_HEAP_RUNS);
    memset(opal_heap_runs_of(runs)->free, 0xff, OPAL_HEAP_PAGES / 8);
    opal_heap_runs_of(runs)->free[0] = ~(uint64_t)0xff; /* pages 1 to 7 */
    opal_heap_runs_of(runs)->length[1] = 3;
    opal_heap_runs_of(runs)->length[4] = 4;
}

static void end(void)
{
    munmap(header, REGION_BYTES);
    close(fd);
}

START_TEST(what_is_there_is_told)
{
    snapshot_t snapshot;
    make();
    ck_assert_ptr_null(snapshot_take(fd, &snapshot));
    ck_assert_uint_eq(snapshot.bytes, REGION_BYTES);
    ck_assert_uint_eq(snapshot.pool_count, 2);
    const snapshot_pool_t *pool = &snapshot.pools[0];
    ck_assert(pool->rank == 0 && pool->pid == getpid() && !pool->has_ended);
    ck_assert_uint_eq(pool->given, 4);
    ck_assert_uint_eq(pool->blocks, 3);
    ck_assert_uint_eq(pool->used_bytes, CHUNK + 3 * OPAL_HEAP_UNIT_BYTES + 7 * 4096);
    ck_assert_uint_eq(pool->hole_bytes, CHUNK - 3 * OPAL_HEAP_UNIT_BYTES + CHUNK - 8 * 4096);
    ck_assert_uint_eq(pool->longest_hole_bytes, CHUNK - 8 * 4096);
    ck_assert_uint_eq(pool->free_bytes, CHUNK);
    ck_assert_uint_eq(snapshot_fragmentation(pool), 64);
    ck_assert_uint_eq(pool->chunk_count, 3);
    ck_assert(pool->chunks[1].use == OPAL_HEAP_USE_HUGE && pool->chunks[1].fill[2] == 16 &&
              pool->chunks[1].fill[3] == 0);
    ck_assert(pool->chunks[2].use == OPAL_HEAP_USE_RUNS && pool->chunks[2].fill[0] == 7);
    ck_assert(snapshot.pools[1].has_ended && snapshot.pools[1].given == 1);
    ck_assert_uint_eq(snapshot.pools[1].used_bytes, 0);
    ck_assert_uint_eq(snapshot.spare, 2);
    snapshot_free(&snapshot);
    /* What is being reaped; and what was, of the last program that this process was. */
    opal_region_pool_t *pools = opal_region_pools(header);
    atomic_store(&pools[1].pid, -17);
    pools[0].program++;
    ck_assert_ptr_null(snapshot_take(fd, &snapshot));
    ck_assert_uint_eq(snapshot.pool_count, 2);
    ck_assert(snapshot.pools[0].has_ended);
    ck_assert(snapshot.pools[1].has_ended && snapshot.pools[1].pid == 17);
    snapshot_free(&snapshot);
    end();
}
END_TEST

static uint64_t blocks_of_file(void)
{
    struct stat status;
    ck_assert_int_eq(fstat(fd, &status), 0);
    return (uint64_t)status.st_blocks;
}

START_TEST(looking_takes_no_memory)
{
    snapshot_t snapshot;
    make();
    uint64_t before = blocks_of_file();
    for (int i = 0; i < 5; i++) {
        ck_assert_ptr_null(snapshot_take(fd, &snapshot));
        ck_assert_uint_le(snapshot.pools[0].resident_bytes, before * 512);
        ck_assert_uint_gt(snapshot.pools[0].resident_bytes, 0);
        snapshot_free(&snapshot);
    }
    ck_assert_uint_eq(blocks_of_file(), before);
    end();
}
END_TEST

static void check_limits(const snapshot_t *snapshot)
{
    uint64_t bytes = 0, chunks = 0;
    for (size_t i = 0; i < snapshot->pool_count; i++) {
        const snapshot_pool_t *pool = &snapshot->pools[i];
        ck_assert_uint_le(pool->used_bytes + pool->hole_bytes + pool->free_bytes,
                          (uint64_t)pool->given * CHUNK);
        ck_assert_uint_le(pool->resident_bytes, (uint64_t)pool->given * CHUNK);
        ck_assert_uint_le(pool->chunk_count, pool->given);
        ck_assert_uint_le(snapshot_fragmentation(pool), 100);
        bytes += pool->used_bytes;
        chunks += pool->given;
    }
    ck_assert_uint_le(chunks, snapshot->chunks);
    ck_assert_uint_le(bytes, REGION_BYTES);
}

/* Some bytes anywhere in what is read. */
static void damage(void)
{
    uint32_t first = header->first_chunk;
    char *const places[] = {
        (char *)header,
        (char *)opal_region_pools(header),
        (char *)(uintptr_t)&opal_region_owners(header, header->pool_count)[first],
        at_chunk(first),
        at_chunk(first + 3),
        at_chunk(first + 4)};
    static const size_t rooms[] = {sizeof *header, 4 * sizeof(opal_region_pool_t), 24, 12 << 10, 64,
                                   12 << 10};
    size_t most = (size_t)rand() % OPAL_COUNT_OF(places) + 1;
    for (size_t i = rand() % 4 ? 1 : 0; i < most; i++)
        for (int n = rand() % 8; n >= 0; n--)
            places[i][(size_t)rand() % rooms[i]] = (char)rand();
}

START_TEST(what_cannot_be_is_refused)
{
    snapshot_t snapshot;
    int refused = 0, shown = 0;
    srand(11);
    for (int n = 0; n < FUZZED; n++) {
        make();
        damage();
        if (snapshot_take(fd, &snapshot) != NULL) {
            refused++;
        } else {
            shown++;
            check_limits(&snapshot);
            snapshot_free(&snapshot);
        }
        end();
    }
    ck_assert_int_gt(refused, FUZZED / 20);
    ck_assert_int_gt(shown, FUZZED / 20);
    int other = memfd_create("other", MFD_CLOEXEC);
    ck_assert_ptr_nonnull(snapshot_take(other, &snapshot));
    ck_assert_int_eq(ftruncate(other, REGION_BYTES), 0);
    ck_assert_ptr_nonnull(snapshot_take(other, &snapshot));
    ck_assert_ptr_nonnull(snapshot_take(-1, &snapshot));
    close(other);
}
END_TEST

static const unit_test_t tests[] = {
    {.test = &what_is_there_is_told},
    {.test = &looking_takes_no_memory},
    {.test = &what_cannot_be_is_refused},
};

UNIT_MAIN("tools/heap/snapshot", tests, NULL);
