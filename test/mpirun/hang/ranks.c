/* SPDX-License-Identifier: BSD-3-Clause */
/* A rank that does something else. See hang.h. */
#include "hang.h"

#include <pthread.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
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

/* Whether mica-ps says that the process waits. */
static bool is_seen_waiting(int pid)
{
    char command[512], line[512], state[16];
    bool waits = false;
    int of_line;
    snprintf(command, sizeof command, "%s/bin/mica-ps %ld", getenv("MICA_PREFIX"),
             strtol(getenv("MICA_JOBID"), NULL, 10)); /* the number of mpirun's process */
    FILE *table = popen(command, "r");
    while (table != NULL && fgets(line, sizeof line, table) != NULL) {
        if (sscanf(line, " %*u %d %15s", &of_line, state) == 2 && of_line == pid)
            waits = strcmp(state, "waits") == 0;
    }
    if (table != NULL)
        pclose(table);
    return waits;
}

/* A rank is stopped while it is in a call that waits. */
static void stopped_in_wait(void)
{
    int pid = getpid();
    if (rank == 0) {
        MPI_Recv(&pid, 1, MPI_INT, 1, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        while (!is_seen_waiting(pid))
            continue;
        kill(pid, SIGSTOP);
        sleep_for_ever();
    }
    if (rank == 1)
        MPI_Send(&pid, 1, MPI_INT, 0, 0, MPI_COMM_WORLD);
    receive_from(rank - 1);
}

/* A rank is killed; the other ones wait for it, and are ended with it. */
static void killed(void)
{
    if (rank == 1)
        raise(SIGKILL);
    receive_from(1);
}

/* A rank ends as if all was well, without MPI_Finalize. */
static void ends_without_finalize(void)
{
    if (rank == 1)
        _exit(0);
    receive_from(1);
}

/* Both ranks accept, and nobody connects. */
static void nobody_connects(void)
{
    char port[MPI_MAX_PORT_NAME];
    MPI_Comm other;
    MPI_Open_port(MPI_INFO_NULL, port);
    MPI_Comm_accept(port, MPI_INFO_NULL, 0, MPI_COMM_SELF, &other); /* @accept */
}

/* A rank connects to a port of one that waits for a message of it, and does not accept. */
static void nobody_accepts(void)
{
    char port[MPI_MAX_PORT_NAME] = "";
    MPI_Comm other;
    if (rank == 0)
        MPI_Open_port(MPI_INFO_NULL, port);
    MPI_Bcast(port, sizeof port, MPI_CHAR, 0, MPI_COMM_WORLD);
    if (rank == 0)
        receive_from(1);
    MPI_Comm_connect(port, MPI_INFO_NULL, 0, MPI_COMM_SELF, &other); /* @connect */
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
    {"stopped_in_wait", stopped_in_wait, 0},
    {"killed", killed, 0},
    {"ends_without_finalize", ends_without_finalize, 0},
    {"nobody_connects", nobody_connects, 0},
    {"nobody_accepts", nobody_accepts, 0},
    {"left", left, 0},
    {"threads", threads, MPI_THREAD_MULTIPLE},
    {"threads_alone", threads_alone, MPI_THREAD_MULTIPLE},
    {0},
};
