/* SPDX-License-Identifier: BSD-3-Clause */
/* For ps.test: all ranks but 0 wait in a barrier; rank 0 reads a line from standard input first. */
#include <mpi.h>
#include <stdio.h>
#include <unistd.h>

int main(int argc, char **argv)
{
    int rank;
    char line[16];
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    if (rank == 0) {
        printf("ready %d\n", (int)getpid());
        fflush(stdout);
        if (fgets(line, sizeof line, stdin) == NULL)
            MPI_Abort(MPI_COMM_WORLD, 3);
    }
    MPI_Barrier(MPI_COMM_WORLD); /* the line that ps.test looks for */
    return MPI_Finalize();
}
