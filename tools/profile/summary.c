/* SPDX-License-Identifier: BSD-3-Clause */
/* Adding up. See summary.h. */
#include "tools/profile/summary.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tools/profile/findings.h"
#include "tools/profile/places.h"

static void add(sum_t *to, const sum_t *what)
{
    to->calls += what->calls;
    to->bytes += what->bytes;
    to->time += what->time;
    to->waited += what->waited;
}

/* Of calls of which some were timed. */
static sum_t sum_of(const record_t *record, const opal_profile_time_t *time, uint64_t calls,
                    uint64_t timed_calls, uint64_t bytes)
{
    double others = record_seconds(record, opal_profile_scaled(time->sampled, calls, timed_calls));
    double waits = record_seconds(record, opal_profile_scaled(time->waited, calls, timed_calls));
    double long_waits = record_seconds(record, time->long_waited);
    return (sum_t){
        .calls = calls, .bytes = bytes, .time = others + long_waits, .waited = waits + long_waits};
}

static function_sum_t *function_named(summary_t *summary, const char *name)
{
    for (size_t i = 0; i < summary->function_count; i++) {
        if (strcmp(summary->functions[i].name, name) == 0)
            return &summary->functions[i];
    }
    summary->functions = opal_xrealloc(summary->functions,
                                       (summary->function_count + 1) * sizeof *summary->functions);
    function_sum_t *function = &summary->functions[summary->function_count++];
    *function = (function_sum_t){.name = name,
                                 .rank_time = opal_xcalloc(summary->records->size, sizeof(double))};
    return function;
}

static bool is_same_place(const opal_profile_location_t *a, const opal_profile_location_t *b)
{
    return a->module_offset == b->module_offset && strcmp(a->function, b->function) == 0 &&
           strcmp(a->module, b->module) == 0;
}

static int find_site(const summary_t *summary, const opal_profile_location_t *place)
{
    for (size_t i = 0; i < summary->site_count; i++) {
        if (is_same_place(summary->sites[i].place, place))
            return (int)i;
    }
    return -1;
}

static site_sum_t *site_at(summary_t *summary, const opal_profile_location_t *place)
{
    int found = find_site(summary, place);
    if (found >= 0)
        return &summary->sites[found];
    summary->sites =
        opal_xrealloc(summary->sites, (summary->site_count + 1) * sizeof *summary->sites);
    site_sum_t *site = &summary->sites[summary->site_count++];
    *site = (site_sum_t){.place = place,
                         .rank_time = opal_xcalloc(summary->records->size, sizeof(double))};
    return site;
}

int summary_site_of(const summary_t *summary, const opal_profile_block_t *block, uint64_t slot)
{
    if (slot >= OPAL_PROFILE_SITES || block->sites[slot].address == 0)
        return -1;
    return find_site(summary, &block->places[slot]);
}

static void add_sites(summary_t *summary, unsigned rank, const opal_profile_block_t *block)
{
    const record_t *record = &summary->records->ranks[rank];
    for (unsigned i = 0; i < OPAL_PROFILE_SITES; i++) {
        const opal_profile_site_t *site = &block->sites[i];
        if (site->address == 0)
            continue;
        sum_t sum = sum_of(record, &site->time, site->calls, site->timed_calls, site->bytes);
        function_sum_t *function = function_named(summary, block->places[i].function);
        site_sum_t *place = site_at(summary, &block->places[i]);
        double longest = record_seconds(record, site->longest);
        add(&function->sum, &sum);
        function->rank_time[rank] += sum.time;
        add(&place->sum, &sum);
        place->ranks += place->rank_time[rank] == 0;
        place->rank_time[rank] += sum.time;
        if (longest > place->longest)
            place->longest = longest;
        add(&summary->ranks[rank].mpi, &sum);
    }
}

static collective_sum_t *collective_like(summary_t *summary, const opal_profile_collective_t *entry)
{
    for (size_t i = 0; i < summary->collective_count; i++) {
        const opal_profile_collective_t *each = summary->collectives[i].entry;
        if (strcmp(each->function, entry->function) == 0 &&
            strcmp(each->component, entry->component) == 0 &&
            strcmp(each->algorithm, entry->algorithm) == 0)
            return &summary->collectives[i];
    }
    summary->collectives = opal_xrealloc(summary->collectives, (summary->collective_count + 1) *
                                                                   sizeof *summary->collectives);
    collective_sum_t *collective = &summary->collectives[summary->collective_count++];
    *collective = (collective_sum_t){.entry = entry};
    return collective;
}

static void add_collectives(summary_t *summary, const record_t *record,
                            const opal_profile_block_t *block)
{
    for (unsigned i = 0; i < OPAL_PROFILE_COLLECTIVES; i++) {
        const opal_profile_collective_t *entry = &block->collectives[i];
        if (entry->function_key == 0)
            continue;
        sum_t sum = sum_of(record, &entry->time, entry->calls, entry->timed_calls, entry->bytes);
        add(&collective_like(summary, entry)->sum, &sum);
    }
}

