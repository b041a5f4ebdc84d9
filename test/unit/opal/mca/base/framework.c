/* SPDX-License-Identifier: BSD-3-Clause */
/* opal/mca/base/framework.c: projects, the user's list, opening and closing. */
#include <signal.h>

#include "test/unit/opal/mca/base/fake.h"
#include "test/unit/opal/support.h"

START_TEST(projects_are_known_once)
{
    unsigned seen = 0, own = 0;
    const opal_project_t *project;
    opal_framework_t *framework;
    for (size_t i = 0; (framework = opal_framework_at(i, &project)) != NULL; i++) {
        seen += framework == &fake_framework;
        own += project == &opal_project;
    }
    opal_project_add(&opal_project);
    fake_setup();
    ck_assert_uint_eq(seen, 1);
    ck_assert_uint_gt(own, 0);
    ck_assert_ptr_eq(opal_framework_find("fake"), &fake_framework);
    ck_assert_ptr_nonnull(opal_framework_find("pmi"));
    ck_assert_ptr_null(opal_framework_find("fak"));
    opal_param_fini();
    fake_end();
}
END_TEST

START_TEST(everything_is_opened)
{
    ck_assert_int_eq(opal_framework_open(&fake_framework), OPAL_SUCCESS);
    ck_assert_str_eq(fake_states(), "alpha:open beta:open gamma:open");
    ck_assert_uint_eq(fake_alpha.opened, 1);
    ck_assert_uint_eq(fake_alpha.queried, 0);
    ck_assert_int_eq(fake_alpha.level, 1);
    ck_assert_ptr_null(opal_framework_best(&fake_framework));
    ck_assert_uint_eq(unit_findings(), 0);
    fake_end();
    ck_assert_uint_eq(fake_framework.candidate_count, 0);
}
END_TEST

static const struct {
    const char *list, *states;
} good_lists[] = {
    {"", "alpha:open beta:open gamma:open"},
    {"beta", "alpha:excluded beta:open gamma:excluded"},
    {"gamma,alpha", "alpha:open beta:excluded gamma:open"},
    {" gamma , alpha, ", "alpha:open beta:excluded gamma:open"},
    {"^beta", "alpha:open beta:excluded gamma:open"},
    {"^beta,gamma", "alpha:open beta:excluded gamma:excluded"},
    {"^alpha,beta,gamma", "alpha:excluded beta:excluded gamma:excluded"},
    {"alpha,alpha", "alpha:open beta:excluded gamma:excluded"},
};

START_TEST(the_list_selects)
{
    fake_set("fake", good_lists[_i].list);
    ck_assert_int_eq(opal_framework_open(&fake_framework), OPAL_SUCCESS);
    ck_assert_str_eq(fake_states(), good_lists[_i].states);
    ck_assert_uint_eq(unit_findings(), 0);
    fake_end();
}
END_TEST

#define THERE_ARE "There are: alpha, beta, gamma"

static const struct {
    const char *list, *finding;
} bad_lists[] = {
    {"gama", "fake (environment) names the component \"gama\", which does not exist; did you mean "
             "gamma? " THERE_ARE},
    {"^gama", "names the component \"gama\", which does not exist; did you mean gamma? " THERE_ARE},
    {"alpha,Betta", "names the component \"Betta\", which does not exist; did you mean beta?"},
    {"ALPHA", "names the component \"ALPHA\", which does not exist; did you mean alpha?"},
    {"tcp", "names the component \"tcp\", which does not exist; there are: alpha, beta, gamma"},
    {"^", "the '^' is not followed by a name"},
    {"alpha,^beta", "mixes a list of what to use with \"^beta\"; write either a,b (only these)"},
    {"^alpha,^beta", "fake (environment) has a second '^' in \"^beta\"; one before the first"},
    {"$UNIT_UNSET", "fake = \"$UNIT_UNSET\" (environment) is refused: the variable UNIT_UNSET"},
};

START_TEST(a_wrong_list_is_an_error)
{
    unsetenv("UNIT_UNSET");
    fake_set("fake", bad_lists[_i].list);
    ck_assert_int_eq(opal_framework_open(&fake_framework), OPAL_ERR_BAD_PARAM);
    unit_finding(0, OPAL_ERROR, bad_lists[_i].finding);
    ck_assert_uint_eq(unit_findings(), 1);
    /* The framework is open all the same. */
    ck_assert_uint_eq(fake_framework.candidate_count, 3);
    fake_end();
}
END_TEST

