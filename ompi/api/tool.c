/* SPDX-License-Identifier: BSD-3-Clause */
/* Bodies of the chapter tool: init and finalize, enumerations, control variables, categories. */
#include "ompi/api/bodies.h"
#include "ompi/tool/category.h"
#include "ompi/tool/cvar.h"
#include "ompi/tool/event.h"
#include "ompi/tool/pvar.h"
#include "ompi/tool/tool.h"

int ompi_api_t_init_thread(int required, int *provided)
{
    return ompi_tool_init(required, provided);
}

int ompi_api_t_finalize(void)
{
    return ompi_tool_finalize();
}

int ompi_api_t_enum_get_info(MPI_T_enum enumtype, int *num, char *name, int *name_len)
{
    int error = ompi_tool_enter();
    if (error != MPI_SUCCESS)
        return error;
    return ompi_tool_leave(ompi_tool_enum_info(enumtype, num, name, name_len));
}

int ompi_api_t_enum_get_item(MPI_T_enum enumtype, int indx, int *value, char *name, int *name_len)
{
    int error = ompi_tool_enter();
    if (error != MPI_SUCCESS)
        return error;
    return ompi_tool_leave(ompi_tool_enum_item(enumtype, indx, value, name, name_len));
}

/* -- control variables ------------------------------------------------------------------------- */

int ompi_api_t_cvar_get_num(int *num_cvar)
{
    int error = ompi_tool_enter();
    if (error != MPI_SUCCESS)
        return error;
    if (num_cvar == NULL)
        return ompi_tool_leave(MPI_T_ERR_INVALID);
    *num_cvar = ompi_tool_cvar_count();
    return ompi_tool_leave(MPI_SUCCESS);
}

int ompi_api_t_cvar_get_index(const char *name, int *cvar_index)
{
    int error = ompi_tool_enter();
    if (error != MPI_SUCCESS)
        return error;
    return ompi_tool_leave(ompi_tool_cvar_find(name, cvar_index));
}

int ompi_api_t_cvar_get_info(int cvar_index, char *name, int *name_len, int *verbosity,
                             MPI_Datatype *datatype, MPI_T_enum *enumtype, char *desc,
                             int *desc_len, int *bind, int *scope)
{
    ompi_tool_cvar_info_t info;
    int error = ompi_tool_enter();
    if (error != MPI_SUCCESS)
        return error;
    error = ompi_tool_cvar_info(cvar_index, &info);
    if (error != MPI_SUCCESS)
        return ompi_tool_leave(error);
    ompi_tool_put_text(info.name, name, name_len);
    OMPI_TOOL_PUT(verbosity, info.verbosity);
    OMPI_TOOL_PUT(datatype, info.datatype);
    OMPI_TOOL_PUT(enumtype, ompi_tool_enum_handle(info.enumeration));
    ompi_tool_put_text(info.description, desc, desc_len);
    OMPI_TOOL_PUT(bind, info.bind);
    OMPI_TOOL_PUT(scope, info.scope);
    return ompi_tool_leave(MPI_SUCCESS);
}

int ompi_api_t_cvar_handle_alloc(int cvar_index, void *obj_handle, MPI_T_cvar_handle *handle,
                                 int *count)
{
    int error = ompi_tool_enter();
    if (error != MPI_SUCCESS)
        return error;
    return ompi_tool_leave(ompi_tool_cvar_open(cvar_index, obj_handle, handle, count));
}

int ompi_api_t_cvar_handle_free(MPI_T_cvar_handle *handle)
{
    int error = ompi_tool_enter();
    return error != MPI_SUCCESS ? error : ompi_tool_leave(ompi_tool_cvar_close(handle));
}

int ompi_api_t_cvar_read(MPI_T_cvar_handle handle, void *buf)
{
    int error = ompi_tool_enter();
    return error != MPI_SUCCESS ? error : ompi_tool_leave(ompi_tool_cvar_read(handle, buf));
}

