/* SPDX-License-Identifier: BSD-3-Clause */
/* opal/mca/base/param_value.c: what every type accepts, what it refuses, and with which words. */
#include "opal/mca/base/param_value.h"

#include <limits.h>
#include <locale.h>
#include <stdint.h>

#include "test/unit/opal/support.h"

static char complaint[OPAL_COMPLAINT_MAX_BYTES];

/* Before main nobody can be told, and nothing may be allocated. */
START_TEST(a_complaint_is_not_needed)
{
    static const opal_param_choice_t choices[] = {{"red", 1}, {"green", 2}, {0}};
    int value = 7;
    size_t size = 8;
    bool flag = true;
    opal_param_row_t rows[] = {
        {.type = OPAL_PARAM_INT, .value = &value, .min = "1", .max = "9"},
        {.type = OPAL_PARAM_ENUM, .value = &value, .choices = choices},
        {.type = OPAL_PARAM_BOOL, .value = &flag},
        {.type = OPAL_PARAM_SIZE, .value = &size, .max = "1K"},
    };
    static const char *const bad[] = {"10", "gren", "maybe", "2K"};
    static const char *const good[] = {"3", "green", "off", "1K"};
    for (size_t i = 0; i < OPAL_COUNT_OF(rows); i++)
        ck_assert(!opal_param_value_set(&rows[i], bad[i], NULL));
    ck_assert_int_eq(value, 7);
    for (size_t i = 0; i < OPAL_COUNT_OF(rows); i++)
        ck_assert(opal_param_value_set(&rows[i], good[i], NULL));
    ck_assert_int_eq(value, 2);
    ck_assert(!flag);
    ck_assert_uint_eq(size, 1024);
}
END_TEST

/* -- numbers -------------------------------------------------------------------- */

static const struct {
    const char *text;
    bool value;
} good_bools[] = {
    {"yes", true},    {"TRUE", true},     {"On", true},     {"1", true},
    {"enable", true}, {"no", false},      {"false", false}, {"off", false},
    {"0", false},     {"DISABLE", false}, {"y", true},      {"N", false},
};

START_TEST(bool_accepts)
{
    bool value = !good_bools[_i].value;
    opal_param_row_t row = {.type = OPAL_PARAM_BOOL, .value = &value};
    ck_assert(opal_param_value_set(&row, good_bools[_i].text, complaint));
    ck_assert_int_eq(value, good_bools[_i].value);
}
END_TEST

static const char *const bad_bools[] = {"", " ", "ye", "2", "-1", "yes ", " yes", "yesno", "01"};

START_TEST(bool_refuses)
{
    unsigned char value = 77; /* no bool at all, so that any write shows */
    opal_param_row_t row = {.type = OPAL_PARAM_BOOL, .value = &value};
    ck_assert(!opal_param_value_set(&row, bad_bools[_i], complaint));
    ck_assert_uint_eq(value, 77);
    unit_assert_part(complaint, _i == 0 ? "empty" : "yes or no");
}
END_TEST

static const struct {
    const char *text;
    int value;
} good_ints[] = {
    {"0", 0},
    {"-0", 0},
    {"12", 12},
    {"+12", 12},
    {"-12", -12},
    {"010", 10},
    {"0x10", 16},
    {"-0X1f", -31},
    {"0000012", 12},
    {"2147483647", INT_MAX},
    {"-2147483648", INT_MIN},
};

START_TEST(int_accepts)
{
    int value = 77;
    opal_param_row_t row = {.type = OPAL_PARAM_INT, .value = &value};
    ck_assert_msg(opal_param_value_set(&row, good_ints[_i].text, complaint), "%s", complaint);
    ck_assert_int_eq(value, good_ints[_i].value);
}
END_TEST

