/* SPDX-License-Identifier: BSD-3-Clause */
/* ompi/api/error.c: which error handler is invoked, and what it does. */
#include <stdarg.h>
#include <stdio.h>
#include <sys/wait.h>

#include "opal/process/process.h"
#include "ompi/api/bodies.h"
#include "test/unit/opal/support.h"

static struct {
    int calls, code;
    void *handle;
    char function[64];
    const char *detail;
} seen;

static void record(void *handle, int code, va_list rest)
{
    seen.calls++;
    seen.handle = handle;
    seen.code = code;
    snprintf(seen.function, sizeof seen.function, "%s", va_arg(rest, const char *));
    seen.detail = va_arg(rest, const char *);
}

/* One for each kind that can have a handler. */
#define HANDLER(kind)                                                                              \
    static void handle_##kind(MPI_##kind *handle, int *code, ...)                                  \
    {                                                                                              \
        va_list rest;                                                                              \
        va_start(rest, code);                                                                      \
        record(*handle, *code, rest);                                                              \
        va_end(rest);                                                                              \
    }
HANDLER(Comm)
HANDLER(File)
HANDLER(Session)
HANDLER(Win)

static void destroy(ompi_object_t *object OPAL_UNUSED)
{
}

static void setup(void)
{
    opal_process_own_size = 5;
    ompi_comm_init(2, 5, &ompi_errors_are_fatal);
}

static const struct {
    ompi_kind_t kind;
    ompi_errhandler_fn_t call;
} targets[] = {
    {OMPI_COMM, {.comm = handle_Comm}},
    {OMPI_FILE, {.file = handle_File}},
    {OMPI_SESSION, {.session = handle_Session}},
    {OMPI_WIN, {.win = handle_Win}},
};

START_TEST(every_kind_has_its_handler_invoked)
{
    ompi_object_t object;
    ompi_object_init(&object, targets[_i].kind, destroy);
    ompi_errhandler_t *mine = ompi_errhandler_create(targets[_i].kind, targets[_i].call);
    ompi_errhandler_attach(&object, mine);
    ompi_object_release(&mine->head);
    ck_assert_int_eq(ompi_api_invoke_errhandler(&object, MPI_ERR_IO, "MPI_Do", "why"), MPI_ERR_IO);
    ck_assert_int_eq(seen.calls, 1);
    ck_assert_int_eq(seen.code, MPI_ERR_IO);
    ck_assert_ptr_eq(seen.handle, &object);
    ck_assert_str_eq(seen.function, "MPI_Do");
    ck_assert_str_eq(seen.detail, "why");
    ompi_object_release(&object);
}
END_TEST

static struct {
    int calls;
    MPI_Fint handle, code;
} seen_in_fortran;

static void handle_in_fortran(MPI_Fint *handle, MPI_Fint *code)
{
    seen_in_fortran.calls++;
    seen_in_fortran.handle = *handle;
    seen_in_fortran.code = *code;
}

/* A handler in Fortran gets the number of the object. */
START_TEST(every_kind_has_its_handler_in_fortran_invoked)
{
    ompi_object_t object;
    ompi_kind_t kind = targets[_i].kind;
    ompi_object_init(&object, kind, destroy);
    ompi_errhandler_t *mine =
        ompi_errhandler_create(kind, (ompi_errhandler_fn_t){.fortran = handle_in_fortran});
    ompi_errhandler_set_fortran(mine);
    ompi_errhandler_attach(&object, mine);
    ompi_object_release(&mine->head);
    ck_assert_int_eq(ompi_api_invoke_errhandler(&object, MPI_ERR_IO, "MPI_Do", "why"), MPI_ERR_IO);
    ck_assert_int_eq(seen_in_fortran.calls, 1);
    ck_assert_int_eq(seen_in_fortran.code, MPI_ERR_IO);
    ck_assert_ptr_eq(ompi_handle_from_int(kind, seen_in_fortran.handle), &object);
    ompi_object_release(&object);
}
END_TEST

