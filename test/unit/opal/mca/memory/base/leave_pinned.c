/* SPDX-License-Identifier: BSD-3-Clause */
/* opal/mca/memory/base/leave_pinned.c: the same meaning before main and in MPI_Init. */
#include "opal/mca/memory/base/leave_pinned.h"

#include "test/unit/opal/support.h"

static int value;
static const opal_param_row_t rows[] = {{.name = "leave_pinned",
                                         .type = OPAL_PARAM_ENUM,
                                         .value = &value,
                                         .preset = "runtime",
                                         .choices = opal_leave_pinned_choices,
                                         .prose = "for this test"},
                                        {0}};

static const struct {
    const char *text;
    opal_leave_pinned_t meaning;
} texts[] = {
    {"0", OPAL_LEAVE_PINNED_NO},          {"1", OPAL_LEAVE_PINNED_YES},
    {"-1", OPAL_LEAVE_PINNED_RUNTIME},    {"no", OPAL_LEAVE_PINNED_NO},
    {"yes", OPAL_LEAVE_PINNED_YES},       {"runtime", OPAL_LEAVE_PINNED_RUNTIME},
    {"false", OPAL_LEAVE_PINNED_NO},      {"true", OPAL_LEAVE_PINNED_YES},
    {"off", OPAL_LEAVE_PINNED_NO},        {"on", OPAL_LEAVE_PINNED_YES},
    {"FALSE", OPAL_LEAVE_PINNED_NO},      {"Yes", OPAL_LEAVE_PINNED_YES},
    {"disable", OPAL_LEAVE_PINNED_NO},    {"enable", OPAL_LEAVE_PINNED_YES},
    {"2", OPAL_LEAVE_PINNED_NOT_SET},     {"", OPAL_LEAVE_PINNED_NOT_SET},
    {"1x", OPAL_LEAVE_PINNED_NOT_SET},    {" 1", OPAL_LEAVE_PINNED_NOT_SET},
    {"maybe", OPAL_LEAVE_PINNED_NOT_SET}, {"-2", OPAL_LEAVE_PINNED_NOT_SET},
    {"00", OPAL_LEAVE_PINNED_NOT_SET},    {"yes ", OPAL_LEAVE_PINNED_NOT_SET},
};

START_TEST(a_text_means_the_same_to_both_parsers)
{
    setenv("OMPI_MCA_mpi_leave_pinned", texts[_i].text, 1);
    opal_param_init();
    opal_status_t status = opal_param_register("mpi", "", rows);
    ck_assert_int_eq(opal_leave_pinned_parse(texts[_i].text), texts[_i].meaning);
    if (texts[_i].meaning == OPAL_LEAVE_PINNED_NOT_SET)
        ck_assert_int_eq(status, OPAL_ERR_BAD_PARAM);
    else
        ck_assert_int_eq(value, texts[_i].meaning);
    opal_param_withdraw(rows);
    opal_param_fini();
}
END_TEST

START_TEST(nothing_is_not_set)
{
    ck_assert_int_eq(opal_leave_pinned_parse(NULL), OPAL_LEAVE_PINNED_NOT_SET);
}
END_TEST

static const unit_test_t tests[] = {
    {.test = &a_text_means_the_same_to_both_parsers, .repeats = OPAL_COUNT_OF(texts)},
    {.test = &nothing_is_not_set},
};

UNIT_MAIN("pinned", tests, NULL);
