/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Messages where one of two ranks has no memory: each n-th of its allocations fails, for many n.
 * Every call and request ends, well or with MPI_ERR_NO_MEM, on both sides; what is said to be
 * well is right; afterwards the two talk as ever.
 */
#define _GNU_SOURCE
#include <mpi.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "scarce.h"
#include "tap.h"

static int failing; /* 0: none fails; n: each n-th one */
static int asked, hits;

static bool is_to_fail(void)
{
    if (failing == 0 || ++asked % failing != 0)
        return false;
    hits++;
    return true;
}

enum {
    KINDS = 8,
    ROUNDS = 3,
    COUNT = KINDS * ROUNDS,
    MOST = 300000,
    MOST_N = 40,
    LAST = COUNT * (MOST_N + 1),
    DONE,
    UNMATCHED
};

static int rank, base; /* the first tag: new ones, so that nothing is there for them */
static bool wrong;
static char *buffers[COUNT];
static MPI_Request requests[COUNT];

static void expect(int error)
{
    wrong |= error != MPI_SUCCESS && error != MPI_ERR_NO_MEM;
}

static int length_of(int i)
{
    static const int lengths[KINDS] = {8, 2000, 0, 8, 2000, 20000, 60000, MOST};
    return lengths[i % KINDS];
}

/* Those in the middle are synchronous; a tag for each in each round. */
static void start_sends(void)
{
    for (int i = 0; i < COUNT; i++) {
        memset(buffers[i], i + 1, (size_t)length_of(i));
        requests[i] = MPI_REQUEST_NULL;
        bool synchronous = i % KINDS == 3 || i % KINDS == 4;
        expect((synchronous ? MPI_Issend : MPI_Isend)(buffers[i], length_of(i), MPI_CHAR, 0,
                                                      base + i, MPI_COMM_WORLD, &requests[i]));
    }
}

static void end_all(void)
{
    for (int i = 0; i < COUNT; i++) {
        MPI_Status status;
        int error = MPI_Wait(&requests[i], &status), cancelled = 0, got = 0;
        expect(error);
        if (rank == 1 || error != MPI_SUCCESS)
            continue;
        MPI_Test_cancelled(&status, &cancelled);
        MPI_Get_count(&status, MPI_CHAR, &got);
        for (int j = 0; j < got && !cancelled; j++)
            wrong |= buffers[i][j] != i + 1;
    }
}

static void send_side(int n)
{
    MPI_Request nobodys = MPI_REQUEST_NULL;
    int one = 1, cancelled = 1;
    failing = n;
    start_sends();
    expect(MPI_Issend(&one, 1, MPI_INT, 0, UNMATCHED, MPI_COMM_WORLD, &nobodys));
    bool is_asked = false;
    if (nobodys != MPI_REQUEST_NULL) {
        int error = MPI_Cancel(&nobodys);
        expect(error);
        is_asked = error == MPI_SUCCESS;
        if (!is_asked)
            expect(MPI_Cancel(&nobodys)); /* the next allocation is there */
    }
    failing = 0;
    MPI_Send(&one, 1, MPI_INT, 0, LAST, MPI_COMM_WORLD);
    MPI_Status status;
    int error = MPI_Wait(&nobodys, &status);
    expect(error);
    if (error == MPI_SUCCESS && is_asked)
        MPI_Test_cancelled(&status, &cancelled);
    wrong |= !cancelled;
    end_all();
    MPI_Send(&one, 1, MPI_INT, 0, DONE, MPI_COMM_WORLD);
}

static void post_receives(void)
{
    for (int i = 0; i < COUNT; i++) {
        requests[i] = MPI_REQUEST_NULL;
        expect(MPI_Irecv(buffers[i], MOST, MPI_CHAR, i % 2 ? MPI_ANY_SOURCE : 1, base + i,
                         MPI_COMM_WORLD, &requests[i]));
    }
}

static void receive_last(void)
{
    int one, found = 0;
    while (!found)
        expect(MPI_Iprobe(1, LAST, MPI_COMM_WORLD, &found, MPI_STATUS_IGNORE));
    expect(MPI_Recv(&one, 1, MPI_INT, 1, LAST, MPI_COMM_WORLD, MPI_STATUS_IGNORE));
}

/* What no receive was posted for, for lack of memory: the sender may wait for it. */
static void drain(void)
{
    static char scratch[MOST];
    MPI_Status status;
    MPI_Message message;
    do {
        expect(MPI_Mprobe(1, MPI_ANY_TAG, MPI_COMM_WORLD, &message, &status));
        expect(MPI_Mrecv(scratch, MOST, MPI_CHAR, &message, MPI_STATUS_IGNORE));
    } while (status.MPI_TAG != DONE);
    for (int i = 0; i < COUNT; i++) {
        int done = 0;
        expect(MPI_Request_get_status(requests[i], &done, MPI_STATUS_IGNORE));
        if (!done) /* what it waits for was not sent */
            MPI_Cancel(&requests[i]);
    }
}

static void receive_side(int n, bool posts_first)
{
    failing = n;
    if (posts_first)
        post_receives();
    receive_last();
    if (!posts_first)
        post_receives();
    failing = 0;
    drain();
    end_all();
}

static void talk(void)
{
    for (int i = 0; i < COUNT; i++) {
        if (rank == 1) {
            memset(buffers[0], i, (size_t)length_of(i));
            MPI_Send(buffers[0], length_of(i), MPI_CHAR, 0, i, MPI_COMM_WORLD);
            continue;
        }
        MPI_Recv(buffers[0], MOST, MPI_CHAR, 1, i, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        for (int j = 0; j < length_of(i); j++)
            wrong |= buffers[0][j] != i;
    }
}

static void check(int poor, bool posts_first)
{
    hits = 0;
    for (int n = 1; n <= MOST_N; n++) {
        base = COUNT * n;
        MPI_Barrier(MPI_COMM_WORLD);
        if (rank == 0)
            receive_side(poor == 0 ? n : 0, posts_first);
        else
            send_side(poor == 1 ? n : 0);
        MPI_Barrier(MPI_COMM_WORLD); /* before, memory may still be short on rank 0 */
        talk();
    }
    int total;
    MPI_Allreduce(&hits, &total, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
    int mine = wrong, any_wrong;
    MPI_Allreduce(&mine, &any_wrong, 1, MPI_INT, MPI_MAX, MPI_COMM_WORLD);
    tap_check(!any_wrong && (total > 0 || poor == 1),
              "rank %d without memory, receives posted %s: %d failed allocations", poor,
              posts_first ? "first" : "last", total);
}

int main(int argc, char **argv)
{
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    tap_rank(rank);
    if (!SCARCE_WORKS)
        tap_skip("messages without memory", "malloc is the sanitizer's");
    for (int i = 0; i < COUNT; i++)
        buffers[i] = malloc(MOST);
    for (int poor = 0; SCARCE_WORKS && poor < 2; poor++) {
        check(poor, true);
        check(poor, false);
    }
    for (int i = 0; i < COUNT; i++)
        free(buffers[i]);
    MPI_Finalize();
    return tap_finish();
}
