/* SPDX-License-Identifier: BSD-3-Clause */
/* Bodies of the chapter tool: init and finalize, enumerations. */
#include "ompi/api/bodies.h"
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
