/* SPDX-License-Identifier: BSD-3-Clause */
/* opal/mca/btl/sm/pace.c: from measurements to advice. */
#include "opal/mca/btl/sm/pace.h"

#include "test/unit/opal/support.h"

static pace_t pace;

/* The advice alone, without trials. */
static bool advice_of(pace_way_t way, size_t bytes, bool burst)
{
    unsigned turns[PACE_CLASSES];
    for (unsigned class = 0; class < PACE_CLASSES; class ++)
        turns[class] = 1001;
    return pace_get_pays(pace_advice(way, pace.published[way]), bytes, burst, turns);
}

static bool get_is_advised(size_t bytes)
{
    return advice_of(PACE_CMA, bytes, false);
}

static bool get_is_advised_in_burst(size_t bytes)
{
    return advice_of(PACE_CMA, bytes, true);
}

/* Frames at so many ns per KiB at each end, gets of 64 KiB at another price. */
static void measure(uint64_t empty, uint64_t fill, uint64_t get, int times)
{
    for (int i = 0; i < times; i++) {
        pace_add_emptied(&pace, 8192, 8 * empty, pace_add_filled(&pace, 8192, 8 * fill));
        pace_add_get(&pace, PACE_CMA, 65536, 64 * get);
    }
}

START_TEST(nothing_known_means_frames)
{
    pace = (pace_t){0};
    ck_assert(!get_is_advised(65536));
    pace_add_get(&pace, PACE_CMA, 65536, 1);
    ck_assert(!get_is_advised(65536));
    ck_assert(advice_of(PACE_DIRECT, 65536, false)); /* but for what is only a copy */
}
END_TEST

START_TEST(the_cheaper_way_is_advised)
{
    pace = (pace_t){0};
    measure(100, 90, 50, 5);
    ck_assert(get_is_advised(65536));
    ck_assert(get_is_advised(131071));
    ck_assert(!get_is_advised(131072)); /* of which nothing is known */
    pace = (pace_t){0};
    measure(20, 20, 50, 5);
    ck_assert(!get_is_advised(65536));
}
END_TEST

/* A get that is over sooner, but slower than the frames' rate. */
START_TEST(in_a_burst_the_rate_counts)
{
    pace = (pace_t){0};
    measure(100, 100, 130, 5);
    ck_assert(get_is_advised(65536));
    ck_assert(!get_is_advised_in_burst(65536));
    measure(100, 100, 95, 50);
    ck_assert(get_is_advised_in_burst(65536));
}
END_TEST

START_TEST(what_is_taken_for_slower_is_always_measured)
{
    unsigned wanted = 0;
    pace = (pace_t){0};
    for (int i = 0; i < 100; i++)
        ck_assert(pace_wants_get(&pace, PACE_CMA, 65536));
    measure(100, 100, 50, 5);
    for (int i = 0; i < 100; i++)
        wanted += pace_wants_get(&pace, PACE_CMA, 65536);
    ck_assert_uint_ge(wanted, 5);
    ck_assert_uint_le(wanted, 50);
}
END_TEST

START_TEST(who_cannot_have_answered_makes_a_burst)
{
    pace = (pace_t){0};
    ck_assert(!pace_is_burst(&pace, 8192, 1000000)); /* nothing is known */
    pace_add_filled(&pace, 8192, 800);
    ck_assert(pace_is_burst(&pace, 8192, 1000900));
    ck_assert(!pace_is_burst(&pace, 8192, 1000900 + 1700));
    ck_assert(pace_is_burst(&pace, 16384, 1002600 + 1700));
}
END_TEST

START_TEST(the_slower_end_counts)
{
    pace = (pace_t){0};
    measure(20, 200, 50, 5);
    ck_assert(get_is_advised(65536));
    pace = (pace_t){0};
    measure(200, 20, 50, 5);
    ck_assert(get_is_advised(65536));
}
END_TEST

START_TEST(it_follows_a_change)
{
    pace = (pace_t){0};
    measure(100, 100, 50, 50);
    ck_assert(get_is_advised(65536));
    measure(20, 20, 60, 50);
    ck_assert(!get_is_advised(65536));
    measure(100, 100, 50, 100);
    ck_assert(get_is_advised(65536));
}
END_TEST

START_TEST(one_outlier_changes_nothing)
{
    pace = (pace_t){0};
    measure(100, 100, 50, 5);
    pace_add_get(&pace, PACE_CMA, 65536, 1000000000);
    ck_assert(get_is_advised(65536));
}
END_TEST

START_TEST(a_change_is_told_once)
{
    pace = (pace_t){0};
    ck_assert(!pace_add_emptied(&pace, 8192, 800, 100));
    ck_assert(pace_add_get(&pace, PACE_CMA, 65536, 64));
    ck_assert(!pace_add_get(&pace, PACE_CMA, 65536, 64));
}
END_TEST

/* How many of so many messages go the way that the advice does not name. */
static unsigned trials_of(pace_way_t way, size_t bytes, unsigned messages)
{
    unsigned turns[PACE_CLASSES] = {0}, trials = 0;
    for (unsigned i = 0; i < messages; i++)
        trials += pace_get_pays(pace_advice(way, pace.published[way]), bytes, false, turns) !=
                  advice_of(way, bytes, false);
    return trials;
}

