/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The page: page.html with the style, the script, and the data as JSON, which page.js explains.
 * Everything is in one file, without anything from outside.
 *
 * The data stays legible for a browser at many ranks: places and functions behind the heaviest ones
 * are one, and ranks share a number of intervals.
 */
#include <math.h>
#include <string.h>

#include "tools/profile/page.h"
#include "tools/profile/report.h"

enum {
    MOST_SITES = 60,
    MOST_FUNCTIONS = 24,
    ALL_INTERVALS = 100000, /* of all ranks */
    LEAST_INTERVALS = 32,   /* of a rank, even so */
    LEVELS = 64,            /* of a bin: how full it is */
};

/* A digit for each level, and for each site. */
static const char digits[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

/* -- JSON ------------------------------------------------------------------------------------- */

static void put_string(FILE *out, const char *text)
{
    fputc('"', out);
    for (; *text != 0; text++) {
        unsigned char c = (unsigned char)*text;
        if (c < 0x20 || c == '<' || c == 0x7f) /* "</script>" would end the data */
            fprintf(out, "\\u%04x", c);
        else if (c == '"' || c == '\\')
            fprintf(out, "\\%c", c);
        else
            fputc(c, out);
    }
    fputc('"', out);
}

/* Six digits are more than what is measured. */
static void put_number(FILE *out, double number)
{
    fprintf(out, "%.6g", isfinite(number) ? number : 0);
}

static void put_named(FILE *out, const char *name, double number)
{
    fprintf(out, "\"%s\":", name);
    put_number(out, number);
    fputc(',', out);
}

static void put_sum(FILE *out, const sum_t *sum)
{
    put_named(out, "calls", (double)sum->calls);
    put_named(out, "bytes", (double)sum->bytes);
    put_named(out, "time", sum->time);
    fputs("\"wait\":", out);
    put_number(out, sum->waited);
}

static void put_times(FILE *out, const double *times, unsigned count)
{
    fputs(",\"ranks\":[", out);
    for (unsigned i = 0; i < count; i++) {
        if (i > 0)
            fputc(',', out);
        fprintf(out, "%.4g", times[i]);
    }
    fputc(']', out);
}

/* -- parts ------------------------------------------------------------------------------------ */

static void put_head(FILE *out, const summary_t *summary)
{
    const records_t *records = summary->records;
    static const opal_profile_head_t none;
    const opal_profile_head_t *head = &none; /* records have one at least */
    for (unsigned i = records->size; i-- > 0;)
        head = records->ranks[i].head != NULL ? records->ranks[i].head : head;
    fputs("\"program\":", out);
    put_string(out, head->program);
    fputs(",\"host\":", out);
    put_string(out, head->host);
    fprintf(out, ",\"size\":%u,\"present\":%u,\"unfinished\":%u,\"nodes\":%u,\"awaited\":%d,",
            records->size, records->present, records->unfinished, records->nodes, summary->awaited);
    fprintf(out, "\"begun\":%.3f,",
            ((double)head->first.nsec + (double)head->realtime_nsec) * 1e-9);
    put_named(out, "wall", records->wall);
    put_named(out, "total", summary->wall);
    put_named(out, "mpi", summary->mpi.time);
    put_named(out, "wait", summary->mpi.waited);
    put_named(out, "imbalance", summary_imbalance(summary));
    fputs("\"findings\":[", out);
    for (size_t i = 0; i < summary->findings.count; i++) {
        fputs(i > 0 ? "," : "", out);
        put_string(out, summary->findings.items[i]);
    }
    fputs("],\n", out);
}

/* [wall, computing, moving, waiting, messages, bytes, node, finished] */
static void put_ranks(FILE *out, const summary_t *summary)
{
    fputs("\"rank\":[", out);
    for (unsigned i = 0; i < summary->records->size; i++) {
        const rank_sum_t *rank = &summary->ranks[i];
        const opal_profile_head_t *head = summary->records->ranks[i].head;
        fputs(i > 0 ? ",\n" : "", out);
        if (head == NULL) {
            fputs("null", out);
            continue;
        }
        fprintf(out, "[%.6g,%.6g,%.6g,%.6g,%llu,%llu,%u,%d]", rank->wall, rank->computing,
                rank->mpi.time - rank->mpi.waited, rank->mpi.waited,
                (unsigned long long)rank->sent.messages, (unsigned long long)rank->sent.bytes,
                head->node, head->phase == OPAL_PROFILE_ENDED);
    }
    fputs("],\n", out);
}

static void put_functions(FILE *out, const summary_t *summary)
{
    fputs("\"functions\":[", out);
    for (size_t i = 0; i < summary->function_count && i < MOST_FUNCTIONS; i++) {
        const function_sum_t *function = &summary->functions[i];
        fputs(i > 0 ? ",\n{\"name\":" : "{\"name\":", out);
        put_string(out, function->name);
        fputc(',', out);
        put_sum(out, &function->sum);
        put_times(out, function->rank_time, summary->records->size);
        fputc('}', out);
    }
    fputs("],\n", out);
}

static void put_sites(FILE *out, const summary_t *summary)
{
    fputs("\"sites\":[", out);
    for (size_t i = 0; i < summary->site_count && i < MOST_SITES; i++) {
        const site_sum_t *site = &summary->sites[i];
        fputs(i > 0 ? ",\n{\"function\":" : "{\"function\":", out);
        put_string(out, site->place->function);
        fputs(",\"place\":", out);
        put_string(out, site->text);
        fputc(',', out);
        put_named(out, "longest", site->longest);
        put_named(out, "count", site->ranks);
        put_sum(out, &site->sum);
        fputc('}', out);
    }
    fputs("],\n", out);
}

static void put_collectives(FILE *out, const summary_t *summary)
{
    fputs("\"collectives\":[", out);
    for (size_t i = 0; i < summary->collective_count; i++) {
        const collective_sum_t *collective = &summary->collectives[i];
        fputs(i > 0 ? ",\n{\"function\":" : "{\"function\":", out);
        put_string(out, collective->entry->function);
        fputs(",\"component\":", out);
        put_string(out, collective->entry->component);
        fputs(",\"algorithm\":", out);
        put_string(out, collective->entry->algorithm);
        fputc(',', out);
        put_sum(out, &collective->sum);
        fputc('}', out);
    }
    fputs("],\n\"classes\":[", out);
    for (unsigned i = 0; i < OPAL_PROFILE_CLASSES; i++)
        fprintf(out, "%s[%llu,%llu]", i > 0 ? "," : "",
                (unsigned long long)summary->classes[i].messages,
                (unsigned long long)summary->classes[i].bytes);
    fputs("],\n", out);
}

/* Of each sender a list: receiver, messages, bytes, and those of the library, flat. The receiver
 * `size` is all of other jobs. */
static void put_row(FILE *out, const record_t *record, unsigned size)
{
    bool is_first = true;
    fputc('[', out);
    for (unsigned to = 0; record->head != NULL && to <= size; to++) {
        opal_profile_peer_t sum = {0};
        for (unsigned i = 0; i < record->head->blocks; i++) {
            const opal_profile_peer_t *peer = &record_block(record, i)->peers[to];
            sum.own.messages += peer->own.messages;
            sum.own.bytes += peer->own.bytes;
            sum.library.messages += peer->library.messages;
            sum.library.bytes += peer->library.bytes;
        }
        if (sum.own.messages + sum.library.messages == 0)
            continue;
        fprintf(out, "%s%u,%llu,%llu,%llu,%llu", is_first ? "" : ",", to,
                (unsigned long long)sum.own.messages, (unsigned long long)sum.own.bytes,
                (unsigned long long)sum.library.messages, (unsigned long long)sum.library.bytes);
        is_first = false;
    }
    fputc(']', out);
}

static void put_matrix(FILE *out, const records_t *records)
{
    fputs("\"matrix\":[", out);
    for (unsigned i = 0; i < records->size; i++) {
        fputs(i > 0 ? ",\n" : "", out);
        put_row(out, &records->ranks[i], records->size);
    }
    fputs("],\n", out);
}

/* -- the time line ---------------------------------------------------------------------------- */

static char level(uint64_t part, uint64_t whole)
{
    uint64_t at = whole > 0 ? (part * (LEVELS - 1) + whole / 2) / whole : 0;
    if (at == 0 && part > 0)
        at = 1; /* something was there */
    return digits[at < LEVELS ? at : LEVELS - 1];
}

static char site_digit(const summary_t *summary, const opal_profile_block_t *block, uint64_t slot)
{
    int site = summary_site_of(summary, block, slot);
    return digits[site >= 0 && site < MOST_SITES ? site : LEVELS - 1];
}

/* Three strings with a digit for each bin: in MPI, waiting, the site. */
static void put_bins(FILE *out, const summary_t *summary, const opal_profile_block_t *block)
{
    unsigned count = OPAL_PROFILE_BINS;
    while (count > 0 && block->bins[count - 1].in_mpi == 0)
        count--;
    fputs("\"mpi\":\"", out);
    for (unsigned i = 0; i < count; i++)
        fputc(level(block->bins[i].in_mpi, block->bin_ticks), out);
    fputs("\",\"waits\":\"", out);
    for (unsigned i = 0; i < count; i++)
        fputc(level(block->bins[i].waited, block->bin_ticks), out);
    fputs("\",\"site\":\"", out);
    for (unsigned i = 0; i < count; i++)
        fputc(block->bins[i].in_mpi > 0 ? site_digit(summary, block, block->bins[i].site)
                                        : digits[LEVELS - 1],
              out);
    fputs("\",", out);
}

/* So long that no more calls than the list may have are as long. */
static uint64_t shortest_listed(const opal_profile_block_t *block, uint64_t most)
{
    uint64_t shortest = block->shortest_interval, count = block->interval_count;
    while (count > most) {
        shortest *= 2;
        count = 0;
        for (uint64_t i = 0; i < block->interval_count; i++)
            count += block->intervals[i].end - block->intervals[i].begin >= shortest;
    }
    return shortest;
}

/* Flat: begin and duration in units of 100 ns, waiting of it in percent, site. */
static void put_intervals(FILE *out, const summary_t *summary, const record_t *record,
                          const opal_profile_block_t *block)
{
    uint64_t most = ALL_INTERVALS / summary->records->size;
    uint64_t shortest = shortest_listed(block, most > LEAST_INTERVALS ? most : LEAST_INTERVALS);
    bool is_first = true;
    fputs("\"calls\":[", out);
    for (uint64_t i = 0; i < block->interval_count && i < OPAL_PROFILE_INTERVALS; i++) {
        const opal_profile_interval_t *each = &block->intervals[i];
        uint64_t ticks = each->end - each->begin;
        int site = summary_site_of(summary, block, each->site);
        if (ticks < shortest)
            continue;
        fprintf(out, "%s%.0f,%.0f,%.0f,%d", is_first ? "" : ",",
                record_moment(record, each->begin) * 1e7, record_seconds(record, ticks) * 1e7,
                100 * (double)each->waited / (double)(ticks > 0 ? ticks : 1),
                site < MOST_SITES ? site : -1);
        is_first = false;
    }
    fputc(']', out);
}

/* A line for each thread of each rank. */
static void put_timeline(FILE *out, const summary_t *summary)
{
    bool is_first = true;
    fputs("\"timeline\":[", out);
    for (unsigned rank = 0; rank < summary->records->size; rank++) {
        const record_t *record = &summary->records->ranks[rank];
        for (unsigned i = 0; record->head != NULL && i < record->head->blocks; i++) {
            const opal_profile_block_t *block = record_block(record, i);
            fprintf(out, "%s{\"rank\":%u,\"thread\":%u,", is_first ? "" : ",\n", rank, i);
            put_named(out, "from", record_moment(record, block->bins_begin));
            put_named(out, "width", record_seconds(record, block->bin_ticks));
            put_named(out, "begin", record->begin);
            put_named(out, "end", record->end);
            put_bins(out, summary, block);
            put_intervals(out, summary, record, block);
            fputc('}', out);
            is_first = false;
        }
    }
    fputs("]", out);
}

/* -- the page --------------------------------------------------------------------------------- */

static void put_data(FILE *out, const summary_t *summary)
{
    fputc('{', out);
    put_head(out, summary);
    put_ranks(out, summary);
    put_functions(out, summary);
    put_sites(out, summary);
    put_collectives(out, summary);
    put_matrix(out, summary->records);
    put_timeline(out, summary);
    fputs("}\n", out);
}

static void put_lines(FILE *out, const char *const *lines)
{
    for (; *lines != NULL; lines++)
        fputs(*lines, out);
}

void report_html(FILE *out, const summary_t *summary)
{
    for (const char *const *line = page_html; *line != NULL; line++) {
        if (strcmp(*line, "@STYLE@\n") == 0)
            put_lines(out, page_css);
        else if (strcmp(*line, "@DATA@\n") == 0)
            put_data(out, summary);
        else if (strcmp(*line, "@SCRIPT@\n") == 0)
            put_lines(out, page_js);
        else
            fputs(*line, out);
    }
}
