/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A program that is slower than it should be: in each step all ranks work, and then add up what
 * they have; but one rank has ten times as much to do, and the others wait for it. A profile says
 * so.
 *
 *   mpicc -O2 -g -o uneven examples/uneven.c && mpirun -n 2 --profile where ./uneven [STEPS]
 */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>

/* The sum of 1/i; something to do. */
static double work(int terms)
{
    double sum = 0;
    for (int i = 1; i <= terms; i++)
        sum += 1.0 / i;
    return sum;
}

int main(int argc, char **argv)
{
    int rank, steps = argc > 1 ? atoi(argv[1]) : 200;
    double sum = 0, all = 0;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    for (int step = 0; step < steps; step++) {
        sum += work(rank == 1 ? 2000000 : 200000);
        MPI_Allreduce(&sum, &all, 1, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
    }
    if (rank == 0)
        printf("%.3f after %d steps\n", all, steps);
    return MPI_Finalize();
}
