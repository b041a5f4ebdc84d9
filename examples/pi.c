/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Pi as the area under 4 / (1 + x^2) between 0 and 1: MPI_Bcast and MPI_Reduce.
 *
 *   mpicc -o pi examples/pi.c && mpirun -n 4 ./pi [STRIPS]
 *
 * Rank 0 knows how many strips the area is cut into and tells the others. Each rank adds up every
 * size-th strip; the sum of the sums is pi.
 */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>

static const double real_pi = 3.14159265358979323846;

/* The strips first, first + step, ...: each is as high as the curve is over its middle. */
static double add_strips(long first, long step, long strips)
{
    double width = 1.0 / (double)strips, sum = 0;
    for (long i = first; i < strips; i += step) {
        double x = ((double)i + 0.5) * width;
        sum += 4.0 / (1.0 + x * x);
    }
    return sum * width;
}

int main(int argc, char **argv)
{
    int rank, size;
    long strips = 0;

    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    if (rank == 0)
        strips = argc > 1 ? strtol(argv[1], NULL, 10) : 10000000;
    MPI_Bcast(&strips, 1, MPI_LONG, 0, MPI_COMM_WORLD);
    if (strips < 1) {
        if (rank == 0)
            fprintf(stderr, "usage: pi [STRIPS], one or more\n");
        MPI_Finalize();
        return 2;
    }

    double begin = MPI_Wtime(), pi = 0;
    double part = add_strips(rank, size, strips);
    MPI_Reduce(&part, &pi, 1, MPI_DOUBLE, MPI_SUM, 0, MPI_COMM_WORLD);
    double seconds = MPI_Wtime() - begin;

    if (rank == 0) {
        double error = pi > real_pi ? pi - real_pi : real_pi - pi;
        printf("pi = %.12f   %ld strips on %d ranks, off by %.1e, %.1f ms\n", pi, strips, size,
               error, 1e3 * seconds);
    }
    MPI_Finalize();
    return 0;
}
