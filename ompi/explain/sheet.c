/* SPDX-License-Identifier: BSD-3-Clause */
/* Facts of ranks, merged and printed. See sheet.h. */
#include "ompi/explain/sheet.h"

#include <stdlib.h>
#include <string.h>

enum { RANGES_SHOWN = 4, INDENT = 2 };

/* -- facts ------------------------------------------------------------------------------------ */

void ompi_facts_add(opal_text_t *facts, const char *section, const char *label, const char *format,
                    ...)
{
    va_list arguments;
    opal_text_printf(facts, "%s\t%s\t", section, label);
    size_t begin = facts->length;
    va_start(arguments, format);
    opal_text_vprintf(facts, format, arguments);
    va_end(arguments);
    for (size_t i = begin; i < facts->length; i++) {
        if (facts->bytes[i] == '\t' || facts->bytes[i] == '\n')
            facts->bytes[i] = ' ';
    }
    opal_text_add(facts, "\n");
}

/* -- merging ---------------------------------------------------------------------------------- */

static bool is_equal(const char *known, const char *text, size_t length)
{
    return strncmp(known, text, length) == 0 && known[length] == 0;
}

/* A new line goes behind the others of its section, a new section behind the others. */
static ompi_sheet_line_t *insert_line(ompi_sheet_t *sheet, const char *section, const char *label)
{
    size_t at = sheet->line_count;
    for (size_t i = 0; i < sheet->line_count; i++) {
        if (strcmp(sheet->lines[i].section, section) == 0)
            at = i + 1;
    }
    sheet->lines = opal_xrealloc(sheet->lines, (sheet->line_count + 1) * sizeof *sheet->lines);
    memmove(&sheet->lines[at + 1], &sheet->lines[at],
            (sheet->line_count - at) * sizeof *sheet->lines);
    sheet->line_count++;
    sheet->lines[at] =
        (ompi_sheet_line_t){.section = opal_xstrdup(section), .label = opal_xstrdup(label)};
    return &sheet->lines[at];
}

static ompi_sheet_line_t *find_line(ompi_sheet_t *sheet, const char *section, const char *label)
{
    for (size_t i = 0; i < sheet->line_count; i++) {
        ompi_sheet_line_t *line = &sheet->lines[i];
        if (strcmp(line->section, section) == 0 && strcmp(line->label, label) == 0)
            return line;
    }
    return insert_line(sheet, section, label);
}

static ompi_sheet_variant_t *find_variant(ompi_sheet_line_t *line, const char *text, size_t length)
{
    for (size_t i = 0; i < line->variant_count; i++) {
        if (is_equal(line->variants[i].text, text, length))
            return &line->variants[i];
    }
    line->variants =
        opal_xrealloc(line->variants, (line->variant_count + 1) * sizeof *line->variants);
    ompi_sheet_variant_t *variant = &line->variants[line->variant_count++];
    *variant = (ompi_sheet_variant_t){.text = opal_xstrndup(text, length)};
    return variant;
}

static void add_rank(ompi_sheet_variant_t *variant, unsigned rank)
{
    ompi_sheet_range_t *last =
        variant->range_count > 0 ? &variant->ranges[variant->range_count - 1] : NULL;
    variant->ranks++;
    if (last != NULL && last->last + 1 == rank) {
        last->last = rank;
        return;
    }
    variant->ranges =
        opal_xrealloc(variant->ranges, (variant->range_count + 1) * sizeof *variant->ranges);
    variant->ranges[variant->range_count++] = (ompi_sheet_range_t){rank, rank};
}

void ompi_sheet_merge(ompi_sheet_t *sheet, unsigned rank, const char *facts)
{
    sheet->ranks++;
    for (const char *fact = facts, *end; (end = strchr(fact, '\n')) != NULL; fact = end + 1) {
        const char *label = strchr(fact, '\t');
        const char *text = label != NULL ? strchr(label + 1, '\t') : NULL;
        if (text == NULL || text > end)
            continue;
        char *section = opal_xstrndup(fact, (size_t)(label - fact));
        char *name = opal_xstrndup(label + 1, (size_t)(text - label - 1));
        ompi_sheet_line_t *line = find_line(sheet, section, name);
        add_rank(find_variant(line, text + 1, (size_t)(end - text - 1)), rank);
        free(section);
        free(name);
    }
}

