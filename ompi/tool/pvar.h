/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Performance variables in sessions: the variables of opal/mca/base/pvar.h, under their indices,
 * and handles with values of their own.
 *
 *   class                       value of a handle                            datatype
 *   COUNTER, AGGREGATE          what was added while it was started          MPI_UNSIGNED_LONG
 *   TIMER                       likewise, in seconds                         MPI_DOUBLE
 *   HIGH-, LOWWATERMARK         the most, the least since it was started     MPI_UNSIGNED_LONG
 *   LEVEL, SIZE, GENERIC        as it is                                     MPI_UNSIGNED_LONG
 *   PERCENTAGE                  as it is, from 0 to 1                        MPI_DOUBLE
 *   STATE                       as it is                                     MPI_INT
 *
 * Those of the last three lines are continuous and read-only; all others can be started, stopped,
 * reset and written, which concerns the handle alone, and can be read and reset at once.
 *
 * All functions are called with the lock of tool.h, and return a code of MPI.
 */
#ifndef OMPI_TOOL_PVAR_H
#define OMPI_TOOL_PVAR_H

#include "ompi/handle/handle.h"
#include "ompi/tool/tool.h"

/* What MPI_T_pvar_get_info returns; texts live as long as the process. */
typedef struct ompi_tool_pvar_info {
    const char *name, *description;
    MPI_Datatype datatype;
    ompi_tool_enum_t *enumeration; /* NULL: none */
    int verbosity, class, bind, is_readonly, is_continuous, is_atomic;
} ompi_tool_pvar_info_t;

int ompi_tool_pvar_count(void);
int ompi_tool_pvar_find(const char *name, int class, int *index);
int ompi_tool_pvar_info(int index, ompi_tool_pvar_info_t *info);

/* Puts variables that are new into their categories. */
void ompi_tool_pvar_categorize(void);

int ompi_tool_session_create(MPI_T_pvar_session *session);
int ompi_tool_session_free(MPI_T_pvar_session *session);

/* At the last MPI_T_finalize: frees the sessions that are left. */
void ompi_tool_sessions_end(void);

/* For ompi_tool_unbind. */
void ompi_tool_pvar_unbind(const ompi_object_t *object);

/* `object` points to the handle of the object that the variable is bound to. */
int ompi_tool_pvar_open(MPI_T_pvar_session session, int index, const void *object,
                        MPI_T_pvar_handle *handle, int *count);
int ompi_tool_pvar_close(MPI_T_pvar_session session, MPI_T_pvar_handle *handle);

/* These take MPI_T_PVAR_ALL_HANDLES, which passes over handles that cannot. */
int ompi_tool_pvar_start(MPI_T_pvar_session session, MPI_T_pvar_handle handle);
int ompi_tool_pvar_stop(MPI_T_pvar_session session, MPI_T_pvar_handle handle);
int ompi_tool_pvar_reset(MPI_T_pvar_session session, MPI_T_pvar_handle handle);

int ompi_tool_pvar_read(MPI_T_pvar_session session, MPI_T_pvar_handle handle, void *buffer,
                        bool and_reset);
int ompi_tool_pvar_write(MPI_T_pvar_session session, MPI_T_pvar_handle handle, const void *buffer);

#endif
