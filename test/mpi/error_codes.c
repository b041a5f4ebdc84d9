/* SPDX-License-Identifier: BSD-3-Clause */
/* Error classes, codes and strings: the standard's and the program's own. */
#include <mpi.h>
#include <string.h>

#include "tap.h"

static bool has_string(int code, const char *wanted)
{
    char string[MPI_MAX_ERROR_STRING];
    int length = -1;
    return MPI_Error_string(code, string, &length) == MPI_SUCCESS && strcmp(string, wanted) == 0 &&
           length == (int)strlen(wanted);
}

static void check_standard(void)
{
    char string[MPI_MAX_ERROR_STRING];
    int named = 0, class = -1, length = -1;
    for (int code = 0; code <= MPI_ERR_ABI; code++) {
        if (MPI_Error_class(code, &class) == MPI_SUCCESS && class == code &&
            MPI_Error_string(code, string, &length) == MPI_SUCCESS &&
            strncmp(string, "MPI_", 4) == 0 && (int)strlen(string) == length)
            named++;
    }
    tap_check(named == MPI_ERR_ABI + 1, "%d classes have a string with their name", named);
    tap_check(MPI_Error_string(MPI_T_ERR_INVALID_NAME, string, &length) == MPI_SUCCESS,
              "the tool interface's too");
    tap_check(MPI_Error_class(-1, &class) == MPI_ERR_ARG, "-1 is no code");
    tap_check(MPI_Error_string(MPI_ERR_LASTCODE, string, &length) == MPI_ERR_ARG,
              "nor is MPI_ERR_LASTCODE");
    tap_check(MPI_Add_error_string(MPI_ERR_IO, "mine") == MPI_ERR_ARG,
              "the string of a standard class cannot be changed");
    tap_check(MPI_Remove_error_class(MPI_ERR_IO) == MPI_ERR_ARG, "nor the class removed");
}

static void check_added(void)
{
    int mine = 0, code = 0, io_code = 0, class = 0;
    tap_check(MPI_Add_error_class(&mine) == MPI_SUCCESS && mine > MPI_ERR_LASTCODE,
              "an added class has a number above MPI_ERR_LASTCODE");
    tap_check(MPI_Add_error_code(mine, &code) == MPI_SUCCESS && code > MPI_ERR_LASTCODE,
              "so has a code of it");
    tap_check(MPI_Error_class(code, &class) == MPI_SUCCESS && class == mine, "which has the class");
    tap_check(MPI_Error_class(mine, &class) == MPI_SUCCESS && class == mine,
              "the class is its own class");
    tap_check(MPI_Add_error_code(MPI_ERR_IO, &io_code) == MPI_SUCCESS &&
                  MPI_Error_class(io_code, &class) == MPI_SUCCESS && class == MPI_ERR_IO,
              "a standard class takes a code");
    tap_check(MPI_Add_error_code(code, &class) == MPI_ERR_ARG, "a code is no class");
    tap_check(MPI_Add_error_code(MPI_SUCCESS, &class) == MPI_ERR_ARG, "nor is success");

    tap_check(has_string(code, ""), "without a string it has an empty one");
    tap_check(MPI_Add_error_string(code, "the moon is gone") == MPI_SUCCESS &&
                  has_string(code, "the moon is gone"),
              "it gets a string");
    tap_check(MPI_Add_error_string(code, "it is back") == MPI_SUCCESS &&
                  has_string(code, "it is back"),
              "and another one");
    tap_check(MPI_Remove_error_code(code) == MPI_ERR_ARG && has_string(code, "it is back"),
              "a code with a string stays");
    tap_check(MPI_Remove_error_string(code) == MPI_SUCCESS && has_string(code, ""),
              "the string is removed");
    tap_check(MPI_Remove_error_string(code) == MPI_ERR_ARG, "once");

    tap_check(MPI_Remove_error_class(mine) == MPI_ERR_ARG, "a class with codes stays");
    tap_check(MPI_Remove_error_class(code) == MPI_ERR_ARG, "a code is not removed as a class");
    tap_check(MPI_Remove_error_code(mine) == MPI_ERR_ARG, "nor a class as a code");
    tap_check(MPI_Remove_error_code(code) == MPI_SUCCESS &&
                  MPI_Error_class(code, &class) == MPI_ERR_ARG,
              "a removed code is none");
    tap_check(MPI_Remove_error_class(mine) == MPI_SUCCESS &&
                  MPI_Error_class(mine, &class) == MPI_ERR_ARG,
              "nor is a removed class");
    tap_check(MPI_Remove_error_code(io_code) == MPI_SUCCESS, "everything is removed");
}

static void check_long_string(void)
{
    char string[2 * MPI_MAX_ERROR_STRING], got[MPI_MAX_ERROR_STRING];
    int class, length;
    memset(string, 'x', sizeof string - 1);
    string[sizeof string - 1] = 0;
    MPI_Add_error_class(&class);
    tap_check(MPI_Add_error_string(class, string) == MPI_SUCCESS &&
                  MPI_Error_string(class, got, &length) == MPI_SUCCESS &&
                  length == MPI_MAX_ERROR_STRING - 1 && strlen(got) == (size_t)length,
              "a string that is too long is cut");
    MPI_Remove_error_class(class);
}

int main(int argc, char **argv)
{
    int rank = -1;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    tap_rank(rank);
    MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_RETURN);
    check_standard();
    check_added();
    check_long_string();
    MPI_Finalize();
    return tap_finish();
}
