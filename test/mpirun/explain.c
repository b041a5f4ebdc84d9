/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Messages and collectives that are known: the arguments are KIND BYTES TIMES, repeated.
 *
 *   send       from rank 0 to the last rank, out of memory of the shared heap, if there is one
 *   static     likewise, out of static memory
 *   allreduce  of MPI_COMM_WORLD, in memory of the shared heap
 *   exit       the last rank ends, with BYTES as its status
 */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { MOST = 2 << 20 };

static char own[MOST];

static void end_last(int status)
{
    int rank, size;
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    if (rank == size - 1)
        _exit(status);
}

static void send(char *buffer, int bytes)
{
    int rank, size;
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    if (rank == 0)
        MPI_Send(buffer, bytes, MPI_CHAR, size - 1, 0, MPI_COMM_WORLD);
    else if (rank == size - 1)
        MPI_Recv(buffer, bytes, MPI_CHAR, 0, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
}

int main(int argc, char **argv)
{
    MPI_Init(&argc, &argv);
    puts("the program");
    char *buffer = malloc(MOST), *result = malloc(MOST);
    memset(buffer, 1, MOST);
    for (int i = 1; i + 2 < argc; i += 3) {
        int bytes = atoi(argv[i + 1]);
        for (int k = 0; k < atoi(argv[i + 2]); k++) {
            if (strcmp(argv[i], "allreduce") == 0)
                MPI_Allreduce(buffer, result, bytes, MPI_UINT8_T, MPI_MAX, MPI_COMM_WORLD);
            else if (strcmp(argv[i], "exit") == 0)
                end_last(bytes);
            else
                send(argv[i][1] == 'e' ? buffer : own, bytes);
        }
    }
    free(buffer);
    free(result);
    return MPI_Finalize();
}
