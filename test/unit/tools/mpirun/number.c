/* SPDX-License-Identifier: BSD-3-Clause */
/* tools/mpirun/number.c: whole numbers and seconds, strictly. */
#include "tools/mpirun/number.h"

#include "test/unit/opal/support.h"

START_TEST(number_takes_whole_numbers)
{
    static const struct {
        const char *text;
        bool good;
        unsigned value;
    } cases[] = {
        {"0", true, 0},           {"7", true, 7},    {"007", true, 7},
        {"100", true, 100},       {"101", false, 0}, {"", false, 0},
        {" 7", false, 0},         {"7 ", false, 0},  {"+7", false, 0},
        {"-7", false, 0},         {"7x", false, 0},  {"0x7", false, 0},
        {"4294967303", false, 0}, {"1e1", false, 0}, {"99999999999999999999", false, 0},
    };
    unsigned value = 12345;
    ck_assert(number_parse_unsigned(cases[_i].text, 0, 100, &value) == cases[_i].good);
    ck_assert_uint_eq(value, cases[_i].good ? cases[_i].value : 12345);
}
END_TEST

START_TEST(number_respects_its_minimum)
{
    unsigned value = 12345;
    ck_assert(!number_parse_unsigned("0", 1, 100, &value));
    ck_assert(number_parse_unsigned("1", 1, 100, &value));
    ck_assert_uint_eq(value, 1);
}
END_TEST

START_TEST(number_takes_seconds)
{
    static const struct {
        const char *text;
        double value; /* 0: refused */
    } cases[] = {
        {"1", 1},   {"0.25", 0.25}, {".5", 0.5}, {"2.", 2}, {"100", 100}, {"100.1", 0},
        {"0", 0},   {"0.0", 0},     {".", 0},    {"", 0},   {"-1", 0},    {"1s", 0},
        {"1e1", 0}, {"inf", 0},     {"nan", 0},  {" 1", 0}, {"1.2.3", 0}, {"0x1", 0},
    };
    double value = -1;
    ck_assert(number_parse_seconds(cases[_i].text, 100, &value) == (cases[_i].value > 0));
    ck_assert(value == (cases[_i].value > 0 ? cases[_i].value : -1));
}
END_TEST

static const unit_test_t tests[] = {
    {.test = &number_takes_whole_numbers, .repeats = 15},
    {.test = &number_respects_its_minimum},
    {.test = &number_takes_seconds, .repeats = 18},
};

UNIT_MAIN("number", tests, NULL);
