/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Exchange: messages in both directions at once, as programs do that keep the halos of their
 * neighbours. The time of a round, by message size.
 *
 *   sendrecv/   MPI_Sendrecv: to the next rank, from the one before
 *   isend/      MPI_Irecv, MPI_Isend and MPI_Waitall with both neighbours; 2 ranks have one
 *
 * The buffers are those of an allocator (malloc), or the program's own arrays (static), which no
 * library can have allocated.
 *
 *   exchange [--quick] [NAME]     on 2 ranks or more
 */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "measure.h"

enum { NEIGHBOURS = 2, FIRST_BYTES = 8, PAGE = 4096 };

typedef struct exchange {
    char *out[NEIGHBOURS], *in[NEIGHBOURS];
    int bytes;
} exchange_t;

static _Alignas(PAGE) char arrays[2 * NEIGHBOURS][BENCH_MAX_BYTES];

static int next_rank(void)
{
    return (bench_rank + 1) % bench_ranks;
}

static int rank_before(void)
{
    return (bench_rank + bench_ranks - 1) % bench_ranks;
}

static void sendrecv(void *context, int rounds)
{
    const exchange_t *self = context;
    for (int i = 0; i < rounds; i++)
        MPI_Sendrecv(self->out[0], self->bytes, MPI_BYTE, next_rank(), 0, self->in[0], self->bytes,
                     MPI_BYTE, rank_before(), 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
}

static void isend(void *context, int rounds)
{
    const exchange_t *self = context;
    const int neighbour[NEIGHBOURS] = {next_rank(), rank_before()};
    int count = bench_ranks > 2 ? NEIGHBOURS : 1;
    MPI_Request requests[2 * NEIGHBOURS];
    for (int round = 0; round < rounds; round++) {
        for (int i = 0; i < count; i++)
            MPI_Irecv(self->in[i], self->bytes, MPI_BYTE, neighbour[i], 0, MPI_COMM_WORLD,
                      &requests[i]);
        for (int i = 0; i < count; i++)
            MPI_Isend(self->out[i], self->bytes, MPI_BYTE, neighbour[i], 0, MPI_COMM_WORLD,
                      &requests[count + i]);
        MPI_Waitall(2 * count, requests, MPI_STATUSES_IGNORE);
    }
}

static void measure_series(const char *name, bench_rounds_fn_t *run, exchange_t *self)
{
    for (long size = FIRST_BYTES; size <= BENCH_MAX_BYTES; size = bench_next_size(size)) {
        self->bytes = (int)size;
        bench_measure(&(bench_case_t){.name = name,
                                      .size = size,
                                      .unit = BENCH_USEC,
                                      .work = 1,
                                      .run = run,
                                      .context = self});
    }
}

int main(int argc, char **argv)
{
    exchange_t allocated, own;
    bench_init(&argc, &argv);
    if (bench_ranks < 2) {
        fprintf(stderr, "exchange needs 2 ranks\n");
        MPI_Abort(MPI_COMM_WORLD, 2);
    }
    for (int i = 0; i < NEIGHBOURS; i++) {
        allocated.out[i] = bench_memory(BENCH_MAX_BYTES);
        allocated.in[i] = bench_memory(BENCH_MAX_BYTES);
        own.out[i] = arrays[2 * i];
        own.in[i] = arrays[2 * i + 1];
        memset(own.out[i], 1, BENCH_MAX_BYTES);
        memset(own.in[i], 1, BENCH_MAX_BYTES);
    }
    measure_series("sendrecv/malloc", sendrecv, &allocated);
    measure_series("sendrecv/static", sendrecv, &own);
    measure_series("isend/malloc", isend, &allocated);
    measure_series("isend/static", isend, &own);
    for (int i = 0; i < NEIGHBOURS; i++) {
        free(allocated.out[i]);
        free(allocated.in[i]);
    }
    return bench_fini();
}
