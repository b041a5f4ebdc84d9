/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Collectives of several threads at once, each in a communicator of its own: nonblocking and
 * persistent ones stay outstanding while blocking ones run, and are waited for or tested. Then
 * those of one communicator, which one thread begins and others complete.
 */
#include <mpi.h>
#include <pthread.h>
#include <sched.h>
#include <stdlib.h>

#include "tap.h"

enum { THREADS = 4, ROUNDS = 60, OPEN = 4, LENGTHS = 4, RANKS_MAX = 16 };

/* Below and above what goes through shared memory, and what needs several messages. */
static const int lengths[LENGTHS] = {1, 100, 4000, 40000};

typedef struct worker {
    MPI_Comm comm;
    int number, rank, size, wrong;
    int *in[OPEN], *out[OPEN];
    MPI_Request fixed; /* a persistent sum of `fixed_in` */
    int fixed_in, fixed_out;
} worker_t;

static int value(const worker_t *worker, int rank, int round, int i)
{
    return worker->number * 1000 + rank * 100 + round + i % 50;
}

static void require(worker_t *worker, bool is_right)
{
    worker->wrong += !is_right;
}

static void begin(worker_t *worker, int round, int slot, MPI_Request *request)
{
    int length = lengths[(round + slot) % LENGTHS], *in = worker->in[slot],
        *out = worker->out[slot];
    for (int i = 0; i < length; i++)
        in[i] = value(worker, worker->rank, round, i);
    switch (slot) {
    case 0:
        MPI_Iallreduce(in, out, length, MPI_INT, MPI_SUM, worker->comm, request);
        break;
    case 1:
        MPI_Ibcast(in, length, MPI_INT, round % worker->size, worker->comm, request);
        break;
    case 2:
        MPI_Iallgather(in, length, MPI_INT, out, length, MPI_INT, worker->comm, request);
        break;
    default:
        MPI_Iscan(in, out, length, MPI_INT, MPI_MAX, worker->comm, request);
    }
}

static bool is_right(const worker_t *worker, int round, int slot)
{
    int length = lengths[(round + slot) % LENGTHS], size = worker->size;
    const int *in = worker->in[slot], *out = worker->out[slot];
    bool right = true;
    for (int i = 0; i < length; i++) {
        if (slot == 0)
            right &= out[i] == size * value(worker, 0, round, i) + 100 * (size * (size - 1) / 2);
        else if (slot == 1)
            right &= in[i] == value(worker, round % size, round, i);
        else if (slot == 3)
            right &= out[i] == value(worker, worker->rank, round, i);
        for (int r = 0; slot == 2 && r < size; r++)
            right &= out[r * length + i] == value(worker, r, round, i);
    }
    return right;
}

static void complete(worker_t *worker, int round, MPI_Request requests[OPEN])
{
    int all = 0, done = 0, indices[OPEN];
    if ((round + worker->rank) % 3 == 0) {
        MPI_Waitall(OPEN, requests, MPI_STATUSES_IGNORE);
        return;
    }
    while (all < OPEN) {
        if ((round + worker->rank) % 3 == 1) {
            MPI_Waitsome(OPEN, requests, &done, indices, MPI_STATUSES_IGNORE);
        } else {
            MPI_Testsome(OPEN, requests, &done, indices, MPI_STATUSES_IGNORE);
            sched_yield();
        }
        all += done;
    }
}

static void *work(void *argument)
{
    worker_t *worker = argument;
    MPI_Request requests[OPEN];
    int size = worker->size;
    for (int round = 0; round < ROUNDS; round++) {
        int sum = -1;
        for (int slot = 0; slot < OPEN; slot++)
            begin(worker, round, slot, &requests[slot]);
        worker->fixed_in = round + worker->rank;
        MPI_Start(&worker->fixed);
        MPI_Allreduce(&round, &sum, 1, MPI_INT, MPI_SUM, worker->comm);
        require(worker, sum == round * size);
        complete(worker, round, requests);
        for (int slot = 0; slot < OPEN; slot++)
            require(worker, is_right(worker, round, slot));
        MPI_Wait(&worker->fixed, MPI_STATUS_IGNORE);
        require(worker, worker->fixed_out == round * size + size * (size - 1) / 2);
    }
    return NULL;
}

