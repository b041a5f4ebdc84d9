/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Point to point between all pairs of ranks, and of each with itself: modes, sizes on both sides
 * of every protocol limit, layouts, order, wildcards, probes, truncation, cancel.
 */
#include <mpi.h>
#include <stdlib.h>
#include <string.h>

#include "tap.h"

enum { LARGEST = 3 << 20, GUARD = 64 };

static int rank, size;

static const int sizes[] = {0,    1,    8,    43,   44,   45,    56,     57,     200,
                            1000, 4000, 4096, 4097, 8192, 65536, 100001, LARGEST};
enum { SIZE_COUNT = sizeof sizes / sizeof *sizes };

static unsigned char pattern(int sender, int index)
{
    return (unsigned char)(sender * 37 + index * 11 + (index >> 8) * 5 + 1);
}

static void fill(unsigned char *bytes, int length)
{
    for (int i = 0; i < length; i++)
        bytes[i] = pattern(rank, i);
}

static bool is_from(const unsigned char *bytes, int sender, int length)
{
    for (int i = 0; i < length; i++) {
        if (bytes[i] != pattern(sender, i))
            return false;
    }
    for (int i = 0; i < GUARD; i++) {
        if (bytes[length + i] != 0xee)
            return false;
    }
    return true;
}

typedef int send_fn_t(const void *, int, MPI_Datatype, int, int, MPI_Comm, MPI_Request *);

/* Everybody sends to everybody, receives being posted first or last. */
static void check_mode(send_fn_t *send, const char *name, bool receives_first)
{
    unsigned char *out = malloc(LARGEST), *in = malloc((size_t)size * (LARGEST + GUARD));
    MPI_Request *requests = malloc(2 * (size_t)size * sizeof *requests);
    bool good = true;
    fill(out, LARGEST);
    for (int s = 0; s < SIZE_COUNT; s++) {
        int length = sizes[s], count = 0;
        memset(in, 0xee, (size_t)size * (LARGEST + GUARD));
        for (int pass = 0; pass < 2; pass++) {
            bool receive = (pass == 0) == receives_first;
            for (int peer = 0; peer < size; peer++) {
                if (receive)
                    MPI_Irecv(in + (size_t)peer * (LARGEST + GUARD), LARGEST, MPI_BYTE, peer, s,
                              MPI_COMM_WORLD, &requests[count++]);
                else
                    send(out, length, MPI_BYTE, peer, s, MPI_COMM_WORLD, &requests[count++]);
            }
        }
        good &= MPI_Waitall(count, requests, MPI_STATUSES_IGNORE) == MPI_SUCCESS;
        for (int peer = 0; peer < size; peer++)
            good &= is_from(in + (size_t)peer * (LARGEST + GUARD), peer, length);
    }
    tap_check(good, "%s to everybody, receives posted %s", name, receives_first ? "first" : "last");
    free(out);
    free(in);
    free(requests);
}

/* Columns of a matrix to a contiguous buffer and back, in sizes beyond one frame. */
static void check_layouts(void)
{
    enum { ROWS = 700, COLUMNS = 33 };
    static double matrix[ROWS][COLUMNS], column[ROWS], back[ROWS][COLUMNS];
    int right = (rank + 1) % size, left = (rank + size - 1) % size;
    MPI_Datatype column_type;
    MPI_Status status;
    bool good = true;
    for (int r = 0; r < ROWS; r++) {
        for (int c = 0; c < COLUMNS; c++)
            matrix[r][c] = rank * 1e6 + r * 100 + c;
    }
    MPI_Type_vector(ROWS, 1, COLUMNS, MPI_DOUBLE, &column_type);
    MPI_Type_commit(&column_type);
    MPI_Sendrecv(&matrix[0][5], 1, column_type, right, 1, column, ROWS, MPI_DOUBLE, left, 1,
                 MPI_COMM_WORLD, &status);
    for (int r = 0; r < ROWS; r++)
        good &= column[r] == left * 1e6 + r * 100 + 5;
    MPI_Sendrecv(column, ROWS, MPI_DOUBLE, left, 2, &back[0][7], 1, column_type, right, 2,
                 MPI_COMM_WORLD, &status);
    for (int r = 0; r < ROWS; r++)
        good &= back[r][7] == rank * 1e6 + r * 100 + 5 && back[r][8] == 0 && back[r][6] == 0;
    tap_check(good, "a column of a matrix is sent as it lies");
    MPI_Type_free(&column_type);
}

