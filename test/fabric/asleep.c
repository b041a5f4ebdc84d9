/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A thread begins a send and leaves MPI, while another one sleeps in a receive, which the send's
 * receiver answers. Whoever sleeps is all that drives a provider.
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <mpi.h>
#include <pthread.h>
#include <sched.h>

#include "tap.h"

enum { ROUNDS = 10, LONG = 1 << 20 };

static char data[LONG];
static bool (*is_asleep)(void); /* the library's: a thread of this process sleeps in a wait */

static void *send_and_leave(void *argument)
{
    const int *bytes = argument;
    MPI_Request request;
    while (!is_asleep())
        sched_yield();
    MPI_Isend(data, *bytes, MPI_CHAR, 1, 1, MPI_COMM_WORLD, &request);
    MPI_Request_free(&request);
    return NULL;
}

static void talk(int rank, int bytes)
{
    pthread_t thread;
    if (rank == 1) {
        MPI_Recv(data, bytes, MPI_CHAR, 0, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        MPI_Send(NULL, 0, MPI_CHAR, 0, 2, MPI_COMM_WORLD);
        return;
    }
    pthread_create(&thread, NULL, send_and_leave, &bytes);
    MPI_Recv(NULL, 0, MPI_CHAR, 1, 2, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    pthread_join(thread, NULL);
}

int main(int argc, char **argv)
{
    int provided, rank;
    MPI_Init_thread(&argc, &argv, MPI_THREAD_MULTIPLE, &provided);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    tap_rank(rank);
    tap_check(provided == MPI_THREAD_MULTIPLE, "threads may send");
    *(void **)&is_asleep = dlsym(RTLD_DEFAULT, "opal_wait_is_asleep");
    if (!tap_check(is_asleep != NULL, "the library tells whether a thread sleeps"))
        MPI_Abort(MPI_COMM_WORLD, 1);
    for (int round = 0; round < ROUNDS; round++) {
        talk(rank, 8);
        talk(rank, 10000);
        talk(rank, LONG);
    }
    tap_check(true, "a send that is begun beside a sleeper goes on");
    MPI_Finalize();
    return tap_finish();
}