START_TEST(each_wrong_name_is_reported)
{
    fake_set("fake", "nosuch,alpha,neither");
    ck_assert_int_eq(opal_framework_open(&fake_framework), OPAL_ERR_BAD_PARAM);
    unit_finding(0, OPAL_ERROR, "\"nosuch\"");
    unit_finding(1, OPAL_ERROR, "\"neither\"");
    ck_assert_uint_eq(unit_findings(), 2);
    fake_end();
}
END_TEST

START_TEST(the_excluded_know_why)
{
    fake_set("fake", "^beta");
    fake_set("fake_beta_level", "7");
    ck_assert_int_eq(opal_framework_open(&fake_framework), OPAL_SUCCESS);
    ck_assert_str_eq(fake_framework.candidates[1].answer.reason,
                     "excluded by fake = ^beta (environment)");
    /* Its parameters are known, so that setting them is no typing error. */
    ck_assert_int_eq(fake_beta.level, 7);
    ck_assert_uint_eq(fake_beta.opened, 0);
    fake_end();
}
END_TEST

START_TEST(a_refused_parameter_is_an_error_of_all)
{
    fake_set("fake_gamma_level", "high");
    ck_assert_int_eq(opal_framework_open(&fake_framework), OPAL_ERR_BAD_PARAM);
    unit_finding(0, OPAL_ERROR, "fake_gamma_level = \"high\" (environment) is refused");
    ck_assert_uint_eq(unit_findings(), 1);
    ck_assert_str_eq(fake_states(), "alpha:open beta:open gamma:open");
    ck_assert_int_eq(fake_gamma.level, 1);
    fake_end();
}
END_TEST

START_TEST(a_failing_open_puts_one_out)
{
    fake_beta.open_status = OPAL_ERR_SYSTEM;
    ck_assert_int_eq(opal_framework_open(&fake_framework), OPAL_SUCCESS);
    ck_assert_str_eq(fake_states(), "alpha:open beta:closed gamma:open");
    ck_assert_str_eq(fake_framework.candidates[1].answer.reason,
                     "its open failed: system call failed");
    ck_assert_uint_eq(unit_findings(), 0);
    fake_end();
}
END_TEST

START_TEST(opening_nests)
{
    ck_assert_int_eq(opal_framework_open(&fake_framework), OPAL_SUCCESS);
    ck_assert_int_eq(opal_framework_open(&fake_framework), OPAL_SUCCESS);
    ck_assert_uint_eq(fake_alpha.opened, 1);
    opal_framework_close(&fake_framework);
    ck_assert_uint_eq(fake_alpha.closed, 0);
    opal_framework_close(&fake_framework);
    ck_assert_uint_eq(fake_alpha.closed, 1);
    opal_framework_close(&fake_framework);
    ck_assert_uint_eq(fake_alpha.closed, 1);

    ck_assert_int_eq(opal_framework_open(&fake_framework), OPAL_SUCCESS);
    ck_assert_uint_eq(fake_alpha.opened, 2);
    ck_assert_str_eq(fake_states(), "alpha:open beta:open gamma:open");
    fake_end();
}
END_TEST

START_TEST(a_wrong_list_stays_wrong_for_the_second)
{
    fake_set("fake", "nosuch");
    ck_assert_int_eq(opal_framework_open(&fake_framework), OPAL_ERR_BAD_PARAM);
    ck_assert_int_eq(opal_framework_open(&fake_framework), OPAL_ERR_BAD_PARAM);
    ck_assert_uint_eq(unit_findings(), 1);
    opal_framework_close(&fake_framework);
    fake_end();
}
END_TEST

static void query_nothing(opal_answer_t *answer)
{
    opal_answer_no(answer, "it is never asked");
}

static const struct {
    opal_component_t component;
    const char *finding;
} broken[] = {
    {{0, &opal_component_base, "fake", "odd", .query = query_nothing},
     "it was built for another version of the component interface"},
    {{OPAL_COMPONENT_ABI, "another", "fake", "odd", .query = query_nothing},
     "it was linked to another copy of libopen-pal"},
    {{OPAL_COMPONENT_HEAD(fake, odd)}, "it has no query, which is required"},
};

START_TEST(broken_descriptors_are_skipped)
{
    static opal_framework_t *const none[] = {NULL};
    static const opal_component_t *components[2];
    static opal_project_t project = {"odd", none, components, NULL};
    components[0] = &broken[_i].component;
    opal_project_add(&project);
    ck_assert_int_eq(opal_framework_open(&fake_framework), OPAL_SUCCESS);
    ck_assert_str_eq(fake_states(), "alpha:open beta:open gamma:open odd:broken");
    unit_finding(0, OPAL_WARNING, "the component odd of fake is skipped: ");
    unit_finding(0, OPAL_WARNING, broken[_i].finding);
    ck_assert_uint_eq(unit_findings(), 1);
    fake_end();
}
END_TEST

