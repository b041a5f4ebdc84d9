/* SPDX-License-Identifier: BSD-3-Clause */
/* opal/heap/malloc.c: the contract of malloc, calloc and free, and what is said about misuse. */
#include "opal/heap/layout.h"
#include "opal/heap/engine.h"
#include "test/unit/opal/heap/fake_source.h"

static const size_t sizes[] = {0,       1,       15,      16,      17,      100,
                               1024,    1025,    4096,    32768,   32769,   100000,
                               1 << 20, 1100000, 4 << 20, 9000000, 34 << 20};

START_TEST(blocks_are_apart_and_aligned)
{
    char *blocks[2 * OPAL_COUNT_OF(sizes)];
    for (unsigned i = 0; i < OPAL_COUNT_OF(blocks); i++) {
        size_t bytes = sizes[i % OPAL_COUNT_OF(sizes)];
        blocks[i] = opal_heap_malloc(&heap, bytes);
        ck_assert_ptr_nonnull(blocks[i]);
        ck_assert_uint_eq((uintptr_t)blocks[i] % 16, 0);
        ck_assert(opal_heap_owns(&heap, blocks[i]));
        ck_assert_uint_ge(opal_heap_usable_size(&heap, blocks[i]), bytes);
        fake_fill(blocks[i], opal_heap_usable_size(&heap, blocks[i]), i);
    }
    ck_assert_uint_eq(fake_used_blocks(), OPAL_COUNT_OF(blocks));
    for (unsigned i = 0; i < OPAL_COUNT_OF(blocks); i++) {
        ck_assert(fake_is_filled(blocks[i], opal_heap_usable_size(&heap, blocks[i]), i));
        opal_heap_free(&heap, blocks[i]);
    }
    ck_assert_uint_eq(fake_used_blocks(), 0);
    ck_assert_int_eq(atomic_load(&fake_faults), 0);
}
END_TEST

START_TEST(an_alignment_may_be_asked_for_all_blocks)
{
    static const size_t alignments[] = {32, 64, 256, 4096};
    opal_heap_close(&heap);
    fake_config = (opal_heap_config_t){.alignment = alignments[_i]};
    fake_open();
    for (unsigned i = 0; i < OPAL_COUNT_OF(sizes); i++) {
        char *block = opal_heap_malloc(&heap, sizes[i]),
             *other = opal_heap_calloc(&heap, 1, sizes[i]);
        ck_assert_uint_eq((uintptr_t)block % alignments[_i], 0);
        ck_assert_uint_eq((uintptr_t)other % alignments[_i], 0);
        block = opal_heap_realloc(&heap, block, 3 * sizes[i] + 1);
        ck_assert_uint_eq((uintptr_t)block % alignments[_i], 0);
        opal_heap_free(&heap, block);
        opal_heap_free(&heap, other);
    }
}
END_TEST

START_TEST(calloc_is_zero_also_in_used_memory)
{
    for (unsigned i = 0; i < OPAL_COUNT_OF(sizes); i++)
        for (int turn = 0; turn < 3; turn++) {
            char *blocks[5];
            for (int k = 0; k < 5; k++) {
                blocks[k] = opal_heap_calloc(&heap, sizes[i] / 5, 5);
                ck_assert(fake_is_zero(blocks[k], sizes[i] / 5 * 5));
                memset(blocks[k], 0xff, opal_heap_usable_size(&heap, blocks[k]));
            }
            for (int k = 0; k < 5; k++)
                opal_heap_free(&heap, blocks[k]);
        }
}
END_TEST

/* Pages that come from the system are zero: writing that again would only bring them into memory.
 */
START_TEST(calloc_does_not_touch_fresh_pages)
{
    static const size_t fresh[] = {32 << 10, 200 << 10, 3 << 20, 50 << 20};
    char *block = opal_heap_calloc(&heap, 1, fresh[_i]);
    ck_assert_uint_le(fake_resident(block, fresh[_i]), 1);
    for (size_t at = 0; at < fresh[_i]; at += 4096)
        ck_assert_int_eq(block[at], 0);
}
END_TEST