/* For what was to be made there is a null handle. */
START_TEST(a_handler_in_fortran_gets_null_handles)
{
    ompi_kind_t kind = _i == 0 ? OMPI_COMM : OMPI_SESSION;
    ompi_errhandler_t *mine =
        ompi_errhandler_create(kind, (ompi_errhandler_fn_t){.fortran = handle_in_fortran});
    ompi_errhandler_set_fortran(mine);
    ompi_api_invoke_errhandler(&mine->head, MPI_ERR_NO_MEM, "MPI_Do", NULL);
    ck_assert_int_eq(seen_in_fortran.calls, 1);
    ck_assert_ptr_eq(ompi_handle_from_int(kind, seen_in_fortran.handle),
                     _i == 0 ? (void *)MPI_COMM_NULL : (void *)MPI_SESSION_NULL);
    ompi_object_release(&mine->head);
}
END_TEST

START_TEST(without_an_object_it_is_that_of_self)
{
    ompi_errhandler_t *mine = ompi_errhandler_create(OMPI_COMM, targets[0].call);
    ck_assert_int_eq(ompi_api_comm_set_errhandler(&ompi_comm_self, mine), MPI_SUCCESS);
    ompi_api_invoke_errhandler(NULL, MPI_ERR_ARG, "MPI_Do", NULL);
    ck_assert_int_eq(seen.calls, 1);
    ck_assert_ptr_eq(seen.handle, MPI_COMM_SELF);
    ck_assert_ptr_null(seen.detail);

    ompi_object_t group; /* an object of a kind that has no handlers */
    ompi_object_init(&group, OMPI_GROUP, destroy);
    ompi_api_invoke_errhandler(&group, MPI_ERR_ARG, "MPI_Do", NULL);
    ck_assert_int_eq(seen.calls, 2);
    ck_assert_ptr_eq(seen.handle, MPI_COMM_SELF);
    ompi_object_release(&mine->head);
}
END_TEST

/* Outside of MPI_Init and MPI_Finalize the parameter decides. */
START_TEST(the_parameter_names_the_initial_handler)
{
    ompi_comm_fini();
    setenv("OMPI_MCA_mpi_initial_errhandler", "mpi_errors_return", 1);
    ck_assert_int_eq(ompi_api_invoke_errhandler(NULL, MPI_ERR_OTHER, "MPI_Do", NULL),
                     MPI_ERR_OTHER);
}
END_TEST

/* The handler ends the process, in which stderr is captured; returns what it said. */
static const char *say_last_words(int code, int *status)
{
    unit_capture();
    pid_t child = fork();
    if (child == 0) {
        ompi_api_invoke_errhandler(&ompi_comm_world, code, "MPI_Do", "It cannot be done.");
        _exit(0);
    }
    int wait_status;
    ck_assert_int_eq(waitpid(child, &wait_status, 0), child);
    ck_assert(WIFEXITED(wait_status));
    *status = WEXITSTATUS(wait_status);
    return unit_stderr();
}

START_TEST(fatal_says_everything_once)
{
    int status;
    const char *words = say_last_words(MPI_ERR_TRUNCATE, &status);
    ck_assert_int_eq(status, MPI_ERR_TRUNCATE);
    unit_assert_part(words, "MPI_Do on MPI_COMM_WORLD, rank 2 of 5: MPI_ERR_TRUNCATE: ");
    unit_assert_part(words, "It cannot be done.");
    unit_assert_part(words, "MPI_ERRORS_ARE_FATAL ends the job with status 15");
    unit_assert_part(words, "MPI_ERRORS_RETURN");
    ck_assert_uint_eq(unit_count(words, "error:"), 1);
}
END_TEST

START_TEST(what_is_no_code_is_fatal_too)
{
    int status;
    const char *words = say_last_words(123456, &status);
    ck_assert_int_eq(status, MPI_ERR_UNKNOWN);
    unit_assert_part(words, "123456 is not an error code");
}
END_TEST

static const unit_test_t tests[] = {
    {.test = &every_kind_has_its_handler_invoked, .repeats = OPAL_COUNT_OF(targets)},
    {.test = &every_kind_has_its_handler_in_fortran_invoked, .repeats = OPAL_COUNT_OF(targets)},
    {.test = &a_handler_in_fortran_gets_null_handles, .repeats = 2},
    {.test = &without_an_object_it_is_that_of_self},
    {.test = &the_parameter_names_the_initial_handler},
    {.test = &fatal_says_everything_once},
    {.test = &what_is_no_code_is_fatal_too},
};

UNIT_MAIN("error", tests, setup);
