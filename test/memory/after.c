/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * For smheap_jobs.test: one of several programs that a rank runs one after the other.
 *
 *   after MIB [kill | init | wait FIFO]
 *   after give
 *
 * Takes so much memory, and prints how much of it is from the region. Then it returns, is killed,
 * has been an MPI program, or waits until somebody opens the FIFO for writing.
 * give: rank 0 gives a block away and ends; rank 1 fills the region, and looks at the block.
 */
#include <errno.h>
#include <mica.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "opal/node/region.h"

enum { MIB = 1 << 20 };

static int give(void)
{
    int rank, *block;
    MPI_Count bytes;
    MPI_Init(NULL, NULL);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    if (rank == 0) {
        MICA_Alloc(MIB, &block);
        memset(block, 5, MIB);
        block[0] = (int)getpid();
        MPI_Barrier(MPI_COMM_WORLD); /* it sees our memory */
        MICA_Give(block, MIB, 1, 0, MPI_COMM_WORLD);
        MPI_Finalize();
        return 0;
    }
    MPI_Barrier(MPI_COMM_WORLD);
    MICA_Take(&block, &bytes, 0, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    pid_t giver = block[0];
    MPI_Finalize();
    while (kill(giver, 0) == 0 || errno != ESRCH)
        sched_yield();
    for (char *more = malloc(MIB); opal_region_has(more, MIB); more = malloc(MIB))
        memset(more, 1, MIB);
    bool kept = true;
    for (size_t i = 1; i < MIB / sizeof *block; i++)
        kept &= block[i] == 0x05050505;
    puts(kept && opal_region_has(block, MIB) ? "kept" : "lost");
    return 0;
}

int main(int argc, char **argv)
{
    if (argc > 1 && strcmp(argv[1], "give") == 0)
        return give();
    const size_t bytes = MIB;
    const char *way = argc > 2 ? argv[2] : "";
    int mib = argc > 1 ? atoi(argv[1]) : 1, shared = 0;
    if (strcmp(way, "init") == 0)
        MPI_Init(&argc, &argv);
    for (int i = 0; i < mib; i++) {
        char *block = malloc(bytes);
        if (block == NULL || block[bytes / 2] > 1)
            return 1;
        memset(block, 1, bytes);
        shared += opal_region_has(block, bytes);
    }
    printf("%d of %d MiB shared\n", shared, mib);
    fflush(stdout);
    if (strcmp(way, "kill") == 0)
        raise(SIGKILL);
    if (strcmp(way, "wait") == 0 && (argc < 4 || fopen(argv[3], "r") == NULL))
        return 2;
    if (strcmp(way, "init") == 0)
        MPI_Finalize();
    return 0;
}
