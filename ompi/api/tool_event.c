/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Bodies of the chapter tool: events and their sources. They may be called within callbacks of
 * events, by a thread that has the lock of messages. So they do not take the tool's lock.
 *
 * There are no hints: info objects are not read, and those that are returned are empty.
 */
#include "ompi/api/bodies.h"
#include "ompi/handle/handle.h"
#include "ompi/info/info.h"
#include "ompi/tool/event.h"
#include "ompi/tool/event_type.h"
#include "ompi/tool/source.h"
#include "ompi/tool/tool.h"

/* No hints; `info` may be NULL. */
static int put_info(MPI_Info *info)
{
    if (info == NULL)
        return MPI_SUCCESS;
    ompi_info_t *empty = ompi_info_create();
    if (empty == NULL)
        return MPI_T_ERR_MEMORY;
    *info = ompi_object_handle(&empty->head);
    return MPI_SUCCESS;
}

/* Whether the handle, and the level of a callback, exist. */
static int check(MPI_T_event_registration registration, MPI_T_cb_safety safety)
{
    if (!ompi_tool_is_used())
        return MPI_T_ERR_NOT_INITIALIZED;
    return ompi_event_is_safety(safety) ? ompi_event_check(registration) : MPI_T_ERR_INVALID;
}

/* -- types ---------------------------------------------------------------------------------- */

int ompi_api_t_event_get_num(int *num_events)
{
    if (!ompi_tool_is_used())
        return MPI_T_ERR_NOT_INITIALIZED;
    if (num_events == NULL)
        return MPI_T_ERR_INVALID;
    *num_events = OMPI_EVENTS;
    return MPI_SUCCESS;
}

int ompi_api_t_event_get_index(const char *name, int *event_index)
{
    if (!ompi_tool_is_used())
        return MPI_T_ERR_NOT_INITIALIZED;
    if (name == NULL || event_index == NULL)
        return MPI_T_ERR_INVALID;
    int index = ompi_event_type_find(name);
    if (index < 0)
        return MPI_T_ERR_INVALID_NAME;
    *event_index = index;
    return MPI_SUCCESS;
}

/* As many elements as there is room for. */
static void put_elements(const ompi_event_type_t *type, MPI_Datatype datatypes[],
                         MPI_Aint displacements[], int *num_elements)
{
    if (num_elements == NULL)
        return;
    for (int i = 0; i < type->element_count && i < *num_elements; i++) {
        if (datatypes != NULL)
            datatypes[i] = type->elements[i].type;
        if (displacements != NULL)
            displacements[i] = type->elements[i].offset;
    }
    *num_elements = type->element_count;
}

static void put_description(const ompi_event_type_t *type, char *desc, int *desc_len)
{
    opal_text_t text = {0};
    ompi_event_type_describe(type, &text);
    ompi_tool_put_text(opal_text_string(&text), desc, desc_len);
    opal_text_free(&text);
}

int ompi_api_t_event_get_info(int event_index, char *name, int *name_len, int *verbosity,
                              MPI_Datatype array_of_datatypes[], MPI_Aint array_of_displacements[],
                              int *num_elements, MPI_T_enum *enumtype, MPI_Info *info, char *desc,
                              int *desc_len, int *bind)
{
    if (!ompi_tool_is_used())
        return MPI_T_ERR_NOT_INITIALIZED;
    const ompi_event_type_t *type = ompi_event_type_at(event_index);
    if (type == NULL)
        return MPI_T_ERR_INVALID_INDEX;
    int error = put_info(info);
    if (error != MPI_SUCCESS)
        return error;
    ompi_tool_put_text(type->name, name, name_len);
    put_description(type, desc, desc_len);
    put_elements(type, array_of_datatypes, array_of_displacements, num_elements);
    OMPI_TOOL_PUT(verbosity, type->verbosity);
    OMPI_TOOL_PUT(enumtype, ompi_event_type_enum(event_index));
    OMPI_TOOL_PUT(bind, type->bind);
    return MPI_SUCCESS;
}

/* -- registrations -------------------------------------------------------------------------- */

/* What the registration is bound to. A handle that is not there binds to nothing: the events of all
 * communicators are seen. */
static int bound_to(const ompi_event_type_t *type, void *obj_handle, ompi_communicator_t **comm)
{
    *comm = NULL;
    if (type->bind == MPI_T_BIND_NO_OBJECT || obj_handle == NULL)
        return MPI_SUCCESS;
    *comm = ompi_handle_object(*(MPI_Comm *)obj_handle);
    return ompi_object_is(*comm, OMPI_COMM) ? MPI_SUCCESS : MPI_T_ERR_INVALID;
}

int ompi_api_t_event_handle_alloc(int event_index, void *obj_handle, MPI_Info info OPAL_UNUSED,
                                  MPI_T_event_registration *event_registration)
{
    ompi_communicator_t *comm;
    if (!ompi_tool_is_used())
        return MPI_T_ERR_NOT_INITIALIZED;
    const ompi_event_type_t *type = ompi_event_type_at(event_index);
    if (type == NULL)
        return MPI_T_ERR_INVALID_INDEX;
    if (event_registration == NULL)
        return MPI_T_ERR_INVALID;
    int error = bound_to(type, obj_handle, &comm);
    return error != MPI_SUCCESS
               ? error
               : ompi_event_register((ompi_event_t)event_index, comm, event_registration);
}

