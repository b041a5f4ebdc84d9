/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Control variables. A value that is written is turned into the text that a user would write, so
 * that the same parser and the same limits are for both.
 */
#include "ompi/tool/cvar.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "opal/mca/base/catalog.h"
#include "opal/util/list.h"
#include "ompi/tool/category.h"

static const opal_param_choice_t no_yes[] = {{"no", 0}, {"yes", 1}, {0}};

#define HANDLE_MARK UINT64_C(0x6d696361637661)

typedef struct handle {
    uint64_t mark; /* HANDLE_MARK, 0 once it is freed */
    opal_list_node_t node;
    size_t index;
    void *object;    /* that the variable is bound to; NULL: none */
    bool is_unbound; /* the object has ended: the handle can only be freed */
    int count;
} handle_t;

static opal_list_t handles = {.head = {&handles.head, &handles.head}};

int ompi_tool_cvar_count(void)
{
    return (int)opal_catalog_count();
}

int ompi_tool_cvar_find(const char *name, int *index)
{
    size_t found;
    if (name == NULL || index == NULL)
        return MPI_T_ERR_INVALID;
    if (!opal_catalog_find(name, &found))
        return MPI_T_ERR_INVALID_NAME;
    *index = (int)found;
    return MPI_SUCCESS;
}

/* NULL: there is no such index. */
static const opal_record_t *record_at(int index)
{
    return index >= 0 && index < ompi_tool_cvar_count() ? opal_catalog_at((size_t)index) : NULL;
}

static MPI_Datatype datatype_of(opal_param_type_t type)
{
    static const MPI_Datatype types[OPAL_PARAM_TYPE_COUNT] = {
        [OPAL_PARAM_BOOL] = MPI_INT,          [OPAL_PARAM_INT] = MPI_INT,
        [OPAL_PARAM_UNSIGNED] = MPI_UNSIGNED, [OPAL_PARAM_SIZE] = MPI_UNSIGNED_LONG,
        [OPAL_PARAM_DOUBLE] = MPI_DOUBLE,     [OPAL_PARAM_STRING] = MPI_CHAR,
        [OPAL_PARAM_ENUM] = MPI_INT,          [OPAL_PARAM_LIST] = MPI_CHAR,
    };
    return types[type];
}

static ompi_tool_enum_t *enum_of(const opal_record_t *record)
{
    if (record->row.type == OPAL_PARAM_BOOL)
        return ompi_tool_enum_make("bool", no_yes);
    if (record->row.type == OPAL_PARAM_ENUM)
        return ompi_tool_enum_make(record->full_name, record->row.choices);
    return NULL;
}

/* Users know of what MPI does and of which components they may choose; tuners, of the rest. */
static int verbosity_of(const opal_record_t *record)
{
    if (record->row.is_internal)
        return MPI_T_VERBOSITY_MPIDEV_DETAIL;
    if (record->component[0] != 0)
        return MPI_T_VERBOSITY_TUNER_DETAIL;
    return strcmp(record->framework, "mpi") == 0 ? MPI_T_VERBOSITY_USER_BASIC
                                                 : MPI_T_VERBOSITY_TUNER_BASIC;
}

static int scope_of(const opal_record_t *record)
{
    switch (record->row.write) {
    case OPAL_PARAM_NEVER:
        return MPI_T_SCOPE_READONLY;
    case OPAL_PARAM_ANYTIME:
        return MPI_T_SCOPE_LOCAL;
    case OPAL_PARAM_AT_START:
    case OPAL_PARAM_ANYTIME_EQUAL:
        break;
    }
    return MPI_T_SCOPE_ALL_EQ;
}

int ompi_tool_cvar_info(int index, ompi_tool_cvar_info_t *info)
{
    const opal_record_t *record = record_at(index);
    if (record == NULL)
        return MPI_T_ERR_INVALID_INDEX;
    *info = (ompi_tool_cvar_info_t){
        .name = record->full_name,
        .description = record->row.prose,
        .datatype = datatype_of(record->row.type),
        .enumeration = enum_of(record),
        .verbosity = verbosity_of(record),
        .bind = ompi_tool_bind(record->bind),
        .scope = scope_of(record),
    };
    return MPI_SUCCESS;
}

