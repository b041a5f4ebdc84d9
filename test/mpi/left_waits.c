/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A process calls MPI_Finalize while others still want messages of it, which is an error of the
 * program: they get one, too, and do not wait for ever. What a correct program may do with such a
 * process works: a receive is tested and cancelled.
 *
 * The last rank of the job leaves so, and two jobs of spawned processes, which do not disconnect.
 */
#include <mpi.h>
#include <stdlib.h>
#include <string.h>

#include "tap.h"

enum { BIG = 1 << 20 };

static int rank, size;

static bool is_aborted(int code)
{
    int class = -1;
    return MPI_Error_class(code, &class) == MPI_SUCCESS && class == MPI_ERR_PROC_ABORTED;
}

enum { CANCELLED, AWAITED, BESIDE, ANY, REPEATED, FREED, POSTED_COUNT };
enum { LAST = 7, NEVER = 5 }; /* tags */

static int values[POSTED_COUNT];

static void post_receives(MPI_Comm comm, int gone, MPI_Request posted[POSTED_COUNT])
{
    for (int i = 0; i < POSTED_COUNT; i++) {
        int tag = i == BESIDE ? LAST : NEVER;
        if (i == REPEATED)
            MPI_Recv_init(&values[i], 1, MPI_INT, gone, tag, comm, &posted[i]);
        else
            MPI_Irecv(&values[i], 1, MPI_INT, gone, tag, comm, &posted[i]);
    }
    MPI_Start(&posted[REPEATED]);
    MPI_Request_free(&posted[FREED]);
}

/* What a process does last. It leaves when the receiver waits: the send ends in that wait. */
static void leave(MPI_Comm comm, int waiting)
{
    MPI_Ssend(&(int){LAST}, 1, MPI_INT, waiting, LAST, comm);
}

static void expect_waits_fail(MPI_Request posted[POSTED_COUNT], const char *which)
{
    MPI_Request pair[] = {posted[AWAITED], posted[BESIDE]};
    MPI_Status statuses[2], status;
    int is_done = 1, is_cancelled = 0, index = -1;
    tap_check(MPI_Waitall(2, pair, statuses) == MPI_ERR_IN_STATUS &&
                  is_aborted(statuses[0].MPI_ERROR) && statuses[1].MPI_ERROR == MPI_SUCCESS &&
                  values[BESIDE] == LAST,
              "%s: a wait fails that has begun before it leaves", which);
    tap_check(MPI_Test(&posted[CANCELLED], &is_done, &status) == MPI_SUCCESS && !is_done,
              "%s: a test does not fail", which);
    MPI_Cancel(&posted[CANCELLED]);
    tap_check(MPI_Wait(&posted[CANCELLED], &status) == MPI_SUCCESS &&
                  MPI_Test_cancelled(&status, &is_cancelled) == MPI_SUCCESS && is_cancelled,
              "%s: a receive from before is cancelled", which);
    tap_check(is_aborted(MPI_Waitany(1, &posted[ANY], &index, &status)) && index == 0 &&
                  posted[ANY] == MPI_REQUEST_NULL,
              "%s: a wait for any of one fails", which);
    for (int round = 0; round < 2; round++) {
        tap_check(is_aborted(MPI_Wait(&posted[REPEATED], &status)),
                  "%s: round %d of a persistent receive fails", which, round);
        MPI_Start(&posted[REPEATED]);
    }
    MPI_Cancel(&posted[REPEATED]);
    tap_check(MPI_Wait(&posted[REPEATED], &status) == MPI_SUCCESS, "%s: one is cancelled", which);
    MPI_Request_free(&posted[REPEATED]);
}

