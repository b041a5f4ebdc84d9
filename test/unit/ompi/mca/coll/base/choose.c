/* SPDX-License-Identifier: BSD-3-Clause */
/* ompi/mca/coll/base/choose.c, by the table of coll/p2p: which algorithm the table leads to, and
 * which tables are none. */
#include "ompi/mca/coll/base/choose.h"

#include <stdlib.h>

#include "ompi/mca/coll/p2p/p2p.h"
#include "test/unit/opal/support.h"

static opal_status_t start(void)
{
    opal_param_init();
    ck_assert_int_eq(opal_param_register("coll", "p2p", p2p_params), OPAL_SUCCESS);
    return p2p_open_rules();
}

static opal_status_t start_with(const char *table)
{
    setenv("OMPI_MCA_coll_p2p_table", table, 1);
    return start();
}

enum { ALL = OMPI_COLL_COMMUTES | OMPI_COLL_POWER | OMPI_COLL_SAME_SIZES };

static ompi_coll_algorithm_fn_t *chosen(ompi_coll_family_t family, size_t bytes, int ranks,
                                        unsigned holds)
{
    ompi_coll_measure_t measure = {family, bytes, holds};
    return ompi_coll_choose(&p2p_rules, &measure, ranks)->build;
}

START_TEST(the_last_rule_that_is_reached_applies)
{
    ck_assert_int_eq(start_with("bcast=linear,chain:100:3,binomial:1000"), OPAL_SUCCESS);
    ck_assert_ptr_eq(chosen(OMPI_FAMILY_BCAST, 99, 9, 0), p2p_bcast_linear);
    ck_assert_ptr_eq(chosen(OMPI_FAMILY_BCAST, 100, 2, 0), p2p_bcast_linear);
    ck_assert_ptr_eq(chosen(OMPI_FAMILY_BCAST, 100, 3, 0), p2p_bcast_chain);
    ck_assert_ptr_eq(chosen(OMPI_FAMILY_BCAST, 1000, 2, 0), p2p_bcast_binomial);
    ck_assert_ptr_eq(chosen(OMPI_FAMILY_BCAST, SIZE_MAX, 2, 0), p2p_bcast_binomial);
}
END_TEST

/* If an algorithm cannot carry out the call, the rule before it applies; in the end, the first
 * algorithm. */
START_TEST(algorithms_that_cannot_are_skipped)
{
    ck_assert_int_eq(start_with("allgather=bruck,doubling:0:4"), OPAL_SUCCESS);
    ck_assert_ptr_eq(chosen(OMPI_FAMILY_ALLGATHER, 8, 4, ALL), p2p_allgather_doubling);
    ck_assert_ptr_eq(chosen(OMPI_FAMILY_ALLGATHER, 8, 4, ALL & ~OMPI_COLL_POWER),
                     p2p_allgather_bruck);
    ck_assert_ptr_eq(chosen(OMPI_FAMILY_ALLGATHER, 8, 4, ALL & ~OMPI_COLL_SAME_SIZES),
                     p2p_allgather_bruck);
}
END_TEST

START_TEST(no_rule_is_the_first_algorithm)
{
    ck_assert_int_eq(start_with("reduce=scatter_gather:100"), OPAL_SUCCESS);
    ck_assert_ptr_eq(chosen(OMPI_FAMILY_REDUCE, 99, 9, ALL), p2p_reduce_binomial);
    ck_assert_ptr_eq(chosen(OMPI_FAMILY_REDUCE, 100, 9, ALL & ~OMPI_COLL_COMMUTES),
                     p2p_reduce_binomial);
    ck_assert_ptr_eq(chosen(OMPI_FAMILY_REDUCE, 100, 9, ALL), p2p_reduce_scatter_gather);
}
END_TEST

/* Each family has its own rules; one that is not named has those of the preset; one that is named
 * twice, those that come last. */
