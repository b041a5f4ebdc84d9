/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * hang: ranks 0 and 1 wait for each other, the others for both. Each rank reads its own errors and
 * passes them on; the one that has read of the cycle ends the job, with status 9.
 */
#include <mpi.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static int ends[2], errors;

static void *pass_on(void *unused)
{
    char line[1024];
    FILE *said = fdopen(ends[0], "r");
    while (said != NULL && fgets(line, sizeof line, said) != NULL) {
        dprintf(errors, "%s", line);
        if (strstr(line, "a cycle") != NULL)
            _exit(9);
    }
    return unused;
}

int main(int argc, char **argv)
{
    pthread_t reader;
    int rank, word;
    errors = dup(STDERR_FILENO);
    if (pipe(ends) != 0 || dup2(ends[1], STDERR_FILENO) < 0 ||
        pthread_create(&reader, NULL, pass_on, NULL) != 0)
        return 1;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    if (rank < 2)
        MPI_Recv(&word, 1, MPI_INT, 1 - rank, 7, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    MPI_Barrier(MPI_COMM_WORLD);
    MPI_Finalize();
    return 0;
}
