/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The first program: who are we, and where do we run.
 *
 *   mpicc -o hello examples/hello.c && mpirun -n 4 ./hello
 *
 * The ranks write at the same time, each one whole line, so the lines come in any order.
 */
#define _GNU_SOURCE /* sched_getcpu */
#include <mpi.h>
#include <sched.h>
#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

static double milliseconds(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return 1e3 * (double)now.tv_sec + 1e-6 * (double)now.tv_nsec;
}

int main(int argc, char **argv)
{
    char host[MPI_MAX_PROCESSOR_NAME], library[MPI_MAX_LIBRARY_VERSION_STRING];
    int rank, size, length;

    double begin = milliseconds();
    MPI_Init(&argc, &argv);
    double startup = milliseconds() - begin;

    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    MPI_Get_processor_name(host, &length);
    MPI_Get_library_version(library, &length);

    printf("rank %3d of %d   host %s   core %3d   pid %7d   MPI_Init took %.1f ms\n", rank, size,
           host, sched_getcpu(), (int)getpid(), startup);
    if (rank == 0)
        printf("library: %.*s\n", (int)strcspn(library, "\n"), library);

    return MPI_Finalize();
}
