/* SPDX-License-Identifier: BSD-3-Clause */
/* A message goes to and fro between ranks 0 and 1: half of that time, for one size. */
#ifndef BENCH_PING_PONG_H
#define BENCH_PING_PONG_H

#include <mpi.h>

#include "measure.h"

typedef struct ping_pong {
    char *buffer;
    int bytes;
} ping_pong_t;

static inline void ping_pong(void *context, int rounds)
{
    const ping_pong_t *self = context;
    int peer = !bench_rank;
    for (int i = 0; i < rounds; i++) {
        if (bench_rank == 0)
            MPI_Send(self->buffer, self->bytes, MPI_BYTE, peer, 0, MPI_COMM_WORLD);
        MPI_Recv(self->buffer, self->bytes, MPI_BYTE, peer, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        if (bench_rank == 1)
            MPI_Send(self->buffer, self->bytes, MPI_BYTE, peer, 0, MPI_COMM_WORLD);
    }
}

static inline void ping_pong_measure(const char *name, char *buffer, long size)
{
    ping_pong_t self = {buffer, (int)size};
    bench_measure(&(bench_case_t){.name = name,
                                  .size = size,
                                  .unit = BENCH_USEC,
                                  .work = 2,
                                  .ranks = 2,
                                  .run = ping_pong,
                                  .context = &self});
}

#endif
