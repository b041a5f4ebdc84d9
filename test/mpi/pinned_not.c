/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A long message out of memory that cannot be pinned, the pages of a file, where buffers are to be
 * pinned part by part. It has many parts, and the stack is small.
 */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <unistd.h>

#include "tap.h"

enum { BYTES = 128 << 20, ROUNDS = 3, STACK_BYTES = 256 << 10 };

static void *map_file(void)
{
    FILE *file = tmpfile();
    if (file == NULL || ftruncate(fileno(file), BYTES) != 0)
        return MAP_FAILED;
    return mmap(NULL, BYTES, PROT_READ | PROT_WRITE, MAP_SHARED, fileno(file), 0);
}

int main(int argc, char **argv)
{
    int rank;
    struct rlimit stack;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    tap_rank(rank);
    unsigned char *bytes = map_file();
    if (!tap_check(bytes != MAP_FAILED, "there is a file"))
        MPI_Abort(MPI_COMM_WORLD, 1);
    getrlimit(RLIMIT_STACK, &stack);
    stack.rlim_cur = STACK_BYTES;
    tap_check(setrlimit(RLIMIT_STACK, &stack) == 0, "and little stack");
    for (int round = 1; round <= ROUNDS; round++) {
        if (rank == 0) {
            memset(bytes, round, BYTES);
            MPI_Send(bytes, BYTES, MPI_BYTE, 1, 0, MPI_COMM_WORLD);
            continue;
        }
        size_t wrong = 0;
        MPI_Recv(bytes, BYTES, MPI_BYTE, 0, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        for (size_t i = 0; i < BYTES; i++)
            wrong += bytes[i] != round;
        tap_check(wrong == 0, "message %d arrives", round);
    }
    munmap(bytes, BYTES);
    MPI_Finalize();
    return tap_finish();
}
