/* SPDX-License-Identifier: BSD-3-Clause */
/* See standstill.h. */
#include "opal/roll/standstill.h"

#include <stdio.h>

#include "opal/include/clock.h"

/* Looks in the time after which a report is printed; at most so often. A look takes some us a
 * process of this machine. */
enum { LOOKS = 4 };
static const double shortest_pause = 0.25, longest_pause = 15;

/* Ranks that wait asleep use no CPU; one that does has threads that compute. */
static const double idle_share = 0.2;

void opal_standstill_begin(opal_standstill_t *standstill, double seconds)
{
    *standstill = (opal_standstill_t){.seconds = seconds, .pause = seconds / LOOKS};
    if (standstill->pause < shortest_pause)
        standstill->pause = shortest_pause;
    if (standstill->pause > longest_pause)
        standstill->pause = longest_pause;
}

/* CPU time of the ranks that are asleep in a wait. */
static double cpu_of_sleepers(const opal_story_t *story)
{
    double seconds = 0;
    for (size_t i = 0; i < story->count; i++) {
        const opal_story_rank_t *rank = &story->ranks[i];
        bool loops = false;
        for (size_t k = 0; k < rank->wait_count; k++)
            loops = loops || rank->waits[k].is_loop;
        seconds += loops ? 0 : rank->cpu_seconds;
    }
    return seconds;
}

bool opal_standstill_is_reported(const opal_standstill_t *standstill, const opal_story_t *story)
{
    return standstill->reported_at != 0 &&
           opal_story_quiet_seconds(story) >
               (double)(opal_clock_nsec() - standstill->reported_at) / 1e9;
}

bool opal_standstill_look(opal_standstill_t *standstill, const opal_story_t *story,
                          char title[OPAL_STANDSTILL_TITLE_BYTES])
{
    double cpu = cpu_of_sleepers(story);
    bool is_idle = cpu - standstill->cpu_seconds <= idle_share * standstill->pause;
    bool was_suspected = standstill->suspected_at != 0;
    standstill->cpu_seconds = cpu;
    if (!is_idle || opal_standstill_is_reported(standstill, story) ||
        !opal_story_is_hung(story, standstill->seconds))
        standstill->suspected_at = 0;
    else if (!was_suspected)
        standstill->suspected_at = story->now_nsec;
    if (!was_suspected || standstill->suspected_at == 0 ||
        !opal_story_loops_since(story, standstill->suspected_at))
        return false;
    snprintf(title, OPAL_STANDSTILL_TITLE_BYTES,
             "nothing has moved for %.3g s: every rank waits in MPI",
             opal_story_quiet_seconds(story));
    standstill->reported_at = opal_clock_nsec();
    return true;
}

void opal_standstill_moves(opal_standstill_t *standstill)
{
    standstill->suspected_at = 0;
}
