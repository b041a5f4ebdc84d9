/* SPDX-License-Identifier: BSD-3-Clause */
/* With mpi_param_check off an argument that no check sees goes through to the function. */
#include <mpi.h>

#include "tap.h"

int main(int argc, char **argv)
{
    int rank = -1;
    void *memory = NULL;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    tap_rank(rank);
    tap_check(MPI_Alloc_mem(-1, MPI_INFO_NULL, &memory) == MPI_SUCCESS && memory != NULL,
              "a negative size is not noticed");
    MPI_Free_mem(memory);
    MPI_Finalize();
    return tap_finish();
}