static const struct {
    const char *text, *complaint;
} bad_ints[] = {
    {"", "empty"},
    {" ", "whole number"},
    {"abc", "whole number"},
    {"12xyz", "\"xyz\" is left over"},
    {"12 ", "\" \" is left over"},
    {" 12", "whole number"},
    {"1.5", "\".5\" is left over"},
    {"1e3", "\"e3\" is left over"},
    {"0x", "whole number"},
    {"0xg", "whole number"},
    {"--1", "whole number"},
    {"-+1", "whole number"},
    {"- 1", "whole number"},
    {"-", "whole number"},
    {"+", "whole number"},
    {"1,000", "\",000\" is left over"},
    {"2147483648", "-2147483648 to 2147483647"},
    {"-2147483649", "-2147483648 to 2147483647"},
    {"4294967296", "-2147483648 to 2147483647"},
    {"9223372036854775808", "-2147483648 to 2147483647"},
    {"18446744073709551616", "-2147483648 to 2147483647"},
    {"-99999999999999999999999", "-2147483648 to 2147483647"},
    {"99999999999999999999999x", "\"x\" is left over"},
};

START_TEST(int_refuses)
{
    int value = 77;
    opal_param_row_t row = {.type = OPAL_PARAM_INT, .value = &value};
    ck_assert(!opal_param_value_set(&row, bad_ints[_i].text, complaint));
    ck_assert_int_eq(value, 77);
    unit_assert_part(complaint, bad_ints[_i].complaint);
}
END_TEST

static const struct {
    const char *text, *min, *max, *complaint; /* no complaint: accepted */
} limited[] = {
    {"1", "1", "10", NULL},
    {"10", "1", "10", NULL},
    {"0x0a", "1", "10", NULL},
    {"0", "1", "10", "expected 1 to 10 ms"},
    {"11", "1", "10", "expected 1 to 10 ms"},
    {"-5", "1", "10", "expected 1 to 10 ms"},
    {"0", "1", NULL, "expected at least 1 ms"},
    {"11", NULL, "10", "expected at most 10 ms"},
    {"99999999999999999999", "1", "10", "expected 1 to 10 ms"},
    {"99999999999999999999", NULL, "10", "expected at most 10 ms"},
};

START_TEST(int_within_limits)
{
    int value = 77;
    opal_param_row_t row = {.type = OPAL_PARAM_INT, .value = &value, .unit = "ms"};
    row.min = limited[_i].min;
    row.max = limited[_i].max;
    bool accepted = opal_param_value_set(&row, limited[_i].text, complaint);
    ck_assert_int_eq(accepted, limited[_i].complaint == NULL);
    ck_assert_int_eq(value == 77, !accepted);
    if (!accepted)
        ck_assert_str_eq(complaint, limited[_i].complaint);
}
END_TEST

START_TEST(unsigned_edges)
{
    unsigned value = 77;
    opal_param_row_t row = {.type = OPAL_PARAM_UNSIGNED, .value = &value};
    ck_assert(opal_param_value_set(&row, "4294967295", complaint));
    ck_assert_uint_eq(value, UINT_MAX);
    ck_assert(opal_param_value_set(&row, "0", complaint));
    ck_assert_uint_eq(value, 0);
    value = 77;
    ck_assert(!opal_param_value_set(&row, "4294967296", complaint));
    unit_assert_part(complaint, "0 to 4294967295");
    ck_assert(!opal_param_value_set(&row, "-1", complaint));
    unit_assert_part(complaint, "0 to 4294967295");
    ck_assert(!opal_param_value_set(&row, "12xyz", complaint));
    row.max = "100";
    ck_assert(!opal_param_value_set(&row, "-1", complaint));
    unit_assert_part(complaint, "0 to 100");
    ck_assert_uint_eq(value, 77);
}
END_TEST

