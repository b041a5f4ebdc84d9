/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What becomes of messages when a rank has died. The last rank only seems to: rank 0 is told so as
 * a transport would tell it, since mpirun ends a job of which a rank has really died. That a death
 * is noticed is tested with the transport.
 */
#include <dlfcn.h>
#include <mpi.h>

#include "tap.h"

enum { BIG = 1 << 20, TAG_NEVER = 77, TAG_EARLY, TAG_END };

static char big[BIG], small[8];
static int victim;

static void expect_failure(int error, const char *what)
{
    int class = MPI_SUCCESS;
    MPI_Error_class(error, &class);
    tap_check(class == MPI_ERR_PROC_ABORTED, "%s ends with MPI_ERR_PROC_ABORTED", what);
}

static void declare_dead(int rank)
{
    void *found = dlsym(RTLD_DEFAULT, "opal_btl_report_death");
    void (*report)(unsigned);
    tap_check(found != NULL, "the transports can report a death");
    *(void **)&report = found;
    report((unsigned)rank);
}

static void outlive(void)
{
    MPI_Request requests[6];
    MPI_Status status;
    MPI_Probe(victim, TAG_EARLY, MPI_COMM_WORLD, &status);
    MPI_Irecv(small, 1, MPI_CHAR, victim, TAG_NEVER, MPI_COMM_WORLD, &requests[0]);
    MPI_Irecv(small, 1, MPI_CHAR, MPI_ANY_SOURCE, TAG_NEVER, MPI_COMM_WORLD, &requests[1]);
    MPI_Isend(big, BIG, MPI_CHAR, victim, TAG_NEVER, MPI_COMM_WORLD, &requests[2]);
    MPI_Issend(big, 1, MPI_CHAR, victim, TAG_NEVER, MPI_COMM_WORLD, &requests[3]);
    MPI_Irecv(small + 1, 1, MPI_CHAR, 1, TAG_END, MPI_COMM_WORLD, &requests[4]);
    MPI_Recv_init(small, 1, MPI_CHAR, victim, TAG_NEVER, MPI_COMM_WORLD, &requests[5]);

    declare_dead(victim);
    declare_dead(victim);
    expect_failure(MPI_Wait(&requests[0], &status), "a receive");
    expect_failure(MPI_Wait(&requests[1], &status), "a receive from any source");
    expect_failure(MPI_Wait(&requests[2], &status), "a long send");
    expect_failure(MPI_Wait(&requests[3], &status), "a synchronous send");
    expect_failure(MPI_Send(small, 1, MPI_CHAR, victim, 3, MPI_COMM_WORLD), "a later send");
    expect_failure(MPI_Recv(small, 1, MPI_CHAR, victim, TAG_NEVER, MPI_COMM_WORLD, &status),
                   "a later receive");
    expect_failure(MPI_Probe(victim, TAG_NEVER, MPI_COMM_WORLD, &status), "a later probe");
    MPI_Start(&requests[5]);
    expect_failure(MPI_Wait(&requests[5], &status), "a persistent receive");
    MPI_Request_free(&requests[5]);

    tap_check(MPI_Recv(small, 4, MPI_CHAR, victim, TAG_EARLY, MPI_COMM_WORLD, &status) ==
                  MPI_SUCCESS,
              "what was sent before is received");
    tap_check(MPI_Send(big, BIG, MPI_CHAR, 1, TAG_END, MPI_COMM_WORLD) == MPI_SUCCESS,
              "the living get messages");
    tap_check(MPI_Wait(&requests[4], &status) == MPI_SUCCESS, "and are heard");
}

int main(int argc, char **argv)
{
    int rank, size;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    tap_rank(rank);
    victim = size - 1;
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    if (rank == victim) {
        MPI_Send(small, 4, MPI_CHAR, 0, TAG_EARLY, MPI_COMM_WORLD);
    } else if (rank == 0) {
        outlive();
    } else if (rank == 1) {
        MPI_Recv(big, BIG, MPI_CHAR, 0, TAG_END, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        MPI_Send(small, 1, MPI_CHAR, 0, TAG_END, MPI_COMM_WORLD);
    }
    MPI_Finalize();
    return tap_finish();
}
