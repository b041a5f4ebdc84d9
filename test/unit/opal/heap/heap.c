/* SPDX-License-Identifier: BSD-3-Clause */
/* opal/heap/heap.c and what it trims: memory really goes back, is reported before, and is not kept
 * for ever; limits of the address space; fork. */
#include <pthread.h>
#include <sys/resource.h>
#include <sys/wait.h>

#include "opal/heap/layout.h"
#include "test/unit/opal/heap/fake_source.h"

enum { MANY = 40000 };

static void *blocks[MANY];

static void take_all(int count, size_t bytes)
{
    for (int i = 0; i < count; i++) {
        blocks[i] = opal_heap_malloc(&heap, bytes);
        ck_assert_ptr_nonnull(blocks[i]);
        fake_fill(blocks[i], bytes, (unsigned)i);
    }
}

static void give_all(int count)
{
    for (int i = 0; i < count; i++)
        opal_heap_free(&heap, blocks[i]);
}

static size_t sum_resident;

static void add_resident(void *context OPAL_UNUSED, void *start, size_t bytes)
{
    sum_resident += fake_resident(start, bytes) * 4096;
}

/* Of all that the heap has. */
static size_t resident(void)
{
    sum_resident = 0;
    opal_heap_each_stretch(&heap, add_resident, NULL);
    return sum_resident;
}

/* -- opening --------------------------------------------------------------------------- */

START_TEST(configs_that_cannot_be)
{
    static opal_heap_t other;
    opal_heap_config_t config = heap.config;
    config.alignment = 24;
    ck_assert_int_eq(opal_heap_open(&other, &config), EINVAL);
    config.alignment = 8192;
    ck_assert_int_eq(opal_heap_open(&other, &config), EINVAL);
    config = heap.config;
    config.commit_bytes = 4096;
    ck_assert_int_eq(opal_heap_open(&other, &config), EINVAL);
    config = heap.config;
    config.base = (char *)config.base + 4096;
    ck_assert_int_eq(opal_heap_open(&other, &config), EINVAL);
    config = heap.config;
    config.bytes = 0;
    ck_assert_int_eq(opal_heap_open(&other, &config), EINVAL);
}
END_TEST

START_TEST(closing_gives_all_back)
{
    take_all(1000, 5000);
    char *run = opal_heap_malloc(&heap, 100000), *huge = opal_heap_malloc(&heap, 50 * MIB);
    void *small = blocks[500];
    ck_assert(fake_resident(small, 5000) > 0);
    memset(huge, 1, 50 * MIB);
    opal_heap_close(&heap);
    ck_assert_uint_eq(fake_resident(small, 5000), 0);
    ck_assert_uint_eq(fake_resident(run, 100000), 0);
    ck_assert_uint_eq(fake_resident(huge, 50 * MIB), 0);
    ck_assert(fake_has_gone(huge, 50 * MIB));
    fake_check_log();
    opal_heap_system_close(&fake_source);
    fake_open();
    ck_assert_ptr_nonnull(opal_heap_malloc(&heap, 10));
}
END_TEST

START_TEST(the_range_is_told_from_the_rest)
{
    char local;
    ck_assert(!opal_heap_owns(&heap, NULL));
    ck_assert(!opal_heap_owns(&heap, &local));
    ck_assert(!opal_heap_owns(&heap, (char *)heap.base - 1));
    ck_assert(opal_heap_owns(&heap, (char *)heap.base));
    ck_assert(opal_heap_owns(&heap, (char *)heap.base + heap.bytes - 1));
    ck_assert(!opal_heap_owns(&heap, (char *)heap.base + heap.bytes));
}
END_TEST

/* -- giving back ----------------------------------------------------------------------- */