static void expect_errors(MPI_Comm comm, int gone, MPI_Request posted[POSTED_COUNT],
                          const char *which)
{
    int value = 0;
    char *big = calloc(1, BIG);
    MPI_Request late;
    expect_waits_fail(posted, which);
    tap_check(is_aborted(MPI_Recv(&value, 1, MPI_INT, gone, NEVER, comm, MPI_STATUS_IGNORE)),
              "%s: a receive fails", which);
    tap_check(is_aborted(MPI_Probe(gone, NEVER, comm, MPI_STATUS_IGNORE)), "%s: a probe", which);
    tap_check(is_aborted(MPI_Ssend(&value, 1, MPI_INT, gone, NEVER, comm)), "%s: a send", which);
    tap_check(is_aborted(MPI_Send(big, BIG, MPI_BYTE, gone, NEVER, comm)), "%s: a large one",
              which);
    MPI_Irecv(&value, 1, MPI_INT, gone, NEVER, comm, &late);
    tap_check(is_aborted(MPI_Wait(&late, MPI_STATUS_IGNORE)), "%s: a wait for a late one", which);
    MPI_Irecv(&value, 1, MPI_INT, gone, NEVER, comm, &late);
    MPI_Request_free(&late);
    tap_check(is_aborted(MPI_Sendrecv(&value, 1, MPI_INT, MPI_PROC_NULL, 0, &value, 1, MPI_INT,
                                      gone, NEVER, comm, MPI_STATUS_IGNORE)),
              "%s: one of a pair", which);
    MPI_Isendrecv(&value, 1, MPI_INT, MPI_PROC_NULL, 0, &value, 1, MPI_INT, gone, NEVER, comm,
                  &late);
    tap_check(is_aborted(MPI_Wait(&late, MPI_STATUS_IGNORE)), "%s: a pair of one request", which);
    free(big);
}

/* One receive is in vain, and one gets its message: a wait for any has something to wait for. */
static void expect_other(MPI_Comm inter)
{
    int value[3] = {0}, index = -1, go = 0;
    MPI_Request pair[2], any;
    MPI_Irecv(&value[0], 1, MPI_INT, 1, NEVER, inter, &pair[0]);
    MPI_Irecv(&value[1], 1, MPI_INT, 0, LAST, inter, &pair[1]);
    MPI_Irecv(&value[2], 1, MPI_INT, MPI_ANY_SOURCE, NEVER, inter, &any);
    MPI_Send(&go, 1, MPI_INT, 0, 0, inter);
    tap_check(MPI_Waitany(2, pair, &index, MPI_STATUS_IGNORE) == MPI_SUCCESS && index == 1 &&
                  value[1] == LAST,
              "a child: the other one is waited for");
    tap_check(is_aborted(MPI_Waitany(2, pair, &index, MPI_STATUS_IGNORE)) && index == 0,
              "a child: the last one of both fails");
    tap_check(is_aborted(MPI_Wait(&any, MPI_STATUS_IGNORE)),
              "a child: a wait for a message from any fails when all have left");
}

static void test_job(char *self)
{
    char *argv[] = {"child", NULL};
    int value = 0;
    MPI_Comm inter, merged;
    MPI_Request posted[POSTED_COUNT];
    MPI_Comm_spawn(self, argv, 2, MPI_INFO_NULL, 0, MPI_COMM_SELF, &inter, MPI_ERRCODES_IGNORE);
    MPI_Intercomm_merge(inter, 0, &merged);
    post_receives(inter, 1, posted);
    MPI_Barrier(merged);
    expect_errors(inter, 1, posted, "a child");
    expect_other(inter);
    tap_check(is_aborted(MPI_Recv(&value, 1, MPI_INT, MPI_ANY_SOURCE, 6, inter, MPI_STATUS_IGNORE)),
              "a child: a receive from any");
    tap_check(is_aborted(MPI_Barrier(inter)), "a child: a collective");
    tap_check(MPI_Comm_disconnect(&merged) == MPI_SUCCESS &&
                  MPI_Comm_disconnect(&inter) == MPI_SUCCESS,
              "a child: what it has left is disconnected");
}

static void be_child(MPI_Comm parent)
{
    int value;
    MPI_Comm merged;
    MPI_Intercomm_merge(parent, 1, &merged);
    MPI_Barrier(merged);
    if (rank == 1) {
        leave(parent, 0);
    } else {
        MPI_Recv(&value, 1, MPI_INT, 0, 0, parent, MPI_STATUS_IGNORE);
        MPI_Send(&(int){LAST}, 1, MPI_INT, 0, LAST, parent);
    }
    MPI_Finalize();
}

int main(int argc, char **argv)
{
    MPI_Comm parent;
    MPI_Request posted[POSTED_COUNT];
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    MPI_Comm_get_parent(&parent);
    if (parent != MPI_COMM_NULL) {
        be_child(parent);
        return 0;
    }
    tap_rank(rank);
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_RETURN);
    if (rank == 0) {
        test_job(argv[0]);
        test_job(argv[0]);
        post_receives(MPI_COMM_WORLD, size - 1, posted);
    }
    MPI_Barrier(MPI_COMM_WORLD);
    if (rank == size - 1)
        leave(MPI_COMM_WORLD, 0);
    if (rank == 0)
        expect_errors(MPI_COMM_WORLD, size - 1, posted, "a rank");
    MPI_Finalize();
    return tap_finish();
}
