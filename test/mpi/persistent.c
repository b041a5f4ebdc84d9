/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Persistent requests: started again and again in every mode and size, alone and together with
 * others; freed while active; cancelled; with MPI_PROC_NULL; and started when they must not be.
 */
#include <mpi.h>
#include <stdlib.h>
#include <string.h>

#include "tap.h"

enum { ROUNDS = 20, LARGEST = 1 << 20 };

static int rank, size, left, right;

typedef int init_fn_t(const void *, int, MPI_Datatype, int, int, MPI_Comm, MPI_Request *);

static unsigned char pattern(int sender, int round, int index)
{
    return (unsigned char)(sender * 31 + round * 17 + index * 7 + (index >> 8) + 1);
}

static bool is_class(int error, int expected)
{
    int class;
    MPI_Error_class(error, &class);
    return class == expected;
}

/* Done, and no longer started: a wait is over at once and tells nothing. */
static bool is_inactive(MPI_Request *request)
{
    MPI_Status status;
    int flag = 0, count = -1;
    MPI_Test(request, &flag, &status);
    MPI_Get_count(&status, MPI_BYTE, &count);
    return *request != MPI_REQUEST_NULL && flag == 1 && status.MPI_SOURCE == MPI_ANY_SOURCE &&
           status.MPI_TAG == MPI_ANY_TAG && count == 0;
}

/* A ready send wants its receive to be there: the neighbour says so. */
static void synchronize(void)
{
    MPI_Sendrecv(NULL, 0, MPI_INT, left, 9, NULL, 0, MPI_INT, right, 9, MPI_COMM_WORLD,
                 MPI_STATUS_IGNORE);
}

/* Around the ring, new data in every round. */
static void check_mode(init_fn_t *init, const char *name, int length)
{
    unsigned char *out = malloc((size_t)length + 1), *in = malloc((size_t)length + 1);
    MPI_Request requests[2];
    bool good = true;
    MPI_Recv_init(in, length, MPI_BYTE, left, 3, MPI_COMM_WORLD, &requests[0]);
    init(out, length, MPI_BYTE, right, 3, MPI_COMM_WORLD, &requests[1]);
    good &= is_inactive(&requests[0]) && is_inactive(&requests[1]);
    for (int round = 0; round < ROUNDS; round++) {
        MPI_Status statuses[2];
        int count = -1;
        for (int i = 0; i < length; i++)
            out[i] = pattern(rank, round, i);
        memset(in, 0, (size_t)length);
        if (round % 2 == 0 && init != MPI_Rsend_init) {
            MPI_Startall(2, requests);
        } else {
            MPI_Start(&requests[0]);
            synchronize();
            MPI_Start(&requests[1]);
        }
        good &= MPI_Waitall(2, requests, statuses) == MPI_SUCCESS;
        MPI_Get_count(&statuses[0], MPI_BYTE, &count);
        good &= count == length && statuses[0].MPI_SOURCE == left && statuses[0].MPI_TAG == 3;
        for (int i = 0; i < length; i++)
            good &= in[i] == pattern(left, round, i);
        good &= is_inactive(&requests[0]) && is_inactive(&requests[1]);
    }
    MPI_Request_free(&requests[0]);
    MPI_Request_free(&requests[1]);
    good &= requests[0] == MPI_REQUEST_NULL && requests[1] == MPI_REQUEST_NULL;
    tap_check(good, "%s of %d bytes, %d rounds", name, length, ROUNDS);
    free(out);
    free(in);
}

