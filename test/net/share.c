/* SPDX-License-Identifier: BSD-3-Clause */
/* Rank 0 sends long and short blocks to all, all add up their ranks, and each tells what it has
 * got, and how many ranks share its node. */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>

int main(int argc, char **argv)
{
    enum { COUNT = 1 << 18 };
    int rank, size, sum = 0, wrong = 0;
    int *block = malloc(COUNT * sizeof *block);
    MPI_Comm node;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    for (int i = 0; i < COUNT; i++)
        block[i] = rank == 0 ? i : -1;
    for (int count = 1; count <= COUNT; count *= 8)
        MPI_Bcast(block, count, MPI_INT, 0, MPI_COMM_WORLD);
    MPI_Bcast(block, COUNT, MPI_INT, 0, MPI_COMM_WORLD);
    for (int i = 0; i < COUNT; i++)
        wrong += block[i] != i;
    MPI_Allreduce(&rank, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
    MPI_Comm_split_type(MPI_COMM_WORLD, MPI_COMM_TYPE_SHARED, 0, MPI_INFO_NULL, &node);
    MPI_Comm_size(node, &size);
    printf("%d: %d wrong, sum %d, %d on the node\n", rank, wrong, sum, size);
    MPI_Comm_free(&node);
    MPI_Finalize();
    free(block);
    return wrong != 0;
}
