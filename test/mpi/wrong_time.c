/* SPDX-License-Identifier: BSD-3-Clause */
/* Calls at the wrong time, with mpi_initial_errhandler set to mpi_errors_return. */
#include <mpi.h>

#include "tap.h"

static void check_refused(const char *when)
{
    int rank = -7;
    void *memory = NULL;
    MPI_Win win = MPI_WIN_NULL;
    tap_check(MPI_Comm_rank(MPI_COMM_WORLD, &rank) == MPI_ERR_OTHER && rank == -7,
              "%s, MPI_Comm_rank is refused and sets nothing", when);
    tap_check(MPI_Alloc_mem(1, MPI_INFO_NULL, &memory) == MPI_ERR_OTHER && memory == NULL,
              "%s, MPI_Alloc_mem is refused", when);
    tap_check(MPI_Win_create(NULL, 0, 1, MPI_INFO_NULL, MPI_COMM_WORLD, &win) == MPI_ERR_OTHER,
              "%s, so is a function that is not built", when);
    tap_check(MPI_Finalize() == MPI_ERR_OTHER, "%s, so is MPI_Finalize", when);
    tap_check(MPI_Query_thread(&rank) == MPI_ERR_OTHER, "%s, so is MPI_Query_thread", when);
}

int main(int argc, char **argv)
{
    int rank = -1, provided = -1;
    MPI_Errhandler errhandler = MPI_ERRHANDLER_NULL;
    check_refused("before MPI_Init");
    tap_check(MPI_Init_thread(&argc, &argv, 3, &provided) == MPI_ERR_ARG && provided == -1,
              "3 is no thread level");
    tap_check(MPI_Init_thread(&argc, &argv, MPI_THREAD_SINGLE, &provided) == MPI_SUCCESS,
              "MPI_Init_thread works after that");
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    tap_rank(rank);

    MPI_Comm_get_errhandler(MPI_COMM_WORLD, &errhandler);
    tap_check(errhandler == MPI_ERRORS_RETURN, "MPI_COMM_WORLD begins with MPI_ERRORS_RETURN");
    MPI_Comm_get_errhandler(MPI_COMM_SELF, &errhandler);
    tap_check(errhandler == MPI_ERRORS_RETURN, "so does MPI_COMM_SELF");
    tap_check(MPI_Comm_rank(MPI_COMM_NULL, &rank) == MPI_ERR_COMM, "an error is returned");

    tap_check(MPI_Finalize() == MPI_SUCCESS, "MPI_Finalize");
    check_refused("after MPI_Finalize");
    tap_check(MPI_Init(&argc, &argv) == MPI_ERR_OTHER, "MPI does not start a second time");
    return tap_finish();
}
