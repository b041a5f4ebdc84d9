/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Partitioned messages with a rank that has left through MPI_Finalize or, with the argument "dead",
 * only seems to have died: rank 0 is told so as a transport would tell it. They end with
 * MPI_ERR_PROC_ABORTED, whether the other side had met them or not.
 */
#include <mpi.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "declare_dead.h"
#include "place.h"
#include "tap.h"

enum { PARTITIONS = 4, EACH = 1 << 18, TAG_MET = 1, TAG_NEVER, TAG_PID };

static int rank;
static bool dies;
static sigset_t news;

static MPI_Request init(bool sends, char *data, int bytes, int tag)
{
    MPI_Request request = MPI_REQUEST_NULL;
    if (sends)
        MPI_Psend_init(data, PARTITIONS, bytes, MPI_CHAR, 1 - rank, tag, MPI_COMM_WORLD,
                       MPI_INFO_NULL, &request);
    else
        MPI_Precv_init(data, PARTITIONS, bytes, MPI_CHAR, 1 - rank, tag, MPI_COMM_WORLD,
                       MPI_INFO_NULL, &request);
    return request;
}

/* Both ways, so that the sides know each other. */
static void make_round(MPI_Request send, MPI_Request receive)
{
    MPI_Request both[] = {send, receive};
    MPI_Startall(2, both);
    MPI_Pready_range(0, PARTITIONS - 1, send);
    MPI_Waitall(2, both, MPI_STATUSES_IGNORE);
}

static void await_end(void)
{
    int number;
    sigwait(&news, &number);
}

static void expect_failure(MPI_Request *request, const char *what)
{
    int class = MPI_SUCCESS;
    MPI_Error_class(MPI_Wait(request, MPI_STATUS_IGNORE), &class);
    tap_check(class == MPI_ERR_PROC_ABORTED, "%s ends with MPI_ERR_PROC_ABORTED", what);
}

static void fail_send(MPI_Request *send, const char *what)
{
    MPI_Start(send);
    MPI_Pready_range(0, PARTITIONS - 1, *send);
    expect_failure(send, what);
}

static void outlive(char *out, char *in)
{
    int pid = (int)getpid(), other;
    MPI_Request send = init(true, out, EACH, TAG_MET), receive = init(false, in, EACH, TAG_MET);
    MPI_Request never[2] = {init(true, out, EACH, TAG_NEVER), init(false, in, EACH, TAG_NEVER)};
    make_round(send, receive);
    MPI_Start(&send);
    MPI_Pready_range(0, PARTITIONS - 1, send);
    MPI_Start(&never[0]);
    MPI_Pready_range(0, PARTITIONS - 1, never[0]);
    if (dies) /* receives from a rank that has left may stay */
        MPI_Startall(2, (MPI_Request[]){receive, never[1]});
    MPI_Sendrecv(&pid, 1, MPI_INT, 1, TAG_PID, &other, 1, MPI_INT, 1, TAG_PID, MPI_COMM_WORLD,
                 MPI_STATUS_IGNORE);
    if (dies)
        declare_dead(1);
    else
        await_end();
    expect_failure(&send, "a send that was ready");
    expect_failure(&never[0], "one that was not received");
    fail_send(&send, "a later round");
    fail_send(&never[0], "a later round of the other one");
    if (dies) {
        expect_failure(&receive, "a receive");
        expect_failure(&never[1], "one that nobody had sent to");
        MPI_Startall(2, (MPI_Request[]){receive, never[1]});
        expect_failure(&receive, "a later receive");
        expect_failure(&never[1], "a later one that nobody had sent to");
        kill((pid_t)other, SIGUSR1);
    }
    MPI_Request_free(&send);
    MPI_Request_free(&receive);
    MPI_Request_free(&never[0]);
    MPI_Request_free(&never[1]);
}

static void end(char *out, char *in)
{
    int pid = (int)getpid(), other;
    MPI_Request send = init(true, out, EACH, TAG_MET), receive = init(false, in, EACH, TAG_MET);
    make_round(send, receive);
    MPI_Request_free(&send);
    MPI_Request_free(&receive);
    MPI_Sendrecv(&pid, 1, MPI_INT, 0, TAG_PID, &other, 1, MPI_INT, 0, TAG_PID, MPI_COMM_WORLD,
                 MPI_STATUS_IGNORE);
    if (dies)
        await_end();
    MPI_Finalize();
    if (!dies)
        kill((pid_t)other, SIGUSR1);
}

int main(int argc, char **argv)
{
    sigemptyset(&news);
    sigaddset(&news, SIGUSR1);
    sigprocmask(SIG_BLOCK, &news, NULL);
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    tap_rank(rank);
    dies = argc > 1 && strcmp(argv[1], "dead") == 0;
    if (!place_has_common_pids() || place_size() < 2) {
        tap_skip("a rank that ends", "it is on another node");
        MPI_Finalize();
        return tap_finish();
    }
    char *out = calloc(PARTITIONS, EACH), *in = calloc(PARTITIONS, EACH);
    if (rank == 0) {
        outlive(out, in);
        MPI_Finalize();
    } else {
        end(out, in);
    }
    free(out);
    free(in);
    return tap_finish();
}