START_TEST(trim_gives_back)
{
    static const size_t kinds[] = {40, 3000, 60000, 2 * MIB};
    static const int counts[] = {MANY, MANY / 4, 1000, 20};
    size_t before = unit_resident();
    take_all(counts[_i], kinds[_i]);
    size_t used = resident();
    ck_assert_uint_ge(used, (size_t)counts[_i] * kinds[_i]);
    ck_assert_uint_ge(unit_resident(), before + used / 10 * 9);
    give_all(counts[_i]);
    ck_assert_int_eq(opal_heap_trim(&heap, 0), 1);
    ck_assert_uint_le(resident(), 256 << 10);
    ck_assert(UNIT_SANITIZED || unit_resident() <= before + used / 10 + MIB);
    ck_assert_uint_ge(fake_check_log(), used / 10 * 8);
    ck_assert_int_eq(opal_heap_trim(&heap, 0), 0);
}
END_TEST

/* Every second page full of blocks stays; what is between goes. */
START_TEST(trim_gives_back_what_lies_between)
{
    take_all(600, 32768);
    for (int i = 0; i < 600; i++)
        if (i % 4 < 2) {
            opal_heap_free(&heap, blocks[i]);
            blocks[i] = NULL;
        }
    size_t before = resident();
    ck_assert_int_eq(opal_heap_trim(&heap, 0), 1);
    ck_assert_uint_le(resident(), before / 10 * 6);
    fake_check_log();
    for (int i = 0; i < 600; i++)
        if (blocks[i] != NULL)
            ck_assert(fake_is_filled(blocks[i], 32768, (unsigned)i));
}
END_TEST

START_TEST(trim_may_keep_some)
{
    take_all(10, 3 * MIB);
    give_all(10);
    opal_heap_trim(&heap, 20 * MIB);
    size_t left = resident();
    ck_assert_uint_ge(left, 12 * MIB);
    ck_assert_uint_le(left, 21 * MIB);
}
END_TEST

START_TEST(large_blocks_go_at_once)
{
    char *block = opal_heap_malloc(&heap, 60 * MIB);
    memset(block, 1, 60 * MIB);
    opal_heap_free(&heap, block);
    ck_assert(fake_has_gone(block, 60 * MIB));
    ck_assert_uint_eq(fake_resident(block, 60 * MIB), 0);
    fake_check_log();
}
END_TEST

START_TEST(smaller_ones_are_kept_up_to_a_limit)
{
    char *block = opal_heap_malloc(&heap, 10 * MIB);
    memset(block, 1, 10 * MIB);
    opal_heap_free(&heap, block);
    ck_assert_int_eq(atomic_load(&fake_events), 0);
    ck_assert_ptr_eq(opal_heap_malloc(&heap, 10 * MIB), block); /* its pages are there */
    opal_heap_free(&heap, block);
    take_all(30, 10 * MIB);
    give_all(30);
    ck_assert_uint_le(resident(), 65 * MIB);
    fake_check_log();
}
END_TEST

/* Whoever comes by next does it. */
START_TEST(what_is_unused_for_long_goes)
{
    take_all(10, 3 * MIB);
    give_all(10);
    take_all(5000, 1000);
    give_all(5000);
    take_all(20, 50000);
    give_all(20);
    size_t before = resident();
    atomic_fetch_add(&fake_msec, 600);
    opal_heap_free(&heap, opal_heap_malloc(&heap, 50000));
    ck_assert_uint_ge(resident(), before);
    atomic_fetch_add(&fake_msec, 3000);
    opal_heap_free(&heap, opal_heap_malloc(&heap, 50000));
    ck_assert_uint_le(resident(), 2 * MIB);
    fake_check_log();
}
END_TEST

/* What is kept goes before the heap grows beyond what it ever had. */
START_TEST(keeping_does_not_make_the_peak_higher)
{
    for (size_t size = 2; size <= 24; size++) {
        char *block = opal_heap_malloc(&heap, size * MIB);
        memset(block, 1, size * MIB);
        opal_heap_free(&heap, block);
    }
    opal_heap_stats_t stats;
    opal_heap_stats(&heap, &stats);
    ck_assert_uint_le(stats.peak_committed_bytes, 36 * MIB);
}
END_TEST

