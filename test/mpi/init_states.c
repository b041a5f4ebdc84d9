/* SPDX-License-Identifier: BSD-3-Clause */
/* What MPI says of itself before MPI_Init, between, and after MPI_Finalize. */
#include <mpi.h>
#include <string.h>

#include "tap.h"

static void check_flags(const char *when, int initialized, int finalized)
{
    int flag = -1;
    tap_check(MPI_Initialized(&flag) == MPI_SUCCESS && flag == initialized, "%s, initialized: %d",
              when, initialized);
    flag = -1;
    tap_check(MPI_Finalized(&flag) == MPI_SUCCESS && flag == finalized, "%s, finalized: %d", when,
              finalized);
}

/* Calls that are legal at any time. */
static void check_anytime(const char *when)
{
    char text[MPI_MAX_LIBRARY_VERSION_STRING];
    int major = 0, minor = -1, length = 0, class = -1, code = -1;
    MPI_Errhandler errhandler = MPI_ERRORS_RETURN;
    MPI_Get_version(&major, &minor);
    tap_check(major == 5 && minor == 0, "%s, MPI 5.0", when);
    MPI_Abi_get_version(&major, &minor);
    tap_check(major == 1 && minor == 0, "%s, ABI 1.0", when);
    MPI_Get_library_version(text, &length);
    tap_check(strncmp(text, "Mica ", 5) == 0 && (int)strlen(text) == length, "%s, \"%s\"", when,
              text);
    MPI_Error_class(MPI_ERR_TRUNCATE, &class);
    tap_check(class == MPI_ERR_TRUNCATE, "%s, MPI_Error_class", when);
    tap_check(MPI_Error_string(MPI_ERR_TRUNCATE, text, &length) == MPI_SUCCESS &&
                  strstr(text, "MPI_ERR_TRUNCATE") != NULL,
              "%s, MPI_Error_string", when);
    tap_check(MPI_Add_error_class(&class) == MPI_SUCCESS &&
                  MPI_Add_error_code(class, &code) == MPI_SUCCESS &&
                  MPI_Remove_error_code(code) == MPI_SUCCESS &&
                  MPI_Remove_error_class(class) == MPI_SUCCESS,
              "%s, an error class comes and goes", when);
    tap_check(MPI_Errhandler_free(&errhandler) == MPI_SUCCESS && errhandler == MPI_ERRHANDLER_NULL,
              "%s, MPI_Errhandler_free", when);
    tap_check(MPI_Comm_fromint(MPI_Comm_toint(MPI_COMM_SELF)) == MPI_COMM_SELF,
              "%s, handles become numbers and back", when);
    tap_check(MPI_Wtime() <= MPI_Wtime() && MPI_Wtick() > 0, "%s, time", when);
}

int main(int argc, char **argv)
{
    int rank = -1, size = -1, provided = -1;
    check_flags("before MPI_Init", 0, 0);
    check_anytime("before MPI_Init");

    tap_check(MPI_Init(&argc, &argv) == MPI_SUCCESS, "MPI_Init");
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    tap_rank(rank);
    tap_check(rank >= 0 && rank < size, "rank %d of %d", rank, size);
    check_flags("after MPI_Init", 1, 0);
    check_anytime("after MPI_Init");
    MPI_Query_thread(&provided);
    tap_check(provided == MPI_THREAD_SINGLE, "MPI_Init gives MPI_THREAD_SINGLE");

    MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_RETURN);
    tap_check(MPI_Init(NULL, NULL) == MPI_ERR_OTHER, "a second MPI_Init is refused");
    tap_check(MPI_Init_thread(NULL, NULL, MPI_THREAD_SINGLE, &provided) == MPI_ERR_OTHER,
              "so is MPI_Init_thread");
    check_flags("after a second MPI_Init", 1, 0);

    tap_check(MPI_Finalize() == MPI_SUCCESS, "MPI_Finalize");
    check_flags("after MPI_Finalize", 1, 1);
    check_anytime("after MPI_Finalize");
    return tap_finish();
}
