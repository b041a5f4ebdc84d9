/* SPDX-License-Identifier: BSD-3-Clause */
/* Bodies of the chapter tool: performance variables. */
#include "ompi/api/bodies.h"
#include "ompi/tool/pvar.h"
#include "ompi/tool/tool.h"

int ompi_api_t_pvar_get_num(int *num_pvar)
{
    int error = ompi_tool_enter();
    if (error != MPI_SUCCESS)
        return error;
    if (num_pvar == NULL)
        return ompi_tool_leave(MPI_T_ERR_INVALID);
    *num_pvar = ompi_tool_pvar_count();
    return ompi_tool_leave(MPI_SUCCESS);
}

int ompi_api_t_pvar_get_index(const char *name, int var_class, int *pvar_index)
{
    int error = ompi_tool_enter();
    if (error != MPI_SUCCESS)
        return error;
    return ompi_tool_leave(ompi_tool_pvar_find(name, var_class, pvar_index));
}

int ompi_api_t_pvar_get_info(int pvar_index, char *name, int *name_len, int *verbosity,
                             int *var_class, MPI_Datatype *datatype, MPI_T_enum *enumtype,
                             char *desc, int *desc_len, int *bind, int *readonly, int *continuous,
                             int *atomic)
{
    ompi_tool_pvar_info_t info;
    int error = ompi_tool_enter();
    if (error != MPI_SUCCESS)
        return error;
    error = ompi_tool_pvar_info(pvar_index, &info);
    if (error != MPI_SUCCESS)
        return ompi_tool_leave(error);
    ompi_tool_put_text(info.name, name, name_len);
    OMPI_TOOL_PUT(verbosity, info.verbosity);
    OMPI_TOOL_PUT(var_class, info.class);
    OMPI_TOOL_PUT(datatype, info.datatype);
    OMPI_TOOL_PUT(enumtype, ompi_tool_enum_handle(info.enumeration));
    ompi_tool_put_text(info.description, desc, desc_len);
    OMPI_TOOL_PUT(bind, info.bind);
    OMPI_TOOL_PUT(readonly, info.is_readonly);
    OMPI_TOOL_PUT(continuous, info.is_continuous);
    OMPI_TOOL_PUT(atomic, info.is_atomic);
    return ompi_tool_leave(MPI_SUCCESS);
}

int ompi_api_t_pvar_session_create(MPI_T_pvar_session *session)
{
    int error = ompi_tool_enter();
    return error != MPI_SUCCESS ? error : ompi_tool_leave(ompi_tool_session_create(session));
}

int ompi_api_t_pvar_session_free(MPI_T_pvar_session *session)
{
    int error = ompi_tool_enter();
    return error != MPI_SUCCESS ? error : ompi_tool_leave(ompi_tool_session_free(session));
}

int ompi_api_t_pvar_handle_alloc(MPI_T_pvar_session session, int pvar_index, void *obj_handle,
                                 MPI_T_pvar_handle *handle, int *count)
{
    int error = ompi_tool_enter();
    if (error != MPI_SUCCESS)
        return error;
    return ompi_tool_leave(ompi_tool_pvar_open(session, pvar_index, obj_handle, handle, count));
}

int ompi_api_t_pvar_handle_free(MPI_T_pvar_session session, MPI_T_pvar_handle *handle)
{
    int error = ompi_tool_enter();
    return error != MPI_SUCCESS ? error : ompi_tool_leave(ompi_tool_pvar_close(session, handle));
}

int ompi_api_t_pvar_start(MPI_T_pvar_session session, MPI_T_pvar_handle handle)
{
    int error = ompi_tool_enter();
    return error != MPI_SUCCESS ? error : ompi_tool_leave(ompi_tool_pvar_start(session, handle));
}

int ompi_api_t_pvar_stop(MPI_T_pvar_session session, MPI_T_pvar_handle handle)
{
    int error = ompi_tool_enter();
    return error != MPI_SUCCESS ? error : ompi_tool_leave(ompi_tool_pvar_stop(session, handle));
}

int ompi_api_t_pvar_reset(MPI_T_pvar_session session, MPI_T_pvar_handle handle)
{
    int error = ompi_tool_enter();
    return error != MPI_SUCCESS ? error : ompi_tool_leave(ompi_tool_pvar_reset(session, handle));
}

int ompi_api_t_pvar_read(MPI_T_pvar_session session, MPI_T_pvar_handle handle, void *buf)
{
    int error = ompi_tool_enter();
    if (error != MPI_SUCCESS)
        return error;
    return ompi_tool_leave(ompi_tool_pvar_read(session, handle, buf, false));
}

int ompi_api_t_pvar_readreset(MPI_T_pvar_session session, MPI_T_pvar_handle handle, void *buf)
{
    int error = ompi_tool_enter();
    if (error != MPI_SUCCESS)
        return error;
    return ompi_tool_leave(ompi_tool_pvar_read(session, handle, buf, true));
}

int ompi_api_t_pvar_write(MPI_T_pvar_session session, MPI_T_pvar_handle handle, const void *buf)
{
    int error = ompi_tool_enter();
    if (error != MPI_SUCCESS)
        return error;
    return ompi_tool_leave(ompi_tool_pvar_write(session, handle, buf));
}
