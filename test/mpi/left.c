/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Messages to a rank that has left through MPI_Finalize. The last rank leaves; nobody hangs. What
 * waits until it is received fails with MPI_ERR_PROC_ABORTED, or is cancelled if it is asked to be,
 * even after it has failed. What is sent without asking the receiver ends as ever. What the leaver
 * had sent is received; receives from it may be cancelled as ever; the others talk on.
 *
 *   left          the leaver has left before others go on: its MPI_Finalize waits for nobody
 *   left stays    they go on when it is about to
 *   left stays network [RANK]    they do so where the network matches: a long standard send does
 *                                not wait until it is received, and ends as a short one does.
 *                                Ranks from RANK on reach the leaver by pml/ob1
 */
#include <mpi.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "place.h"
#include "tap.h"

enum {
    LONG = 1 << 20,
    MANY = 4000,
    LAST = 20,
    LAST_BYTES = 100,
    TAG_NEVER = 5,
    TAG_GO,
    TAG_LAST,
    TAG_NEXT
};

static int rank, leaver;
static bool long_waits = true; /* for its receive: a standard send */
static char data[LONG], in[LONG];

static void expect_failure(MPI_Request *request, const char *what)
{
    int class = MPI_SUCCESS;
    MPI_Error_class(MPI_Wait(request, MPI_STATUS_IGNORE), &class);
    tap_check(class == MPI_ERR_PROC_ABORTED, "rank %d: %s ends with MPI_ERR_PROC_ABORTED", rank,
              what);
}

static void expect_cancelled(MPI_Request *request, const char *what)
{
    MPI_Status status;
    int flag = 0, error = MPI_Wait(request, &status);
    MPI_Test_cancelled(&status, &flag);
    tap_check(error == MPI_SUCCESS && flag, "rank %d: %s is cancelled", rank, what);
}

/* A long standard send. */
static void expect_long(MPI_Request *request, const char *what)
{
    if (long_waits)
        expect_failure(request, what);
    else
        tap_check(MPI_Wait(request, MPI_STATUS_IGNORE) == MPI_SUCCESS, "rank %d: %s ends", rank,
                  what);
}

/* -- the leaver -------------------------------------------------------------------------------- */

/* Others are told by a signal, since it is not in MPI any more. */
static void leave(bool stays)
{
    int pids[2];
    bool good = true;
    for (int other = 0; other < leaver; other++)
        good &= MPI_Recv(&pids[other], 1, MPI_INT, other, TAG_GO, MPI_COMM_WORLD,
                         MPI_STATUS_IGNORE) == MPI_SUCCESS;
    for (int i = 0; i < LAST; i++)
        good &= MPI_Send(memset(data, i, LAST_BYTES), LAST_BYTES, MPI_CHAR, 0, TAG_LAST,
                         MPI_COMM_WORLD) == MPI_SUCCESS;
    if (!stays)
        good &= MPI_Finalize() == MPI_SUCCESS;
    for (int other = 0; other < leaver; other++)
        kill(pids[other], SIGUSR1);
    if (stays)
        good &= MPI_Finalize() == MPI_SUCCESS;
    tap_check(good, "the leaver's calls succeed");
}

/* -- the others -------------------------------------------------------------------------------- */

static sigset_t news;

static void await_departure(void)
{
    int signal;
    sigwait(&news, &signal);
}

static void let_go(void)
{
    int pid = (int)getpid();
    MPI_Send(&pid, 1, MPI_INT, leaver, TAG_GO, MPI_COMM_WORLD);
}

static void begin(int bytes, bool synchronous, MPI_Request *request)
{
    if (synchronous)
        MPI_Issend(data, bytes, MPI_CHAR, leaver, TAG_NEVER, MPI_COMM_WORLD, request);
    else
        MPI_Isend(data, bytes, MPI_CHAR, leaver, TAG_NEVER, MPI_COMM_WORLD, request);
}