/* Messages read the variables under ompi_lock. A callback of an event may have that lock. */
int ompi_api_t_cvar_write(MPI_T_cvar_handle handle, const void *buf)
{
    if (ompi_event_is_in_callback())
        return MPI_T_ERR_CVAR_SET_NOT_NOW;
    ompi_lock();
    int error = ompi_tool_enter();
    if (error == MPI_SUCCESS)
        error = ompi_tool_leave(ompi_tool_cvar_write(handle, buf));
    ompi_unlock();
    return error;
}

/* -- categories -------------------------------------------------------------------------------- */

/* Variables that have appeared since the last call are in their categories then. */
static int enter_categories(void)
{
    int error = ompi_tool_enter();
    if (error == MPI_SUCCESS) {
        ompi_tool_cvar_categorize();
        ompi_tool_pvar_categorize();
    }
    return error;
}

int ompi_api_t_category_get_num(int *num_cat)
{
    int error = enter_categories();
    if (error != MPI_SUCCESS)
        return error;
    if (num_cat == NULL)
        return ompi_tool_leave(MPI_T_ERR_INVALID);
    *num_cat = ompi_tool_category_count();
    return ompi_tool_leave(MPI_SUCCESS);
}

int ompi_api_t_category_get_index(const char *name, int *cat_index)
{
    int error = enter_categories();
    if (error != MPI_SUCCESS)
        return error;
    return ompi_tool_leave(ompi_tool_category_find(name, cat_index));
}

int ompi_api_t_category_get_info(int cat_index, char *name, int *name_len, char *desc,
                                 int *desc_len, int *num_cvars, int *num_pvars, int *num_categories)
{
    ompi_tool_category_info_t info;
    int error = enter_categories();
    if (error != MPI_SUCCESS)
        return error;
    error = ompi_tool_category_info(cat_index, &info);
    if (error != MPI_SUCCESS)
        return ompi_tool_leave(error);
    ompi_tool_put_text(info.name, name, name_len);
    ompi_tool_put_text(info.description, desc, desc_len);
    OMPI_TOOL_PUT(num_cvars, info.counts[OMPI_TOOL_CVAR]);
    OMPI_TOOL_PUT(num_pvars, info.counts[OMPI_TOOL_PVAR]);
    OMPI_TOOL_PUT(num_categories, info.counts[OMPI_TOOL_CATEGORY]);
    return ompi_tool_leave(MPI_SUCCESS);
}

int ompi_api_t_category_get_num_events(int cat_index, int *num_events)
{
    ompi_tool_category_info_t info;
    int error = enter_categories();
    if (error != MPI_SUCCESS)
        return error;
    error = ompi_tool_category_info(cat_index, &info);
    if (error == MPI_SUCCESS && num_events == NULL)
        error = MPI_T_ERR_INVALID;
    if (error == MPI_SUCCESS)
        *num_events = info.counts[OMPI_TOOL_EVENT];
    return ompi_tool_leave(error);
}

static int list_members(int cat_index, ompi_tool_member_t member, int len, int indices[])
{
    int error = enter_categories();
    if (error != MPI_SUCCESS)
        return error;
    return ompi_tool_leave(ompi_tool_category_list(cat_index, member, len, indices));
}

int ompi_api_t_category_get_cvars(int cat_index, int len, int indices[])
{
    return list_members(cat_index, OMPI_TOOL_CVAR, len, indices);
}

int ompi_api_t_category_get_pvars(int cat_index, int len, int indices[])
{
    return list_members(cat_index, OMPI_TOOL_PVAR, len, indices);
}

int ompi_api_t_category_get_events(int cat_index, int len, int indices[])
{
    return list_members(cat_index, OMPI_TOOL_EVENT, len, indices);
}

int ompi_api_t_category_get_categories(int cat_index, int len, int indices[])
{
    return list_members(cat_index, OMPI_TOOL_CATEGORY, len, indices);
}

int ompi_api_t_category_changed(int *update_number)
{
    int error = enter_categories();
    if (error != MPI_SUCCESS)
        return error;
    if (update_number == NULL)
        return ompi_tool_leave(MPI_T_ERR_INVALID);
    *update_number = ompi_tool_category_changes();
    return ompi_tool_leave(MPI_SUCCESS);
}
