/* SPDX-License-Identifier: BSD-3-Clause */
/* Several threads accept at ports of their own and at one that they share, while others connect. */
#include <mpi.h>
#include <pthread.h>
#include <string.h>

#include "tap.h"

enum { THREADS = 4, ROUNDS = 8, SHARED = THREADS };

static int rank;
static char ports[THREADS + 1][MPI_MAX_PORT_NAME]; /* the last one is shared */
static int wrong[THREADS];

static int meet(const char *port)
{
    int other = -1;
    MPI_Comm inter;
    int code = rank == 0 ? MPI_Comm_accept(port, MPI_INFO_NULL, 0, MPI_COMM_SELF, &inter)
                         : MPI_Comm_connect(port, MPI_INFO_NULL, 0, MPI_COMM_SELF, &inter);
    if (code != MPI_SUCCESS)
        return 1;
    MPI_Sendrecv(&rank, 1, MPI_INT, 0, 0, &other, 1, MPI_INT, 0, 0, inter, MPI_STATUS_IGNORE);
    MPI_Comm_disconnect(&inter);
    return other != 1 - rank;
}

static void *work(void *argument)
{
    int thread = (int)(size_t)argument;
    for (int round = 0; round < ROUNDS; round++)
        wrong[thread] += meet(ports[round % 2 == 0 ? thread : SHARED]);
    return NULL;
}

int main(int argc, char **argv)
{
    int level, sum = 0;
    pthread_t threads[THREADS];
    MPI_Init_thread(&argc, &argv, MPI_THREAD_MULTIPLE, &level);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    tap_rank(rank);
    for (int i = 0; rank == 0 && i <= THREADS; i++)
        MPI_Open_port(MPI_INFO_NULL, ports[i]);
    MPI_Bcast(ports, sizeof ports, MPI_CHAR, 0, MPI_COMM_WORLD);
    for (size_t i = 0; i < THREADS; i++)
        pthread_create(&threads[i], NULL, work, (void *)i);
    for (int i = 0; i < THREADS; i++) {
        pthread_join(threads[i], NULL);
        sum += wrong[i];
    }
    tap_check(sum == 0, "%d threads meet %d times each", THREADS, ROUNDS);
    for (int i = 0; rank == 0 && i <= THREADS; i++)
        MPI_Close_port(ports[i]);
    MPI_Finalize();
    return tap_finish();
}