/* More than there is room for until somebody takes them. */
static void send_many(MPI_Request *requests)
{
    for (int i = 0; i < MANY; i++)
        MPI_Isend(data, 100, MPI_CHAR, leaver, TAG_NEVER, MPI_COMM_WORLD, &requests[i]);
}

/* It waits there for a receive when the leaver leaves. */
static void check_sent_before(void)
{
    static MPI_Request many[MANY];
    MPI_Request requests[5];
    begin(LONG, false, &requests[0]);
    begin(1, true, &requests[1]);
    begin(LONG, true, &requests[2]);
    begin(LONG, false, &requests[3]);
    begin(1, true, &requests[4]);
    let_go();
    send_many(many);
    MPI_Cancel(&requests[3]);
    MPI_Cancel(&requests[4]);
    await_departure();
    expect_long(&requests[0], "a long send");
    expect_failure(&requests[1], "a synchronous one");
    expect_failure(&requests[2], "one that is both");
    if (long_waits)
        expect_cancelled(&requests[3], "a long send that was asked to be");
    else
        expect_long(&requests[3], "a long send that was to be cancelled");
    expect_cancelled(&requests[4], "a synchronous one");
    tap_check(MPI_Waitall(MANY, many, MPI_STATUSES_IGNORE) == MPI_SUCCESS, "short ones end");
}

static void await_failure(MPI_Request request)
{
    int done = 0, error = MPI_SUCCESS;
    while (!done && error == MPI_SUCCESS)
        error = MPI_Request_get_status(request, &done, MPI_STATUS_IGNORE);
    tap_check(error == MPI_SUCCESS, "looking at one that fails succeeds");
}

static void check_sent_after(void)
{
    MPI_Request request;
    begin(LONG, false, &request);
    expect_long(&request, "a later long send");
    begin(1, true, &request);
    expect_failure(&request, "a later synchronous one");
    begin(1, true, &request);
    MPI_Cancel(&request);
    expect_cancelled(&request, "a later one");
    begin(LONG, true, &request);
    await_failure(request);
    MPI_Cancel(&request);
    expect_cancelled(&request, "one that had failed");
    MPI_Ssend_init(data, LONG, MPI_CHAR, leaver, TAG_NEVER, MPI_COMM_WORLD, &request);
    MPI_Start(&request);
    expect_failure(&request, "a persistent one");
    MPI_Start(&request);
    MPI_Cancel(&request);
    expect_cancelled(&request, "a persistent one, in its second round,");
    MPI_Request_free(&request);
}

static void expect_class(int error, const char *what)
{
    int class = MPI_SUCCESS;
    MPI_Error_class(error, &class);
    tap_check(class == MPI_ERR_PROC_ABORTED, "rank %d: %s ends with MPI_ERR_PROC_ABORTED", rank,
              what);
}

/* A receive that is still posted is older than the one here and takes the first message. There is
 * one message more than there may be such receives. */
