/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Error handlers. An error is rare, so one lock is enough for "which handler has this object".
 * It is not held while a handler runs: the handler may set another one, or free itself.
 */
#include "ompi/errhandler/errhandler.h"

#include <limits.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "opal/util/log.h"
#include "opal/util/text.h"
#include "ompi/communicator/communicator.h"
#include "ompi/errhandler/error_code.h"
#include "ompi/runtime/runtime.h"

#define PREDEFINED(errhandler_handle, errhandler_action)                                           \
    {                                                                                              \
        .head = OMPI_OBJECT_PREDEFINED(OMPI_ERRHANDLER, errhandler_handle),                        \
        .action = (errhandler_action)                                                              \
    }

ompi_errhandler_t ompi_errors_are_fatal = PREDEFINED(MPI_ERRORS_ARE_FATAL, OMPI_ERRHANDLER_FATAL);
ompi_errhandler_t ompi_errors_abort = PREDEFINED(MPI_ERRORS_ABORT, OMPI_ERRHANDLER_ABORT);
ompi_errhandler_t ompi_errors_return = PREDEFINED(MPI_ERRORS_RETURN, OMPI_ERRHANDLER_RETURN);

/* The last error of a thread: what its string says beside the class. */
static _Thread_local struct {
    int code;
    char detail[256]; /* "MPI_Reduce: MPI_SUM is not for MPI_BYTE."; empty: nothing is known */
} last;

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER; /* ompi_object_t.errhandler, and: */
static bool self_was_given_one; /* MPI_COMM_SELF has another than the one that it began with */

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
    errhandler->call = call;
    return errhandler;
}

bool ompi_errhandler_fits(const ompi_errhandler_t *errhandler, ompi_kind_t kind)
{
    return errhandler->action != OMPI_ERRHANDLER_CALL || errhandler->target == kind;
}

/* Puts a handler (may be NULL) into the place of the one before. */
static void replace(ompi_object_t *object, ompi_errhandler_t *errhandler)
{
    pthread_mutex_lock(&lock);
    ompi_errhandler_t *before = object->errhandler;
    object->errhandler = errhandler;
    if (object == &ompi_comm_self.head)
        self_was_given_one = before != NULL && errhandler != NULL;
    pthread_mutex_unlock(&lock);
    if (before != NULL)
        ompi_object_release(&before->head);
}

void ompi_errhandler_attach(ompi_object_t *object, ompi_errhandler_t *errhandler)
{
    ompi_object_retain(&errhandler->head);
    replace(object, errhandler);
}

void ompi_errhandler_detach(ompi_object_t *object)
{
    replace(object, NULL);
}

ompi_errhandler_t *ompi_errhandler_get(ompi_object_t *object)
{
    pthread_mutex_lock(&lock);
    ompi_errhandler_t *errhandler = object->errhandler;
    if (errhandler != NULL)
        ompi_object_retain(&errhandler->head);
    pthread_mutex_unlock(&lock);
    return errhandler;
}

static bool ends_job(const ompi_errhandler_t *errhandler)
{
    return errhandler->action == OMPI_ERRHANDLER_FATAL ||
           errhandler->action == OMPI_ERRHANDLER_ABORT;
}

bool ompi_errhandler_ends_job(ompi_object_t *object)
{
    ompi_errhandler_t *errhandler = ompi_errhandler_get(object);
    if (errhandler == NULL)
        return false;
    bool ends = ends_job(errhandler);
    ompi_object_release(&errhandler->head);
    return ends;
}

/* "on MPI_COMM_WORLD, rank 2 of 4" */
static void describe(opal_text_t *text, const ompi_object_t *object)
{
    if (!ompi_object_is(object, OMPI_COMM))
        return;
    const ompi_communicator_t *comm = (const ompi_communicator_t *)object;
    char name[MPI_MAX_OBJECT_NAME];
    ompi_comm_get_name(comm, name);
    opal_text_printf(text, " on %s, rank %d of %d", *name != 0 ? name : "a communicator",
                     comm->rank, comm->size);
}

