/* SPDX-License-Identifier: BSD-3-Clause */
/* For the tests of the tool interface: variables by name. */
#ifndef TEST_MPI_TOOL_H
#define TEST_MPI_TOOL_H

#include <mpi.h>

/* -1: there is none. */
static inline int tool_cvar(const char *name)
{
    int index = -1;
    return MPI_T_cvar_get_index(name, &index) == MPI_SUCCESS ? index : -1;
}

/* The code of reading, of writing. */
static inline int tool_cvar_read(const char *name, void *buffer)
{
    int count;
    MPI_T_cvar_handle handle;
    int error = MPI_T_cvar_handle_alloc(tool_cvar(name), NULL, &handle, &count);
    if (error != MPI_SUCCESS)
        return error;
    error = MPI_T_cvar_read(handle, buffer);
    MPI_T_cvar_handle_free(&handle);
    return error;
}

static inline int tool_cvar_write(const char *name, const void *buffer)
{
    int count;
    MPI_T_cvar_handle handle;
    int error = MPI_T_cvar_handle_alloc(tool_cvar(name), NULL, &handle, &count);
    if (error != MPI_SUCCESS)
        return error;
    error = MPI_T_cvar_write(handle, buffer);
    MPI_T_cvar_handle_free(&handle);
    return error;
}

#endif
