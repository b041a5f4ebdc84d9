/* SPDX-License-Identifier: BSD-3-Clause */
/* A rank that does something else. See hang.h. */
#include "hang.h"

#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <unistd.h>

enum { TAG = 7 };

static void receive_from(int source)
{
    MPI_Recv(&size, 1, MPI_INT, source, TAG, MPI_COMM_WORLD, MPI_STATUS_IGNORE); /* @receive */
}

/* A loop without end; the other ranks wait in a collective. */
static void endless_computation(void)
{
    if (rank == 1)
        compute_seconds(1e9);
    MPI_Barrier(MPI_COMM_WORLD); /* @endless */
}

/* A rank waits for something outside of MPI, here for a signal that nobody sends. */
static void waits_outside(void)
{
    if (rank == 1)
        sleep_for_ever();
    receive_from(1);
}

/* A rank has stopped itself; the other ones wait for it. */
static void stopped(void)
{
    if (rank == 1)
        raise(SIGSTOP);
    MPI_Barrier(MPI_COMM_WORLD); /* @stopped */
}

/* A rank has gone through MPI_Finalize, with which it thought all was done. */
static void left(void)
{
    if (rank == 0)
        receive_from(1);
}

static void *receive_in_thread(void *source)
{
    receive_from(*(int *)source);
    return NULL;
}

/* Two threads wait in different calls. */
static void threads(void)
{
    pthread_t thread;
    int source = 1 - rank;
    pthread_create(&thread, NULL, receive_in_thread, &source);
    if (rank == 0)
        MPI_Barrier(MPI_COMM_WORLD); /* @thread_barrier */
    else
        MPI_Probe(0, TAG + 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE); /* @thread_probe */
    pthread_join(thread, NULL);
}

/* All calls are made by threads, and the main thread waits for the threads. */
static void threads_alone(void)
{
    pthread_t thread;
    int source = 1 - rank;
    pthread_create(&thread, NULL, receive_in_thread, &source);
    pthread_join(thread, NULL);
}

const hang_case_t rank_cases[] = {
    {"endless_computation", endless_computation, 0},
    {"waits_outside", waits_outside, 0},
    {"stopped", stopped, 0},
    {"left", left, 0},
    {"threads", threads, MPI_THREAD_MULTIPLE},
    {"threads_alone", threads_alone, MPI_THREAD_MULTIPLE},
    {0},
};