static void add_messages(summary_t *summary, unsigned rank, const opal_profile_block_t *block)
{
    opal_profile_traffic_t *sent = &summary->ranks[rank].sent;
    for (unsigned i = 0; i < OPAL_PROFILE_CLASSES; i++) {
        summary->classes[i].messages += block->classes[i].messages;
        summary->classes[i].bytes += block->classes[i].bytes;
        sent->messages += block->classes[i].messages;
        sent->bytes += block->classes[i].bytes;
    }
}

static void add_rank(summary_t *summary, unsigned rank)
{
    const record_t *record = &summary->records->ranks[rank];
    rank_sum_t *sum = &summary->ranks[rank];
    if (record->head == NULL)
        return;
    sum->threads = record->head->blocks > 0 ? record->head->blocks : 1;
    for (unsigned i = 0; i < record->head->blocks; i++) {
        const opal_profile_block_t *block = record_block(record, i);
        add_sites(summary, rank, block);
        add_collectives(summary, record, block);
        add_messages(summary, rank, block);
    }
    /* What is estimated may be a little more than there was. */
    sum->wall = (record->end - record->begin) * sum->threads;
    if (sum->mpi.time > sum->wall) {
        sum->mpi.waited *= sum->wall / sum->mpi.time;
        sum->mpi.time = sum->wall;
    }
    sum->computing = sum->wall - sum->mpi.time;
    add(&summary->mpi, &sum->mpi);
    summary->wall += sum->wall;
    summary->computing += sum->computing;
    if (sum->computing > summary->most_computing)
        summary->most_computing = sum->computing;
}

static int by_time(const sum_t *a, const sum_t *b)
{
    if (a->time != b->time)
        return a->time < b->time ? 1 : -1;
    return a->calls < b->calls ? 1 : a->calls > b->calls ? -1 : 0;
}

static int compare_functions(const void *a, const void *b)
{
    return by_time(&((const function_sum_t *)a)->sum, &((const function_sum_t *)b)->sum);
}

static int compare_sites(const void *a, const void *b)
{
    return by_time(&((const site_sum_t *)a)->sum, &((const site_sum_t *)b)->sum);
}

static int compare_collectives(const void *a, const void *b)
{
    return by_time(&((const collective_sum_t *)a)->sum, &((const collective_sum_t *)b)->sum);
}

static void sort(void *items, size_t count, size_t bytes,
                 int (*compare)(const void *, const void *))
{
    if (count > 0)
        qsort(items, count, bytes, compare);
}

double summary_imbalance(const summary_t *summary)
{
    double mean =
        summary->computing / (summary->records->present > 0 ? summary->records->present : 1);
    return mean > 0 ? summary->most_computing / mean - 1 : 0;
}

void summary_make(const records_t *records, summary_t *summary)
{
    *summary = (summary_t){.records = records, .awaited = -1};
    summary->ranks = opal_xcalloc(records->size, sizeof *summary->ranks);
    for (unsigned rank = 0; rank < records->size; rank++)
        add_rank(summary, rank);
    sort(summary->functions, summary->function_count, sizeof *summary->functions,
         compare_functions);
    sort(summary->sites, summary->site_count, sizeof *summary->sites, compare_sites);
    sort(summary->collectives, summary->collective_count, sizeof *summary->collectives,
         compare_collectives);
    places_name(summary);
    findings_make(summary);
}

void summary_free(summary_t *summary)
{
    for (size_t i = 0; i < summary->function_count; i++)
        free(summary->functions[i].rank_time);
    for (size_t i = 0; i < summary->site_count; i++) {
        free(summary->sites[i].rank_time);
        free(summary->sites[i].text);
    }
    free(summary->functions);
    free(summary->sites);
    free(summary->collectives);
    free(summary->ranks);
    opal_strings_free(&summary->findings);
}

/* -- numbers for people ----------------------------------------------------------------------- */

/* Three digits. */
static char *scaled(double number, const char *const units[], size_t count, double step,
                    char text[SUMMARY_TEXT_BYTES])
{
    size_t unit = 0;
    while (unit + 1 < count && number >= 0.9995 * step) {
        number /= step;
        unit++;
    }
    int digits = number < 9.995 ? 2 : number < 99.95 ? 1 : 0;
    snprintf(text, SUMMARY_TEXT_BYTES, "%.*f%s", digits, number, units[unit]);
    return text;
}

char *summary_seconds(double seconds, char text[SUMMARY_TEXT_BYTES])
{
    static const char *const units[] = {" ns", " us", " ms", " s"};
    if (seconds == 0)
        return strcpy(text, "0 s");
    return scaled(seconds * 1e9, units, 4, 1000, text);
}

char *summary_bytes(double bytes, char text[SUMMARY_TEXT_BYTES])
{
    static const char *const units[] = {" B", " kB", " MB", " GB", " TB"};
    if (bytes < 1000) {
        snprintf(text, SUMMARY_TEXT_BYTES, "%.0f B", bytes);
        return text;
    }
    return scaled(bytes, units, 5, 1000, text);
}

char *summary_count(double count, char text[SUMMARY_TEXT_BYTES])
{
    static const char *const units[] = {"", " k", " M", " G"};
    if (count < 100000) {
        snprintf(text, SUMMARY_TEXT_BYTES, "%.0f", count);
        return text;
    }
    return scaled(count, units, 4, 1000, text);
}
