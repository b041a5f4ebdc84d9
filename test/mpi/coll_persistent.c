/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Persistent collectives: what coll_contract and coll_nonblocking do not do with them. Ranks that
 * run ahead of others; operations that others wait for while this rank is in another MPI call;
 * requests that are freed while they are active, before they were started, and in an order that
 * differs by rank; many that come and go; neighbours with long blocks.
 *
 *   coll_persistent [ELEMENTS]    of a block
 */
#include <mpi.h>
#include <stdlib.h>

#include "tap.h"

enum { RANKS_MAX = 8, OPERATIONS = 5, TURNS = 40, CYCLES = 40 };

static int rank, size, count = 3000;
static int *send, *recv;

static int value(int turn, int from, int to, int i)
{
    return turn * 1000 + from * 100 + to * 10 + i % 7;
}

static void fill(int turn)
{
    for (int to = 0; to < size; to++) {
        for (int i = 0; i < count; i++)
            send[to * count + i] = value(turn, rank, to, i);
    }
}

/* A block of `recv` has what `from` sent to `to`. */
static int is_block(int block, int turn, int from, int to)
{
    for (int i = 0; i < count; i++) {
        if (recv[block * count + i] != value(turn, from, to, i))
            return 0;
    }
    return 1;
}

/* -- ranks that run ahead ------------------------------------------------------------------ */

static void bcast_ahead(int root)
{
    MPI_Request request;
    int wrong = 0;
    int *data = rank == root ? send : recv;
    MPI_Bcast_init(data, count, MPI_INT, root, MPI_COMM_WORLD, MPI_INFO_NULL, &request);
    for (int turn = 0; turn < TURNS; turn++) {
        fill(turn);
        MPI_Start(&request);
        MPI_Wait(&request, MPI_STATUS_IGNORE);
        wrong += rank != root && !is_block(0, turn, root, 0);
    }
    MPI_Request_free(&request);
    tap_check(wrong == 0, "a root that runs ahead (%d wrong)", wrong);
}

static void gather_ahead(int root)
{
    MPI_Request request;
    int wrong = 0;
    MPI_Gather_init(send, count, MPI_INT, recv, count, MPI_INT, root, MPI_COMM_WORLD, MPI_INFO_NULL,
                    &request);
    for (int turn = 0; turn < TURNS; turn++) {
        fill(turn);
        MPI_Start(&request);
        MPI_Wait(&request, MPI_STATUS_IGNORE);
        for (int from = 0; rank == root && from < size; from++)
            wrong += !is_block(from, turn, from, 0);
    }
    MPI_Request_free(&request);
    tap_check(wrong == 0, "ranks that run ahead of a root (%d wrong)", wrong);
}

/* -- progress ------------------------------------------------------------------------------ */

