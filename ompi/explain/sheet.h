/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A sheet: what the processes of a job tell about themselves, merged, so that what is equal in many
 * of them stands there once.
 *
 *   every rank   facts: lines "section TAB label TAB text"           ompi_facts_add
 *   rank 0       merges the facts of one rank after the other        ompi_sheet_merge
 *                prints lines, and the ranks where they differ       ompi_sheet_print
 *
 *   Transports
 *     same node     ranks 0-3: sm: ring of 256 KiB, ...
 *                   ranks 4-7: sock: TCP over lo
 *
 * The size of a page does not grow with the ranks: of many different texts of a line the first ones
 * are printed, and how many there are.
 *
 * Threading: one thread at a time.
 */
#ifndef OMPI_EXPLAIN_SHEET_H
#define OMPI_EXPLAIN_SHEET_H

#include "opal/util/text.h"

/* Ranks, ascending. */
typedef struct ompi_sheet_range {
    unsigned first, last;
} ompi_sheet_range_t;

/* A text of a line, and the ranks that have it. */
typedef struct ompi_sheet_variant {
    char *text;
    ompi_sheet_range_t *ranges;
    size_t range_count;
    unsigned ranks;
} ompi_sheet_variant_t;

/* The lines of a section are consecutive. */
typedef struct ompi_sheet_line {
    char *section, *label;
    ompi_sheet_variant_t *variants;
    size_t variant_count;
} ompi_sheet_line_t;

typedef struct ompi_sheet {
    ompi_sheet_line_t *lines;
    size_t line_count;
    unsigned ranks; /* whose facts were merged */
} ompi_sheet_t;

enum {
    OMPI_SHEET_COLUMNS = 100, /* of the page; longer lines are wrapped */
    OMPI_SHEET_LABEL = 16,    /* the column behind the labels */
    OMPI_SHEET_VARIANTS = 4,  /* of a line, at most, that are printed */
};

/* Adds a fact. Tabs and newlines in the text become blanks. */
OPAL_EXPORT void ompi_facts_add(opal_text_t *facts, const char *section, const char *label,
                                const char *format, ...) OPAL_PRINTF(4, 5);

/* Adds the facts of a rank; ranks come in ascending order. */
OPAL_EXPORT void ompi_sheet_merge(ompi_sheet_t *sheet, unsigned rank, const char *facts);

OPAL_EXPORT void ompi_sheet_print(const ompi_sheet_t *sheet, opal_text_t *page);
OPAL_EXPORT void ompi_sheet_free(ompi_sheet_t *sheet);

/* Adds a line: the label, and the text behind it, wrapped. */
OPAL_EXPORT void ompi_sheet_print_line(opal_text_t *page, const char *label, const char *text);

/* Adds "0-3, 8", or the first ranges and how many ranks there are. */
OPAL_EXPORT void ompi_sheet_print_ranks(opal_text_t *text, const ompi_sheet_range_t *ranges,
                                        size_t count);

#endif
