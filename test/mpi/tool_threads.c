/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Threads send and receive, each in a communicator of its own, while others use the tool interface:
 * they read, reset and begin and end it. At the end every message was counted.
 */
#include <mpi.h>
#include <pthread.h>
#include <stdatomic.h>
#include <string.h>

#include "tap.h"
#include "tool.h"

enum { THREADS = 3, ROUNDS = 200, BYTES = 40 };

static int rank;
static MPI_Comm comms[THREADS];
static atomic_bool is_over;
static atomic_int wrong;

static void *exchange(void *argument)
{
    MPI_Comm comm = *(MPI_Comm *)argument;
    char from[BYTES] = "", to[BYTES];
    for (int i = 0; i < ROUNDS; i++) {
        if (rank == 0) {
            MPI_Send(from, BYTES, MPI_BYTE, 1, 0, comm);
            MPI_Recv(to, BYTES, MPI_BYTE, 1, 0, comm, MPI_STATUS_IGNORE);
        } else {
            MPI_Recv(to, BYTES, MPI_BYTE, 0, 0, comm, MPI_STATUS_IGNORE);
            MPI_Send(from, BYTES, MPI_BYTE, 0, 0, comm);
        }
    }
    return NULL;
}

/* Reads all variables of the process, and begins and ends the interface meanwhile. */
static void *look(void *argument)
{
    (void)argument;
    while (!atomic_load(&is_over)) {
        int provided, count = 0, elements;
        MPI_T_pvar_session session;
        MPI_T_init_thread(MPI_THREAD_MULTIPLE, &provided);
        MPI_T_pvar_session_create(&session);
        MPI_T_pvar_get_num(&count);
        for (int i = 0; i < count; i++) {
            double value;
            MPI_T_pvar_handle handle;
            int bind = -1;
            MPI_T_pvar_get_info(i, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, &bind, NULL,
                                NULL, NULL);
            if (bind != MPI_T_BIND_NO_OBJECT)
                continue;
            bool good =
                MPI_T_pvar_handle_alloc(session, i, NULL, &handle, &elements) == MPI_SUCCESS &&
                MPI_T_pvar_start(session, MPI_T_PVAR_ALL_HANDLES) == MPI_SUCCESS &&
                MPI_T_pvar_read(session, handle, &value) == MPI_SUCCESS &&
                MPI_T_pvar_reset(session, MPI_T_PVAR_ALL_HANDLES) == MPI_SUCCESS;
            atomic_fetch_add(&wrong, !good);
        }
        MPI_T_pvar_session_free(&session);
        MPI_T_finalize();
    }
    return NULL;
}

/* Reads and writes parameters. */
static void *tune(void *argument)
{
    (void)argument;
    while (!atomic_load(&is_over)) {
        unsigned usec = 0;
        int error = tool_cvar_read("wait_spin_usec", &usec);
        if (error == MPI_SUCCESS)
            error = tool_cvar_write("wait_spin_usec", &usec);
        atomic_fetch_add(&wrong, error != MPI_SUCCESS);
    }
    return NULL;
}

int main(int argc, char **argv)
{
    int provided, index[2], elements;
    pthread_t threads[THREADS], tools[2];
    MPI_T_pvar_session session;
    MPI_T_pvar_handle sent[THREADS], via, received;
    MPI_Init_thread(&argc, &argv, MPI_THREAD_MULTIPLE, &provided);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    tap_rank(rank);
    MPI_T_init_thread(MPI_THREAD_MULTIPLE, &provided);
    MPI_T_pvar_session_create(&session);
    MPI_T_pvar_get_index("pml_ob1_comm_sent", MPI_T_PVAR_CLASS_COUNTER, &index[0]);
    for (int i = 0; i < THREADS; i++) {
        MPI_Comm_dup(MPI_COMM_WORLD, &comms[i]);
        MPI_T_pvar_handle_alloc(session, index[0], &comms[i], &sent[i], &elements);
    }
    MPI_T_pvar_get_index("pml_ob1_sent_sm_bytes", MPI_T_PVAR_CLASS_AGGREGATE, &index[0]);
    MPI_T_pvar_get_index("pml_ob1_received_sm_bytes", MPI_T_PVAR_CLASS_AGGREGATE, &index[1]);
    MPI_T_pvar_handle_alloc(session, index[0], NULL, &via, &elements);
    MPI_T_pvar_handle_alloc(session, index[1], NULL, &received, &elements);
    MPI_T_pvar_start(session, MPI_T_PVAR_ALL_HANDLES);
    MPI_Barrier(MPI_COMM_WORLD);
    MPI_T_pvar_reset(session, MPI_T_PVAR_ALL_HANDLES);
    MPI_Barrier(MPI_COMM_WORLD); /* without bytes: no rank sends before both count */
    pthread_create(&tools[0], NULL, look, NULL);
    pthread_create(&tools[1], NULL, tune, NULL);
    for (int i = 0; i < THREADS; i++)
        pthread_create(&threads[i], NULL, exchange, &comms[i]);
    for (int i = 0; i < THREADS; i++)
        pthread_join(threads[i], NULL);
    atomic_store(&is_over, true);
    pthread_join(tools[0], NULL);
    pthread_join(tools[1], NULL);
    tap_check(atomic_load(&wrong) == 0, "the tool interface works meanwhile");
    for (int i = 0; i < THREADS; i++) {
        unsigned long value = 0;
        MPI_T_pvar_read(session, sent[i], &value);
        tap_check(value == ROUNDS, "communicator %d has sent %lu messages of %d", i, value, ROUNDS);
    }
    unsigned long bytes = 0, total = (unsigned long)THREADS * ROUNDS * BYTES;
    MPI_T_pvar_read(session, via, &bytes);
    tap_check(bytes == total, "%lu bytes of %lu went by shared memory", bytes, total);
    MPI_T_pvar_read(session, received, &bytes);
    tap_check(bytes == total, "%lu bytes of %lu came by it", bytes, total);
    MPI_T_pvar_session_free(&session);
    for (int i = 0; i < THREADS; i++)
        MPI_Comm_free(&comms[i]);
    MPI_T_finalize();
    MPI_Finalize();
    return tap_finish();
}
