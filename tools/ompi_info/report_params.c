/* SPDX-License-Identifier: BSD-3-Clause */
/* The rows of parameters, with their values and sources, and of settings of single objects. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "opal/mca/base/bound.h"
#include "opal/util/text.h"
#include "tools/ompi_info/report.h"

typedef struct request {
    const char *framework, *component;
    bool internal, parsable;
    size_t shown;
} request_t;

static bool is_wanted(const char *wanted, const char *name)
{
    return strcmp(wanted, "all") == 0 || strcmp(wanted, name) == 0;
}

/* A parameter without a framework is listed under "mpi", one of a framework itself under "base". */
static const char *framework_key(const opal_param_info_t *info)
{
    return info->framework[0] != 0 ? info->framework : "mpi";
}

static const char *component_key(const opal_param_info_t *info)
{
    return info->component[0] != 0 ? info->component : "base";
}

/* "yes, no" for an enum's choices. */
static char *choice_names(const opal_param_row_t *row)
{
    opal_text_t names = {0};
    for (const opal_param_choice_t *choice = row->choices; choice != NULL && choice->name != NULL;
         choice++)
        opal_text_printf(&names, "%s%s", names.length > 0 ? ", " : "", choice->name);
    return opal_text_take(&names);
}

/* `object`: what has the setting, whose value depends; NULL: it is a parameter of the process. */
static void show_facts(const opal_param_info_t *info, const char *object)
{
    const opal_param_row_t *row = info->row;
    char *choices = choice_names(row);
    const struct {
        const char *key, *value;
    } facts[] = {
        {"type", opal_param_type_name(row->type)},
        {"value", info->value_text},
        {"of", object},
        {"default", row->refresh != NULL || object != NULL ? NULL
                    : row->preset != NULL                  ? row->preset
                                                           : ""},
        {"source", info->origin},
        {"unit", row->unit},
        {"min", row->min},
        {"max", row->max},
        {"choices", choices[0] != 0 ? choices : NULL},
        {"synonyms", row->synonyms},
        {"variables", row->variables},
        {"internal", row->is_internal ? "yes" : NULL},
        {"help", row->prose},
    };
    for (size_t i = 0; i < OPAL_COUNT_OF(facts); i++) {
        if (facts[i].value != NULL)
            report_fact(facts[i].value, "mca:%s:%s:param:%s:%s", framework_key(info),
                        component_key(info), info->full_name, facts[i].key);
    }
    free(choices);
}

/* "0 to 100 ms", "at least 1", "" */
static char *limits_text(const opal_param_row_t *row)
{
    const char *unit = row->unit != NULL ? row->unit : "";
    const char *blank = row->unit != NULL ? " " : "";
    if (row->choices != NULL)
        return choice_names(row);
    if (row->min != NULL && row->max != NULL)
        return opal_xprintf("%s to %s%s%s", row->min, row->max, blank, unit);
    if (row->min != NULL || row->max != NULL)
        return opal_xprintf("at %s %s%s%s", row->min != NULL ? "least" : "most",
                            row->min != NULL ? row->min : row->max, blank, unit);
    return opal_xprintf("%s", unit);
}

static void show_for_person(const opal_param_info_t *info)
{
    const opal_param_row_t *row = info->row;
    char *limits = limits_text(row);
    printf("  %s = %s   (%s", info->full_name,
           info->value_text[0] != 0 ? info->value_text : "<unset>",
           opal_param_type_name(row->type));
    if (limits[0] != 0)
        printf(": %s", limits);
    printf("; %s", info->origin);
    if (info->source != OPAL_PARAM_FROM_DEFAULT)
        printf(", default %s", row->preset != NULL ? row->preset : "<unset>");
    printf("%s)\n      %s\n", row->is_internal ? "; internal" : "", row->prose);
    if (row->synonyms != NULL)
        printf("      Deprecated names: %s\n", row->synonyms);
    if (row->variables != NULL)
        printf("      Also set by the environment's %s\n", row->variables);
    free(limits);
}

static bool is_requested(const request_t *request, const opal_param_info_t *info)
{
    return (!info->row->is_internal || request->internal) &&
           is_wanted(request->framework, framework_key(info)) &&
           is_wanted(request->component, component_key(info));
}

static void visit(const opal_param_info_t *info, void *context)
{
    request_t *request = context;
    if (!is_requested(request, info))
        return;
    request->shown++;
    if (request->parsable)
        show_facts(info, NULL);
    else
        show_for_person(info);
}

static void visit_bound(const char *framework, const char *component, const char *full_name,
                        const opal_bound_row_t *bound, void *context)
{
    request_t *request = context;
    const opal_param_info_t info = {
        .full_name = full_name,
        .framework = framework,
        .component = component,
        .row = &bound->param,
    };
    const char *object = report_object_name(bound->bind);
    if (!is_requested(request, &info))
        return;
    request->shown++;
    if (request->parsable) {
        show_facts(&info, object);
        return;
    }
    char *limits = limits_text(&bound->param);
    printf("  %s   (%s%s%s; of a %s, %s by the tool interface)\n      %s\n", full_name,
           opal_param_type_name(bound->param.type), limits[0] != 0 ? ": " : "", limits, object,
           bound->param.write == OPAL_PARAM_NEVER ? "read" : "written", bound->param.prose);
    free(limits);
}

size_t report_params(const char *framework, const char *component, bool internal, bool parsable)
{
    request_t request = {framework, component, internal, parsable, 0};
    opal_param_visit(visit, &request);
    opal_bound_visit(visit_bound, &request);
    return request.shown;
}
