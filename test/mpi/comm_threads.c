/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * MPI_THREAD_MULTIPLE: each thread makes communicators of its own parent, and of overlapping groups
 * with a tag of its own, while the others do the same. All are used before they are freed. And two
 * threads make duplicates at the same moment, again and again: each wants the id that the other one
 * wants, on the other rank first.
 */
#include <mpi.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>

#include "tap.h"

enum { THREADS = 4, ROUNDS = 30, MEETINGS = 1200, LAG_BEGIN = 40 };

static int rank, size;
static MPI_Comm parents[THREADS];
static atomic_int wrong;

static void expect(bool right)
{
    if (!right)
        atomic_fetch_add(&wrong, 1);
}

/* A number of its own around the ring. */
static bool talks(MPI_Comm comm, int number)
{
    int own, count, got = -1;
    MPI_Comm_rank(comm, &own);
    MPI_Comm_size(comm, &count);
    int error = MPI_Sendrecv(&number, 1, MPI_INT, (own + 1) % count, 0, &got, 1, MPI_INT,
                             (own + count - 1) % count, 0, comm, MPI_STATUS_IGNORE);
    return error == MPI_SUCCESS && got == number;
}

static void one_round(int thread, int round, MPI_Group group)
{
    MPI_Comm comm, part, begun, made;
    MPI_Request request;
    int number = thread * 1000 + round;
    char name[32];
    expect(MPI_Comm_idup(parents[thread], &begun, &request) == MPI_SUCCESS);
    expect(MPI_Comm_dup(parents[thread], &comm) == MPI_SUCCESS);
    expect(MPI_Comm_split(comm, (rank + round) % 2, -rank, &part) == MPI_SUCCESS);
    expect(MPI_Comm_create_group(MPI_COMM_WORLD, group, thread, &made) == MPI_SUCCESS);
    expect(talks(part, number) && talks(comm, number + 1) && talks(made, number + 2));
    expect(MPI_Comm_free(&made) == MPI_SUCCESS);
    expect(MPI_Wait(&request, MPI_STATUS_IGNORE) == MPI_SUCCESS);
    expect(talks(begun, number + 3));
    expect(MPI_Comm_free(&begun) == MPI_SUCCESS);
    expect(MPI_Comm_free(&comm) == MPI_SUCCESS);
    expect(MPI_Comm_free(&part) == MPI_SUCCESS);
    snprintf(name, sizeof name, "thread %d", thread);
    expect(MPI_Comm_create_from_group(group, name, MPI_INFO_NULL, MPI_ERRORS_RETURN, &made) ==
           MPI_SUCCESS);
    expect(talks(made, number + 4));
    expect(MPI_Comm_free(&made) == MPI_SUCCESS);
}

static void *work(void *argument)
{
    int thread = (int)((MPI_Comm *)argument - parents);
    MPI_Group group;
    MPI_Comm_group(MPI_COMM_WORLD, &group);
    for (int round = 0; round < ROUNDS; round++)
        one_round(thread, round, group);
    MPI_Group_free(&group);
    return NULL;
}

/* The second thread has made more by then, and loses its lead: each difference comes. */
static pthread_barrier_t both;

static void duplicate(int thread, int number)
{
    MPI_Comm comm;
    expect(MPI_Comm_dup(parents[thread], &comm) == MPI_SUCCESS);
    expect(talks(comm, number));
    expect(MPI_Comm_free(&comm) == MPI_SUCCESS);
}

static void *meet(void *argument)
{
    int thread = (int)((MPI_Comm *)argument - parents);
    for (int i = 0; i < MEETINGS; i++) {
        if (thread == 1 && i % (MEETINGS / LAG_BEGIN) == 0)
            duplicate(thread, i);
        pthread_barrier_wait(&both);
        duplicate(thread, thread * MEETINGS + i);
    }
    return NULL;
}

static void meet_in_two(void)
{
    pthread_t threads[2];
    pthread_barrier_init(&both, NULL, 2);
    for (int i = 0; i < LAG_BEGIN; i++)
        duplicate(0, i);
    for (int i = 0; i < 2; i++)
        pthread_create(&threads[i], NULL, meet, &parents[(i + rank) % 2]);
    for (int i = 0; i < 2; i++)
        pthread_join(threads[i], NULL);
    pthread_barrier_destroy(&both);
    tap_check(atomic_load(&wrong) == 0,
              "two that always want the same id both get one of their own");
}

int main(int argc, char **argv)
{
    int provided = -1;
    pthread_t threads[THREADS];
    MPI_Init_thread(&argc, &argv, MPI_THREAD_MULTIPLE, &provided);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    tap_rank(rank);
    tap_check(provided == MPI_THREAD_MULTIPLE, "MPI_THREAD_MULTIPLE");
    for (int i = 0; i < THREADS; i++)
        expect(MPI_Comm_dup(MPI_COMM_WORLD, &parents[i]) == MPI_SUCCESS);
    for (int i = 0; i < THREADS; i++) /* in another order on each rank */
        pthread_create(&threads[i], NULL, work, &parents[(i + rank) % THREADS]);
    for (int i = 0; i < THREADS; i++)
        pthread_join(threads[i], NULL);
    tap_check(atomic_load(&wrong) == 0, "all communicators were made, and messages stayed in them");
    for (int i = 0; i < THREADS; i++) {
        expect(MPI_Comm_free(&parents[i]) == MPI_SUCCESS);
        expect(MPI_Comm_dup(MPI_COMM_WORLD, &parents[i]) == MPI_SUCCESS);
    }
    meet_in_two();
    for (int i = 0; i < THREADS; i++)
        MPI_Comm_free(&parents[i]);
    MPI_Finalize();
    return tap_finish();
}
