/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The installation, and what there is to report of each component: that it exists, why it is chosen
 * here or not, and the rules by which it carries messages.
 */
#include "config.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "opal/mca/base/dso.h"
#include "opal/mca/base/param_file.h"
#include "opal/util/text.h"
#include "tools/ompi_info/report.h"

void report_fact(const char *value, const char *keys_format, ...)
{
    va_list arguments;
    va_start(arguments, keys_format);
    vprintf(keys_format, arguments);
    va_end(arguments);
    putchar(':');
    for (; *value != 0; value++) {
        if (*value == '\n')
            fputs("\\n", stdout);
        else if (*value == '\\')
            fputs("\\\\", stdout);
        else
            putchar(*value);
    }
    putchar('\n');
}

void report_configuration(bool parsable)
{
    static const char user_file[] = OPAL_PARAM_FILE_USER;
    const struct {
        const char *key, *label, *value;
    } rows[] = {
        {"version", "Mica", PACKAGE_VERSION},
        {"mpi", "MPI standard", "5.0 (ABI 1.0)"},
        {"prefix", "Prefix", MICA_PREFIX},
        {"components", "Component DSOs", opal_dso_directory()},
        {"params:system", "Parameter file of the system", opal_param_file_system()},
        {"params:user", "Parameter file of the user", user_file},
        {"compiler", "Compiler", MICA_COMPILER},
        {"cflags", "Compiler flags", MICA_COMPILER_FLAGS},
        {"configure", "Configured with", MICA_CONFIGURE_ARGS},
        {"libraries", "Libraries found", MICA_PACKAGES},
    };
    for (size_t i = 0; i < OPAL_COUNT_OF(rows); i++) {
        if (parsable)
            report_fact(rows[i].value, "mica:%s", rows[i].key);
        else
            printf("%30s: %s\n", rows[i].label, rows[i].value);
    }
}

static void report_component(const opal_framework_t *framework, const opal_candidate_t *candidate,
                             bool parsable)
{
    const char *prose = candidate->component != NULL ? candidate->component->prose : "";
    const char *origin = candidate->path != NULL ? candidate->path : "static";
    if (parsable) {
        report_fact(prose, "mca:%s:%s:component:prose", framework->name, candidate->name);
        report_fact(origin, "mca:%s:%s:component:origin", framework->name, candidate->name);
    } else {
        printf("%30s: %s (%s)\n", candidate->name, prose, origin);
    }
}

void report_components(bool parsable)
{
    const opal_project_t *project;
    const opal_framework_t *framework;
    for (size_t i = 0; (framework = opal_framework_at(i, &project)) != NULL; i++) {
        if (parsable)
            report_fact(framework->prose, "mca:%s:base:framework:prose", framework->name);
        else
            printf("\n%s/%s: %s\n", project->name, framework->name, framework->prose);
        for (size_t c = 0; c < framework->candidate_count; c++)
            report_component(framework, &framework->candidates[c], parsable);
        if (framework->candidate_count == 0 && !parsable)
            printf("%30s  no component was built\n", "");
    }
}

/* -- --why --------------------------------------------------------------------------------- */

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

/* -- --protocols ---------------------------------------------------------------------------- */

/* Prints the rules of one component. */
typedef struct printer {
    const opal_framework_t *framework;
    const opal_component_t *component;
    const char *where; /* of the rule that was printed last */
    bool parsable;
} rule_printer_t;

static void print_rule(void *context, const char *where, size_t bytes, const char *way,
                       const char *parameter)
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
    bool names = parameter != NULL && bytes > 0;
    printf("    from %7zu bytes  %s%s%s%s\n", bytes, way, names ? " (" : "", names ? parameter : "",
           names ? ")" : "");
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