/* How to get error codes instead. */
static const char *advice(const ompi_object_t *told)
{
    switch (ompi_object_kind(told)) {
    case OMPI_FILE:
        return "MPI_File_set_errhandler(file, MPI_ERRORS_RETURN)";
    case OMPI_SESSION:
        return "MPI_Session_set_errhandler(session, MPI_ERRORS_RETURN)";
    case OMPI_WIN:
        return "MPI_Win_set_errhandler(win, MPI_ERRORS_RETURN)";
    default:
        return "MPI_Comm_set_errhandler(comm, MPI_ERRORS_RETURN), or "
               "OMPI_MCA_mpi_initial_errhandler=mpi_errors_return";
    }
}

/* Says what happened, once, and ends the job with the error's class as its exit status. */
static void end_job(const ompi_errhandler_t *errhandler, const ompi_object_t *told,
                    const ompi_object_t *about, int code, const char *function, const char *detail)
{
    static atomic_flag said = ATOMIC_FLAG_INIT;
    while (atomic_flag_test_and_set(&said))
        pause(); /* another thread is ending the job */

    char string[MPI_MAX_ERROR_STRING];
    int class = ompi_error_class(code);
    ompi_error_string(code, string);
    /* The classes that a user adds do not fit into an exit status. */
    int status = class <= UCHAR_MAX ? class : MPI_ERR_OTHER;

    opal_text_t text = {0};
    opal_text_add(&text, function);
    describe(&text, about);
    opal_text_printf(&text, ": %s", string);
    if (detail != NULL)
        opal_text_printf(&text, "\n%s", detail);
    opal_text_printf(&text,
                     "\nThe error handler %s ends the job with status %d. To get error codes "
                     "instead: %s.",
                     errhandler->action == OMPI_ERRHANDLER_FATAL ? "MPI_ERRORS_ARE_FATAL"
                                                                 : "MPI_ERRORS_ABORT",
                     status, advice(told));
    opal_log_error("%s", opal_text_string(&text));
    ompi_runtime_abort(status);
}

/* The function's name and the detail go along as the standard's implementation-dependent rest. */
static void call_user(const ompi_errhandler_t *errhandler, ompi_object_t *object, int code,
                      const char *function, const char *detail)
{
    void *handle = object->handle;
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
}

/*
 * The handler of who is told instead when the call was about nobody who has one. The standard
 * says MPI_COMM_SELF; before MPI 4.0 it said MPI_COMM_WORLD, and many programs set a handler
 * there alone.
 */
static ompi_errhandler_t *fallback(ompi_object_t **object)
{
    pthread_mutex_lock(&lock);
    bool self_first = self_was_given_one;
    pthread_mutex_unlock(&lock);
    *object = self_first ? &ompi_comm_self.head : &ompi_comm_world.head;
    ompi_errhandler_t *errhandler = ompi_errhandler_get(*object);
    if (errhandler == NULL) {
        *object = &ompi_comm_self.head;
        errhandler = ompi_errhandler_get(*object);
    }
    return errhandler != NULL ? errhandler : ompi_runtime_initial_errhandler();
}

static void remember(int code, const char *function, const char *detail)
{
    last.code = code;
    last.detail[0] = 0;
    if (detail != NULL)
        snprintf(last.detail, sizeof last.detail, "%s: %s", function, detail);
}

const char *ompi_errhandler_detail(int code)
{
    return last.code == code && last.detail[0] != 0 ? last.detail : NULL;
}

int ompi_errhandler_invoke(void *about, int code, const char *function, const char *detail)
{
    ompi_object_t *told = about;
    remember(code, function, detail);
    ompi_errhandler_t *errhandler = told != NULL ? ompi_errhandler_get(told) : NULL;
    if (errhandler == NULL)
        errhandler = fallback(&told);
    switch (errhandler->action) {
    case OMPI_ERRHANDLER_FATAL:
    case OMPI_ERRHANDLER_ABORT:
        end_job(errhandler, told, about, code, function, detail);
        break;
    case OMPI_ERRHANDLER_RETURN:
        break;
    case OMPI_ERRHANDLER_CALL:
        call_user(errhandler, told, code, function, detail);
        break;
    }
    ompi_object_release(&errhandler->head);
    return code;
}
