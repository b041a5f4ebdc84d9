/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Latency: a message goes to and fro between ranks 0 and 1; half of that time, by message size.
 *
 *   latency [--quick]     on 2 ranks
 */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>

#include "measure.h"
#include "ping_pong.h"

int main(int argc, char **argv)
{
    bench_init(&argc, &argv);
    if (bench_ranks < 2) {
        fprintf(stderr, "latency needs 2 ranks\n");
        MPI_Abort(MPI_COMM_WORLD, 2);
    }
    char *buffer = bench_memory(BENCH_MAX_BYTES);
    for (long size = 0; size <= BENCH_MAX_BYTES; size = bench_next_size(size))
        ping_pong_measure("latency", buffer, size);
    free(buffer);
    return bench_fini();
}
