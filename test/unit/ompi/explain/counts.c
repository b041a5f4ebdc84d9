/* SPDX-License-Identifier: BSD-3-Clause */
/* ompi/explain/counts.c: what has grown in between, and the sums of ranks by groups. */
#include "ompi/explain/counts.h"

#include "opal/mca/base/pvar.h"
#include "test/unit/opal/support.h"

static opal_counter_t waves, fish, time_nsec;
static opal_demand_t demand;

static const opal_pvar_row_t table[] = {
    {.name = "waves",
     .class = OPAL_PVAR_COUNTER,
     .value = &waves,
     .demand = &demand,
     .prose = "How many"},
    {.name = "fish", .class = OPAL_PVAR_COUNTER, .value = &fish, .prose = "How many"},
    {.name = "depth", .class = OPAL_PVAR_LEVEL, .value = &fish, .prose = "Now"},
    {.name = "swimming",
     .class = OPAL_PVAR_TIMER,
     .unit = "s",
     .value = &time_nsec,
     .prose = "How long"},
    {0},
};

static void setup(void)
{
    opal_pvar_register("sea", "", table);
}

static void check_facts(const char *extra, const char *wanted)
{
    opal_text_t facts = {0};
    ompi_counts_end(&facts, extra);
    ck_assert_str_eq(opal_text_string(&facts), wanted);
    opal_text_free(&facts);
}

START_TEST(what_has_grown)
{
    opal_count(&waves, 5);
    ck_assert(!opal_is_demanded(&demand));
    ompi_counts_demand();
    ck_assert(opal_is_demanded(&demand));
    opal_count(&waves, 2);
    ompi_counts_begin();
    opal_count(&waves, 3);
    check_facts(NULL, "sea_waves\t3\n");
    ck_assert(!opal_is_demanded(&demand));
}
END_TEST

START_TEST(what_is_not_the_programs)
{
    ompi_counts_demand();
    ompi_counts_begin();
    opal_count(&waves, 1);
    opal_count(&fish, 7);
    check_facts("sea_waves", "sea_fish\t7\n");
}
END_TEST

static void check_page(const char *first, const char *second, const char *wanted)
{
    opal_text_t page = {0};
    ompi_counts_t sums = {0};
    ompi_counts_add(&sums, first);
    ompi_counts_add(&sums, second);
    ompi_counts_print(&sums, &page);
    ck_assert_str_eq(opal_text_string(&page), wanted);
    ompi_counts_free(&sums);
    opal_text_free(&page);
}

START_TEST(sums_of_ranks)
{
    check_page("pml_ob1_sent_sm\t3\npml_ob1_sent_sm_bytes\t24\nwait_sleeps\t1\n",
               "pml_ob1_sent_sm\t2\npml_ob1_sent_sm_bytes\t16\npml_ob1_sent_self\t1\n",
               "  sent by       self 1, sm 5 (40 bytes)\n"
               "  waits         sleeps 1\n");
}
END_TEST

START_TEST(groups)
{
    check_page("pml_ob1_eager\t3\npml_ob1_received_sock\t4\npml_ob1_unexpected\t2\n",
               "coll_sm_packed\t9\nnode_x\t1\nbtl_sm_get_heap\t5\n",
               "  received by   sock 4\n"
               "  unexpected    2\n"
               "  protocols     eager 3\n"
               "  copied from   heap 5\n"
               "  collectives   sm_packed 9\n"
               "  others        node_x 1\n");
}
END_TEST

/* Bytes of what was not counted, times, and numbers of more than 32 bits. */
START_TEST(values)
{
    check_page("sea_salt_bytes\t5\nsea_swimming\t1500000000\nsea_fish\t10000000000\n", "",
               "  others        sea_fish 10000000000, sea_salt_bytes 5, sea_swimming 1.500 s\n");
}
END_TEST

START_TEST(nothing)
{
    check_page("", "a cut line\nanother", "  nothing       was counted\n");
}
END_TEST

static const unit_test_t tests[] = {
    {.test = &what_has_grown}, {.test = &what_is_not_the_programs},
    {.test = &sums_of_ranks},  {.test = &groups},
    {.test = &values},         {.test = &nothing},
};

UNIT_MAIN("ompi/explain/counts", tests, setup);