/* Several of each kind and ordinary ones, waited for together. */
static void check_mixed(void)
{
    enum { KINDS = 4 };
    int out[KINDS + 1], in[KINDS + 1];
    MPI_Request requests[2 * KINDS + 2];
    bool good = true;
    init_fn_t *inits[KINDS] = {MPI_Send_init, MPI_Ssend_init, MPI_Rsend_init, MPI_Send_init};
    for (int k = 0; k < KINDS; k++) {
        MPI_Recv_init(&in[k], 1, MPI_INT, k == 1 ? MPI_ANY_SOURCE : left, 10 + k, MPI_COMM_WORLD,
                      &requests[k]);
        inits[k](&out[k], 1, MPI_INT, right, 10 + k, MPI_COMM_WORLD, &requests[KINDS + k]);
    }
    for (int round = 0; round < ROUNDS; round++) {
        for (int k = 0; k <= KINDS; k++) {
            out[k] = rank * 1000 + round * 10 + k;
            in[k] = -1;
        }
        MPI_Startall(KINDS, requests);
        synchronize();
        MPI_Startall(KINDS, requests + KINDS);
        MPI_Irecv(&in[KINDS], 1, MPI_INT, left, 20, MPI_COMM_WORLD, &requests[2 * KINDS]);
        MPI_Isend(&out[KINDS], 1, MPI_INT, right, 20, MPI_COMM_WORLD, &requests[2 * KINDS + 1]);
        int seen = 0, index, flags = 0;
        for (;;) {
            MPI_Waitany(2 * KINDS + 2, requests, &index, MPI_STATUS_IGNORE);
            if (index == MPI_UNDEFINED)
                break;
            good &= (flags & 1 << index) == 0;
            flags |= 1 << index;
            seen++;
        }
        good &= seen == 2 * KINDS + 2;
        for (int k = 0; k <= KINDS; k++)
            good &= in[k] == left * 1000 + round * 10 + k;
        good &= requests[2 * KINDS] == MPI_REQUEST_NULL && is_inactive(&requests[0]);
    }
    for (int i = 0; i < 2 * KINDS; i++)
        MPI_Request_free(&requests[i]);
    tap_check(good, "kinds started together, and waited for beside ordinary ones");
}

/* The type and the buffer's layout outlive the handle of the type. */
static void check_type(void)
{
    enum { ROWS = 3000 };
    static double matrix[ROWS][3], column[ROWS];
    MPI_Datatype type;
    MPI_Request requests[2];
    bool good = true;
    MPI_Type_vector(ROWS, 1, 3, MPI_DOUBLE, &type);
    MPI_Type_commit(&type);
    MPI_Send_init(&matrix[0][1], 1, type, right, 4, MPI_COMM_WORLD, &requests[0]);
    MPI_Type_free(&type);
    MPI_Recv_init(column, ROWS, MPI_DOUBLE, left, 4, MPI_COMM_WORLD, &requests[1]);
    for (int round = 0; round < 3; round++) {
        for (int r = 0; r < ROWS; r++)
            matrix[r][1] = rank * 1e6 + round * 1e5 + r;
        MPI_Startall(2, requests);
        MPI_Waitall(2, requests, MPI_STATUSES_IGNORE);
        for (int r = 0; r < ROWS; r++)
            good &= column[r] == left * 1e6 + round * 1e5 + r;
    }
    MPI_Request_free(&requests[0]);
    MPI_Request_free(&requests[1]);
    tap_check(good, "a derived type that was freed after MPI_Send_init");
}

static void check_no_process(void)
{
    int value = 5;
    MPI_Request requests[2];
    MPI_Status statuses[2];
    bool good = true;
    MPI_Recv_init(&value, 1, MPI_INT, MPI_PROC_NULL, 0, MPI_COMM_WORLD, &requests[0]);
    MPI_Send_init(&value, 1, MPI_INT, MPI_PROC_NULL, 0, MPI_COMM_WORLD, &requests[1]);
    for (int round = 0; round < 3; round++) {
        good &= is_inactive(&requests[0]) && is_inactive(&requests[1]);
        MPI_Startall(2, requests);
        good &= MPI_Waitall(2, requests, statuses) == MPI_SUCCESS;
        good &= statuses[0].MPI_SOURCE == MPI_PROC_NULL && statuses[0].MPI_TAG == MPI_ANY_TAG;
    }
    MPI_Request_free(&requests[0]);
    MPI_Start(&requests[1]);
    MPI_Request_free(&requests[1]);
    tap_check(good && value == 5, "MPI_PROC_NULL");
}

