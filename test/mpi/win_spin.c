/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A target that spins. Without MPI, until an origin has come back from a local flush: that needs
 * nothing of the target. Or by calls on one window, until an origin that works on another window
 * has done its work: these calls make progress for all windows. The last rank is the
 * target, and rank 0 the origin.
 */
#define _GNU_SOURCE
#include <mpi.h>
#include <sched.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "place.h"
#include "tap.h"

/* The limit ends a test that hangs. */
enum { WORDS = 1 << 18, ROUNDS = 20, LIMIT_SEC = 20 };

static int rank, size, target;
static MPI_Win work, bells;
static long *work_memory, *bell;

/* -- local flushes ----------------------------------------------------------------------------- */

static volatile sig_atomic_t is_told;
static int target_pid;

static void note(int signal)
{
    (void)signal;
    is_told = 1;
}

static void put(const long *out, int count)
{
    MPI_Put(out, count, MPI_LONG, target, 0, count, MPI_LONG, work);
}

static void add(const long *out, int count)
{
    MPI_Accumulate(out, count, MPI_LONG, target, 0, count, MPI_LONG, MPI_REPLACE, work);
}

/* The origin changes its data when it may, and then tells the target. */
static void flush_and_tell(void (*operate)(const long *, int), int count, bool all)
{
    long *out = malloc((size_t)count * sizeof *out);
    for (int i = 0; i < count; i++)
        out[i] = i + 1;
    operate(out, count);
    if (all)
        MPI_Win_flush_local_all(work);
    else
        MPI_Win_flush_local(target, work);
    memset(out, 0xff, (size_t)count * sizeof *out);
    kill(target_pid, SIGUSR1);
    free(out);
}

static bool await_told(void)
{
    double limit = MPI_Wtime() + LIMIT_SEC;
    while (!is_told && MPI_Wtime() < limit)
        sched_yield();
    bool good = is_told;
    is_told = 0;
    return good;
}

static void check_local(void (*operate)(const long *, int), int count, bool all, const char *name)
{
    bool good = true;
    memset(work_memory, 0, WORDS * sizeof *work_memory);
    MPI_Win_sync(work);
    MPI_Barrier(MPI_COMM_WORLD);
    if (rank == 0)
        flush_and_tell(operate, count, all);
    else if (rank == target)
        good = await_told();
    tap_check(good, "a local flush of %d words of %s needs no call of the target", count, name);
    if (rank == 0)
        MPI_Win_flush(target, work);
    MPI_Barrier(MPI_COMM_WORLD);
    MPI_Win_sync(work);
    for (int i = 0; i < count && rank == target; i++)
        good &= work_memory[i] == i + 1;
    tap_check(good, "what was there before it has come to the target");
    MPI_Barrier(MPI_COMM_WORLD);
}