START_TEST(several_families_in_a_table)
{
    ck_assert_int_eq(start_with("scan=linear,bcast=chain,scatter=linear,bcast=linear,chain:100"),
                     OPAL_SUCCESS);
    ck_assert_ptr_eq(chosen(OMPI_FAMILY_SCAN, 8, 4, ALL), p2p_scan_linear);
    ck_assert_ptr_eq(chosen(OMPI_FAMILY_SCATTER, 8, 4, ALL), p2p_scatter_linear);
    ck_assert_ptr_eq(chosen(OMPI_FAMILY_BCAST, 99, 4, ALL), p2p_bcast_linear);
    ck_assert_ptr_eq(chosen(OMPI_FAMILY_BCAST, 100, 4, ALL), p2p_bcast_chain);
    ck_assert_ptr_eq(chosen(OMPI_FAMILY_EXSCAN, 8, 4, ALL), p2p_exscan_doubling);
    ck_assert_ptr_eq(chosen(OMPI_FAMILY_ALLREDUCE, 1 << 20, 5, ALL), p2p_allreduce_ring);
    ck_assert_uint_eq(unit_findings(), 0);
}
END_TEST

/* The tables of single collectives, and before them the parameters of an algorithm. */
START_TEST(replaced_names_have_their_effect)
{
    setenv("OMPI_MCA_coll_p2p_allreduce_algorithm", "ring", 1);
    setenv("OMPI_MCA_coll_p2p_scan_table", "doubling,linear:100", 1);
    ck_assert_int_eq(start(), OPAL_SUCCESS);
    unit_finding(0, OPAL_WARNING,
                 "coll_p2p_allreduce_algorithm (environment) is deprecated; set coll_p2p_table to "
                 "allreduce=RULES");
    unit_finding(1, OPAL_WARNING,
                 "coll_p2p_scan_table (environment) is deprecated; set coll_p2p_table to "
                 "scan=RULES");
    ck_assert_uint_eq(unit_findings(), 2);
    ck_assert_ptr_eq(chosen(OMPI_FAMILY_ALLREDUCE, 1, 2, ALL), p2p_allreduce_ring);
    ck_assert_ptr_eq(chosen(OMPI_FAMILY_ALLREDUCE, 1, 2, ALL & ~OMPI_COLL_COMMUTES),
                     p2p_allreduce_doubling);
    ck_assert_ptr_eq(chosen(OMPI_FAMILY_SCAN, 99, 2, ALL), p2p_scan_doubling);
    ck_assert_ptr_eq(chosen(OMPI_FAMILY_SCAN, 100, 2, ALL), p2p_scan_linear);
}
END_TEST

START_TEST(the_table_counts_more_than_replaced_names)
{
    setenv("OMPI_MCA_coll_p2p_scan_table", "linear", 1);
    setenv("OMPI_MCA_coll_p2p_exscan_table", "linear", 1);
    ck_assert_int_eq(start_with("scan=doubling"), OPAL_SUCCESS);
    ck_assert_ptr_eq(chosen(OMPI_FAMILY_SCAN, 8, 4, ALL), p2p_scan_doubling);
    ck_assert_ptr_eq(chosen(OMPI_FAMILY_EXSCAN, 8, 4, ALL), p2p_exscan_linear);
}
END_TEST

START_TEST(auto_is_the_preset)
{
    setenv("OMPI_MCA_coll_p2p_allreduce_algorithm", "auto", 1);
    ck_assert_int_eq(start(), OPAL_SUCCESS);
    ck_assert_ptr_eq(chosen(OMPI_FAMILY_ALLREDUCE, 8, 2, ALL), p2p_allreduce_doubling);
    ck_assert_ptr_eq(chosen(OMPI_FAMILY_ALLREDUCE, 1 << 20, 5, ALL), p2p_allreduce_ring);
    ck_assert_uint_eq(unit_findings(), 1); /* that it is deprecated */
}
END_TEST

