/* SPDX-License-Identifier: BSD-3-Clause */
/* opal/heap/system.c: where a private heap's pages come from, in an address space with other
 * mappings. */
#include <sys/resource.h>
#include <sys/syscall.h>

#include "opal/heap/layout.h"
#include "test/unit/opal/heap/fake_source.h"

START_TEST(a_range_is_claimed_not_reserved)
{
    fake_open();
    ck_assert_uint_ge(heap.bytes, (size_t)1 << 30);
    if (fake_source.reserved)
        return; /* a sanitizer has the corner */
    opal_heap_stats_t stats;
    opal_heap_stats(&heap, &stats);
    ck_assert_uint_le(stats.committed_bytes, OPAL_HEAP_CHUNK_BYTES);
    unsigned char in;
    ck_assert_int_eq(mincore((char *)heap.base + heap.bytes / 2, 4096, &in), -1);
}
END_TEST

/* Somebody maps something where the heap would go next. */
START_TEST(strangers_in_the_range_are_left_alone)
{
    fake_open();
    if (fake_source.reserved)
        return;
    char *stranger = (char *)heap.base + 2 * OPAL_HEAP_CHUNK_BYTES + 8192;
    ck_assert_ptr_eq(mmap(stranger, 4096, PROT_READ | PROT_WRITE,
                          MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE, -1, 0),
                     stranger);
    fake_fill(stranger, 4096, 1);
    for (int i = 0; i < 8; i++) {
        char *block = opal_heap_malloc(&heap, 3 * MIB);
        ck_assert_ptr_nonnull(block);
        ck_assert(block >= stranger + 4096 || block + 3 * MIB <= stranger);
        fake_fill(block, 3 * MIB, 2);
    }
    ck_assert(fake_is_filled(stranger, 4096, 1));
    opal_heap_free(&heap, stranger + 64);
    ck_assert_int_eq(atomic_load(&fake_faults), 1);
    ck_assert_int_eq(fake_fault, OPAL_HEAP_NO_BLOCK);
}
END_TEST

/* A move must not overwrite them either. */
START_TEST(a_move_goes_around_strangers)
{
    fake_open();
    if (fake_source.reserved)
        return;
    char *block = opal_heap_malloc(&heap, 30 * MIB), *wall = opal_heap_malloc(&heap, 2 * MIB);
    fake_fill(block, 30 * MIB, 3);
    uintptr_t next = ((uintptr_t)wall | OPAL_HEAP_CHUNK_MASK) + 1;
    char *stranger = (char *)next + 5 * MIB;
    ck_assert_ptr_eq(mmap(stranger, 4096, PROT_READ | PROT_WRITE,
                          MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE, -1, 0),
                     stranger);
    fake_fill(stranger, 4096, 1);
    char *moved = opal_heap_realloc(&heap, block, 60 * MIB);
    ck_assert_ptr_nonnull(moved);
    ck_assert(fake_is_filled(moved, 30 * MIB, 3));
    fake_fill(moved, 60 * MIB, 4);
    ck_assert(fake_is_filled(stranger, 4096, 1));
}
END_TEST

/* A limit that is there from the start, as by ulimit -v: the heap asks for no more than it may. */
START_TEST(under_a_small_limit)
{
    size_t pages = 0;
    FILE *file = fopen("/proc/self/statm", "r");
    ck_assert_int_eq(fscanf(file, "%zu", &pages), 1);
    fclose(file);
    struct rlimit limit;
    getrlimit(RLIMIT_AS, &limit);
    limit.rlim_cur = pages * 4096 + 256 * MIB;
    ck_assert_int_eq(setrlimit(RLIMIT_AS, &limit), 0);
    fake_open();
    char *block = opal_heap_malloc(&heap, 50 * MIB);
    ck_assert_ptr_nonnull(block);
    fake_fill(block, 50 * MIB, 1);
    ck_assert_ptr_null(opal_heap_malloc(&heap, 256 * MIB));
    ck_assert_int_eq(errno, ENOMEM);
    void *others = malloc(20 * MIB); /* they have room too */
    ck_assert_ptr_nonnull(others);
    free(others);
}
END_TEST

/* Two heaps have ranges of their own. */
START_TEST(heaps_do_not_overlap)
{
    static opal_heap_t other;
    opal_heap_system_t source = {.reserved = false};
    opal_heap_config_t config = {.bytes = (size_t)1 << 30};
    fake_open();
    void *block = opal_heap_malloc(&heap, 100);
    ck_assert_int_eq(opal_heap_system_open(&source, &config), 0);
    ck_assert_int_eq(opal_heap_open(&other, &config), 0);
    ck_assert(!opal_heap_owns(&other, block));
    ck_assert(!opal_heap_owns(&heap, opal_heap_malloc(&other, 100)));
    opal_heap_close(&other);
    opal_heap_system_close(&source);
}
END_TEST

/* Locked pages cannot be given back one by one; they still have to read as zero. */
START_TEST(locked_pages)
{
    fake_open();
    char *block = opal_heap_malloc(&heap, 100000);
    memset(block, 1, 100000);
    /* Directly, as a sanitizer's mlock does nothing. */
    if (syscall(SYS_mlock, block, 100000) != 0)
        return; /* not allowed here */
    opal_heap_free(&heap, block);
    opal_heap_trim(&heap, 0);
    char *again = opal_heap_calloc(&heap, 1, 100000);
    ck_assert(fake_is_zero(again, 100000));
}
END_TEST

static const unit_test_t tests[] = {
    {.test = &a_range_is_claimed_not_reserved},
    {.test = &strangers_in_the_range_are_left_alone},
    {.test = &a_move_goes_around_strangers},
    {.test = &under_a_small_limit},
    {.test = &heaps_do_not_overlap},
    {.test = &locked_pages},
};

UNIT_MAIN("opal/heap/system", tests, NULL);
