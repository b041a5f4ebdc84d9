/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Long nonblocking and persistent collectives, all of them outstanding at a time and completed in
 * an order that differs by rank; started again with other data; with the buffers of all, some or
 * none of the ranks where the others see them. A rank writes its operands again as soon as its own
 * operation is done.
 *
 *   coll_later [ELEMENTS]    of a block
 */
#include <mpi.h>
#include <stdlib.h>
#include <string.h>

#include "tap.h"

enum { RANKS_MAX = 5, ELEMENTS_MAX = 70000, OPERATIONS = 6, TIMES = 6, FIRST_CALLS = 30 };

typedef struct operation {
    int *send, *recv;
    MPI_Request request;
} operation_t;

static const char *const names[OPERATIONS] = {"reduce",    "allreduce",  "reduce_scatter_block",
                                              "allgather", "allgatherv", "gather"};

static int static_buffers[2 * OPERATIONS][RANKS_MAX * ELEMENTS_MAX];
static operation_t operations[OPERATIONS];
static int rank, size, count = ELEMENTS_MAX, counts[RANKS_MAX], displs[RANKS_MAX];

static int value(int round, int which, int from, int i)
{
    return round * 100000 + which * 10000 + from * 1000 + i % 991;
}

static int root_of(int which)
{
    return which % size;
}

static void begin(int which, int persistent)
{
    operation_t *op = &operations[which];
    MPI_Comm comm = MPI_COMM_WORLD;
    MPI_Info none = MPI_INFO_NULL;
    int root = root_of(which), *send = op->send, *recv = op->recv;
    MPI_Request *request = &op->request;
    if (which == 0 && persistent)
        MPI_Reduce_init(send, recv, count, MPI_INT, MPI_SUM, root, comm, none, request);
    else if (which == 0)
        MPI_Ireduce(send, recv, count, MPI_INT, MPI_SUM, root, comm, request);
    else if (which == 1 && persistent)
        MPI_Allreduce_init(send, recv, count, MPI_INT, MPI_SUM, comm, none, request);
    else if (which == 1)
        MPI_Iallreduce(send, recv, count, MPI_INT, MPI_SUM, comm, request);
    else if (which == 2 && persistent)
        MPI_Reduce_scatter_block_init(send, recv, count, MPI_INT, MPI_SUM, comm, none, request);
    else if (which == 2)
        MPI_Ireduce_scatter_block(send, recv, count, MPI_INT, MPI_SUM, comm, request);
    else if (which == 3 && persistent)
        MPI_Allgather_init(send, count, MPI_INT, recv, count, MPI_INT, comm, none, request);
    else if (which == 3)
        MPI_Iallgather(send, count, MPI_INT, recv, count, MPI_INT, comm, request);
    else if (which == 4 && persistent)
        MPI_Allgatherv_init(send, counts[rank], MPI_INT, recv, counts, displs, MPI_INT, comm, none,
                            request);
    else if (which == 4)
        MPI_Iallgatherv(send, counts[rank], MPI_INT, recv, counts, displs, MPI_INT, comm, request);
    else if (persistent)
        MPI_Gather_init(send, count, MPI_INT, recv, count, MPI_INT, root, comm, none, request);
    else
        MPI_Igather(send, count, MPI_INT, recv, count, MPI_INT, root, comm, request);
}

static int is_sum(int round, int which, const int *found, int first)
{
    for (int i = 0; i < count; i++) {
        int sum = 0;
        for (int from = 0; from < size; from++)
            sum += value(round, which, from, first + i);
        if (found[i] != sum)
            return 0;
    }
    return 1;
}

static int is_right(int round, int which)
{
    const int *recv = operations[which].recv;
    if ((which == 0 || which == 5) && rank != root_of(which))
        return 1;
    if (which <= 2)
        return is_sum(round, which, recv, which == 2 ? rank * count : 0);
    for (int from = 0; from < size; from++) {
        const int *block = &recv[(size_t)(which == 4 ? size - 1 - from : from) * (size_t)count];
        for (int i = 0; i < (which == 4 ? counts[from] : count); i++) {
            if (block[i] != value(round, which, from, i))
                return 0;
        }
    }
    return 1;
}

static void fill(int round, int which)
{
    operation_t *op = &operations[which];
    for (int i = 0; i < size * count; i++)
        op->send[i] = value(round, which, rank, i);
    memset(op->recv, 0xff, (size_t)size * (size_t)count * sizeof(int));
}