/* Rank 0 is in MPI_Recv while the others need its part, which begins after theirs. */
static void progress_elsewhere(void)
{
    MPI_Request request, reduce;
    int one = 1, wrong = 0;
    MPI_Alltoall_init(send, count, MPI_INT, recv, count, MPI_INT, MPI_COMM_WORLD, MPI_INFO_NULL,
                      &request);
    MPI_Reduce_init(&one, &wrong, 1, MPI_INT, MPI_SUM, 0, MPI_COMM_WORLD, MPI_INFO_NULL, &reduce);
    for (int turn = 0; turn < 5; turn++) {
        fill(turn);
        MPI_Start(&request);
        MPI_Start(&reduce);
        for (int from = 1; rank == 0 && from < size; from++)
            MPI_Recv(&one, 1, MPI_INT, from, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        MPI_Wait(&request, MPI_STATUS_IGNORE);
        if (rank != 0)
            MPI_Send(&one, 1, MPI_INT, 0, 0, MPI_COMM_WORLD);
        MPI_Wait(&reduce, MPI_STATUS_IGNORE);
        for (int from = 0; from < size; from++)
            tap_check(is_block(from, turn, from, rank), "a block, in turn %d", turn);
        if (rank == 0)
            tap_check(wrong == size, "the sum, in turn %d", turn);
    }
    MPI_Request_free(&request);
    MPI_Request_free(&reduce);
}

/* -- lives of requests ---------------------------------------------------------------------- */

/* Each operation may get the memory of an earlier one. */
static void come_and_go(void)
{
    MPI_Request requests[OPERATIONS];
    int wrong = 0, sums[OPERATIONS];
    for (int cycle = 0; cycle < CYCLES; cycle++) {
        for (int i = 0; i < OPERATIONS; i++)
            MPI_Allreduce_init(&cycle, &sums[i], 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD, MPI_INFO_NULL,
                               &requests[i]);
        MPI_Startall(OPERATIONS - 1, requests);
        for (int done = 0, flag; done < OPERATIONS - 1; done += flag) {
            int which = (done + rank) % (OPERATIONS - 1);
            MPI_Test(&requests[which], &flag, MPI_STATUS_IGNORE);
            wrong += flag && sums[which] != cycle * size;
        }
        for (int i = 0; i < OPERATIONS; i++)
            MPI_Request_free(&requests[(i + rank) % OPERATIONS]);
    }
    tap_check(wrong == 0, "%d of them, started in part, freed in any order", CYCLES * OPERATIONS);
}

/* All but the last rank free theirs before the last rank begins. */
static void free_active(void)
{
    MPI_Request request;
    fill(9);
    MPI_Allgather_init(send, count, MPI_INT, recv, count, MPI_INT, MPI_COMM_WORLD, MPI_INFO_NULL,
                       &request);
    if (rank == size - 1)
        MPI_Recv(NULL, 0, MPI_INT, 0, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    MPI_Start(&request);
    if (rank == size - 1) {
        MPI_Wait(&request, MPI_STATUS_IGNORE);
        for (int from = 0; from < size; from++)
            tap_check(is_block(from, 9, from, 0), "what rank %d had given", from);
    }
    MPI_Request_free(&request);
    if (rank == 0)
        MPI_Send(NULL, 0, MPI_INT, size - 1, 1, MPI_COMM_WORLD);
    MPI_Barrier(MPI_COMM_WORLD);
}

/* -- neighbours ----------------------------------------------------------------------------- */

/* A ring: of two ranks each is the other's neighbour twice. */
static void ring(void)
{
    MPI_Comm comm;
    MPI_Request request;
    int periodic = 1, below = (rank + size - 1) % size, above = (rank + 1) % size;
    MPI_Cart_create(MPI_COMM_WORLD, 1, &size, &periodic, 0, &comm);
    MPI_Neighbor_alltoall_init(send, count, MPI_INT, recv, count, MPI_INT, comm, MPI_INFO_NULL,
                               &request);
    for (int turn = 0; turn < 3; turn++) {
        fill(turn);
        MPI_Start(&request);
        MPI_Wait(&request, MPI_STATUS_IGNORE);
        tap_check(is_block(0, turn, below, 1), "from below, in turn %d", turn);
        tap_check(is_block(1, turn, above, 0), "from above, in turn %d", turn);
    }
    MPI_Request_free(&request);
    MPI_Comm_free(&comm);
}

int main(int argc, char **argv)
{
    MPI_Init(&argc, &argv);
    if (argc > 1)
        count = atoi(argv[1]);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    tap_rank(rank);
    send = malloc((size_t)(size + 1) * (size_t)count * sizeof *send);
    recv = malloc((size_t)(size + 1) * (size_t)count * sizeof *recv);
    for (int root = 0; root < size; root += size - 1) {
        bcast_ahead(root);
        gather_ahead(root);
    }
    progress_elsewhere();
    come_and_go();
    free_active();
    ring();
    free(send);
    free(recv);
    MPI_Finalize();
    return tap_finish();
}
