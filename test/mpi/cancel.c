/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Cancelled sends: either the message is received, or the send is cancelled, and its wait returns.
 * Long and synchronous ones that nobody took are cancelled; those that were matched are not, nor
 * those that a matched probe has, nor those that are under way; persistent ones start again; many,
 * of which some have not left yet; and against receives that come at the same time. A program that
 * asks only once is told what became of a send to itself.
 * Where the network matches, only a send that has not left is cancelled (place.h).
 */
#include <mpi.h>
#include <stdlib.h>
#include <string.h>

#include "place.h"
#include "tap.h"

enum { LONG = 300000, TAG = 1, TAG_TELL, TAG_NEXT };

static int rank;
static char data[LONG], in[LONG];

static char pattern(int number, int i)
{
    return (char)(number * 13 + i * 7 + (i >> 8));
}

static void fill(int number)
{
    for (int i = 0; i < LONG; i++)
        data[i] = pattern(number, i);
}

static bool is_filled(int number, int length)
{
    bool right = true;
    for (int i = 0; i < length; i++)
        right &= in[i] == pattern(number, i);
    return right;
}

/* Waits for a send that was asked to be cancelled. Whether it was. */
static int wait_cancelled(MPI_Request *request)
{
    MPI_Status status;
    int flag = -1;
    MPI_Wait(request, &status);
    MPI_Test_cancelled(&status, &flag);
    return flag;
}

static void tell(int number)
{
    MPI_Send(&number, 1, MPI_INT, 1, TAG_TELL, MPI_COMM_WORLD);
}

