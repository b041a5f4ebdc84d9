/* SPDX-License-Identifier: BSD-3-Clause */
/* Errors of calls: which error handler is invoked, with what text, and what it does. */
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "opal/crash/crash.h"
#include "opal/util/log.h"
#include "opal/util/text.h"
#include "ompi/api/wrapper.h"
#include "ompi/errhandler/error_code.h"

/* The last error of a thread, for MPI_Error_string. */
static _Thread_local struct {
    int code;
    char detail[MPI_MAX_ERROR_STRING]; /* "MPI_Reduce: MPI_SUM is not for MPI_BYTE."; empty: there
                                          is none */
} last;

atomic_bool ompi_api_self_errhandler_is_set;

/* -- ending the job -------------------------------------------------------------------- */

/* "on MPI_COMM_WORLD, rank 2 of 4" */
static void describe(opal_text_t *text, const ompi_object_t *object)
{
    char name[MPI_MAX_OBJECT_NAME] = "";
    const char *kind = "a communicator";
    const ompi_communicator_t *comm = (const ompi_communicator_t *)object;
    if (ompi_object_is(object, OMPI_WIN)) {
        const ompi_win_t *win = opal_container_of(object, ompi_win_t, head);
        ompi_lock();
        memcpy(name, win->name, sizeof name);
        ompi_unlock();
        kind = "a window";
        comm = win->osc.comm;
    } else if (ompi_object_is(object, OMPI_COMM)) {
        ompi_comm_get_name(comm, name);
    } else {
        return;
    }
    opal_text_printf(text, " on %s, rank %d of %d", *name != 0 ? name : kind, comm->rank,
                     comm->size);
}

/* How to get error codes instead. */
static const char *advice(const ompi_object_t *object)
{
    switch (ompi_object_kind(object)) {
    case OMPI_FILE:
        return "MPI_File_set_errhandler(file, MPI_ERRORS_RETURN)";
    case OMPI_SESSION:
        return "MPI_Session_set_errhandler(session, MPI_ERRORS_RETURN)";
    case OMPI_WIN:
        return "MPI_Win_set_errhandler(win, MPI_ERRORS_RETURN)";
    case OMPI_ERRHANDLER:
        return "give this call MPI_ERRORS_RETURN as its error handler";
    default:
        return "MPI_Comm_set_errhandler(comm, MPI_ERRORS_RETURN), or "
               "OMPI_MCA_mpi_initial_errhandler=mpi_errors_return";
    }
}

/* Logs the error once, and ends the job with the error's class as its exit status. */
static void end_job(const ompi_errhandler_t *errhandler, const ompi_object_t *object,
                    const ompi_object_t *about, int code, const char *call, va_list values,
                    const char *detail)
{
    char function[OMPI_API_NAME_BYTES];
    static atomic_flag is_logged = ATOMIC_FLAG_INIT;
    while (atomic_flag_test_and_set(&is_logged))
        pause(); /* another thread is ending the job */

    char string[MPI_MAX_ERROR_STRING];
    int class = ompi_error_class(code);
    ompi_error_string(code, string);
    /* The classes that a user adds do not fit into an exit status. */
    int status = class <= UCHAR_MAX ? class : MPI_ERR_OTHER;

    ompi_api_call_name(call, function);
    opal_text_t text = {0};
    opal_text_add(&text, function);
    describe(&text, about);
    opal_text_printf(&text, ": %s", string);
    if (detail != NULL)
        opal_text_printf(&text, "\n%s", detail);
    opal_text_add(&text, "\n");
    ompi_api_call_print(call, values, &text);
    ompi_api_place_print(&text);
    opal_text_printf(&text,
                     "\nThe error handler %s ends the job with status %d. To get error codes "
                     "instead: %s.",
                     errhandler->action == OMPI_ERRHANDLER_FATAL ? "MPI_ERRORS_ARE_FATAL"
                                                                 : "MPI_ERRORS_ABORT",
                     status, advice(object));
    if (opal_crash_claim())
        opal_log_error("%s", opal_text_string(&text));
    opal_crash_claim_done();
    ompi_runtime_abort(status);
}

/* -- invoking -------------------------------------------------------------------------- */

/* What the user's function gets: the handle of the object, or a null handle if the object is one
 * that was to be made. */
