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

/* Until it is known who prints errors, warnings go their way. */
START_TEST(warnings_alone)
{
    unit_capture();
    opal_diagnostic(OPAL_WARNING, "early");
    opal_diagnostic(OPAL_ERROR, "wrong 1");
    opal_diagnostic_warn(true);
    opal_diagnostic(OPAL_NOTE, "note");
    opal_diagnostic(OPAL_WARNING, "late");
    opal_diagnostic(OPAL_ERROR, "wrong 2");
    ck_assert_str_eq(unit_stderr(), "[mica] warning: early\n[mica] note\n[mica] warning: late\n");
    ck_assert_uint_eq(unit_findings(), 2);
    opal_diagnostic_report(false);
    ck_assert_uint_eq(unit_findings(), 0);
    ck_assert_uint_eq(unit_count(unit_stderr(), "wrong"), 0);
}
END_TEST

static uint64_t digest_of(const char *first, const char *second)
{
    opal_diagnostic_reset();
    opal_diagnostic(OPAL_ERROR, "%s", first);
    opal_diagnostic(OPAL_WARNING, "%s", second);
    return opal_diagnostic_digest();
}

START_TEST(same_findings_have_the_same_digest)
{
    uint64_t digest = digest_of("rank 3 of 4", "odd");
    ck_assert_uint_eq(digest, digest_of("rank 12 of 4", "odd"));
    ck_assert_uint_ne(digest, digest_of("rank 3 of 4", "even"));
    ck_assert_uint_ne(digest, digest_of("rank 3 or 4", "odd"));
}
END_TEST

static const unit_test_t tests[] = {
    {.test = &nothing_is_printed_before_the_report},
    {.test = &the_report_keeps_the_order},
    {.test = &others_stay_silent},
    {.test = &reset_begins_anew},
    {.test = &errors_are_remembered},
    {.test = &warnings_alone},
    {.test = &same_findings_have_the_same_digest},
};

UNIT_MAIN("diagnostic", tests, NULL);
