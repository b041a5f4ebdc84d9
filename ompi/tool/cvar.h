/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Control variables: the parameters of the catalog (opal/mca/base/catalog.h), under its indices.
 *
 *   parameter        datatype             enumeration        count
 *   bool             MPI_INT              no, yes            1
 *   int              MPI_INT                                 1
 *   enum             MPI_INT              its choices        1
 *   unsigned         MPI_UNSIGNED                            1
 *   size             MPI_UNSIGNED_LONG                       1
 *   double           MPI_DOUBLE                              1
 *   string, list     MPI_CHAR                                OMPI_TOOL_TEXT_BYTES, or more if the
 *                                                            value is longer when a handle is made
 *
 * Settings of a communicator or window are bound to it (opal/mca/base/bound.h).
 *
 * The scope says when a variable may be written (opal_param_write_t): NEVER is READONLY, ANYTIME is
 * LOCAL, and the others are ALL_EQ. What does not fit the limits of the parameter is
 * MPI_T_ERR_INVALID.
 *
 * All functions are called with the lock of tool.h, and return a code of MPI.
 */
#ifndef OMPI_TOOL_CVAR_H
#define OMPI_TOOL_CVAR_H

#include "ompi/api/mpi.h"
#include "ompi/handle/handle.h"
#include "ompi/tool/tool.h"

enum { OMPI_TOOL_TEXT_BYTES = 1024 };

/* What MPI_T_cvar_get_info returns; texts live as long as the process. */
typedef struct ompi_tool_cvar_info {
    const char *name, *description;
    MPI_Datatype datatype;
    ompi_tool_enum_t *enumeration; /* NULL: none */
    int verbosity, bind, scope;
} ompi_tool_cvar_info_t;

int ompi_tool_cvar_count(void);
int ompi_tool_cvar_find(const char *name, int *index);
int ompi_tool_cvar_info(int index, ompi_tool_cvar_info_t *info);

/* Puts variables that are new into their categories. */
void ompi_tool_cvar_categorize(void);

int ompi_tool_cvar_open(int index, const void *object, MPI_T_cvar_handle *handle, int *count);
int ompi_tool_cvar_close(MPI_T_cvar_handle *handle);
int ompi_tool_cvar_read(MPI_T_cvar_handle handle, void *buffer);

/* The last MPI_T_finalize: frees all handles. */
void ompi_tool_cvar_handles_end(void);

/* For ompi_tool_unbind. */
void ompi_tool_cvar_unbind(const ompi_object_t *object);

/* The caller has ompi_lock, too. */
int ompi_tool_cvar_write(MPI_T_cvar_handle handle, const void *buffer);

#endif