static int hear(void)
{
    int number = -1;
    MPI_Recv(&number, 1, MPI_INT, 0, TAG_TELL, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    return number;
}

static void hear_ready(void)
{
    MPI_Recv(NULL, 0, MPI_CHAR, 1, TAG_NEXT, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
}

/* Nobody receives it; the next one with its tag is what is received. */
static void check_unmatched(int length, bool synchronous)
{
    MPI_Request request;
    if (rank == 0) {
        fill(1);
        if (synchronous)
            MPI_Issend(data, length, MPI_CHAR, 1, TAG, MPI_COMM_WORLD, &request);
        else
            MPI_Isend(data, length, MPI_CHAR, 1, TAG, MPI_COMM_WORLD, &request);
        MPI_Cancel(&request);
        MPI_Cancel(&request);
        int is_cancelled = wait_cancelled(&request);
        fill(2);
        tell(0); /* now it may be received */
        MPI_Send(data, length, MPI_CHAR, 1, TAG, MPI_COMM_WORLD);
        tap_check(is_cancelled && request == MPI_REQUEST_NULL, "%s of %d bytes is cancelled",
                  synchronous ? "MPI_Issend" : "MPI_Isend", length);
    } else {
        hear();
        MPI_Recv(in, length, MPI_CHAR, 0, TAG, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        tap_check(is_filled(2, length), "the next message is received instead");
    }
}

/* A receive, or a matched probe, has taken it before. */
static void check_matched(bool probes)
{
    MPI_Request request;
    MPI_Message message;
    if (rank == 0) {
        fill(3);
        MPI_Recv(NULL, 0, MPI_CHAR, 1, TAG_TELL, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        MPI_Issend(data, LONG, MPI_CHAR, 1, TAG, MPI_COMM_WORLD, &request);
        hear_ready();
        MPI_Cancel(&request);
        tell(0);
        tap_check(wait_cancelled(&request) == 0, "a send that %s has is not cancelled",
                  probes ? "a matched probe" : "a receive");
        return;
    }
    memset(in, 0, sizeof in);
    if (!probes)
        MPI_Irecv(in, LONG, MPI_CHAR, 0, TAG, MPI_COMM_WORLD, &request);
    MPI_Send(NULL, 0, MPI_CHAR, 0, TAG_TELL, MPI_COMM_WORLD);
    if (probes)
        MPI_Mprobe(0, TAG, MPI_COMM_WORLD, &message, MPI_STATUS_IGNORE);
    else
        MPI_Wait(&request, MPI_STATUS_IGNORE);
    MPI_Send(NULL, 0, MPI_CHAR, 0, TAG_NEXT, MPI_COMM_WORLD);
    hear();
    if (probes)
        MPI_Mrecv(in, LONG, MPI_CHAR, &message, MPI_STATUS_IGNORE);
    tap_check(is_filled(3, LONG), "and is received");
}

/* Of equal messages that nobody takes, the later ones are cancelled first; one is sent between. */
static void check_order(int length)
{
    enum { COUNT = 4, SENT = 3 };
    if (rank == 0) {
        MPI_Request requests[COUNT];
        char *copies = malloc((size_t)COUNT * (size_t)length);
        int cancelled = 0;
        for (int i = 0; i < COUNT; i++) {
            fill(i);
            memcpy(copies + (size_t)i * (size_t)length, data, (size_t)length);
        }
        for (int i = 0; i < SENT; i++)
            MPI_Issend(copies + (size_t)i * (size_t)length, length, MPI_CHAR, 1, TAG,
                       MPI_COMM_WORLD, &requests[i]);
        MPI_Cancel(&requests[2]);
        MPI_Issend(copies + (size_t)SENT * (size_t)length, length, MPI_CHAR, 1, TAG, MPI_COMM_WORLD,
                   &requests[SENT]);
        MPI_Cancel(&requests[1]);
        for (int i = 1; i < SENT; i++)
            cancelled += wait_cancelled(&requests[i]);
        tell(0);
        MPI_Wait(&requests[0], MPI_STATUS_IGNORE);
        MPI_Wait(&requests[SENT], MPI_STATUS_IGNORE);
        free(copies);
        tap_check(cancelled == 2, "two of four sends of %d bytes are cancelled", length);
    } else {
        bool right = true;
        hear();
        for (int i = 0; i < COUNT; i += SENT) {
            MPI_Recv(in, length, MPI_CHAR, 0, TAG, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
            right &= is_filled(i, length);
        }
        tap_check(right, "and the first and the last are received");
    }
}

/* The network has them: they are received, and their requests end as sends. */
static void check_left(int length)
{
    MPI_Request requests[2];
    if (rank == 0) {
        fill(1);
        MPI_Issend(data, length, MPI_CHAR, 1, TAG, MPI_COMM_WORLD, &requests[0]);
        MPI_Isend(data, length, MPI_CHAR, 1, TAG, MPI_COMM_WORLD, &requests[1]);
        hear_ready(); /* behind a probe that has found the first one */
        MPI_Cancel(&requests[0]);
        MPI_Cancel(&requests[1]);
        tell(0);
        tap_check(wait_cancelled(&requests[0]) == 0, "MPI_Issend of %d bytes has left", length);
        tap_check(wait_cancelled(&requests[1]) == 0, "MPI_Isend of %d bytes has left", length);
        return;
    }
    MPI_Probe(0, TAG, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    MPI_Send(NULL, 0, MPI_CHAR, 0, TAG_NEXT, MPI_COMM_WORLD);
    hear();
    for (int i = 0; i < 2; i++) {
        memset(in, 0, sizeof in);
        MPI_Recv(in, length, MPI_CHAR, 0, TAG, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        tap_check(is_filled(1, length), "and is received");
    }
}

static void check_persistent(void)
{
    MPI_Request request;
    bool good = true;
    if (rank == 0) {
        MPI_Ssend_init(data, LONG, MPI_CHAR, 1, TAG, MPI_COMM_WORLD, &request);
        for (int round = 0; round < 6; round++) {
            fill(round);
            MPI_Start(&request);
            if (round % 2 == 0)
                MPI_Cancel(&request);
            else
                tell(round);
            good &= wait_cancelled(&request) == (round % 2 == 0) && request != MPI_REQUEST_NULL;
        }
        MPI_Request_free(&request);
        tap_check(good, "a persistent send is cancelled every other time");
        return;
    }
    for (int round = 1; round < 6; round += 2) {
        hear();
        MPI_Recv(in, LONG, MPI_CHAR, 0, TAG, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        good &= is_filled(round, LONG);
    }
    tap_check(good, "and received the other times");
}

/* The receiver has asked for it, and it is so long that it is under way for a while: it arrives. */
static void check_under_way(void)
{
    enum { BYTES = 48 << 20 };
    MPI_Request request;
    char *bytes = malloc(BYTES);
    for (int i = 0; i < BYTES; i++)
        bytes[i] = rank == 0 ? pattern(5, i) : 0;
    if (rank == 0) {
        hear_ready();
        MPI_Isend(bytes, BYTES, MPI_CHAR, 1, TAG, MPI_COMM_WORLD, &request);
        tell(0);
        hear_ready(); /* what it has asked for came before */
        MPI_Cancel(&request);
        tap_check(wait_cancelled(&request) == 0, "a send that is under way is not cancelled");
    } else {
        bool right = true;
        MPI_Irecv(bytes, BYTES, MPI_CHAR, 0, TAG, MPI_COMM_WORLD, &request);
        MPI_Send(NULL, 0, MPI_CHAR, 0, TAG_NEXT, MPI_COMM_WORLD);
        hear();
        MPI_Send(NULL, 0, MPI_CHAR, 0, TAG_NEXT, MPI_COMM_WORLD);
        MPI_Wait(&request, MPI_STATUS_IGNORE);
        for (int i = 0; i < BYTES; i++)
            right &= bytes[i] == pattern(5, i);
        tap_check(right, "and is received");
    }
    free(bytes);
}

/* More than there is room for: whatever is not cancelled is received, in order. */
static void check_many(void)
{
    enum { MANY = 2000, LENGTH = 500 };
    static MPI_Request requests[MANY];
    static int kept[MANY + 1];
    if (rank == 0) {
        static char many[MANY][LENGTH];
        for (int i = 0; i < MANY; i++) {
            for (int k = 0; k < LENGTH; k++)
                many[i][k] = pattern(i, k);
            MPI_Isend(many[i], LENGTH, MPI_CHAR, 1, TAG, MPI_COMM_WORLD, &requests[i]);
        }
        for (int i = MANY - 1; i >= MANY / 2; i--)
            MPI_Cancel(&requests[i]);
        for (int i = 0; i < MANY; i++) {
            if (!wait_cancelled(&requests[i]))
                kept[++kept[0]] = i;
        }
        MPI_Send(kept, MANY + 1, MPI_INT, 1, TAG_TELL, MPI_COMM_WORLD);
        tap_check(kept[0] >= MANY / 2, "of %d sends %d are cancelled", MANY, MANY - kept[0]);
        return;
    }
    int flag = -1, wrong = 0;
    MPI_Recv(kept, MANY + 1, MPI_INT, 0, TAG_TELL, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    for (int i = 1; i <= kept[0]; i++) {
        MPI_Recv(in, LENGTH, MPI_CHAR, 0, TAG, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        wrong += !is_filled(kept[i], LENGTH);
    }
    MPI_Iprobe(0, TAG, MPI_COMM_WORLD, &flag, MPI_STATUS_IGNORE);
    tap_check(wrong == 0 && flag == 0, "the others are received, and nothing else");
}

/* The receive is posted about when the send is cancelled. Both ends agree on what happened. */
static void check_race(void)
{
    enum { ROUNDS = 300 };
    MPI_Request request;
    int disagreed = 0, cancelled = 0;
    for (int round = 0; round < ROUNDS; round++) {
        int length = round % 3 == 0 ? LONG : 100 * (round % 50), seen = -1;
        MPI_Barrier(MPI_COMM_WORLD);
        if (rank == 0) {
            if (round % 4 == 0)
                fill(round);
            MPI_Issend(data, length, MPI_CHAR, 1, TAG, MPI_COMM_WORLD, &request);
            for (int i = 0; i < round % 7; i++)
                MPI_Iprobe(1, TAG, MPI_COMM_WORLD, &seen, MPI_STATUS_IGNORE);
            MPI_Cancel(&request);
            int is_cancelled = wait_cancelled(&request);
            cancelled += is_cancelled;
            tell(is_cancelled);
        } else {
            for (int i = 0; i < round % 5; i++)
                MPI_Iprobe(0, TAG_NEXT, MPI_COMM_WORLD, &seen, MPI_STATUS_IGNORE);
            MPI_Irecv(in, LONG, MPI_CHAR, 0, TAG, MPI_COMM_WORLD, &request);
            int was_cancelled = hear();
            if (was_cancelled)
                MPI_Cancel(&request);
            disagreed += wait_cancelled(&request) != was_cancelled ||
                         (!was_cancelled && !is_filled(round - round % 4, length));
        }
    }
    tap_check(disagreed == 0, "%d sends with a receive, of which %d are cancelled", ROUNDS,
              cancelled);
}

static void check_self(void)
{
    MPI_Request request;
    int flag = -1;
    MPI_Isend(data, LONG, MPI_CHAR, 0, TAG, MPI_COMM_SELF, &request);
    MPI_Cancel(&request);
    int is_cancelled = wait_cancelled(&request);
    MPI_Iprobe(0, TAG, MPI_COMM_SELF, &flag, MPI_STATUS_IGNORE);
    tap_check(is_cancelled && !flag, "a send to oneself is cancelled");
}

/* They are looked for while they are taken back, by a program that does nothing else. */
static void check_free(void)
{
    enum { ROUNDS = 20 };
    MPI_Request requests[2] = {MPI_REQUEST_NULL, MPI_REQUEST_NULL};
    for (int round = 0; round < ROUNDS; round++) {
        for (int i = 0; i <= round % 2; i++)
            MPI_Isend(data, LONG, MPI_CHAR, 0, TAG, MPI_COMM_SELF, &requests[i]);
        for (int i = 0; i <= round % 2; i++) {
            MPI_Cancel(&requests[i]);
            MPI_Request_free(&requests[i]);
        }
        for (int flag = 1; flag;)
            MPI_Iprobe(0, TAG, MPI_COMM_SELF, &flag, MPI_STATUS_IGNORE);
        MPI_Sendrecv(NULL, 0, MPI_CHAR, 0, TAG_NEXT, NULL, 0, MPI_CHAR, 0, TAG_NEXT, MPI_COMM_SELF,
                     MPI_STATUS_IGNORE);
    }
    tap_check(requests[0] == MPI_REQUEST_NULL, "and those that nobody waits for");
}

/* Asks once, in one of the ways that there are. Whether it is over, and was cancelled. */
static bool ask_once(int way, MPI_Request *request)
{
    MPI_Status status = {0};
    int flag = -1, index = -1, is_cancelled = -1;
    switch (way) {
    case 0:
        MPI_Test(request, &flag, &status);
        break;
    case 1:
        MPI_Testall(1, request, &flag, &status);
        break;
    case 2:
        MPI_Testany(1, request, &index, &flag, &status);
        break;
    case 3:
        MPI_Testsome(1, request, &flag, &index, &status);
        break;
    case 4:
        MPI_Request_get_status_all(1, request, &flag, &status);
        break;
    case 5:
        MPI_Request_get_status_any(1, request, &index, &flag, &status);
        break;
    case 6:
        MPI_Request_get_status_some(1, request, &flag, &index, &status);
        break;
    default:
        MPI_Request_get_status(*request, &flag, &status);
    }
    MPI_Test_cancelled(&status, &is_cancelled);
    if (*request != MPI_REQUEST_NULL)
        MPI_Wait(request, MPI_STATUS_IGNORE);
    return flag == 1 && is_cancelled == 1;
}

static void check_once(void)
{
    enum { WAYS = 8 };
    MPI_Request request;
    for (int way = 0; way < WAYS; way++) {
        MPI_Issend(data, way % 2 == 0 ? 10 : LONG, MPI_CHAR, 0, TAG, MPI_COMM_SELF, &request);
        MPI_Cancel(&request);
        tap_check(ask_once(way, &request), "way %d of asking once", way);
    }
}

/* Sends that have left, and that nobody has taken. */
static void check_recalled(void)
{
    check_unmatched(LONG, false);
    check_unmatched(LONG, true);
    check_unmatched(10, true);
    check_order(10);
    check_order(LONG);
    check_persistent();
    check_race();
    check_self();
    check_free();
    check_once();
}

int main(int argc, char **argv)
{
    int size;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    tap_rank(rank);
    if (tap_check(size == 2, "two ranks")) {
        check_matched(false);
        check_matched(true);
        check_under_way();
        check_many();
        MPI_Barrier(MPI_COMM_WORLD); /* rank 1 has looked for what must not be there */
        if (place_cancels_sends())
            check_recalled();
        else
            for (int length = 10; length <= LONG; length *= 30)
                check_left(length);
    }
    MPI_Finalize();
    return tap_finish();
}