void ompi_sheet_free(ompi_sheet_t *sheet)
{
    for (size_t i = 0; i < sheet->line_count; i++) {
        ompi_sheet_line_t *line = &sheet->lines[i];
        for (size_t k = 0; k < line->variant_count; k++) {
            free(line->variants[k].text);
            free(line->variants[k].ranges);
        }
        free(line->variants);
        free(line->section);
        free(line->label);
    }
    free(sheet->lines);
    *sheet = (ompi_sheet_t){0};
}

/* -- printing --------------------------------------------------------------------------------- */

/* How much of the text fits: up to the last blank, or a word that is longer than the room. */
static size_t fitting(const char *text, size_t room)
{
    size_t length = strlen(text);
    if (length <= room)
        return length;
    for (size_t at = room; at > 0; at--) {
        if (text[at] == ' ')
            return at;
    }
    return strcspn(text, " ");
}

void ompi_sheet_print_line(opal_text_t *page, const char *label, const char *text)
{
    bool is_long = strlen(label) + INDENT >= OMPI_SHEET_LABEL;
    size_t used = is_long ? INDENT + strlen(label) + 1 : (size_t)OMPI_SHEET_LABEL;
    opal_text_printf(page, "%*s%-*s", INDENT, "", (int)used - INDENT, label);
    do {
        size_t length = fitting(text, used < OMPI_SHEET_COLUMNS ? OMPI_SHEET_COLUMNS - used : 0);
        opal_text_append(page, text, length);
        text += length + strspn(text + length, " ");
        used = (size_t)(is_long ? 3 * INDENT : OMPI_SHEET_LABEL);
        opal_text_add(page, "\n");
        if (*text != 0)
            opal_text_printf(page, "%*s", (int)used, "");
    } while (*text != 0);
}

void ompi_sheet_print_ranks(opal_text_t *text, const ompi_sheet_range_t *ranges, size_t count)
{
    unsigned hidden = 0;
    for (size_t i = 0; i < count; i++) {
        if (i >= RANGES_SHOWN) {
            hidden += ranges[i].last - ranges[i].first + 1;
            continue;
        }
        opal_text_printf(text, "%s%u", i > 0 ? ", " : "", ranges[i].first);
        if (ranges[i].last > ranges[i].first)
            opal_text_printf(text, "-%u", ranges[i].last);
    }
    if (hidden > 0)
        opal_text_printf(text, " and %u more", hidden);
}

static void print_variant(opal_text_t *page, const char *label, const ompi_sheet_variant_t *variant)
{
    opal_text_t text = {0};
    bool is_one = variant->ranks == 1;
    opal_text_printf(&text, "%s ", is_one ? "rank" : "ranks");
    ompi_sheet_print_ranks(&text, variant->ranges, variant->range_count);
    opal_text_printf(&text, ": %s", variant->text);
    ompi_sheet_print_line(page, label, opal_text_string(&text));
    opal_text_free(&text);
}

static void print_line(const ompi_sheet_t *sheet, const ompi_sheet_line_t *line, opal_text_t *page)
{
    size_t shown = line->variant_count;
    if (shown == 1 && line->variants[0].ranks == sheet->ranks) {
        ompi_sheet_print_line(page, line->label, line->variants[0].text);
        return;
    }
    if (shown > OMPI_SHEET_VARIANTS)
        shown = OMPI_SHEET_VARIANTS - 1;
    for (size_t i = 0; i < shown; i++)
        print_variant(page, i == 0 ? line->label : "", &line->variants[i]);
    if (shown == line->variant_count)
        return;
    unsigned ranks = 0;
    for (size_t i = shown; i < line->variant_count; i++)
        ranks += line->variants[i].ranks;
    char *rest =
        opal_xprintf("and %zu other texts of %u ranks", line->variant_count - shown, ranks);
    ompi_sheet_print_line(page, "", rest);
    free(rest);
}

void ompi_sheet_print(const ompi_sheet_t *sheet, opal_text_t *page)
{
    const char *section = "";
    for (size_t i = 0; i < sheet->line_count; i++) {
        const ompi_sheet_line_t *line = &sheet->lines[i];
        if (strcmp(line->section, section) != 0)
            opal_text_printf(page, "%s\n", line->section);
        section = line->section;
        print_line(sheet, line, page);
    }
}
