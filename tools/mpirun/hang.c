/* SPDX-License-Identifier: BSD-3-Clause */
/* See hang.h. */
#include "tools/mpirun/hang.h"

#include <unistd.h>

#include "opal/roll/report.h"

/* Of a rank that is not in MPI, as the launcher knows it. */
static opal_story_state_t state_of(unsigned rank, int *pid, const void *context)
{
    const job_t *job = context;
    *pid = (int)job->ranks[rank].pid;
    if (pmi_server_state(job->pmi, rank) == PMI_FINALIZED)
        return OPAL_STORY_FINALIZED;
    return job->ranks[rank].running ? OPAL_STORY_STARTING : OPAL_STORY_ENDED;
}

/* What the ranks of all jobs do. */
static void compose(const supervisor_t *self, opal_story_t *story)
{
    opal_census_t census;
    opal_census_take((int)getpid(), &census);
    opal_report_begin(story, &census);
    size_t known = story->count;
    for (const job_t *job = self->jobs; job != NULL; job = job->next)
        opal_report_add_absent(story, known, job->id, job->size, state_of, job);
    opal_report_finish(story);
    opal_census_free(&census);
}

static void look(loop_timer_t *timer)
{
    supervisor_t *self = opal_container_of(timer, supervisor_t, hang.timer);
    char title[OPAL_STANDSTILL_TITLE_BYTES];
    opal_story_t story;
    if (self->phase != PHASE_RUNNING || self->running == 0)
        return;
    compose(self, &story);
    if (opal_standstill_look(&self->hang.standstill, &story, title))
        opal_report_print(&story, title);
    opal_story_free(&story);
    loop_start(&self->loop, timer, self->hang.standstill.pause);
}

void hang_watch(supervisor_t *self)
{
    hang_t *hang = &self->hang;
    if (self->jobs->options.report_hang <= 0)
        return;
    opal_standstill_begin(&hang->standstill, self->jobs->options.report_hang);
    hang->timer.fire = look;
    loop_start(&self->loop, &hang->timer, hang->standstill.pause);
}

void hang_unwatch(supervisor_t *self)
{
    loop_stop(&self->hang.timer);
}

void hang_print(const supervisor_t *self)
{
    opal_story_t story;
    compose(self, &story);
    if (!opal_standstill_is_reported(&self->hang.standstill, &story))
        opal_report_print(&story, "what the ranks do:");
    opal_story_free(&story);
}
