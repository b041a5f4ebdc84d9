/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The collective operations on all ranks, by size: the time of a call. The size is the bytes that
 * one rank gives; for alltoall, scatter and reduce_scatter_block those for one rank. The root moves
 * on with every call, so that it is nobody's turn to run ahead of the others. The persistent forms,
 * where the MPI has them, are started and waited for; their root is rank 0.
 *
 *   collectives [--quick] [NAME]
 */
#include <mpi.h>
#include <stdio.h>

#include "measure.h"

enum { MIN_BYTES = 8, MAX_BYTES = 1 << 20 };

static char *from, *to; /* MAX_BYTES for each rank */

typedef void call_fn_t(int count, int root);

static void barrier(int count, int root)
{
    (void)count, (void)root;
    MPI_Barrier(MPI_COMM_WORLD);
}

static void bcast(int count, int root)
{
    MPI_Bcast(from, count, MPI_DOUBLE, root, MPI_COMM_WORLD);
}

static void reduce(int count, int root)
{
    MPI_Reduce(from, to, count, MPI_DOUBLE, MPI_SUM, root, MPI_COMM_WORLD);
}

static void allreduce(int count, int root)
{
    (void)root;
    MPI_Allreduce(from, to, count, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
}

static void gather(int count, int root)
{
    MPI_Gather(from, count, MPI_DOUBLE, to, count, MPI_DOUBLE, root, MPI_COMM_WORLD);
}

static void scatter(int count, int root)
{
    MPI_Scatter(from, count, MPI_DOUBLE, to, count, MPI_DOUBLE, root, MPI_COMM_WORLD);
}

static void allgather(int count, int root)
{
    (void)root;
    MPI_Allgather(from, count, MPI_DOUBLE, to, count, MPI_DOUBLE, MPI_COMM_WORLD);
}

static void alltoall(int count, int root)
{
    (void)root;
    MPI_Alltoall(from, count, MPI_DOUBLE, to, count, MPI_DOUBLE, MPI_COMM_WORLD);
}

static void reduce_scatter_block(int count, int root)
{
    (void)root;
    MPI_Reduce_scatter_block(from, to, count, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
}

static void scan(int count, int root)
{
    (void)root;
    MPI_Scan(from, to, count, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
}

struct calls {
    call_fn_t *call;
    int count, root;
};

static void repeat(void *context, int rounds)
{
    struct calls *calls = context;
    for (int i = 0; i < rounds; i++) {
        calls->call(calls->count, calls->root);
        calls->root = (calls->root + 1) % bench_ranks;
    }
}

static void measure(const char *name, call_fn_t *call, long bytes)
{
    struct calls calls = {call, (int)(bytes / (long)sizeof(double)), 0};
    bench_measure(&(bench_case_t){.name = name,
                                  .size = bytes,
                                  .unit = BENCH_USEC,
                                  .work = 1,
                                  .run = repeat,
                                  .context = &calls});
}

#if MPI_VERSION >= 4
static void repeat_start(void *context, int rounds)
{
    MPI_Request *request = context;
    for (int i = 0; i < rounds; i++) {
        MPI_Start(request);
        MPI_Wait(request, MPI_STATUS_IGNORE);
    }
}

static void measure_persistent(const char *name, long bytes, MPI_Request request)
{
    bench_measure(&(bench_case_t){.name = name,
                                  .size = bytes,
                                  .unit = BENCH_USEC,
                                  .work = 1,
                                  .run = repeat_start,
                                  .context = &request});
    MPI_Request_free(&request);
}

static void measure_all_persistent(long bytes)
{
    int count = (int)(bytes / (long)sizeof(double));
    MPI_Request request;
    MPI_Bcast_init(from, count, MPI_DOUBLE, 0, MPI_COMM_WORLD, MPI_INFO_NULL, &request);
    measure_persistent("persistent_bcast", bytes, request);
    MPI_Allreduce_init(from, to, count, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD, MPI_INFO_NULL,
                       &request);
    measure_persistent("persistent_allreduce", bytes, request);
    MPI_Alltoall_init(from, count, MPI_DOUBLE, to, count, MPI_DOUBLE, MPI_COMM_WORLD, MPI_INFO_NULL,
                      &request);
    measure_persistent("persistent_alltoall", bytes, request);
}
#endif

int main(int argc, char **argv)
{
    static const struct {
        const char *name;
        call_fn_t *call;
    } table[] = {
        {"bcast", bcast},         {"reduce", reduce},
        {"allreduce", allreduce}, {"gather", gather},
        {"scatter", scatter},     {"allgather", allgather},
        {"alltoall", alltoall},   {"reduce_scatter_block", reduce_scatter_block},
        {"scan", scan},
    };

    bench_init(&argc, &argv);
    from = bench_memory((size_t)bench_ranks * MAX_BYTES);
    to = bench_memory((size_t)bench_ranks * MAX_BYTES);
    measure("barrier", barrier, 0);
    for (size_t i = 0; i < sizeof table / sizeof table[0]; i++) {
        for (long bytes = MIN_BYTES; bytes <= MAX_BYTES; bytes *= bench_quick ? 64 : 4)
            measure(table[i].name, table[i].call, bytes);
    }
#if MPI_VERSION >= 4
    for (long bytes = MIN_BYTES; bytes <= MAX_BYTES; bytes *= bench_quick ? 64 : 4)
        measure_all_persistent(bytes);
#endif
    return bench_fini();
}
