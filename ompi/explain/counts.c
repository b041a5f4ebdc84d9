/* SPDX-License-Identifier: BSD-3-Clause */
/* Sums of performance variables, and the groups in which they are printed. See counts.h. */
#include "ompi/explain/counts.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "opal/mca/base/pvar.h"
#include "ompi/explain/sheet.h"

/* The values at the beginning, by index; variables that are behind were 0. */
static uint64_t *before;
static size_t before_count, demanded_count;

/* Of the process, and never smaller than before. */
static bool grows(const opal_pvar_t *variable)
{
    opal_pvar_class_t class = variable->row.class;
    return variable->row.bind == OPAL_PVAR_OF_PROCESS &&
           (class == OPAL_PVAR_COUNTER || class == OPAL_PVAR_AGGREGATE || class == OPAL_PVAR_TIMER);
}

static void use_all(size_t count, bool wanted)
{
    for (size_t i = 0; i < count; i++) {
        if (grows(opal_pvar_at(i)))
            opal_pvar_use(i, wanted);
    }
}

void ompi_counts_demand(void)
{
    demanded_count = opal_pvar_count();
    use_all(demanded_count, true);
}

void ompi_counts_begin(void)
{
    before_count = opal_pvar_count();
    before = opal_xcalloc(before_count + 1, sizeof *before);
    for (size_t i = 0; i < before_count; i++) {
        if (grows(opal_pvar_at(i)))
            before[i] = opal_pvar_read(i, NULL);
    }
}

void ompi_counts_end(opal_text_t *facts, const char *extra)
{
    size_t count = opal_pvar_count();
    for (size_t i = 0; i < count; i++) {
        const opal_pvar_t *variable = opal_pvar_at(i);
        if (!grows(variable))
            continue;
        uint64_t began = i < before_count ? before[i] : 0, value = opal_pvar_read(i, NULL);
        if (extra != NULL && strcmp(extra, variable->full_name) == 0)
            began++;
        if (value > began)
            opal_text_printf(facts, "%s\t%" PRIu64 "\n", variable->full_name, value - began);
    }
    use_all(demanded_count, false);
    free(before);
    before = NULL;
    before_count = demanded_count = 0;
}

/* -- sums ------------------------------------------------------------------------------------- */

static ompi_count_t *find(const ompi_counts_t *sums, const char *name, size_t length)
{
    for (size_t i = 0; i < sums->count; i++) {
        const char *known = sums->items[i].name;
        if (strncmp(known, name, length) == 0 && known[length] == 0)
            return &sums->items[i];
    }
    return NULL;
}

void ompi_counts_add(ompi_counts_t *sums, const char *facts)
{
    for (const char *line = facts, *end; (end = strchr(line, '\n')) != NULL; line = end + 1) {
        size_t length = strcspn(line, "\t\n");
        if (line[length] != '\t')
            continue;
        ompi_count_t *item = find(sums, line, length);
        if (item == NULL) {
            sums->items = opal_xrealloc(sums->items, (sums->count + 1) * sizeof *sums->items);
            item = &sums->items[sums->count++];
            *item = (ompi_count_t){.name = opal_xstrndup(line, length)};
        }
        item->value += strtoull(line + length + 1, NULL, 10);
    }
}

void ompi_counts_free(ompi_counts_t *sums)
{
    for (size_t i = 0; i < sums->count; i++)
        free(sums->items[i].name);
    free(sums->items);
    *sums = (ompi_counts_t){0};
}

/* -- printing --------------------------------------------------------------------------------- */

/* A variable is in the first group whose prefix it has; behind that it is named by the rest. */
static const struct {
    const char *label, *prefix;
} groups[] = {
    {"sent by", "pml_ob1_sent_"},
    {"received by", "pml_ob1_received_"},
    {"unexpected", "pml_ob1_unexpected"},
    {"protocols", "pml_ob1_"},
    {"copied from", "btl_sm_get_"},
    {"network", "pml_cm_"},
    {"collectives", "coll_"},
    {"waits", "wait_"},
    {"registrations", "mpool_rcache_"},
    {"others", ""},
};

static size_t group_of(const char *name)
{
    size_t i = 0;
    while (strncmp(name, groups[i].prefix, strlen(groups[i].prefix)) != 0)
        i++;
    return i;
}

#define BYTES "_bytes"

/* The variable that counts what these are the bytes of; NULL: the name is that of no bytes. */
static const ompi_count_t *counted_by(const ompi_counts_t *sums, const char *name)
{
    size_t length = strlen(name), suffix = strlen(BYTES);
    if (length <= suffix || strcmp(name + length - suffix, BYTES) != 0)
        return NULL;
    return find(sums, name, length - suffix);
}

static bool is_time(const char *name)
{
    size_t index;
    return opal_pvar_find(name, OPAL_PVAR_TIMER, &index);
}

static void print_item(const ompi_counts_t *sums, const ompi_count_t *item, const char *rest,
                       opal_text_t *text)
{
    opal_text_printf(text, "%s%s%s", text->length > 0 ? ", " : "", rest, rest[0] != 0 ? " " : "");
    if (is_time(item->name)) {
        opal_text_printf(text, "%.3f s", (double)item->value / 1e9);
        return;
    }
    opal_text_printf(text, "%" PRIu64, item->value);
    char *name = opal_xprintf("%s" BYTES, item->name);
    const ompi_count_t *bytes = find(sums, name, strlen(name));
    if (bytes != NULL)
        opal_text_printf(text, " (%" PRIu64 " bytes)", bytes->value);
    free(name);
}

static int by_name(const void *one, const void *other)
{
    return strcmp(((const ompi_count_t *)one)->name, ((const ompi_count_t *)other)->name);
}

void ompi_counts_print(const ompi_counts_t *sums, opal_text_t *page)
{
    if (sums->count > 0)
        qsort(sums->items, sums->count, sizeof *sums->items, by_name);
    else
        ompi_sheet_print_line(page, "nothing", "was counted");
    for (size_t group = 0; group < OPAL_COUNT_OF(groups); group++) {
        opal_text_t text = {0};
        for (size_t i = 0; i < sums->count; i++) {
            const ompi_count_t *item = &sums->items[i];
            if (group_of(item->name) == group && counted_by(sums, item->name) == NULL)
                print_item(sums, item, item->name + strlen(groups[group].prefix), &text);
        }
        if (text.length > 0)
            ompi_sheet_print_line(page, groups[group].label, opal_text_string(&text));
        opal_text_free(&text);
    }
}
