/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What the synchronisation of windows promises: flushes, MPI_Win_sync, epochs of several and of no
 * ranks, assertions, epochs of two windows at once, one kind of epoch after another.
 */
#include <mpi.h>
#include <stdlib.h>

#include "tap.h"

enum { PUT, GET, SUM, OWN, WORDS };

static int rank, size, left, right;
static MPI_Win win;
static long *memory;

static long initial(int owner, int word)
{
    return 1000 * (owner + 1) + 10 * word;
}

static long given(int origin)
{
    return 100000 * (origin + 1);
}

static void fill(void)
{
    MPI_Win_lock(MPI_LOCK_EXCLUSIVE, rank, 0, win);
    for (int i = 0; i < WORDS; i++)
        memory[i] = initial(rank, i);
    MPI_Win_unlock(rank, win);
    MPI_Barrier(MPI_COMM_WORLD);
}

static long read_own(int word)
{
    MPI_Win_lock(MPI_LOCK_SHARED, rank, 0, win);
    long value = memory[word];
    MPI_Win_unlock(rank, win);
    return value;
}

static int put(long value, int target, int word, MPI_Win window)
{
    static long out[WORDS]; /* stays as it is until the epoch ends */
    out[word] = value;
    return MPI_Put(&out[word], 1, MPI_LONG, target, word, 1, MPI_LONG, window);
}

/* -- flushes ----------------------------------------------------------------------------------- */

static int flush_right(MPI_Win window)
{
    return MPI_Win_flush(right, window);
}

static int flush_local_right(MPI_Win window)
{
    return MPI_Win_flush_local(right, window);
}

/* The target sees it in its memory while the epoch of the origin goes on. */
static void check_flush(int (*flush)(MPI_Win), const char *name)
{
    fill();
    MPI_Win_lock_all(0, win);
    put(given(rank), right, PUT, win);
    bool good = flush(win) == MPI_SUCCESS;
    MPI_Barrier(MPI_COMM_WORLD);
    MPI_Win_sync(win);
    good &= *(volatile long *)&memory[PUT] == given(left);
    MPI_Barrier(MPI_COMM_WORLD);
    MPI_Win_unlock_all(win);
    tap_check(good, "%s: the target has what was put", name);
}

/* The buffers of the origin are its own again. */
static void check_flush_local(int (*flush)(MPI_Win), const char *name)
{
    long out = given(rank), in = -1, sum = given(rank), old = -1;
    fill();
    MPI_Win_lock_all(0, win);
    MPI_Put(&out, 1, MPI_LONG, right, PUT, 1, MPI_LONG, win);
    MPI_Get(&in, 1, MPI_LONG, right, GET, 1, MPI_LONG, win);
    MPI_Get_accumulate(&sum, 1, MPI_LONG, &old, 1, MPI_LONG, right, SUM, 1, MPI_LONG, MPI_SUM, win);
    bool good = flush(win) == MPI_SUCCESS;
    out = sum = -1;
    good &= in == initial(right, GET) && old == initial(right, SUM);
    MPI_Win_unlock_all(win);
    MPI_Barrier(MPI_COMM_WORLD);
    good &= read_own(PUT) == given(left) && read_own(SUM) == initial(rank, SUM) + given(left);
    tap_check(good, "%s: the buffers may be used again", name);
    MPI_Barrier(MPI_COMM_WORLD);
}

/* Flushes between operations of one origin on one word: they are carried out in their order. */
static void check_flush_order(void)
{
    enum { ROUNDS = 100 };
    long in = -1;
    bool good = true;
    fill();
    MPI_Win_lock(MPI_LOCK_SHARED, right, 0, win);
    for (long i = 0; i < ROUNDS; i++) {
        put(i, right, PUT, win);
        MPI_Win_flush(right, win);
        MPI_Get(&in, 1, MPI_LONG, right, PUT, 1, MPI_LONG, win);
        MPI_Win_flush_local(right, win);
        good &= in == i;
    }
    MPI_Win_unlock(right, win);
    MPI_Barrier(MPI_COMM_WORLD);
    tap_check(good, "a get after a flush has what was put before");
}

/* What a rank stores is got by others after MPI_Win_sync. */
static void check_sync(void)
{
    long in = -1;
    fill();
    MPI_Win_lock_all(0, win);
    memory[OWN] = 17 + rank;
    bool good = MPI_Win_sync(win) == MPI_SUCCESS;
    MPI_Barrier(MPI_COMM_WORLD);
    MPI_Get(&in, 1, MPI_LONG, right, OWN, 1, MPI_LONG, win);
    MPI_Win_flush(right, win);
    MPI_Win_unlock_all(win);
    MPI_Barrier(MPI_COMM_WORLD);
    tap_check(good && in == 17 + right, "MPI_Win_sync: others get what was stored");
}

