/* SPDX-License-Identifier: BSD-3-Clause */
/* ompi/mca/coll/base/tuning.c: every machine has a row, with figures that make sense. */
#include "ompi/mca/coll/base/tuning.h"

#include <stdint.h>

#include "test/unit/opal/support.h"

static const struct {
    unsigned cores;
    size_t l2_bytes;
    bool is_amd;
} machines[] = {{2, 2 << 20, false},
                {1, 0, false},
                {0, 0, true},
                {1024, SIZE_MAX, false},
                {64, 512 << 10, true}};

static void check_limits(const ompi_coll_sm_limits_t *limits)
{
    ck_assert_uint_ge(limits->area_bytes, limits->mapped_bytes);
    ck_assert_uint_ge(limits->area_bytes, limits->oversubscribed_bytes);
    ck_assert_uint_ge(limits->rooted_divisor, 1);
    ck_assert_uint_ge(limits->nonblocking_bytes, 1);
    ck_assert_uint_ge(limits->allreduce_whole_read_bytes, limits->allreduce_whole_bytes);
}

START_TEST(every_machine_has_a_row)
{
    const ompi_coll_tuning_t *row =
        ompi_coll_tuning_for(machines[_i].cores, machines[_i].l2_bytes, machines[_i].is_amd);
    ck_assert_ptr_nonnull(row);
    ck_assert_ptr_nonnull(row->machine);
    check_limits(&row->two_ranks);
    check_limits(&row->more_ranks);
    ck_assert_uint_gt(row->reduce_area_step, 0);
    ck_assert_uint_gt(row->reduce_direct_step, 0);
    ck_assert_uint_gt(row->write_step, 0);
}
END_TEST

/* These algorithms are for two ranks only (ompi/mca/coll/sm/pair.c). */
START_TEST(more_ranks_never_copy_in_pairs)
{
    const ompi_coll_tuning_t *row = ompi_coll_tuning();
    ck_assert_uint_eq(row->more_ranks.bcast_split_bytes, SIZE_MAX);
    ck_assert_uint_eq(row->more_ranks.allgather_write_bytes, SIZE_MAX);
}
END_TEST

START_TEST(a_measured_machine_has_its_own_row)
{
    for (size_t l2_bytes = 1 << 20; l2_bytes <= 2 << 20; l2_bytes *= 2) {
        const ompi_coll_tuning_t *row = ompi_coll_tuning_for(2, l2_bytes, l2_bytes == 1 << 20);
        ck_assert_uint_eq(row->cores, 2);
        ck_assert_uint_eq(row->l2_bytes, l2_bytes);
    }
}
END_TEST

/* Claims were measured on AMD's CPUs only. */
START_TEST(no_other_cpu_claims)
{
    const ompi_coll_tuning_t *amd = ompi_coll_tuning_for(2, 1 << 20, true);
    const ompi_coll_tuning_t *other = ompi_coll_tuning_for(2, 1 << 20, false);
    ck_assert_uint_gt(amd->two_ranks.claim_bytes, 0);
    ck_assert_uint_eq(other->two_ranks.claim_bytes, 0);
    ck_assert_uint_eq(other->more_ranks.claim_bytes, 0);
}
END_TEST

static const unit_test_t tests[] = {
    {.test = &no_other_cpu_claims},
    {.test = &every_machine_has_a_row, .repeats = OPAL_COUNT_OF(machines)},
    {.test = &more_ranks_never_copy_in_pairs},
    {.test = &a_measured_machine_has_its_own_row},
};

UNIT_MAIN("tuning", tests, NULL);
