/* SPDX-License-Identifier: BSD-3-Clause */
/* opal/mca/pmi/base/base.c: the launcher's environment. */
#include "opal/mca/pmi/base/base.h"

#include <limits.h>

#include "test/unit/opal/support.h"

static void setup(void)
{
    unsetenv("MICA_REPORTER");
    unsetenv("PMI_RANK");
    unsetenv("PMI_SIZE");
    unsetenv("PMIX_RANK");
}

static const struct {
    const char *text;
    int value; /* -1: refused */
} numbers[] = {
    {"1", 1},   {"12", 12},  {"0012", 12}, {"100", 100}, {NULL, -1},
    {"0", -1},  {"101", -1}, {"", -1},     {" 1", -1},   {"1 ", -1},
    {"-1", -1}, {"+1", -1},  {"0x1", -1},  {"1.0", -1},  {"99999999999999999999", -1},
};

START_TEST(numbers_are_strict)
{
    int value = -1;
    unsetenv("UNIT_NUMBER");
    if (numbers[_i].text != NULL)
        setenv("UNIT_NUMBER", numbers[_i].text, 1);
    bool good = opal_pmi_environment_int("UNIT_NUMBER", 1, 100, &value);
    ck_assert_int_eq(good, numbers[_i].value > 0);
    ck_assert_int_eq(value, numbers[_i].value);
}
END_TEST

static const struct {
    const char *reporter, *pmi, *pmix;
    bool prints;
} reporters[] = {
    {NULL, NULL, NULL, true}, {NULL, "0", NULL, true},    {NULL, "3", NULL, false},
    {NULL, NULL, "0", true},  {NULL, NULL, "1", false},   {NULL, "0", "1", true},
    {"1", "3", NULL, true},   {"0", "0", NULL, false},    {"yes", "0", NULL, true},
    {"", "2", NULL, false},   {NULL, "rank", "2", false}, {NULL, "rank", NULL, true},
};

START_TEST(who_prints)
{
    if (reporters[_i].reporter != NULL)
        setenv("MICA_REPORTER", reporters[_i].reporter, 1);
    if (reporters[_i].pmi != NULL)
        setenv("PMI_RANK", reporters[_i].pmi, 1);
    if (reporters[_i].pmix != NULL)
        setenv("PMIX_RANK", reporters[_i].pmix, 1);
    ck_assert_int_eq(opal_pmi_is_reporter(), reporters[_i].prints);
}
END_TEST

static const struct {
    const char *pmi, *pmix;
    unsigned size;
} sizes[] = {
    {NULL, NULL, 1}, {"5", NULL, 5}, {"0", NULL, 1},   {"many", NULL, 1},
    {NULL, "0", 0},  {"5", "0", 5},  {"many", "0", 0},
};

START_TEST(how_many_ranks)
{
    if (sizes[_i].pmi != NULL)
        setenv("PMI_SIZE", sizes[_i].pmi, 1);
    if (sizes[_i].pmix != NULL)
        setenv("PMIX_RANK", sizes[_i].pmix, 1);
    ck_assert_uint_eq(opal_pmi_announced_size(), sizes[_i].size);
}
END_TEST

static const unit_test_t tests[] = {
    {.test = &numbers_are_strict, .repeats = OPAL_COUNT_OF(numbers)},
    {.test = &who_prints, .repeats = OPAL_COUNT_OF(reporters)},
    {.test = &how_many_ranks, .repeats = OPAL_COUNT_OF(sizes)},
};

UNIT_MAIN("pmi base", tests, setup);