/* -- looking at it --------------------------------------------------------------------- */

START_TEST(statistics)
{
    take_all(1000, 100);
    void *run = opal_heap_malloc(&heap, 100000), *huge = opal_heap_malloc(&heap, 5 * MIB);
    opal_heap_stats_t stats;
    opal_heap_stats(&heap, &stats);
    ck_assert_uint_eq(stats.used_blocks, 1002);
    ck_assert_uint_ge(stats.used_bytes, 100000 + 100000 + 5 * MIB);
    ck_assert_uint_le(stats.used_bytes, 112000 + 106000 + 5 * MIB + 8192);
    ck_assert_uint_eq(stats.huge_blocks, 1);
    ck_assert_uint_ge(stats.committed_bytes, stats.used_bytes);
    ck_assert_uint_eq(stats.threads, 1);
    struct mallinfo2 info = opal_heap_mallinfo2(&heap);
    ck_assert_uint_eq(info.uordblks, stats.used_bytes);
    ck_assert_uint_eq(info.uordblks + info.fordblks, info.arena + info.hblkhd);
    ck_assert_uint_eq(info.hblks, 1);
    give_all(1000);
    opal_heap_free(&heap, run);
    opal_heap_free(&heap, huge);
    opal_heap_stats(&heap, &stats);
    ck_assert_uint_eq(stats.used_blocks, 0);
    ck_assert_uint_eq(stats.used_bytes, 0);
    ck_assert_uint_eq(stats.huge_bytes, 0);
    ck_assert_uint_ge(stats.retained_bytes, 5 * MIB);
    unit_capture();
    opal_heap_print_stats(&heap);
    unit_assert_part(unit_stderr(), "heap: 0 huge blocks\n");
    ck_assert_uint_eq(unit_count(unit_stderr(), "\n"), 9);
}
END_TEST

/* -- limits ---------------------------------------------------------------------------- */

static size_t address_space(void)
{
    size_t pages = 0;
    FILE *file = fopen("/proc/self/statm", "r");
    ck_assert_ptr_nonnull(file);
    ck_assert_int_eq(fscanf(file, "%zu", &pages), 1);
    fclose(file);
    return pages * (size_t)sysconf(_SC_PAGESIZE);
}

START_TEST(a_limit_of_the_address_space)
{
    static const size_t kinds[] = {5000, 200000, 7 * MIB};
    if (fake_source.reserved)
        return; /* the whole range counts from the start: it fits, or the heap does not open */
    struct rlimit limit;
    getrlimit(RLIMIT_AS, &limit);
    limit.rlim_cur = address_space() + 96 * MIB;
    ck_assert_int_eq(setrlimit(RLIMIT_AS, &limit), 0);
    int count = 0;
    errno = 0;
    while (count < MANY && (blocks[count] = opal_heap_malloc(&heap, kinds[_i])) != NULL)
        fake_fill(blocks[count++], kinds[_i], 0);
    ck_assert_int_lt(count, MANY);
    ck_assert_int_eq(errno, ENOMEM);
    ck_assert_uint_ge((size_t)count * kinds[_i], 64 * MIB);
    ck_assert_ptr_null(opal_heap_malloc(&heap, 96 * MIB));
    for (int i = 0; i < count; i++)
        ck_assert(fake_is_filled(blocks[i], kinds[_i], 0));
    give_all(count);
    for (int i = 0; i < count / 2; i++)
        ck_assert_ptr_nonnull(opal_heap_malloc(&heap, kinds[_i]));
}
END_TEST

/* -- fork ------------------------------------------------------------------------------ */

static atomic_bool stop;

