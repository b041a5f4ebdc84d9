/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Bandwidth between ranks 0 and 1, by message size. A round is a window of sends under way at once,
 * each from and to a place of its own, and an answer when all have arrived; with
 * "bi-bandwidth" both ranks send a window to each other at the same time.
 *
 *   bandwidth [--quick] [NAME]     on 2 ranks
 */
#include <mpi.h>
#include <stdio.h>

#include "measure.h"

enum { WINDOW = 64, LINE = 64, PLACES_BYTES = WINDOW * BENCH_MAX_BYTES, ANSWER = 1 };

static char *outgoing, *incoming;
static MPI_Request requests[2 * WINDOW];

static size_t place(int i, int bytes)
{
    return (size_t)i * (((size_t)bytes + LINE - 1) / LINE * LINE);
}

static int post_receives(int bytes, int peer, MPI_Request *into)
{
    for (int i = 0; i < WINDOW; i++)
        MPI_Irecv(incoming + place(i, bytes), bytes, MPI_BYTE, peer, 0, MPI_COMM_WORLD, &into[i]);
    return WINDOW;
}

static int post_sends(int bytes, int peer, MPI_Request *into)
{
    for (int i = 0; i < WINDOW; i++)
        MPI_Isend(outgoing + place(i, bytes), bytes, MPI_BYTE, peer, 0, MPI_COMM_WORLD, &into[i]);
    return WINDOW;
}

static void one_way(void *context, int rounds)
{
    int bytes = *(const int *)context, peer = !bench_rank;
    for (int i = 0; i < rounds; i++) {
        if (bench_rank == 0) {
            MPI_Waitall(post_sends(bytes, peer, requests), requests, MPI_STATUSES_IGNORE);
            MPI_Recv(NULL, 0, MPI_BYTE, peer, ANSWER, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        } else {
            MPI_Waitall(post_receives(bytes, peer, requests), requests, MPI_STATUSES_IGNORE);
            MPI_Send(NULL, 0, MPI_BYTE, peer, ANSWER, MPI_COMM_WORLD);
        }
    }
}

static void both_ways(void *context, int rounds)
{
    int bytes = *(const int *)context, peer = !bench_rank;
    for (int i = 0; i < rounds; i++) {
        int count = post_receives(bytes, peer, requests);
        count += post_sends(bytes, peer, requests + count);
        MPI_Waitall(count, requests, MPI_STATUSES_IGNORE);
    }
}

int main(int argc, char **argv)
{
    static const struct {
        const char *name;
        bench_rounds_fn_t *run;
        int windows;
    } ways[] = {{"bandwidth", one_way, 1}, {"bi-bandwidth", both_ways, 2}};

    bench_init(&argc, &argv);
    if (bench_ranks < 2) {
        fprintf(stderr, "bandwidth needs 2 ranks\n");
        MPI_Abort(MPI_COMM_WORLD, 2);
    }
    outgoing = bench_memory(PLACES_BYTES);
    incoming = bench_memory(PLACES_BYTES);
    for (size_t i = 0; i < sizeof ways / sizeof ways[0]; i++) {
        for (long size = bench_next_size(0); size <= BENCH_MAX_BYTES;
             size = bench_next_size(size)) {
            int bytes = (int)size;
            bench_measure(&(bench_case_t){.name = ways[i].name,
                                          .size = size,
                                          .unit = BENCH_GBYTES_PER_SEC,
                                          .work = (double)bytes * WINDOW * ways[i].windows,
                                          .ranks = 2,
                                          .run = ways[i].run,
                                          .context = &bytes});
        }
    }
    return bench_fini();
}
