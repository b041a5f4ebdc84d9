/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Events of the tool interface while several threads of each rank raise them: none is lost, and
 * none comes when its registration has been freed. Two ranks; each thread has a communicator of its
 * own and a partner in the other rank. One more thread makes and frees registrations all the time.
 */
#include <mpi.h>
#include <pthread.h>
#include <stdatomic.h>

#include "tap.h"

enum { THREADS = 3, ROUNDS = 300, TAG = 5 };

static int rank;
static MPI_Comm comms[THREADS];
static atomic_int matched, sums, made, freed, late, wrong, done;

/* A tag of the program's messages; others, of collectives, are not counted. */
static void count(MPI_T_event_instance instance, MPI_T_event_registration handle,
                  MPI_T_cb_safety level, void *user_data)
{
    int tag = 0, traffic = -1, source = -1;
    MPI_Count bytes = 0;
    (void)handle;
    int errors = MPI_T_event_read(instance, 2, &tag) + MPI_T_event_read(instance, 3, &traffic) +
                 MPI_T_event_read(instance, 6, &bytes) + MPI_T_event_get_source(instance, &source);
    if (errors != 0 || level != MPI_T_CB_REQUIRE_THREAD_SAFE || source != 1)
        atomic_fetch_add(&wrong, 1);
    if (tag == TAG && traffic == 0 && bytes == sizeof(int))
        atomic_fetch_add((atomic_int *)user_data, 1);
}

static void count_sums(MPI_T_event_instance instance, MPI_T_event_registration handle,
                       MPI_T_cb_safety level, void *user_data)
{
    (void)instance, (void)handle, (void)level, (void)user_data;
    atomic_fetch_add(&sums, 1);
}

/* A registration that comes and goes: its user data is gone when the free callback was called. */
static void look(MPI_T_event_instance instance, MPI_T_event_registration handle,
                 MPI_T_cb_safety level, void *user_data)
{
    (void)instance, (void)handle, (void)level;
    if (atomic_load((atomic_int *)user_data) != 1)
        atomic_fetch_add(&late, 1);
}

static void end(MPI_T_event_registration handle, MPI_T_cb_safety level, void *user_data)
{
    (void)handle, (void)level;
    atomic_store((atomic_int *)user_data, 0);
    atomic_fetch_add(&freed, 1);
}

static MPI_T_event_registration watch(const char *name, MPI_Comm *comm,
                                      MPI_T_event_cb_function *call, void *user_data)
{
    int index = -1;
    MPI_T_event_registration handle = NULL;
    MPI_T_event_get_index(name, &index);
    if (MPI_T_event_handle_alloc(index, comm, MPI_INFO_NULL, &handle) != MPI_SUCCESS ||
        MPI_T_event_register_callback(handle, MPI_T_CB_REQUIRE_THREAD_SAFE, MPI_INFO_NULL,
                                      user_data, call) != MPI_SUCCESS)
        atomic_fetch_add(&wrong, 1);
    return handle;
}

static void *come_and_go(void *argument)
{
    static atomic_int is_there[4 * ROUNDS];
    (void)argument;
    for (int i = 0; i < 4 * ROUNDS && !atomic_load(&done); i++) {
        atomic_store(&is_there[i], 1);
        MPI_T_event_registration handle =
            watch("message_matched", i % 2 ? &comms[0] : NULL, look, &is_there[i]);
        atomic_fetch_add(&made, 1);
        MPI_T_event_handle_free(handle, &is_there[i], end);
    }
    return NULL;
}

static void *exchange(void *argument)
{
    MPI_Comm comm = *(MPI_Comm *)argument;
    for (int i = 0; i < ROUNDS; i++) {
        int sent = i, received = -1, sum = 0;
        MPI_Sendrecv(&sent, 1, MPI_INT, 1 - rank, TAG, &received, 1, MPI_INT, 1 - rank, TAG, comm,
                     MPI_STATUS_IGNORE);
        if (i % 10 == 0)
            MPI_Allreduce(&sent, &sum, 1, MPI_INT, MPI_SUM, comm);
        if (received != i || sum != (i % 10 == 0 ? 2 * i : 0))
            atomic_fetch_add(&wrong, 1);
    }
    return NULL;
}

int main(int argc, char **argv)
{
    int provided;
    pthread_t threads[THREADS + 1];
    MPI_Init_thread(&argc, &argv, MPI_THREAD_MULTIPLE, &provided);
    MPI_T_init_thread(MPI_THREAD_MULTIPLE, &provided);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    tap_rank(rank);
    for (int i = 0; i < THREADS; i++)
        MPI_Comm_dup(MPI_COMM_WORLD, &comms[i]);
    watch("message_matched", NULL, count, &matched);
    watch("collective_ended", NULL, count_sums, NULL);
    pthread_create(&threads[THREADS], NULL, come_and_go, NULL);
    for (int i = 0; i < THREADS; i++)
        pthread_create(&threads[i], NULL, exchange, &comms[i]);
    for (int i = 0; i < THREADS; i++)
        pthread_join(threads[i], NULL);
    atomic_store(&done, 1);
    pthread_join(threads[THREADS], NULL);
    tap_check(wrong == 0, "nothing is wrong");
    tap_check(matched == THREADS * ROUNDS, "every message that matched is seen (%d)", matched);
    tap_check(sums == THREADS * ROUNDS / 10, "every collective that ended, too (%d)", sums);
    tap_check(made > 0 && freed == made && late == 0, "%d came and went", made);
    for (int i = 0; i < THREADS; i++)
        MPI_Comm_free(&comms[i]);
    MPI_T_finalize(); /* frees the handles */
    MPI_Finalize();
    return tap_finish();
}
