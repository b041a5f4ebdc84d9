/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Two threads of each of two ranks exchange windows of short messages, each in a communicator of
 * its own, and then both in one; runs under lackey, see shared_lines.test. It prints the addresses
 * that its threads write to when a lap begins and ends.
 */
#include <mpi.h>
#include <pthread.h>
#include <stdio.h>

enum { THREADS = 2, WINDOW = 16, ROUNDS = 20, BYTES = 8, ANSWER = 8 };
enum { FIRST, OWN, COMMON, LAPS }; /* the first one makes connections and takes memory */

typedef struct worker {
    _Alignas(64) volatile int mark;
    MPI_Comm comm;
    char places[WINDOW][BYTES];
    MPI_Request requests[WINDOW];
} worker_t;

static worker_t workers[THREADS];
static pthread_barrier_t gate;
static int rank;

static void exchange(worker_t *self, MPI_Comm comm)
{
    int tag = (int)(self - workers);
    for (int i = 0; i < WINDOW; i++) {
        if (rank == 0)
            MPI_Isend(self->places[i], BYTES, MPI_BYTE, 1, tag, comm, &self->requests[i]);
        else
            MPI_Irecv(self->places[i], BYTES, MPI_BYTE, 0, tag, comm, &self->requests[i]);
    }
    MPI_Waitall(WINDOW, self->requests, MPI_STATUSES_IGNORE);
    if (rank == 0)
        MPI_Recv(NULL, 0, MPI_BYTE, 1, ANSWER + tag, comm, MPI_STATUS_IGNORE);
    else
        MPI_Send(NULL, 0, MPI_BYTE, 0, ANSWER + tag, comm);
}

static void *work(void *argument)
{
    worker_t *self = argument;
    for (int lap = FIRST; lap < LAPS; lap++) {
        pthread_barrier_wait(&gate);
        self->mark = lap;
        for (int i = 0; i < ROUNDS; i++)
            exchange(self, lap < COMMON ? self->comm : workers[0].comm);
        self->mark = lap;
        pthread_barrier_wait(&gate);
    }
    return NULL;
}

int main(int argc, char **argv)
{
    int level;
    pthread_t second;
    MPI_Init_thread(&argc, &argv, MPI_THREAD_MULTIPLE, &level);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    pthread_barrier_init(&gate, NULL, THREADS);
    for (int i = 0; i < THREADS; i++)
        MPI_Comm_dup(MPI_COMM_WORLD, &workers[i].comm);
    printf("%d %d %p %p\n", rank, ROUNDS, (void *)&workers[0], (void *)&workers[1]);
    fflush(stdout);
    pthread_create(&second, NULL, work, &workers[1]);
    work(&workers[0]);
    pthread_join(second, NULL);
    for (int i = 0; i < THREADS; i++)
        MPI_Comm_free(&workers[i].comm);
    MPI_Finalize();
    return 0;
}