static void check_order(void)
{
    enum { MESSAGES = 20000 };
    int right = (rank + 1) % size, left = (rank + size - 1) % size;
    MPI_Request *requests = malloc(MESSAGES * sizeof *requests);
    int *numbers = malloc(MESSAGES * sizeof *numbers);
    bool good = true;
    for (int i = 0; i < MESSAGES; i++) {
        numbers[i] = i;
        MPI_Isend(&numbers[i], 1, MPI_INT, right, i % 3, MPI_COMM_WORLD, &requests[i]);
    }
    for (int i = 0; i < MESSAGES; i++) {
        MPI_Status status;
        int got = -1;
        MPI_Recv(&got, 1, MPI_INT, i % 2 == 0 ? MPI_ANY_SOURCE : left, MPI_ANY_TAG, MPI_COMM_WORLD,
                 &status);
        good &= got == i && status.MPI_SOURCE == left && status.MPI_TAG == i % 3;
    }
    MPI_Waitall(MESSAGES, requests, MPI_STATUSES_IGNORE);
    tap_check(good, "%d messages, more than there is room for, arrive in order", MESSAGES);
    free(requests);
    free(numbers);
}

static void check_truncation(int length)
{
    unsigned char *out = malloc((size_t)length), *in = malloc((size_t)length + GUARD);
    int right = (rank + 1) % size, left = (rank + size - 1) % size, count = -1, class;
    MPI_Request request;
    MPI_Status status;
    fill(out, length);
    memset(in, 0xee, (size_t)length + GUARD);
    MPI_Isend(out, length, MPI_BYTE, right, 9, MPI_COMM_WORLD, &request);
    int error = MPI_Recv(in, length / 2, MPI_BYTE, left, 9, MPI_COMM_WORLD, &status);
    MPI_Error_class(error, &class);
    MPI_Get_count(&status, MPI_BYTE, &count);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    tap_check(class == MPI_ERR_TRUNCATE && count == length / 2 && is_from(in, left, length / 2),
              "%d bytes do not fit: MPI_ERR_TRUNCATE, and nothing behind the buffer", length);
    free(out);
    free(in);
}

/* Three bytes and five end within an element of the receiver's, four do not. What arrived is told.
 */
static void check_part_of_element(void)
{
    const int lengths[] = {3, 4, 5, 0};
    char out[5] = "abcd";
    int in[4], right = (rank + 1) % size, left = (rank + size - 1) % size, class, count;
    MPI_Datatype apart;
    MPI_Status status;
    bool good = true;
    MPI_Type_vector(2, 1, 2, MPI_INT, &apart);
    MPI_Type_commit(&apart);
    for (int i = 0; i < 4; i++) {
        int error = MPI_Sendrecv(out, lengths[i], MPI_CHAR, right, 10, in, 1, apart, left, 10,
                                 MPI_COMM_WORLD, &status);
        MPI_Error_class(error, &class);
        MPI_Get_elements(&status, MPI_CHAR, &count);
        good &= class == (lengths[i] % 4 == 0 ? MPI_SUCCESS : MPI_ERR_TYPE) && count == lengths[i];
        good &= MPI_Sendrecv(out, lengths[i], MPI_CHAR, right, 10, in, 4, MPI_INT, left, 10,
                             MPI_COMM_WORLD, &status) == MPI_SUCCESS;
    }
    tap_check(good, "a part of an element, of elements that lie apart, is MPI_ERR_TYPE");
    MPI_Type_free(&apart);
}

