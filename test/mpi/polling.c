/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Ranks that look again and again instead of waiting, with one core for all of them: whoever finds
 * nothing lets the others have it. A look that does not costs the rest of a slice of the
 * scheduler's, milliseconds, each time that the turn changes; so the library's calls of sched_yield
 * and nanosleep are counted here, and compared with the looks in vain. On one node: that ranks of
 * several have one core between them is known to none of them.
 */
#define _GNU_SOURCE
#include <mpi.h>
#include <sched.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "place.h"
#include "tap.h"

enum { ROUNDS = 200 };

static int rank, size;
static long vain, given_away; /* looks that found nothing; times that the core was given away */

/* In place of the C library's. */
int sched_yield(void)
{
    given_away++;
    return (int)syscall(SYS_sched_yield);
}

int nanosleep(const struct timespec *length, struct timespec *rest)
{
    given_away++;
    return (int)syscall(SYS_nanosleep, length, rest);
}

static bool has_come(int flag)
{
    vain += !flag;
    return flag;
}

typedef void receive_fn_t(int *token, int source);

static void by_test(int *token, int source)
{
    MPI_Request request;
    int flag = 0;
    MPI_Irecv(token, 1, MPI_INT, source, 0, MPI_COMM_WORLD, &request);
    do
        MPI_Test(&request, &flag, MPI_STATUS_IGNORE);
    while (!has_come(flag));
}

static void by_testall(int *token, int source)
{
    MPI_Request request;
    int flag = 0;
    MPI_Irecv(token, 1, MPI_INT, source, 0, MPI_COMM_WORLD, &request);
    do
        MPI_Testall(1, &request, &flag, MPI_STATUSES_IGNORE);
    while (!has_come(flag));
}

static void by_testany(int *token, int source)
{
    MPI_Request request;
    int flag = 0, index;
    MPI_Irecv(token, 1, MPI_INT, source, 0, MPI_COMM_WORLD, &request);
    do
        MPI_Testany(1, &request, &index, &flag, MPI_STATUS_IGNORE);
    while (!has_come(flag));
}

static void by_get_status(int *token, int source)
{
    MPI_Request request;
    int flag = 0;
    MPI_Irecv(token, 1, MPI_INT, source, 0, MPI_COMM_WORLD, &request);
    do
        MPI_Request_get_status(request, &flag, MPI_STATUS_IGNORE);
    while (!has_come(flag));
    MPI_Wait(&request, MPI_STATUS_IGNORE);
}

static void by_iprobe(int *token, int source)
{
    int flag = 0;
    do
        MPI_Iprobe(source, 0, MPI_COMM_WORLD, &flag, MPI_STATUS_IGNORE);
    while (!has_come(flag));
    MPI_Recv(token, 1, MPI_INT, source, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
}

static void go_round(receive_fn_t *receive, const char *what)
{
    int token = 0, left = (rank + size - 1) % size, right = (rank + 1) % size;
    MPI_Barrier(MPI_COMM_WORLD);
    vain = given_away = 0;
    for (int i = 0; i < ROUNDS; i++) {
        if (rank == 0)
            MPI_Send(&i, 1, MPI_INT, right, 0, MPI_COMM_WORLD);
        receive(&token, left);
        if (rank != 0)
            MPI_Send(&token, 1, MPI_INT, right, 0, MPI_COMM_WORLD);
    }
    tap_check(token == ROUNDS - 1, "%s: the token went round", what);
    /* A look that handles something else keeps the core: an answer for each message, at most. */
    tap_check(vain - given_away <= 4 * ROUNDS,
              "%s: in %d rounds, %ld looks in vain, the core given away %ld times", what, ROUNDS,
              vain, given_away);
}

/* Before MPI_Init, which counts the cores. The number of the core. */
static int take_a_core(void)
{
    cpu_set_t allowed, one;
    int core = 0;
    sched_getaffinity(0, sizeof allowed, &allowed);
    while (core < CPU_SETSIZE - 1 && !CPU_ISSET(core, &allowed))
        core++;
    CPU_ZERO(&one);
    CPU_SET(core, &one);
    sched_setaffinity(0, sizeof one, &one);
    return core;
}

/* Not where a launcher has bound each of them to a core of its own. */
static bool is_of_all(int core)
{
    int least, most;
    MPI_Allreduce(&core, &least, 1, MPI_INT, MPI_MIN, MPI_COMM_WORLD);
    MPI_Allreduce(&core, &most, 1, MPI_INT, MPI_MAX, MPI_COMM_WORLD);
    return least == most;
}

int main(int argc, char **argv)
{
    int core = take_a_core();
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    tap_rank(rank);
    if (!place_is_one_node() || !is_of_all(core)) {
        tap_skip("a core that ranks share", "they are on several nodes, or bound to several cores");
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