static void *churn(void *seed)
{
    void *mine[64] = {NULL};
    unsigned random = (unsigned)(uintptr_t)seed;
    while (!atomic_load(&stop)) {
        random = random * 1103515245 + 12345;
        unsigned at = random >> 8 & 63;
        opal_heap_free(&heap, mine[at]);
        mine[at] = opal_heap_malloc(&heap, (random >> 14) % 70000);
    }
    for (int i = 0; i < 64; i++)
        opal_heap_free(&heap, mine[i]);
    return NULL;
}

/* The child has the parent's blocks, and goes on. */
static int in_child(int count)
{
    for (int i = 0; i < count; i++) {
        if (!fake_is_filled(blocks[i], 1000, (unsigned)i))
            return 1;
        opal_heap_free(&heap, blocks[i]);
    }
    for (int turn = 0; turn < 3; turn++) {
        for (int i = 0; i < count; i++) {
            size_t bytes = (size_t)i * 331 % 200000;
            if ((blocks[i] = opal_heap_malloc(&heap, bytes)) == NULL)
                return 2;
            fake_fill(blocks[i], bytes, (unsigned)i);
        }
        give_all(count);
    }
    opal_heap_trim(&heap, 0);
    return 0;
}

START_TEST(fork_among_threads)
{
    pthread_t threads[3];
    take_all(200, 1000);
    for (uintptr_t i = 0; i < 3; i++)
        pthread_create(&threads[i], NULL, churn, (void *)(i + 1));
    for (int turn = 0; turn < 10; turn++) {
        opal_heap_fork_prepare(&heap);
        pid_t child = fork();
        ck_assert_int_ge(child, 0);
        if (child == 0) {
            opal_heap_fork_child(&heap);
            _exit(in_child(200));
        }
        opal_heap_fork_parent(&heap);
        int status;
        ck_assert_int_eq(waitpid(child, &status, 0), child);
        ck_assert_int_eq(status, 0);
    }
    atomic_store(&stop, true);
    for (int i = 0; i < 3; i++)
        pthread_join(threads[i], NULL);
    for (int i = 0; i < 200; i++)
        ck_assert(fake_is_filled(blocks[i], 1000, (unsigned)i));
    give_all(200);
    ck_assert_uint_eq(fake_used_blocks(), 0);
}
END_TEST

static size_t stretches, stretch_bytes;

static void note_stretch(void *context OPAL_UNUSED, void *start, size_t bytes)
{
    stretches++;
    stretch_bytes += bytes;
    ck_assert(opal_heap_owns(&heap, start));
}

/* A snapshot is made between prepare and the child's first step, with the lock held. */
START_TEST(stretches_while_it_forks)
{
    take_all(10, 3 * MIB);
    opal_heap_fork_prepare(&heap);
    opal_heap_each_stretch(&heap, note_stretch, NULL);
    opal_heap_fork_parent(&heap);
    opal_heap_stats_t stats;
    opal_heap_stats(&heap, &stats);
    ck_assert_uint_eq(stretch_bytes, stats.committed_bytes);
    ck_assert_uint_ge(stretches, 10);
}
END_TEST

static const unit_test_t tests[] = {
    {.test = &configs_that_cannot_be},
    {.test = &closing_gives_all_back},
    {.test = &the_range_is_told_from_the_rest},
    {.test = &trim_gives_back, .repeats = 4},
    {.test = &trim_gives_back_what_lies_between},
    {.test = &trim_may_keep_some},
    {.test = &large_blocks_go_at_once},
    {.test = &smaller_ones_are_kept_up_to_a_limit},
    {.test = &what_is_unused_for_long_goes},
    {.test = &keeping_does_not_make_the_peak_higher},
    {.test = &statistics},
    {.test = &a_limit_of_the_address_space, .repeats = 3},
    {.test = &fork_among_threads},
    {.test = &stretches_while_it_forks},
};

UNIT_MAIN("opal/heap/heap", tests, fake_open);