static const struct {
    const char *text;
    size_t value;
} good_sizes[] = {
    {"0", 0},
    {"1", 1},
    {"4096", 4096},
    {"010", 10},
    {"0x1000", 4096},
    {"7b", 7},
    {"7B", 7},
    {"64K", 64 << 10},
    {"64k", 64 << 10},
    {"64KB", 64 << 10},
    {"64KiB", 64 << 10},
    {"64kib", 64 << 10},
    {"3m", 3 << 20},
    {"3MB", 3 << 20},
    {"3MiB", 3 << 20},
    {"2G", (size_t)2 << 30},
    {"2GiB", (size_t)2 << 30},
    {"2T", (size_t)2 << 40},
    {"2TB", (size_t)2 << 40},
    {"0x10K", 16 << 10},
    {"18446744073709551615", SIZE_MAX},
    {"16777215T", (size_t)16777215 << 40},
};

START_TEST(size_accepts)
{
    size_t value = 77;
    opal_param_row_t row = {.type = OPAL_PARAM_SIZE, .value = &value};
    ck_assert_msg(opal_param_value_set(&row, good_sizes[_i].text, complaint), "%s", complaint);
    ck_assert_uint_eq(value, good_sizes[_i].value);
}
END_TEST

static const struct {
    const char *text, *complaint;
} bad_sizes[] = {
    {"", "empty"},
    {"K", "expected a size"},
    {"12xyz", "expected a size"},
    {"-1", "expected a size"},
    {"+1", "expected a size"},
    {"1.5G", "expected a size"},
    {"64 K", "expected a size"},
    {"64K ", "expected a size"},
    {"64KK", "expected a size"},
    {"64Ki", "expected a size"},
    {"64Kb/s", "expected a size"},
    {"64E", "expected a size"},
    {"16777216T", "more bytes than this machine can address"},
    {"17179869184G", "more bytes than this machine can address"},
    {"18446744073709551616", "more bytes than this machine can address"},
    {"99999999999999999999999K", "more bytes than this machine can address"},
};

START_TEST(size_refuses)
{
    size_t value = 77;
    opal_param_row_t row = {.type = OPAL_PARAM_SIZE, .value = &value};
    ck_assert(!opal_param_value_set(&row, bad_sizes[_i].text, complaint));
    ck_assert_uint_eq(value, 77);
    unit_assert_part(complaint, bad_sizes[_i].complaint);
}
END_TEST

START_TEST(size_within_limits)
{
    size_t value = 77;
    opal_param_row_t row = {
        .type = OPAL_PARAM_SIZE, .value = &value, .min = "4K", .max = "1M", .unit = "bytes"};
    ck_assert(opal_param_value_set(&row, "4096", complaint));
    ck_assert(opal_param_value_set(&row, "1024K", complaint));
    ck_assert_uint_eq(value, 1 << 20);
    ck_assert(!opal_param_value_set(&row, "4095", complaint));
    ck_assert_str_eq(complaint, "expected 4K to 1M bytes");
    ck_assert(!opal_param_value_set(&row, "1048577", complaint));
    ck_assert_uint_eq(value, 1 << 20);
}
END_TEST

static const struct {
    const char *text;
    double value;
} good_doubles[] = {
    {"0", 0},
    {"1.5", 1.5},
    {"-1.5", -1.5},
    {"+2", 2},
    {".5", .5},
    {"5.", 5},
    {"2e-3", 2e-3},
    {"2E3", 2000},
    {"1e308", 1e308},
    {"-0.0", 0},
    {"2.2250738585072014e-308", 2.2250738585072014e-308},
};

START_TEST(double_accepts)
{
    double value = 77;
    opal_param_row_t row = {.type = OPAL_PARAM_DOUBLE, .value = &value};
    ck_assert_msg(opal_param_value_set(&row, good_doubles[_i].text, complaint), "%s", complaint);
    ck_assert_double_eq(value, good_doubles[_i].value);
}
END_TEST

