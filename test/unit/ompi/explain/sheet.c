/* SPDX-License-Identifier: BSD-3-Clause */
/* ompi/explain/sheet.c: what is equal is printed once, and a page does not grow with the ranks. */
#include "ompi/explain/sheet.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "test/unit/opal/support.h"

/* Merges a fact of one rank. */
static void merge(ompi_sheet_t *sheet, unsigned rank, const char *label, const char *text)
{
    opal_text_t facts = {0};
    ompi_facts_add(&facts, "Section", label, "%s", text);
    ompi_sheet_merge(sheet, rank, opal_text_string(&facts));
    opal_text_free(&facts);
}

static void check_page(ompi_sheet_t *sheet, const char *wanted)
{
    opal_text_t page = {0};
    ompi_sheet_print(sheet, &page);
    ck_assert_str_eq(opal_text_string(&page), wanted);
    opal_text_free(&page);
    ompi_sheet_free(sheet);
}

START_TEST(equal_texts_have_one_line)
{
    ompi_sheet_t sheet = {0};
    for (unsigned rank = 0; rank < 512; rank++)
        merge(&sheet, rank, "way", "by\tsm\n");
    ck_assert_uint_eq(sheet.ranks, 512);
    check_page(&sheet, "Section\n"
                       "  way           by sm \n");
}
END_TEST

START_TEST(differences_name_their_ranks)
{
    ompi_sheet_t sheet = {0};
    for (unsigned rank = 0; rank < 8; rank++)
        merge(&sheet, rank, "way", rank == 3 || rank > 5 ? "sock" : "sm");
    check_page(&sheet, "Section\n"
                       "  way           ranks 0-2, 4-5: sm\n"
                       "                ranks 3, 6-7: sock\n");
}
END_TEST

START_TEST(a_line_of_some_ranks)
{
    ompi_sheet_t sheet = {0};
    merge(&sheet, 0, "one", "here");
    ompi_sheet_merge(&sheet, 1, "Another\tlast\tthere\nSection\ttwo\tthere\n");
    check_page(&sheet, "Section\n"
                       "  one           rank 0: here\n"
                       "  two           rank 1: there\n"
                       "Another\n"
                       "  last          rank 1: there\n");
}
END_TEST

START_TEST(many_texts_are_counted)
{
    ompi_sheet_t sheet = {0};
    for (unsigned rank = 0; rank < 512; rank++) {
        char *text = opal_xprintf("thread %u", rank);
        merge(&sheet, rank, "runs on", text);
        free(text);
    }
    check_page(&sheet, "Section\n"
                       "  runs on       rank 0: thread 0\n"
                       "                rank 1: thread 1\n"
                       "                rank 2: thread 2\n"
                       "                and 509 other texts of 509 ranks\n");
}
END_TEST

START_TEST(many_ranges_are_counted)
{
    opal_text_t text = {0};
    ompi_sheet_range_t ranges[6];
    for (unsigned i = 0; i < 6; i++)
        ranges[i] = (ompi_sheet_range_t){10 * i, 10 * i + 2};
    ompi_sheet_print_ranks(&text, ranges, 6);
    ck_assert_str_eq(opal_text_string(&text), "0-2, 10-12, 20-22, 30-32 and 6 more");
    opal_text_free(&text);
}
END_TEST

/* No line is longer than the page, and no word is lost or cut. */
START_TEST(long_texts_are_wrapped)
{
    opal_text_t text = {0}, page = {0}, again = {0};
    for (int i = 0; i < 100; i++)
        opal_text_printf(&text, "%sword%d", i > 0 ? " " : "", i);
    ompi_sheet_print_line(&page, "short", opal_text_string(&text));
    char *copy = opal_xstrdup(opal_text_string(&page));
    for (char *line = strtok(copy, "\n"); line != NULL; line = strtok(NULL, "\n")) {
        ck_assert_uint_le(strlen(line), OMPI_SHEET_COLUMNS);
        opal_text_printf(&again, "%s%s", again.length > 0 ? " " : "", line + OMPI_SHEET_LABEL);
    }
    ck_assert_str_eq(opal_text_string(&again), opal_text_string(&text));
    free(copy);
    opal_text_free(&text);
    opal_text_free(&page);
    opal_text_free(&again);
}
END_TEST

/* The text begins behind a label that is longer than its column. */
START_TEST(long_labels)
{
    opal_text_t page = {0};
    ompi_sheet_print_line(&page, "a label of more than 16 columns:", "text");
    ck_assert_str_eq(opal_text_string(&page), "  a label of more than 16 columns: text\n");
    opal_text_free(&page);
}
END_TEST

/* Of a rank that was built otherwise, or a cut message. */
START_TEST(wrong_facts_are_passed_over)
{
    ompi_sheet_t sheet = {0};
    ompi_sheet_merge(&sheet, 0, "no tab\nSection\tone tab\nSection\tgood\ttext\nSection\tcut\toff");
    check_page(&sheet, "Section\n"
                       "  good          text\n");
}
END_TEST

static const unit_test_t tests[] = {
    {.test = &equal_texts_have_one_line},
    {.test = &differences_name_their_ranks},
    {.test = &a_line_of_some_ranks},
    {.test = &many_texts_are_counted},
    {.test = &many_ranges_are_counted},
    {.test = &long_texts_are_wrapped},
    {.test = &long_labels},
    {.test = &wrong_facts_are_passed_over},
};

UNIT_MAIN("ompi/explain/sheet", tests, NULL);
