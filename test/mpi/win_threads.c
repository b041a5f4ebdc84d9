/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * MPI_THREAD_MULTIPLE on windows: the threads of each rank work in one epoch of it, on words of
 * their own and on common ones, with requests and flushes; or each thread locks another target, or
 * has a window of its own.
 */
#include <mpi.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include "tap.h"
#include "thread_pairs.h"

/* SLICE: words that a thread has in the window of each rank; COMMON: words that all use. */
enum { THREADS = 4, ROUNDS = 150, SLICE = 32, COMMON = 8 };

static int rank, size, words;
static MPI_Win win;
static long *memory;
static atomic_int wrong;
static MPI_Win own_wins[THREADS];
static MPI_Comm own_comms[THREADS];
static long *own_memories[THREADS];

static void expect(bool holds)
{
    if (!holds)
        atomic_fetch_add(&wrong, 1);
}

static long value(int origin, int thread, int round, int i)
{
    return origin * 10000000L + thread * 1000000 + round * 100 + i;
}

/* The words of a thread of this rank in every window. */
static MPI_Aint slice(int thread)
{
    return COMMON + (rank * THREADS + thread) * SLICE;
}

/* -- what a thread does ------------------------------------------------------------------------ */

static void put_and_get(int thread)
{
    long out[SLICE], in[SLICE];
    for (int round = 0; round < ROUNDS; round++) {
        int target = (rank + thread + round) % size, count = 1 + round % SLICE;
        for (int i = 0; i < count; i++)
            out[i] = value(rank, thread, round, i);
        MPI_Put(out, count, MPI_LONG, target, slice(thread), count, MPI_LONG, win);
        if (round % 3 == 0)
            MPI_Win_flush_all(win);
        else
            MPI_Win_flush(target, win);
        memset(in, 0xff, sizeof in);
        MPI_Get(in, count, MPI_LONG, target, slice(thread), count, MPI_LONG, win);
        if (round % 2 == 0)
            MPI_Win_flush_local(target, win);
        else
            MPI_Win_flush_local_all(win);
        expect(memcmp(out, in, (size_t)count * sizeof *out) == 0);
    }
}

static void put_and_get_by_requests(int thread)
{
    enum { OPEN = 8 };
    long out[OPEN], in[OPEN];
    MPI_Request requests[OPEN];
    for (int round = 0; round < ROUNDS; round++) {
        int target = (rank + thread * 3 + round) % size;
        for (int i = 0; i < OPEN; i++) {
            out[i] = value(rank, thread, round, i);
            MPI_Rput(&out[i], 1, MPI_LONG, target, slice(thread) + i, 1, MPI_LONG, win,
                     &requests[i]);
        }
        MPI_Waitall(OPEN, requests, MPI_STATUSES_IGNORE);
        MPI_Win_flush(target, win);
        for (int i = 0; i < OPEN; i++)
            MPI_Rget(&in[i], 1, MPI_LONG, target, slice(thread) + i, 1, MPI_LONG, win,
                     &requests[i]);
        for (int i = OPEN - 1; i >= 0; i--) {
            MPI_Wait(&requests[i], MPI_STATUS_IGNORE);
            expect(in[i] == out[i]);
        }
    }
}

/* Every word is increased once by each thread in each round, by a way that changes. */
static void count(int thread)
{
    static const long ones[COMMON] = {1, 1, 1, 1, 1, 1, 1, 1};
    long old[COMMON], next, seen;
    MPI_Request request;
    for (int round = 0; round < ROUNDS; round++) {
        int target = round % size, way = (round + thread) % 4;
        for (int i = 0; i < COMMON && way == 0; i++)
            MPI_Fetch_and_op(&ones[i], &old[i], MPI_LONG, target, i, MPI_SUM, win);
        if (way == 1)
            MPI_Accumulate(ones, COMMON, MPI_LONG, target, 0, COMMON, MPI_LONG, MPI_SUM, win);
        if (way == 2) {
            MPI_Rget_accumulate(ones, COMMON, MPI_LONG, old, COMMON, MPI_LONG, target, 0, COMMON,
                                MPI_LONG, MPI_SUM, win, &request);
            MPI_Wait(&request, MPI_STATUS_IGNORE);
        }
        for (int i = 0; i < COMMON && way == 3; i++) {
            for (old[i] = 0;; old[i] = seen) {
                next = old[i] + 1;
                MPI_Compare_and_swap(&next, &old[i], &seen, MPI_LONG, target, i, win);
                MPI_Win_flush(target, win);
                if (seen == old[i])
                    break;
            }
        }
        MPI_Win_flush_local(target, win);
    }
}

