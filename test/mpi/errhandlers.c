/* SPDX-License-Identifier: BSD-3-Clause */
/* Error handlers of communicators: predefined ones, the program's, and what they are told. */
#include <mpi.h>
#include <stdarg.h>
#include <string.h>

#include "tap.h"

static struct {
    int calls;
    MPI_Comm comm;
    int code;
    char function[64];
} handled;

static void remember(MPI_Comm *comm, int *error_code, ...)
{
    va_list rest;
    va_start(rest, error_code);
    handled.calls++;
    handled.comm = *comm;
    handled.code = *error_code;
    snprintf(handled.function, sizeof handled.function, "%s", va_arg(rest, const char *));
    va_end(rest);
}

static void forget(void)
{
    memset(&handled, 0, sizeof handled);
}

static bool was_told(MPI_Comm comm, int code, const char *function)
{
    return handled.calls == 1 && handled.comm == comm && handled.code == code &&
           strcmp(handled.function, function) == 0;
}

static void check_user_handler(void)
{
    MPI_Errhandler mine = MPI_ERRHANDLER_NULL, got = MPI_ERRHANDLER_NULL;
    MPI_Comm other;
    int rank;
    tap_check(MPI_Comm_create_errhandler(remember, &mine) == MPI_SUCCESS &&
                  mine != MPI_ERRHANDLER_NULL,
              "a handler is created");
    tap_check(MPI_Comm_set_errhandler(MPI_COMM_WORLD, mine) == MPI_SUCCESS, "and set");
    MPI_Comm_get_errhandler(MPI_COMM_WORLD, &got);
    tap_check(got == mine, "MPI_Comm_get_errhandler gives it");
    MPI_Errhandler_free(&got);
    tap_check(got == MPI_ERRHANDLER_NULL, "MPI_Errhandler_free clears the handle");
    MPI_Errhandler_free(&mine);

    forget();
    tap_check(MPI_Comm_rank(MPI_COMM_WORLD, NULL) == MPI_ERR_ARG &&
                  was_told(MPI_COMM_WORLD, MPI_ERR_ARG, "MPI_Comm_rank"),
              "freed but still set, it is told of a NULL argument");
    forget();
    tap_check(MPI_Comm_connect("nowhere", MPI_INFO_NULL, 0, MPI_COMM_WORLD, &other) ==
                      MPI_ERR_PORT &&
                  was_told(MPI_COMM_WORLD, MPI_ERR_PORT, "MPI_Comm_connect"),
              "of a body that fails, with the function's name");
    forget();
    tap_check(MPI_Comm_call_errhandler(MPI_COMM_WORLD, MPI_ERR_IO) == MPI_SUCCESS &&
                  was_told(MPI_COMM_WORLD, MPI_ERR_IO, "MPI_Comm_call_errhandler"),
              "and by MPI_Comm_call_errhandler, which succeeds");
    forget();
    tap_check(MPI_Comm_rank(MPI_COMM_WORLD, &rank) == MPI_SUCCESS && handled.calls == 0,
              "a call that succeeds tells nobody");
}

/* A program that knows only MPI_COMM_WORLD's handler is heard. */
static void check_world_alone(void)
{
    MPI_Errhandler mine;
    int rank;
    MPI_Comm_create_errhandler(remember, &mine);
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, mine);
    MPI_Errhandler_free(&mine);
    forget();
    tap_check(MPI_Comm_rank(MPI_COMM_NULL, &rank) == MPI_ERR_COMM &&
                  was_told(MPI_COMM_WORLD, MPI_ERR_COMM, "MPI_Comm_rank"),
              "MPI_COMM_SELF was given no handler: MPI_COMM_WORLD's is told");
    MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_RETURN);
    forget();
    tap_check(MPI_Comm_rank(MPI_COMM_NULL, &rank) == MPI_ERR_COMM && handled.calls == 0,
              "MPI_COMM_SELF was given one: MPI_COMM_WORLD's is not told");
}

