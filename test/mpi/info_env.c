/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * MPI_INFO_ENV and MPI_Info_create_env: how the program was started. Called with the arguments
 * "one" and "two words". A PMIx server tells the size of the job in MPI_Init and not before.
 */
#include <mpi.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/utsname.h>
#include <unistd.h>

#include "tap.h"

static bool get(MPI_Info info, const char *key, char value[MPI_MAX_INFO_VAL])
{
    int length = MPI_MAX_INFO_VAL, flag = 0;
    return MPI_Info_get_string(info, key, &length, value, &flag) == MPI_SUCCESS && flag;
}

static bool has(MPI_Info info, const char *key, const char *wanted)
{
    char value[MPI_MAX_INFO_VAL];
    return get(info, key, value) && strcmp(value, wanted) == 0;
}

/* What is true from the first instruction on. `folder` is where the program began. */
static void check_process(MPI_Info info, const char *program, const char *folder, const char *when)
{
    char host[MPI_MAX_INFO_VAL], none[MPI_MAX_INFO_VAL];
    struct utsname system;
    uname(&system);
    gethostname(host, sizeof host);
    tap_check(has(info, "command", program), "%s, the command", when);
    tap_check(has(info, "argv", "one two words"), "%s, its arguments", when);
    tap_check(has(info, "host", host), "%s, the host", when);
    tap_check(has(info, "arch", system.machine), "%s, the architecture", when);
    tap_check(has(info, "wdir", folder), "%s, the working directory", when);
    tap_check(!get(info, "file", none) && !get(info, "thread_level", none),
              "%s, nothing of what nobody asked for", when);
}

/* A size of 0: it is not known yet. */
static void check_job(MPI_Info info, int size, const char *when)
{
    char number[16], none[MPI_MAX_INFO_VAL];
    if (size == 0) {
        tap_check(!get(info, "maxprocs", none) && !get(info, "soft", none),
                  "%s, nothing of a size that is not known", when);
        return;
    }
    snprintf(number, sizeof number, "%d", size);
    tap_check(has(info, "maxprocs", number) && has(info, "soft", number), "%s, %d processes", when,
              size);
}

static void check_create_env(const char *program, const char *folder, int size, const char *when)
{
    char first[] = "other", second[] = "a", third[] = "b";
    char *arguments[] = {first, second, third, NULL};
    char number[MPI_MAX_INFO_VAL];
    MPI_Info info;
    MPI_Info_create_env(0, NULL, &info);
    check_process(info, program, folder, when);
    check_job(info, size, when);
    tap_check(MPI_Info_set(info, "argv", "mine") == MPI_SUCCESS && has(info, "argv", "mine"),
              "%s, an object that can be changed", when);
    MPI_Info_free(&info);
    MPI_Info_create_env(3, arguments, &info);
    tap_check(has(info, "command", "other") && has(info, "argv", "a b"),
              "%s, arguments that are handed over", when);
    MPI_Info_free(&info);
    MPI_Info_create_env(1, arguments, &info);
    tap_check(has(info, "command", "other") && !get(info, "argv", number),
              "%s, a command without arguments", when);
    MPI_Info_free(&info);
}

static void check_many_arguments(void)
{
    enum { COUNT = 500 };
    char word[] = "argument", value[MPI_MAX_INFO_VAL];
    char *arguments[COUNT + 1];
    MPI_Info info;
    for (int i = 0; i < COUNT; i++)
        arguments[i] = word;
    arguments[COUNT] = NULL;
    MPI_Info_create_env(COUNT, arguments, &info);
    tap_check(get(info, "argv", value) && strlen(value) == MPI_MAX_INFO_VAL - 1,
              "too many arguments are cut");
    MPI_Info_free(&info);
}

/* Returns NULL if there are as many keys as the argument says. */
static void *ask(void *keys)
{
    int count = 0;
    MPI_Info_get_nkeys(MPI_INFO_ENV, &count);
    return count == *(const int *)keys ? NULL : keys;
}

static void check_threads(int keys)
{
    pthread_t threads[4];
    void *wrong = NULL, *result;
    for (int i = 0; i < 4; i++)
        pthread_create(&threads[i], NULL, ask, &keys);
    for (int i = 0; i < 4; i++) {
        pthread_join(threads[i], &result);
        wrong = result != NULL ? result : wrong;
    }
    tap_check(wrong == NULL, "four threads ask first");
}

/* The size of the job by the environment; 0: there is one, but it is not told there. */
static int announced_size(void)
{
    const char *size = getenv("PMI_SIZE");
    if (size != NULL)
        return atoi(size);
    return getenv("PMIX_NAMESPACE") == NULL;
}

/* Kinds of memory are told if the user has asked for some. */
static void check_memory_kinds(void)
{
    static const char key[] = "mpi_memory_alloc_kinds";
    char none[MPI_MAX_INFO_VAL];
    const char *wanted = getenv("OMPI_MCA_mpi_memory_alloc_kinds");
    tap_check(wanted != NULL ? has(MPI_INFO_ENV, key, wanted) : !get(MPI_INFO_ENV, key, none),
              "%s: %s", key, wanted != NULL ? wanted : "nobody asked for any");
}

int main(int argc, char **argv)
{
    int rank, size, announced = announced_size();
    char folder[MPI_MAX_INFO_VAL];
    if (getcwd(folder, sizeof folder) == NULL)
        return 1;
    check_threads(announced > 0 ? 7 : 5);
    check_process(MPI_INFO_ENV, argv[0], folder, "before MPI_Init");
    check_create_env(argv[0], folder, announced, "before MPI_Init");
    check_many_arguments();
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    tap_rank(rank);
    if (chdir("/") != 0)
        return 1;
    check_process(MPI_INFO_ENV, argv[0], folder, "after MPI_Init");
    check_job(MPI_INFO_ENV, size, "after MPI_Init");
    check_memory_kinds();
    MPI_Finalize();
    check_create_env(argv[0], folder, size, "after MPI_Finalize");
    check_process(MPI_INFO_ENV, argv[0], folder, "after MPI_Finalize");
    check_job(MPI_INFO_ENV, size, "after MPI_Finalize");
    return tap_finish();
}
