/* SPDX-License-Identifier: BSD-3-Clause */
/* Bodies of the chapter errhan: error handlers, classes, codes and strings. */
#include <stdio.h>
#include <string.h>

#include "ompi/api/bodies.h"
#include "ompi/errhandler/error_code.h"

static int create(ompi_kind_t target, ompi_errhandler_fn_t call, ompi_errhandler_t **errhandler)
{
    *errhandler = ompi_errhandler_create(target, call);
    return *errhandler != NULL ? MPI_SUCCESS : MPI_ERR_NO_MEM;
}

int ompi_api_comm_create_errhandler(MPI_Comm_errhandler_function *comm_errhandler_fn,
                                    ompi_errhandler_t **errhandler)
{
    return create(OMPI_COMM, (ompi_errhandler_fn_t){.comm = comm_errhandler_fn}, errhandler);
}

int ompi_api_file_create_errhandler(MPI_File_errhandler_function *file_errhandler_fn,
                                    ompi_errhandler_t **errhandler)
{
    return create(OMPI_FILE, (ompi_errhandler_fn_t){.file = file_errhandler_fn}, errhandler);
}

int ompi_api_session_create_errhandler(MPI_Session_errhandler_function *session_errhandler_fn,
                                       ompi_errhandler_t **errhandler)
{
    return create(OMPI_SESSION, (ompi_errhandler_fn_t){.session = session_errhandler_fn},
                  errhandler);
}

int ompi_api_win_create_errhandler(MPI_Win_errhandler_function *win_errhandler_fn,
                                   ompi_errhandler_t **errhandler)
{
    return create(OMPI_WIN, (ompi_errhandler_fn_t){.win = win_errhandler_fn}, errhandler);
}

int ompi_api_errhandler_free(ompi_errhandler_t **errhandler)
{
    ompi_object_release(&(*errhandler)->head);
    *errhandler = NULL;
    return MPI_SUCCESS;
}

static int attach(ompi_object_t *object, ompi_errhandler_t *errhandler, ompi_kind_t kind,
                  const char *misfit)
{
    if (!ompi_errhandler_fits(errhandler, kind))
        return ompi_api_set_error_detail(MPI_ERR_ERRHANDLER, misfit);
    ompi_errhandler_attach(object, errhandler);
    return MPI_SUCCESS;
}

int ompi_api_comm_set_errhandler(ompi_communicator_t *comm, ompi_errhandler_t *errhandler)
{
    int error = attach(&comm->head, errhandler, OMPI_COMM,
                       "The error handler was not made for communicators.");
    if (error == MPI_SUCCESS && comm == &ompi_comm_self)
        atomic_store(&ompi_api_self_errhandler_is_set, true);
    return error;
}

int ompi_api_comm_get_errhandler(ompi_communicator_t *comm, ompi_errhandler_t **errhandler)
{
    *errhandler = ompi_errhandler_get(&comm->head);
    return MPI_SUCCESS;
}

/* The call itself succeeds, whatever the handler makes of the code. */
int ompi_api_comm_call_errhandler(ompi_communicator_t *comm, int errorcode)
{
    ompi_api_invoke_errhandler(comm, errorcode, "MPI_Comm_call_errhandler", NULL);
    return MPI_SUCCESS;
}

int ompi_api_file_set_errhandler(ompi_file_t *file, ompi_errhandler_t *errhandler)
{
    return attach(&ompi_file_handler_object(file)->head, errhandler, OMPI_FILE,
                  "The error handler was not made for files.");
}

int ompi_api_file_get_errhandler(ompi_file_t *file, ompi_errhandler_t **errhandler)
{
    *errhandler = ompi_errhandler_get(&ompi_file_handler_object(file)->head);
    return MPI_SUCCESS;
}

int ompi_api_file_call_errhandler(ompi_file_t *fh, int errorcode)
{
    ompi_api_invoke_errhandler(fh, errorcode, "MPI_File_call_errhandler", NULL);
    return MPI_SUCCESS;
}

int ompi_api_session_set_errhandler(ompi_session_t *session, ompi_errhandler_t *errhandler)
{
    return attach(&session->head, errhandler, OMPI_SESSION,
                  "The error handler was not made for sessions.");
}

int ompi_api_session_get_errhandler(ompi_session_t *session, ompi_errhandler_t **errhandler)
{
    *errhandler = ompi_errhandler_get(&session->head);
    return MPI_SUCCESS;
}

int ompi_api_session_call_errhandler(ompi_session_t *session, int errorcode)
{
    ompi_api_invoke_errhandler(session, errorcode, "MPI_Session_call_errhandler", NULL);
    return MPI_SUCCESS;
}

int ompi_api_win_set_errhandler(ompi_win_t *win, ompi_errhandler_t *errhandler)
{
    /* Requests of a window name its communicator, whose handler cannot be one for windows. */
    bool is_predefined = errhandler->action != OMPI_ERRHANDLER_CALL;
    ompi_errhandler_attach(&win->osc.comm->head, is_predefined ? errhandler : &ompi_errors_return);
    return attach(&win->head, errhandler, OMPI_WIN, "The error handler was not made for windows.");
}

int ompi_api_win_get_errhandler(ompi_win_t *win, ompi_errhandler_t **errhandler)
{
    *errhandler = ompi_errhandler_get(&win->head);
    return MPI_SUCCESS;
}

int ompi_api_win_call_errhandler(ompi_win_t *win, int errorcode)
{
    ompi_api_invoke_errhandler(win, errorcode, "MPI_Win_call_errhandler", NULL);
    return MPI_SUCCESS;
}

int ompi_api_error_class(int errorcode, int *errorclass)
{
    if (!ompi_error_is_known(errorcode))
        return MPI_ERR_ARG;
    *errorclass = ompi_error_class(errorcode);
    return MPI_SUCCESS;
}

int ompi_api_error_string(int errorcode, char *string, int *resultlen)
{
    if (!ompi_error_is_known(errorcode))
        return MPI_ERR_ARG;
    ompi_error_string(errorcode, string);
    const char *detail = ompi_api_last_error_detail(errorcode);
    if (detail != NULL) {
        size_t length = strlen(string);
        snprintf(string + length, MPI_MAX_ERROR_STRING - length, " (%s)", detail);
    }
    *resultlen = (int)strlen(string);
    return MPI_SUCCESS;
}

int ompi_api_add_error_class(int *errorclass)
{
    return ompi_error_add_class(errorclass);
}

int ompi_api_add_error_code(int errorclass, int *errorcode)
{
    return ompi_error_add_code(errorclass, errorcode);
}

int ompi_api_add_error_string(int errorcode, const char *string)
{
    return ompi_error_add_string(errorcode, string);
}

int ompi_api_remove_error_class(int errorclass)
{
    return ompi_error_remove_class(errorclass);
}

int ompi_api_remove_error_code(int errorcode)
{
    return ompi_error_remove_code(errorcode);
}

int ompi_api_remove_error_string(int errorcode)
{
    return ompi_error_remove_string(errorcode);
}