static const struct {
    const char *text, *complaint;
} bad_doubles[] = {
    {"", "empty"},
    {" 1", "expected a number"},
    {"1 ", "left over"},
    {"abc", "expected a number"},
    {"12xyz", "\"xyz\" is left over"},
    {"1,5", "\",5\" is left over"},
    {"1.5.2", "\".2\" is left over"},
    {"1e", "\"e\" is left over"},
    {"inf", "expected a number"},
    {"-inf", "expected a number"},
    {"+INFINITY", "expected a number"},
    {"nan", "expected a number"},
    {"-nan", "expected a number"},
    {"+nan(0)", "expected a number"},
    {"0x10", "\"x10\" is left over"},
    {"0x1p3", "\"x1p3\" is left over"},
    {".", "expected a number"},
    {"-", "expected a number"},
    {"+-1", "expected a number"},
    {"1e999", "too large"},
    {"-1e999", "too large"},
    {"1e-999", "too close to 0"},
};

START_TEST(double_refuses)
{
    double value = 77;
    opal_param_row_t row = {.type = OPAL_PARAM_DOUBLE, .value = &value};
    ck_assert(!opal_param_value_set(&row, bad_doubles[_i].text, complaint));
    ck_assert_double_eq(value, 77);
    unit_assert_part(complaint, bad_doubles[_i].complaint);
}
END_TEST

START_TEST(double_within_limits)
{
    double value = 77;
    opal_param_row_t row = {.type = OPAL_PARAM_DOUBLE, .value = &value, .min = "0", .max = "0.5"};
    ck_assert(opal_param_value_set(&row, "0.5", complaint));
    ck_assert(!opal_param_value_set(&row, "0.500001", complaint));
    ck_assert_str_eq(complaint, "expected 0 to 0.5");
    ck_assert(!opal_param_value_set(&row, "-1e-300", complaint));
    ck_assert_double_eq(value, .5);
}
END_TEST

/* A program may have called setlocale() before MPI_Init; a decimal point stays a point. */
START_TEST(double_in_a_locale_with_commas)
{
    static const char *const locales[] = {"de_DE.UTF-8", "fr_FR.UTF-8", "de_DE.utf8"};
    double value = 77;
    opal_param_row_t row = {.type = OPAL_PARAM_DOUBLE, .value = &value};
    for (size_t i = 0; i < OPAL_COUNT_OF(locales); i++) {
        if (setlocale(LC_ALL, locales[i]) == NULL)
            continue;
        ck_assert(opal_param_value_set(&row, "1.5", complaint));
        ck_assert(!opal_param_value_set(&row, "1,5", complaint));
        ck_assert_double_eq(value, 1.5);
    }
}
END_TEST

/* -- enum ----------------------------------------------------------------------- */

static const opal_param_choice_t policies[] = {
    {"auto", -1}, {"always", 1}, {"never", 0}, {NULL, 0}};

START_TEST(enum_choices)
{
    int value = 77;
    opal_param_row_t row = {.type = OPAL_PARAM_ENUM, .value = &value, .choices = policies};
    ck_assert(opal_param_value_set(&row, "never", complaint));
    ck_assert_int_eq(value, 0);
    ck_assert(opal_param_value_set(&row, "AUTO", complaint));
    ck_assert_int_eq(value, -1);
    ck_assert(!opal_param_value_set(&row, "allways", complaint));
    ck_assert_str_eq(complaint, "expected one of auto, always, never; did you mean always?");
    ck_assert(!opal_param_value_set(&row, "sometimes", complaint));
    ck_assert_str_eq(complaint, "expected one of auto, always, never");
    ck_assert(!opal_param_value_set(&row, "1", complaint));
    ck_assert(!opal_param_value_set(&row, "", complaint));
    ck_assert_int_eq(value, -1);
}
END_TEST

START_TEST(enum_with_many_long_choices)
{
    static char names[40][48];
    opal_param_choice_t many[41] = {0};
    for (int i = 0; i < 40; i++) {
        snprintf(names[i], sizeof names[i], "a_rather_long_name_of_choice_%02d", i);
        many[i] = (opal_param_choice_t){names[i], i};
    }
    int value = 77;
    opal_param_row_t row = {.type = OPAL_PARAM_ENUM, .value = &value, .choices = many};
    ck_assert(opal_param_value_set(&row, names[39], complaint));
    ck_assert_int_eq(value, 39);
    ck_assert(!opal_param_value_set(&row, "no", complaint));
    ck_assert_uint_lt(strlen(complaint), sizeof complaint);
}
END_TEST

