/* SPDX-License-Identifier: BSD-3-Clause */
/* opal/mca/base/select.c: which components are asked, chosen and closed, and in which order. */
#include "test/unit/opal/mca/base/fake.h"
#include "test/unit/opal/support.h"

static opal_status_t open_and_select(void)
{
    ck_assert_int_eq(opal_framework_open(&fake_framework), OPAL_SUCCESS);
    return opal_framework_select(&fake_framework);
}

static const char *best_name(void)
{
    const opal_candidate_t *best = opal_framework_best(&fake_framework);
    return best != NULL ? best->name : NULL;
}

START_TEST(the_highest_priority_is_taken)
{
    ck_assert_int_eq(open_and_select(), OPAL_SUCCESS);
    ck_assert_pstr_eq(best_name(), "beta");
    ck_assert_str_eq(fake_states(), "beta:chosen gamma:usable alpha:usable");
    ck_assert_ptr_eq(opal_framework_best(&fake_framework)->answer.ops, &fake_full);
    ck_assert_str_eq(opal_framework_best(&fake_framework)->answer.reason, "it can, at 30");
    /* Those that were not taken are closed already. */
    ck_assert_uint_eq(fake_alpha.closed, 1);
    ck_assert_uint_eq(fake_beta.closed, 0);
    ck_assert_uint_eq(unit_findings(), 0);
    fake_end();
}
END_TEST

START_TEST(equal_priorities_go_by_name)
{
    fake_alpha.priority = fake_beta.priority = fake_gamma.priority = 0;
    ck_assert_int_eq(open_and_select(), OPAL_SUCCESS);
    ck_assert_str_eq(fake_states(), "alpha:chosen beta:usable gamma:usable");
    fake_end();
}
END_TEST

START_TEST(the_list_does_not_order)
{
    fake_set("fake", "alpha,gamma");
    ck_assert_int_eq(open_and_select(), OPAL_SUCCESS);
    ck_assert_str_eq(fake_states(), "gamma:chosen alpha:usable beta:excluded");
    ck_assert_uint_eq(fake_beta.queried, 0);
    fake_end();
}
END_TEST

START_TEST(all_usable_ones_are_taken)
{
    fake_framework.takes_all = true;
    fake_gamma.usable = false;
    ck_assert_int_eq(open_and_select(), OPAL_SUCCESS);
    ck_assert_str_eq(fake_states(), "beta:chosen alpha:chosen gamma:refused");
    ck_assert_pstr_eq(best_name(), "beta");
    ck_assert_uint_eq(fake_alpha.closed, 0);
    ck_assert_uint_eq(fake_gamma.closed, 1);
    fake_end();
}
END_TEST

START_TEST(nobody_can)
{
    fake_set("fake", "^alpha");
    fake_beta.usable = fake_gamma.usable = false;
    fake_beta.mute = true;
    ck_assert_int_eq(open_and_select(), OPAL_ERR_NOT_AVAILABLE);
    ck_assert_ptr_null(best_name());
    unit_finding(0, OPAL_ERROR,
                 "no component of fake (what the tests need) can be used here:"
                 "\n    alpha: excluded by fake = ^alpha (environment)"
                 "\n    beta: it gave no reason"
                 "\n    gamma: it does not feel like it");
    ck_assert_uint_eq(unit_findings(), 1);
    ck_assert_uint_eq(fake_beta.closed, 1);
    fake_end();
}
END_TEST

START_TEST(nobody_could_be_opened)
{
    fake_alpha.open_status = fake_beta.open_status = fake_gamma.open_status = OPAL_ERR_NO_MEMORY;
    ck_assert_int_eq(open_and_select(), OPAL_ERR_NOT_AVAILABLE);
    ck_assert_str_eq(fake_states(), "alpha:closed beta:closed gamma:closed");
    unit_finding(0, OPAL_ERROR, "\n    gamma: its open failed: out of memory");
    ck_assert_uint_eq(fake_alpha.queried, 0);
    fake_end();
}
END_TEST

START_TEST(nobody_is_enough_for_some)
{
    fake_framework.may_be_empty = true;
    fake_alpha.usable = fake_beta.usable = fake_gamma.usable = false;
    ck_assert_int_eq(open_and_select(), OPAL_SUCCESS);
    ck_assert_ptr_null(best_name());
    ck_assert_uint_eq(unit_findings(), 0);
    fake_end();
}
END_TEST

