/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What all functions of the tool interface share: init and finalize, the lock, texts, enumerations.
 *
 * The interface is used between MPI_T_init_thread and MPI_T_finalize, which nest and which have
 * nothing to do with MPI_Init and MPI_Finalize. It never calls an error handler: a function returns
 * its code, and outputs are written on success only. Any output but a count may be NULL, and is
 * left out then.
 *
 * Threading: any thread, at any time. One lock protects handles, sessions and enumerations.
 * Callbacks of events (event.h) run under ompi_lock and call these functions, so ompi_lock is taken
 * before this lock; the lock of the parameters (opal/mca/base/param.h) is taken under it. No
 * callback of a user is called under it.
 */
#ifndef OMPI_TOOL_H
#define OMPI_TOOL_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "opal/mca/base/pvar.h"
#include "ompi/api/mpi.h"

/* MPI_T_init_thread and MPI_T_finalize. Every thread level is granted. */
int ompi_tool_init(int required, int *provided);
int ompi_tool_finalize(void);

/* Whether the interface may be used: for functions that are called within callbacks of events, and
 * do not take the lock. */
bool ompi_tool_is_used(void);

/*
 * The first and the last thing that a function of the interface does:
 *
 *     int error = ompi_tool_enter();           MPI_T_ERR_NOT_INITIALIZED: the lock is not taken
 *     if (error != MPI_SUCCESS)
 *         return error;
 *     ...
 *     return ompi_tool_leave(error);           releases the lock and returns `error`
 */
int ompi_tool_enter(void);
int ompi_tool_leave(int error);

/* How many handles are bound to an object. Changed under the lock. */
extern atomic_uint ompi_tool_bound;

/*
 * Hands out a text by the standard's rules for pairs of a buffer and a length: *length is the room
 * in the buffer before, and the length of the whole text with its 0 afterwards. Without a length
 * nothing is returned; without a buffer or room, only the length.
 */
void ompi_tool_put_text(const char *text, char *buffer, int *length);

/* MPI_T_BIND_... */
int ompi_tool_bind(opal_pvar_bind_t bind);

/* The object of what `handle` points to; NULL for a variable that is bound to nothing. False: it is
 * no such object. */
bool ompi_tool_object(opal_pvar_bind_t bind, const void *handle, void **object);

/* Sets an output that may be NULL. */
#define OMPI_TOOL_PUT(output, value)                                                               \
    do {                                                                                           \
        if ((output) != NULL)                                                                      \
            *(output) = (value);                                                                   \
    } while (0)

/* -- enumerations ---------------------------------------------------------------------------- */

/* A name for each value of a variable or an element of an event. Lives as long as the process. */
typedef struct ompi_tool_enum ompi_tool_enum_t;

/* Returns the enumeration with that name and those choices, which end with a NULL name; the first
 * call makes it, and copies the choices. The caller holds the lock. */
ompi_tool_enum_t *ompi_tool_enum_make(const char *name, const opal_param_choice_t *choices);

/* The handle; MPI_T_ENUM_NULL for NULL. */
MPI_T_enum ompi_tool_enum_handle(ompi_tool_enum_t *object);

/* Whether a value has a name. */
bool ompi_tool_enum_has(const ompi_tool_enum_t *object, int value);

/* MPI_T_enum_get_info and MPI_T_enum_get_item, with the lock. */
int ompi_tool_enum_info(MPI_T_enum handle, int *count, char *name, int *name_length);
int ompi_tool_enum_item(MPI_T_enum handle, int index, int *value, char *name, int *name_length);

#endif
