/* SPDX-License-Identifier: BSD-3-Clause */
/* Why a component was chosen here and the others were not. */
#include <stdio.h>
#include <string.h>

#include "tools/ompi_info/report.h"

static void why_parsable(const opal_framework_t *framework)
{
    for (size_t i = 0; i < framework->candidate_count; i++) {
        const opal_candidate_t *candidate = &framework->candidates[i];
        report_fact(opal_candidate_state_name(candidate->state), "mca:%s:%s:why:state",
                    framework->name, candidate->name);
        report_fact(candidate->answer.reason, "mca:%s:%s:why:reason", framework->name,
                    candidate->name);
        if (candidate->answer.usable)
            printf("mca:%s:%s:why:priority:%d\n", framework->name, candidate->name,
                   candidate->answer.priority);
        for (size_t j = 0; j < candidate->answer.notes.count; j++)
            report_fact(candidate->answer.notes.items[j], "mca:%s:%s:why:note", framework->name,
                        candidate->name);
    }
}

static void why_for_person(const opal_framework_t *framework)
{
    const char *origin = NULL;
    const char *selection = opal_param_setting(framework->name, &origin);

    printf("%s: %s\n", framework->name, framework->prose);
    if (framework->static_only != NULL)
        printf("  always static: %s\n", framework->static_only);
    if (selection != NULL)
        printf("  selection: %s = %s (%s)\n", framework->name, selection, origin);
    else
        printf("  selection: every component may be used (OMPI_MCA_%s is not set)\n",
               framework->name);
    if (framework->candidate_count == 0)
        printf("  no component was built\n");
    for (size_t i = 0; i < framework->candidate_count; i++) {
        const opal_candidate_t *candidate = &framework->candidates[i];
        char priority[32] = "";
        if (candidate->answer.usable)
            snprintf(priority, sizeof priority, "priority %d", candidate->answer.priority);
        printf("  %-9s %-14s %-13s %s\n", opal_candidate_state_name(candidate->state),
               candidate->name, priority, candidate->answer.reason);
        for (size_t j = 0; j < candidate->answer.notes.count; j++)
            printf("    %s\n", candidate->answer.notes.items[j]);
    }
}

void report_why(const opal_framework_t *framework, bool parsable)
{
    if (parsable)
        why_parsable(framework);
    else
        why_for_person(framework);
}
