/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Latency of messages that are not contiguous: one element of a layout goes to and fro between
 * ranks 0 and 1, which both have it in that layout; half of that time, by bytes of data.
 *
 *   datatype_send [--quick] [LAYOUT]     on 2 ranks
 */
#include <mpi.h>
#include <stdio.h>

#include "layouts.h"
#include "measure.h"

enum { MIN_BYTES = 1024, MAX_BYTES = 1024 * 1024 };

static char *memory;

static void ping_pong(void *context, int rounds)
{
    MPI_Datatype type = *(const MPI_Datatype *)context;
    for (int i = 0; i < rounds; i++) {
        if (bench_rank == 0)
            MPI_Send(memory, 1, type, 1, 0, MPI_COMM_WORLD);
        MPI_Recv(memory, 1, type, !bench_rank, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        if (bench_rank == 1)
            MPI_Send(memory, 1, type, 0, 0, MPI_COMM_WORLD);
    }
}

int main(int argc, char **argv)
{
    bench_init(&argc, &argv);
    if (bench_ranks < 2) {
        fprintf(stderr, "datatype_send needs 2 ranks\n");
        MPI_Abort(MPI_COMM_WORLD, 2);
    }
    memory = bench_memory((size_t)MAX_BYTES * BENCH_SPREAD);
    for (const bench_layout_t *layout = bench_layouts; layout->name != NULL; layout++) {
        for (int bytes = MIN_BYTES; bytes <= MAX_BYTES; bytes *= bench_quick ? 32 : 4) {
            MPI_Datatype type = layout->create(bytes);
            MPI_Type_commit(&type);
            bench_measure(&(bench_case_t){.name = layout->name,
                                          .size = bytes,
                                          .unit = BENCH_USEC,
                                          .work = 2,
                                          .ranks = 2,
                                          .run = ping_pong,
                                          .context = &type});
            MPI_Type_free(&type);
        }
    }
    return bench_fini();
}
