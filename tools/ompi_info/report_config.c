/* SPDX-License-Identifier: BSD-3-Clause */
/* Version, configuration and the list of components. */
#include "config.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
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
