/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Much at once, and one after the other: outstanding requests and operations, attached regions,
 * windows that live at the same time, of communicators that intersect; windows that end while a
 * rank still works; memory that does not grow with the windows that have ended.
 */
#include <mpi.h>
#include <stdlib.h>
#include <string.h>

#include "resident.h"
#include "tap.h"

enum { MOST = 100000, REGIONS = 10000, WINDOWS = 1000, ROUNDS = 2000, WARM_ROUNDS = 200 };
enum { GROWTH_KIB = 1024 };

static int rank, size, left, right;

/* -- operations -------------------------------------------------------------------------------- */

static long number(int origin, long i)
{
    return origin * 1000000L + i;
}

static void check_puts(MPI_Win win, const long *memory, MPI_Request *requests, int count)
{
    long *out = calloc((size_t)count, sizeof *out);
    bool good = true;
    for (long i = 0; i < count; i++) {
        out[i] = number(rank, i) + count;
        MPI_Rput(&out[i], 1, MPI_LONG, right, i, 1, MPI_LONG, win, &requests[i]);
    }
    good &= MPI_Waitall(count, requests, MPI_STATUSES_IGNORE) == MPI_SUCCESS;
    MPI_Win_flush(right, win);
    MPI_Barrier(MPI_COMM_WORLD);
    MPI_Win_sync(win);
    for (long i = 0; i < count; i++)
        good &= memory[i] == number(left, i) + count;
    tap_check(good, "%d requests of MPI_Rput at once", count);
    MPI_Barrier(MPI_COMM_WORLD);
    free(out);
}

/* The window has what check_puts has left there. The last request is waited for first. */
static void check_gets(MPI_Win win, MPI_Request *requests, int count)
{
    long *in = calloc((size_t)count, sizeof *in);
    bool good = true;
    for (long i = 0; i < count; i++) {
        in[i] = -1;
        MPI_Rget(&in[i], 1, MPI_LONG, right, i, 1, MPI_LONG, win, &requests[i]);
    }
    for (long i = count - 1; i >= 0; i--) {
        MPI_Wait(&requests[i], MPI_STATUS_IGNORE);
        good &= in[i] == number(rank, i) + count;
    }
    tap_check(good, "%d requests of MPI_Rget, each with its data when it ends", count);
    MPI_Barrier(MPI_COMM_WORLD);
    free(in);
}

/* Of all ranks, on few words of rank 0. */
static void check_sums(MPI_Win win, long *memory, MPI_Request *requests, int count)
{
    enum { FEW = 7 };
    const long one = 1;
    long sum = 0;
    MPI_Barrier(MPI_COMM_WORLD);
    for (int i = 0; i < FEW; i++)
        memory[i] = 0;
    MPI_Win_sync(win);
    MPI_Barrier(MPI_COMM_WORLD);
    for (int i = 0; i < count; i++)
        MPI_Raccumulate(&one, 1, MPI_LONG, 0, i % FEW, 1, MPI_LONG, MPI_SUM, win, &requests[i]);
    MPI_Waitall(count, requests, MPI_STATUSES_IGNORE);
    MPI_Win_flush(0, win);
    MPI_Barrier(MPI_COMM_WORLD);
    MPI_Win_sync(win);
    for (int i = 0; i < FEW; i++)
        sum += memory[i];
    tap_check(rank != 0 || sum == (long)size * count, "%d requests of MPI_Raccumulate", count);
    MPI_Barrier(MPI_COMM_WORLD);
}

/* One flush for operations of all kinds. */
static void check_operations(MPI_Win win, long *memory)
{
    long *out = calloc(MOST, sizeof *out), *in = calloc(MOST, sizeof *in);
    bool good = true;
    for (long i = 0; i < MOST; i++)
        memory[i] = number(rank, i);
    MPI_Win_sync(win);
    MPI_Barrier(MPI_COMM_WORLD);
    for (long i = 0; i < MOST; i++) {
        out[i] = 1 + i;
        if (i % 3 == 0)
            MPI_Put(&out[i], 1, MPI_LONG, right, i, 1, MPI_LONG, win);
        else if (i % 3 == 1)
            MPI_Get(&in[i], 1, MPI_LONG, right, i, 1, MPI_LONG, win);
        else
            MPI_Fetch_and_op(&out[i], &in[i], MPI_LONG, right, i, MPI_SUM, win);
    }
    MPI_Win_flush(right, win);
    MPI_Barrier(MPI_COMM_WORLD);
    MPI_Win_sync(win);
    for (long i = 0; i < MOST; i++) {
        long was = number(rank, i);
        good &= memory[i] == (i % 3 == 0 ? 1 + i : i % 3 == 1 ? was : was + 1 + i);
        good &= i % 3 == 0 || in[i] == number(right, i);
    }
    tap_check(good, "%d operations before a flush", MOST);
    free(out);
    free(in);
}