/* Threads of a rank may not have two locks of one target, so each has targets of its own. */
static void lock_others(int thread)
{
    for (int round = 0; round < ROUNDS; round++) {
        for (int target = thread; target < size; target += THREADS) {
            long sum;
            MPI_Win_lock(MPI_LOCK_EXCLUSIVE, target, 0, win);
            MPI_Get(&sum, 1, MPI_LONG, target, 0, 1, MPI_LONG, win);
            MPI_Win_flush(target, win);
            sum++;
            MPI_Put(&sum, 1, MPI_LONG, target, 0, 1, MPI_LONG, win);
            MPI_Win_unlock(target, win);
        }
    }
}

/* Epochs of all kinds, each thread with its window. */
static void use_own(int thread)
{
    MPI_Win own = own_wins[thread];
    const int right = (rank + 1) % size;
    const long one = 1;
    for (int round = 0; round < ROUNDS; round++) {
        switch ((round + thread) % 3) {
        case 0:
            MPI_Win_lock(MPI_LOCK_EXCLUSIVE, right, 0, own);
            MPI_Accumulate(&one, 1, MPI_LONG, right, 0, 1, MPI_LONG, MPI_SUM, own);
            MPI_Win_unlock(right, own);
            break;
        case 1:
            MPI_Win_lock_all(0, own);
            MPI_Accumulate(&one, 1, MPI_LONG, right, 0, 1, MPI_LONG, MPI_SUM, own);
            MPI_Win_unlock_all(own);
            break;
        default:
            MPI_Barrier(own_comms[thread]); /* no lock is left */
            MPI_Win_fence(MPI_MODE_NOPRECEDE, own);
            MPI_Accumulate(&one, 1, MPI_LONG, right, 0, 1, MPI_LONG, MPI_SUM, own);
            MPI_Win_fence(MPI_MODE_NOSUCCEED, own);
        }
    }
}

/* -- all threads of all ranks ------------------------------------------------------------------ */

/* Returns whether all was right. */
static bool run(thread_work_fn_t *first, thread_work_fn_t *second)
{
    run_threads(THREADS, first, second);
    return atomic_load(&wrong) == 0;
}

static void clear_window(void)
{
    MPI_Barrier(MPI_COMM_WORLD);
    MPI_Win_lock(MPI_LOCK_EXCLUSIVE, rank, 0, win);
    memset(memory, 0, (size_t)words * sizeof *memory);
    MPI_Win_unlock(rank, win);
    MPI_Barrier(MPI_COMM_WORLD);
}

/* Whether the common words of this rank have been increased by so many threads of each rank. */
static bool is_counted(int threads)
{
    bool good = true;
    int rounds = (ROUNDS + size - 1 - rank) / size;
    MPI_Barrier(MPI_COMM_WORLD);
    MPI_Win_lock(MPI_LOCK_SHARED, rank, 0, win);
    for (int i = 0; i < COMMON; i++)
        good &= memory[i] == (long)threads * size * rounds;
    MPI_Win_unlock(rank, win);
    MPI_Barrier(MPI_COMM_WORLD);
    return good;
}

static void check_epoch(const char *what, void (*first)(int), void (*second)(int), int counters)
{
    clear_window();
    MPI_Win_lock_all(0, win);
    bool good = run(first, second);
    MPI_Win_unlock_all(win);
    good &= is_counted(counters);
    tap_check(good, "%d threads in one epoch: %s", THREADS, what);
}