static void check_locals(void)
{
    int pid = (int)getpid();
    signal(SIGUSR1, note);
    if (rank == target)
        MPI_Send(&pid, 1, MPI_INT, 0, 0, MPI_COMM_WORLD);
    else if (rank == 0)
        MPI_Recv(&target_pid, 1, MPI_INT, target, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    for (int count = 1; count <= WORDS; count *= 64) {
        check_local(put, count, false, "MPI_Put");
        check_local(put, count, true, "MPI_Put, of all");
        check_local(add, count, false, "MPI_Accumulate");
    }
}

/* -- calls on another window ------------------------------------------------------------------- */

/* The window of the bells, or one on the same memory that has this rank alone. */
static MPI_Win asked;
static int asked_rank;

/* Each returns the word of the bell. */
static long ask_by_get(void)
{
    long value = 0;
    MPI_Get(&value, 1, MPI_LONG, asked_rank, 0, 1, MPI_LONG, asked);
    MPI_Win_flush(asked_rank, asked);
    return value;
}

static long ask_by_local_flush(void)
{
    long value = 0;
    MPI_Get(&value, 1, MPI_LONG, asked_rank, 0, 1, MPI_LONG, asked);
    MPI_Win_flush_local_all(asked);
    return value;
}

static long ask_by_request(void)
{
    long value = 0;
    MPI_Request request;
    MPI_Rget(&value, 1, MPI_LONG, asked_rank, 0, 1, MPI_LONG, asked, &request);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    return value;
}

static long ask_by_fetch(void)
{
    long value = 0;
    MPI_Fetch_and_op(NULL, &value, MPI_LONG, asked_rank, 0, MPI_NO_OP, asked);
    MPI_Win_flush(asked_rank, asked);
    return value;
}

static long ask_by_swap(void)
{
    long value = 0, none = -1;
    MPI_Compare_and_swap(&none, &none, &value, MPI_LONG, asked_rank, 0, asked);
    MPI_Win_flush_local(asked_rank, asked);
    return value;
}

static long ask_by_sync(void)
{
    MPI_Win_sync(asked);
    return *(volatile long *)bell;
}

static long ask_under_lock(void)
{
    long value = 0;
    MPI_Win_lock(MPI_LOCK_SHARED, asked_rank, 0, asked);
    MPI_Get(&value, 1, MPI_LONG, asked_rank, 0, 1, MPI_LONG, asked);
    MPI_Win_unlock(asked_rank, asked);
    return value;
}

static long ask_under_locks(void)
{
    long value = 0;
    MPI_Win_lock_all(MPI_MODE_NOCHECK, asked);
    MPI_Get(&value, 1, MPI_LONG, asked_rank, 0, 1, MPI_LONG, asked);
    MPI_Win_unlock_all(asked);
    return value;
}

static const struct way {
    const char *name;
    long (*ask)(void);
    bool has_locks; /* it opens and ends its epoch */
} ways[] = {
    {"MPI_Get and MPI_Win_flush", ask_by_get, false},
    {"MPI_Get and MPI_Win_flush_local_all", ask_by_local_flush, false},
    {"MPI_Rget and MPI_Wait", ask_by_request, false},
    {"MPI_Fetch_and_op", ask_by_fetch, false},
    {"MPI_Compare_and_swap", ask_by_swap, false},
    {"MPI_Win_sync", ask_by_sync, false},
    {"MPI_Win_lock and MPI_Win_unlock", ask_under_lock, true},
    {"MPI_Win_lock_all and MPI_Win_unlock_all", ask_under_locks, true},
};
enum { WAYS = sizeof ways / sizeof *ways };

static bool spin_until(long (*ask)(void), long value)
{
    double limit = MPI_Wtime() + LIMIT_SEC;
    while (ask() < value && MPI_Wtime() < limit)
        sched_yield();
    return ask() >= value;
}

/* A lock and a flush, which the target answers or not. */
static void work_and_ring(long round)
{
    long seen = 0;
    MPI_Win_lock(MPI_LOCK_EXCLUSIVE, target, 0, work);
    MPI_Put(&round, 1, MPI_LONG, target, 0, 1, MPI_LONG, work);
    MPI_Win_flush(target, work);
    MPI_Get(&seen, 1, MPI_LONG, target, 0, 1, MPI_LONG, work);
    MPI_Win_unlock(target, work);
    MPI_Accumulate(&seen, 1, MPI_LONG, target, 0, 1, MPI_LONG, MPI_REPLACE, bells);
    MPI_Win_flush(target, bells);
}

static void check_way(const struct way *way)
{
    bool good = true, has_epoch = !way->has_locks || rank != target;
    MPI_Win_lock(MPI_LOCK_EXCLUSIVE, rank, 0, bells);
    *bell = 0;
    MPI_Win_unlock(rank, bells);
    MPI_Barrier(MPI_COMM_WORLD);
    if (has_epoch)
        MPI_Win_lock_all(0, bells);
    if (has_epoch && asked != bells)
        MPI_Win_lock_all(0, asked);
    MPI_Barrier(MPI_COMM_WORLD);
    for (long round = 1; round <= ROUNDS && good; round++) {
        if (rank == 0)
            work_and_ring(round);
        else if (rank == target)
            good = spin_until(way->ask, round);
    }
    MPI_Barrier(MPI_COMM_WORLD);
    if (has_epoch && asked != bells)
        MPI_Win_unlock_all(asked);
    if (has_epoch)
        MPI_Win_unlock_all(bells);
    MPI_Barrier(MPI_COMM_WORLD);
    tap_check(good, "another window works while the target spins by %s%s", way->name,
              asked == bells ? "" : " on a window of its own");
}

int main(int argc, char **argv)
{
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    target = size - 1;
    tap_rank(rank);
    MPI_Win_allocate(WORDS * sizeof *work_memory, sizeof *work_memory, MPI_INFO_NULL,
                     MPI_COMM_WORLD, &work_memory, &work);
    MPI_Win_allocate(sizeof *bell, sizeof *bell, MPI_INFO_NULL, MPI_COMM_WORLD, &bell, &bells);
    if (place_has_common_pids() && size > 1) {
        MPI_Win_lock_all(0, work);
        put(&(long){1}, 1); /* the lock is there */
        MPI_Win_flush(target, work);
        check_locals();
        MPI_Win_unlock_all(work);
    } else {
        tap_skip("local flushes", "the target cannot be told without MPI");
    }
    asked = bells;
    asked_rank = rank;
    for (size_t i = 0; i < WAYS; i++)
        check_way(&ways[i]);
    MPI_Win_create(bell, sizeof *bell, sizeof *bell, MPI_INFO_NULL, MPI_COMM_SELF, &asked);
    asked_rank = 0;
    for (size_t i = 0; i < WAYS; i++)
        check_way(&ways[i]);
    MPI_Win_free(&asked);
    MPI_Win_free(&bells);
    MPI_Win_free(&work);
    MPI_Finalize();
    return tap_finish();
}