/* The tag is its own, since a neighbour may be ahead. */
static void check_probes(int length, int tag)
{
    unsigned char *out = malloc((size_t)length + 1), *in = malloc((size_t)length + GUARD);
    int right = (rank + 1) % size, left = (rank + size - 1) % size, count, flag = 0;
    MPI_Request request;
    MPI_Message message;
    MPI_Status status;
    fill(out, length);
    memset(in, 0xee, (size_t)length + GUARD);
    MPI_Iprobe(left, 77, MPI_COMM_WORLD, &flag, &status);
    bool good = flag == 0;
    MPI_Isend(out, length, MPI_BYTE, right, tag, MPI_COMM_WORLD, &request);
    MPI_Probe(MPI_ANY_SOURCE, tag, MPI_COMM_WORLD, &status);
    MPI_Get_count(&status, MPI_BYTE, &count);
    good &= status.MPI_SOURCE == left && count == length;
    MPI_Mprobe(left, MPI_ANY_TAG, MPI_COMM_WORLD, &message, &status);
    good &= message != MPI_MESSAGE_NULL && status.MPI_TAG == tag;
    MPI_Iprobe(left, tag, MPI_COMM_WORLD, &flag, MPI_STATUS_IGNORE);
    good &= flag == 0;
    MPI_Mrecv(in, length, MPI_BYTE, &message, &status);
    good &= message == MPI_MESSAGE_NULL && is_from(in, left, length);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    tap_check(good, "probe, matched probe and receive of %d bytes", length);
    free(out);
    free(in);
}

static void check_nothing(void)
{
    MPI_Request requests[2];
    MPI_Message message;
    MPI_Status status;
    int value = 5, count = -1, flag = 0, index = 0;
    bool good = MPI_Send(&value, 1, MPI_INT, MPI_PROC_NULL, 0, MPI_COMM_WORLD) == MPI_SUCCESS;
    MPI_Recv(&value, 1, MPI_INT, MPI_PROC_NULL, 0, MPI_COMM_WORLD, &status);
    MPI_Get_count(&status, MPI_INT, &count);
    good &= status.MPI_SOURCE == MPI_PROC_NULL && status.MPI_TAG == MPI_ANY_TAG && count == 0;
    MPI_Mprobe(MPI_PROC_NULL, 0, MPI_COMM_WORLD, &message, &status);
    good &= message == MPI_MESSAGE_NO_PROC;
    MPI_Mrecv(&value, 1, MPI_INT, &message, &status);
    good &= message == MPI_MESSAGE_NULL && value == 5;
    MPI_Isend(&value, 1, MPI_INT, MPI_PROC_NULL, 0, MPI_COMM_WORLD, &requests[0]);
    MPI_Irecv(&value, 1, MPI_INT, MPI_PROC_NULL, 0, MPI_COMM_WORLD, &requests[1]);
    MPI_Testall(2, requests, &flag, MPI_STATUSES_IGNORE);
    good &= flag == 1 && requests[0] == MPI_REQUEST_NULL && requests[1] == MPI_REQUEST_NULL;
    MPI_Waitany(2, requests, &index, &status);
    good &= index == MPI_UNDEFINED;
    tap_check(good, "MPI_PROC_NULL and null requests");
}

