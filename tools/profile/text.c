/* SPDX-License-Identifier: BSD-3-Clause */
/* The report on a terminal: it fits 96 columns and one screen, whatever the number of ranks. */
#include <stdlib.h>
#include <string.h>

#include "tools/profile/report.h"

enum {
    MOST_RANKS = 8, /* that are listed; of more, the least and the most busy ones */
    MOST_FUNCTIONS = 6,
    MOST_SITES = 10,
    BAR = 24,
    PLACE_COLUMNS = 40,
    COLUMNS = 90, /* of a sentence */
};

static double percent(double part, double whole)
{
    return whole > 0 ? 100 * part / whole : 0;
}

/* Broken between words. */
static void write_sentence(FILE *out, const char *text)
{
    const char *indent = "  ";
    while (strlen(text) > COLUMNS) {
        int length = COLUMNS;
        while (length > 0 && text[length] != ' ')
            length--;
        if (length == 0)
            break;
        fprintf(out, "%s%.*s\n", indent, length, text);
        text += length + 1;
        indent = "    ";
    }
    fprintf(out, "%s%s\n", indent, text);
}

static void write_findings(FILE *out, const summary_t *summary)
{
    fprintf(out, "Where the time went\n");
    for (size_t i = 0; i < summary->findings.count; i++)
        write_sentence(out, summary->findings.items[i]);
}

/* "######====....": computing, moving, waiting. */
static void write_bar(FILE *out, const rank_sum_t *rank, double longest)
{
    double moving = rank->mpi.time - rank->mpi.waited;
    double parts[] = {rank->computing, moving, rank->mpi.waited}, sum = 0;
    int column = 0;
    for (unsigned i = 0; i < 3; i++) {
        sum += parts[i];
        int end = longest > 0 ? (int)(sum / longest * BAR + 0.5) : 0;
        for (; column < end && column < BAR; column++)
            fputc("#=."[i], out);
    }
    fprintf(out, "%*s", BAR - column, "");
}

static void write_rank(FILE *out, const summary_t *summary, unsigned i, double longest)
{
    const rank_sum_t *rank = &summary->ranks[i];
    char wall[SUMMARY_TEXT_BYTES], bytes[SUMMARY_TEXT_BYTES], messages[SUMMARY_TEXT_BYTES];
    if (rank->threads == 0) {
        fprintf(out, "  %5u  (no record)\n", i);
        return;
    }
    fprintf(out, "  %5u  ", i);
    write_bar(out, rank, longest);
    fprintf(out, "  %8s %5.1f%% %5.1f%% %5.1f%%  %8s %8s%s\n", summary_seconds(rank->wall, wall),
            percent(rank->computing, rank->wall),
            percent(rank->mpi.time - rank->mpi.waited, rank->wall),
            percent(rank->mpi.waited, rank->wall),
            summary_count((double)rank->sent.messages, messages),
            summary_bytes((double)rank->sent.bytes, bytes),
            summary->records->ranks[i].head->phase == OPAL_PROFILE_ENDED ? "" : " *");
}

/* Of many ranks those that compute longest and shortest, in their order. */
static bool is_listed(const summary_t *summary, unsigned rank)
{
    unsigned more = 0, less = 0, size = summary->records->size;
    double own = summary->ranks[rank].computing;
    if (size <= MOST_RANKS)
        return true;
    for (unsigned i = 0; i < size; i++) {
        double other = summary->ranks[i].computing;
        more += other > own || (other == own && i < rank);
        less += other < own || (other == own && i < rank);
    }
    return more < MOST_RANKS / 2 || less < MOST_RANKS / 2;
}

static void write_ranks(FILE *out, const summary_t *summary)
{
    double longest = 0;
    for (unsigned i = 0; i < summary->records->size; i++)
        longest = summary->ranks[i].wall > longest ? summary->ranks[i].wall : longest;
    fprintf(out, "\n   rank  %-*s  %8s %6s %6s %6s  %8s %8s\n", BAR, "# compute  = move  . wait",
            "time", "comp", "move", "wait", "messages", "sent");
    for (unsigned i = 0; i < summary->records->size; i++) {
        if (is_listed(summary, i))
            write_rank(out, summary, i, longest);
    }
    if (summary->records->size > MOST_RANKS)
        fprintf(out, "  (of %u ranks those that compute longest and shortest)\n",
                summary->records->size);
    if (summary->records->unfinished > 0)
        fprintf(out, "  * without MPI_Finalize\n");
    fprintf(out, "  imbalance: the busiest rank computes %.1f %% longer than the mean\n",
            100 * summary_imbalance(summary));
}

static void write_functions(FILE *out, const summary_t *summary)
{
    fprintf(out, "\n  %-28s %9s %9s %8s %6s %6s\n", "call", "calls", "time", "mean", "in MPI",
            "wait");
    for (size_t i = 0; i < summary->function_count && i < MOST_FUNCTIONS; i++) {
        const function_sum_t *function = &summary->functions[i];
        const sum_t *sum = &function->sum;
        char calls[SUMMARY_TEXT_BYTES], time[SUMMARY_TEXT_BYTES], mean[SUMMARY_TEXT_BYTES];
        fprintf(out, "  %-28s %9s %9s %8s %5.1f%% %5.1f%%\n", function->name,
                summary_count((double)sum->calls, calls), summary_seconds(sum->time, time),
                summary_seconds(sum->time / (double)sum->calls, mean),
                percent(sum->time, summary->mpi.time), percent(sum->waited, sum->time));
    }
}

static void write_sites(FILE *out, const summary_t *summary)
{
    fprintf(out, "\n     %-*s %9s %9s %6s %6s %9s\n", PLACE_COLUMNS, "the heaviest places", "calls",
            "time", "in MPI", "wait", "data");
    for (size_t i = 0; i < summary->site_count && i < MOST_SITES; i++) {
        const site_sum_t *site = &summary->sites[i];
        char calls[SUMMARY_TEXT_BYTES], time[SUMMARY_TEXT_BYTES], bytes[SUMMARY_TEXT_BYTES];
        char *text = opal_xprintf("%s %s", site->place->function, site->text);
        if (strlen(text) > PLACE_COLUMNS)
            strcpy(text + PLACE_COLUMNS - 3, "...");
        fprintf(out, "  %2zu %-*s %9s %9s %5.1f%% %5.1f%% %9s\n", i + 1, PLACE_COLUMNS, text,
                summary_count((double)site->sum.calls, calls),
                summary_seconds(site->sum.time, time), percent(site->sum.time, summary->mpi.time),
                percent(site->sum.waited, site->sum.time),
                summary_bytes((double)site->sum.bytes, bytes));
        free(text);
    }
}

void report_text(FILE *out, const summary_t *summary)
{
    write_findings(out, summary);
    write_ranks(out, summary);
    write_functions(out, summary);
    write_sites(out, summary);
}
