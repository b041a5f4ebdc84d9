/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The short paths, once a round, each in a function of its own, so that callgrind tells how many
 * instructions one call takes: rank 0 runs under it, see hot_path.test.
 *
 *   hot_path FILE ROUNDS [counted]     on 2 ranks; FILE has a page of zeros
 *
 * counted: a tool has started a performance variable of messages, which makes ob1 count all.
 *
 * What a path finds when it begins is the same each time: the ranks take turns by words in the
 * file, outside of MPI, so the message of a receive is there before the receive begins.
 */
#include <fcntl.h>
#include <mpi.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>

enum { WINDOW = 32, BYTES = 8, LONGER = 1024, TAG = 3 };

static atomic_uint *turn; /* turn[rank]: what this rank has done so far */
static int rank;
static char buffer[WINDOW][LONGER];
static MPI_Request requests[WINDOW];

static void done(void)
{
    atomic_fetch_add(&turn[rank], 1);
}

/* The other rank has done as much as this one, and `more`. */
static void await_other(unsigned more)
{
    while (atomic_load(&turn[!rank]) < atomic_load(&turn[rank]) + more)
        sched_yield();
}

/* noipa: gcc would make one of two that are alike. */
#if defined(__clang__)
#define PATH __attribute__((noinline)) static void
#else
#define PATH __attribute__((noipa)) static void
#endif

PATH path_send(void)
{
    MPI_Send(buffer[0], BYTES, MPI_BYTE, 1, TAG, MPI_COMM_WORLD);
}

PATH path_send_1k(void)
{
    MPI_Send(buffer[0], LONGER, MPI_BYTE, 1, TAG, MPI_COMM_WORLD);
}

PATH path_recv(void)
{
    MPI_Recv(buffer[0], BYTES, MPI_BYTE, 1, TAG, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
}

PATH path_recv_unexpected(void)
{
    MPI_Recv(buffer[0], BYTES, MPI_BYTE, 1, TAG, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
}

PATH path_isend_waitall(void)
{
    for (int i = 0; i < WINDOW; i++)
        MPI_Isend(buffer[i], BYTES, MPI_BYTE, 1, TAG, MPI_COMM_WORLD, &requests[i]);
    MPI_Waitall(WINDOW, requests, MPI_STATUSES_IGNORE);
}

PATH path_irecv(void)
{
    for (int i = 0; i < WINDOW; i++)
        MPI_Irecv(buffer[i], BYTES, MPI_BYTE, 1, TAG, MPI_COMM_WORLD, &requests[i]);
}

PATH path_waitall(void)
{
    MPI_Waitall(WINDOW, requests, MPI_STATUSES_IGNORE);
}

PATH path_sendrecv(void)
{
    MPI_Sendrecv(buffer[0], BYTES, MPI_BYTE, 1, TAG, buffer[1], BYTES, MPI_BYTE, 1, TAG,
                 MPI_COMM_WORLD, MPI_STATUS_IGNORE);
}

/* -- the two sides -- */

/* Rank 1 sends `count` messages, which are there when rank 0 goes on. */
static void send_turn(int count)
{
    if (rank == 1) {
        await_other(1);
        for (int i = 0; i < count; i++)
            MPI_Send(buffer[0], BYTES, MPI_BYTE, 0, TAG, MPI_COMM_WORLD);
        done();
    } else {
        done();
        await_other(0);
    }
}

/* Rank 1 receives `count` messages after rank 0 has sent them. */
static void receive_turn(int count)
{
    if (rank == 1) {
        await_other(1);
        for (int i = 0; i < count; i++)
            MPI_Recv(buffer[0], LONGER, MPI_BYTE, 0, TAG, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        done();
    } else {
        done();
        await_other(0);
    }
}

static void run_sends(void (*path)(void), int count)
{
    if (rank == 0)
        path();
    receive_turn(count);
}

static void run_receives(void)
{
    send_turn(1);
    if (rank == 0)
        path_recv();
    send_turn(1);
    if (rank == 0) {
        MPI_Probe(1, TAG, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        path_recv_unexpected();
    }
    send_turn(1);
    if (rank == 0)
        path_sendrecv();
    receive_turn(1);
}

static void run_windows(void)
{
    if (rank == 0)
        path_irecv();
    send_turn(WINDOW);
    if (rank == 0)
        path_waitall();
}

static void round_of_all(void)
{
    run_sends(path_send, 1);
    run_sends(path_send_1k, 1);
    run_sends(path_isend_waitall, WINDOW);
    run_receives();
    run_windows();
}

static atomic_uint *map_turns(const char *name)
{
    int fd = open(name, O_RDWR);
    void *page = fd >= 0 ? mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0) : MAP_FAILED;
    if (page == MAP_FAILED) {
        perror(name);
        exit(1);
    }
    return page;
}

static void start_counting(void)
{
    int provided, count, index;
    MPI_T_pvar_session session;
    MPI_T_pvar_handle handle;
    MPI_T_init_thread(MPI_THREAD_SINGLE, &provided);
    MPI_T_pvar_session_create(&session);
    if (MPI_T_pvar_get_index("pml_ob1_sent_sm", MPI_T_PVAR_CLASS_COUNTER, &index) != MPI_SUCCESS ||
        MPI_T_pvar_handle_alloc(session, index, NULL, &handle, &count) != MPI_SUCCESS ||
        MPI_T_pvar_start(session, handle) != MPI_SUCCESS) {
        fprintf(stderr, "hot_path: nothing can be counted\n");
        exit(1);
    }
}

int main(int argc, char **argv)
{
    if (argc < 3)
        return 2;
    turn = map_turns(argv[1]);
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    if (argc > 3)
        start_counting();
    for (int i = 0; i < atoi(argv[2]); i++)
        round_of_all();
    MPI_Finalize();
    return 0;
}
