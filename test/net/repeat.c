/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Calls a collective some times, for a test that counts what goes over the network.
 *
 *   repeat bcast|allreduce BYTES TIMES
 */
#include <mpi.h>
#include <stdlib.h>
#include <string.h>

int main(int argc, char **argv)
{
    MPI_Init(&argc, &argv);
    if (argc < 4)
        MPI_Abort(MPI_COMM_WORLD, 1);
    int count = atoi(argv[2]) / (int)sizeof(double), times = atoi(argv[3]), wrong = 0, size;
    double *data = malloc((size_t)count * sizeof *data), *sum = malloc((size_t)count * sizeof *sum);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    for (int i = 0; i < times; i++) {
        for (int k = 0; k < count; k++)
            data[k] = i + k;
        if (strcmp(argv[1], "bcast") == 0) {
            MPI_Bcast(data, count, MPI_DOUBLE, 0, MPI_COMM_WORLD);
            continue;
        }
        MPI_Allreduce(data, sum, count, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
        for (int k = 0; k < count; k++)
            wrong += sum[k] != (double)size * (i + k);
    }
    MPI_Finalize();
    free(data);
    free(sum);
    return wrong != 0;
}
