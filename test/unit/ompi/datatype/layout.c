/* SPDX-License-Identifier: BSD-3-Clause */
/* ompi/datatype/layout.c: what lists of parts become. */
#include "ompi/datatype/layout.h"

#include "test/unit/opal/support.h"

static ompi_layout_t *finish(ompi_layout_list_t *list, ptrdiff_t wanted_origin)
{
    ptrdiff_t origin;
    ompi_layout_t *layout = ompi_layout_list_finish(list, &origin);
    ck_assert_ptr_nonnull(layout);
    ck_assert_int_eq(origin, wanted_origin);
    ck_assert_ptr_null(list->parts);
    return layout;
}

/* Runs of equal length at these offsets. */
static ompi_layout_t *of_runs(const ptrdiff_t *offsets, size_t count, size_t bytes)
{
    ompi_layout_list_t list = {0};
    for (size_t i = 0; i < count; i++)
        ompi_layout_list_add_run(&list, offsets[i], bytes);
    return finish(&list, offsets[0]);
}

static ompi_layout_t *loop(size_t count, ptrdiff_t stride, size_t bytes)
{
    ompi_layout_list_t list = {0};
    for (size_t i = 0; i < count; i++)
        ompi_layout_list_add_run(&list, (ptrdiff_t)i * stride, bytes);
    return finish(&list, 0);
}

START_TEST(nothing_is_an_empty_run)
{
    ompi_layout_list_t list = {0};
    ompi_layout_list_add_run(&list, 5, 0);
    ompi_layout_t *layout = finish(&list, 0);
    ck_assert_ptr_eq(layout, &ompi_layout_empty);
    ck_assert_uint_eq(layout->bytes, 0);
    ompi_layout_release(layout);
    layout = ompi_layout_repeat(&ompi_layout_empty, 5, 7);
    ck_assert_ptr_eq(layout, &ompi_layout_empty);
    ompi_layout_release(layout);
}
END_TEST

START_TEST(neighbours_are_one_run)
{
    ompi_layout_t *layout = of_runs((const ptrdiff_t[]){16, 24, 32}, 3, 8);
    ck_assert_int_eq(layout->kind, OMPI_LAYOUT_RUN);
    ck_assert_uint_eq(layout->bytes, 24);
    ompi_layout_t *more = ompi_layout_repeat(layout, 4, 24);
    ck_assert_int_eq(more->kind, OMPI_LAYOUT_RUN);
    ck_assert_uint_eq(more->bytes, 96);
    ompi_layout_release(more);
    ompi_layout_release(layout);
}
END_TEST

/* Packed bytes are in the order of the parts: what lies in front of it is no neighbour. */
START_TEST(order_is_kept)
{
    ompi_layout_t *layout = of_runs((const ptrdiff_t[]){8, 0}, 2, 8);
    ck_assert_int_eq(layout->kind, OMPI_LAYOUT_LOOP);
    ck_assert_int_eq(layout->stride, -8);
    ompi_layout_release(layout);
}
END_TEST

START_TEST(equal_distances_are_a_loop)
{
    ompi_layout_t *layout = of_runs((const ptrdiff_t[]){4, 20, 36, 52}, 4, 8);
    ck_assert_int_eq(layout->kind, OMPI_LAYOUT_LOOP);
    ck_assert_uint_eq(layout->count, 4);
    ck_assert_int_eq(layout->stride, 16);
    ck_assert_uint_eq(layout->segments, 4);
    ompi_layout_t *longer = ompi_layout_repeat(layout, 3, 64), *nest;
    ck_assert_int_eq(longer->child->kind, OMPI_LAYOUT_RUN);
    ck_assert_uint_eq(longer->count, 12);
    nest = ompi_layout_repeat(layout, 3, 80);
    ck_assert_ptr_eq(nest->child, layout);
    ck_assert_uint_eq(nest->segments, 12);
    ompi_layout_release(nest);
    ompi_layout_release(longer);
    ompi_layout_release(layout);
}
END_TEST

START_TEST(equal_runs_are_blocks)
{
    ompi_layout_t *layout = of_runs((const ptrdiff_t[]){4, 20, 44, 52}, 4, 8);
    ck_assert_int_eq(layout->kind, OMPI_LAYOUT_BLOCKS);
    /* 44 and 52 are neighbours, so there are runs of 8, 8 and 16: in pieces of 8 */
    ck_assert_uint_eq(layout->count, 4);
    ck_assert_uint_eq(layout->segments, 3);
    ck_assert_int_eq(ompi_layout_child_offset(layout, 2), 40);
    ck_assert_int_eq(ompi_layout_child_offset(layout, 3), 48);
    ompi_layout_release(layout);
    layout = of_runs((const ptrdiff_t[]){0, 20, (ptrdiff_t)1 << 40}, 3, 8);
    ck_assert_int_eq(layout->kind, OMPI_LAYOUT_BLOCKS);
    ck_assert_ptr_null(layout->narrow_offsets);
    ck_assert_int_eq(ompi_layout_child_offset(layout, 2), (ptrdiff_t)1 << 40);
    ompi_layout_release(layout);
}
END_TEST

