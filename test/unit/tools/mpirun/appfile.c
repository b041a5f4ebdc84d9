/* SPDX-License-Identifier: BSD-3-Clause */
/* tools/mpirun/appfile.c: the words of a line. */
#include "tools/mpirun/option_rows.h"

#include "test/unit/opal/support.h"

START_TEST(appfile_cuts_words)
{
    static const struct {
        const char *line, *words; /* joined by '|' */
    } cases[] = {
        {"", ""},
        {" \t\n", ""},
        {"# comment", ""},
        {"-n 2 prog", "-n|2|prog"},
        {"a b # c d", "a|b"},
        {"a#b", "a#b"},
        {"a '#' b", "a|#|b"},
        {"'one word' two", "one word|two"},
        {"\"it's\"", "it's"},
        {"'say \"hi\"'", "say \"hi\""},
        {"\"a \\\" b \\\\ c \\d\"", "a \" b \\ c \\d"},
        {"'a\\b'", "a\\b"},
        {"a\\ b c", "a b|c"},
        {"a'b'\"c\"d", "abcd"},
        {"'' x \"\"", "|x|"},
        {"x\r\n", "x"},
    };
    opal_strings_t words = {0};
    ck_assert_ptr_null(option_split_line(cases[_i].line, &words));
    char *joined = opal_strings_join(&words, "|");
    ck_assert_str_eq(joined, cases[_i].words);
    free(joined);
    opal_strings_free(&words);
}
END_TEST

START_TEST(appfile_complains)
{
    static const char *const lines[] = {"a 'b", "a \"b", "\"b\\\"", "a \\"};
    static const char *const complaints[] = {"' is not closed", "\" is not closed",
                                             "\" is not closed", "backslash"};
    opal_strings_t words = {0};
    const char *complaint = option_split_line(lines[_i], &words);
    ck_assert_ptr_nonnull(complaint);
    unit_assert_part(complaint, complaints[_i]);
    opal_strings_free(&words);
}
END_TEST

static const unit_test_t tests[] = {
    {.test = &appfile_cuts_words, .repeats = 16},
    {.test = &appfile_complains, .repeats = 4},
};

UNIT_MAIN("appfile", tests, NULL);
