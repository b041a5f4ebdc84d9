/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Error handlers: what they do, and which object has which.
 *
 * Functions of the library return an error code and invoke no handler. The wrapper of the MPI
 * function does that: ompi_api_invoke_errhandler in ompi/api/wrapper.h.
 *
 * Threading: any thread. Several threads may attach and get on one object at the same time.
 */
#ifndef OMPI_ERRHANDLER_H
#define OMPI_ERRHANDLER_H

#include "ompi/object/language.h"
#include "ompi/object/object.h"

typedef enum ompi_errhandler_action {
    OMPI_ERRHANDLER_FATAL,  /* ends the job */
    OMPI_ERRHANDLER_ABORT,  /* ends the processes of the communicator; here: the job */
    OMPI_ERRHANDLER_RETURN, /* the call returns the code */
    OMPI_ERRHANDLER_CALL,   /* the user's function, then the call returns the code */
} ompi_errhandler_action_t;

/* The user's function; the member that `target` names, unless it is in Fortran. */
typedef union ompi_errhandler_fn {
    MPI_Comm_errhandler_function *comm;
    MPI_File_errhandler_function *file;
    MPI_Session_errhandler_function *session;
    MPI_Win_errhandler_function *win;
    ompi_fortran_errhandler_fn_t *fortran;
} ompi_errhandler_fn_t;

typedef struct ompi_errhandler {
    ompi_object_t head; /* first */
    ompi_errhandler_action_t action;
    ompi_kind_t target; /* of OMPI_ERRHANDLER_CALL: the kind that it can be attached to */
    bool is_fortran;    /* the function */
    ompi_errhandler_fn_t call;
} ompi_errhandler_t;

extern ompi_errhandler_t ompi_errors_are_fatal, ompi_errors_abort, ompi_errors_return;

/* A handler that calls a function of the user's; NULL: no memory. */
ompi_errhandler_t *ompi_errhandler_create(ompi_kind_t target, ompi_errhandler_fn_t call);

/* The function of a new handler is in Fortran. */
OPAL_EXPORT void ompi_errhandler_set_fortran(ompi_errhandler_t *errhandler);

/* Whether the handler is for objects of that kind. */
bool ompi_errhandler_fits(const ompi_errhandler_t *errhandler, ompi_kind_t kind);

/* Whether the object is a handler for objects of that kind. Safe for NULL and for other objects. */
static inline bool ompi_errhandler_is_for(const void *object, ompi_kind_t kind)
{
    return ompi_object_is(object, OMPI_ERRHANDLER) &&
           ompi_errhandler_fits((const ompi_errhandler_t *)object, kind);
}

/* Makes it the object's handler and retains it; releases the handler before. */
void ompi_errhandler_attach(ompi_object_t *object, ompi_errhandler_t *errhandler);

/* Leaves the object without a handler. */
void ompi_errhandler_detach(ompi_object_t *object);

/* The object's handler, with a reference for the caller; NULL if it has none. */
ompi_errhandler_t *ompi_errhandler_get(ompi_object_t *object);

/* Whether an error of a call about the object ends the job. */
bool ompi_errhandler_ends_job(ompi_object_t *object);

#endif
