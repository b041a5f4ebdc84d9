/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Latency with buffers that are in use (live.h), the time of writing and reading them included;
 * half of a message's way to and fro, by message size. bench/direct.c measures the same without
 * MPI.
 *
 *   latency_live [--quick]     on 2 ranks
 */
#include <mpi.h>
#include <stdio.h>

#include "live.h"
#include "measure.h"

static char *out, *in;
static unsigned serial; /* alike on both ranks */

static void send_one(int bytes)
{
    bench_live_write(out, (size_t)bytes, serial);
    MPI_Send(out, bytes, MPI_BYTE, !bench_rank, 0, MPI_COMM_WORLD);
}

static void receive_one(int bytes)
{
    MPI_Recv(in, bytes, MPI_BYTE, !bench_rank, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    bench_live_read(in, (size_t)bytes, serial);
}

static void ping_pong(void *context, int rounds)
{
    int bytes = *(const int *)context;
    for (int i = 0; i < rounds; i++, serial++) {
        if (bench_rank == 0)
            send_one(bytes);
        receive_one(bytes);
        if (bench_rank == 1)
            send_one(bytes);
    }
}

int main(int argc, char **argv)
{
    bench_init(&argc, &argv);
    if (bench_ranks < 2) {
        fprintf(stderr, "latency_live needs 2 ranks\n");
        MPI_Abort(MPI_COMM_WORLD, 2);
    }
    out = bench_memory(BENCH_MAX_BYTES);
    in = bench_memory(BENCH_MAX_BYTES);
    for (long size = 64; size <= BENCH_MAX_BYTES; size = bench_next_size(size)) {
        int bytes = (int)size;
        bench_measure(&(bench_case_t){.name = "live",
                                      .size = size,
                                      .unit = BENCH_USEC,
                                      .work = 2,
                                      .ranks = 2,
                                      .run = ping_pong,
                                      .context = &bytes});
    }
    return bench_fini();
}
