/* SPDX-License-Identifier: BSD-3-Clause */
/* opal/mca/base/diagnostic.c: collected, then printed or dropped; so is what comes later, but that
 * errors are kept. */
#include "opal/mca/base/diagnostic.h"

#include "test/unit/opal/support.h"

START_TEST(nothing_is_printed_before_the_report)
{
    unit_capture();
    opal_diagnostic(OPAL_WARNING, "first %d", 1);
    opal_diagnostic(OPAL_ERROR, "second");
    ck_assert_str_eq(unit_stderr(), "");
    ck_assert_uint_eq(unit_findings(), 2);
    unit_finding(0, OPAL_WARNING, "first 1");
    unit_finding(1, OPAL_ERROR, "second");
    opal_diagnostic_reset();
}
END_TEST

START_TEST(the_report_keeps_the_order)
{
    unit_capture();
    opal_diagnostic(OPAL_WARNING, "first");
    opal_diagnostic(OPAL_ERROR, "second %s", "100%s");
    opal_diagnostic_report(true);
    ck_assert_str_eq(unit_stderr(), "[mica] warning: first\n[mica] error: second 100%s\n");
    ck_assert_uint_eq(unit_findings(), 0);
    opal_diagnostic(OPAL_WARNING, "late");
    unit_assert_part(unit_stderr(), "warning: late\n");
    opal_diagnostic_report(true);
    ck_assert_uint_eq(unit_count(unit_stderr(), "first"), 1);
}
END_TEST

START_TEST(others_stay_silent)
{
    unit_capture();
    opal_diagnostic(OPAL_ERROR, "early");
    opal_diagnostic_report(false);
    ck_assert_uint_eq(unit_findings(), 0);
    opal_diagnostic(OPAL_WARNING, "odd");
    opal_diagnostic(OPAL_ERROR, "late");
    ck_assert_str_eq(unit_stderr(), "");
    opal_diagnostic_report(true); /* the one who should have does not */
    ck_assert_str_eq(unit_stderr(), "[mica] error: late\n");
}
END_TEST

START_TEST(reset_begins_anew)
{
    unit_capture();
    opal_diagnostic_report(false);
    opal_diagnostic_reset();
    opal_diagnostic(OPAL_WARNING, "kept");
    ck_assert_uint_eq(unit_findings(), 1);
    opal_diagnostic_reset();
    ck_assert_uint_eq(unit_findings(), 0);
    opal_diagnostic_report(true);
    ck_assert_str_eq(unit_stderr(), "");
}
END_TEST

/* An error fails start-up whoever prints it; a warning never does. */
START_TEST(errors_are_remembered)
{
    unit_capture();
    opal_diagnostic(OPAL_WARNING, "odd");
    ck_assert(!opal_diagnostic_has_error());
    opal_diagnostic(OPAL_ERROR, "wrong");
    ck_assert(opal_diagnostic_has_error());
    opal_diagnostic_report(false);
    ck_assert(opal_diagnostic_has_error());
    opal_diagnostic_reset();
    ck_assert(!opal_diagnostic_has_error());
    opal_diagnostic_report(false);
    opal_diagnostic(OPAL_ERROR, "dropped");
    ck_assert(opal_diagnostic_has_error());
}
END_TEST

static const unit_test_t tests[] = {
    {.test = &nothing_is_printed_before_the_report},
    {.test = &the_report_keeps_the_order},
    {.test = &others_stay_silent},
    {.test = &reset_begins_anew},
    {.test = &errors_are_remembered},
};

UNIT_MAIN("diagnostic", tests, NULL);
