/* SPDX-License-Identifier: BSD-3-Clause */
/* Bodies of the chapter session. */
#include "ompi/session/session.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "ompi/api/bodies.h"
#include "ompi/buffer/buffer.h"

/* -- begin and end --------------------------------------------------------------------------- */

/* An error handler that returns, the user's among them, gets the error of the start. */
static opal_failure_t failure_of(const ompi_errhandler_t *errhandler)
{
    return errhandler->action == OMPI_ERRHANDLER_RETURN ||
                   errhandler->action == OMPI_ERRHANDLER_CALL
               ? OPAL_FAILURE_IS_RETURNED
               : OPAL_FAILURE_ENDS_JOB;
}

static int begin(ompi_session_t *session, ompi_info_t *info, ompi_errhandler_t *errhandler)
{
    int wanted, error = ompi_session_wanted_level(info, &wanted);
    if (error != MPI_SUCCESS)
        return ompi_api_set_error_detail(error, "The value of thread_level is no thread level.");
    error = ompi_runtime_acquire(OMPI_RUNTIME_ALONE, wanted, failure_of(errhandler),
                                 &session->thread_level);
    if (error != MPI_SUCCESS)
        return ompi_api_set_error_detail(error, "MPI cannot start; the reason was printed.");
    return MPI_SUCCESS;
}

int ompi_api_session_init(ompi_info_t *info, ompi_errhandler_t *errhandler,
                          ompi_session_t **session)
{
    ompi_session_t *made = ompi_session_create(errhandler);
    if (made == NULL)
        return MPI_ERR_NO_MEM;
    int error = begin(made, info, errhandler);
    if (error != MPI_SUCCESS) {
        ompi_object_release(&made->head);
        return error;
    }
    *session = made;
    return MPI_SUCCESS;
}

int ompi_api_session_finalize(ompi_session_t **session)
{
    ompi_session_t *ended = *session;
    if (!atomic_exchange(&ended->is_open, false))
        return ompi_api_set_error_detail(MPI_ERR_SESSION, "Another thread has finalized it.");
    ompi_lock();
    if (ended->bsend_buffer != NULL)
        ompi_bsend_buffer_detach(ended->bsend_buffer);
    ompi_unlock();
    int error = ompi_runtime_release();
    ompi_object_release(&ended->head);
    *session = NULL;
    return error;
}

int ompi_api_session_get_info(ompi_session_t *session, ompi_info_t **info)
{
    *info = ompi_session_get_info(session);
    return *info != NULL ? MPI_SUCCESS : MPI_ERR_NO_MEM;
}

/* -- process sets ---------------------------------------------------------------------------- */

int ompi_api_session_get_num_psets(ompi_session_t *session OPAL_UNUSED,
                                   ompi_info_t *info OPAL_UNUSED, int *npset_names)
{
    *npset_names = ompi_pset_count();
    return MPI_SUCCESS;
}

/* With a length of 0 the caller asks for the length that it needs, the final 0 included. */
int ompi_api_session_get_nth_pset(ompi_session_t *session OPAL_UNUSED,
                                  ompi_info_t *info OPAL_UNUSED, int n, int *pset_len,
                                  char *pset_name)
{
    if (n >= ompi_pset_count())
        return ompi_api_set_error_detail(MPI_ERR_ARG, "There is no process set with that number.");
    const char *name = ompi_pset_name(n);
    if (*pset_len < 0 || (*pset_len > 0 && pset_name == NULL))
        return ompi_api_set_error_detail(MPI_ERR_ARG, "There is no room for the name.");
    if (*pset_len > 0)
        snprintf(pset_name, (size_t)*pset_len, "%s", name);
    *pset_len = (int)strlen(name) + 1;
    return MPI_SUCCESS;
}

static int no_pset(int error)
{
    return error == MPI_ERR_ARG
               ? ompi_api_set_error_detail(error, "There is no process set with that name.")
               : error;
}

int ompi_api_session_get_pset_info(ompi_session_t *session OPAL_UNUSED, const char *pset_name,
                                   ompi_info_t **info)
{
    char text[16];
    int size, error = ompi_pset_size(pset_name, &size);
    if (error != MPI_SUCCESS)
        return no_pset(error);
    ompi_info_t *made = ompi_info_create();
    if (made == NULL)
        return MPI_ERR_NO_MEM;
    snprintf(text, sizeof text, "%d", size);
    error = ompi_info_set(made, "mpi_size", text);
    if (error != MPI_SUCCESS) {
        ompi_object_release(&made->head);
        return error;
    }
    *info = made;
    return MPI_SUCCESS;
}

int ompi_api_group_from_session_pset(ompi_session_t *session, const char *pset_name,
                                     ompi_group_t **newgroup)
{
    return no_pset(ompi_pset_group(session, pset_name, newgroup));
}
