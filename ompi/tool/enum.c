/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Enumerations. An object is never freed, since tools keep its handle; there are as many as there
 * are sets of choices. A handle is looked for in the list of all, so that a wrong one is an error
 * and not a crash.
 */
#include <stdlib.h>
#include <string.h>

#include "opal/util/text.h"
#include "ompi/tool/tool.h"

struct ompi_tool_enum {
    ompi_tool_enum_t *next;
    char *name;
    opal_param_choice_t *items; /* copied: the original may be in a DSO */
    int count;
};

static ompi_tool_enum_t *all; /* the newest first */

static int count_choices(const opal_param_choice_t *choices)
{
    int count = 0;
    while (choices[count].name != NULL)
        count++;
    return count;
}

static bool is_same(const ompi_tool_enum_t *object, const char *name,
                    const opal_param_choice_t *choices)
{
    if (strcmp(object->name, name) != 0 || object->count != count_choices(choices))
        return false;
    for (int i = 0; i < object->count; i++) {
        if (object->items[i].value != choices[i].value ||
            strcmp(object->items[i].name, choices[i].name) != 0)
            return false;
    }
    return true;
}

ompi_tool_enum_t *ompi_tool_enum_make(const char *name, const opal_param_choice_t *choices)
{
    for (ompi_tool_enum_t *object = all; object != NULL; object = object->next) {
        if (is_same(object, name, choices))
            return object;
    }
    ompi_tool_enum_t *object = opal_xcalloc(1, sizeof *object);
    object->count = count_choices(choices);
    object->name = opal_xstrdup(name);
    object->items = opal_xcalloc((size_t)object->count + 1, sizeof *object->items);
    for (int i = 0; i < object->count; i++)
        object->items[i] = (opal_param_choice_t){opal_xstrdup(choices[i].name), choices[i].value};
    object->next = all;
    all = object;
    return object;
}

MPI_T_enum ompi_tool_enum_handle(ompi_tool_enum_t *object)
{
    return object != NULL ? (MPI_T_enum)(void *)object : MPI_T_ENUM_NULL;
}

bool ompi_tool_enum_has(const ompi_tool_enum_t *object, int value)
{
    for (int i = 0; i < object->count; i++) {
        if (object->items[i].value == value)
            return true;
    }
    return false;
}

static const ompi_tool_enum_t *find(MPI_T_enum handle)
{
    const ompi_tool_enum_t *object = all;
    while (object != NULL && object != (const void *)handle)
        object = object->next;
    return object;
}

int ompi_tool_enum_info(MPI_T_enum handle, int *count, char *name, int *name_length)
{
    const ompi_tool_enum_t *object = find(handle);
    if (object == NULL)
        return MPI_T_ERR_INVALID_HANDLE;
    OMPI_TOOL_PUT(count, object->count);
    ompi_tool_put_text(object->name, name, name_length);
    return MPI_SUCCESS;
}

int ompi_tool_enum_item(MPI_T_enum handle, int index, int *value, char *name, int *name_length)
{
    const ompi_tool_enum_t *object = find(handle);
    if (object == NULL)
        return MPI_T_ERR_INVALID_HANDLE;
    if (index < 0 || index >= object->count)
        return MPI_T_ERR_INVALID_INDEX; /* in place of MPI_T_ERR_INVALID_ITEM since MPI 4.0 */
    OMPI_TOOL_PUT(value, object->items[index].value);
    ompi_tool_put_text(object->items[index].name, name, name_length);
    return MPI_SUCCESS;
}
