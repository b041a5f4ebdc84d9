/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Error handlers as objects. An error is rare, so one lock guards the handlers of all objects. It
 * is not held while a handler runs: the handler may set another one, or free itself.
 */
#include "ompi/errhandler/errhandler.h"

#include <pthread.h>
#include <stdlib.h>

#define PREDEFINED(errhandler_handle, errhandler_action)                                           \
    {                                                                                              \
        .head = OMPI_OBJECT_PREDEFINED(OMPI_ERRHANDLER, errhandler_handle),                        \
        .action = (errhandler_action)                                                              \
    }

ompi_errhandler_t ompi_errors_are_fatal = PREDEFINED(MPI_ERRORS_ARE_FATAL, OMPI_ERRHANDLER_FATAL);
ompi_errhandler_t ompi_errors_abort = PREDEFINED(MPI_ERRORS_ABORT, OMPI_ERRHANDLER_ABORT);
ompi_errhandler_t ompi_errors_return = PREDEFINED(MPI_ERRORS_RETURN, OMPI_ERRHANDLER_RETURN);

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER; /* ompi_object_t.errhandler */

static void destroy(ompi_object_t *object)
{
    free(opal_container_of(object, ompi_errhandler_t, head));
}

ompi_errhandler_t *ompi_errhandler_create(ompi_kind_t target, ompi_errhandler_fn_t call)
{
    ompi_errhandler_t *errhandler = malloc(sizeof *errhandler);
    if (errhandler == NULL)
        return NULL;
    ompi_object_init(&errhandler->head, OMPI_ERRHANDLER, destroy);
    errhandler->action = OMPI_ERRHANDLER_CALL;
    errhandler->target = target;
    errhandler->is_fortran = false;
    errhandler->call = call;
    return errhandler;
}

void ompi_errhandler_set_fortran(ompi_errhandler_t *errhandler)
{
    errhandler->is_fortran = true;
}

bool ompi_errhandler_fits(const ompi_errhandler_t *errhandler, ompi_kind_t kind)
{
    return errhandler->action != OMPI_ERRHANDLER_CALL || errhandler->target == kind;
}

/* Sets the handler (may be NULL) of an object and releases the one before. */
static void replace(ompi_object_t *object, ompi_object_t *errhandler)
{
    pthread_mutex_lock(&lock);
    ompi_object_t *before = object->errhandler;
    object->errhandler = errhandler;
    pthread_mutex_unlock(&lock);
    if (before != NULL)
        ompi_object_release(before);
}

void ompi_errhandler_attach(ompi_object_t *object, ompi_errhandler_t *errhandler)
{
    ompi_object_retain(&errhandler->head);
    replace(object, &errhandler->head);
}

void ompi_errhandler_detach(ompi_object_t *object)
{
    replace(object, NULL);
}

ompi_errhandler_t *ompi_errhandler_get(ompi_object_t *object)
{
    pthread_mutex_lock(&lock);
    ompi_object_t *errhandler = object->errhandler;
    if (errhandler != NULL)
        ompi_object_retain(errhandler);
    pthread_mutex_unlock(&lock);
    return (ompi_errhandler_t *)errhandler;
}

bool ompi_errhandler_ends_job(ompi_object_t *object)
{
    ompi_errhandler_t *errhandler = ompi_errhandler_get(object);
    if (errhandler == NULL)
        return false;
    bool ends =
        errhandler->action == OMPI_ERRHANDLER_FATAL || errhandler->action == OMPI_ERRHANDLER_ABORT;
    ompi_object_release(&errhandler->head);
    return ends;
}