START_TEST(presets_hold_for_two_ranks_and_many)
{
    ck_assert_int_eq(start(), OPAL_SUCCESS);
    ck_assert_ptr_eq(chosen(OMPI_FAMILY_ALLREDUCE, 8, 2, ALL), p2p_allreduce_doubling);
    ck_assert_ptr_eq(chosen(OMPI_FAMILY_ALLREDUCE, 1 << 20, 5, ALL), p2p_allreduce_ring);
    ck_assert_ptr_eq(chosen(OMPI_FAMILY_BCAST, 1 << 16, 2, ALL), p2p_bcast_binomial);
    ck_assert_ptr_eq(chosen(OMPI_FAMILY_BCAST, (1 << 16) - 1, 3, ALL), p2p_bcast_binomial);
    ck_assert_ptr_eq(chosen(OMPI_FAMILY_BCAST, 1 << 16, 3, ALL), p2p_bcast_chain);
    ck_assert_ptr_eq(chosen(OMPI_FAMILY_BCAST, 1 << 16, 4, ALL), p2p_bcast_chain);
    ck_assert_ptr_eq(chosen(OMPI_FAMILY_BCAST, 1 << 16, 4, ALL | OMPI_COLL_ON_NODE),
                     p2p_bcast_scatter_allgather);
    ck_assert_ptr_eq(chosen(OMPI_FAMILY_GATHER, 2047, 4, ALL), p2p_gather_linear);
    ck_assert_ptr_eq(chosen(OMPI_FAMILY_GATHER, 2047, 32, ALL), p2p_gather_binomial);
    ck_assert_ptr_eq(chosen(OMPI_FAMILY_GATHER, SIZE_MAX, 4, 0), p2p_gather_linear);
}
END_TEST

START_TEST(wrong_tables_are_refused)
{
    ck_assert_int_eq(start_with("scan=doubling,linear:1k,gather=x"), OPAL_ERR_BAD_PARAM);
    unit_finding(0, OPAL_ERROR, "coll_p2p_table: \"linear:1k\" is no rule of scan");
    unit_finding(0, OPAL_ERROR, "with a NAME of doubling, linear");
    unit_finding(1, OPAL_ERROR, "coll_p2p_table: \"x\" is no rule of gather");
    ck_assert_uint_eq(unit_findings(), 2);
}
END_TEST

START_TEST(a_replaced_table_that_is_none)
{
    setenv("OMPI_MCA_coll_p2p_scan_table", "doubling,linear:1k", 1);
    ck_assert_int_eq(start(), OPAL_ERR_BAD_PARAM);
    unit_finding(1, OPAL_ERROR, "coll_p2p_scan_table: \"linear:1k\" is no rule of scan");
    ck_assert_uint_eq(unit_findings(), 2);
}
END_TEST

static const char *const nobody[] = {"ring", "scna=linear", "=linear", "sca=linear",
                                     "scans=linear"};

START_TEST(a_collective_that_is_none)
{
    char *message = opal_xprintf("coll_p2p_table: \"%s\" names no collective", nobody[_i]);
    ck_assert_int_eq(start_with(nobody[_i]), OPAL_ERR_BAD_PARAM);
    unit_finding(0, OPAL_ERROR, message);
    unit_finding(0, OPAL_ERROR, "with a COLLECTIVE of allgather, allreduce, ");
    ck_assert_uint_eq(unit_findings(), 1);
    free(message);
}
END_TEST

static const unit_test_t tests[] = {
    {.test = &the_last_rule_that_is_reached_applies},
    {.test = &algorithms_that_cannot_are_skipped},
    {.test = &no_rule_is_the_first_algorithm},
    {.test = &several_families_in_a_table},
    {.test = &replaced_names_have_their_effect},
    {.test = &the_table_counts_more_than_replaced_names},
    {.test = &auto_is_the_preset},
    {.test = &presets_hold_for_two_ranks_and_many},
    {.test = &wrong_tables_are_refused},
    {.test = &a_replaced_table_that_is_none},
    {.test = &a_collective_that_is_none, .repeats = OPAL_COUNT_OF(nobody)},
};

UNIT_MAIN("choose", tests, NULL);
