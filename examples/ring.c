/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A token goes around all ranks, and each adds its rank to it: MPI_Send and MPI_Recv.
 *
 *   mpicc -o ring examples/ring.c && mpirun -n 4 ./ring [ROUNDS]
 *
 * After a round the token must be the sum of all ranks. Rank 0 checks it and prints what a hop
 * took.
 */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>

enum { TOKEN = 7 }; /* a tag: both sides name it, so that no other message is taken for this one */

int main(int argc, char **argv)
{
    int rank, size, wrong = 0;
    int rounds = argc > 1 ? (int)strtol(argv[1], NULL, 10) : 1000;

    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    int next = (rank + 1) % size, previous = (rank + size - 1) % size;

    double begin = MPI_Wtime();
    for (int round = 0; round < rounds; round++) {
        int token = 0;
        if (rank == 0) {
            /* A rank that is alone would wait for itself in MPI_Send, if that waited: so the
               receive is posted first. */
            MPI_Request request;
            int back;
            MPI_Irecv(&back, 1, MPI_INT, previous, TOKEN, MPI_COMM_WORLD, &request);
            MPI_Send(&token, 1, MPI_INT, next, TOKEN, MPI_COMM_WORLD);
            MPI_Wait(&request, MPI_STATUS_IGNORE);
            if (back != size * (size - 1) / 2)
                wrong++;
        } else {
            MPI_Recv(&token, 1, MPI_INT, previous, TOKEN, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
            token += rank;
            MPI_Send(&token, 1, MPI_INT, next, TOKEN, MPI_COMM_WORLD);
        }
    }
    double seconds = MPI_Wtime() - begin;

    if (rank == 0) {
        printf("%d rounds over %d ranks: the token came back as %d each time, %d times wrong\n",
               rounds, size, size * (size - 1) / 2, wrong);
        printf("%.2f microseconds a hop\n", 1e6 * seconds / rounds / size);
    }
    MPI_Finalize();
    return wrong > 0;
}
