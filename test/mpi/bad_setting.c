/* SPDX-License-Identifier: BSD-3-Clause */
/* MPI_Init with a setting that it cannot use. The settings, and what comes of it, are in
 * tests.list. */
#include <mpi.h>
#include <stdio.h>

enum { RETURNED = 3 };

int main(int argc, char **argv)
{
    printf("1..1\nok 1 - before MPI_Init\n");
    if (MPI_Init(&argc, &argv) != MPI_SUCCESS)
        return RETURNED;
    MPI_Finalize();
    return 0;
}
