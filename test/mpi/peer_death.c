/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What becomes of messages when a rank has died. The last rank, or the one that the argument says,
 * only seems to: rank 0 is told so as a transport of pml/ob1 would tell it, since mpirun ends a job
 * of which a rank has really died. That a death is noticed is tested with the transport. The victim
 * sends a signal, so it has to see the processes of the others.
 */
#include <mpi.h>
#include <signal.h>
#include <stdlib.h>
#include <unistd.h>

#include "place.h"
#include "declare_dead.h"
#include "tap.h"

enum { BIG = 1 << 20, ANSWERS = 40, TAG_NEVER = 77, TAG_EARLY, TAG_END, TAG_ANSWERED, TAG_LATE };

static char big[BIG], small[8];
static int victim;

static void expect_failure(int error, const char *what)
{
    int class = MPI_SUCCESS;
    MPI_Error_class(error, &class);
    tap_check(class == MPI_ERR_PROC_ABORTED, "%s ends with MPI_ERR_PROC_ABORTED", what);
}

/* -- answers that come behind the news of the death ------------------------------------------- */

static sigset_t news;

/* The victim has answered all of them, of which we have seen nothing. */
static void send_answered(MPI_Request *requests)
{
    int signal, pid = (int)getpid();
    MPI_Send(&pid, 1, MPI_INT, victim, TAG_ANSWERED, MPI_COMM_WORLD);
    for (int i = 0; i < ANSWERS; i++)
        MPI_Issend(small, 1, MPI_CHAR, victim, TAG_ANSWERED, MPI_COMM_WORLD, &requests[i]);
    sigwait(&news, &signal);
}

