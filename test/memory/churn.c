/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Ranks that allocate from the shared heap and hand each other blocks, for as long as the argument
 * says (messages; 0: without end). With a second argument, that rank kills itself on the way.
 */
#include <mpi.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "opal/node/region.h"

int main(int argc, char **argv)
{
    long rounds = argc > 1 ? atol(argv[1]) : 0, victim = argc > 2 ? atol(argv[2]) : -1;
    int rank, size, good, all;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    int left = (rank + size - 1) % size, right = (rank + 1) % size;
    for (long i = 0; rounds == 0 || i < rounds; i++) {
        size_t bytes = 10000 + (size_t)(i % 17) * 20000;
        char *out = malloc(bytes), *in = malloc(bytes);
        memset(out, rank, bytes);
        if (rank == victim && i == rounds / 2)
            raise(SIGKILL);
        MPI_Sendrecv(out, (int)bytes, MPI_CHAR, right, 0, in, (int)bytes, MPI_CHAR, left, 0,
                     MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        if (in[bytes - 1] != (char)left)
            MPI_Abort(MPI_COMM_WORLD, 3);
        free(out);
        free(in);
    }
    void *block = malloc(50000);
    good = opal_region_has(block, 50000);
    free(block);
    MPI_Reduce(&good, &all, 1, MPI_INT, MPI_SUM, 0, MPI_COMM_WORLD);
    if (rank == 0)
        printf("%d of %d shared\n", all, size);
    MPI_Finalize();
    return 0;
}
