/* SPDX-License-Identifier: BSD-3-Clause */
/* See findings.h. A finding has a threshold, below which it would be noise. */
#include "tools/profile/findings.h"

#include <stdlib.h>

static const double NOTABLE = 0.05;    /* a part of the time of a rank */
static const double DOMINATING = 0.25; /* a part of the time in MPI */
static const double MOSTLY = 0.8;      /* a part of the messages */
static const double MUCH_MOVING = 0.2; /* a part of the time */
enum { SHORT_BYTES_CLASS = 8 };        /* messages below 128 bytes */

static void say(summary_t *summary, char *sentence)
{
    opal_strings_add(&summary->findings, sentence);
    free(sentence);
}

static double percent(double part, double whole)
{
    return whole > 0 ? 100 * part / whole : 0;
}

static void say_where_time_went(summary_t *summary)
{
    char wall[SUMMARY_TEXT_BYTES];
    unsigned ranks = summary->records->present;
    say(summary, opal_xprintf("Of %s on %u rank%s, %.0f %% went into MPI; of that %.0f %% was "
                              "waiting.",
                              summary_seconds(summary->records->wall, wall), ranks,
                              ranks == 1 ? "" : "s", percent(summary->mpi.time, summary->wall),
                              percent(summary->mpi.waited, summary->mpi.time)));
}

/* The one that waits least, while the others wait, and computes longer than they do. */
static int find_awaited(const summary_t *summary, double *more)
{
    unsigned ranks = summary->records->present;
    int least = -1;
    for (unsigned i = 0; i < summary->records->size; i++) {
        if (summary->ranks[i].threads > 0 &&
            (least < 0 || summary->ranks[i].mpi.waited < summary->ranks[least].mpi.waited))
            least = (int)i;
    }
    if (least < 0 || ranks < 2)
        return -1;
    const rank_sum_t *rank = &summary->ranks[least];
    double others = ranks - 1;
    double waited = (summary->mpi.waited - rank->mpi.waited) / others;
    *more = rank->computing - (summary->computing - rank->computing) / others;
    double notable = NOTABLE * summary->wall / ranks;
    return waited - rank->mpi.waited > notable && *more > notable ? least : -1;
}

static void say_awaited(summary_t *summary)
{
    double more = 0;
    char text[SUMMARY_TEXT_BYTES];
    summary->awaited = find_awaited(summary, &more);
    if (summary->awaited >= 0)
        say(summary, opal_xprintf("The others wait for rank %d: it computes %s longer than they do "
                                  "on average.",
                                  summary->awaited, summary_seconds(more, text)));
    else if (summary->records->present > 1 && summary_imbalance(summary) > 2 * NOTABLE &&
             summary->computing > NOTABLE * summary->wall)
        say(summary, opal_xprintf("The load is uneven: the busiest rank computes %.0f %% longer "
                                  "than the mean.",
                                  100 * summary_imbalance(summary)));
}

static void say_heaviest(summary_t *summary)
{
    if (summary->site_count == 0 || summary->mpi.time < NOTABLE * summary->wall)
        return;
    const site_sum_t *site = &summary->sites[0];
    if (site->sum.time >= DOMINATING * summary->mpi.time)
        say(summary,
            opal_xprintf("%s in %s takes %.0f %% of the time in MPI; %.0f %% of that is waiting.",
                         site->place->function, site->text,
                         percent(site->sum.time, summary->mpi.time),
                         percent(site->sum.waited, site->sum.time)));
}

static void say_short_messages(summary_t *summary)
{
    uint64_t all = 0, few = 0;
    for (unsigned i = 0; i < OPAL_PROFILE_CLASSES; i++) {
        all += summary->classes[i].messages;
        few += i < SHORT_BYTES_CLASS ? summary->classes[i].messages : 0;
    }
    double moving = summary->mpi.time - summary->mpi.waited;
    if (all > 0 && (double)few > MOSTLY * (double)all && moving > MUCH_MOVING * summary->wall)
        say(summary,
            opal_xprintf("%.0f %% of the messages have fewer than 128 bytes, and moving "
                         "takes %.0f %% of the time: fewer, longer messages would help.",
                         percent((double)few, (double)all), percent(moving, summary->wall)));
}

/* What the reader should know of the numbers themselves. */
static void say_gaps(summary_t *summary)
{
    const records_t *records = summary->records;
    unsigned lost = 0, full = 0;
    for (unsigned i = 0; i < records->size; i++) {
        const record_t *record = &records->ranks[i];
        if (record->head == NULL)
            continue;
        lost += record->head->lost_threads != 0;
        for (unsigned k = 0; k < record->head->blocks; k++)
            full += record_block(record, k)->sites_full_calls != 0;
    }
    if (records->present < records->size)
        say(summary, opal_xprintf("%u of %u ranks have left no record.",
                                  records->size - records->present, records->size));
    if (records->unfinished > 0)
        say(summary, opal_xprintf("%u of %u ranks ended without MPI_Finalize; what they did until "
                                  "their last call is here.",
                                  records->unfinished, records->present));
    if (lost > 0)
        say(summary, opal_xprintf("On %u rank%s more than %d threads called MPI; the calls of the "
                                  "later ones are missing.",
                                  lost, lost == 1 ? "" : "s", OPAL_PROFILE_THREADS));
    if (full > 0)
        say(summary, opal_xprintf("The program calls MPI from more places than there is room for; "
                                  "some places stand for others, too."));
}

void findings_make(summary_t *summary)
{
    say_where_time_went(summary);
    say_awaited(summary);
    say_heaviest(summary);
    say_short_messages(summary);
    say_gaps(summary);
}
