/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What threads cost and bring. `latency`: that of one thread, which has started MPI with
 * MPI_THREAD_SINGLE or MPI_THREAD_MULTIPLE, by message size. `rate`: messages of 8 bytes from
 * threads of rank 0 to those of rank 1, each pair of threads with a communicator of its own, by how
 * many are under way at once from one thread; an answer ends each window.
 *
 *   threads [--quick] [NAME]     on 2 ranks; latency/single and rate/single, which need another
 *                                level, must be asked for by their names
 */
#include <mpi.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "measure.h"
#include "ping_pong.h"

enum { MAX_THREADS = 4, MAX_WINDOW = 256, BYTES = 8, MAX_BYTES = 4096, ANSWER = 1 };

/* -- latency ------------------------------------------------------------------------- */

static void measure_latency(const char *name)
{
    char *buffer = bench_memory(MAX_BYTES);
    for (long size = 8; size <= MAX_BYTES; size = bench_next_size(size))
        ping_pong_measure(name, buffer, size);
    free(buffer);
}

/* -- rate ---------------------------------------------------------------------------- */

/* The first one is the main thread. The others sleep at the gate between two blocks. */
typedef struct worker {
    pthread_t thread;
    MPI_Comm comm;
    char places[MAX_WINDOW][BYTES];
    MPI_Request requests[MAX_WINDOW];
} worker_t;

static worker_t workers[MAX_THREADS];
static int thread_count, window;
static pthread_barrier_t gate;
static int rounds_to_do; /* written before the gate opens; 0: the end */

static void stream(worker_t *self, int rounds)
{
    int peer = !bench_rank;
    for (int i = 0; i < rounds; i++) {
        for (int j = 0; j < window; j++) {
            if (bench_rank == 0)
                MPI_Isend(self->places[j], BYTES, MPI_BYTE, peer, 0, self->comm,
                          &self->requests[j]);
            else
                MPI_Irecv(self->places[j], BYTES, MPI_BYTE, peer, 0, self->comm,
                          &self->requests[j]);
        }
        MPI_Waitall(window, self->requests, MPI_STATUSES_IGNORE);
        if (bench_rank == 0)
            MPI_Recv(NULL, 0, MPI_BYTE, peer, ANSWER, self->comm, MPI_STATUS_IGNORE);
        else
            MPI_Send(NULL, 0, MPI_BYTE, peer, ANSWER, self->comm);
    }
}

static void *work(void *argument)
{
    worker_t *self = argument;
    for (;;) {
        pthread_barrier_wait(&gate);
        if (rounds_to_do == 0)
            return NULL;
        stream(self, rounds_to_do);
        pthread_barrier_wait(&gate);
    }
}

static void stream_all(void *context, int rounds)
{
    (void)context;
    rounds_to_do = rounds;
    if (thread_count > 1)
        pthread_barrier_wait(&gate);
    stream(&workers[0], rounds);
    if (thread_count > 1)
        pthread_barrier_wait(&gate);
}

static void begin_workers(void)
{
    pthread_barrier_init(&gate, NULL, (unsigned)thread_count);
    for (int i = 0; i < thread_count; i++) {
        MPI_Comm_dup(MPI_COMM_WORLD, &workers[i].comm);
        if (i > 0 && pthread_create(&workers[i].thread, NULL, work, &workers[i]) != 0) {
            fprintf(stderr, "there is no thread\n");
            MPI_Abort(MPI_COMM_WORLD, 1);
        }
    }
}

static void end_workers(void)
{
    rounds_to_do = 0;
    if (thread_count > 1)
        pthread_barrier_wait(&gate);
    for (int i = 0; i < thread_count; i++) {
        if (i > 0)
            pthread_join(workers[i].thread, NULL);
        MPI_Comm_free(&workers[i].comm);
    }
    pthread_barrier_destroy(&gate);
}

static void measure_rate(const char *name, int threads)
{
    if (!bench_wants(name))
        return;
    thread_count = threads;
    begin_workers();
    for (window = 1; window <= MAX_WINDOW; window *= 4) {
        bench_measure(&(bench_case_t){.name = name,
                                      .size = window,
                                      .unit = BENCH_MESSAGES_PER_USEC,
                                      .work = (double)window * threads,
                                      .ranks = 2,
                                      .run = stream_all});
    }
    end_workers();
}

static bool asks_for(int argc, char **argv, const char *name)
{
    return argc > 1 && strcmp(argv[argc - 1], name) == 0;
}

int main(int argc, char **argv)
{
    bool is_single = asks_for(argc, argv, "latency/single");
    bool is_single_rate = asks_for(argc, argv, "rate/single");
    bench_init_thread(&argc, &argv,
                      is_single || is_single_rate ? MPI_THREAD_SINGLE : MPI_THREAD_MULTIPLE);
    if (bench_ranks < 2) {
        fprintf(stderr, "threads needs 2 ranks\n");
        MPI_Abort(MPI_COMM_WORLD, 2);
    }
    if (is_single) {
        measure_latency("latency/single");
    } else if (is_single_rate) {
        measure_rate("rate/single", 1);
    } else {
        measure_latency("latency/multiple");
        measure_rate("rate/one", 1);
        measure_rate("rate/two", 2);
        measure_rate("rate/four", 4);
    }
    return bench_fini();
}
