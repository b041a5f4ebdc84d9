/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Long nonblocking reductions between blocking collectives of the same ranks: each rank waits for
 * what it has under way after another of the blocking ones. The operation and the communicator are
 * freed by the program while they are still in use, and buffers go back as soon as they may.
 *
 *   coll_between [ROUNDS]
 */
#include <mpi.h>
#include <stdlib.h>

#include "tap.h"

enum { COUNT = 50000, UNDER_WAY = 5, LENGTH = 3000, BLOCKING = 5 };

static int rank, size;

static void add(void *in, void *inout, int *count, MPI_Datatype *type)
{
    (void)type;
    for (int i = 0; i < *count; i++)
        ((int *)inout)[i] += ((const int *)in)[i];
}

/* A communicator and an operation that are freed before anything is done. */
static void begin(int round, int *send[UNDER_WAY], int *recv[UNDER_WAY],
                  MPI_Request requests[UNDER_WAY])
{
    MPI_Comm copy;
    MPI_Op op;
    MPI_Comm_dup(MPI_COMM_WORLD, &copy);
    MPI_Op_create(add, 1, &op);
    for (int i = 0; i < UNDER_WAY; i++) {
        MPI_Comm comm = i % 2 == 0 ? MPI_COMM_WORLD : copy;
        send[i] = malloc(COUNT * sizeof(int));
        recv[i] = malloc(COUNT * sizeof(int));
        for (int k = 0; k < COUNT; k++)
            (i == 3 ? recv : send)[i][k] = round + 10 * i + rank + k;
        MPI_Iallreduce(i == 3 ? MPI_IN_PLACE : send[i], recv[i], COUNT, MPI_INT,
                       i < 2 ? op : MPI_SUM, comm, &requests[i]);
    }
    MPI_Op_free(&op);
    MPI_Comm_free(&copy);
}

static int is_right(int round, int which, const int *recv)
{
    int ranks = size * (size - 1) / 2;
    for (int k = 0; k < COUNT; k++) {
        if (recv[k] != size * (round + 10 * which + k) + ranks)
            return 0;
    }
    return 1;
}

/* One of the blocking ones, with roots that change. */
static int call(int round, int number)
{
    static int data[LENGTH], sum[LENGTH];
    int root = (round + number) % size, wanted = round * 7 + number;
    for (int k = 0; k < LENGTH; k++)
        data[k] = number % 2 == 0 && rank != root ? -1 : wanted;
    if (number % 2 == 0) {
        MPI_Bcast(data, LENGTH, MPI_INT, root, MPI_COMM_WORLD);
        return data[0] == wanted && data[LENGTH - 1] == wanted;
    }
    if (number == 3) {
        MPI_Barrier(MPI_COMM_WORLD);
        return 1;
    }
    MPI_Reduce(data, sum, LENGTH, MPI_INT, MPI_SUM, root, MPI_COMM_WORLD);
    return rank != root || sum[LENGTH - 1] == size * wanted;
}

int main(int argc, char **argv)
{
    int wrong = 0, wrong_blocking = 0;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    tap_rank(rank);
    int rounds = argc > 1 ? atoi(argv[1]) : 40;
    for (int round = 0; round < rounds; round++) {
        int *send[UNDER_WAY], *recv[UNDER_WAY];
        MPI_Request requests[UNDER_WAY];
        begin(round, send, recv, requests);
        for (int i = 0; i < BLOCKING; i++) {
            int which = (i + rank + round) % UNDER_WAY, flag = 0;
            if ((rank + round) % 3 == 0)
                MPI_Wait(&requests[which], MPI_STATUS_IGNORE);
            else
                MPI_Test(&requests[which], &flag, MPI_STATUS_IGNORE);
            wrong_blocking += !call(round, i);
        }
        for (int i = 0; i < UNDER_WAY; i++) {
            int which = (3 * i + rank) % UNDER_WAY;
            MPI_Wait(&requests[which], MPI_STATUS_IGNORE);
            free(send[which]);
            wrong += !is_right(round, which, recv[which]);
            free(recv[which]);
        }
    }
    tap_check(wrong == 0, "reductions under way (%d wrong)", wrong);
    tap_check(wrong_blocking == 0, "blocking ones meanwhile (%d wrong)", wrong_blocking);
    MPI_Finalize();
    return tap_finish();
}