/* -- strings, lists, expansion ---------------------------------------------------- */

START_TEST(string_holds_any_text)
{
    const char *value = NULL;
    opal_param_row_t row = {.type = OPAL_PARAM_STRING, .value = &value};
    ck_assert(opal_param_value_set(&row, " a b=c,#\"", complaint));
    ck_assert_str_eq(value, " a b=c,#\"");
    ck_assert(opal_param_value_set(&row, "", complaint));
    ck_assert_str_eq(value, "");
    ck_assert(opal_param_value_set(&row, NULL, complaint));
    ck_assert_ptr_null(value);
    ck_assert(opal_param_value_set(&row, "again", complaint));
    opal_param_value_clear(&row);
    ck_assert_ptr_null(value);
}
END_TEST

/* The old value stays when the new one is refused, and is given back when it is not. */
START_TEST(text_replaces_text)
{
    const char *string = NULL;
    opal_strings_t list = {0};
    opal_param_row_t string_row = {.type = OPAL_PARAM_STRING, .value = &string};
    opal_param_row_t list_row = {.type = OPAL_PARAM_LIST, .value = &list};
    const opal_param_row_t *rows[] = {&string_row, &list_row};
    unsetenv("UNIT_UNSET");
    for (size_t i = 0; i < OPAL_COUNT_OF(rows); i++) {
        ck_assert(opal_param_value_set(rows[i], "old", complaint));
        ck_assert(opal_param_value_set(rows[i], "new", complaint));
        ck_assert(!opal_param_value_set(rows[i], "x,$UNIT_UNSET", complaint));
    }
    ck_assert_str_eq(string, "new");
    ck_assert_uint_eq(list.count, 1);
    ck_assert_str_eq(list.items[0], "new");
    opal_param_value_clear(&string_row);
    opal_param_value_clear(&list_row);
}
END_TEST

START_TEST(list_is_cut_at_commas)
{
    opal_strings_t value = {0};
    opal_param_row_t row = {.type = OPAL_PARAM_LIST, .value = &value};
    setenv("UNIT_COMMAS", "x,y", 1);
    ck_assert(opal_param_value_set(&row, " sm, self ,,^tcp,$UNIT_COMMAS", complaint));
    char *joined = opal_strings_join(&value, "|");
    ck_assert_str_eq(joined, "sm|self|^tcp|x,y");
    free(joined);
    ck_assert(opal_param_value_set(&row, "", complaint));
    ck_assert_uint_eq(value.count, 0);
    opal_param_value_clear(&row);
    ck_assert(opal_param_value_set(&row, NULL, complaint));
    ck_assert_ptr_null(value.items);
}
END_TEST

static const struct {
    const char *text, *expanded, *complaint;
} expansions[] = {
    {"", "", NULL},
    {"plain", "plain", NULL},
    {"~", "/home/me", NULL},
    {"~/x", "/home/me/x", NULL},
    {"~other/x", "~other/x", NULL},
    {"a~/x", "a~/x", NULL},
    {"/a:~/b:~", "/a:/home/me/b:/home/me", NULL},
    {"~:/a:~b", "/home/me:/a:~b", NULL},
    {"$UNIT", "value", NULL},
    {"${UNIT}", "value", NULL},
    {"a$UNIT/b", "avalue/b", NULL},
    {"${UNIT}s$UNIT", "valuesvalue", NULL},
    {"$UNIT_EMPTY", "", NULL},
    {"$UNIT_TWICE", "$UNIT", NULL}, /* what a variable holds is not expanded again */
    {"$$", "$", NULL},
    {"$$UNIT", "$UNIT", NULL},
    {"a$$$UNIT", "a$value", NULL},
    {"$", NULL, "\"$$\" stands for one \"$\""},
    {"a$", NULL, "\"$$\" stands for one \"$\""},
    {"$ UNIT", NULL, "\"$$\" stands for one \"$\""},
    {"$-", NULL, "\"$$\" stands for one \"$\""},
    {"${}", NULL, "\"$$\" stands for one \"$\""},
    {"${UNIT", NULL, "\"$$\" stands for one \"$\""},
    {"${UNIT-x}", NULL, "\"$$\" stands for one \"$\""},
    {"$UNIT_UNSET", NULL, "the variable UNIT_UNSET is not set"},
    {"x${UNIT_UNSET}", NULL, "the variable UNIT_UNSET is not set"},
};