static void check_errors(void)
{
    int value = rank, got = -1;
    MPI_Request receive, other, pair[2], none = MPI_REQUEST_NULL;
    MPI_Recv_init(&got, 1, MPI_INT, left, 5, MPI_COMM_WORLD, &receive);
    MPI_Send_init(&value, 1, MPI_INT, right, 5, MPI_COMM_WORLD, &other);
    MPI_Start(&receive);
    tap_check(is_class(MPI_Start(&receive), MPI_ERR_REQUEST), "an active one is not started");
    pair[0] = other;
    pair[1] = receive;
    tap_check(is_class(MPI_Startall(2, pair), MPI_ERR_REQUEST) && is_inactive(&other),
              "MPI_Startall with an active one starts none of them");
    tap_check(is_class(MPI_Startall(1, &none), MPI_ERR_REQUEST) &&
                  is_class(MPI_Start(&none), MPI_ERR_REQUEST),
              "nor is MPI_REQUEST_NULL");
    MPI_Start(&other);
    MPI_Wait(&other, MPI_STATUS_IGNORE);
    MPI_Wait(&receive, MPI_STATUS_IGNORE);
    tap_check(got == left, "the requests are as good as before");
    MPI_Request_free(&other);

    MPI_Irecv(&got, 1, MPI_INT, rank, 6, MPI_COMM_WORLD, &other);
    tap_check(is_class(MPI_Start(&other), MPI_ERR_REQUEST), "an ordinary one is not started");
    MPI_Cancel(&other);
    MPI_Wait(&other, MPI_STATUS_IGNORE);
    MPI_Request_free(&receive);
}

/* Freed while active, they end by themselves. */
static void check_freed(int length)
{
    unsigned char *out = malloc((size_t)length), *in = malloc((size_t)length);
    MPI_Request send, receive;
    bool good = true;
    for (int i = 0; i < length; i++)
        out[i] = pattern(rank, 1, i);
    memset(in, 0, (size_t)length);
    MPI_Ssend_init(out, length, MPI_BYTE, right, 7, MPI_COMM_WORLD, &send);
    MPI_Recv_init(in, length, MPI_BYTE, left, 7, MPI_COMM_WORLD, &receive);
    MPI_Start(&send);
    MPI_Request_free(&send);
    MPI_Start(&receive);
    MPI_Request_free(&receive);
    good &= send == MPI_REQUEST_NULL && receive == MPI_REQUEST_NULL;
    /* What is sent after it is received after it; an answer says that it was. */
    MPI_Sendrecv(NULL, 0, MPI_INT, right, 7, NULL, 0, MPI_INT, left, 7, MPI_COMM_WORLD,
                 MPI_STATUS_IGNORE);
    while (in[length - 1] != pattern(left, 1, length - 1)) {
        int flag;
        MPI_Iprobe(MPI_ANY_SOURCE, 99, MPI_COMM_WORLD, &flag, MPI_STATUS_IGNORE);
    }
    MPI_Sendrecv(NULL, 0, MPI_INT, left, 8, NULL, 0, MPI_INT, right, 8, MPI_COMM_WORLD,
                 MPI_STATUS_IGNORE);
    for (int i = 0; i < length; i++)
        good &= in[i] == pattern(left, 1, i);
    tap_check(good, "%d bytes arrive though both requests were freed", length);
    free(out);
    free(in);
}

/* A receive that was cancelled in one round receives in the next. */
static void check_cancelled(void)
{
    int got = -1, flag = 0, count = -1;
    MPI_Request receive;
    MPI_Status status;
    bool good = true;
    MPI_Recv_init(&got, 1, MPI_INT, MPI_ANY_SOURCE, 8, MPI_COMM_SELF, &receive);
    for (int round = 0; round < 4; round++) {
        MPI_Start(&receive);
        if (round % 2 == 0)
            MPI_Cancel(&receive);
        else
            MPI_Send(&round, 1, MPI_INT, 0, 8, MPI_COMM_SELF);
        MPI_Wait(&receive, &status);
        MPI_Test_cancelled(&status, &flag);
        MPI_Get_count(&status, MPI_INT, &count);
        good &= flag == (round % 2 == 0) && count == (round % 2 == 0 ? 0 : 1);
        good &= round % 2 == 0 || got == round;
    }
    MPI_Request_free(&receive);
    tap_check(good, "cancelled in one round, a message in the next");
}

int main(int argc, char **argv)
{
    static const int lengths[] = {0, 1, 3000, LARGEST};
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_RETURN);
    left = (rank + size - 1) % size;
    right = (rank + 1) % size;
    tap_rank(rank);
    for (size_t i = 0; i < sizeof lengths / sizeof *lengths; i++) {
        check_mode(MPI_Send_init, "MPI_Send_init", lengths[i]);
        check_mode(MPI_Ssend_init, "MPI_Ssend_init", lengths[i]);
        check_mode(MPI_Rsend_init, "MPI_Rsend_init", lengths[i]);
    }
    check_mixed();
    check_type();
    check_no_process();
    check_errors();
    check_freed(10);
    check_freed(LARGEST);
    check_cancelled();
    MPI_Finalize();
    return tap_finish();
}
