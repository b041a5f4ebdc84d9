/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A process calls MPI_Finalize while others still want messages of it, which is an error of the
 * program: they get one, too, and do not wait for ever. What a correct program may do with such a
 * process works: a receive is cancelled.
 *
 * The last rank of the job leaves so, and two jobs of spawned processes, which do not disconnect.
 */
#include <mpi.h>
#include <stdlib.h>
#include <string.h>

#include "tap.h"

enum { BIG = 1 << 20 };

static int rank, size;

static bool is_aborted(int code)
{
    int class = -1;
    return MPI_Error_class(code, &class) == MPI_SUCCESS && class == MPI_ERR_PROC_ABORTED;
}

/* posted: a receive of what never comes, from before the barrier. */
static void expect_errors(MPI_Comm comm, int gone, MPI_Request *posted, const char *which)
{
    int value = 0, is_cancelled = 0;
    MPI_Status status;
    char *big = calloc(1, BIG);
    tap_check(is_aborted(MPI_Recv(&value, 1, MPI_INT, gone, 5, comm, MPI_STATUS_IGNORE)),
              "%s: a receive fails", which);
    tap_check(is_aborted(MPI_Probe(gone, 5, comm, MPI_STATUS_IGNORE)), "%s: a probe", which);
    tap_check(is_aborted(MPI_Ssend(&value, 1, MPI_INT, gone, 5, comm)), "%s: a send", which);
    tap_check(is_aborted(MPI_Send(big, BIG, MPI_BYTE, gone, 5, comm)), "%s: a large one", which);
    MPI_Cancel(posted);
    tap_check(MPI_Wait(posted, &status) == MPI_SUCCESS &&
                  MPI_Test_cancelled(&status, &is_cancelled) == MPI_SUCCESS && is_cancelled,
              "%s: a receive from before is cancelled", which);
    free(big);
}

static void test_job(char *self)
{
    char *argv[] = {"child", NULL};
    int value = 0;
    MPI_Comm inter, merged;
    MPI_Request posted;
    MPI_Comm_spawn(self, argv, 2, MPI_INFO_NULL, 0, MPI_COMM_SELF, &inter, MPI_ERRCODES_IGNORE);
    MPI_Intercomm_merge(inter, 0, &merged);
    MPI_Irecv(&value, 1, MPI_INT, 1, 5, inter, &posted);
    MPI_Barrier(merged);
    expect_errors(inter, 1, &posted, "a child");
    tap_check(is_aborted(MPI_Recv(&value, 1, MPI_INT, MPI_ANY_SOURCE, 6, inter, MPI_STATUS_IGNORE)),
              "a child: a receive from any");
    tap_check(is_aborted(MPI_Barrier(inter)), "a child: a collective");
    tap_check(MPI_Comm_disconnect(&merged) == MPI_SUCCESS &&
                  MPI_Comm_disconnect(&inter) == MPI_SUCCESS,
              "a child: what it has left is disconnected");
}

int main(int argc, char **argv)
{
    int value = 0;
    MPI_Comm parent, merged;
    MPI_Request posted;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    MPI_Comm_get_parent(&parent);
    if (parent != MPI_COMM_NULL) {
        MPI_Intercomm_merge(parent, 1, &merged);
        MPI_Barrier(merged);
        MPI_Finalize();
        return 0;
    }
    tap_rank(rank);
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_RETURN);
    if (rank == 0) {
        test_job(argv[0]);
        test_job(argv[0]);
        MPI_Irecv(&value, 1, MPI_INT, size - 1, 5, MPI_COMM_WORLD, &posted);
    }
    MPI_Barrier(MPI_COMM_WORLD);
    if (rank == 0)
        expect_errors(MPI_COMM_WORLD, size - 1, &posted, "a rank");
    MPI_Finalize();
    return tap_finish();
}
