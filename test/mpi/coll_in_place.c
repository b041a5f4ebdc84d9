/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * MPI_IN_PLACE at every subset of the ranks. Where the standard wants it at all of them, a program
 * that gives it at some gets what the word means: that the rank's operand is where its result goes.
 * Other ranks may be reading the operand when the result is ready. MPI_Alltoall sends messages in
 * another order then, so over several nodes all ranks give it, or none.
 *
 *   coll_in_place [heap|static]    where the buffers are
 */
#include <mpi.h>
#include <stdlib.h>
#include <string.h>

#include "place.h"
#include "tap.h"

enum { RANKS_MAX = 4, COUNT_MAX = 200000, TIMES = 8 };

static int static_send[COUNT_MAX], static_recv[COUNT_MAX];
static int *send, *recv;
static int rank, size, wrong;
static MPI_Request request;

static int operand(int from, int i)
{
    return (from + 1) * 1000 + i % 997;
}

static int sum(int i)
{
    int value = 0;
    for (int from = 0; from < size; from++)
        value += operand(from, i);
    return value;
}

static int value(int from, int to, int i)
{
    return from * 1000000 + to * 100000 + i % 997;
}

/* A whole operand of this rank, where it gives it. */
static const void *give(int in_place, int count)
{
    for (int i = 0; i < count; i++) {
        send[i] = in_place ? -1 : operand(rank, i);
        recv[i] = in_place ? operand(rank, i) : -2;
    }
    return in_place ? MPI_IN_PLACE : send;
}

static void expect(int given, int wanted)
{
    wrong += given != wanted;
}

static void try_allreduce(int in_place, int count)
{
    const void *from = give(in_place, count);
    MPI_Allreduce(from, recv, count, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
    for (int i = 0; i < count; i++)
        expect(recv[i], sum(i));
}

static void try_iallreduce(int in_place, int count)
{
    const void *from = give(in_place, count);
    MPI_Iallreduce(from, recv, count, MPI_INT, MPI_SUM, MPI_COMM_WORLD, &request);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    for (int i = 0; i < count; i++)
        expect(recv[i], sum(i));
}

static void try_reduce(int in_place, int count)
{
    const void *from = give(in_place && rank == 0, count);
    MPI_Reduce(from, recv, count, MPI_INT, MPI_SUM, 0, MPI_COMM_WORLD);
    for (int i = 0; rank == 0 && i < count; i++)
        expect(recv[i], sum(i));
}

static void try_reduce_scatter(int in_place, int count)
{
    int block = count / size;
    const void *from = give(in_place, count);
    MPI_Reduce_scatter_block(from, recv, block, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
    for (int i = 0; i < block; i++)
        expect(recv[i], sum(rank * block + i));
}

static void try_ireduce_scatter(int in_place, int count)
{
    int block = count / size;
    const void *from = give(in_place, count);
    int finished = 0;
    MPI_Ireduce_scatter_block(from, recv, block, MPI_INT, MPI_SUM, MPI_COMM_WORLD, &request);
    MPI_Waitany(1, &request, &finished, MPI_STATUS_IGNORE);
    for (int i = 0; i < block; i++)
        expect(recv[i], sum(rank * block + i));
}

static void try_allgather(int in_place, int count)
{
    int block = count / size, *own = in_place ? &recv[(size_t)rank * (size_t)block] : send;
    memset(recv, 0xff, (size_t)count * sizeof(int));
    for (int i = 0; i < block; i++)
        own[i] = value(rank, 0, i);
    MPI_Allgather(in_place ? MPI_IN_PLACE : send, block, MPI_INT, recv, block, MPI_INT,
                  MPI_COMM_WORLD);
    for (int i = 0; i < size * block; i++)
        expect(recv[i], value(i / block, 0, i % block));
}

static void try_alltoall(int in_place, int count)
{
    int block = count / size, *from = in_place ? recv : send;
    memset(recv, 0xff, (size_t)count * sizeof(int));
    for (int i = 0; i < size * block; i++)
        from[i] = value(rank, i / block, i % block);
    MPI_Alltoall(in_place ? MPI_IN_PLACE : send, block, MPI_INT, recv, block, MPI_INT,
                 MPI_COMM_WORLD);
    for (int i = 0; i < size * block; i++)
        expect(recv[i], value(i / block, rank, i % block));
}

typedef void try_fn_t(int in_place, int count);

static const struct {
    const char *name;
    try_fn_t *run;
} tries[] = {
    {"allreduce", try_allreduce},
    {"iallreduce", try_iallreduce},
    {"reduce", try_reduce},
    {"reduce_scatter", try_reduce_scatter},
    {"ireduce_scatter", try_ireduce_scatter},
    {"allgather", try_allgather},
    {"alltoall", try_alltoall},
};

int main(int argc, char **argv)
{
    const int counts[] = {8, 1000, 20000, COUNT_MAX};
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    tap_rank(rank);
    int is_static = argc > 1 && strcmp(argv[1], "static") == 0;
    send = is_static ? static_send : malloc(sizeof static_send);
    recv = is_static ? static_recv : malloc(sizeof static_recv);
    int is_one_node = place_is_one_node();
    for (size_t which = 0; which < sizeof tries / sizeof tries[0]; which++) {
        int step = is_one_node || tries[which].run != try_alltoall ? 1 : (1 << size) - 1;
        wrong = 0;
        for (int mask = 0; mask < 1 << size; mask += step) {
            for (int i = 0; i < 4 * TIMES; i++)
                tries[which].run(mask >> rank & 1, counts[i % 4]);
        }
        tap_check(wrong == 0, "%s, in place at any ranks (%d wrong)", tries[which].name, wrong);
    }
    if (!is_static) {
        free(send);
        free(recv);
    }
    MPI_Finalize();
    return tap_finish();
}