/* -- groups ------------------------------------------------------------------------------------ */

static void check_empty_groups(void)
{
    int flag = 0;
    int error = MPI_Win_post(MPI_GROUP_EMPTY, 0, win);
    error |= MPI_Win_start(MPI_GROUP_EMPTY, 0, win);
    error |= MPI_Win_complete(win);
    error |= MPI_Win_wait(win);
    tap_check(error == MPI_SUCCESS, "epochs of empty groups");
    error = MPI_Win_post(MPI_GROUP_EMPTY, 0, win);
    error |= MPI_Win_test(win, &flag);
    tap_check(error == MPI_SUCCESS && flag, "MPI_Win_test ends an epoch with nobody");
}

static void add_one(int target)
{
    static const long one = 1;
    MPI_Accumulate(&one, 1, MPI_LONG, target, SUM, 1, MPI_LONG, MPI_SUM, win);
}

/* Everybody exposes its memory to everybody, and comes back later. */
static void check_all_groups(void)
{
    enum { ROUNDS = 20 };
    MPI_Group world;
    bool good = true;
    MPI_Win_get_group(win, &world);
    fill();
    for (int round = 1; round <= ROUNDS; round++) {
        MPI_Win_post(world, 0, win);
        MPI_Win_start(world, 0, win);
        for (int target = 0; target < size; target++)
            add_one(target);
        MPI_Win_complete(win);
        MPI_Win_wait(win);
        good &= memory[SUM] == initial(rank, SUM) + round * size;
    }
    MPI_Group_free(&world);
    tap_check(good, "all ranks in a group, %d times", ROUNDS);
}

/* An origin of several targets completes for each of them; no other rank takes part. */
static void check_one_origin(bool is_first)
{
    int origin = is_first ? 0 : size - 1, flag = 1;
    MPI_Group world, one, others;
    bool good = true;
    MPI_Win_get_group(win, &world);
    MPI_Group_incl(world, 1, &origin, &one);
    MPI_Group_excl(world, 1, &origin, &others);
    fill();
    if (rank == origin) {
        MPI_Win_start(others, 0, win);
        for (int target = 0; target < size; target++)
            if (target != origin)
                put(given(origin), target, PUT, win);
        MPI_Barrier(MPI_COMM_WORLD);
        MPI_Win_complete(win);
    } else {
        MPI_Win_post(one, 0, win);
        MPI_Win_test(win, &flag);
        good = !flag;
        MPI_Barrier(MPI_COMM_WORLD);
        while (!flag)
            MPI_Win_test(win, &flag);
        good &= memory[PUT] == given(origin);
    }
    MPI_Group_free(&one);
    MPI_Group_free(&others);
    MPI_Group_free(&world);
    tap_check(good, "an epoch with rank %d ends when it completes", origin);
    MPI_Barrier(MPI_COMM_WORLD);
}

/* -- assertions -------------------------------------------------------------------------------- */

static void make_neighbours(MPI_Group *to, MPI_Group *from)
{
    MPI_Group world;
    MPI_Win_get_group(win, &world);
    MPI_Group_incl(world, 1, &right, to);
    MPI_Group_incl(world, 1, &left, from);
    MPI_Group_free(&world);
}

/* Every assertion that a call may have, where it is true. */
static void check_assertions(void)
{
    const int nothing = MPI_MODE_NOSTORE | MPI_MODE_NOPUT;
    MPI_Group to, from;
    make_neighbours(&to, &from);
    fill();
    int error = MPI_Win_fence(MPI_MODE_NOPRECEDE, win);
    error |= MPI_Win_fence(nothing, win);
    error |= MPI_Win_fence(nothing | MPI_MODE_NOPRECEDE | MPI_MODE_NOSUCCEED, win);
    error |= MPI_Win_post(from, nothing | MPI_MODE_NOCHECK, win);
    MPI_Barrier(MPI_COMM_WORLD);
    error |= MPI_Win_start(to, MPI_MODE_NOCHECK, win);
    error |= MPI_Win_complete(win);
    error |= MPI_Win_wait(win);
    error |= MPI_Win_lock_all(MPI_MODE_NOCHECK, win);
    error |= put(given(rank), right, PUT, win);
    error |= MPI_Win_unlock_all(win);
    MPI_Barrier(MPI_COMM_WORLD);
    error |= MPI_Win_lock(MPI_LOCK_EXCLUSIVE, right, MPI_MODE_NOCHECK, win);
    error |= put(given(rank), right, OWN, win);
    error |= MPI_Win_unlock(right, win);
    MPI_Barrier(MPI_COMM_WORLD);
    tap_check(error == MPI_SUCCESS, "all assertions are accepted");
    tap_check(read_own(PUT) == given(left) && read_own(OWN) == given(left),
              "operations under MPI_MODE_NOCHECK arrive");
    MPI_Barrier(MPI_COMM_WORLD);
    MPI_Group_free(&to);
    MPI_Group_free(&from);
}