/* Errors that belong to no object go to MPI_COMM_SELF. */
static void check_self(void)
{
    MPI_Errhandler mine;
    int rank;
    MPI_Group group;
    MPI_Comm_create_errhandler(remember, &mine);
    MPI_Comm_set_errhandler(MPI_COMM_SELF, mine);
    MPI_Errhandler_free(&mine);
    forget();
    tap_check(MPI_Comm_rank(MPI_COMM_NULL, &rank) == MPI_ERR_COMM &&
                  was_told(MPI_COMM_SELF, MPI_ERR_COMM, "MPI_Comm_rank"),
              "MPI_COMM_NULL: MPI_COMM_SELF's handler is told");
    forget();
    tap_check(MPI_Comm_rank((MPI_Comm)MPI_INFO_ENV, &rank) == MPI_ERR_COMM && handled.calls == 1,
              "a handle of another kind is no communicator");
    forget();
    tap_check(MPI_Group_incl(MPI_GROUP_EMPTY, 1, NULL, &group) == MPI_ERR_ARG &&
                  was_told(MPI_COMM_SELF, MPI_ERR_ARG, "MPI_Group_incl"),
              "a function without a communicator: likewise");
    forget();
    tap_check(PMPI_Comm_rank(MPI_COMM_NULL, &rank) == MPI_ERR_COMM && handled.calls == 1,
              "PMPI_Comm_rank is the same function");
    MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_RETURN);
}

static void check_initial(MPI_Comm comm, const char *name)
{
    MPI_Errhandler errhandler = MPI_ERRHANDLER_NULL;
    MPI_Comm_get_errhandler(comm, &errhandler);
    tap_check(errhandler == MPI_ERRORS_ARE_FATAL, "%s begins with the fatal one", name);
}

static void check_predefined(void)
{
    MPI_Errhandler errhandler = MPI_ERRHANDLER_NULL;
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    tap_check(MPI_Comm_rank(MPI_COMM_WORLD, NULL) == MPI_ERR_ARG, "MPI_ERRORS_RETURN returns");
    tap_check(MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRHANDLER_NULL) == MPI_ERR_ERRHANDLER,
              "MPI_ERRHANDLER_NULL cannot be set");
    MPI_Comm_get_errhandler(MPI_COMM_WORLD, &errhandler);
    tap_check(errhandler == MPI_ERRORS_RETURN, "and the one before stays");
}

static void window_handler(MPI_Win *win, int *error_code, ...)
{
    (void)win;
    (void)error_code;
}

static struct {
    int calls, code;
    MPI_File file;
} file_told;

static void file_handler(MPI_File *file, int *error_code, ...)
{
    file_told.calls++;
    file_told.code = *error_code;
    file_told.file = *file;
}

static void session_handler(MPI_Session *session, int *error_code, ...)
{
    (void)session;
    (void)error_code;
}

static void check_other_kinds(void)
{
    const char *const kinds[] = {"windows", "files", "sessions"};
    MPI_Errhandler errhandlers[3], errhandler;
    tap_check(MPI_Win_create_errhandler(window_handler, &errhandlers[0]) == MPI_SUCCESS &&
                  MPI_File_create_errhandler(file_handler, &errhandlers[1]) == MPI_SUCCESS &&
                  MPI_Session_create_errhandler(session_handler, &errhandlers[2]) == MPI_SUCCESS,
              "handlers for other objects are created");
    for (int i = 0; i < 3; i++) {
        tap_check(MPI_Comm_set_errhandler(MPI_COMM_WORLD, errhandlers[i]) == MPI_ERR_ERRHANDLER,
                  "a communicator refuses one for %s", kinds[i]);
        MPI_Errhandler_free(&errhandlers[i]);
    }
    tap_check(MPI_Comm_create_errhandler(NULL, &errhandler) == MPI_ERR_ARG, "NULL is no handler");
}

/* Files have a default handler, which MPI_FILE_NULL stands for. It begins with MPI_ERRORS_RETURN:
 * programs try to open files, and go on without. */
