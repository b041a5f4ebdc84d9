/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Message rate from rank 0 to rank 1: small messages, by their size, in windows of 1 to 256 that
 * are under way at once. An answer ends each window.
 *
 *   message_rate [--quick] [NAME]     on 2 ranks
 */
#include <mpi.h>
#include <stdio.h>

#include "measure.h"

enum { MAX_WINDOW = 256, MIN_BYTES = 8, MAX_BYTES = 1024, ANSWER = 1 };

struct rate {
    int window, bytes;
};

static char *buffer;
static MPI_Request requests[MAX_WINDOW];

static void stream(void *context, int rounds)
{
    const struct rate *rate = context;
    int bytes = rate->bytes, peer = !bench_rank;
    for (int i = 0; i < rounds; i++) {
        for (int j = 0; j < rate->window; j++) {
            char *place = buffer + (size_t)j * MAX_BYTES;
            if (bench_rank == 0)
                MPI_Isend(place, bytes, MPI_BYTE, peer, 0, MPI_COMM_WORLD, &requests[j]);
            else
                MPI_Irecv(place, bytes, MPI_BYTE, peer, 0, MPI_COMM_WORLD, &requests[j]);
        }
        MPI_Waitall(rate->window, requests, MPI_STATUSES_IGNORE);
        if (bench_rank == 0)
            MPI_Recv(NULL, 0, MPI_BYTE, peer, ANSWER, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        else
            MPI_Send(NULL, 0, MPI_BYTE, peer, ANSWER, MPI_COMM_WORLD);
    }
}

int main(int argc, char **argv)
{
    bench_init(&argc, &argv);
    if (bench_ranks < 2) {
        fprintf(stderr, "message_rate needs 2 ranks\n");
        MPI_Abort(MPI_COMM_WORLD, 2);
    }
    buffer = bench_memory((size_t)MAX_WINDOW * MAX_BYTES);
    for (int window = 1; window <= MAX_WINDOW; window *= 4) {
        char name[32];
        snprintf(name, sizeof name, "window-%d", window);
        for (long size = MIN_BYTES; size <= MAX_BYTES; size = bench_next_size(size)) {
            struct rate rate = {window, (int)size};
            bench_measure(&(bench_case_t){.name = name,
                                          .size = size,
                                          .unit = BENCH_MESSAGES_PER_USEC,
                                          .work = window,
                                          .ranks = 2,
                                          .run = stream,
                                          .context = &rate});
        }
    }
    return bench_fini();
}
