/* SPDX-License-Identifier: BSD-3-Clause */
/* ompi/errhandler/errhandler.c: who is told of an error, and what becomes of it. */
#include "ompi/errhandler/errhandler.h"

#include <stdarg.h>
#include <sys/wait.h>

#include "ompi/communicator/communicator.h"
#include "opal/process/process.h"
#include "test/unit/opal/support.h"

static struct {
    int calls, code;
    void *handle;
    const char *function, *detail;
} told;

static void hear(void *handle, int code, va_list rest)
{
    told.calls++;
    told.handle = handle;
    told.code = code;
    told.function = va_arg(rest, const char *);
    told.detail = va_arg(rest, const char *);
}

/* One for each kind that can have a handler. */
#define HANDLER(kind)                                                                              \
    static void hear_##kind(MPI_##kind *handle, int *code, ...)                                    \
    {                                                                                              \
        va_list rest;                                                                              \
        va_start(rest, code);                                                                      \
        hear(*handle, *code, rest);                                                                \
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
    {OMPI_COMM, {.comm = hear_Comm}},
    {OMPI_FILE, {.file = hear_File}},
    {OMPI_SESSION, {.session = hear_Session}},
    {OMPI_WIN, {.win = hear_Win}},
};

START_TEST(every_kind_is_told)
{
    ompi_object_t object;
    ompi_object_init(&object, targets[_i].kind, destroy);
    ompi_errhandler_t *mine = ompi_errhandler_create(targets[_i].kind, targets[_i].call);
    ompi_errhandler_attach(&object, mine);
    ompi_object_release(&mine->head);
    ck_assert_int_eq(ompi_errhandler_invoke(&object, MPI_ERR_IO, "MPI_Do", "why"), MPI_ERR_IO);
    ck_assert_int_eq(told.calls, 1);
    ck_assert_int_eq(told.code, MPI_ERR_IO);
    ck_assert_ptr_eq(told.handle, &object);
    ck_assert_str_eq(told.function, "MPI_Do");
    ck_assert_str_eq(told.detail, "why");
    ompi_object_release(&object);
}
END_TEST

START_TEST(a_handler_fits_its_kind)
{
    ompi_errhandler_t *mine = ompi_errhandler_create(OMPI_WIN, targets[3].call);
    ck_assert(ompi_errhandler_fits(mine, OMPI_WIN));
    ck_assert(!ompi_errhandler_fits(mine, OMPI_COMM));
    ck_assert(ompi_errhandler_fits(&ompi_errors_return, OMPI_WIN));
    ck_assert(ompi_errhandler_fits(&ompi_errors_return, OMPI_COMM));
    ompi_object_release(&mine->head);
}
END_TEST

START_TEST(nobody_in_particular_is_self)
{
    ompi_errhandler_t *mine = ompi_errhandler_create(OMPI_COMM, targets[0].call);
    ompi_errhandler_attach(&ompi_comm_self.head, mine);
    ompi_errhandler_invoke(NULL, MPI_ERR_ARG, "MPI_Do", NULL);
    ck_assert_int_eq(told.calls, 1);
    ck_assert_ptr_eq(told.handle, MPI_COMM_SELF);
    ck_assert_ptr_null(told.detail);

    ompi_object_t group; /* an object of a kind that has no handlers */
    ompi_object_init(&group, OMPI_GROUP, destroy);
    ompi_errhandler_invoke(&group, MPI_ERR_ARG, "MPI_Do", NULL);
    ck_assert_int_eq(told.calls, 2);
    ck_assert_ptr_eq(told.handle, MPI_COMM_SELF);
    ompi_object_release(&mine->head);
}
END_TEST

START_TEST(get_and_detach)
{
    ompi_errhandler_t *mine = ompi_errhandler_create(OMPI_COMM, targets[0].call);
    ompi_errhandler_attach(&ompi_comm_world.head, mine);
    ck_assert_int_eq(atomic_load(&mine->head.references), 2);
    ck_assert_ptr_eq(ompi_errhandler_get(&ompi_comm_world.head), mine);
    ck_assert_int_eq(atomic_load(&mine->head.references), 3);
    ompi_object_release(&mine->head);
    ompi_errhandler_attach(&ompi_comm_world.head, &ompi_errors_return);
    ck_assert_int_eq(atomic_load(&mine->head.references), 1);
    ck_assert_int_eq(ompi_errhandler_invoke(&ompi_comm_world, MPI_ERR_ARG, "MPI_Do", NULL),
                     MPI_ERR_ARG);
    ck_assert_int_eq(told.calls, 0);
    ompi_errhandler_detach(&ompi_comm_world.head);
    ck_assert_ptr_null(ompi_errhandler_get(&ompi_comm_world.head));
    ompi_object_release(&mine->head);
}
END_TEST

/* Outside of MPI_Init and MPI_Finalize the parameter decides. */
START_TEST(the_parameter_names_the_initial_handler)
{
    ompi_comm_fini();
    setenv("OMPI_MCA_mpi_initial_errhandler", "mpi_errors_return", 1);
    ck_assert_int_eq(ompi_errhandler_invoke(NULL, MPI_ERR_OTHER, "MPI_Do", NULL), MPI_ERR_OTHER);
}
END_TEST

/* The handler ends the process, in which stderr is captured; returns what it said. */
static const char *say_last_words(int code, int *status)
{
    unit_capture();
    pid_t child = fork();
    if (child == 0) {
        ompi_errhandler_invoke(&ompi_comm_world, code, "MPI_Do", "It cannot be done.");
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
    {.test = &every_kind_is_told, .repeats = OPAL_COUNT_OF(targets)},
    {.test = &a_handler_fits_its_kind},
    {.test = &nobody_in_particular_is_self},
    {.test = &get_and_detach},
    {.test = &the_parameter_names_the_initial_handler},
    {.test = &fatal_says_everything_once},
    {.test = &what_is_no_code_is_fatal_too},
};

UNIT_MAIN("errhandler", tests, setup);
