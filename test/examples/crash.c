/* SPDX-License-Identifier: BSD-3-Clause */
/* For doc/FIRST-HOUR.md: rank 2 stores through a null pointer. */
#include <mpi.h>
#include <stddef.h>

static void store(int *where)
{
    *where = 1;
}

int main(int argc, char **argv)
{
    int rank, number;
    int *none = NULL;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Barrier(MPI_COMM_WORLD);
    store(rank == 2 ? none : &number);
    MPI_Barrier(MPI_COMM_WORLD);
    return MPI_Finalize();
}