void ompi_tool_cvar_categorize(void)
{
    static int known;
    for (int count = ompi_tool_cvar_count(); known < count; known++) {
        const opal_record_t *record = opal_catalog_at((size_t)known);
        ompi_tool_category_add(record->framework, record->component, OMPI_TOOL_CVAR, known);
    }
}

/* -- values ------------------------------------------------------------------------------------ */

/* As a user would write it; the caller frees it. */
static char *text_of(const opal_record_t *record)
{
    if (record->row.type == OPAL_PARAM_LIST)
        return opal_strings_join(&record->value.list, ",");
    return opal_xstrdup(record->value.string != NULL ? record->value.string : "");
}

static int count_of(const opal_record_t *record)
{
    if (datatype_of(record->row.type) != MPI_CHAR)
        return 1;
    char *text = text_of(record);
    size_t bytes = strlen(text) + 1;
    free(text);
    return bytes > OMPI_TOOL_TEXT_BYTES ? (int)bytes : OMPI_TOOL_TEXT_BYTES;
}

static void read_text(const opal_record_t *record, char *buffer, int bytes)
{
    char *text = text_of(record);
    snprintf(buffer, (size_t)bytes, "%s", text);
    free(text);
}

static void read_value(const opal_record_t *record, void *buffer, int count)
{
    int is_true;
    switch (record->row.type) {
    case OPAL_PARAM_BOOL:
        is_true = record->value.boolean;
        memcpy(buffer, &is_true, sizeof is_true);
        return;
    case OPAL_PARAM_INT:
    case OPAL_PARAM_ENUM:
        memcpy(buffer, &record->value.integer, sizeof record->value.integer);
        return;
    case OPAL_PARAM_UNSIGNED:
        memcpy(buffer, &record->value.natural, sizeof record->value.natural);
        return;
    case OPAL_PARAM_SIZE:
        memcpy(buffer, &record->value.size, sizeof record->value.size);
        return;
    case OPAL_PARAM_DOUBLE:
        memcpy(buffer, &record->value.real, sizeof record->value.real);
        return;
    default:
        read_text(record, buffer, count);
    }
}

/* The text of a number, or of a choice by its number; NULL: it is no choice. The caller frees it.
 */
static char *choice_text(const opal_param_choice_t *choices, int value)
{
    for (; choices->name != NULL; choices++) {
        if (choices->value == value)
            return opal_xstrdup(choices->name);
    }
    return NULL;
}

/* The text of what is in the buffer; NULL: it cannot be a value. */
static char *text_from(const opal_record_t *record, const void *buffer, int count)
{
    opal_param_value_t value;
    switch (record->row.type) {
    case OPAL_PARAM_BOOL:
    case OPAL_PARAM_ENUM:
        memcpy(&value.integer, buffer, sizeof value.integer);
        return choice_text(record->row.type == OPAL_PARAM_BOOL ? no_yes : record->row.choices,
                           value.integer);
    case OPAL_PARAM_INT:
        memcpy(&value.integer, buffer, sizeof value.integer);
        return opal_xprintf("%d", value.integer);
    case OPAL_PARAM_UNSIGNED:
        memcpy(&value.natural, buffer, sizeof value.natural);
        return opal_xprintf("%u", value.natural);
    case OPAL_PARAM_SIZE:
        memcpy(&value.size, buffer, sizeof value.size);
        return opal_xprintf("%zu", value.size);
    case OPAL_PARAM_DOUBLE:
        memcpy(&value.real, buffer, sizeof value.real);
        return opal_xprintf("%.17g", value.real);
    default:
        return strnlen(buffer, (size_t)count) < (size_t)count ? opal_xstrdup(buffer) : NULL;
    }
}

/* -- handles ----------------------------------------------------------------------------------- */

/* NULL: it is none. */
static handle_t *handle_at(MPI_T_cvar_handle value)
{
    handle_t *handle = (handle_t *)(void *)value;
    if (handle == NULL || ((uintptr_t)handle & (_Alignof(handle_t) - 1)) != 0 ||
        handle->mark != HANDLE_MARK)
        return NULL;
    return handle;
}