static void check_no_receive_is_left(int receives)
{
    int number = -1, error = MPI_SUCCESS;
    for (int i = 0; i <= receives && error == MPI_SUCCESS; i++)
        error = MPI_Send(&i, 1, MPI_INT, rank, TAG_NEVER, MPI_COMM_WORLD);
    if (error == MPI_SUCCESS)
        error = MPI_Recv(&number, 1, MPI_INT, rank, TAG_NEVER, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    tap_check(error == MPI_SUCCESS && number == 0, "rank %d: and their receives are gone", rank);
    while (error == MPI_SUCCESS && number < receives)
        error = MPI_Recv(&number, 1, MPI_INT, rank, TAG_NEVER, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
}

/* Nobody will ever send what they receive: with the send, the receive is over. */
static void check_both_ways(void)
{
    MPI_Request request;
    expect_class(MPI_Sendrecv(data, LONG, MPI_CHAR, leaver, TAG_NEVER, in, LONG, MPI_CHAR, rank,
                              TAG_NEVER, MPI_COMM_WORLD, MPI_STATUS_IGNORE),
                 "MPI_Sendrecv");
    expect_class(MPI_Sendrecv_replace(data, LONG, MPI_CHAR, leaver, TAG_NEVER, rank, TAG_NEVER,
                                      MPI_COMM_WORLD, MPI_STATUS_IGNORE),
                 "MPI_Sendrecv_replace");
    MPI_Isendrecv(data, LONG, MPI_CHAR, leaver, TAG_NEVER, in, LONG, MPI_CHAR, rank, TAG_NEVER,
                  MPI_COMM_WORLD, &request);
    expect_failure(&request, "MPI_Isendrecv");
    MPI_Isendrecv_replace(data, LONG, MPI_CHAR, leaver, TAG_NEVER, rank, TAG_NEVER, MPI_COMM_WORLD,
                          &request);
    expect_failure(&request, "MPI_Isendrecv_replace");
    check_no_receive_is_left(4);
}

static void check_short_ones(void)
{
    bool good = true;
    for (int i = 0; i < MANY; i++)
        good &= MPI_Send(data, 100, MPI_CHAR, leaver, TAG_NEVER, MPI_COMM_WORLD) == MPI_SUCCESS;
    tap_check(good, "short ones end as ever, however many");
}

static void check_last_messages(void)
{
    bool good = true;
    for (int i = 0; i < LAST; i++) {
        good &= MPI_Recv(in, LAST_BYTES, MPI_CHAR, leaver, TAG_LAST, MPI_COMM_WORLD,
                         MPI_STATUS_IGNORE) == MPI_SUCCESS;
        good &= in[0] == i && in[LAST_BYTES - 1] == i;
    }
    tap_check(good, "what it has sent is received");
}

/* A program may do this. */
static void check_receive(MPI_Request *request)
{
    int done = -1;
    tap_check(MPI_Test(request, &done, MPI_STATUS_IGNORE) == MPI_SUCCESS && !done,
              "a receive from it is still there");
    MPI_Cancel(request);
    expect_cancelled(request, "a receive");
}

static void talk_on(void)
{
    memset(data, 'a' + rank, LONG);
    int error = MPI_Sendrecv(data, LONG, MPI_CHAR, 1 - rank, TAG_NEXT, in, LONG, MPI_CHAR, 1 - rank,
                             TAG_NEXT, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    tap_check(error == MPI_SUCCESS && in[0] == 'b' - rank && memcmp(in, in + 1, LONG - 1) == 0,
              "the others talk on");
}

/* Rank 1 sends nothing there before. */
static void outlive(void)
{
    MPI_Request receive, request;
    MPI_Irecv(in, 1, MPI_CHAR, leaver, TAG_NEVER, MPI_COMM_WORLD, &receive);
    if (rank == 0) {
        check_sent_before();
        check_sent_after();
        if (long_waits) /* else its receives would wait for ever */
            check_both_ways();
        check_receive(&receive);
        check_short_ones();
        check_last_messages();
    } else {
        let_go();
        await_departure();
        begin(LONG, false, &request);
        expect_long(&request, "a long send");
        MPI_Cancel(&receive);
        expect_cancelled(&receive, "a receive");
    }
    talk_on();
}

int main(int argc, char **argv)
{
    int size;
    sigemptyset(&news);
    sigaddset(&news, SIGUSR1);
    sigprocmask(SIG_BLOCK, &news, NULL);
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    tap_rank(rank);
    if (!place_has_common_pids()) {
        tap_skip("a rank that has left", "it could send no signal");
        MPI_Finalize();
        return tap_finish();
    }
    leaver = size - 1;
    long_waits = argc < 3 || strcmp(argv[2], "network") != 0 || (argc > 3 && rank >= atoi(argv[3]));
    if (rank == leaver) {
        leave(argc > 1 && strcmp(argv[1], "stays") == 0);
    } else {
        outlive();
        MPI_Finalize();
    }
    return tap_finish();
}