START_TEST(there_is_nobody)
{
    static opal_framework_t lonely = {.name = "lonely", .prose = "nobody comes"};
    ck_assert_int_eq(opal_framework_open(&lonely), OPAL_SUCCESS);
    ck_assert_int_eq(opal_framework_select(&lonely), OPAL_ERR_NOT_AVAILABLE);
    unit_finding(0, OPAL_ERROR, "no component of lonely (nobody comes) can be used here: there is");
    opal_framework_close(&lonely);
    fake_end();
}
END_TEST

START_TEST(a_missing_operation_is_named)
{
    fake_beta.ops = &fake_incomplete;
    ck_assert_int_eq(open_and_select(), OPAL_SUCCESS);
    ck_assert_str_eq(fake_states(), "gamma:chosen alpha:usable beta:broken");
    unit_finding(0, OPAL_WARNING,
                 "the component beta of fake is skipped: it lacks the required operation work");
    ck_assert_uint_eq(unit_findings(), 1);
    ck_assert_uint_eq(fake_beta.closed, 1);
    fake_end();
}
END_TEST

START_TEST(a_priority_has_limits)
{
    fake_alpha.priority = OPAL_PRIORITY_MAX + 1;
    fake_beta.priority = -1;
    fake_gamma.priority = OPAL_PRIORITY_MAX;
    ck_assert_int_eq(open_and_select(), OPAL_SUCCESS);
    ck_assert_str_eq(fake_states(), "gamma:chosen alpha:broken beta:broken");
    unit_finding(0, OPAL_WARNING,
                 "alpha of fake is skipped: it answered with the priority 101, which is not in 0");
    ck_assert_uint_eq(unit_findings(), 2);
    fake_end();
}
END_TEST

START_TEST(no_operations_at_all)
{
    fake_beta.ops = NULL;
    ck_assert_int_eq(open_and_select(), OPAL_SUCCESS);
    ck_assert_pstr_eq(best_name(), "gamma");
    unit_finding(0, OPAL_WARNING, "beta of fake is skipped: it answered without operations");
    fake_end();
}
END_TEST

/* Whoever opened the framework second finds the choice made. */
START_TEST(selecting_twice_changes_nothing)
{
    ck_assert_int_eq(open_and_select(), OPAL_SUCCESS);
    const opal_candidate_t *best = opal_framework_best(&fake_framework);
    ck_assert_int_eq(open_and_select(), OPAL_SUCCESS);
    ck_assert_ptr_eq(opal_framework_best(&fake_framework), best);
    ck_assert_str_eq(fake_states(), "beta:chosen gamma:usable alpha:usable");
    ck_assert_uint_eq(fake_beta.queried, 1);
    ck_assert_uint_eq(unit_findings(), 0);
    opal_framework_close(&fake_framework);
    ck_assert_uint_eq(fake_beta.closed, 0);
    fake_end();
}
END_TEST

START_TEST(an_empty_choice_is_reported_once)
{
    fake_alpha.usable = fake_beta.usable = fake_gamma.usable = false;
    ck_assert_int_eq(open_and_select(), OPAL_ERR_NOT_AVAILABLE);
    ck_assert_int_eq(opal_framework_select(&fake_framework), OPAL_ERR_NOT_AVAILABLE);
    ck_assert_uint_eq(fake_beta.queried, 1);
    ck_assert_uint_eq(unit_findings(), 1);
    fake_end();
}
END_TEST

START_TEST(the_user_may_forbid_the_best)
{
    fake_set("fake", "^beta");
    ck_assert_int_eq(open_and_select(), OPAL_SUCCESS);
    ck_assert_pstr_eq(best_name(), "gamma");
    fake_end();
}
END_TEST

static const char *const engaged[] = {"beta", "^gamma", ""}; /* the user's list */