/* All of them under way; each rank completes them in another order. */
static void run_round(int round, int persistent, int wrong[OPERATIONS])
{
    for (int which = 0; which < OPERATIONS; which++) {
        fill(round, which);
        if (persistent)
            MPI_Start(&operations[which].request);
        else
            begin(which, 0);
    }
    for (int i = 0; i < OPERATIONS; i++) {
        int which = (i * 5 + rank + round) % OPERATIONS;
        MPI_Wait(&operations[which].request, MPI_STATUS_IGNORE);
        wrong[which] += !is_right(round, which);
        memset(operations[which].send, 0xee, (size_t)count * sizeof(int));
    }
}

/* `where` has a bit for each rank's parity and direction: static instead of the heap. */
static void run(int where, int persistent)
{
    int wrong[OPERATIONS] = {0};
    size_t bytes = sizeof static_buffers[0];
    int static_send = where >> rank % 2 & 1, static_recv = where >> (2 + rank % 2) & 1;
    for (int which = 0; which < OPERATIONS; which++) {
        operations[which].send = static_send ? static_buffers[2 * which] : malloc(bytes);
        operations[which].recv = static_recv ? static_buffers[2 * which + 1] : malloc(bytes);
        if (persistent)
            begin(which, 1);
    }
    for (int round = 0; round < TIMES; round++)
        run_round(round, persistent, wrong);
    for (int which = 0; which < OPERATIONS; which++) {
        tap_check(wrong[which] == 0, "%s, %s, buffers %d (%d wrong)", names[which],
                  persistent ? "persistent" : "nonblocking", where, wrong[which]);
        if (persistent)
            MPI_Request_free(&operations[which].request);
        if (!static_send)
            free(operations[which].send);
        if (!static_recv)
            free(operations[which].recv);
    }
}

/* A blocking call, which may find out more about the communicator, while an operation is under way
 * that was begun before the first one. */
static int meet_first_blocking_call(int round)
{
    int root = round % size, elements = 25000, wrong = 0;
    size_t bytes = (size_t)elements * sizeof(int);
    int *given = malloc(bytes), *sum = malloc(bytes), *all = malloc(bytes * (size_t)size);
    MPI_Comm comm;
    MPI_Request request;
    if (given == NULL || sum == NULL || all == NULL)
        MPI_Abort(MPI_COMM_WORLD, 1);
    for (int i = 0; i < elements; i++)
        given[i] = sum[i] = value(round, 0, rank, i);
    MPI_Comm_dup(MPI_COMM_WORLD, &comm);
    /* One rank comes late, when the others are in the blocking call. */
    int late = size - 1, nothing = 0;
    for (int from = 0; rank == late && from < late; from++)
        MPI_Recv(&nothing, 1, MPI_INT, from, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    if (round % 3 == 0)
        MPI_Iallreduce(MPI_IN_PLACE, sum, elements, MPI_INT, MPI_SUM, comm, &request);
    else if (round % 3 == 1)
        MPI_Ireduce(given, sum, elements, MPI_INT, MPI_SUM, root, comm, &request);
    else
        MPI_Igather(given, elements, MPI_INT, all, elements, MPI_INT, root, comm, &request);
    if (rank != late)
        MPI_Send(&nothing, 1, MPI_INT, late, 0, MPI_COMM_WORLD);
    MPI_Barrier(comm);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    for (int i = 0; i < elements; i++) {
        int expected = 0;
        for (int from = 0; from < size; from++) {
            expected += value(round, 0, from, i);
            if (round % 3 == 2 && rank == root)
                wrong += all[from * elements + i] != value(round, 0, from, i);
        }
        if (round % 3 == 0 || (round % 3 == 1 && rank == root))
            wrong += sum[i] != expected;
    }
    MPI_Comm_free(&comm);
    free(given), free(sum), free(all);
    return wrong;
}

int main(int argc, char **argv)
{
    MPI_Init(&argc, &argv);
    if (argc > 1)
        count = atoi(argv[1]);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    tap_rank(rank);
    for (int i = 0; i < size; i++) {
        counts[i] = i % 3 == 1 ? 0 : count - i;
        displs[i] = (size - 1 - i) * count;
    }
    const int places[] = {0, 1, 4, 8, 15};
    for (unsigned i = 0; i < sizeof places / sizeof places[0]; i++) {
        run(places[i], 0);
        run(places[i], 1);
    }
    int wrong = 0;
    for (int round = 0; round < FIRST_CALLS; round++)
        wrong += meet_first_blocking_call(round);
    tap_check(wrong == 0, "under way at the first blocking call (%d wrong)", wrong);
    MPI_Finalize();
    return tap_finish();
}
