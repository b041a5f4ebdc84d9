/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Ranks that wait for a lock, or for another rank's part in an epoch of a window, use no CPU. The
 * last rank comes late, or has what the others wait for, and looks at them from outside.
 */
#define _GNU_SOURCE
#include <mpi.h>

#include "asleep.h"
#include "place.h"
#include "tap.h"

enum { WORDS = 4 };

static int rank, size, last;
static int *pids;
static MPI_Win win;
static long *memory;
static MPI_Group others, late;

/* What the last rank does before and after its look, and the others meanwhile. */
typedef struct wait {
    const char *what;
    void (*begin)(void), (*end)(void), (*block)(void);
} wait_t;

static void nothing(void)
{
}

/* Without an answer no lock is sure: a library may take it when it is used. */
static void use(int target)
{
    long value = -1;
    MPI_Get(&value, 1, MPI_LONG, target, 0, 1, MPI_LONG, win);
    MPI_Win_flush(target, win);
}

static void lock_use_unlock(int type, int target)
{
    MPI_Win_lock(type, target, 0, win);
    use(target);
    MPI_Win_unlock(target, win);
}

static void hold_own(void)
{
    MPI_Win_lock(MPI_LOCK_EXCLUSIVE, last, 0, win);
    use(last);
}

static void release_own(void)
{
    MPI_Win_unlock(last, win);
}

static void hold_first(void)
{
    MPI_Win_lock(MPI_LOCK_EXCLUSIVE, 0, 0, win);
    use(0);
}

static void release_first(void)
{
    MPI_Win_unlock(0, win);
}

static void block_in_exclusive(void)
{
    lock_use_unlock(MPI_LOCK_EXCLUSIVE, last);
}

static void block_in_shared(void)
{
    lock_use_unlock(MPI_LOCK_SHARED, last);
}

/* For rank 0, this is a lock of its own memory. */
static void block_in_first(void)
{
    lock_use_unlock(MPI_LOCK_EXCLUSIVE, 0);
}

static void block_in_lock_all(void)
{
    MPI_Win_lock_all(0, win);
    use(last);
    MPI_Win_unlock_all(win);
}

static void fence(void)
{
    MPI_Win_fence(0, win);
}

static void post(void)
{
    MPI_Win_post(others, 0, win);
    MPI_Win_wait(win);
}

static void block_in_complete(void)
{
    static long value;
    MPI_Win_start(late, 0, win);
    MPI_Put(&value, 1, MPI_LONG, last, 1, 1, MPI_LONG, win);
    MPI_Win_complete(win);
}

static void start(void)
{
    MPI_Win_start(others, 0, win);
    MPI_Win_complete(win);
}

static void block_in_wait(void)
{
    MPI_Win_post(late, 0, win);
    MPI_Win_wait(win);
}

static void free_window(void)
{
    MPI_Win_free(&win);
}

static void check(const wait_t *wait)
{
    long wakes = 0;
    double seconds = 0;
    if (rank == last)
        wait->begin();
    MPI_Barrier(MPI_COMM_WORLD);
    if (rank == last) {
        wakes = watch(pids, size - 1, &seconds);
        wait->end();
    } else {
        wait->block();
    }
    MPI_Barrier(MPI_COMM_WORLD); /* all have had their lock */
    MPI_Bcast(&wakes, 1, MPI_LONG, last, MPI_COMM_WORLD);
    MPI_Bcast(&seconds, 1, MPI_DOUBLE, last, MPI_COMM_WORLD);
    tap_check((double)wakes <= FIRST_WAKES + seconds * WAKES_PER_SEC,
              "of %d ranks blocked in %s for %.1f s none was awake more than %ld times", size - 1,
              wait->what, seconds, wakes);
}

static const wait_t waits[] = {
    {"an exclusive lock", hold_own, release_own, block_in_exclusive},
    {"a shared lock", hold_own, release_own, block_in_shared},
    {"MPI_Win_lock_all", hold_own, release_own, block_in_lock_all},
    {"a lock of rank 0", hold_first, release_first, block_in_first},
    {"MPI_Win_fence", nothing, fence, fence},
    {"MPI_Win_complete", nothing, post, block_in_complete},
    {"MPI_Win_wait", nothing, start, block_in_wait},
    {"MPI_Win_free", nothing, free_window, free_window},
};

int main(int argc, char **argv)
{
    MPI_Group world;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    last = size - 1;
    tap_rank(rank);
    if (!place_has_common_pids()) {
        tap_skip("ranks that wait", "the last one cannot see them");
        MPI_Finalize();
        return tap_finish();
    }
    int pid = (int)getpid();
    pids = malloc((size_t)size * sizeof *pids);
    MPI_Allgather(&pid, 1, MPI_INT, pids, 1, MPI_INT, MPI_COMM_WORLD);
    MPI_Win_allocate(WORDS * sizeof *memory, sizeof *memory, MPI_INFO_NULL, MPI_COMM_WORLD, &memory,
                     &win);
    MPI_Win_get_group(win, &world);
    MPI_Group_incl(world, 1, &last, &late);
    MPI_Group_excl(world, 1, &last, &others);
    for (int i = 0; i < (int)(sizeof waits / sizeof *waits); i++)
        check(&waits[i]);
    MPI_Group_free(&world);
    MPI_Group_free(&late);
    MPI_Group_free(&others);
    free(pids);
    MPI_Finalize();
    return tap_finish();
}
