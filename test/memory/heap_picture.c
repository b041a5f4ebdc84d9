/* SPDX-License-Identifier: BSD-3-Clause */
/* For heap_picture.test: each rank has some blocks, says so, and waits for a line from the test. */
#include <mica.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

enum { BLOCKS = 40, BYTES = 200000, HUGE_MIB = 20 };

int main(int argc, char **argv)
{
    static char *blocks[BLOCKS];
    char *huge, line[8];
    int rank, size;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    for (int i = 0; i < BLOCKS; i++) {
        MICA_Alloc(BYTES, &blocks[i]);
        memset(blocks[i], 1, BYTES);
    }
    for (int i = 0; i < BLOCKS; i += 2)
        MICA_Free(blocks[i]);
    MICA_Alloc((MPI_Aint)HUGE_MIB << 20, &huge);
    memset(huge, 1, (size_t)HUGE_MIB << 20);
    MPI_Barrier(MPI_COMM_WORLD);
    if (rank == 0) {
        printf("ready %d\n", (int)getpid());
        fflush(stdout);
        if (fgets(line, sizeof line, stdin) == NULL)
            printf("no line\n");
    }
    MPI_Barrier(MPI_COMM_WORLD);
    for (int i = 1; i < BLOCKS; i += 2)
        MICA_Free(blocks[i]);
    MICA_Free(huge);
    MPI_Finalize();
    return 0;
}
