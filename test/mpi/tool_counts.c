/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What else is counted: collectives by component and by algorithm, accesses of windows, time in
 * waits, memory; and what a written rule of coll/p2p does to the counts. With coll=p2p, so that it
 * is known which component works.
 */
#include <mpi.h>
#include <stdlib.h>
#include <string.h>

#include "tap.h"
#include "tool.h"

static int rank = -1, size;
static MPI_T_pvar_session session;

static MPI_T_pvar_handle open_pvar(const char *name, int class, void *object)
{
    int index = -1, count = 0;
    MPI_T_pvar_handle handle = MPI_T_PVAR_HANDLE_NULL;
    if (MPI_T_pvar_get_index(name, class, &index) != MPI_SUCCESS ||
        MPI_T_pvar_handle_alloc(session, index, object, &handle, &count) != MPI_SUCCESS)
        tap_check(false, "no variable %s", name);
    MPI_T_pvar_start(session, MPI_T_PVAR_ALL_HANDLES);
    return handle;
}

static unsigned long value_of(MPI_T_pvar_handle handle)
{
    unsigned long value = (unsigned long)-1;
    MPI_T_pvar_read(session, handle, &value);
    return value;
}

static double seconds_of(MPI_T_pvar_handle handle)
{
    double value = -1;
    MPI_T_pvar_read(session, handle, &value);
    return value;
}

