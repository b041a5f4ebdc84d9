/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A thread begins a send and leaves MPI, while another thread sleeps in a receive, which the send's
 * receiver answers. Only the sleeping thread drives the provider: if the send does not wake it,
 * there is no answer, and the job hangs. The answer says which bytes have arrived.
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <mpi.h>
#include <pthread.h>
#include <sched.h>
#include <string.h>

#include "tap.h"

enum { ROUNDS = 10, LONG = 1 << 20 };

static char data[LONG];

/* The library's: a thread of this process sleeps in a wait. Asked under the message lock. */
static bool (*is_asleep)(void);
static void (*acquire)(void), (*release)(void);

static bool sleeps(void)
{
    acquire();
    bool asleep = is_asleep();
    release();
    return asleep;
}

static void *send_and_leave(void *argument)
{
    const int *bytes = argument;
    MPI_Request request;
    while (!sleeps())
        sched_yield();
    MPI_Isend(data, *bytes, MPI_CHAR, 1, 1, MPI_COMM_WORLD, &request);
    MPI_Request_free(&request);
    return NULL;
}

/* How many of the bytes are `letter`. */
static int count_of(char letter, int bytes)
{
    int count = 0;
    for (int i = 0; i < bytes; i++)
        count += data[i] == letter;
    return count;
}

/* Rank 1 answers how many bytes are right. */
static bool talk(int rank, int bytes, char letter)
{
    pthread_t thread;
    int right = -1;
    if (rank == 1) {
        memset(data, 0, sizeof data);
        MPI_Recv(data, bytes, MPI_CHAR, 0, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        right = count_of(letter, bytes);
        MPI_Send(&right, 1, MPI_INT, 0, 2, MPI_COMM_WORLD);
        return right == bytes;
    }
    memset(data, letter, sizeof data);
    pthread_create(&thread, NULL, send_and_leave, &bytes);
    MPI_Recv(&right, 1, MPI_INT, 1, 2, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    pthread_join(thread, NULL);
    return right == bytes;
}

int main(int argc, char **argv)
{
    int provided, rank;
    MPI_Init_thread(&argc, &argv, MPI_THREAD_MULTIPLE, &provided);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    tap_rank(rank);
    tap_check(provided == MPI_THREAD_MULTIPLE, "threads may send");
    *(void **)&is_asleep = dlsym(RTLD_DEFAULT, "opal_wait_is_asleep");
    *(void **)&acquire = dlsym(RTLD_DEFAULT, "ompi_lock_acquire_slow");
    *(void **)&release = dlsym(RTLD_DEFAULT, "ompi_lock_release_slow");
    if (!tap_check(is_asleep != NULL && acquire != NULL && release != NULL,
                   "the library tells whether a thread sleeps"))
        MPI_Abort(MPI_COMM_WORLD, 1);
    bool good = true;
    for (char round = 0; round < ROUNDS; round++) {
        good &= talk(rank, 8, 'a' + round);
        good &= talk(rank, 10000, 'A' + round);
        good &= talk(rank, LONG, '0' + round);
    }
    tap_check(good, "a send that is begun beside a sleeper arrives, whole");
    MPI_Finalize();
    return tap_finish();
}
