/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * MPI_THREAD_MULTIPLE: several threads of a rank send, receive, wait, test and probe on one
 * communicator at a time, each with a tag of its own to the threads of its neighbours, and two that
 * play ping-pong within the rank, so that one sleeps while the other completes its request.
 */
#include <mpi.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>

#include "tap.h"

enum { THREADS = 4, ROUNDS = 300, LARGEST = 20000 };

static int rank, size, left, right;
static atomic_int wrong;

static void expect(bool holds)
{
    if (!holds)
        atomic_fetch_add(&wrong, 1);
}

static int number(int sender, int thread, int round, int i)
{
    return sender * 1000000 + thread * 100000 + round * 100 + i;
}

static void wait_for(int round, MPI_Request requests[2], MPI_Status statuses[2])
{
    int flag = 0, index;
    switch (round % 4) {
    case 0:
        MPI_Waitall(2, requests, statuses);
        break;
    case 1:
        while (!flag)
            MPI_Testall(2, requests, &flag, statuses);
        break;
    case 2:
        MPI_Wait(&requests[1], &statuses[1]);
        MPI_Wait(&requests[0], &statuses[0]);
        break;
    default:
        for (int i = 0; i < 2; i++) {
            MPI_Status status;
            MPI_Waitany(2, requests, &index, &status);
            statuses[index] = status;
        }
    }
}

/* Around the ring with the thread of the same number. */
static void *exchange(void *argument)
{
    int thread = *(int *)argument;
    int *out = calloc(LARGEST, sizeof *out), *in = calloc(LARGEST, sizeof *in);
    for (int round = 0; round < ROUNDS; round++) {
        int length = 1 + (round * 37 + thread * 11) % (round % 16 == 0 ? LARGEST : 200), count;
        MPI_Request requests[2];
        MPI_Status statuses[2];
        for (int i = 0; i < length; i++)
            out[i] = number(rank, thread, round, i);
        if (round % 5 == 4) {
            MPI_Isend(out, length, MPI_INT, right, thread, MPI_COMM_WORLD, &requests[1]);
            MPI_Message message;
            MPI_Mprobe(left, thread, MPI_COMM_WORLD, &message, &statuses[0]);
            MPI_Imrecv(in, LARGEST, MPI_INT, &message, &requests[0]);
        } else {
            MPI_Irecv(in, LARGEST, MPI_INT, left, thread, MPI_COMM_WORLD, &requests[0]);
            if (round % 3 == 0)
                MPI_Issend(out, length, MPI_INT, right, thread, MPI_COMM_WORLD, &requests[1]);
            else
                MPI_Isend(out, length, MPI_INT, right, thread, MPI_COMM_WORLD, &requests[1]);
        }
        wait_for(round, requests, statuses);
        MPI_Get_count(&statuses[0], MPI_INT, &count);
        expect(count == length && statuses[0].MPI_TAG == thread);
        for (int i = 0; i < length; i++)
            expect(in[i] == number(left, thread, round, i));
    }
    free(out);
    free(in);
    return NULL;
}

/* Two threads of this rank: what one sends the other waits for. */
static void *play(void *argument)
{
    int side = *(int *)argument, value = -1;
    for (int round = 0; round < ROUNDS; round++) {
        if (round % 2 == side) {
            MPI_Send(&round, 1, MPI_INT, 0, 50 + side, MPI_COMM_SELF);
        } else {
            MPI_Recv(&value, 1, MPI_INT, 0, 50 + 1 - side, MPI_COMM_SELF, MPI_STATUS_IGNORE);
            expect(value == round);
        }
    }
    return NULL;
}

static void run(const char *what, int count, void *(*work)(void *))
{
    pthread_t threads[THREADS];
    int arguments[THREADS];
    for (int t = 0; t < count; t++) {
        arguments[t] = t;
        pthread_create(&threads[t], NULL, work, &arguments[t]);
    }
    for (int t = 0; t < count; t++)
        pthread_join(threads[t], NULL);
    tap_check(atomic_load(&wrong) == 0, "%s: %d threads, %d rounds", what, count, ROUNDS);
}

int main(int argc, char **argv)
{
    int provided;
    MPI_Init_thread(&argc, &argv, MPI_THREAD_MULTIPLE, &provided);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    left = (rank + size - 1) % size;
    right = (rank + 1) % size;
    tap_rank(rank);
    tap_check(provided == MPI_THREAD_MULTIPLE, "MPI_THREAD_MULTIPLE");
    run("around the ring", THREADS, exchange);
    run("within the rank", 2, play);
    MPI_Finalize();
    return tap_finish();
}
