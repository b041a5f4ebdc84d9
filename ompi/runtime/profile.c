/* SPDX-License-Identifier: BSD-3-Clause */
/* See profile.h. */
#include "ompi/runtime/profile.h"

#include <stdbool.h>
#include <stdlib.h>

#include "opal/mca/base/pvar.h"
#include "opal/process/job.h"
#include "opal/profile/profile.h"
#include "opal/progress/wait.h"
#include "opal/util/log.h"
#include "opal/util/text.h"
#include "ompi/runtime/params.h"
#include "ompi/tool/event_point.h"

static bool was_started;

/* Messages are recorded where they are counted on demand. */
static void record_messages(bool is_profiled)
{
    static const char *const names[] = {"pml_ob1_sent_sm", "pml_cm_sent"};
    for (size_t i = 0; i < OPAL_COUNT_OF(names); i++) {
        size_t index;
        if (opal_pvar_find(names[i], OPAL_PVAR_COUNTER, &index))
            opal_pvar_set_profiled(index, is_profiled);
    }
}

/* The folder of the records: that of the profile, or one beside the trace. */
static char *folder_of(const char *profile, const char *trace)
{
    return profile != NULL ? opal_xstrdup(profile) : opal_xprintf("%s.parts", trace);
}

void ompi_profile_start(void)
{
    const char *profile = ompi_params_profile(), *trace = ompi_params_trace();
    const opal_pmi_job_t *job = opal_job();
    if ((profile == NULL && trace == NULL) || was_started)
        return;
    was_started = true;
    if (job->parent_port != NULL) {
        if (job->rank == 0)
            opal_log_note("this job was spawned: it is not part of the profile");
        return;
    }
    char *folder = folder_of(profile, trace);
    opal_profile_setup_t setup = {
        .folder = folder,
        .rank = job->rank,
        .size = job->size,
        .node = job->node_of[job->rank],
        .job = job->job_id,
        .traces = trace != NULL,
        .trace_bytes = ompi_params_trace_bytes(),
    };
    if (opal_profile_start(&setup)) {
        opal_wait_set_profiled(true);
        record_messages(true);
        ompi_event_set_traced(opal_profile_traces);
    }
    free(folder);
}

void ompi_profile_stop(void)
{
    if (!opal_profile_is_on)
        return;
    opal_wait_set_profiled(false);
    record_messages(false);
    ompi_event_set_traced(false);
    opal_profile_stop();
}