static void check_files(void)
{
    MPI_Errhandler mine, got = MPI_ERRHANDLER_NULL;
    MPI_File file = (MPI_File)&file_told;
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_ARE_FATAL);
    MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_ARE_FATAL);
    tap_check(MPI_File_get_errhandler(MPI_FILE_NULL, &got) == MPI_SUCCESS &&
                  got == MPI_ERRORS_RETURN,
              "files begin with MPI_ERRORS_RETURN");
    tap_check(MPI_File_open(MPI_COMM_WORLD, "nothing", MPI_MODE_RDONLY, MPI_INFO_NULL, &file) ==
                      MPI_ERR_NO_SUCH_FILE &&
                  file == MPI_FILE_NULL,
              "MPI_File_open returns its code, and no file");
    tap_check(MPI_File_delete("nothing", MPI_INFO_NULL) == MPI_ERR_NO_SUCH_FILE,
              "so does MPI_File_delete");
    tap_check(MPI_File_call_errhandler(MPI_FILE_NULL, MPI_ERR_IO) == MPI_ERR_FILE,
              "MPI_FILE_NULL is no file");
    MPI_File_create_errhandler(file_handler, &mine);
    tap_check(MPI_File_set_errhandler(MPI_FILE_NULL, mine) == MPI_SUCCESS &&
                  MPI_File_get_errhandler(MPI_FILE_NULL, &got) == MPI_SUCCESS && got == mine,
              "another one is set");
    MPI_Errhandler_free(&got);
    tap_check(MPI_File_delete("nothing", MPI_INFO_NULL) == MPI_ERR_NO_SUCH_FILE &&
                  file_told.calls == 1 && file_told.code == MPI_ERR_NO_SUCH_FILE &&
                  file_told.file == MPI_FILE_NULL,
              "and is told");
    MPI_Comm_create_errhandler(remember, &got);
    tap_check(MPI_File_set_errhandler(MPI_FILE_NULL, got) == MPI_ERR_ERRHANDLER &&
                  file_told.calls == 2,
              "one for communicators is not for files");
    MPI_Errhandler_free(&got);
    MPI_Errhandler_free(&mine); /* it stays set until MPI_Finalize */
}

/* A code's string says more about the last error of the thread. */
static void check_details(void)
{
    char string[MPI_MAX_ERROR_STRING];
    int length, in = 0, out;
    MPI_Comm comm;
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    int code = MPI_Comm_connect("nowhere", MPI_INFO_NULL, 0, MPI_COMM_WORLD, &comm);
    MPI_Error_string(code, string, &length);
    tap_check(strstr(string, "MPI_ERR_PORT") == string &&
                  strstr(string, "MPI_Comm_connect") != NULL && length == (int)strlen(string),
              "the name that is no port's: %s", string);
    MPI_Error_string(MPI_ERR_IO, string, &length);
    tap_check(strstr(string, "MPI_Comm_connect") == NULL, "of another code nothing is known");
    code = MPI_Allreduce(&in, &out, 1, MPI_FLOAT, MPI_BAND, MPI_COMM_WORLD);
    MPI_Error_string(code, string, &length);
    tap_check(strstr(string, "MPI_Allreduce") != NULL && strstr(string, "MPI_BAND") != NULL &&
                  strstr(string, "MPI_FLOAT") != NULL,
              "the operation and the type: %s", string);
    MPI_Comm_call_errhandler(MPI_COMM_WORLD, MPI_ERR_OP);
    MPI_Error_string(MPI_ERR_OP, string, &length);
    tap_check(strstr(string, "MPI_BAND") == NULL, "it is forgotten with the next error");
}

int main(int argc, char **argv)
{
    int rank = -1;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    tap_rank(rank);
    check_initial(MPI_COMM_WORLD, "MPI_COMM_WORLD");
    check_initial(MPI_COMM_SELF, "MPI_COMM_SELF");
    check_world_alone();
    check_predefined();
    check_user_handler();
    check_self();
    check_other_kinds();
    check_details();
    check_files();
    MPI_Finalize();
    return tap_finish();
}
