/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * For the programs of what windows refuse: a window `win` of WORDS words in the memory of each
 * rank, whose errors are returned. Each rank makes the same mistakes with its right neighbour.
 */
#ifndef TEST_MPI_WIN_ERRORS_H
#define TEST_MPI_WIN_ERRORS_H

#include <mpi.h>

#include "tap.h"

/* The last word counts how often the window was seen to work. */
enum { WORDS = 8 };

static int rank, size, left, right;
static MPI_Win win;
static long *memory;

static inline bool is_class(int error, int expected)
{
    int class;
    MPI_Error_class(error, &class);
    if (class != expected)
        fprintf(stderr, "rank %d: the class is %d, not %d\n", rank, class, expected);
    return class == expected;
}

#define REFUSED(class, call) tap_check(is_class(call, class), "%s: %s", #class, #call)
#define ACCEPTED(call)       tap_check(is_class(call, MPI_SUCCESS), "accepted: %s", #call)

static inline void begin_errors(int *argc, char ***argv)
{
    MPI_Init(argc, argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    tap_rank(rank);
    left = (rank + size - 1) % size;
    right = (rank + 1) % size;
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    MPI_Win_allocate(WORDS * sizeof *memory, sizeof *memory, MPI_INFO_NULL, MPI_COMM_WORLD, &memory,
                     &win);
    MPI_Win_set_errhandler(win, MPI_ERRORS_RETURN);
    for (int i = 0; i < WORDS; i++)
        memory[i] = 0;
    MPI_Barrier(MPI_COMM_WORLD);
}

/* By locks and by fences; no epoch is open. */
static inline void check_works(const char *after)
{
    static int times;
    const long one = 1;
    long in = -1;
    times++;
    int error = MPI_Win_lock(MPI_LOCK_EXCLUSIVE, right, 0, win);
    error |= MPI_Accumulate(&one, 1, MPI_LONG, right, WORDS - 1, 1, MPI_LONG, MPI_SUM, win);
    error |= MPI_Win_unlock(right, win);
    MPI_Barrier(MPI_COMM_WORLD);
    error |= MPI_Win_fence(0, win);
    error |= MPI_Get(&in, 1, MPI_LONG, rank, WORDS - 1, 1, MPI_LONG, win);
    error |= MPI_Win_fence(MPI_MODE_NOSUCCEED, win);
    tap_check(error == MPI_SUCCESS && in == times, "the window works after %s", after);
}

#endif
