/* SPDX-License-Identifier: BSD-3-Clause */
/* ompi/mca/coll/p2p/choose.c: which algorithm a table chooses, and which tables are refused. */
#include "ompi/mca/coll/p2p/choose.h"

#include <stdlib.h>

#include "ompi/mca/coll/p2p/p2p.h"
#include "test/unit/opal/support.h"

static opal_status_t start(const char *name, const char *table)
{
    if (name != NULL)
        setenv(name, table, 1);
    opal_param_init();
    ck_assert_int_eq(opal_param_register("coll", "p2p", p2p_params), OPAL_SUCCESS);
    return p2p_choose_open();
}

enum { ALL = P2P_COMMUTES | P2P_POWER | P2P_SAME_SIZES };

START_TEST(the_last_rule_that_is_reached_applies)
{
    ck_assert_int_eq(start("OMPI_MCA_coll_p2p_bcast_table", "linear,chain:100:3,binomial:1000"),
                     OPAL_SUCCESS);
    ck_assert_ptr_eq(p2p_choose(P2P_BCAST, 99, 9, 0), p2p_bcast_linear);
    ck_assert_ptr_eq(p2p_choose(P2P_BCAST, 100, 2, 0), p2p_bcast_linear);
    ck_assert_ptr_eq(p2p_choose(P2P_BCAST, 100, 3, 0), p2p_bcast_chain);
    ck_assert_ptr_eq(p2p_choose(P2P_BCAST, 1000, 2, 0), p2p_bcast_binomial);
    ck_assert_ptr_eq(p2p_choose(P2P_BCAST, SIZE_MAX, 2, 0), p2p_bcast_binomial);
}
END_TEST

/* If an algorithm cannot carry out the call, the rule before it applies; in the end, the first
 * algorithm. */
START_TEST(algorithms_that_cannot_are_skipped)
{
    ck_assert_int_eq(start("OMPI_MCA_coll_p2p_allgather_table", "bruck,doubling:0:4"),
                     OPAL_SUCCESS);
    ck_assert_ptr_eq(p2p_choose(P2P_ALLGATHER, 8, 4, ALL), p2p_allgather_doubling);
    ck_assert_ptr_eq(p2p_choose(P2P_ALLGATHER, 8, 4, ALL & ~P2P_POWER), p2p_allgather_bruck);
    ck_assert_ptr_eq(p2p_choose(P2P_ALLGATHER, 8, 4, ALL & ~P2P_SAME_SIZES), p2p_allgather_bruck);
}
END_TEST

START_TEST(no_rule_is_the_first_algorithm)
{
    ck_assert_int_eq(start("OMPI_MCA_coll_p2p_reduce_table", "scatter_gather:100"), OPAL_SUCCESS);
    ck_assert_ptr_eq(p2p_choose(P2P_REDUCE, 99, 9, ALL), p2p_reduce_binomial);
    ck_assert_ptr_eq(p2p_choose(P2P_REDUCE, 100, 9, ALL & ~P2P_COMMUTES), p2p_reduce_binomial);
    ck_assert_ptr_eq(p2p_choose(P2P_REDUCE, 100, 9, ALL), p2p_reduce_scatter_gather);
}
END_TEST

START_TEST(the_deprecated_name_is_a_table_of_one_rule)
{
    ck_assert_int_eq(start("OMPI_MCA_coll_p2p_allreduce_algorithm", "ring"), OPAL_SUCCESS);
    unit_finding(0, OPAL_WARNING, "the parameter's name is coll_p2p_allreduce_table");
    ck_assert_ptr_eq(p2p_choose(P2P_ALLREDUCE, 1, 2, ALL), p2p_allreduce_ring);
    ck_assert_ptr_eq(p2p_choose(P2P_ALLREDUCE, 1, 2, ALL & ~P2P_COMMUTES), p2p_allreduce_doubling);
}
END_TEST

/* The rows of the tables come first and in the order of the families, so "auto" finds its own. */
START_TEST(auto_is_the_preset)
{
    char *name = opal_xprintf("OMPI_MCA_coll_p2p_%s", p2p_params[_i].name);
    ck_assert_int_eq(start(name, "auto"), OPAL_SUCCESS);
    ck_assert_ptr_eq(p2p_params[_i].value, &p2p_tables[_i]);
    opal_strings_t preset = {0};
    opal_strings_split(&preset, p2p_params[_i].preset, ",");
    ck_assert_uint_eq(p2p_tables[_i].count, preset.count);
    ck_assert_str_eq(p2p_tables[_i].items[0], preset.items[0]);
    ck_assert_uint_eq(unit_findings(), 0);
    opal_strings_free(&preset);
    free(name);
}
END_TEST

START_TEST(presets_hold_for_two_ranks_and_many)
{
    ck_assert_int_eq(start(NULL, NULL), OPAL_SUCCESS);
    ck_assert_ptr_eq(p2p_choose(P2P_ALLREDUCE, 8, 2, ALL), p2p_allreduce_doubling);
    ck_assert_ptr_eq(p2p_choose(P2P_ALLREDUCE, 1 << 20, 5, ALL), p2p_allreduce_ring);
    ck_assert_ptr_eq(p2p_choose(P2P_BCAST, 1 << 16, 3, ALL), p2p_bcast_binomial);
    ck_assert_ptr_eq(p2p_choose(P2P_BCAST, 1 << 16, 4, ALL), p2p_bcast_scatter_allgather);
    ck_assert_ptr_eq(p2p_choose(P2P_GATHER, 2047, 4, ALL), p2p_gather_binomial);
    ck_assert_ptr_eq(p2p_choose(P2P_GATHER, SIZE_MAX, 4, 0), p2p_gather_linear);
}
END_TEST

START_TEST(wrong_tables_are_refused)
{
    ck_assert_int_eq(start("OMPI_MCA_coll_p2p_scan_table", "doubling,linear:1k"),
                     OPAL_ERR_BAD_PARAM);
    unit_finding(0, OPAL_ERROR, "coll_p2p_scan_table: \"linear:1k\" is no rule");
    unit_finding(0, OPAL_ERROR, "with a NAME of doubling, linear");
    ck_assert_uint_eq(unit_findings(), 1);
}
END_TEST

static const unit_test_t tests[] = {
    {.test = &the_last_rule_that_is_reached_applies},
    {.test = &algorithms_that_cannot_are_skipped},
    {.test = &no_rule_is_the_first_algorithm},
    {.test = &the_deprecated_name_is_a_table_of_one_rule},
    {.test = &auto_is_the_preset, .repeats = P2P_FAMILIES},
    {.test = &presets_hold_for_two_ranks_and_many},
    {.test = &wrong_tables_are_refused},
};

UNIT_MAIN("choose", tests, NULL);