/* The first messages go as the table says; trials come later, and only where it calls the ways
 * close. */
START_TEST(nothing_bad_is_tried)
{
    pace = (pace_t){0};
    for (size_t bytes = 4096; bytes <= 4 << 20; bytes *= 2) {
        ck_assert_uint_eq(trials_of(PACE_CMA, bytes, 30), 0);
        ck_assert_uint_eq(trials_of(PACE_DIRECT, bytes, 30), 0);
        ck_assert_uint_eq(trials_of(PACE_CMA, bytes, 2000) == 0, bytes < 131072);
        ck_assert_uint_eq(trials_of(PACE_DIRECT, bytes, 2000) == 0,
                          bytes < 8192 || bytes >= 131072);
    }
}
END_TEST

START_TEST(what_is_measured_to_be_bad_is_not_tried_again)
{
    pace = (pace_t){0};
    measure(100, 100, 400, 1);
    ck_assert_uint_eq(trials_of(PACE_CMA, 65536, 2000), 0);
    measure(100, 100, 150, 1); /* slower, but close */
    unsigned early = trials_of(PACE_CMA, 65536, 1700), all = trials_of(PACE_CMA, 65536, 2000);
    ck_assert_uint_ge(all, 8);
    ck_assert_uint_le(all, 20);
    ck_assert_uint_gt(all, early); /* they never end */
    measure(100, 100, 20, 1);
    ck_assert(get_is_advised(65536));
    ck_assert_uint_eq(trials_of(PACE_CMA, 65536, 2000), 0); /* frames are bad now */
}
END_TEST

START_TEST(a_shorter_get_is_tried_where_a_longer_one_is_better)
{
    pace = (pace_t){0};
    measure(100, 100, 50, 1);
    ck_assert_uint_ge(trials_of(PACE_CMA, 32768, 2000), 8);
    ck_assert_uint_eq(trials_of(PACE_CMA, 16384, 2000), 0);
}
END_TEST

/* Reading what the sender has just written takes about as long as reading frames, and the sender
 * pays as much again. In a burst it pays while the receiver copies. */
START_TEST(live_data_is_better_sent_as_frames)
{
    pace = (pace_t){0};
    measure(100, 50, 1, 5);
    pace_add_get(&pace, PACE_DIRECT, 65536, 64 * 20);
    ck_assert(advice_of(PACE_DIRECT, 65536, false));
    pace = (pace_t){0};
    measure(100, 50, 1, 5);
    pace_add_get(&pace, PACE_DIRECT, 65536, 64 * 80);
    ck_assert(!advice_of(PACE_DIRECT, 65536, false));
    ck_assert(advice_of(PACE_DIRECT, 65536, true));
}
END_TEST

/* What was got once is nearer the second time. */
START_TEST(the_other_way_is_tried_twice_in_a_row)
{
    unsigned turns[PACE_CLASSES] = {0}, before = 0, in_a_row = 0;
    for (unsigned i = 0; i < 2000; i++) {
        bool other = pace_get_pays(UINT32_C(1) << PACE_TRIAL, 2048, false, turns);
        in_a_row += other && before;
        before = other;
    }
    ck_assert_uint_ge(in_a_row, 5);
}
END_TEST

/* Measuring takes time, and says nothing where there are no frames to compare with. */
START_TEST(without_frames_few_direct_ones_are_measured)
{
    unsigned wanted = 0;
    pace = (pace_t){0};
    for (unsigned i = 0; i < 70; i++)
        wanted += pace_wants_get(&pace, PACE_DIRECT, 65536);
    ck_assert_uint_le(wanted, 20);
    ck_assert_uint_ge(wanted, 1);
}
END_TEST

START_TEST(any_size_has_a_class)
{
    unsigned turns[PACE_CLASSES] = {0};
    pace_get_pays(0, 0, false, turns);
    pace_get_pays(0, 1, false, turns);
    ck_assert_uint_eq(turns[0], 2);
    pace_get_pays(0, SIZE_MAX, false, turns);
    ck_assert_uint_eq(turns[PACE_CLASSES - 1], 1);
}
END_TEST

static const unit_test_t tests[] = {
    {.test = &nothing_known_means_frames},
    {.test = &the_cheaper_way_is_advised},
    {.test = &in_a_burst_the_rate_counts},
    {.test = &what_is_taken_for_slower_is_always_measured},
    {.test = &who_cannot_have_answered_makes_a_burst},
    {.test = &the_slower_end_counts},
    {.test = &it_follows_a_change},
    {.test = &one_outlier_changes_nothing},
    {.test = &a_change_is_told_once},
    {.test = &nothing_bad_is_tried},
    {.test = &what_is_measured_to_be_bad_is_not_tried_again},
    {.test = &a_shorter_get_is_tried_where_a_longer_one_is_better},
    {.test = &live_data_is_better_sent_as_frames},
    {.test = &the_other_way_is_tried_twice_in_a_row},
    {.test = &without_frames_few_direct_ones_are_measured},
    {.test = &any_size_has_a_class},
};

UNIT_MAIN("pace", tests, NULL);