static void check_collectives(void)
{
    int one = 1, sum = 0;
    MPI_Request request;
    MPI_T_pvar_handle allreduces = open_pvar("coll_p2p_allreduce", MPI_T_PVAR_CLASS_COUNTER, NULL);
    MPI_T_pvar_handle barriers = open_pvar("coll_p2p_barrier", MPI_T_PVAR_CLASS_COUNTER, NULL);
    MPI_T_pvar_handle others = open_pvar("coll_sm_allreduce", MPI_T_PVAR_CLASS_COUNTER, NULL);
    for (int i = 0; i < 3; i++)
        MPI_Allreduce(&one, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
    MPI_Iallreduce(&one, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD, &request);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    MPI_Barrier(MPI_COMM_WORLD);
    tap_check(value_of(allreduces) == 4 && value_of(barriers) == 1 && value_of(others) == 0,
              "collectives are counted: %lu and %lu", value_of(allreduces), value_of(barriers));
    MPI_T_pvar_handle_free(session, &allreduces);
    MPI_T_pvar_handle_free(session, &barriers);
    MPI_T_pvar_handle_free(session, &others);
}

/* A written rule changes which algorithm is used. */
static void check_algorithms(void)
{
    static const char rule[] = "bcast=linear";
    char before[1024];
    int data = rank;
    MPI_T_pvar_handle linear = open_pvar("coll_p2p_bcast_linear", MPI_T_PVAR_CLASS_COUNTER, NULL);
    MPI_T_pvar_handle binomial =
        open_pvar("coll_p2p_bcast_binomial", MPI_T_PVAR_CLASS_COUNTER, NULL);
    MPI_Bcast(&data, 1, MPI_INT, 0, MPI_COMM_WORLD);
    tap_check(value_of(linear) == 0 && value_of(binomial) == 1, "a broadcast is binomial");
    tap_check(tool_cvar_read("coll_p2p_table", before) == MPI_SUCCESS &&
                  tool_cvar_write("coll_p2p_table", rule) == MPI_SUCCESS,
              "a rule is written");
    MPI_Bcast(&data, 1, MPI_INT, 0, MPI_COMM_WORLD);
    tap_check(value_of(linear) == 1 && value_of(binomial) == 1 && data == 0,
              "the next one is linear");
    tool_cvar_write("coll_p2p_table", before);
    MPI_Bcast(&data, 1, MPI_INT, 0, MPI_COMM_WORLD);
    tap_check(value_of(linear) == 1 && value_of(binomial) == 2, "and the one behind it is not");
    MPI_T_pvar_handle_free(session, &linear);
    MPI_T_pvar_handle_free(session, &binomial);
}

static void check_window(void)
{
    long *memory, data[64] = {0}, result[64], old = 0;
    int target = (rank + 1) % size;
    MPI_Win win;
    MPI_Request request;
    MPI_Win_allocate(64 * sizeof(long), sizeof(long), MPI_INFO_NULL, MPI_COMM_WORLD, &memory, &win);
    MPI_T_pvar_handle puts = open_pvar("win_puts", MPI_T_PVAR_CLASS_COUNTER, &win);
    MPI_T_pvar_handle put_bytes = open_pvar("win_puts_bytes", MPI_T_PVAR_CLASS_AGGREGATE, &win);
    MPI_T_pvar_handle gets = open_pvar("win_gets", MPI_T_PVAR_CLASS_COUNTER, &win);
    MPI_T_pvar_handle get_bytes = open_pvar("win_gets_bytes", MPI_T_PVAR_CLASS_AGGREGATE, &win);
    MPI_T_pvar_handle accumulates = open_pvar("win_accumulates", MPI_T_PVAR_CLASS_COUNTER, &win);
    MPI_T_pvar_handle accumulate_bytes =
        open_pvar("win_accumulates_bytes", MPI_T_PVAR_CLASS_AGGREGATE, &win);
    MPI_Win_lock_all(0, win);
    MPI_Put(data, 8, MPI_LONG, target, 0, 8, MPI_LONG, win);
    MPI_Put(data, 1, MPI_LONG, target, 0, 1, MPI_LONG, win);
    MPI_Rput(data, 2, MPI_LONG, target, 0, 2, MPI_LONG, win, &request);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    MPI_Put(data, 1, MPI_LONG, MPI_PROC_NULL, 0, 1, MPI_LONG, win);
    MPI_Get(result, 64, MPI_LONG, target, 0, 64, MPI_LONG, win);
    MPI_Accumulate(data, 2, MPI_LONG, target, 0, 2, MPI_LONG, MPI_SUM, win);
    MPI_Fetch_and_op(data, &old, MPI_LONG, target, 0, MPI_SUM, win);
    MPI_Compare_and_swap(data, data, &old, MPI_LONG, target, 0, win);
    MPI_Win_unlock_all(win);
    tap_check(value_of(puts) == 3 && value_of(put_bytes) == 11 * sizeof(long), "puts are counted");
    tap_check(value_of(gets) == 1 && value_of(get_bytes) == 64 * sizeof(long), "gets are counted");
    tap_check(value_of(accumulates) == 3 && value_of(accumulate_bytes) == 4 * sizeof(long),
              "accumulates are counted");
    MPI_T_pvar_handle_free(session, &puts);
    MPI_T_pvar_handle_free(session, &put_bytes);
    MPI_T_pvar_handle_free(session, &gets);
    MPI_T_pvar_handle_free(session, &get_bytes);
    MPI_T_pvar_handle_free(session, &accumulates);
    MPI_T_pvar_handle_free(session, &accumulate_bytes);
    MPI_Win_free(&win);
}

/* Rank 0 waits for messages that come a while later, until that has taken some time: it may get the
 * core too late to wait for one of them. */
static void check_time(void)
{
    enum { ROUNDS_MAX = 2000 };
    char data = 1;
    unsigned none = 0;
    double begin = MPI_Wtime(), waited = 0, slept = 0;
    MPI_T_pvar_handle waiting = open_pvar("wait_waiting", MPI_T_PVAR_CLASS_TIMER, NULL);
    MPI_T_pvar_handle polling = open_pvar("wait_polling", MPI_T_PVAR_CLASS_TIMER, NULL);
    MPI_T_pvar_handle sleeping = open_pvar("wait_sleeping", MPI_T_PVAR_CLASS_TIMER, NULL);
    MPI_T_pvar_handle sleeps = open_pvar("wait_sleeps", MPI_T_PVAR_CLASS_COUNTER, NULL);
    tap_check(tool_cvar_write("wait_spin_usec", &none) == MPI_SUCCESS &&
                  tool_cvar_write("wait_yields", &none) == MPI_SUCCESS,
              "a wait sleeps at once");
    for (int i = 0; i < ROUNDS_MAX && data != 0; i++) {
        data = waited < 0.01 || slept == 0;
        MPI_Bcast(&data, 1, MPI_BYTE, 0, MPI_COMM_WORLD);
        for (double now = MPI_Wtime(); rank == 1 && MPI_Wtime() - now < 0.002;)
            continue;
        if (rank == 1)
            MPI_Send(&data, 1, MPI_BYTE, 0, 0, MPI_COMM_WORLD);
        else if (rank == 0)
            MPI_Recv(&data, 1, MPI_BYTE, 1, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        waited = seconds_of(waiting);
        slept = seconds_of(sleeping);
    }
    double passed = MPI_Wtime() - begin;
    if (rank == 0)
        tap_check(waited >= 0.01 && waited <= passed, "it waited for %g s of %g", waited, passed);
    if (rank == 0)
        tap_check(slept > 0 && slept <= waited && value_of(sleeps) > 0 &&
                      seconds_of(polling) <= waited,
                  "it slept for %g s in %lu times, and polled for %g s", slept, value_of(sleeps),
                  seconds_of(polling));
    double value = 2.5;
    tap_check(MPI_T_pvar_stop(session, waiting) == MPI_SUCCESS &&
                  MPI_T_pvar_write(session, waiting, &value) == MPI_SUCCESS &&
                  seconds_of(waiting) > 2.49 && seconds_of(waiting) < 2.51,
              "a timer is written");
    value = -1;
    tap_check(MPI_T_pvar_write(session, waiting, &value) == MPI_T_ERR_INVALID,
              "no timer is negative");
    MPI_T_pvar_handle_free(session, &waiting);
    MPI_T_pvar_handle_free(session, &polling);
    MPI_T_pvar_handle_free(session, &sleeping);
    MPI_T_pvar_handle_free(session, &sleeps);
}

static void check_memory(void)
{
    MPI_T_pvar_handle region = open_pvar("node_region_bytes", MPI_T_PVAR_CLASS_SIZE, NULL);
    MPI_T_pvar_handle used = open_pvar("node_heap_used_bytes", MPI_T_PVAR_CLASS_LEVEL, NULL);
    MPI_T_pvar_handle held = open_pvar("node_heap_held_bytes", MPI_T_PVAR_CLASS_LEVEL, NULL);
    unsigned long before = value_of(used);
    void *volatile block = malloc(8 << 20); /* which no compiler leaves out */
    memset(block, 1, 8 << 20);
    if (value_of(region) == 0)
        tap_skip("memory of the region", "there is none");
    else
        tap_check(value_of(used) >= before + (8UL << 20) && value_of(held) >= value_of(used) &&
                      value_of(region) > value_of(held),
                  "a block of 8 MiB is in use: %lu bytes", value_of(used) - before);
    free(block);
    MPI_T_pvar_handle_free(session, &region);
    MPI_T_pvar_handle_free(session, &used);
    MPI_T_pvar_handle_free(session, &held);
}

int main(int argc, char **argv)
{
    int provided;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    tap_rank(rank);
    MPI_T_init_thread(MPI_THREAD_SINGLE, &provided);
    MPI_T_pvar_session_create(&session);
    check_collectives();
    check_algorithms();
    check_window();
    check_time();
    check_memory();
    MPI_Barrier(MPI_COMM_WORLD);
    MPI_T_pvar_session_free(&session);
    MPI_T_finalize();
    MPI_Finalize();
    return tap_finish();
}
