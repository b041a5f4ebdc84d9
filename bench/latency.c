/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Latency: a message goes to and fro between ranks 0 and 1; half of that time, by message size.
 *
 *   latency [--quick]     on 2 ranks
 */
#include <mpi.h>
#include <stdio.h>

#include "measure.h"

static char *buffer;

static void ping_pong(void *context, int rounds)
{
    int bytes = *(const int *)context, peer = !bench_rank;
    for (int i = 0; i < rounds; i++) {
        if (bench_rank == 0)
            MPI_Send(buffer, bytes, MPI_BYTE, peer, 0, MPI_COMM_WORLD);
        MPI_Recv(buffer, bytes, MPI_BYTE, peer, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        if (bench_rank == 1)
            MPI_Send(buffer, bytes, MPI_BYTE, peer, 0, MPI_COMM_WORLD);
    }
}

int main(int argc, char **argv)
{
    bench_init(&argc, &argv);
    if (bench_ranks < 2) {
        fprintf(stderr, "latency needs 2 ranks\n");
        MPI_Abort(MPI_COMM_WORLD, 2);
    }
    buffer = bench_memory(BENCH_MAX_BYTES);
    for (long size = 0; size <= BENCH_MAX_BYTES; size = bench_next_size(size)) {
        int bytes = (int)size;
        bench_measure(&(bench_case_t){.name = "latency",
                                      .size = size,
                                      .unit = BENCH_USEC,
                                      .work = 2,
                                      .ranks = 2,
                                      .run = ping_pong,
                                      .context = &bytes});
    }
    return bench_fini();
}
