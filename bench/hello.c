/* SPDX-License-Identifier: BSD-3-Clause */
/* The least MPI program: what its life costs is start-up. Rank 0 prints its peak memory
   as the other benchmarks print (samples.h). */
#include <mpi.h>
#include <stdio.h>
#include <sys/resource.h>

int main(int argc, char **argv)
{
    int rank, size;
    struct rusage usage;

    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    MPI_Finalize();
    if (rank == 0 && getrusage(RUSAGE_SELF, &usage) == 0)
        printf("peak-memory %d %ld KiB %ld\n", size, usage.ru_maxrss, usage.ru_maxrss);
    return 0;
}