START_TEST(sizes_that_cannot_be)
{
    static const size_t impossible[] = {SIZE_MAX,           SIZE_MAX - 15, SIZE_MAX - 4096,
                                        SIZE_MAX - 5 * MIB, SIZE_MAX / 2,  (size_t)1 << 62,
                                        (size_t)5 << 40};
    for (unsigned i = 0; i < OPAL_COUNT_OF(impossible); i++) {
        errno = 0;
        ck_assert_ptr_null(opal_heap_malloc(&heap, impossible[i]));
        ck_assert_int_eq(errno, ENOMEM);
        errno = 0;
        ck_assert_ptr_null(opal_heap_calloc(&heap, 1, impossible[i]));
        ck_assert_int_eq(errno, ENOMEM);
    }
    errno = 0;
    ck_assert_ptr_null(opal_heap_calloc(&heap, SIZE_MAX / 2, 3));
    ck_assert_int_eq(errno, ENOMEM);
    errno = 0;
    ck_assert_ptr_null(opal_heap_calloc(&heap, (size_t)1 << 32, (size_t)1 << 32));
    ck_assert_int_eq(errno, ENOMEM);
}
END_TEST

START_TEST(errno_stays)
{
    void *small = opal_heap_malloc(&heap, 10), *huge = opal_heap_malloc(&heap, 100 * MIB);
    errno = 77;
    opal_heap_free(&heap, NULL);
    opal_heap_free(&heap, small);
    opal_heap_free(&heap, huge);
    opal_heap_trim(&heap, 0);
    ck_assert_ptr_nonnull(opal_heap_malloc(&heap, 3 * MIB));
    ck_assert_int_eq(errno, 77);
}
END_TEST

START_TEST(no_memory)
{
    static const size_t kinds[] = {10000, 300000, 9 * MIB};
    atomic_store(&fake_commits_left, 0);
    size_t count = 0;
    void *block;
    errno = 0;
    while ((block = opal_heap_malloc(&heap, kinds[_i])) != NULL && count < 1000) {
        memset(block, 1, kinds[_i]);
        count++;
    }
    ck_assert_ptr_null(block);
    ck_assert_int_eq(errno, ENOMEM);
    atomic_store(&fake_commits_left, 10);
    ck_assert_ptr_nonnull(opal_heap_malloc(&heap, kinds[_i]));
}
END_TEST

/* -- misuse ---------------------------------------------------------------------------- */

static void expect_fault(opal_heap_fault_t fault, const void *at)
{
    ck_assert_int_eq(atomic_exchange(&fake_faults, 0), 1);
    ck_assert_int_eq(fake_fault, fault);
    ck_assert_ptr_eq(fake_fault_at, at);
}

START_TEST(a_second_free_is_seen)
{
    static const size_t kinds[] = {24, 5000, 300000, 9 * MIB};
    void *keep = opal_heap_malloc(&heap, kinds[_i]), *block = opal_heap_malloc(&heap, kinds[_i]);
    memset(block, 0xff, kinds[_i]);
    opal_heap_free(&heap, block);
    ck_assert_int_eq(atomic_load(&fake_faults), 0);
    opal_heap_free(&heap, block);
    expect_fault(kinds[_i] > 32768 ? OPAL_HEAP_NO_BLOCK : OPAL_HEAP_FREED_TWICE, block);
    ck_assert_ptr_eq(opal_heap_malloc(&heap, kinds[_i]), block);
    ck_assert_ptr_ne(opal_heap_malloc(&heap, kinds[_i]), block);
    opal_heap_free(&heap, keep);
}
END_TEST

