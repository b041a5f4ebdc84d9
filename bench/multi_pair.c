/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * All pairs at once: rank i of the first half and rank i of the second half. By message size, how
 * long a message takes to and fro (half of it), and how many messages all pairs together move.
 *
 *   multi_pair [--quick] [NAME]     on an even number of ranks
 */
#include <mpi.h>
#include <stdio.h>

#include "measure.h"

enum { WINDOW = 64, MIN_BYTES = 8, MAX_BYTES = 64 << 10, ANSWER = 1 };

static char *buffer;
static MPI_Request requests[WINDOW];

static int peer_rank(void)
{
    return (bench_rank + bench_ranks / 2) % bench_ranks;
}

static void ping_pong(void *context, int rounds)
{
    int bytes = *(const int *)context, peer = peer_rank();
    for (int i = 0; i < rounds; i++) {
        if (bench_rank < peer)
            MPI_Send(buffer, bytes, MPI_BYTE, peer, 0, MPI_COMM_WORLD);
        MPI_Recv(buffer, bytes, MPI_BYTE, peer, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        if (bench_rank > peer)
            MPI_Send(buffer, bytes, MPI_BYTE, peer, 0, MPI_COMM_WORLD);
    }
}

static void stream(void *context, int rounds)
{
    int bytes = *(const int *)context, peer = peer_rank();
    for (int i = 0; i < rounds; i++) {
        for (int j = 0; j < WINDOW; j++) {
            char *place = buffer + (size_t)j * MAX_BYTES;
            if (bench_rank < peer)
                MPI_Isend(place, bytes, MPI_BYTE, peer, 0, MPI_COMM_WORLD, &requests[j]);
            else
                MPI_Irecv(place, bytes, MPI_BYTE, peer, 0, MPI_COMM_WORLD, &requests[j]);
        }
        MPI_Waitall(WINDOW, requests, MPI_STATUSES_IGNORE);
        if (bench_rank < peer)
            MPI_Recv(NULL, 0, MPI_BYTE, peer, ANSWER, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        else
            MPI_Send(NULL, 0, MPI_BYTE, peer, ANSWER, MPI_COMM_WORLD);
    }
}

int main(int argc, char **argv)
{
    bench_init(&argc, &argv);
    if (bench_ranks % 2 != 0) {
        fprintf(stderr, "multi_pair needs an even number of ranks\n");
        MPI_Abort(MPI_COMM_WORLD, 2);
    }
    buffer = bench_memory((size_t)WINDOW * MAX_BYTES);
    for (long size = MIN_BYTES; size <= MAX_BYTES; size = bench_next_size(size)) {
        int bytes = (int)size;
        bench_case_t latency = {.name = "latency",
                                .size = size,
                                .unit = BENCH_USEC,
                                .work = 2,
                                .run = ping_pong,
                                .context = &bytes};
        bench_case_t rate = {.name = "rate",
                             .size = size,
                             .unit = BENCH_MESSAGES_PER_USEC,
                             .work = WINDOW * (bench_ranks / 2),
                             .run = stream,
                             .context = &bytes};
        bench_measure(&latency);
        bench_measure(&rate);
    }
    return bench_fini();
}