/* -- epochs beside each other, and after each other
 * ------------------------------------------------ */

/* A fence begins an epoch only if operations follow it, so locks and groups may come instead. */
static void check_sequence(void)
{
    MPI_Group to, from;
    make_neighbours(&to, &from);
    fill();
    int error = MPI_Win_fence(0, win);
    error |= put(given(rank), right, PUT, win);
    error |= MPI_Win_fence(0, win);
    error |= MPI_Win_lock(MPI_LOCK_SHARED, right, 0, win);
    error |= put(given(rank) + 1, right, OWN, win);
    error |= MPI_Win_unlock(right, win);
    MPI_Barrier(MPI_COMM_WORLD);
    error |= MPI_Win_post(from, 0, win);
    error |= MPI_Win_start(to, 0, win);
    error |= put(given(rank) + 2, right, GET, win);
    error |= MPI_Win_complete(win);
    error |= MPI_Win_wait(win);
    error |= MPI_Win_lock_all(0, win);
    error |= MPI_Win_unlock_all(win);
    MPI_Barrier(MPI_COMM_WORLD);
    error |= MPI_Win_fence(0, win);
    tap_check(error == MPI_SUCCESS, "one kind of epoch may follow the other");
    tap_check(memory[PUT] == given(left) && memory[OWN] == given(left) + 1 &&
                  memory[GET] == given(left) + 2,
              "and each has its operations");
    MPI_Barrier(MPI_COMM_WORLD);
    MPI_Group_free(&to);
    MPI_Group_free(&from);
}

/* Windows have their own epochs, also on the same memory. */
static void check_two_windows(void)
{
    long *other_memory;
    MPI_Win other, twin;
    MPI_Win_allocate(WORDS * sizeof *memory, sizeof *memory, MPI_INFO_NULL, MPI_COMM_WORLD,
                     &other_memory, &other);
    MPI_Win_create(memory, WORDS * sizeof *memory, sizeof *memory, MPI_INFO_NULL, MPI_COMM_WORLD,
                   &twin);
    fill();
    int error = MPI_Win_fence(0, other);
    error |= MPI_Win_lock(MPI_LOCK_EXCLUSIVE, right, 0, win);
    error |= put(given(rank), right, PUT, other);
    error |= put(given(rank) + 1, right, OWN, win);
    error |= MPI_Win_lock_all(0, twin);
    error |= put(given(rank) + 2, right, GET, twin);
    error |= MPI_Win_unlock(right, win);
    error |= MPI_Win_fence(0, other);
    error |= MPI_Win_unlock_all(twin);
    MPI_Barrier(MPI_COMM_WORLD);
    tap_check(error == MPI_SUCCESS, "epochs of several windows overlap");
    tap_check(other_memory[PUT] == given(left) && read_own(OWN) == given(left) + 1 &&
                  read_own(GET) == given(left) + 2,
              "each window has what was put into it, with two on one memory, too");
    MPI_Barrier(MPI_COMM_WORLD);
    MPI_Win_free(&twin);
    MPI_Win_free(&other);
}

int main(int argc, char **argv)
{
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    tap_rank(rank);
    left = (rank + size - 1) % size;
    right = (rank + 1) % size;
    MPI_Win_allocate(WORDS * sizeof *memory, sizeof *memory, MPI_INFO_NULL, MPI_COMM_WORLD, &memory,
                     &win);
    check_flush(flush_right, "MPI_Win_flush");
    check_flush(MPI_Win_flush_all, "MPI_Win_flush_all");
    check_flush_local(flush_local_right, "MPI_Win_flush_local");
    check_flush_local(MPI_Win_flush_local_all, "MPI_Win_flush_local_all");
    check_flush_order();
    check_sync();
    check_empty_groups();
    check_all_groups();
    check_one_origin(true);
    check_one_origin(false);
    check_assertions();
    check_sequence();
    check_two_windows();
    MPI_Win_free(&win);
    MPI_Finalize();
    return tap_finish();
}
