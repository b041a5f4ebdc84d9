/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Ownership passing by several threads of a rank at a time: rings with a tag each, takers with
 * wildcards that share what comes, and two threads that give the same block, of which one may.
 */
#include <mica.h>
#include <pthread.h>
#include <stdatomic.h>

#include "tap.h"

enum { THREADS = 4, ROUNDS = 150, TAG_SHARED = 50, TAG_RACE = 60 };

static int rank, size, left, right;
static atomic_int wrong, sum, given;
static int *contested;
static pthread_barrier_t start;

static void expect(int holds)
{
    if (!holds)
        atomic_fetch_add(&wrong, 1);
}

static int *make(int count, int value)
{
    int *block = NULL;
    expect(MICA_Alloc(count * (MPI_Aint)sizeof(int), &block) == MPI_SUCCESS);
    for (int i = 0; i < count; i++)
        block[i] = value + i;
    return block;
}

static void *ring(void *argument)
{
    int thread = *(int *)argument;
    for (int round = 0; round < ROUNDS; round++) {
        int count = 1 + (round * 7919 + thread * 31) % 40000, *taken = NULL;
        MPI_Count bytes = 0;
        MPI_Count wanted = count * (MPI_Count)sizeof(int);
        MICA_Give(make(count, thread * 1000 + round), wanted, right, thread, MPI_COMM_WORLD);
        MICA_Take(&taken, &bytes, left, thread, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        expect(bytes == wanted && taken[0] == thread * 1000 + round);
        expect(taken[count - 1] == thread * 1000 + round + count - 1);
        expect(MICA_Free(taken) == MPI_SUCCESS);
    }
    return NULL;
}

/* Each rank's threads together take as many as are given to it. */
static void *share(void *argument)
{
    (void)argument;
    for (int round = 0; round < ROUNDS; round++) {
        int *taken = NULL;
        MPI_Count bytes;
        MICA_Give(make(1 + round * 100, 1), (1 + round * 100) * (MPI_Count)sizeof(int), right,
                  TAG_SHARED, MPI_COMM_WORLD);
        MICA_Take(&taken, &bytes, MPI_ANY_SOURCE, TAG_SHARED, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        atomic_fetch_add(&sum, (int)(bytes / (MPI_Count)sizeof(int)));
        expect(MICA_Free(taken) == MPI_SUCCESS);
    }
    return NULL;
}

static void *race(void *argument)
{
    (void)argument;
    for (int round = 0; round < ROUNDS; round++) {
        int class, who = pthread_barrier_wait(&start);
        if (who == PTHREAD_BARRIER_SERIAL_THREAD)
            contested = make(10, round);
        pthread_barrier_wait(&start);
        int error = MICA_Give(contested, 40, rank, TAG_RACE, MPI_COMM_WORLD);
        MPI_Error_class(error, &class);
        expect(error == MPI_SUCCESS || class == MPI_ERR_BUFFER);
        atomic_fetch_add(&given, error == MPI_SUCCESS);
        pthread_barrier_wait(&start);
        if (who == PTHREAD_BARRIER_SERIAL_THREAD) {
            int *taken = NULL;
            MPI_Count bytes;
            MICA_Take(&taken, &bytes, rank, TAG_RACE, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
            expect(taken == contested && taken[9] == round + 9);
            expect(MICA_Free(taken) == MPI_SUCCESS);
        }
    }
    return NULL;
}

static void run(void *(*body)(void *))
{
    pthread_t threads[THREADS];
    int numbers[THREADS];
    for (int i = 0; i < THREADS; i++) {
        numbers[i] = i;
        pthread_create(&threads[i], NULL, body, &numbers[i]);
    }
    for (int i = 0; i < THREADS; i++)
        pthread_join(threads[i], NULL);
    MPI_Barrier(MPI_COMM_WORLD);
}

int main(int argc, char **argv)
{
    int provided;
    MPI_Init_thread(&argc, &argv, MPI_THREAD_MULTIPLE, &provided);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_RETURN);
    tap_rank(rank);
    left = (rank + size - 1) % size;
    right = (rank + 1) % size;
    pthread_barrier_init(&start, NULL, THREADS);
    tap_check(provided == MPI_THREAD_MULTIPLE, "threads are welcome");
    run(ring);
    tap_check(atomic_load(&wrong) == 0, "%d threads pass blocks around", THREADS);
    run(share);
    int all = THREADS * (ROUNDS + ROUNDS * (ROUNDS - 1) / 2 * 100);
    tap_check(atomic_load(&sum) == all, "%d threads share what comes", THREADS);
    run(race);
    tap_check(atomic_load(&given) == ROUNDS, "of %d that give a block one does", THREADS);
    tap_check(atomic_load(&wrong) == 0, "and the others are told so");
    MPI_Finalize();
    return tap_finish();
}
