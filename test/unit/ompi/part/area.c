/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * ompi/part/area.c: which memory a sender gets, and when it gets that of another one; and the
 * values of flags. The segment is this test's.
 */
#include "ompi/part/area.h"

#include "test/unit/opal/node/fake_segment.h"
#include "test/unit/opal/support.h"

START_TEST(areas_lie_apart_in_the_segment)
{
    ompi_part_area_t *first = ompi_part_area_make(100, 1000), *second = ompi_part_area_make(1, 0);
    char *room = ompi_part_area_room(first, 100);
    ck_assert(room >= (char *)&first->flags[100]);
    ck_assert((char *)second >= room + 1000);
    ck_assert((char *)&second->flags[1] <= segment + carved);
    ck_assert_int_eq(ompi_part_area_mode(first), OMPI_PART_UNDECIDED);
}
END_TEST

/* The receiver may read it after the sender has been freed, and may get the offer only then. */
START_TEST(an_area_is_used_again_when_both_have_left)
{
    ompi_part_area_t *area = ompi_part_area_make(40, 0);
    ompi_part_flag_set(&area->flags[39], ompi_part_flag(7, OMPI_PART_READY));
    atomic_store(&area->started, 7);
    atomic_store(&area->mode, OMPI_PART_DIRECT);
    ompi_part_area_release(area);
    ck_assert_ptr_ne(ompi_part_area_make(40, 0), area);
    ompi_part_area_leave(area);
    ck_assert_ptr_ne(ompi_part_area_make(4000, 0), area);
    ck_assert_ptr_eq(ompi_part_area_make(38, 8), area);
    ck_assert_uint_eq(atomic_load(&area->flags[37]), 0);
    ck_assert_uint_eq(atomic_load(&area->started), 0);
    ck_assert_int_eq(ompi_part_area_mode(area), OMPI_PART_UNDECIDED);
    ck_assert_ptr_ne(ompi_part_area_make(38, 8), area);
}
END_TEST

START_TEST(many_in_turn_need_one)
{
    size_t before = 0;
    for (int i = 0; i < 10000; i++) {
        ompi_part_area_t *area = ompi_part_area_make(1 + (size_t)i % 30, 100);
        ck_assert_ptr_nonnull(area);
        if (i % 2 == 0)
            ompi_part_area_leave(area);
        ompi_part_area_release(area);
        if (i % 2 != 0)
            ompi_part_area_leave(area);
        ck_assert(i < 100 || carved == before);
        before = carved;
    }
}
END_TEST

START_TEST(without_room_there_is_none)
{
    ck_assert_ptr_null(ompi_part_area_make(SEGMENT, 0));
    populated = OPAL_ERR_NO_MEMORY;
    ck_assert_ptr_null(ompi_part_area_make(1, 0));
}
END_TEST

/* What a receiver sees whose sender is up to one round ahead; also when the numbers wrap around. */
START_TEST(flags_of_rounds_differ)
{
    static const unsigned firsts[] = {1, 1000, UINT32_MAX / 2, UINT32_MAX - 1};
    unsigned round = firsts[_i], ready = ompi_part_flag(round, OMPI_PART_READY);
    unsigned delivered = ompi_part_flag(round, OMPI_PART_DELIVERED);
    atomic_uint flag;
    ompi_part_flag_set(&flag, ompi_part_flag(round - 1, OMPI_PART_DELIVERED));
    ck_assert(!ompi_part_flag_has(&flag, ready));
    ompi_part_flag_set(&flag, ready);
    ck_assert(ompi_part_flag_has(&flag, ready) && !ompi_part_flag_has(&flag, delivered));
    ompi_part_flag_set(&flag, delivered);
    ck_assert(ompi_part_flag_has(&flag, ready) && ompi_part_flag_has(&flag, delivered));
    ompi_part_flag_set(&flag, ompi_part_flag(round + 1, OMPI_PART_READY));
    ck_assert(ompi_part_flag_has(&flag, delivered));
}
END_TEST

static const unit_test_t tests[] = {
    {.test = &areas_lie_apart_in_the_segment},
    {.test = &an_area_is_used_again_when_both_have_left},
    {.test = &many_in_turn_need_one},
    {.test = &without_room_there_is_none},
    {.test = &flags_of_rounds_differ, .repeats = 4},
};

UNIT_MAIN("area", tests, NULL);
