/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The event types, as tools see them: a row each, with name, description and elements. The table is
 * constant, in all processes alike; event_point.h has the structures that the elements describe.
 */
#ifndef OMPI_TOOL_EVENT_TYPE_H
#define OMPI_TOOL_EVENT_TYPE_H

#include "opal/util/text.h"
#include "ompi/tool/event_point.h"
#include "ompi/tool/tool.h"

typedef struct ompi_event_element {
    const char *name;
    MPI_Datatype type;
    MPI_Aint offset;
    size_t bytes;
    const opal_param_choice_t *choices; /* NULL: any number */
} ompi_event_element_t;

typedef struct ompi_event_type {
    const char *name;
    const char *prose;
    const char *category;
    int verbosity, bind;
    const ompi_event_element_t *elements;
    int element_count;
    size_t bytes; /* of the data, up to the last element */
} ompi_event_type_t;

extern const ompi_event_type_t ompi_event_types[OMPI_EVENTS];

/* NULL: there is none at that index. */
OPAL_EXPORT const ompi_event_type_t *ompi_event_type_at(int index);

/* The index of the type with that name; -1: there is none. */
int ompi_event_type_find(const char *name);

/* Appends the description: the prose, and what the numbers of elements with choices mean. */
void ompi_event_type_describe(const ompi_event_type_t *type, opal_text_t *text);

/* Makes the enumerations, which name the elements of each type, and adds the types to their
 * categories. With the tool's lock, before the
 * interface is used. */
void ompi_event_types_start(void);
MPI_T_enum ompi_event_type_enum(int index);

#endif
