/* SPDX-License-Identifier: BSD-3-Clause */
/* The types of events, which the tool interface (MPI_T) calls functions of tools for. */
#include <stdio.h>
#include <stdlib.h>

#include "opal/util/text.h"
#include "ompi/tool/event_type.h"
#include "tools/ompi_info/report.h"

/* "context, source, tag" */
static char *element_names(const ompi_event_type_t *type)
{
    opal_text_t names = {0};
    for (int i = 0; i < type->element_count; i++)
        opal_text_printf(&names, "%s%s", i > 0 ? ", " : "", type->elements[i].name);
    return opal_text_take(&names);
}

void report_events(bool parsable)
{
    const ompi_event_type_t *type;
    for (int i = 0; (type = ompi_event_type_at(i)) != NULL; i++) {
        bool is_of_comm = type->bind == MPI_T_BIND_MPI_COMM;
        char *elements = element_names(type);
        if (parsable) {
            report_fact(elements, "mca:%s:base:event:%s:elements", type->category, type->name);
            if (is_of_comm)
                report_fact("communicator", "mca:%s:base:event:%s:of", type->category, type->name);
            report_fact(type->prose, "mca:%s:base:event:%s:help", type->category, type->name);
        } else {
            printf("  %s   (%s%s)\n      %s\n", type->name, elements,
                   is_of_comm ? "; of a communicator" : "", type->prose);
        }
        free(elements);
    }
}
