/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A program that hangs: each rank sends a number to the next one, in a ring, and one tag is wrong.
 * mpirun says which one.
 *
 *   mpicc -g -o stuck examples/stuck.c && mpirun -n 4 --report-hang 2 ./stuck
 */
#include <mpi.h>
#include <stdio.h>

enum { NUMBER_TAG = 7 };

int main(int argc, char **argv)
{
    int rank, size, sent, received, tag = NUMBER_TAG;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    sent = rank;
    MPI_Send(&sent, 1, MPI_INT, (rank + 1) % size, tag, MPI_COMM_WORLD);
    if (rank == 1)
        tag++; /* the mistake */
    MPI_Recv(&received, 1, MPI_INT, (rank + size - 1) % size, tag, MPI_COMM_WORLD,
             MPI_STATUS_IGNORE);
    MPI_Barrier(MPI_COMM_WORLD);
    printf("rank %d has got %d\n", rank, received);
    return MPI_Finalize();
}
