/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Ranks that wait use no CPU: all but the last one, who comes late, are blocked in a receive, a
 * probe, a wait and a barrier. The last one looks at them from outside: they are asleep, and are
 * hardly ever awake in between.
 *
 *   idle [each]     each: how often one of them may be awake is for a network that has to be looked
 *                   at now and then; without what the network works for, a probe and a long
 *                   reduction
 */
#define _GNU_SOURCE
#include <mpi.h>
#include <string.h>

#include "asleep.h"
#include "place.h"
#include "tap.h"

enum { NAPS_PER_SEC = 1500 };

static int rank, size;
static bool is_each;
static int *pids;

static void block_in_receive(void)
{
    MPI_Recv(NULL, 0, MPI_INT, size - 1, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
}

static void block_in_probe(void)
{
    MPI_Probe(MPI_ANY_SOURCE, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
}

static void block_in_wait(void)
{
    MPI_Request requests[2];
    int value, index;
    MPI_Irecv(&value, 1, MPI_INT, MPI_ANY_SOURCE, 99, MPI_COMM_WORLD, &requests[0]);
    MPI_Irecv(NULL, 0, MPI_INT, size - 1, 1, MPI_COMM_WORLD, &requests[1]);
    MPI_Waitany(2, requests, &index, MPI_STATUS_IGNORE);
    MPI_Cancel(&requests[0]);
    MPI_Wait(&requests[0], MPI_STATUS_IGNORE);
}

static void block_in_barrier(void)
{
    MPI_Barrier(MPI_COMM_WORLD);
}

static void block_in_sum(void)
{
    static double values[100000], sums[100000];
    MPI_Allreduce(values, sums, 100000, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
}

/* -- the one that looks ------------------------------------------------------------------------ */

static void check(void (*block)(void), bool is_collective, const char *what)
{
    long wakes = 0;
    double seconds = 0;
    MPI_Barrier(MPI_COMM_WORLD);
    if (rank == size - 1)
        wakes = watch(pids, size - 1, &seconds);
    for (int i = 0; i < size - 1 && rank == size - 1 && !is_collective; i++)
        MPI_Send(NULL, 0, MPI_INT, i, 1, MPI_COMM_WORLD);
    if (rank < size - 1 || is_collective)
        block();
    if (block == block_in_probe && rank < size - 1)
        block_in_receive();
    MPI_Bcast(&wakes, 1, MPI_LONG, size - 1, MPI_COMM_WORLD);
    MPI_Bcast(&seconds, 1, MPI_DOUBLE, size - 1, MPI_COMM_WORLD);
    double allowed = FIRST_WAKES + seconds * (is_each ? NAPS_PER_SEC : WAKES_PER_SEC);
    tap_check((double)wakes <= allowed,
              "of %d ranks blocked in %s for %.1f s none was awake more than %ld times", size - 1,
              what, seconds, wakes);
}

int main(int argc, char **argv)
{
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    tap_rank(rank);
    is_each = argc > 1 && strcmp(argv[1], "each") == 0;
    if (!place_has_common_pids()) {
        tap_skip("ranks that wait", "the last one cannot see them");
        MPI_Finalize();
        return tap_finish();
    }
    int pid = (int)getpid();
    pids = malloc((size_t)size * sizeof *pids);
    MPI_Allgather(&pid, 1, MPI_INT, pids, 1, MPI_INT, MPI_COMM_WORLD);
    check(block_in_receive, false, "MPI_Recv");
    if (!is_each)
        check(block_in_probe, false, "MPI_Probe");
    check(block_in_wait, false, "MPI_Waitany");
    check(block_in_barrier, true, "MPI_Barrier");
    if (!is_each)
        check(block_in_sum, true, "a long MPI_Allreduce");
    free(pids);
    MPI_Finalize();
    return tap_finish();
}
