/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Ranks that look again and again instead of waiting, with one core for all of them: whoever finds
 * nothing lets the others have it. A look that does not costs the rest of a slice of the
 * scheduler's, milliseconds, each time that the turn changes. On one node: that ranks of
 * several have one core between them is known to none of them.
 */
#define _GNU_SOURCE
#include <mpi.h>
#include <sched.h>
#include <sys/resource.h>

#include "place.h"
#include "tap.h"

enum { ROUNDS = 1000 };

static int rank, size;

typedef void receive_fn_t(int *token, int source);

static void by_test(int *token, int source)
{
    MPI_Request request;
    int flag = 0;
    MPI_Irecv(token, 1, MPI_INT, source, 0, MPI_COMM_WORLD, &request);
    while (!flag)
        MPI_Test(&request, &flag, MPI_STATUS_IGNORE);
}

static void by_testall(int *token, int source)
{
    MPI_Request request;
    int flag = 0;
    MPI_Irecv(token, 1, MPI_INT, source, 0, MPI_COMM_WORLD, &request);
    while (!flag)
        MPI_Testall(1, &request, &flag, MPI_STATUSES_IGNORE);
}

static void by_testany(int *token, int source)
{
    MPI_Request request;
    int flag = 0, index;
    MPI_Irecv(token, 1, MPI_INT, source, 0, MPI_COMM_WORLD, &request);
    while (!flag)
        MPI_Testany(1, &request, &index, &flag, MPI_STATUS_IGNORE);
}

static void by_get_status(int *token, int source)
{
    MPI_Request request;
    int flag = 0;
    MPI_Irecv(token, 1, MPI_INT, source, 0, MPI_COMM_WORLD, &request);
    while (!flag)
        MPI_Request_get_status(request, &flag, MPI_STATUS_IGNORE);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
}

static void by_iprobe(int *token, int source)
{
    int flag = 0;
    while (!flag)
        MPI_Iprobe(source, 0, MPI_COMM_WORLD, &flag, MPI_STATUS_IGNORE);
    MPI_Recv(token, 1, MPI_INT, source, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
}

static double cpu_seconds(void)
{
    struct rusage usage;
    getrusage(RUSAGE_SELF, &usage);
    return (double)(usage.ru_utime.tv_sec + usage.ru_stime.tv_sec) +
           (double)(usage.ru_utime.tv_usec + usage.ru_stime.tv_usec) * 1e-6;
}

static void go_round(receive_fn_t *receive, const char *what)
{
    int token = 0, left = (rank + size - 1) % size, right = (rank + 1) % size;
    MPI_Barrier(MPI_COMM_WORLD);
    double begin = cpu_seconds();
    for (int i = 0; i < ROUNDS; i++) {
        if (rank == 0)
            MPI_Send(&i, 1, MPI_INT, right, 0, MPI_COMM_WORLD);
        receive(&token, left);
        if (rank != 0)
            MPI_Send(&token, 1, MPI_INT, right, 0, MPI_COMM_WORLD);
    }
    double used = cpu_seconds() - begin;
    tap_check(token == ROUNDS - 1, "%s: the token went round", what);
    /* About 1 us a look; a slice is some milliseconds. */
    tap_check(used < ROUNDS * 0.4e-3, "%s: %d rounds in %.3f s of a core", what, ROUNDS, used);
}

/* Before MPI_Init, which counts the cores. */
static void share_a_core(void)
{
    cpu_set_t allowed, one;
    sched_getaffinity(0, sizeof allowed, &allowed);
    CPU_ZERO(&one);
    for (int i = 0; i < CPU_SETSIZE; i++) {
        if (CPU_ISSET(i, &allowed)) {
            CPU_SET(i, &one);
            break;
        }
    }
    sched_setaffinity(0, sizeof one, &one);
}

int main(int argc, char **argv)
{
    share_a_core();
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    tap_rank(rank);
    if (!place_is_one_node()) {
        tap_skip("a core that ranks share", "they are on several nodes");
        MPI_Finalize();
        return tap_finish();
    }
    go_round(by_test, "MPI_Test");
    go_round(by_testall, "MPI_Testall");
    go_round(by_testany, "MPI_Testany");
    go_round(by_get_status, "MPI_Request_get_status");
    go_round(by_iprobe, "MPI_Iprobe");
    MPI_Finalize();
    return tap_finish();
}
