/* SPDX-License-Identifier: BSD-3-Clause */
/* Requests that never end. See hang.h. */
#include "hang.h"

#include <stdlib.h>

enum { TAG = 7, COUNT = 5 };

/* The receiver of a large message has forgotten to wait for a request, and goes on. */
static void forgotten_wait(void)
{
    MPI_Request request;
    if (rank == 0)
        MPI_Send(large, LARGE_BYTES, MPI_CHAR, 1, TAG, MPI_COMM_WORLD); /* @unwanted */
    else
        MPI_Irecv(large, LARGE_BYTES, MPI_CHAR, 0, TAG + 1, MPI_COMM_WORLD, &request);
    MPI_Barrier(MPI_COMM_WORLD); /* @barrier_of_forgotten */
}

static void begin_receives(MPI_Request *requests)
{
    static int values[COUNT];
    for (int i = 0; i < COUNT; i++)
        MPI_Irecv(&values[i], 1, MPI_INT, 1, TAG + i, MPI_COMM_WORLD, &requests[i]);
}

/* One of five messages is never sent. */
static void waitall(void)
{
    MPI_Request requests[COUNT];
    begin_receives(requests);
    for (int i = 0; i < COUNT && rank == 1; i++) {
        if (i != 3)
            MPI_Send(&rank, 1, MPI_INT, 0, TAG + i, MPI_COMM_WORLD);
    }
    if (rank == 0)
        MPI_Waitall(COUNT, requests, MPI_STATUSES_IGNORE); /* @waitall */
    else
        MPI_Barrier(MPI_COMM_WORLD); /* @barrier_of_waitall */
}

/* None of five messages is sent. */
static void waitany(void)
{
    MPI_Request requests[COUNT];
    int index;
    begin_receives(requests);
    if (rank == 0)
        MPI_Waitany(COUNT, requests, &index, MPI_STATUS_IGNORE); /* @waitany */
    else
        MPI_Barrier(MPI_COMM_WORLD); /* @barrier_of_waitany */
}

/* Tests for a message that nobody sends. */
static void test_loop(void)
{
    MPI_Request request;
    int flag = 0;
    MPI_Irecv(&size, 1, MPI_INT, 1 - rank, TAG, MPI_COMM_WORLD, &request);
    while (!flag && rank == 0)
        MPI_Test(&request, &flag, MPI_STATUS_IGNORE); /* @test */
    MPI_Wait(&request, MPI_STATUS_IGNORE);            /* @wait */
}

/* A persistent send was made, and never started. */
static void not_started(void)
{
    MPI_Request request;
    MPI_Send_init(&rank, 1, MPI_INT, 1, TAG, MPI_COMM_WORLD, &request);
    if (rank == 1)
        MPI_Recv(&size, 1, MPI_INT, 0, TAG, MPI_COMM_WORLD, MPI_STATUS_IGNORE); /* @started */
    MPI_Wait(&request, MPI_STATUS_IGNORE); /* it is inactive: this returns at once */
    MPI_Barrier(MPI_COMM_WORLD);           /* @barrier_of_started */
}

/* One partition of a partitioned send is never ready. */
static void partition_never_ready(void)
{
    static int values[4];
    MPI_Request request;
    if (rank == 0)
        MPI_Psend_init(values, 4, 1, MPI_INT, 1, TAG, MPI_COMM_WORLD, MPI_INFO_NULL, &request);
    else
        MPI_Precv_init(values, 4, 1, MPI_INT, 0, TAG, MPI_COMM_WORLD, MPI_INFO_NULL, &request);
    MPI_Start(&request);
    for (int i = 0; i < 3 && rank == 0; i++)
        MPI_Pready(i, request);
    MPI_Wait(&request, MPI_STATUS_IGNORE); /* @partitions */
}

static int query(void *state, MPI_Status *status)
{
    (void)state;
    (void)status;
    return MPI_SUCCESS;
}

static int release(void *state)
{
    (void)state;
    return MPI_SUCCESS;
}

static int cancel(void *state, int is_complete)
{
    (void)state;
    (void)is_complete;
    return MPI_SUCCESS;
}

/* A generalized request that the program never completes. */
static void generalized_request(void)
{
    MPI_Request request;
    MPI_Grequest_start(query, release, cancel, NULL, &request);
    if (rank == 0)
        MPI_Wait(&request, MPI_STATUS_IGNORE); /* @generalized */
    else
        MPI_Barrier(MPI_COMM_WORLD); /* @barrier_of_generalized */
}

/* The buffer of MPI_Bsend cannot be taken away: its message has no receiver. */
static void buffer_detach(void)
{
    int bytes = LARGE_BYTES + MPI_BSEND_OVERHEAD;
    void *buffer = malloc((size_t)bytes);
    MPI_Buffer_attach(buffer, bytes);
    if (rank == 0) {
        MPI_Bsend(large, LARGE_BYTES, MPI_CHAR, 1, TAG, MPI_COMM_WORLD);
        MPI_Buffer_detach(&buffer, &bytes); /* @detach */
    }
    MPI_Barrier(MPI_COMM_WORLD); /* @barrier_of_detach */
}

/* One rank does not join a collective that the other ones have begun and wait for. */
static void ibarrier(void)
{
    MPI_Request request;
    if (rank != 2)
        MPI_Ibarrier(MPI_COMM_WORLD, &request);
    else
        MPI_Irecv(&size, 1, MPI_INT, 0, TAG, MPI_COMM_WORLD, &request);
    MPI_Wait(&request, MPI_STATUS_IGNORE); /* @ibarrier */
}

const hang_case_t request_cases[] = {
    {"forgotten_wait", forgotten_wait, 0},
    {"waitall", waitall, 0},
    {"waitany", waitany, 0},
    {"test_loop", test_loop, 0},
    {"not_started", not_started, 0},
    {"partition_never_ready", partition_never_ready, 0},
    {"generalized_request", generalized_request, 0},
    {"buffer_detach", buffer_detach, 0},
    {"ibarrier", ibarrier, 0},
    {0},
};
