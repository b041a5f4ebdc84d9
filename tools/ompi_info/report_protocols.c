/* SPDX-License-Identifier: BSD-3-Clause */
/* Which way a message goes with these settings, as each component says it of itself. */
#include <stdio.h>
#include <string.h>

#include "tools/ompi_info/report.h"

/* What one component says. */
typedef struct printer {
    const opal_framework_t *framework;
    const opal_component_t *component;
    const char *where; /* that was said last */
    bool parsable;
} rule_printer_t;

static void print_rule(void *context, const char *where, size_t bytes, const char *way)
{
    rule_printer_t *printer = context;
    if (printer->parsable) {
        report_fact(way, "mca:%s:%s:rule:%s:%zu", printer->framework->name,
                    printer->component->name, where, bytes);
        return;
    }
    if (printer->where == NULL)
        printf("%s/%s: %s\n", printer->framework->name, printer->component->name,
               printer->component->prose);
    if (printer->where == NULL || strcmp(where, printer->where) != 0)
        printf("  %s\n", where);
    printer->where = where;
    printf("    from %7zu bytes  %s\n", bytes, way);
}

void report_protocols(bool parsable)
{
    const opal_framework_t *framework;
    for (size_t i = 0; (framework = opal_framework_at(i, NULL)) != NULL; i++) {
        for (size_t k = 0; k < framework->candidate_count; k++) {
            const opal_component_t *component = framework->candidates[k].component;
            rule_printer_t printer = {framework, component, NULL, parsable};
            if (component != NULL && component->rules != NULL)
                component->rules(print_rule, &printer);
        }
    }
}
