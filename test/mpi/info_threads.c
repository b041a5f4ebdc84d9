/* SPDX-License-Identifier: BSD-3-Clause */
/* Info objects are used by several threads at once, without MPI_Init. */
#include <mpi.h>
#include <pthread.h>
#include <stdatomic.h>
#include <string.h>

#include "tap.h"

enum { THREADS = 4, ROUNDS = 2000 };

static MPI_Info shared;
static atomic_int wrong;

static void *work(void *argument)
{
    char own[16], value[64], key[MPI_MAX_INFO_KEY];
    int flag, length, count;
    snprintf(own, sizeof own, "thread %d", *(int *)argument);
    for (int i = 0; i < ROUNDS; i++) {
        MPI_Info copy;
        MPI_Info_set(shared, own, i % 2 == 0 ? "even" : "an odd number");
        MPI_Info_set(shared, "common", i % 3 == 0 ? "a" : "something longer");
        length = sizeof value;
        MPI_Info_get_string(shared, own, &length, value, &flag);
        if (!flag || strcmp(value, i % 2 == 0 ? "even" : "an odd number") != 0)
            atomic_fetch_add(&wrong, 1);
        MPI_Info_get_nkeys(shared, &count);
        MPI_Info_get_nthkey(shared, 0, key);
        MPI_Info_dup(shared, &copy);
        MPI_Info_get_valuelen(copy, "common", &length, &flag);
        if (!flag || (length != 1 && length != 16) || count < 2)
            atomic_fetch_add(&wrong, 1);
        MPI_Info_free(&copy);
        if (MPI_Info_delete(shared, own) != MPI_SUCCESS)
            atomic_fetch_add(&wrong, 1);
    }
    return NULL;
}

int main(void)
{
    pthread_t threads[THREADS];
    int numbers[THREADS];
    MPI_Info_create(&shared);
    MPI_Info_set(shared, "common", "a");
    for (int i = 0; i < THREADS; i++) {
        numbers[i] = i;
        pthread_create(&threads[i], NULL, work, &numbers[i]);
    }
    for (int i = 0; i < THREADS; i++)
        pthread_join(threads[i], NULL);
    MPI_Info_free(&shared);
    tap_rank(0);
    tap_check(wrong == 0, "%d wrong of %d rounds in %d threads", wrong, ROUNDS, THREADS);
    return tap_finish();
}
