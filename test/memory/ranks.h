/* SPDX-License-Identifier: BSD-3-Clause */
/* TAP of several ranks at once: rank 0 prints what all of them find. */
#ifndef TEST_MEMORY_RANKS_H
#define TEST_MEMORY_RANKS_H

#include <mpi.h>
#include <stdbool.h>
#include <stdio.h>

static int rank, size, count, failed;

static inline void begin_checks(void)
{
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
}

static inline void check(bool good, const char *what)
{
    int mine = good, all = 0;
    MPI_Reduce(&mine, &all, 1, MPI_INT, MPI_LAND, 0, MPI_COMM_WORLD);
    if (rank != 0)
        return;
    count++;
    failed += !all;
    printf("%sok %d - %s\n", all ? "" : "not ", count, what);
    fflush(stdout);
}

/* Returns what main does. */
static inline int end_checks(void)
{
    if (rank == 0)
        printf("1..%d\n", count);
    MPI_Finalize();
    return failed > 0;
}

#endif