int ompi_api_t_event_handle_free(MPI_T_event_registration event_registration, void *user_data,
                                 MPI_T_event_free_cb_function *free_cb_function)
{
    return ompi_tool_is_used()
               ? ompi_event_unregister(event_registration, free_cb_function, user_data)
               : MPI_T_ERR_NOT_INITIALIZED;
}

int ompi_api_t_event_handle_set_info(MPI_T_event_registration event_registration,
                                     MPI_Info info OPAL_UNUSED)
{
    return check(event_registration, MPI_T_CB_REQUIRE_NONE);
}

int ompi_api_t_event_handle_get_info(MPI_T_event_registration event_registration,
                                     MPI_Info *info_used)
{
    int error = check(event_registration, MPI_T_CB_REQUIRE_NONE);
    return error != MPI_SUCCESS ? error : put_info(info_used);
}

int ompi_api_t_event_register_callback(MPI_T_event_registration event_registration,
                                       MPI_T_cb_safety cb_safety, MPI_Info info OPAL_UNUSED,
                                       void *user_data, MPI_T_event_cb_function *event_cb_function)
{
    int error = check(event_registration, cb_safety);
    return error != MPI_SUCCESS ? error
                                : ompi_event_set_callback(event_registration, cb_safety,
                                                          event_cb_function, user_data);
}

int ompi_api_t_event_callback_set_info(MPI_T_event_registration event_registration,
                                       MPI_T_cb_safety cb_safety, MPI_Info info OPAL_UNUSED)
{
    return check(event_registration, cb_safety);
}

int ompi_api_t_event_callback_get_info(MPI_T_event_registration event_registration,
                                       MPI_T_cb_safety cb_safety, MPI_Info *info_used)
{
    int error = check(event_registration, cb_safety);
    return error != MPI_SUCCESS ? error : put_info(info_used);
}

int ompi_api_t_event_set_dropped_handler(MPI_T_event_registration event_registration,
                                         MPI_T_event_dropped_cb_function *dropped_cb_function)
{
    return ompi_tool_is_used() ? ompi_event_set_dropped(event_registration, dropped_cb_function)
                               : MPI_T_ERR_NOT_INITIALIZED;
}

/* -- an event, within its callback ---------------------------------------------------------- */

/* Whether the instance, and what the function returns by that pointer, may be there. */
static int check_instance(MPI_T_event_instance instance, const void *output)
{
    if (!ompi_tool_is_used())
        return MPI_T_ERR_NOT_INITIALIZED;
    if (instance == NULL)
        return MPI_T_ERR_INVALID_HANDLE;
    return output != NULL ? MPI_SUCCESS : MPI_T_ERR_INVALID;
}

int ompi_api_t_event_read(MPI_T_event_instance event_instance, int element_index, void *buffer)
{
    int error = check_instance(event_instance, buffer);
    return error != MPI_SUCCESS ? error : ompi_event_read(event_instance, element_index, buffer);
}

int ompi_api_t_event_copy(MPI_T_event_instance event_instance, void *buffer)
{
    int error = check_instance(event_instance, buffer);
    if (error == MPI_SUCCESS)
        ompi_event_copy(event_instance, buffer);
    return error;
}

int ompi_api_t_event_get_timestamp(MPI_T_event_instance event_instance, MPI_Count *event_timestamp)
{
    int error = check_instance(event_instance, event_timestamp);
    if (error == MPI_SUCCESS)
        *event_timestamp = ompi_event_time(event_instance);
    return error;
}

int ompi_api_t_event_get_source(MPI_T_event_instance event_instance, int *source_index)
{
    int error = check_instance(event_instance, source_index);
    if (error == MPI_SUCCESS)
        *source_index = ompi_event_source(event_instance);
    return error;
}

/* -- sources -------------------------------------------------------------------------------- */

int ompi_api_t_source_get_num(int *num_sources)
{
    if (!ompi_tool_is_used())
        return MPI_T_ERR_NOT_INITIALIZED;
    if (num_sources == NULL)
        return MPI_T_ERR_INVALID;
    *num_sources = OMPI_SOURCES;
    return MPI_SUCCESS;
}

int ompi_api_t_source_get_info(int source_index, char *name, int *name_len, char *desc,
                               int *desc_len, MPI_T_source_order *ordering,
                               MPI_Count *ticks_per_second, MPI_Count *max_ticks, MPI_Info *info)
{
    if (!ompi_tool_is_used())
        return MPI_T_ERR_NOT_INITIALIZED;
    const ompi_source_row_t *source = ompi_source_at(source_index);
    if (source == NULL)
        return MPI_T_ERR_INVALID_INDEX;
    int error = put_info(info);
    if (error != MPI_SUCCESS)
        return error;
    ompi_tool_put_text(source->name, name, name_len);
    ompi_tool_put_text(source->prose, desc, desc_len);
    OMPI_TOOL_PUT(ordering, source->order);
    OMPI_TOOL_PUT(ticks_per_second, OMPI_SOURCE_TICKS_PER_SECOND);
    OMPI_TOOL_PUT(max_ticks, INT64_MAX);
    return MPI_SUCCESS;
}

int ompi_api_t_source_get_timestamp(int source_index, MPI_Count *timestamp)
{
    if (!ompi_tool_is_used())
        return MPI_T_ERR_NOT_INITIALIZED;
    if (ompi_source_at(source_index) == NULL)
        return MPI_T_ERR_INVALID_INDEX;
    if (timestamp == NULL)
        return MPI_T_ERR_INVALID;
    *timestamp = ompi_source_now();
    return MPI_SUCCESS;
}
