/* SPDX-License-Identifier: BSD-3-Clause */
/* For ps.test: each rank but 0 sends two messages to rank 1, which receives none of them before the
 * barrier that the ranks wait in; rank 0 reads a line from standard input first. */
#include <mpi.h>
#include <stdio.h>
#include <unistd.h>

int main(int argc, char **argv)
{
    int rank, size, value;
    MPI_Request request;
    char line[16];
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    if (rank == 0) {
        printf("ready %d\n", (int)getpid());
        fflush(stdout);
        if (fgets(line, sizeof line, stdin) == NULL)
            MPI_Abort(MPI_COMM_WORLD, 3);
    }
    for (int i = 0; i < 2 && rank > 1; i++)
        MPI_Send(&rank, 1, MPI_INT, 1, 7, MPI_COMM_WORLD);
    if (rank == 1)
        MPI_Irecv(&value, 1, MPI_INT, 0, 8, MPI_COMM_WORLD, &request);
    MPI_Barrier(MPI_COMM_WORLD); /* the line that ps.test looks for */
    if (rank == 0)
        MPI_Send(&rank, 1, MPI_INT, 1, 8, MPI_COMM_WORLD);
    for (int i = 0; i < 2 * (size - 2) && rank == 1; i++)
        MPI_Recv(&value, 1, MPI_INT, MPI_ANY_SOURCE, 7, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    if (rank == 1)
        MPI_Wait(&request, MPI_STATUS_IGNORE);
    return MPI_Finalize();
}