START_TEST(expansion)
{
    setenv("HOME", "/home/me", 1);
    setenv("UNIT", "value", 1);
    setenv("UNIT_EMPTY", "", 1);
    setenv("UNIT_TWICE", "$UNIT", 1);
    unsetenv("UNIT_UNSET");
    char *got = opal_param_expand(expansions[_i].text, complaint);
    ck_assert_pstr_eq(got, expansions[_i].expanded);
    if (expansions[_i].complaint != NULL)
        unit_assert_part(complaint, expansions[_i].complaint);
    free(got);
}
END_TEST

START_TEST(expansion_without_a_home)
{
    unsetenv("HOME");
    ck_assert_ptr_null(opal_param_expand("~/x", complaint));
    unit_assert_part(complaint, "HOME is not set");
    char *got = opal_param_expand("~x", complaint);
    ck_assert_str_eq(got, "~x");
    free(got);
}
END_TEST

START_TEST(unset_is_for_texts_only)
{
    int value = 77;
    opal_param_row_t row = {.type = OPAL_PARAM_INT, .value = &value};
    ck_assert(!opal_param_value_set(&row, NULL, complaint));
    opal_param_value_clear(&row);
    ck_assert_int_eq(value, 77);
}
END_TEST

START_TEST(every_type_has_a_name)
{
    for (int type = 0; type < OPAL_PARAM_TYPE_COUNT; type++)
        ck_assert_str_ne(opal_param_type_name((opal_param_type_t)type), "unknown");
    ck_assert_str_eq(opal_param_type_name(OPAL_PARAM_TYPE_COUNT), "unknown");
    ck_assert_str_eq(opal_param_type_name(OPAL_PARAM_SIZE), "size");
}
END_TEST

static const unit_test_t tests[] = {
    {.test = &bool_accepts, .repeats = OPAL_COUNT_OF(good_bools)},
    {.test = &a_complaint_is_not_needed},
    {.test = &bool_refuses, .repeats = OPAL_COUNT_OF(bad_bools)},
    {.test = &int_accepts, .repeats = OPAL_COUNT_OF(good_ints)},
    {.test = &int_refuses, .repeats = OPAL_COUNT_OF(bad_ints)},
    {.test = &int_within_limits, .repeats = OPAL_COUNT_OF(limited)},
    {.test = &unsigned_edges},
    {.test = &size_accepts, .repeats = OPAL_COUNT_OF(good_sizes)},
    {.test = &size_refuses, .repeats = OPAL_COUNT_OF(bad_sizes)},
    {.test = &size_within_limits},
    {.test = &double_accepts, .repeats = OPAL_COUNT_OF(good_doubles)},
    {.test = &double_refuses, .repeats = OPAL_COUNT_OF(bad_doubles)},
    {.test = &double_within_limits},
    {.test = &double_in_a_locale_with_commas},
    {.test = &enum_choices},
    {.test = &enum_with_many_long_choices},
    {.test = &string_holds_any_text},
    {.test = &text_replaces_text},
    {.test = &list_is_cut_at_commas},
    {.test = &expansion, .repeats = OPAL_COUNT_OF(expansions)},
    {.test = &expansion_without_a_home},
    {.test = &unset_is_for_texts_only},
    {.test = &every_type_has_a_name},
};

UNIT_MAIN("param_value", tests, NULL);
