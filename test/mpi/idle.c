/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Ranks that wait use no CPU: all but the last one, who comes late, are blocked in a receive, a
 * probe, a wait and a barrier. What they use together is compared with the time that they wait.
 *
 *   idle [each]     each: what one of them uses is, over a network that has to be looked at now and
 *                   then; without what the network works for, a probe and a long reduction
 */
#define _GNU_SOURCE
#include <mpi.h>
#include <string.h>
#include <sys/resource.h>
#include <time.h>

#include "tap.h"

/* 20 ms of a CPU for a second of eight ranks. */
enum { LATE_MSEC = 1500, PERCENT = 2 };

static int rank, size;
static bool is_each;

static double cpu_seconds(void)
{
    struct rusage usage;
    getrusage(RUSAGE_SELF, &usage);
    return (double)usage.ru_utime.tv_sec + (double)usage.ru_stime.tv_sec +
           1e-6 * (double)(usage.ru_utime.tv_usec + usage.ru_stime.tv_usec);
}

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

/* What it takes when nobody waits for long. */
static double work_of(void (*block)(void))
{
    block(); /* the first time its memory is new */
    MPI_Barrier(MPI_COMM_WORLD);
    double used = -cpu_seconds();
    block();
    return used + cpu_seconds();
}

/* The last rank sleeps first; that is what is measured, and nothing depends on who comes when. */
static void check(void (*block)(void), bool is_collective, const char *what)
{
    struct timespec late = {LATE_MSEC / 1000, LATE_MSEC % 1000 * 1000000};
    double work = is_collective ? work_of(block) : 0, used = 0, sum = 0, began;
    MPI_Barrier(MPI_COMM_WORLD);
    began = MPI_Wtime();
    if (rank < size - 1) {
        used = -cpu_seconds();
        block();
        used += cpu_seconds();
        used = used > work ? used - work : 0;
    } else {
        nanosleep(&late, NULL);
        for (int i = 0; i < size - 1 && !is_collective; i++)
            MPI_Send(NULL, 0, MPI_INT, i, 1, MPI_COMM_WORLD);
        if (is_collective)
            block();
    }
    double waited = MPI_Wtime() - began;
    if (block == block_in_probe && rank < size - 1)
        block_in_receive();
    MPI_Reduce(&used, &sum, 1, MPI_DOUBLE, MPI_SUM, 0, MPI_COMM_WORLD);
    double allowed = waited * PERCENT / 100 * (is_each ? size - 1 : 1);
    tap_check(rank != 0 || (waited > LATE_MSEC * 0.5e-3 && sum < allowed),
              "%d ranks blocked in %s for %.1f s used %.3f s", size - 1, what, waited, sum);
}

int main(int argc, char **argv)
{
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    tap_rank(rank);
    is_each = argc > 1 && strcmp(argv[1], "each") == 0;
    check(block_in_receive, false, "MPI_Recv");
    if (!is_each)
        check(block_in_probe, false, "MPI_Probe");
    check(block_in_wait, false, "MPI_Waitany");
    check(block_in_barrier, true, "MPI_Barrier");
    if (!is_each)
        check(block_in_sum, true, "a long MPI_Allreduce");
    MPI_Finalize();
    return tap_finish();
}
