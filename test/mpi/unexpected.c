/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Messages that nobody has asked for yet: from a rank that was never heard of, beside a longer one
 * that is coming, beside one that MPI_Mprobe has taken, many of them, and such as are left when
 * their communicator ends. Rank 0 gets them.
 */
#include <mpi.h>
#include <stdbool.h>
#include <stdlib.h>

#include "tap.h"

enum { LONG = 1 << 18, MANY = 3000, FEW = 20, TAG = 7, OTHER = 8, DONE = 9 };

static int rank;
static int *numbers; /* LONG of them */

static void send(int value, int to, int tag, MPI_Comm comm)
{
    MPI_Send(&value, 1, MPI_INT, to, tag, comm);
}

static int receive(int from, int tag, MPI_Comm comm)
{
    int value = -1;
    MPI_Recv(&value, 1, MPI_INT, from, tag, comm, MPI_STATUS_IGNORE);
    return value;
}

/* Nothing was sent before. The other one's message is first. */
static void check_stranger(void)
{
    if (rank == 2) {
        send(2, 0, TAG, MPI_COMM_WORLD);
        send(2, 1, DONE, MPI_COMM_WORLD);
    } else if (rank == 1) {
        receive(2, DONE, MPI_COMM_WORLD);
        send(1, 0, TAG, MPI_COMM_WORLD);
    } else {
        int from_1 = receive(1, TAG, MPI_COMM_WORLD), from_2 = receive(2, TAG, MPI_COMM_WORLD);
        tap_check(from_1 == 1 && from_2 == 2, "from one rank, not from one that came first");
    }
    MPI_Barrier(MPI_COMM_WORLD);
}

static void fill(int seed)
{
    for (int i = 0; i < LONG; i++)
        numbers[i] = i * 3 + seed;
}

static bool is_filled(int count, int seed)
{
    for (int i = 0; i < count; i++) {
        if (numbers[i] != i * 3 + seed)
            return false;
    }
    return true;
}

/* Short ones are received while a long one, for which a receive was there first, is coming. */
static void check_beside_long(void)
{
    MPI_Request request;
    bool good = true;
    if (rank == 0) {
        MPI_Irecv(numbers, LONG, MPI_INT, 1, OTHER, MPI_COMM_WORLD, &request);
        MPI_Barrier(MPI_COMM_WORLD);
        for (int i = 0; i < FEW; i++)
            good &= receive(1, TAG, MPI_COMM_WORLD) == i;
        MPI_Wait(&request, MPI_STATUS_IGNORE);
        good &= is_filled(LONG, 5);
        tap_check(good, "short ones while a long one comes");
    } else if (rank == 1) {
        fill(5);
        MPI_Barrier(MPI_COMM_WORLD);
        for (int i = 0; i < FEW; i++) {
            send(i, 0, TAG, MPI_COMM_WORLD);
            if (i == FEW / 2)
                MPI_Isend(numbers, LONG, MPI_INT, 0, OTHER, MPI_COMM_WORLD, &request);
        }
        MPI_Wait(&request, MPI_STATUS_IGNORE);
    } else {
        MPI_Barrier(MPI_COMM_WORLD);
    }
}

/* The next one is there before the one that was taken is received; so of several lengths. */
static void check_beside_taken(void)
{
    static const int counts[] = {1, 300, 5000, 100000};
    for (int i = 0; i < 4; i++) {
        int count = counts[i], other = -1, got = 0;
        MPI_Message message;
        MPI_Status status;
        MPI_Request request;
        if (rank == 1) {
            fill(i);
            MPI_Isend(numbers, count, MPI_INT, 0, TAG, MPI_COMM_WORLD, &request);
            send(i, 0, OTHER, MPI_COMM_WORLD);
            MPI_Wait(&request, MPI_STATUS_IGNORE);
        } else if (rank == 0) {
            MPI_Mprobe(MPI_ANY_SOURCE, TAG, MPI_COMM_WORLD, &message, &status);
            MPI_Get_count(&status, MPI_INT, &got);
            MPI_Probe(1, OTHER, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
            MPI_Mrecv(numbers, count, MPI_INT, &message, &status);
            other = receive(1, OTHER, MPI_COMM_WORLD);
            tap_check(got == count && is_filled(count, i) && other == i,
                      "one that was taken, of %d numbers, and the next one", count);
        }
    }
}

static void check_many(void)
{
    bool good = true;
    if (rank == 0) {
        MPI_Barrier(MPI_COMM_WORLD);
        for (int i = 0; i < MANY; i++)
            good &= receive(1, TAG, MPI_COMM_WORLD) == i;
        tap_check(good, "%d of them, in their order", MANY);
    } else if (rank == 1) {
        MPI_Request *requests = malloc(MANY * sizeof(MPI_Request));
        fill(0);
        for (int i = 0; i < MANY; i++)
            numbers[i] = i;
        for (int i = 0; i < MANY; i++)
            MPI_Isend(&numbers[i], 1, MPI_INT, 0, TAG, MPI_COMM_WORLD, &requests[i]);
        MPI_Barrier(MPI_COMM_WORLD);
        MPI_Waitall(MANY, requests, MPI_STATUSES_IGNORE);
        free(requests);
    } else {
        MPI_Barrier(MPI_COMM_WORLD);
    }
}

/* Some are there, some are to come; and the next communicator begins without them. */
static void check_left_over(void)
{
    MPI_Comm comm;
    int found = 0, value = 0;
    for (int round = 0; round < 3; round++) {
        MPI_Comm_dup(MPI_COMM_WORLD, &comm);
        MPI_Iprobe(MPI_ANY_SOURCE, TAG, comm, &found, MPI_STATUS_IGNORE);
        if (rank == 0)
            tap_check(!found, "nothing is there that was for another communicator");
        MPI_Barrier(MPI_COMM_WORLD);
        if (rank == 1) {
            for (int i = 0; i < FEW; i++)
                send(i, 0, TAG, comm);
            send(1, 0, OTHER, comm);
        } else if (rank == 0) {
            value = receive(1, OTHER, comm);
        }
        MPI_Comm_free(&comm);
    }
    if (rank == 0)
        tap_check(value == 1, "what was asked for has come");
}

int main(int argc, char **argv)
{
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    tap_rank(rank);
    numbers = malloc(LONG * sizeof(int));
    check_stranger();
    check_beside_long();
    check_beside_taken();
    check_many();
    check_left_over();
    check_beside_long();
    free(numbers);
    MPI_Finalize();
    return tap_finish();
}
