/* SPDX-License-Identifier: BSD-3-Clause */
/* One-sided communication and files. See hang.h. */
#include "hang.h"

#include <stdio.h>
#include <unistd.h>

enum { TAG = 7 };

static MPI_Win create(void)
{
    int *memory;
    MPI_Win window;
    MPI_Win_allocate(sizeof *memory, sizeof *memory, MPI_INFO_NULL, MPI_COMM_WORLD, &memory,
                     &window);
    return window;
}

static void receive_from(int source)
{
    MPI_Recv(&size, 1, MPI_INT, source, TAG, MPI_COMM_WORLD, MPI_STATUS_IGNORE); /* @instead */
}

/* One rank is missing in a fence. */
static void fence(void)
{
    MPI_Win window = create();
    MPI_Win_fence(0, window);
    if (rank == 1)
        receive_from(0);
    MPI_Win_fence(0, window); /* @fence */
}

/* Rank 1 has a lock and keeps it. */
static void lock_held(void)
{
    MPI_Win window = create();
    if (rank == 1)
        MPI_Win_lock(MPI_LOCK_EXCLUSIVE, 0, 0, window);
    MPI_Barrier(MPI_COMM_WORLD);
    if (rank == 1)
        receive_from(0);
    MPI_Win_lock(MPI_LOCK_EXCLUSIVE, 0, 0, window); /* @lock */
    MPI_Win_flush(0, window);                       /* @flush */
}

static MPI_Group group_of(int member)
{
    MPI_Group world, group;
    MPI_Comm_group(MPI_COMM_WORLD, &world);
    MPI_Group_incl(world, 1, &member, &group);
    return group;
}

/* Rank 0 starts an epoch to rank 1, which has posted for rank 2 alone. */
static void start_without_post(void)
{
    MPI_Win window = create();
    if (rank == 0) {
        MPI_Win_start(group_of(1), 0, window);                /* @start */
        MPI_Put(&rank, 1, MPI_INT, 1, 0, 1, MPI_INT, window); /* @put */
        MPI_Win_complete(window);                             /* @complete */
    }
    if (rank == 1)
        MPI_Win_post(group_of(2), 0, window);
    MPI_Barrier(MPI_COMM_WORLD); /* @barrier_of_start */
}

/* Rank 1 waits for the end of an epoch that rank 0 never begins. */
static void wait_without_start(void)
{
    MPI_Win window = create();
    if (rank == 1) {
        MPI_Win_post(group_of(0), 0, window);
        MPI_Win_wait(window); /* @win_wait */
    }
    MPI_Barrier(MPI_COMM_WORLD); /* @barrier_of_wait */
}

/* A window is freed by all ranks; one waits for a message. */
static void free_by_some(void)
{
    MPI_Win window = create();
    if (rank == 1)
        receive_from(0);
    MPI_Win_free(&window); /* @free */
}

/* One rank is missing where a file is written together. */
static void write_all(void)
{
    MPI_File file;
    MPI_File_open(MPI_COMM_WORLD, "together", MPI_MODE_CREATE | MPI_MODE_RDWR, MPI_INFO_NULL,
                  &file);
    if (rank == 1)
        receive_from(0);
    MPI_File_write_at_all(file, rank * LARGE_BYTES, large, LARGE_BYTES, MPI_CHAR, /* @write_all */
                          MPI_STATUS_IGNORE);
    MPI_File_close(&file); /* @close */
}

/* One rank is missing where a file is opened. */
static void open_by_some(void)
{
    MPI_File file;
    if (rank == 1)
        receive_from(0);
    MPI_File_open(MPI_COMM_WORLD, "opened", MPI_MODE_CREATE | MPI_MODE_RDWR, /* @open */
                  MPI_INFO_NULL, &file);
}

const hang_case_t window_cases[] = {
    {"fence", fence, 0},
    {"lock_held", lock_held, 0},
    {"start_without_post", start_without_post, 0},
    {"wait_without_start", wait_without_start, 0},
    {"free_by_some", free_by_some, 0},
    {"write_all", write_all, 0},
    {"open_by_some", open_by_some, 0},
    {0},
};
