/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Messages of which the network loses some: each error reaches the request it belongs to, and the
 * error handler; what was not hit goes on. Rank 0 sends MESSAGES messages to rank 1, which has all
 * of its receives ready before.
 *
 *   failing MODE BYTES SENDS RECEIVES [gone]   on 2 ranks. MODE: send, isend, ssend, start, bsend
 *                    SENDS, RECEIVES: those that fail, as "1,3", or "-"; "^1": lost, but its send
 *                    was over by then; "any": one of them, whichever. gone: the class says that the
 *                    other rank is gone
 *   failing probe    one probe fails
 *   failing mprobe   the receive of a message that a probe has taken
 *   failing reach    nobody can be reached: every call says so
 *   failing later    at first there is no memory for an address
 *   failing long     a message is too long for its receive
 *   failing hearing  an answer to rank 0 of 3 is lost; ends with status 3
 *   failing alone    a rank sends to itself
 */
#include <mpi.h>
#include <stdlib.h>
#include <string.h>

#include "test/mpi/tap.h"

enum { MESSAGES = 5, RESULT_TAG = 99, GO_TAG = 98, MAX_BYTES = 1 << 20 };

static int rank, handled;
static char *buffer;

/* The values of this signature are int, whatever they are in mpi.h. */
static void handler(MPI_Comm *comm, int *error, ...)
{
    (void)comm, (void)error;
    handled++;
}

static int class_of(int error)
{
    int class;
    MPI_Error_class(error, &class);
    return class;
}

static bool is_listed(const char *list, int number)
{
    char text[4];
    snprintf(text, sizeof text, "%d", number);
    return strstr(list, text) != NULL;
}

static int wait_for(MPI_Request *request)
{
    MPI_Status status;
    return MPI_Wait(request, &status);
}

static int send_one(const char *mode, int bytes, int tag)
{
    MPI_Request request;
    int error;
    if (strcmp(mode, "send") == 0)
        return MPI_Send(buffer, bytes, MPI_BYTE, 1, tag, MPI_COMM_WORLD);
    if (strcmp(mode, "ssend") == 0)
        return MPI_Ssend(buffer, bytes, MPI_BYTE, 1, tag, MPI_COMM_WORLD);
    if (strcmp(mode, "bsend") == 0)
        return MPI_Bsend(buffer, bytes, MPI_BYTE, 1, tag, MPI_COMM_WORLD);
    if (strcmp(mode, "start") != 0) {
        error = MPI_Isend(buffer, bytes, MPI_BYTE, 1, tag, MPI_COMM_WORLD, &request);
        return error != MPI_SUCCESS ? error : wait_for(&request);
    }
    MPI_Send_init(buffer, bytes, MPI_BYTE, 1, tag, MPI_COMM_WORLD, &request);
    error = MPI_Start(&request);
    if (error == MPI_SUCCESS)
        error = wait_for(&request);
    MPI_Request_free(&request);
    return error;
}