static void check_outstanding(void)
{
    static const int counts[] = {255, 256, 65536, MOST}; /* where numbers wrap around, and more */
    MPI_Request *requests = calloc(MOST, sizeof(MPI_Request));
    long *memory;
    MPI_Win win;
    MPI_Win_allocate(MOST * sizeof *memory, sizeof *memory, MPI_INFO_NULL, MPI_COMM_WORLD, &memory,
                     &win);
    MPI_Win_lock_all(0, win);
    for (size_t i = 0; i < sizeof counts / sizeof *counts; i++) {
        check_puts(win, memory, requests, counts[i]);
        check_gets(win, requests, counts[i]);
        check_sums(win, memory, requests, counts[i]);
    }
    check_operations(win, memory);
    MPI_Win_unlock_all(win);
    MPI_Win_free(&win);
    free(requests);
}

/* -- regions ----------------------------------------------------------------------------------- */

static void check_regions(void)
{
    long **regions = calloc(REGIONS, sizeof *regions), value[2];
    MPI_Aint *own = calloc(REGIONS, sizeof *own), *theirs = calloc(REGIONS, sizeof *theirs);
    int errors = 0;
    bool good = true;
    MPI_Win win;
    MPI_Win_create_dynamic(MPI_INFO_NULL, MPI_COMM_WORLD, &win);
    MPI_Win_set_errhandler(win, MPI_ERRORS_RETURN);
    for (int i = 0; i < REGIONS; i++) {
        regions[i] = calloc((size_t)(1 + i % 20), sizeof(long));
        MPI_Get_address(regions[i], &own[i]);
        errors += MPI_Win_attach(win, regions[i], (1 + i % 20) * (MPI_Aint)sizeof(long)) != 0;
    }
    MPI_Sendrecv(own, REGIONS, MPI_AINT, left, 0, theirs, REGIONS, MPI_AINT, right, 0,
                 MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    MPI_Win_lock_all(0, win);
    for (int i = 0; i < REGIONS; i++) {
        value[0] = number(rank, i);
        errors += MPI_Put(value, 1, MPI_LONG, right, theirs[i], 1, MPI_LONG, win) != 0;
        errors += MPI_Fetch_and_op(value, &value[1], MPI_LONG, right, theirs[i], MPI_SUM, win) != 0;
        MPI_Win_flush(right, win);
    }
    MPI_Win_unlock_all(win);
    MPI_Barrier(MPI_COMM_WORLD);
    for (int i = 0; i < REGIONS; i++) {
        int k = i % 2 == 0 ? i : REGIONS - i;
        good &= regions[k][0] == 2 * number(left, k);
        errors += MPI_Win_detach(win, regions[k]) != 0;
    }
    tap_check(good && errors == 0, "%d regions, each with what was put into it", REGIONS);
    MPI_Win_free(&win);
    for (int i = 0; i < REGIONS; i++)
        free(regions[i]);
    free(regions);
    free(own);
    free(theirs);
}

/* -- windows ----------------------------------------------------------------------------------- */

static void check_windows(void)
{
    MPI_Win *wins = calloc(WINDOWS, sizeof *wins);
    long **memories = calloc(WINDOWS, sizeof *memories);
    bool good = true;
    for (int i = 0; i < WINDOWS; i++) {
        MPI_Win_allocate(2 * sizeof(long), sizeof(long), MPI_INFO_NULL, MPI_COMM_WORLD,
                         &memories[i], &wins[i]);
        memories[i][0] = 0;
    }
    MPI_Barrier(MPI_COMM_WORLD);
    for (int i = 0; i < WINDOWS; i++)
        MPI_Win_lock_all(0, wins[i]);
    for (int i = WINDOWS - 1; i >= 0; i--) {
        long value = number(rank, i);
        MPI_Put(&value, 1, MPI_LONG, right, 0, 1, MPI_LONG, wins[i]);
        MPI_Win_flush(right, wins[i]);
    }
    for (int i = 0; i < WINDOWS; i++)
        MPI_Win_unlock_all(wins[i]);
    MPI_Barrier(MPI_COMM_WORLD);
    for (int i = 0; i < WINDOWS; i++) {
        int k = i * 7 % WINDOWS;
        good &= memories[k][0] == number(left, k);
        MPI_Win_free(&wins[k]);
    }
    tap_check(good, "%d windows at once", WINDOWS);
    free(wins);
    free(memories);
}

/* Of all ranks, of every other rank, of pairs, of one; they end in every order. */
static void check_orders(void)
{
    enum { COMMS = 4, ORDERS = 24 };
    MPI_Comm comms[COMMS] = {MPI_COMM_WORLD, MPI_COMM_NULL, MPI_COMM_NULL, MPI_COMM_SELF};
    bool good = true;
    MPI_Comm_split(MPI_COMM_WORLD, rank % 2, rank, &comms[1]);
    MPI_Comm_split(MPI_COMM_WORLD, rank / 2, -rank, &comms[2]);
    for (int order = 0; order < ORDERS; order++) {
        MPI_Win wins[COMMS];
        long memories[COMMS] = {0}, one = 1;
        int left_over[COMMS] = {0, 1, 2, 3}, code = order;
        for (int i = 0; i < COMMS; i++)
            MPI_Win_create(&memories[i], sizeof(long), 1, MPI_INFO_NULL, comms[i], &wins[i]);
        for (int i = COMMS - 1; i >= 0; i--) {
            MPI_Win_fence(0, wins[i]);
            MPI_Accumulate(&one, 1, MPI_LONG, 0, 0, 1, MPI_LONG, MPI_SUM, wins[i]);
            MPI_Win_fence(MPI_MODE_NOSUCCEED, wins[i]);
        }
        for (int n = COMMS; n > 0; code /= n, n--) {
            int which = code % n, members, self;
            MPI_Comm_size(comms[left_over[which]], &members);
            MPI_Comm_rank(comms[left_over[which]], &self);
            MPI_Win_free(&wins[left_over[which]]);
            good &= self != 0 || memories[left_over[which]] == members;
            memmove(&left_over[which], &left_over[which + 1],
                    (size_t)(n - 1 - which) * sizeof *left_over);
        }
    }
    MPI_Comm_free(&comms[1]);
    MPI_Comm_free(&comms[2]);
    tap_check(good, "windows of communicators that intersect end in %d orders", ORDERS);
}

/* The others are in MPI_Win_free already; their memory is theirs again when it returns. */
static void check_late(int late)
{
    enum { TIMES = 500 };
    long memory[2] = {0}, one = 1;
    MPI_Win win;
    MPI_Win_create(memory, sizeof memory, sizeof(long), MPI_INFO_NULL, MPI_COMM_WORLD, &win);
    if (rank == late) {
        MPI_Win_lock_all(0, win);
        for (int i = 0; i < TIMES; i++) {
            for (int target = 0; target < size; target++)
                MPI_Accumulate(&one, 1, MPI_LONG, target, 1, 1, MPI_LONG, MPI_SUM, win);
            MPI_Win_flush_all(win);
        }
        MPI_Win_unlock_all(win);
    }
    MPI_Win_free(&win);
    tap_check(memory[1] == TIMES && win == MPI_WIN_NULL,
              "a window ends when rank %d has done its work", late);
}

/* -- growth ------------------------------------------------------------------------------------ */

/* What is attached stays so. */
static void make_and_free(int round)
{
    static long memory[512];
    long *allocated = memory, one = 1;
    MPI_Win win;
    if (round % 3 == 0)
        MPI_Win_create(memory, sizeof memory, 8, MPI_INFO_NULL, MPI_COMM_WORLD, &win);
    else if (round % 3 == 1)
        MPI_Win_allocate(sizeof memory, 8, MPI_INFO_NULL, MPI_COMM_WORLD, &allocated, &win);
    else
        MPI_Win_create_dynamic(MPI_INFO_NULL, MPI_COMM_WORLD, &win);
    MPI_Win_lock(MPI_LOCK_EXCLUSIVE, right, 0, win);
    if (round % 3 != 2)
        MPI_Accumulate(&one, 1, MPI_LONG, right, 1, 1, MPI_LONG, MPI_SUM, win);
    else
        MPI_Win_attach(win, memory, sizeof memory);
    MPI_Win_unlock(right, win);
    MPI_Win_free(&win);
}

static void check_growth(void)
{
    long before = 0;
    for (int round = 0; round < ROUNDS; round++) {
        if (round == WARM_ROUNDS)
            before = memory_kib();
        make_and_free(round);
    }
    long growth = memory_kib() - before;
    if (TAP_HAS_SANITIZER)
        tap_skip("memory of windows that have ended", "the sanitizer keeps what is freed");
    else
        tap_check(growth <= GROWTH_KIB, "%d windows that have ended leave %ld KiB",
                  ROUNDS - WARM_ROUNDS, growth);
}

int main(int argc, char **argv)
{
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    tap_rank(rank);
    left = (rank + size - 1) % size;
    right = (rank + 1) % size;
    check_outstanding();
    check_regions();
    check_windows();
    check_orders();
    check_late(0);
    check_late(size - 1);
    check_growth();
    MPI_Finalize();
    return tap_finish();
}