static void answer(void)
{
    int pid;
    MPI_Recv(&pid, 1, MPI_INT, 0, TAG_ANSWERED, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    for (int i = 0; i < ANSWERS; i++)
        MPI_Recv(small, 1, MPI_CHAR, 0, TAG_ANSWERED, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    kill(pid, SIGUSR1);
}

/* The answers are for requests that are gone: those that are there now take nothing from them. */
static void check_late_answers(MPI_Request *requests)
{
    int early = 0;
    for (int i = 0; i < ANSWERS; i++)
        MPI_Wait(&requests[i], MPI_STATUS_IGNORE);
    for (int i = 0; i < ANSWERS; i++)
        MPI_Issend(small, 1, MPI_CHAR, 1, TAG_LATE, MPI_COMM_WORLD, &requests[i]);
    for (int i = 0; i < 100 * ANSWERS; i++) {
        int done = 0;
        MPI_Request_get_status(requests[i % ANSWERS], &done, MPI_STATUS_IGNORE);
        early += done;
    }
    tap_check(early == 0, "no answer of the dead ends another send");
    MPI_Send(small, 1, MPI_CHAR, 1, TAG_ANSWERED, MPI_COMM_WORLD);
    tap_check(MPI_Waitall(ANSWERS, requests, MPI_STATUSES_IGNORE) == MPI_SUCCESS,
              "which ends by its own");
}

static void receive_late(void)
{
    MPI_Recv(small, 1, MPI_CHAR, 0, TAG_ANSWERED, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    for (int i = 0; i < ANSWERS; i++)
        MPI_Recv(small, 1, MPI_CHAR, 0, TAG_LATE, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
}

/* Behind the news. */
static void check_later(MPI_Request *persistent)
{
    MPI_Message message;
    MPI_Status status;
    int flag;
    expect_failure(MPI_Send(small, 1, MPI_CHAR, victim, 3, MPI_COMM_WORLD), "a later send");
    expect_failure(MPI_Recv(small, 1, MPI_CHAR, victim, TAG_NEVER, MPI_COMM_WORLD, &status),
                   "a later receive");
    expect_failure(MPI_Recv(small, 1, MPI_CHAR, MPI_ANY_SOURCE, TAG_NEVER, MPI_COMM_WORLD, &status),
                   "one from any source");
    MPI_Start(persistent);
    expect_failure(MPI_Wait(persistent, &status), "a persistent receive");
    for (int i = 0; i < 2; i++) {
        int source = i == 0 ? victim : MPI_ANY_SOURCE;
        const char *whom = i == 0 ? "the dead" : "anybody";
        expect_failure(MPI_Probe(source, TAG_NEVER, MPI_COMM_WORLD, &status), "a later probe");
        expect_failure(MPI_Mprobe(source, TAG_NEVER, MPI_COMM_WORLD, &message, &status), whom);
        expect_failure(MPI_Iprobe(source, TAG_NEVER, MPI_COMM_WORLD, &flag, &status), whom);
        expect_failure(MPI_Improbe(source, TAG_NEVER, MPI_COMM_WORLD, &flag, &message, &status),
                       whom);
    }
    flag = 1;
    tap_check(MPI_Iprobe(1, TAG_NEVER, MPI_COMM_WORLD, &flag, &status) == MPI_SUCCESS && !flag,
              "the living may still send");
}

static void outlive(void)
{
    MPI_Request answered[ANSWERS];
    MPI_Request requests[6];
    MPI_Status status;
    MPI_Probe(victim, TAG_EARLY, MPI_COMM_WORLD, &status);
    MPI_Irecv(small, 1, MPI_CHAR, victim, TAG_NEVER, MPI_COMM_WORLD, &requests[0]);
    MPI_Irecv(small, 1, MPI_CHAR, MPI_ANY_SOURCE, TAG_NEVER, MPI_COMM_WORLD, &requests[1]);
    MPI_Isend(big, BIG, MPI_CHAR, victim, TAG_NEVER, MPI_COMM_WORLD, &requests[2]);
    MPI_Issend(big, 1, MPI_CHAR, victim, TAG_NEVER, MPI_COMM_WORLD, &requests[3]);
    MPI_Irecv(small + 1, 1, MPI_CHAR, 1, TAG_END, MPI_COMM_WORLD, &requests[4]);
    MPI_Recv_init(small, 1, MPI_CHAR, victim, TAG_NEVER, MPI_COMM_WORLD, &requests[5]);

    send_answered(answered);
    declare_dead(victim);
    declare_dead(victim);
    check_late_answers(answered);
    expect_failure(MPI_Wait(&requests[0], &status), "a receive");
    expect_failure(MPI_Wait(&requests[1], &status), "a receive from any source");
    expect_failure(MPI_Wait(&requests[2], &status), "a long send");
    expect_failure(MPI_Wait(&requests[3], &status), "a synchronous send");
    check_later(&requests[5]);
    MPI_Request_free(&requests[5]);

    tap_check(MPI_Recv(small, 4, MPI_CHAR, victim, TAG_EARLY, MPI_COMM_WORLD, &status) ==
                  MPI_SUCCESS,
              "what was sent before is received");
    tap_check(MPI_Send(big, BIG, MPI_CHAR, 1, TAG_END, MPI_COMM_WORLD) == MPI_SUCCESS,
              "the living get messages");
    tap_check(MPI_Wait(&requests[4], &status) == MPI_SUCCESS, "and are heard");
}

int main(int argc, char **argv)
{
    int rank, size;
    sigemptyset(&news);
    sigaddset(&news, SIGUSR1);
    sigprocmask(SIG_BLOCK, &news, NULL);
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    tap_rank(rank);
    if (!place_has_common_pids()) {
        tap_skip("a rank that seems to have died", "it could send no signal");
        MPI_Finalize();
        return tap_finish();
    }
    victim = argc > 1 ? atoi(argv[1]) : size - 1;
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    if (rank == victim) {
        MPI_Send(small, 4, MPI_CHAR, 0, TAG_EARLY, MPI_COMM_WORLD);
        answer();
    } else if (rank == 0) {
        outlive();
    } else if (rank == 1) {
        receive_late();
        MPI_Recv(big, BIG, MPI_CHAR, 0, TAG_END, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        MPI_Send(small, 1, MPI_CHAR, 0, TAG_END, MPI_COMM_WORLD);
    }
    MPI_Finalize();
    return tap_finish();
}