static void send_all(const char *mode, int bytes, const char *failing, int class)
{
    int errors[MESSAGES], wanted = 0;
    MPI_Recv(NULL, 0, MPI_BYTE, 1, GO_TAG, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    for (int i = 0; i < MESSAGES; i++) {
        bool fails = is_listed(failing, i) && failing[0] != '^';
        memset(buffer, 'a' + i, (size_t)bytes);
        errors[i] = class_of(send_one(mode, bytes, i));
        wanted += fails;
        tap_check(errors[i] == (fails ? class : MPI_SUCCESS), "%s %d %s (class %d)", mode, i,
                  fails ? "fails" : "succeeds", errors[i]);
    }
    tap_check(handled == wanted, "the error handler was called %d times", handled);
    for (int i = 0; i < MESSAGES; i++)
        errors[i] = is_listed(failing, i);
    MPI_Send(errors, MESSAGES, MPI_INT, 1, RESULT_TAG, MPI_COMM_WORLD);
}

static bool is_all(const char *bytes, int count, char value)
{
    for (int i = 0; i < count; i++) {
        if (bytes[i] != value)
            return false;
    }
    return true;
}

static void receive_all(int bytes, const char *failing, int class)
{
    MPI_Request requests[MESSAGES], result;
    int lost[MESSAGES], wanted = 0, failed = 0;
    bool any = failing[0] == 'a';
    for (int i = 0; i < MESSAGES; i++)
        MPI_Irecv(buffer + (size_t)i * (size_t)bytes, bytes, MPI_BYTE, 0, i, MPI_COMM_WORLD,
                  &requests[i]);
    MPI_Irecv(lost, MESSAGES, MPI_INT, 0, RESULT_TAG, MPI_COMM_WORLD, &result);
    MPI_Send(NULL, 0, MPI_BYTE, 0, GO_TAG, MPI_COMM_WORLD);
    MPI_Wait(&result, MPI_STATUS_IGNORE);
    for (int i = 0; i < MESSAGES; i++) {
        MPI_Status status;
        int cancelled = 0, fails = is_listed(failing, i);
        if (lost[i])
            MPI_Cancel(&requests[i]);
        int error = class_of(MPI_Wait(&requests[i], &status));
        failed += error == class;
        if (any)
            fails = error == class;
        MPI_Test_cancelled(&status, &cancelled);
        wanted += fails;
        tap_check(error == (fails ? class : MPI_SUCCESS), "receive %d %s (class %d)", i,
                  fails ? "fails" : "succeeds", error);
        tap_check(cancelled == lost[i], "receive %d is%s cancelled", i, cancelled ? "" : " not");
        if (!fails && !cancelled)
            tap_check(is_all(buffer + (size_t)i * (size_t)bytes, bytes, (char)('a' + i)),
                      "receive %d has its message", i);
    }
    tap_check(handled == wanted, "the error handler was called %d times", handled);
    tap_check(!any || failed == 1, "one receive fails (%d)", failed);
}

/* ---- probes ---- */

/* Until it is found. How many of the probes failed, with the right class. */
static int probe_all(MPI_Message *message)
{
    int found = 0, failed = 0;
    while (!found) {
        int error = message != NULL
                        ? MPI_Improbe(0, 0, MPI_COMM_WORLD, &found, message, MPI_STATUS_IGNORE)
                        : MPI_Iprobe(0, 0, MPI_COMM_WORLD, &found, MPI_STATUS_IGNORE);
        failed += class_of(error) == MPI_ERR_OTHER;
    }
    return failed;
}

static void test_probe(bool takes)
{
    MPI_Message message;
    if (rank == 0) {
        MPI_Send(buffer, 500, MPI_BYTE, 1, 0, MPI_COMM_WORLD);
        tap_check(true, "rank 0 sends");
        return;
    }
    if (takes) {
        tap_check(probe_all(&message) == 0, "a probe takes the message");
        int error = MPI_Mrecv(buffer, 500, MPI_BYTE, &message, MPI_STATUS_IGNORE);
        tap_check(class_of(error) == MPI_ERR_OTHER, "its receive fails");
    } else {
        tap_check(probe_all(NULL) == 1, "a probe fails, the next one finds the message");
        MPI_Recv(buffer, 500, MPI_BYTE, 0, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    }
    tap_check(handled == 1, "the error handler was called");
}

static void test_reach(void)
{
    MPI_Request request;
    int there, peer = !rank;
    tap_check(MPI_Send(buffer, 8, MPI_BYTE, peer, 0, MPI_COMM_WORLD) != MPI_SUCCESS,
              "a send fails");
    tap_check(MPI_Isend(buffer, 500, MPI_BYTE, peer, 0, MPI_COMM_WORLD, &request) != MPI_SUCCESS,
              "so does one that does not wait");
    tap_check(MPI_Iprobe(peer, 0, MPI_COMM_WORLD, &there, MPI_STATUS_IGNORE) != MPI_SUCCESS,
              "and a probe");
    tap_check(MPI_Recv(buffer, 8, MPI_BYTE, peer, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE) !=
                  MPI_SUCCESS,
              "and a receive");
    tap_check(handled == 4, "the error handler was called each time");
}

static void test_later(void)
{
    MPI_Request request;
    int heard = -1, peer = !rank;
    int error = MPI_Issend(&rank, 1, MPI_INT, peer, 0, MPI_COMM_WORLD, &request);
    tap_check(class_of(error) == MPI_ERR_NO_MEM, "a send finds no memory");
    error = MPI_Sendrecv(&rank, 1, MPI_INT, peer, 0, &heard, 1, MPI_INT, peer, 0, MPI_COMM_WORLD,
                         MPI_STATUS_IGNORE);
    tap_check(error == MPI_SUCCESS && heard == peer, "the next one does");
}

/* One that is too long, and one that fits. */
static void test_long(void)
{
    MPI_Status status;
    if (rank == 1) {
        MPI_Send(buffer, 500, MPI_BYTE, 0, 0, MPI_COMM_WORLD);
        MPI_Send(buffer, 500, MPI_BYTE, 0, 0, MPI_COMM_WORLD);
        tap_check(true, "rank 1 sends");
        return;
    }
    int error = MPI_Recv(buffer, 100, MPI_BYTE, 1, 0, MPI_COMM_WORLD, &status);
    tap_check(class_of(error) == MPI_ERR_TRUNCATE && status.MPI_SOURCE == 1,
              "a message that is too long is an error, and of rank %d", status.MPI_SOURCE);
    error = MPI_Recv(buffer, 500, MPI_BYTE, 1, 0, MPI_COMM_WORLD, &status);
    tap_check(error == MPI_SUCCESS && handled == 1, "the one behind it comes");
}

/* Rank 0 does not hear that rank 1 has matched its message. The job ends, since that send does not.
 */
static void test_hearing(void)
{
    MPI_Request request;
    int done = -1;
    if (rank != 0) {
        MPI_Recv(buffer, 8, MPI_BYTE, 0, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        MPI_Send(NULL, 0, MPI_BYTE, 0, GO_TAG, MPI_COMM_WORLD);
        MPI_Barrier(MPI_COMM_WORLD); /* rank 0 is never in it */
        return;
    }
    MPI_Issend(buffer, 8, MPI_BYTE, 1, 0, MPI_COMM_WORLD, &request);
    MPI_Recv(NULL, 0, MPI_BYTE, 1, GO_TAG, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    int error = MPI_Ssend(buffer, 8, MPI_BYTE, 2, 0, MPI_COMM_WORLD);
    tap_check(error == MPI_SUCCESS, "what comes behind it is heard");
    MPI_Test(&request, &done, MPI_STATUS_IGNORE);
    tap_check(done == 0, "what was not heard is not done");
    MPI_Abort(MPI_COMM_WORLD, 3);
}

static void test_alone(void)
{
    int in = 0, out = 7;
    MPI_Sendrecv(&out, 1, MPI_INT, 0, 3, &in, 1, MPI_INT, 0, 3, MPI_COMM_SELF, MPI_STATUS_IGNORE);
    tap_check(in == 7 && handled == 0, "a rank gets its own message");
}

int main(int argc, char **argv)
{
    static char attached[MESSAGES * (4096 + MPI_BSEND_OVERHEAD)];
    MPI_Errhandler errhandler;
    const char *mode = argv[1];
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    tap_rank(rank);
    MPI_Comm_create_errhandler(handler, &errhandler);
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, errhandler);
    buffer = calloc(MESSAGES, MAX_BYTES);
    if (strstr(mode, "probe") != NULL) {
        test_probe(mode[0] == 'm');
    } else if (strcmp(mode, "reach") == 0) {
        test_reach();
    } else if (strcmp(mode, "later") == 0) {
        test_later();
    } else if (strcmp(mode, "long") == 0) {
        test_long();
    } else if (strcmp(mode, "hearing") == 0) {
        test_hearing();
    } else if (strcmp(mode, "alone") == 0) {
        test_alone();
    } else {
        int bytes = atoi(argv[2]), class = argc > 5 ? MPI_ERR_PROC_ABORTED : MPI_ERR_OTHER;
        MPI_Buffer_attach(attached, sizeof attached);
        if (rank == 0)
            send_all(mode, bytes, argv[3], class);
        else
            receive_all(bytes, argv[4], class);
        MPI_Buffer_detach(&mode, &bytes);
    }
    MPI_Errhandler_free(&errhandler);
    free(buffer);
    MPI_Finalize();
    return tap_finish();
}
