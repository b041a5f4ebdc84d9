/* SPDX-License-Identifier: BSD-3-Clause */
/* Threads of all ranks that work at the same time; those of a pair may do different work. */
#ifndef TEST_MPI_THREAD_PAIRS_H
#define TEST_MPI_THREAD_PAIRS_H

#include <mpi.h>
#include <pthread.h>

typedef void thread_work_fn_t(int thread);

typedef struct thread_worker {
    pthread_t thread;
    thread_work_fn_t *work;
    int number;
} thread_worker_t;

static inline void *run_worker(void *argument)
{
    const thread_worker_t *worker = argument;
    worker->work(worker->number);
    return NULL;
}

/* Threads 0, 2, ... of this rank do the first work, the others the second. Collective. */
static inline void run_threads(int count, thread_work_fn_t *first, thread_work_fn_t *second)
{
    enum { MOST = 16 };
    thread_worker_t workers[MOST];
    MPI_Barrier(MPI_COMM_WORLD);
    for (int t = 0; t < count && t < MOST; t++) {
        workers[t] = (thread_worker_t){.work = t % 2 == 0 ? first : second, .number = t};
        pthread_create(&workers[t].thread, NULL, run_worker, &workers[t]);
    }
    for (int t = 0; t < count && t < MOST; t++)
        pthread_join(workers[t].thread, NULL);
}

#endif
