/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Thread levels, and what has a lock: handlers are set, asked for, called and freed, and numbers
 * taken and given back, by several threads at once.
 *
 *   threads REQUIRED [PROVIDED]    PROVIDED: more, since mpi_thread_level says so
 */
#include <mpi.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>

#include "tap.h"

enum { THREADS = 4, ROUNDS = 2000 };

static atomic_int handled, wrong;

static void count(MPI_Comm *comm, int *error_code, ...)
{
    (void)error_code;
    atomic_fetch_add(*comm == MPI_COMM_WORLD ? &handled : &wrong, 1);
}

static void *work(void *argument)
{
    int flag = 1, rank = -1, class, code;
    MPI_Is_thread_main(&flag);
    if (flag)
        atomic_fetch_add(&wrong, 1);
    for (int i = 0; i < ROUNDS; i++) {
        MPI_Errhandler mine, got;
        MPI_Comm_create_errhandler(count, &mine);
        if (MPI_Errhandler_fromint(MPI_Errhandler_toint(mine)) != mine)
            atomic_fetch_add(&wrong, 1);
        MPI_Comm_set_errhandler(MPI_COMM_WORLD, mine);
        MPI_Errhandler_free(&mine);
        MPI_Comm_call_errhandler(MPI_COMM_WORLD, MPI_ERR_IO);
        MPI_Comm_get_errhandler(MPI_COMM_WORLD, &got);
        MPI_Errhandler_free(&got);
        MPI_Add_error_class(&class);
        MPI_Add_error_code(class, &code);
        MPI_Add_error_string(code, "x");
        MPI_Remove_error_string(code);
        MPI_Remove_error_code(code);
        MPI_Remove_error_class(class);
        MPI_Comm_rank(MPI_COMM_WORLD, &rank);
        if (rank != *(int *)argument)
            atomic_fetch_add(&wrong, 1);
    }
    return NULL;
}

int main(int argc, char **argv)
{
    int required = argc > 1 ? atoi(argv[1]) : MPI_THREAD_MULTIPLE;
    int level = argc > 2 ? atoi(argv[2]) : required;
    int rank = -1, provided = -1, queried = -1, flag = 0;
    tap_check(MPI_Init_thread(&argc, &argv, required, &provided) == MPI_SUCCESS, "MPI_Init_thread");
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    tap_rank(rank);
    tap_check(provided == level, "it gives the level %d", level);
    MPI_Query_thread(&queried);
    tap_check(queried == level, "MPI_Query_thread says so too");
    MPI_Is_thread_main(&flag);
    tap_check(flag, "this is the main thread");

    if (provided == MPI_THREAD_MULTIPLE) {
        pthread_t threads[THREADS];
        for (int i = 0; i < THREADS; i++)
            pthread_create(&threads[i], NULL, work, &rank);
        for (int i = 0; i < THREADS; i++)
            pthread_join(threads[i], NULL);
        tap_check(atomic_load(&wrong) == 0, "no thread saw anything wrong");
        tap_check(atomic_load(&handled) == THREADS * ROUNDS, "every error was handled once");
    }
    MPI_Finalize();
    return tap_finish();
}
