/* SPDX-License-Identifier: BSD-3-Clause */
/* opal/heap/classes.h: every size has the smallest class that holds it, and little is lost. */
#include "opal/heap/classes.h"

#include "test/unit/opal/support.h"

START_TEST(each_size_has_the_smallest_class)
{
    for (size_t bytes = 0; bytes <= OPAL_HEAP_LARGEST_SLAB_BLOCK; bytes++) {
        unsigned size_class = opal_heap_class_of(bytes);
        ck_assert_uint_ge(size_class, 1);
        ck_assert_uint_lt(size_class, OPAL_HEAP_CLASSES);
        ck_assert_uint_ge(opal_heap_class_bytes(size_class), bytes);
        if (size_class > 1)
            ck_assert_uint_lt(opal_heap_class_bytes(size_class - 1), bytes);
    }
    ck_assert_uint_eq(opal_heap_class_bytes(OPAL_HEAP_CLASSES - 1), OPAL_HEAP_LARGEST_SLAB_BLOCK);
}
END_TEST

START_TEST(at_most_an_eighth_is_lost)
{
    for (unsigned i = 1; i < OPAL_HEAP_CLASSES; i++) {
        ck_assert_uint_eq(opal_heap_class_bytes(i) % 16, 0);
        if (i > 8)
            ck_assert_uint_le((opal_heap_class_bytes(i) - opal_heap_class_bytes(i - 1)) * 8,
                              opal_heap_class_bytes(i));
    }
}
END_TEST

START_TEST(aligned_classes_are_the_smallest)
{
    for (size_t alignment = 1; alignment <= 1 << 20; alignment *= 2)
        for (size_t bytes = 0; bytes <= OPAL_HEAP_LARGEST_SLAB_BLOCK + 100; bytes += 7) {
            unsigned wanted = 0;
            for (unsigned i = OPAL_HEAP_CLASSES - 1; i > 0; i--)
                if (opal_heap_class_bytes(i) >= bytes && opal_heap_class_bytes(i) % alignment == 0)
                    wanted = i;
            ck_assert_uint_eq(opal_heap_class_aligned(bytes, alignment), wanted);
        }
}
END_TEST

START_TEST(blocks_begin_at_multiples_of_their_size)
{
    for (unsigned i = 1; i < OPAL_HEAP_CLASSES; i++) {
        uint32_t bytes = opal_heap_class_bytes(i);
        opal_heap_page_t page = {.divisor = opal_heap_divisor(bytes)};
        bool good = true;
        for (uint32_t at = 0; at < OPAL_HEAP_UNIT_BYTES; at++)
            good &= opal_heap_begins(&page, 5 * OPAL_HEAP_UNIT_BYTES + at) == (at % bytes == 0);
        ck_assert(good);
    }
}
END_TEST

static const unit_test_t tests[] = {
    {.test = &each_size_has_the_smallest_class},
    {.test = &at_most_an_eighth_is_lost},
    {.test = &aligned_classes_are_the_smallest},
    {.test = &blocks_begin_at_multiples_of_their_size},
};

UNIT_MAIN("opal/heap/classes", tests, NULL);
