/* SPDX-License-Identifier: BSD-3-Clause */
/* opal/util/text.c: growing text, string lists, and the allocation that does not fail. */
#include "opal/util/text.h"

#include <signal.h>
#include <stdint.h>

#include "test/unit/opal/support.h"

START_TEST(text_is_empty_at_first)
{
    opal_text_t text = {0};
    ck_assert_str_eq(opal_text_string(&text), "");
    opal_text_free(&text);
    char *taken = opal_text_take(&text);
    ck_assert_str_eq(taken, "");
    free(taken);
    opal_text_add(&text, "");
    opal_text_printf(&text, "%s", "");
    opal_text_append(&text, NULL, 0);
    ck_assert_uint_eq(text.length, 0);
    ck_assert_str_eq(opal_text_string(&text), "");
    opal_text_free(&text);
}
END_TEST

START_TEST(text_grows)
{
    opal_text_t text = {0};
    for (unsigned i = 0; i < 1000; i++) {
        opal_text_append(&text, "abcdef", 3);
        opal_text_printf(&text, "%03u", i);
        ck_assert_uint_eq(text.length, 6 * (i + 1));
        ck_assert_uint_lt(text.length, text.capacity);
        ck_assert_uint_eq(strlen(text.bytes), text.length);
    }
    ck_assert_int_eq(memcmp(text.bytes + 6 * 517, "abc517", 6), 0);
    opal_text_free(&text);
    ck_assert_ptr_null(text.bytes);
}
END_TEST

/* What fills the capacity exactly, and one more. */
START_TEST(text_at_its_capacity)
{
    for (size_t length = 62; length <= 66; length++) {
        char bytes[80];
        memset(bytes, 'x', sizeof bytes);
        bytes[length] = 0;
        opal_text_t appended = {0}, printed = {0};
        opal_text_append(&appended, bytes, length);
        opal_text_printf(&printed, "%s", bytes);
        ck_assert_str_eq(opal_text_string(&appended), bytes);
        ck_assert_str_eq(opal_text_string(&printed), bytes);
        opal_text_free(&appended);
        opal_text_free(&printed);
    }
}
END_TEST

START_TEST(taken_text_is_the_callers)
{
    opal_text_t text = {0};
    opal_text_add(&text, "one");
    char *taken = opal_text_take(&text);
    opal_text_add(&text, "two");
    ck_assert_str_eq(taken, "one");
    ck_assert_str_eq(opal_text_string(&text), "two");
    free(taken);
    opal_text_free(&text);
}
END_TEST

START_TEST(copies)
{
    char *whole = opal_xstrdup("node7");
    char *part = opal_xstrndup("node7", 4);
    char *printed = opal_xprintf("%s:%d", whole, 3);
    ck_assert_str_eq(whole, "node7");
    ck_assert_str_eq(part, "node");
    ck_assert_str_eq(printed, "node7:3");
    free(whole);
    free(part);
    free(printed);
}
END_TEST

START_TEST(nothing_is_something)
{
    void *pieces[] = {opal_xmalloc(0), opal_xcalloc(0, 8), opal_xcalloc(8, 0),
                      opal_xrealloc(NULL, 0)};
    for (size_t i = 0; i < OPAL_COUNT_OF(pieces); i++) {
        ck_assert_ptr_nonnull(pieces[i]);
        free(pieces[i]);
    }
    unsigned char *zeros = opal_xcalloc(100, 3);
    for (size_t i = 0; i < 300; i++)
        ck_assert_uint_eq(zeros[i], 0);
    free(zeros);
    unsigned char *aligned = opal_xaligned(256, 300);
    ck_assert_uint_eq((uintptr_t)aligned % 256, 0);
    for (size_t i = 0; i < 300; i++)
        ck_assert_uint_eq(aligned[i], 0);
    free(aligned);
}
END_TEST

#ifndef __SANITIZE_ADDRESS__ /* which ends the process itself, with words of its own */
START_TEST(out_of_memory_ends_the_process)
{
    volatile size_t half = SIZE_MAX / 2;
    if (_i == 0)
        free(opal_xmalloc(half));
    else
        free(opal_xcalloc(half, 4));
}
END_TEST
#endif

static void assert_list(const opal_strings_t *list, const char *joined, size_t count)
{
    char *got = opal_strings_join(list, "|");
    ck_assert_str_eq(got, joined);
    ck_assert_uint_eq(list->count, count);
    if (count > 0)
        ck_assert_ptr_null(list->items[count]);
    free(got);
}

static const struct {
    const char *text, *separators, *joined;
    size_t count;
} splits[] = {
    {"", ",", "", 0},
    {",,,", ",", "", 0},
    {" \t\r\n ", ",", "", 0},
    {"a", ",", "a", 1},
    {"a,b,c", ",", "a|b|c", 3},
    {",a,,b,", ",", "a|b", 2},
    {"  a b ,\tc\r\n", ",", "a b|c", 2},
    {"a:b,c", ",:", "a|b|c", 3},
    {"one two  three", " ", "one|two|three", 3},
    {"a,b", "", "a,b", 1},
};

START_TEST(split)
{
    opal_strings_t list = {0};
    opal_strings_split(&list, splits[_i].text, splits[_i].separators);
    assert_list(&list, splits[_i].joined, splits[_i].count);
    opal_strings_free(&list);
}
END_TEST

START_TEST(lists)
{
    opal_strings_t list = {0};
    ck_assert(!opal_strings_has(&list, ""));
    char *nothing = opal_strings_join(&list, ", ");
    ck_assert_str_eq(nothing, "");
    free(nothing);

    opal_strings_split(&list, "a,b", ",");
    opal_strings_split(&list, "c", ",");
    opal_strings_add(&list, "");
    assert_list(&list, "a|b|c|", 4);
    ck_assert(opal_strings_has(&list, "c"));
    ck_assert(opal_strings_has(&list, ""));
    ck_assert(!opal_strings_has(&list, "C"));
    opal_strings_free(&list);
    ck_assert_ptr_null(list.items);
    opal_strings_free(&list);
}
END_TEST

static const unit_test_t tests[] = {
    {.test = &text_is_empty_at_first},
    {.test = &text_grows},
    {.test = &text_at_its_capacity},
    {.test = &taken_text_is_the_callers},
    {.test = &copies},
    {.test = &nothing_is_something},
    {.test = &lists},
    {.test = &split, .repeats = OPAL_COUNT_OF(splits)},
#ifndef __SANITIZE_ADDRESS__
    {.test = &out_of_memory_ends_the_process, .repeats = 2, .signal = SIGABRT},
#endif
};

UNIT_MAIN("text", tests, NULL);
