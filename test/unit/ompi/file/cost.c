/* SPDX-License-Identifier: BSD-3-Clause */
/* Estimates of what transfers cost. */
#include "ompi/file/cost.h"

#include "test/unit/opal/support.h"

static ompi_file_costs_t costs;

static uint32_t call_nsec(bool is_write)
{
    return ompi_file_costs_now(&costs, is_write).call_nsec;
}

START_TEST(what_is_measured_is_believed)
{
    const bool is_write = _i != 0;
    const uint32_t of_other = call_nsec(!is_write);
    for (int i = 0; i < 1000; i++)
        ompi_file_costs_learn(&costs, is_write, 64, 700);
    ck_assert_uint_ge(call_nsec(is_write), 680);
    ck_assert_uint_le(call_nsec(is_write), 720);
    ck_assert_uint_eq(call_nsec(!is_write), of_other);
    for (int i = 0; i < 1000; i++)
        ompi_file_costs_learn(&costs, is_write, 1 << 21, 60000);
    ompi_file_cost_t cost = ompi_file_costs_now(&costs, is_write);
    uint32_t mib_nsec = is_write ? cost.write_mib_nsec : cost.read_mib_nsec;
    ck_assert_uint_ge(mib_nsec, 29000);
    ck_assert_uint_le(mib_nsec, 31000);
}
END_TEST

/* What is cheaper counts at once; one disturbance hardly does. */
START_TEST(disturbances_count_little)
{
    ompi_file_costs_learn(&costs, false, 8, 1);
    ck_assert_uint_le(call_nsec(false), 251);
    for (int i = 0; i < 100; i++)
        ompi_file_costs_learn(&costs, false, 8, 400);
    const uint32_t before = call_nsec(false);
    ompi_file_costs_learn(&costs, false, 8, UINT64_MAX);
    ck_assert_uint_le(call_nsec(false), before + before / 4);
    for (int i = 0; i < 1000; i++) /* but it never ends */
        ompi_file_costs_learn(&costs, false, 8, UINT64_MAX);
    ck_assert_uint_lt(call_nsec(false), UINT32_MAX / 4);
    ompi_file_costs_learn(&costs, false, 8, 0);
    ck_assert_uint_gt(call_nsec(false), 0);
}
END_TEST

START_TEST(lengths_between_tell_nothing)
{
    const ompi_file_cost_t before = ompi_file_costs_now(&costs, true);
    unsigned wanted = 0;
    ck_assert(!ompi_file_costs_wants(&costs, 20000) && ompi_file_costs_wants(&costs, 1 << 20));
    ompi_file_costs_learn(&costs, true, 20000, 1);
    const ompi_file_cost_t after = ompi_file_costs_now(&costs, true);
    ck_assert_uint_eq(before.call_nsec, after.call_nsec);
    ck_assert_uint_eq(before.write_mib_nsec, after.write_mib_nsec);
    for (int i = 0; i < 800; i++)
        wanted += ompi_file_costs_wants(&costs, 64);
    ck_assert_uint_eq(wanted, 100);
}
END_TEST

/* A call takes as long as 10,000 bytes read, or 5,000 written. */
static const ompi_file_cost_t cost = {1000, 104858, 209715};

START_TEST(short_pieces_close_together_are_sieved)
{
    ck_assert(ompi_file_cost_favors_sieve(&cost, false, 90000, 45000, 10));
    ck_assert(!ompi_file_cost_favors_sieve(&cost, false, 110000, 45000, 10));
    /* 10 calls, and span and bytes read, and what is between written. */
    ck_assert(ompi_file_cost_favors_sieve(&cost, true, 39000, 20000, 10));
    ck_assert(!ompi_file_cost_favors_sieve(&cost, true, 41000, 20000, 10));
    ck_assert(!ompi_file_cost_favors_sieve(&cost, true, INT64_MAX, 1, 10));
    ck_assert(!ompi_file_cost_favors_sieve(&cost, false, INT64_MAX, 1, UINT32_MAX));
}
END_TEST

static const unit_test_t tests[] = {
    {.test = &what_is_measured_is_believed, .repeats = 2},
    {.test = &disturbances_count_little},
    {.test = &lengths_between_tell_nothing},
    {.test = &short_pieces_close_together_are_sieved},
};

static void setup(void)
{
    ompi_file_costs_init(&costs);
}

UNIT_MAIN("ompi/file/cost", tests, setup);