START_TEST(long_different_runs_are_a_list)
{
    ompi_layout_list_t list = {0};
    ompi_layout_list_add_run(&list, 0, 4096);
    ompi_layout_list_add_run(&list, 5000, 100);
    ompi_layout_list_add_run(&list, 6000, 3);
    ompi_layout_t *layout = finish(&list, 0);
    ck_assert_int_eq(layout->kind, OMPI_LAYOUT_LIST);
    ck_assert_ptr_null(layout->children);
    ck_assert_uint_eq(ompi_layout_child_bytes(layout, 1), 100);
    ck_assert_uint_eq(layout->bytes, 4199);
    ompi_layout_release(layout);
}
END_TEST

START_TEST(small_trees_are_expanded)
{
    ompi_layout_t *small = loop(3, 16, 8);
    ompi_layout_list_t list = {0};
    ompi_layout_list_add(&list, 100, small);
    ompi_layout_list_add(&list, 0, small);
    ompi_layout_list_add_run(&list, 40, 24);
    ompi_layout_t *layout = finish(&list, 100);
    ck_assert_int_eq(layout->kind, OMPI_LAYOUT_BLOCKS);
    ck_assert_uint_eq(layout->segments, 6); /* 0 and 16, 32 with 40 */
    ck_assert_uint_eq(layout->count, 9);
    ompi_layout_release(layout);
    ompi_layout_release(small);
}
END_TEST

START_TEST(large_trees_are_shared)
{
    ompi_layout_t *large = loop(1000, 16, 8);
    ompi_layout_list_t list = {0};
    ompi_layout_list_add(&list, 0, large);
    ompi_layout_list_add(&list, 70000, large);
    ompi_layout_list_add(&list, 20000, large);
    ompi_layout_t *layout = finish(&list, 0);
    ck_assert_int_eq(layout->kind, OMPI_LAYOUT_BLOCKS);
    ck_assert_uint_eq(layout->count, 3);
    ck_assert_ptr_eq(layout->child, large);

    ompi_layout_list_add(&list, 0, large);
    ompi_layout_list_add_run(&list, -64, 8);
    ompi_layout_t *mixed = finish(&list, 0);
    ck_assert_int_eq(mixed->kind, OMPI_LAYOUT_LIST);
    ck_assert_ptr_eq(mixed->children[0], large);
    ck_assert_ptr_null(mixed->children[1]);
    ck_assert_uint_eq(mixed->segments, 1001);
    ompi_layout_release(mixed);
    ompi_layout_release(layout);
    ompi_layout_release(large);
}
END_TEST

/* Each list has the one before among its parts, in front, in the middle and behind. */
START_TEST(long_chains_are_not_deep)
{
    enum { LENGTH = 20000, EXPECTED_DEPTH = 64 };
    for (int position = 0; position < 3; position++) {
        ompi_layout_t *chain = loop(1000, 16, 8);
        for (int i = 0; i < LENGTH; i++) {
            ompi_layout_list_t list = {0};
            for (int part = 0; part < 3; part++) {
                if (part == position)
                    ompi_layout_list_add(&list, 64, chain);
                else
                    ompi_layout_list_add_run(&list, -64 * part, (size_t)part + 1);
            }
            ptrdiff_t origin;
            ompi_layout_t *next = ompi_layout_list_finish(&list, &origin);
            ck_assert_uint_le(next->depth, EXPECTED_DEPTH);
            ck_assert_uint_eq(next->bytes, chain->bytes + 6 - (size_t)position - 1);
            ck_assert_uint_eq(next->segments, chain->segments + 2);
            ompi_layout_release(chain);
            chain = next;
        }
        ompi_layout_release(chain);
    }
}
END_TEST

START_TEST(a_list_can_be_discarded)
{
    ompi_layout_t *large = loop(100, 16, 8);
    ompi_layout_list_t list = {0};
    for (ptrdiff_t i = 0; i < 100; i++)
        ompi_layout_list_add(&list, i, large);
    ck_assert_uint_eq(atomic_load(&large->references), 101);
    ompi_layout_list_discard(&list);
    ck_assert_uint_eq(atomic_load(&large->references), 1);
    ompi_layout_release(large);
}
END_TEST

static const unit_test_t tests[] = {
    {.test = &nothing_is_an_empty_run},
    {.test = &neighbours_are_one_run},
    {.test = &order_is_kept},
    {.test = &equal_distances_are_a_loop},
    {.test = &equal_runs_are_blocks},
    {.test = &long_different_runs_are_a_list},
    {.test = &small_trees_are_expanded},
    {.test = &large_trees_are_shared},
    {.test = &long_chains_are_not_deep},
    {.test = &a_list_can_be_discarded},
};

UNIT_MAIN("ompi/datatype/layout", tests, NULL);