START_TEST(a_gate_keeps_out)
{
    fake_gate_is_shut = true;
    fake_gamma.priority = 90;
    ck_assert_int_eq(opal_framework_open(&fake_framework), OPAL_SUCCESS);
    ck_assert_str_eq(fake_states(), "alpha:open beta:open gamma:refused");
    ck_assert_int_eq(opal_framework_select(&fake_framework), OPAL_SUCCESS);
    ck_assert_str_eq(fake_states(), "beta:chosen alpha:usable gamma:refused");
    ck_assert_str_eq(fake_framework.candidates[2].answer.reason, "nothing for it here");
    ck_assert_uint_eq(fake_gamma.opened, 0);
    ck_assert_uint_eq(fake_gamma.queried, 0);
    ck_assert_uint_eq(unit_findings(), 0);
    fake_end();
}
END_TEST

/* What it says counts for nothing more: the component is asked as ever. */
START_TEST(an_open_gate)
{
    ck_assert_int_eq(opal_framework_open(&fake_framework), OPAL_SUCCESS);
    ck_assert_int_eq(opal_framework_select(&fake_framework), OPAL_SUCCESS);
    ck_assert_str_eq(fake_states(), "beta:chosen gamma:usable alpha:usable");
    ck_assert_str_eq(fake_framework.candidates[1].answer.reason, "it can, at 20");
    fake_end();
}
END_TEST

START_TEST(the_list_counts_more_than_a_gate)
{
    fake_gate_is_shut = true;
    fake_set("fake", "^gamma");
    ck_assert_int_eq(opal_framework_open(&fake_framework), OPAL_SUCCESS);
    ck_assert_str_eq(fake_states(), "alpha:open beta:open gamma:excluded");
    fake_end();
}
END_TEST

START_TEST(a_fifth_project_is_a_bug)
{
    static opal_framework_t *const none[] = {NULL};
    static const opal_component_t *const nobody[] = {NULL};
    /* libopen-pal's own and the fakes are there. */
    static const opal_project_t more[] = {
        {"three", none, nobody, NULL}, {"four", none, nobody, NULL}, {"five", none, nobody, NULL}};
    opal_project_add(&more[0]);
    opal_project_add(&more[1]);
    opal_project_add(&more[0]);
    opal_project_add(&more[2]);
}
END_TEST

START_TEST(unseen_names_have_an_owner)
{
    ck_assert(opal_framework_owns_unseen("fake"));
    ck_assert(opal_framework_owns_unseen("fake_alpha_anything"));
    ck_assert(!opal_framework_owns_unseen("fakes_alpha"));
    ck_assert(!opal_framework_owns_unseen("nobody"));
    opal_framework_open(&fake_framework);
    ck_assert(!opal_framework_owns_unseen("fake_alpha_anything"));
    ck_assert(!opal_framework_owns_unseen("fake_delta_level"));
    fake_end();
}
END_TEST

START_TEST(the_base_knows_its_parameters)
{
    fake_set("mca_base_component_path", "");
    ck_assert_int_eq(opal_framework_open(&fake_framework), OPAL_SUCCESS);
    ck_assert_uint_eq(opal_param_diagnose_unknown(opal_framework_owns_unseen), 0);
    fake_end();
}
END_TEST

static const unit_test_t tests[] = {
    {.test = &projects_are_known_once},
    {.test = &everything_is_opened},
    {.test = &the_list_selects, .repeats = OPAL_COUNT_OF(good_lists)},
    {.test = &a_wrong_list_is_an_error, .repeats = OPAL_COUNT_OF(bad_lists)},
    {.test = &each_wrong_name_is_reported},
    {.test = &the_excluded_know_why},
    {.test = &a_refused_parameter_is_an_error_of_all},
    {.test = &a_failing_open_puts_one_out},
    {.test = &opening_nests},
    {.test = &a_wrong_list_stays_wrong_for_the_second},
    {.test = &broken_descriptors_are_skipped, .repeats = OPAL_COUNT_OF(broken)},
    {.test = &a_gate_keeps_out},
    {.test = &an_open_gate},
    {.test = &the_list_counts_more_than_a_gate},
    {.test = &a_fifth_project_is_a_bug, .signal = SIGABRT},
    {.test = &unseen_names_have_an_owner},
    {.test = &the_base_knows_its_parameters},
};

UNIT_MAIN("framework", tests, fake_setup);
