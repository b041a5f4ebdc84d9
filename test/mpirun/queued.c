/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Two ranks that hang in a known state, for queues.test: receives that wait, in two communicators,
 * sends that wait, and messages that nobody has asked for. With an argument, a second thread posts
 * one of the receives, so that they are posted without the common lock.
 */
#include <mpi.h>
#include <pthread.h>
#include <stdio.h>
#include <sys/prctl.h>
#include <unistd.h>

enum { LARGE = 1 << 20 };

static int ten[10], one, five[5] = {1, 2, 3, 4, 5};
static double three[3];
static char large[LARGE], other[LARGE];
static MPI_Comm second;
static MPI_Request requests[3];

static void *post_in_second(void *unused)
{
    MPI_Irecv(three, 3, MPI_DOUBLE, MPI_ANY_SOURCE, MPI_ANY_TAG, second, &requests[1]);
    return unused;
}

int main(int argc, char **argv)
{
    int rank, provided;
    pthread_t thread;
    MPI_Request last;
    MPI_Init_thread(&argc, &argv, argc > 1 ? MPI_THREAD_MULTIPLE : MPI_THREAD_SINGLE, &provided);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_split(MPI_COMM_WORLD, 0, -rank, &second);
    MPI_Comm_set_name(second, "second");
    prctl(PR_SET_PTRACER, PR_SET_PTRACER_ANY, 0, 0, 0); /* or only a parent may read the memory */
    if (rank == 0) {
        if (argc > 1) {
            pthread_create(&thread, NULL, post_in_second, NULL);
            pthread_join(thread, NULL);
        } else {
            post_in_second(NULL);
        }
        MPI_Irecv(ten, 10, MPI_INT, 1, 7, MPI_COMM_WORLD, &requests[0]);
        MPI_Isend(large, LARGE, MPI_CHAR, 1, 9, MPI_COMM_WORLD, &requests[2]);
        MPI_Probe(1, 21, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        MPI_Probe(1, 22, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    } else {
        MPI_Send(five, 5, MPI_INT, 0, 21, MPI_COMM_WORLD);
        MPI_Isend(other, LARGE, MPI_CHAR, 0, 22, MPI_COMM_WORLD, &requests[0]);
        MPI_Probe(0, 9, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    }
    /* Before the line that has the debugger stop this rank. */
    MPI_Irecv(&one, 1, MPI_INT, 1 - rank, 33, MPI_COMM_WORLD, &last);
    printf("%d %d %p %p %p %p %p\n", rank, (int)getpid(), (void *)ten, (void *)three, (void *)large,
           (void *)other, (void *)&one);
    fflush(stdout);
    MPI_Wait(&last, MPI_STATUS_IGNORE);
    return MPI_Finalize();
}
