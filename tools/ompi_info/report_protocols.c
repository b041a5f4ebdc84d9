/* SPDX-License-Identifier: BSD-3-Clause */
/* Which way a message goes with these settings, as each component says it of itself. */
#include <stdio.h>
#include <string.h>

#include "tools/ompi_info/report.h"

/* What one component says. */
typedef struct speaker {
    const opal_framework_t *framework;
    const opal_component_t *component;
    const char *where; /* that was said last */
    bool parsable;
} speaker_t;

static void say_rule(void *context, const char *where, size_t bytes, const char *way)
{
    speaker_t *speaker = context;
    if (speaker->parsable) {
        report_fact(way, "mca:%s:%s:rule:%s:%zu", speaker->framework->name,
                    speaker->component->name, where, bytes);
        return;
    }
    if (speaker->where == NULL)
        printf("%s/%s: %s\n", speaker->framework->name, speaker->component->name,
               speaker->component->prose);
    if (speaker->where == NULL || strcmp(where, speaker->where) != 0)
        printf("  %s\n", where);
    speaker->where = where;
    printf("    from %7zu bytes  %s\n", bytes, way);
}

void report_protocols(bool parsable)
{
    const opal_framework_t *framework;
    for (size_t i = 0; (framework = opal_framework_at(i, NULL)) != NULL; i++) {
        for (size_t k = 0; k < framework->candidate_count; k++) {
            const opal_component_t *component = framework->candidates[k].component;
            speaker_t speaker = {framework, component, NULL, parsable};
            if (component != NULL && component->rules != NULL)
                component->rules(say_rule, &speaker);
        }
    }
}