/* Where there is no message, nobody looks at its datatype. */
static void check_no_datatype(void)
{
    const MPI_Datatype none = MPI_DATATYPE_NULL;
    MPI_Request request;
    MPI_Status status;
    bool good = MPI_Send(NULL, 0, none, MPI_PROC_NULL, 0, MPI_COMM_WORLD) == MPI_SUCCESS;
    good &= MPI_Irecv(NULL, 0, none, MPI_PROC_NULL, 0, MPI_COMM_WORLD, &request) == MPI_SUCCESS;
    MPI_Wait(&request, &status);
    good &= status.MPI_SOURCE == MPI_PROC_NULL && status.MPI_TAG == MPI_ANY_TAG;
    good &= MPI_Sendrecv(NULL, 0, none, MPI_PROC_NULL, 0, NULL, 0, none, MPI_PROC_NULL, 0,
                         MPI_COMM_WORLD, &status) == MPI_SUCCESS;
    tap_check(good, "MPI_PROC_NULL goes with MPI_DATATYPE_NULL");
    tap_check(MPI_Send(NULL, 0, none, rank, 0, MPI_COMM_WORLD) == MPI_ERR_TYPE &&
                  MPI_Recv(NULL, 0, none, rank, 0, MPI_COMM_WORLD, &status) == MPI_ERR_TYPE,
              "a rank does not");
}

static void check_cancel(void)
{
    MPI_Request request;
    MPI_Status status;
    int cancelled = -1, value = -1, flag = 0;
    MPI_Irecv(&cancelled, 1, MPI_INT, MPI_ANY_SOURCE, 8, MPI_COMM_SELF, &request);
    MPI_Cancel(&request);
    MPI_Wait(&request, &status);
    MPI_Test_cancelled(&status, &flag);
    MPI_Sendrecv(&rank, 1, MPI_INT, 0, 8, &value, 1, MPI_INT, 0, 8, MPI_COMM_SELF, &status);
    tap_check(flag == 1 && value == rank && cancelled == -1,
              "a cancelled receive takes no message");
}

/* Receives from everybody, each taken once, by the call that is asked for. */
static void check_taking(bool one_at_a_time)
{
    enum { MOST = 64 };
    MPI_Request receives[MOST], sends[MOST];
    int values[MOST], indices[MOST], seen[MOST] = {0}, left = size;
    bool good = size <= MOST;
    for (int peer = 0; peer < size; peer++) {
        MPI_Irecv(&values[peer], 1, MPI_INT, peer, 6, MPI_COMM_WORLD, &receives[peer]);
        MPI_Isend(&rank, 1, MPI_INT, peer, 6, MPI_COMM_WORLD, &sends[peer]);
    }
    while (good && left > 0) {
        int count = 1;
        if (one_at_a_time)
            MPI_Waitany(size, receives, &indices[0], MPI_STATUS_IGNORE);
        else
            MPI_Waitsome(size, receives, &count, indices, MPI_STATUSES_IGNORE);
        good = count >= 1 && count <= left;
        for (int i = 0; good && i < count; i++)
            good = seen[indices[i]]++ == 0 && values[indices[i]] == indices[i];
        left -= count;
    }
    MPI_Waitall(size, sends, MPI_STATUSES_IGNORE);
    int count = 0;
    MPI_Waitsome(size, receives, &count, indices, MPI_STATUSES_IGNORE);
    tap_check(good && count == MPI_UNDEFINED, "%s takes each message once",
              one_at_a_time ? "MPI_Waitany" : "MPI_Waitsome");
}

int main(int argc, char **argv)
{
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    tap_rank(rank);
    check_mode(MPI_Isend, "MPI_Isend", true);
    check_mode(MPI_Isend, "MPI_Isend", false);
    check_mode(MPI_Issend, "MPI_Issend", true);
    check_mode(MPI_Issend, "MPI_Issend", false);
    check_mode(MPI_Irsend, "MPI_Irsend", true);
    check_layouts();
    check_order();
    check_truncation(40);
    check_truncation(3000);
    check_truncation(300000);
    check_part_of_element();
    check_probes(0, 101);
    check_probes(500, 102);
    check_probes(200000, 103);
    check_nothing();
    check_no_datatype();
    check_cancel();
    check_taking(true);
    check_taking(false);
    MPI_Finalize();
    return tap_finish();
}