static void check_locks(void)
{
    clear_window();
    bool good = run(lock_others, lock_others);
    MPI_Barrier(MPI_COMM_WORLD);
    MPI_Win_lock(MPI_LOCK_SHARED, rank, 0, win);
    good &= memory[0] == (long)ROUNDS * size;
    MPI_Win_unlock(rank, win);
    tap_check(good, "each thread locks other targets");
}

/* What threads do after a fence begins no epoch of it. */
static void lock_once(int thread)
{
    for (int target = thread; target < size; target += THREADS) {
        const long one = 1;
        expect(MPI_Win_lock(MPI_LOCK_SHARED, target, 0, win) == MPI_SUCCESS);
        MPI_Accumulate(&one, 1, MPI_LONG, target, 0, 1, MPI_LONG, MPI_SUM, win);
        expect(MPI_Win_flush(target, win) == MPI_SUCCESS);
        expect(MPI_Win_unlock(target, win) == MPI_SUCCESS);
    }
}

static void check_after_fence(void)
{
    enum { TIMES = 15 };
    bool good = true;
    clear_window();
    MPI_Win_set_errhandler(win, MPI_ERRORS_RETURN);
    for (int i = 0; i < TIMES; i++) {
        MPI_Win_fence(0, win);
        good &= run(lock_once, lock_once);
        MPI_Barrier(MPI_COMM_WORLD);
    }
    MPI_Win_set_errhandler(win, MPI_ERRORS_ARE_FATAL);
    MPI_Win_fence(MPI_MODE_NOPRECEDE | MPI_MODE_NOSUCCEED, win);
    good &= memory[0] == (long)TIMES * size;
    tap_check(good, "threads lock targets right after a fence");
}

static void check_own_windows(void)
{
    bool good = true;
    for (int t = 0; t < THREADS; t++) {
        MPI_Comm_dup(MPI_COMM_WORLD, &own_comms[t]);
        MPI_Win_allocate(sizeof(long), sizeof(long), MPI_INFO_NULL, own_comms[t], &own_memories[t],
                         &own_wins[t]);
        *own_memories[t] = 0;
    }
    good &= run(use_own, use_own);
    MPI_Barrier(MPI_COMM_WORLD);
    for (int t = 0; t < THREADS; t++) {
        MPI_Win_fence(0, own_wins[t]);
        good &= *own_memories[t] == ROUNDS;
        MPI_Win_fence(MPI_MODE_NOSUCCEED, own_wins[t]);
        MPI_Win_free(&own_wins[t]);
        MPI_Comm_free(&own_comms[t]);
    }
    tap_check(good, "each thread has a window of its own");
}

int main(int argc, char **argv)
{
    int provided;
    MPI_Init_thread(&argc, &argv, MPI_THREAD_MULTIPLE, &provided);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    tap_rank(rank);
    tap_check(provided == MPI_THREAD_MULTIPLE, "MPI_THREAD_MULTIPLE");
    words = COMMON + size * THREADS * SLICE;
    MPI_Win_allocate(words * (MPI_Aint)sizeof *memory, sizeof *memory, MPI_INFO_NULL,
                     MPI_COMM_WORLD, &memory, &win);
    check_epoch("put and get", put_and_get, put_and_get, 0);
    check_epoch("requests", put_and_get_by_requests, put_and_get_by_requests, 0);
    check_epoch("counters", count, count, THREADS);
    check_epoch("put and get beside requests", put_and_get, put_and_get_by_requests, 0);
    check_epoch("put and get beside counters", put_and_get, count, THREADS / 2);
    check_epoch("requests beside counters", put_and_get_by_requests, count, THREADS / 2);
    check_locks();
    check_after_fence();
    check_own_windows();
    MPI_Win_free(&win);
    MPI_Finalize();
    return tap_finish();
}