int ompi_tool_cvar_open(int index, const void *object, MPI_T_cvar_handle *handle, int *count)
{
    void *resolved;
    const opal_record_t *record = record_at(index);
    if (record == NULL)
        return MPI_T_ERR_INVALID_INDEX;
    if (handle == NULL || count == NULL || !ompi_tool_object(record->bind, object, &resolved))
        return MPI_T_ERR_INVALID;
    handle_t *made = malloc(sizeof *made);
    if (made == NULL)
        return MPI_T_ERR_OUT_OF_HANDLES;
    opal_param_lock();
    opal_catalog_look((size_t)index, resolved);
    *made = (handle_t){
        .mark = HANDLE_MARK, .index = (size_t)index, .object = resolved, .count = count_of(record)};
    opal_param_unlock();
    ompi_tool_bound += resolved != NULL;
    opal_list_append(&handles, &made->node);
    *handle = (MPI_T_cvar_handle)(void *)made;
    *count = made->count;
    return MPI_SUCCESS;
}

static void unbind(handle_t *handle)
{
    ompi_tool_bound -= handle->object != NULL;
    handle->object = NULL;
}

static void free_handle(handle_t *handle)
{
    unbind(handle);
    opal_list_remove(&handle->node);
    handle->mark = 0;
    free(handle);
}

void ompi_tool_cvar_handles_end(void)
{
    opal_list_node_t *next;
    for (opal_list_node_t *node = opal_list_first(&handles); node != NULL; node = next) {
        next = opal_list_next(&handles, node);
        free_handle(opal_container_of(node, handle_t, node));
    }
}

void ompi_tool_cvar_unbind(const ompi_object_t *object)
{
    for (opal_list_node_t *node = opal_list_first(&handles); node != NULL;
         node = opal_list_next(&handles, node)) {
        handle_t *handle = opal_container_of(node, handle_t, node);
        if (handle->object != object)
            continue;
        unbind(handle);
        handle->is_unbound = true;
    }
}

int ompi_tool_cvar_close(MPI_T_cvar_handle *handle)
{
    handle_t *known = handle != NULL ? handle_at(*handle) : NULL;
    if (known == NULL)
        return MPI_T_ERR_INVALID_HANDLE;
    free_handle(known);
    *handle = MPI_T_CVAR_HANDLE_NULL;
    return MPI_SUCCESS;
}

int ompi_tool_cvar_read(MPI_T_cvar_handle handle, void *buffer)
{
    const handle_t *known = handle_at(handle);
    if (known == NULL || known->is_unbound)
        return MPI_T_ERR_INVALID_HANDLE;
    if (buffer == NULL)
        return MPI_T_ERR_INVALID;
    opal_param_lock();
    opal_catalog_look(known->index, known->object);
    read_value(opal_catalog_at(known->index), buffer, known->count);
    opal_param_unlock();
    return MPI_SUCCESS;
}

static int error_of(opal_status_t status)
{
    switch (status) {
    case OPAL_SUCCESS:
        return MPI_SUCCESS;
    case OPAL_ERR_NOT_SUPPORTED:
        return MPI_T_ERR_CVAR_SET_NEVER;
    case OPAL_ERR_BUSY:
        return MPI_T_ERR_CVAR_SET_NOT_NOW;
    default:
        return MPI_T_ERR_INVALID;
    }
}

int ompi_tool_cvar_write(MPI_T_cvar_handle handle, const void *buffer)
{
    const handle_t *known = handle_at(handle);
    if (known == NULL || known->is_unbound)
        return MPI_T_ERR_INVALID_HANDLE;
    if (buffer == NULL)
        return MPI_T_ERR_INVALID;
    const opal_record_t *record = opal_catalog_at(known->index);
    if (record->row.write == OPAL_PARAM_NEVER)
        return MPI_T_ERR_CVAR_SET_NEVER;
    char *text = text_from(record, buffer, known->count);
    if (text == NULL)
        return MPI_T_ERR_INVALID;
    opal_status_t status = opal_catalog_write(known->index, known->object, text);
    free(text);
    return error_of(status);
}