static void *handle_for(const ompi_errhandler_t *errhandler, const ompi_object_t *object)
{
    if (ompi_object_kind(object) == errhandler->target)
        return object->handle;
    return errhandler->target == OMPI_SESSION ? (void *)MPI_SESSION_NULL : (void *)MPI_COMM_NULL;
}

/* The function's name and the detail are the implementation-dependent arguments that the standard
 * allows behind the code; Fortran has no such arguments. */
static int call_user(const ompi_errhandler_t *errhandler, ompi_object_t *object, int code,
                     const char *function, const char *detail)
{
    void *handle = handle_for(errhandler, object);
    if (errhandler->is_fortran) {
        MPI_Fint number = ompi_handle_to_int(errhandler->target, handle);
        errhandler->call.fortran(&number, &code);
        return code;
    }
    switch (errhandler->target) {
    case OMPI_COMM:
        errhandler->call.comm((MPI_Comm *)&handle, &code, function, detail);
        break;
    case OMPI_FILE:
        errhandler->call.file((MPI_File *)&handle, &code, function, detail);
        break;
    case OMPI_SESSION:
        errhandler->call.session((MPI_Session *)&handle, &code, function, detail);
        break;
    case OMPI_WIN:
        errhandler->call.win((MPI_Win *)&handle, &code, function, detail);
        break;
    default:
        abort(); /* ompi_errhandler_create is given one of these */
    }
    return code;
}

/*
 * The handler of a call whose object is NULL or has none; *object becomes the object that has it.
 * The standard says MPI_COMM_SELF; before MPI 4.0 it said MPI_COMM_WORLD, and many programs set a
 * handler there alone.
 */
static ompi_errhandler_t *fallback(ompi_object_t **object)
{
    bool self_first = atomic_load(&ompi_api_self_errhandler_is_set);
    *object = self_first ? &ompi_comm_self.head : &ompi_comm_world.head;
    ompi_errhandler_t *errhandler = ompi_errhandler_get(*object);
    if (errhandler == NULL) {
        *object = &ompi_comm_self.head;
        errhandler = ompi_errhandler_get(*object);
    }
    return errhandler != NULL ? errhandler : ompi_runtime_initial_errhandler();
}

/* The handler of the object; one that is itself the object, for what was to be made, is its own. */
static ompi_errhandler_t *handler_of(ompi_object_t *object)
{
    if (!ompi_object_is(object, OMPI_ERRHANDLER))
        return object != NULL ? ompi_errhandler_get(object) : NULL;
    ompi_object_retain(object);
    return (ompi_errhandler_t *)object;
}

static void remember(int code, const char *function, const char *detail)
{
    last.code = code;
    last.detail[0] = 0;
    if (detail != NULL)
        snprintf(last.detail, sizeof last.detail, "%s: %s", function, detail);
}

const char *ompi_api_last_error_detail(int code)
{
    return last.code == code && last.detail[0] != 0 ? last.detail : NULL;
}

int ompi_api_invoke_for_call(void *about, int code, const char *call, va_list values,
                             const char *detail)
{
    char function[OMPI_API_NAME_BYTES];
    ompi_object_t *object = about;
    ompi_api_call_name(call, function);
    remember(code, function, detail);
    ompi_errhandler_t *errhandler = handler_of(object);
    if (errhandler == NULL)
        errhandler = fallback(&object);
    switch (errhandler->action) {
    case OMPI_ERRHANDLER_FATAL:
    case OMPI_ERRHANDLER_ABORT:
        end_job(errhandler, object, about, code, call, values, detail);
        break;
    case OMPI_ERRHANDLER_RETURN:
        break;
    case OMPI_ERRHANDLER_CALL:
        code = call_user(errhandler, object, code, function, detail);
        break;
    }
    ompi_object_release(&errhandler->head);
    return code;
}

/* With a list of no values. */
static int invoke(void *about, int code, const char *detail, const char *function, ...)
{
    va_list none;
    va_start(none, function);
    code = ompi_api_invoke_for_call(about, code, function, none, detail);
    va_end(none);
    return code;
}

int ompi_api_invoke_errhandler(void *about, int code, const char *function, const char *detail)
{
    return invoke(about, code, detail, function);
}
