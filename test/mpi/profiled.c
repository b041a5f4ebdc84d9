/* SPDX-License-Identifier: BSD-3-Clause */
/* A tool's MPI_ functions take the place of the library's, which it reaches as PMPI_. */
#include <mpi.h>

#include "tap.h"

static int ranks_asked;

int MPI_Comm_rank(MPI_Comm comm, int *rank)
{
    ranks_asked++;
    return PMPI_Comm_rank(comm, rank);
}

int main(int argc, char **argv)
{
    int rank = -1;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    tap_rank(rank);
    tap_check(rank >= 0 && ranks_asked == 1, "the tool's MPI_Comm_rank was called");
    MPI_Finalize();
    return tap_finish();
}
