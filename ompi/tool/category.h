/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Categories: a tree of two levels, frameworks and their components, with the variables and events
 * of each. What belongs to no framework has a category of its own name ("mpi", "wait").
 *
 * Categories and their members are never removed, and keep their order. cvar.c, pvar.c and
 * event_type.c add a variable or an event when it is registered, which may be after
 * MPI_T_init_thread.
 *
 * All functions are called with the lock of tool.h.
 */
#ifndef OMPI_TOOL_CATEGORY_H
#define OMPI_TOOL_CATEGORY_H

#include "ompi/tool/tool.h"

typedef enum ompi_tool_member {
    OMPI_TOOL_CVAR,
    OMPI_TOOL_PVAR,
    OMPI_TOOL_EVENT,
    OMPI_TOOL_CATEGORY,
    OMPI_TOOL_MEMBERS
} ompi_tool_member_t;

/* Adds a member to the category of a framework, or of its component if that is not "". */
void ompi_tool_category_add(const char *framework, const char *component, ompi_tool_member_t member,
                            int index);

/* How often anything was added: the standard's update number. */
int ompi_tool_category_changes(void);

int ompi_tool_category_count(void);
int ompi_tool_category_find(const char *name, int *index);

/* What is in a category; texts live as long as the process. */
typedef struct ompi_tool_category_info {
    const char *name, *description;
    int counts[OMPI_TOOL_MEMBERS];
} ompi_tool_category_info_t;

int ompi_tool_category_info(int index, ompi_tool_category_info_t *info);

/* The indices of the first members of a kind, `length` at most. */
int ompi_tool_category_list(int index, ompi_tool_member_t member, int length, int *indices);

#endif