START_TEST(another_one_is_engaged)
{
    fake_set("fake", engaged[_i]);
    ck_assert_int_eq(open_and_select(), OPAL_SUCCESS);
    ck_assert_pstr_eq(best_name(), "beta");
    unsigned opened = fake_gamma.opened;
    const opal_answer_t *answer = opal_framework_engage(&fake_framework, "gamma");
    ck_assert_ptr_nonnull(answer);
    ck_assert_ptr_eq(answer->ops, fake_gamma.ops);
    ck_assert_uint_eq(fake_gamma.opened, opened + 1);
    ck_assert_uint_eq(fake_gamma.opened, fake_gamma.closed + 1);
    /* Again, it is still open. */
    ck_assert_ptr_nonnull(opal_framework_engage(&fake_framework, "gamma"));
    ck_assert_uint_eq(fake_gamma.opened, opened + 1);
    ck_assert_pstr_eq(best_name(), "beta");
    fake_end();
}
END_TEST

START_TEST(one_that_cannot_run_is_not_engaged)
{
    fake_gamma.usable = false;
    fake_alpha.open_status = OPAL_ERR_SYSTEM;
    ck_assert_int_eq(open_and_select(), OPAL_SUCCESS);
    ck_assert_ptr_null(opal_framework_engage(&fake_framework, "gamma"));
    ck_assert_ptr_null(opal_framework_engage(&fake_framework, "alpha"));
    ck_assert_ptr_null(opal_framework_engage(&fake_framework, "delta"));
    fake_end();
}
END_TEST

START_TEST(answers_are_cut_not_overrun)
{
    char text[2 * OPAL_REASON_MAX_BYTES];
    opal_answer_t answer = {0};
    memset(text, 'x', sizeof text);
    text[sizeof text - 1] = 0;
    opal_answer_no(&answer, "%s", text);
    ck_assert(!answer.usable);
    ck_assert_uint_eq(strlen(answer.reason), OPAL_REASON_MAX_BYTES - 1);
    opal_answer_yes(&answer, 5, &fake_full, text, "%d", 7);
    ck_assert(answer.usable);
    ck_assert_int_eq(answer.priority, 5);
    ck_assert_ptr_eq(answer.ops, &fake_full);
    ck_assert_ptr_eq(answer.state, text);
    ck_assert_str_eq(answer.reason, "7");
    fake_end();
}
END_TEST

START_TEST(notes_are_kept_by_an_answer)
{
    opal_answer_t answer = {0};
    opal_answer_note(&answer, "%s is %d", "one", 1);
    opal_answer_no(&answer, "no");
    opal_answer_note(&answer, "two");
    opal_answer_yes(&answer, 5, &fake_full, NULL, "yes");
    ck_assert_uint_eq(answer.notes.count, 2);
    ck_assert_str_eq(answer.notes.items[0], "one is 1");
    ck_assert_str_eq(answer.notes.items[1], "two");
    opal_strings_free(&answer.notes);
    fake_end();
}
END_TEST

START_TEST(every_state_has_a_name)
{
    for (int state = OPAL_CANDIDATE_EXCLUDED; state <= OPAL_CANDIDATE_CHOSEN; state++)
        ck_assert_str_ne(opal_candidate_state_name((opal_candidate_state_t)state), "unknown");
    ck_assert_str_eq(opal_candidate_state_name((opal_candidate_state_t)99), "unknown");
    fake_end();
}
END_TEST

static const unit_test_t tests[] = {
    {.test = &the_highest_priority_is_taken},
    {.test = &equal_priorities_go_by_name},
    {.test = &the_list_does_not_order},
    {.test = &all_usable_ones_are_taken},
    {.test = &nobody_can},
    {.test = &nobody_could_be_opened},
    {.test = &nobody_is_enough_for_some},
    {.test = &there_is_nobody},
    {.test = &a_missing_operation_is_named},
    {.test = &a_priority_has_limits},
    {.test = &no_operations_at_all},
    {.test = &selecting_twice_changes_nothing},
    {.test = &an_empty_choice_is_reported_once},
    {.test = &the_user_may_forbid_the_best},
    {.test = &another_one_is_engaged, .repeats = OPAL_COUNT_OF(engaged)},
    {.test = &one_that_cannot_run_is_not_engaged},
    {.test = &answers_are_cut_not_overrun},
    {.test = &notes_are_kept_by_an_answer},
    {.test = &every_state_has_a_name},
};

UNIT_MAIN("select", tests, fake_setup);
