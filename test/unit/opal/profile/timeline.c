/* SPDX-License-Identifier: BSD-3-Clause */
/* opal/profile/timeline.h: no time is lost when bins widen, and the longest calls remain. */
#include "opal/profile/timeline.h"

#include "test/unit/opal/support.h"

static opal_profile_block_t *block;

static void setup(void)
{
    block = aligned_alloc(OPAL_PROFILE_PAGE, opal_profile_block_bytes(1));
    ck_assert_ptr_nonnull(block);
    memset(block, 0, opal_profile_block_bytes(1));
    opal_timeline_start(block, 1000);
}

static void add(uint64_t begin, uint64_t ticks, uint64_t waited, uint64_t site)
{
    opal_timeline_add(
        block,
        &(opal_timeline_call_t){
            .begin = begin, .end = begin + ticks, .waited = waited, .weight = 1, .site = site});
}

static uint64_t in_mpi(void)
{
    uint64_t sum = 0;
    for (unsigned i = 0; i < OPAL_PROFILE_BINS; i++)
        sum += block->bins[i].in_mpi;
    return sum;
}

START_TEST(a_call_is_spread_over_its_bins)
{
    uint64_t width = block->bin_ticks;
    add(1000 + width / 2, 2 * width, width, 3);
    ck_assert_uint_eq(block->bins[0].in_mpi, width / 2);
    ck_assert_uint_eq(block->bins[1].in_mpi, width);
    ck_assert_uint_eq(block->bins[2].in_mpi, width / 2);
    ck_assert_uint_eq(block->bins[1].waited, width / 2);
    ck_assert_uint_eq(block->bins[1].site, 3);
}
END_TEST

START_TEST(a_weight_stands_for_several_calls)
{
    opal_timeline_add(block, &(opal_timeline_call_t){
                                 .begin = 1000, .end = 1010, .waited = 5, .weight = 7, .site = 1});
    ck_assert_uint_eq(block->bins[0].in_mpi, 70);
    ck_assert_uint_eq(block->bins[0].waited, 35);
}
END_TEST

/* It would be an endless one. */
START_TEST(a_call_that_ends_before_it_begins_is_none)
{
    add(2000, (uint64_t)-3, 0, 1);
    ck_assert_uint_eq(in_mpi(), 0);
    ck_assert_uint_eq(block->interval_count, 0);
}
END_TEST

START_TEST(bins_widen_and_lose_nothing)
{
    uint64_t width = block->bin_ticks, sum = 0;
    for (unsigned i = 0; i < 5000; i++) {
        add(1000 + i * width, width / 4, 0, 1);
        sum += width / 4;
    }
    ck_assert_uint_eq(block->bin_ticks, 8 * width);
    ck_assert_uint_eq(in_mpi(), sum);
    ck_assert_uint_eq(block->bins[10].in_mpi, 2 * width);
}
END_TEST

START_TEST(the_site_with_the_most_time_has_the_bin)
{
    add(1000, 100, 0, 1);
    add(1200, 300, 0, 2);
    add(1600, 100, 0, 1);
    ck_assert_uint_eq(block->bins[0].site, 2);
    ck_assert_uint_eq(block->bins[0].in_mpi, 500);
}
END_TEST

START_TEST(the_longest_calls_remain)
{
    uint64_t shortest = block->shortest_interval;
    for (unsigned i = 0; i < 3 * OPAL_PROFILE_INTERVALS; i++)
        add(1000 + i * shortest, shortest, 0, 1);
    ck_assert_uint_le(block->interval_count, OPAL_PROFILE_INTERVALS);
    for (unsigned i = 0; i < 100; i++)
        add(2000 + i, 1000 * shortest, 7, 2);
    add(1000, 10, 0, 3); /* too short */
    unsigned long_ones = 0;
    for (uint64_t i = 0; i < block->interval_count; i++) {
        ck_assert_uint_ne(block->intervals[i].site, 3);
        long_ones += block->intervals[i].site == 2;
    }
    ck_assert_uint_eq(long_ones, 100);
}
END_TEST

static const unit_test_t tests[] = {
    {.test = &a_call_is_spread_over_its_bins},
    {.test = &a_weight_stands_for_several_calls},
    {.test = &a_call_that_ends_before_it_begins_is_none},
    {.test = &bins_widen_and_lose_nothing},
    {.test = &the_site_with_the_most_time_has_the_bin},
    {.test = &the_longest_calls_remain},
};

UNIT_MAIN("timeline", tests, setup);
