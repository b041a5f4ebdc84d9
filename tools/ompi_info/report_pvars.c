/* SPDX-License-Identifier: BSD-3-Clause */
/* The performance variables, which programs read by the tool interface (MPI_T). */
#include <stdio.h>

#include "opal/mca/base/pvar.h"
#include "opal/util/text.h"
#include "tools/ompi_info/report.h"

const char *report_object_name(opal_pvar_bind_t bind)
{
    switch (bind) {
    case OPAL_PVAR_OF_COMM:
        return "communicator";
    case OPAL_PVAR_OF_WIN:
        return "window";
    case OPAL_PVAR_OF_PROCESS:
        break;
    }
    return NULL;
}

static void show_facts(const opal_pvar_t *variable)
{
    const struct {
        const char *key, *value;
    } facts[] = {
        {"class", opal_pvar_class_name(variable->row.class)},
        {"unit", variable->row.unit},
        {"of", report_object_name(variable->row.bind)},
        {"help", variable->row.prose},
    };
    for (size_t i = 0; i < OPAL_COUNT_OF(facts); i++) {
        if (facts[i].value != NULL)
            report_fact(facts[i].value, "mca:%s:%s:pvar:%s:%s", variable->framework,
                        variable->component[0] != 0 ? variable->component : "base",
                        variable->full_name, facts[i].key);
    }
}

static void show_for_person(const opal_pvar_t *variable)
{
    const char *object = report_object_name(variable->row.bind);
    printf("  %s   (%s", variable->full_name, opal_pvar_class_name(variable->row.class));
    if (variable->row.unit != NULL)
        printf(", %s", variable->row.unit);
    if (object != NULL)
        printf(", of a %s", object);
    printf(")\n      %s\n", variable->row.prose);
}

void report_pvars(bool parsable)
{
    size_t count = opal_pvar_count();
    for (size_t i = 0; i < count; i++) {
        if (parsable)
            show_facts(opal_pvar_at(i));
        else
            show_for_person(opal_pvar_at(i));
    }
}