static void check_communicators(void)
{
    static worker_t workers[THREADS];
    pthread_t threads[THREADS];
    int wrong = 0;
    for (int t = 0; t < THREADS; t++) {
        worker_t *worker = &workers[t];
        MPI_Comm_dup(MPI_COMM_WORLD, &worker->comm);
        MPI_Comm_rank(worker->comm, &worker->rank);
        MPI_Comm_size(worker->comm, &worker->size);
        worker->number = t;
        for (int slot = 0; slot < OPEN; slot++) {
            worker->in[slot] = calloc((size_t)lengths[LENGTHS - 1], sizeof(int));
            worker->out[slot] =
                calloc((size_t)lengths[LENGTHS - 1] * (size_t)worker->size, sizeof(int));
        }
        MPI_Allreduce_init(&worker->fixed_in, &worker->fixed_out, 1, MPI_INT, MPI_SUM, worker->comm,
                           MPI_INFO_NULL, &worker->fixed);
    }
    for (int t = 0; t < THREADS; t++)
        pthread_create(&threads[t], NULL, work, &workers[t]);
    for (int t = 0; t < THREADS; t++) {
        pthread_join(threads[t], NULL);
        wrong += workers[t].wrong;
        MPI_Request_free(&workers[t].fixed);
        MPI_Comm_free(&workers[t].comm);
        for (int slot = 0; slot < OPEN; slot++) {
            free(workers[t].in[slot]);
            free(workers[t].out[slot]);
        }
    }
    tap_check(wrong == 0, "%d threads in %d communicators: %d are wrong", THREADS, THREADS, wrong);
}

/* -- one communicator ------------------------------------------------------------------ */

enum { MANY = 64 };
static MPI_Request shared[MANY];

static void *complete_share(void *argument)
{
    int first = *(int *)argument;
    for (int i = MANY - THREADS + first; i >= 0; i -= THREADS)
        MPI_Wait(&shared[i], MPI_STATUS_IGNORE);
    return NULL;
}

static void check_one_communicator(void)
{
    static int in[MANY], out[MANY][RANKS_MAX];
    pthread_t threads[THREADS];
    int firsts[THREADS], rank, size, wrong = 0;
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    for (int i = 0; i < MANY; i++) {
        in[i] = 100 * i + rank;
        MPI_Iallgather(&in[i], 1, MPI_INT, out[i], 1, MPI_INT, MPI_COMM_WORLD, &shared[i]);
    }
    for (int t = 0; t < THREADS; t++) {
        firsts[t] = (t + rank) % THREADS;
        pthread_create(&threads[t], NULL, complete_share, &firsts[t]);
    }
    for (int t = 0; t < THREADS; t++)
        pthread_join(threads[t], NULL);
    for (int i = 0; i < MANY; i++) {
        for (int r = 0; r < size; r++)
            wrong += out[i][r] != 100 * i + r;
        wrong += shared[i] != MPI_REQUEST_NULL;
    }
    tap_check(wrong == 0, "%d collectives, which %d threads complete: %d are wrong", MANY, THREADS,
              wrong);
}

int main(int argc, char **argv)
{
    int provided, rank, size;
    MPI_Init_thread(&argc, &argv, MPI_THREAD_MULTIPLE, &provided);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    tap_rank(rank);
    tap_check(provided == MPI_THREAD_MULTIPLE && size <= RANKS_MAX, "threads are there");
    check_communicators();
    check_one_communicator();
    MPI_Finalize();
    return tap_finish();
}
