/* SPDX-License-Identifier: BSD-3-Clause */
/* See hang.h. */
#include "tools/mpirun/hang.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "opal/include/clock.h"
#include "opal/roll/report.h"
#include "opal/util/log.h"

/* Looks in the time after which a report is printed; at most so often. A look takes some us a
 * process of this machine. */
enum { LOOKS = 4 };
static const double shortest_pause = 0.25, longest_pause = 15;

/* Ranks that wait asleep use no CPU; one that does has threads that compute. */
static const double idle_share = 0.2;

/* Of a rank that is not in MPI, as the launcher knows it. */
static opal_story_state_t state_of(const job_t *job, unsigned rank)
{
    if (pmi_server_state(job->pmi, rank) == PMI_FINALIZED)
        return OPAL_STORY_FINALIZED;
    return job->ranks[rank].running ? OPAL_STORY_STARTING : OPAL_STORY_ENDED;
}

/* Whether `at` is of the job, and not behind its rank `rank`. */
static bool is_up_to(const opal_story_rank_t *at, const job_t *job, unsigned rank)
{
    return strcmp(at->job_id, job->id) == 0 && at->rank <= rank;
}

/* Those that a census knows are in order, and the ranks of a job one behind the other. */
static void add_absent(const job_t *job, opal_story_t *story, size_t known)
{
    size_t next = 0;
    while (next < known && strcmp(story->ranks[next].job_id, job->id) != 0)
        next++;
    for (unsigned i = 0; i < job->size; i++) {
        bool is_known = false;
        for (; next < known && is_up_to(&story->ranks[next], job, i); next++)
            is_known = true;
        if (!is_known)
            opal_story_add_absent(story, job->id, i, state_of(job, i), (int)job->ranks[i].pid);
    }
}

/* What the ranks of all jobs do. */
static void compose(const supervisor_t *self, opal_story_t *story)
{
    opal_census_t census;
    opal_census_take((int)getpid(), &census);
    opal_report_begin(story, &census);
    size_t known = story->count;
    for (const job_t *job = self->jobs; job != NULL; job = job->next)
        add_absent(job, story, known);
    opal_report_finish(story);
    opal_census_free(&census);
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

static void print(const opal_story_t *story, const char *title)
{
    char *page = opal_report_text(story);
    size_t length = strlen(page);
    if (length > 0 && page[length - 1] == '\n')
        page[length - 1] = 0;
    opal_log_warning("%s\n%s", title, page);
    free(page);
}

static void report(supervisor_t *self, const opal_story_t *story, double quiet)
{
    char *title = opal_xprintf("nothing has moved for %.3g s: every rank waits in MPI", quiet);
    print(story, title);
    free(title);
    self->hang.reported_at = opal_clock_nsec();
}

/* The same standstill is reported once. */
static bool is_reported(const hang_t *hang, double quiet)
{
    return hang->reported_at != 0 && quiet > (double)(opal_clock_nsec() - hang->reported_at) / 1e9;
}

static void look(loop_timer_t *timer)
{
    supervisor_t *self = opal_container_of(timer, supervisor_t, hang.timer);
    opal_story_t story;
    hang_t *hang = &self->hang;
    if (self->phase != PHASE_RUNNING || self->running == 0)
        return;
    compose(self, &story);
    double quiet = opal_story_quiet_seconds(&story), cpu = cpu_of_sleepers(&story);
    bool is_idle = cpu - hang->cpu_seconds <= idle_share * hang->pause;
    bool was_suspected = hang->suspected_at != 0;
    if (!is_idle || is_reported(hang, quiet) || !opal_story_is_hung(&story, hang->seconds))
        hang->suspected_at = 0;
    else if (hang->suspected_at == 0)
        hang->suspected_at = story.now_nsec;
    /* What ends a wait may be here, and the rank about to wake; and a loop may have ended, unless
     * it still goes round. So one look proves nothing. */
    if (was_suspected && hang->suspected_at != 0 &&
        opal_story_loops_since(&story, hang->suspected_at))
        report(self, &story, quiet);
    hang->cpu_seconds = cpu;
    opal_story_free(&story);
    loop_start(&self->loop, timer, hang->pause);
}

void hang_watch(supervisor_t *self)
{
    hang_t *hang = &self->hang;
    hang->seconds = self->jobs->options.report_hang;
    if (hang->seconds <= 0)
        return;
    hang->pause = hang->seconds / LOOKS;
    if (hang->pause < shortest_pause)
        hang->pause = shortest_pause;
    if (hang->pause > longest_pause)
        hang->pause = longest_pause;
    hang->timer.fire = look;
    loop_start(&self->loop, &hang->timer, hang->pause);
}

void hang_unwatch(supervisor_t *self)
{
    loop_stop(&self->hang.timer);
}

void hang_print(const supervisor_t *self)
{
    opal_story_t story;
    compose(self, &story);
    if (!is_reported(&self->hang, opal_story_quiet_seconds(&story)))
        print(&story, "what the ranks do:");
    opal_story_free(&story);
}