START_TEST(pointers_that_are_no_blocks)
{
    char *small = opal_heap_malloc(&heap, 200), *run = opal_heap_malloc(&heap, 200000),
         *huge = opal_heap_malloc(&heap, 9 * MIB), local;
    char *const wrong[] = {&local,
                           small + 8,
                           small + 16,
                           run + 16,
                           run + 4096,
                           huge + 16,
                           huge - 1,
                           huge + 16 * MIB,
                           (char *)heap.base,
                           (char *)heap.base + heap.bytes - 64};
    for (unsigned i = 0; i < OPAL_COUNT_OF(wrong); i++) {
        opal_heap_free(&heap, wrong[i]);
        expect_fault(OPAL_HEAP_NO_BLOCK, wrong[i]);
        ck_assert_uint_eq(opal_heap_usable_size(&heap, wrong[i]), 0);
        expect_fault(OPAL_HEAP_NO_BLOCK, wrong[i]);
        ck_assert_ptr_null(opal_heap_realloc(&heap, wrong[i], 10));
        expect_fault(OPAL_HEAP_NO_BLOCK, wrong[i]);
    }
    opal_heap_free(&heap, small);
    opal_heap_free(&heap, run);
    opal_heap_free(&heap, huge);
    ck_assert_int_eq(atomic_load(&fake_faults), 0);
}
END_TEST

START_TEST(a_write_to_a_free_block_is_seen)
{
    char *first = opal_heap_malloc(&heap, 40), *second = opal_heap_malloc(&heap, 40);
    opal_heap_free(&heap, first);
    opal_heap_free(&heap, second);
    memset(second, 0x41, 40);
    char *next = opal_heap_malloc(&heap, 40);
    expect_fault(OPAL_HEAP_OVERWRITTEN, second);
    ck_assert_ptr_nonnull(next);
    ck_assert_ptr_ne(next, second);
    ck_assert_ptr_ne(next, first);
}
END_TEST

START_TEST(what_a_block_holds_does_not_matter)
{
    /* Contents that look like a free block's. */
    uint64_t *blocks[100];
    for (int i = 0; i < 100; i++) {
        blocks[i] = opal_heap_malloc(&heap, 16);
        uint32_t offset = (uint32_t)((uintptr_t)blocks[i] & OPAL_HEAP_CHUNK_MASK);
        *blocks[i] = opal_heap_link(offset, 0, i % 2);
    }
    for (int i = 0; i < 100; i++)
        opal_heap_free(&heap, blocks[i]);
    ck_assert_int_eq(atomic_load(&fake_faults), 0);
    ck_assert_uint_eq(fake_used_blocks(), 0);
}
END_TEST

/* Without a fault operation: a line on standard error, then abort (the signal is in the table). */
START_TEST(misuse_ends_the_process)
{
    opal_heap_system_t source = {.reserved = false};
    opal_heap_config_t config = {.bytes = 0};
    static opal_heap_t plain;
    ck_assert_int_eq(opal_heap_system_open(&source, &config), 0);
    ck_assert_int_eq(opal_heap_open(&plain, &config), 0);
    void *block = opal_heap_malloc(&plain, 10);
    opal_heap_free(&plain, block);
    opal_heap_free(&plain, block);
}
END_TEST

START_TEST(misuse_is_said)
{
    unit_capture();
    opal_heap_say(OPAL_HEAP_FREED_TWICE, (void *)0x1234abcd);
    ck_assert_str_eq(unit_stderr(),
                     "[mica] error: heap: 0x1234abcd: the block is freed a second time\n");
}
END_TEST

static const unit_test_t tests[] = {
    {.test = &blocks_are_apart_and_aligned},
    {.test = &an_alignment_may_be_asked_for_all_blocks, .repeats = 4},
    {.test = &calloc_is_zero_also_in_used_memory},
    {.test = &calloc_does_not_touch_fresh_pages, .repeats = 4},
    {.test = &sizes_that_cannot_be},
    {.test = &errno_stays},
    {.test = &no_memory, .repeats = 3},
    {.test = &a_second_free_is_seen, .repeats = 4},
    {.test = &pointers_that_are_no_blocks},
    {.test = &a_write_to_a_free_block_is_seen},
    {.test = &what_a_block_holds_does_not_matter},
    {.test = &misuse_ends_the_process, .signal = 6},
    {.test = &misuse_is_said},
};

UNIT_MAIN("opal/heap/malloc", tests, fake_open);
