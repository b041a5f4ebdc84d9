/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Ends by an error in the way that the argument names. What must come of it is in tests.list:
 * the exit status and the message. The one TAP line says that the program came that far.
 */
#include <mpi.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void no_port(void)
{
    MPI_Comm other;
    MPI_Comm_connect("nowhere", MPI_INFO_NULL, 0, MPI_COMM_WORLD, &other);
}

static void bad_comm(void)
{
    int rank;
    MPI_Comm_rank(MPI_COMM_NULL, &rank);
}

static void bad_argument(void)
{
    MPI_Comm_set_name(MPI_COMM_WORLD, "planets");
    MPI_Comm_rank(MPI_COMM_WORLD, NULL);
}

static void errors_abort(void)
{
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_ABORT);
    MPI_Comm_call_errhandler(MPI_COMM_WORLD, MPI_ERR_TRUNCATE);
}

/* Its class is larger than any exit status. */
static void added_class(void)
{
    int class;
    MPI_Add_error_class(&class);
    MPI_Add_error_string(class, "the moon is gone");
    MPI_Comm_call_errhandler(MPI_COMM_WORLD, class);
}

static void *fail(void *argument)
{
    bad_comm();
    return argument;
}

static void many_threads(void)
{
    pthread_t threads[8];
    for (int i = 0; i < 8; i++)
        pthread_create(&threads[i], NULL, fail, NULL);
    for (int i = 0; i < 8; i++)
        pthread_join(threads[i], NULL);
}

static void second_init(void)
{
    MPI_Init(NULL, NULL);
}

static void user_abort(void)
{
    MPI_Abort(MPI_COMM_WORLD, 77);
}

/* Only the lower 8 bits become the exit status. */
static void abort_256(void)
{
    MPI_Abort(MPI_COMM_SELF, 256);
}

/* What is advised is the function for the object that has the handler. */
static void bad_window(void)
{
    MPI_Win win;
    MPI_Win_create_dynamic(MPI_INFO_NULL, MPI_COMM_WORLD, &win);
    MPI_Win_set_name(win, NULL);
}

/* The message names the window and the target. */
static void closed_window(void)
{
    static long memory;
    MPI_Win win;
    int last;
    MPI_Comm_size(MPI_COMM_WORLD, &last);
    MPI_Win_create(&memory, sizeof memory, 8, MPI_INFO_NULL, MPI_COMM_WORLD, &win);
    MPI_Win_set_name(win, "halo");
    MPI_Put(&(long){1}, 1, MPI_LONG, last - 1, 0, 1, MPI_LONG, win);
}

static void bad_file(void)
{
    MPI_File_set_errhandler(MPI_FILE_NULL, MPI_ERRORS_ARE_FATAL);
    MPI_File_delete("nothing", MPI_INFO_NULL);
}

static const struct {
    const char *name;
    void (*run)(void);
} ways[] = {
    {"no-port", no_port},           {"bad-comm", bad_comm},       {"bad-argument", bad_argument},
    {"errors-abort", errors_abort}, {"added-class", added_class}, {"threads", many_threads},
    {"second-init", second_init},   {"abort", user_abort},        {"abort-256", abort_256},
    {"bad-window", bad_window},     {"bad-file", bad_file},       {"closed-window", closed_window},
};

int main(int argc, char **argv)
{
    int rank = 0;
    const char *way = argc > 1 ? argv[1] : "";
    printf("1..1\n"); /* left in the buffer: an abort must not lose it */
    if (strcmp(way, "before") == 0) {
        printf("ok 1 - before MPI_Init\n");
        MPI_Comm_rank(MPI_COMM_WORLD, &rank);
        return EXIT_FAILURE;
    }
    MPI_Init_thread(&argc, &argv, MPI_THREAD_MULTIPLE, &rank);
    if (strcmp(way, "after") == 0) {
        printf("ok 1 - after MPI_Finalize\n");
        MPI_Finalize();
        MPI_Comm_rank(MPI_COMM_WORLD, &rank);
        return EXIT_FAILURE;
    }
    for (size_t i = 0; i < sizeof ways / sizeof ways[0]; i++) {
        if (strcmp(way, ways[i].name) == 0) {
            printf("ok 1 - %s\n", way);
            ways[i].run();
        }
    }
    MPI_Finalize();
    return EXIT_FAILURE; /* it should not have come so far */
}
