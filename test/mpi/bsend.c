/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Buffered sends: the room that MPI_BSEND_OVERHEAD promises, and what is said when there is none;
 * space that comes back in any order; flushing, detaching, automatic buffers, those of a
 * communicator, persistent ones, derived types.
 */
#include <mpi.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include "tap.h"

static int rank, size, left, right;

static bool is_class(int error, int expected)
{
    int class;
    MPI_Error_class(error, &class);
    return class == expected;
}

static unsigned char pattern(int sender, int message, int index)
{
    return (unsigned char)(sender * 31 + message * 17 + index * 7 + (index >> 8) + 1);
}

static void fill(unsigned char *bytes, int message, int length)
{
    for (int i = 0; i < length; i++)
        bytes[i] = pattern(rank, message, i);
}

static bool is_from(const unsigned char *bytes, int message, int length)
{
    for (int i = 0; i < length; i++) {
        if (bytes[i] != pattern(left, message, i))
            return false;
    }
    return true;
}

/* All ranks; a message of a tag of its own around the ring. */
static void synchronize(void)
{
    for (int i = 0; i < size; i++)
        MPI_Sendrecv(NULL, 0, MPI_INT, right, 1000, NULL, 0, MPI_INT, left, 1000, MPI_COMM_WORLD,
                     MPI_STATUS_IGNORE);
}

/* Exactly as much memory as is asked for, and not aligned. Nobody receives until all are sent. */
static void check_promise(int count, int length)
{
    size_t bytes = (size_t)count * ((size_t)length + MPI_BSEND_OVERHEAD);
    unsigned char *memory = malloc(bytes + 3), *data = malloc((size_t)length + 1);
    void *detached = NULL;
    MPI_Count detached_bytes = -1;
    bool good = true;
    memory[0] = memory[bytes + 1] = 0xa5;
    good &= MPI_Buffer_attach_c(memory + 1, (MPI_Count)bytes) == MPI_SUCCESS;
    for (int m = 0; m < count; m++) {
        fill(data, m, length);
        good &= MPI_Bsend(data, length, MPI_BYTE, right, m, MPI_COMM_WORLD) == MPI_SUCCESS;
    }
    synchronize();
    for (int m = count - 1; m >= 0; m--) {
        MPI_Recv(data, length, MPI_BYTE, left, m, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        good &= is_from(data, m, length);
    }
    MPI_Buffer_detach_c(&detached, &detached_bytes);
    good &= detached == memory + 1 && detached_bytes == (MPI_Count)bytes;
    good &= memory[0] == 0xa5 && memory[bytes + 1] == 0xa5;
    tap_check(good, "%d messages of %d bytes have the room that was asked for", count, length);
    free(memory);
    free(data);
}

static char detail_seen[256];

static void remember(MPI_Comm *comm, int *error, ...)
{
    va_list rest;
    (void)comm;
    va_start(rest, error);
    (void)va_arg(rest, const char *);
    const char *detail = va_arg(rest, const char *);
    snprintf(detail_seen, sizeof detail_seen, "%s", detail != NULL ? detail : "");
    va_end(rest);
}

static void check_too_small(void)
{
    enum { ROOM = 4000 };
    static unsigned char memory[ROOM], data[ROOM];
    MPI_Errhandler handler;
    MPI_Request request = MPI_REQUEST_NULL;
    void *detached;
    int bytes = -1;
    MPI_Comm_create_errhandler(remember, &handler);
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, handler);
    tap_check(is_class(MPI_Bsend(data, 1, MPI_BYTE, right, 1, MPI_COMM_WORLD), MPI_ERR_BUFFER) &&
                  strstr(detail_seen, "No buffer") != NULL,
              "no buffer: %s", detail_seen);
    MPI_Buffer_attach(memory, ROOM);
    int error = MPI_Bsend(data, ROOM, MPI_BYTE, right, 1, MPI_COMM_WORLD);
    tap_check(is_class(error, MPI_ERR_BUFFER) && strstr(detail_seen, "needs 4000 bytes") != NULL &&
                  strstr(detail_seen, "4000 are attached") != NULL &&
                  strstr(detail_seen, "0 are in use") != NULL,
              "too small: %s", detail_seen);
    error = MPI_Ibsend(data, ROOM, MPI_BYTE, right, 1, MPI_COMM_WORLD, &request);
    tap_check(is_class(error, MPI_ERR_BUFFER) && request == MPI_REQUEST_NULL, "also MPI_Ibsend");
    tap_check(MPI_Bsend(data, ROOM, MPI_BYTE, MPI_PROC_NULL, 1, MPI_COMM_WORLD) == MPI_SUCCESS,
              "MPI_PROC_NULL needs no room");
    tap_check(is_class(MPI_Buffer_attach(memory, ROOM), MPI_ERR_BUFFER), "only one is attached");
    MPI_Bsend_init(data, ROOM, MPI_BYTE, right, 1, MPI_COMM_WORLD, &request);
    tap_check(is_class(MPI_Start(&request), MPI_ERR_BUFFER), "MPI_Start says so too");
    MPI_Request_free(&request);
    MPI_Buffer_detach(&detached, &bytes);
    tap_check(detached == memory && bytes == ROOM, "it can be detached");
    tap_check(is_class(MPI_Buffer_detach(&detached, &bytes), MPI_ERR_BUFFER), "once");
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    MPI_Errhandler_free(&handler);
}

/* Messages of several lengths, received in another order; the same room is used again and again. */
static void check_reuse(void)
{
    enum { SLOTS = 8, ROUNDS = 60, LENGTH = 150000 };
    size_t bytes = (size_t)SLOTS * (LENGTH + MPI_BSEND_OVERHEAD);
    unsigned char *memory = malloc(bytes), *data = malloc(LENGTH);
    void *detached;
    MPI_Count detached_bytes;
    bool good = true;
    MPI_Buffer_attach_c(memory, (MPI_Count)bytes);
    for (int round = 0; round < ROUNDS; round++) {
        for (int m = 0; m < SLOTS; m++) {
            int length = LENGTH >> (round + m) % 8;
            fill(data, round + m, length);
            good &= MPI_Bsend(data, length, MPI_BYTE, right, m, MPI_COMM_WORLD) == MPI_SUCCESS;
        }
        for (int m = 0; m < SLOTS; m++) {
            int which = (m * 3 + round) % SLOTS, length = LENGTH >> (round + which) % 8, got;
            MPI_Status status;
            MPI_Recv(data, LENGTH, MPI_BYTE, left, which, MPI_COMM_WORLD, &status);
            MPI_Get_count(&status, MPI_BYTE, &got);
            good &= got == length && is_from(data, round + which, length);
        }
        MPI_Buffer_flush();
    }
    MPI_Buffer_detach_c(&detached, &detached_bytes);
    tap_check(good, "room comes back in any order, for %d rounds", ROUNDS);
    free(memory);
    free(data);
}

/* MPI_Buffer_iflush is done when what was sent before it has left; detach waits for that. */
static void check_flush(void)
{
    enum { LENGTH = 1 << 20 };
    unsigned char *data = malloc(LENGTH), *memory = malloc(2 * (LENGTH + MPI_BSEND_OVERHEAD));
    MPI_Request flush, send;
    void *detached;
    int flag = -1, bytes;
    bool good;
    MPI_Buffer_attach(memory, 2 * (LENGTH + MPI_BSEND_OVERHEAD));
    MPI_Buffer_iflush(&flush);
    MPI_Test(&flush, &flag, MPI_STATUS_IGNORE);
    good = flag == 1 && flush == MPI_REQUEST_NULL;
    fill(data, 1, LENGTH);
    MPI_Ibsend(data, LENGTH, MPI_BYTE, right, 1, MPI_COMM_WORLD, &send);
    MPI_Test(&send, &flag, MPI_STATUS_IGNORE);
    good &= flag == 1; /* it is in the buffer, so the data may change */
    memset(data, 0, LENGTH);
    MPI_Buffer_iflush(&flush);
    MPI_Recv(data, LENGTH, MPI_BYTE, left, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    good &= is_from(data, 1, LENGTH) && MPI_Wait(&flush, MPI_STATUS_IGNORE) == MPI_SUCCESS;
    /* The neighbour receives the last one when it is told to: behind the detach of its neighbour,
     * if that did not wait. Everybody posts it before. */
    unsigned char *in = malloc(LENGTH);
    MPI_Request receive;
    MPI_Irecv(in, LENGTH, MPI_BYTE, left, 2, MPI_COMM_WORLD, &receive);
    fill(data, 2, LENGTH);
    MPI_Bsend(data, LENGTH, MPI_BYTE, right, 2, MPI_COMM_WORLD);
    MPI_Buffer_detach(&detached, &bytes);
    memset(memory, 0xff, 2 * (LENGTH + MPI_BSEND_OVERHEAD));
    MPI_Wait(&receive, MPI_STATUS_IGNORE);
    good &= is_from(in, 2, LENGTH);
    tap_check(good, "flush and detach wait until the messages have left");
    free(in);
    free(data);
    free(memory);
}

static void check_automatic(void)
{
    enum { MESSAGES = 50, LENGTH = 100000 };
    unsigned char *data = malloc(LENGTH);
    void *detached = NULL;
    int bytes = -1;
    bool good = MPI_Buffer_attach(MPI_BUFFER_AUTOMATIC, 0) == MPI_SUCCESS;
    for (int m = 0; m < MESSAGES; m++) {
        fill(data, m, LENGTH);
        good &= MPI_Bsend(data, LENGTH, MPI_BYTE, right, 4, MPI_COMM_WORLD) == MPI_SUCCESS;
    }
    for (int m = 0; m < MESSAGES; m++) {
        MPI_Recv(data, LENGTH, MPI_BYTE, left, 4, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        good &= is_from(data, m, LENGTH);
    }
    MPI_Buffer_detach(&detached, &bytes);
    tap_check(good && detached == MPI_BUFFER_AUTOMATIC && bytes == 0, "MPI_BUFFER_AUTOMATIC");
    free(data);
}

/* A communicator's own buffer is taken before the process's, and by no other communicator. */
static void check_communicator(void)
{
    static unsigned char large[20000], small[1000], data[8000];
    MPI_Comm comm;
    MPI_Request flush;
    MPI_Count large_bytes = -1;
    void *detached = NULL;
    int bytes = -1;
    MPI_Comm_dup(MPI_COMM_WORLD, &comm);
    MPI_Comm_set_errhandler(comm, MPI_ERRORS_RETURN);
    MPI_Comm_attach_buffer(comm, large, sizeof large);
    MPI_Buffer_attach(small, sizeof small);
    fill(data, 3, sizeof data);
    bool good = MPI_Bsend(data, sizeof data, MPI_BYTE, right, 3, comm) == MPI_SUCCESS;
    good &=
        is_class(MPI_Bsend(data, sizeof data, MPI_BYTE, right, 3, MPI_COMM_WORLD), MPI_ERR_BUFFER);
    memset(data, 0, sizeof data);
    MPI_Recv(data, sizeof data, MPI_BYTE, left, 3, comm, MPI_STATUS_IGNORE);
    good &= is_from(data, 3, sizeof data);
    MPI_Comm_iflush_buffer(comm, &flush);
    MPI_Wait(&flush, MPI_STATUS_IGNORE);
    MPI_Comm_flush_buffer(comm);
    MPI_Comm_detach_buffer(comm, &detached, &bytes);
    good &= detached == large && bytes == sizeof large;
    good &= is_class(MPI_Bsend(data, sizeof data, MPI_BYTE, right, 3, comm), MPI_ERR_BUFFER);
    MPI_Buffer_detach(&detached, &bytes);
    tap_check(good && detached == small, "a buffer of a communicator");
    MPI_Comm_attach_buffer_c(comm, small, sizeof small);
    MPI_Comm_detach_buffer_c(comm, &detached, &large_bytes);
    tap_check(detached == small && large_bytes == sizeof small, "the same with a large count");
    MPI_Comm_attach_buffer(comm, large, sizeof large); /* goes with it */
    MPI_Comm_free(&comm);
}

static void check_persistent(void)
{
    enum { ROWS = 500 };
    static int matrix[ROWS][3], column[ROWS];
    MPI_Datatype type;
    MPI_Request send, nobody;
    bool good = true;
    MPI_Buffer_attach(MPI_BUFFER_AUTOMATIC, 0);
    MPI_Type_vector(ROWS, 1, 3, MPI_INT, &type);
    MPI_Type_commit(&type);
    MPI_Bsend_init(&matrix[0][1], 1, type, right, 5, MPI_COMM_WORLD, &send);
    MPI_Bsend_init(matrix, 1, type, MPI_PROC_NULL, 5, MPI_COMM_WORLD, &nobody);
    MPI_Type_free(&type);
    for (int round = 0; round < 5; round++) {
        for (int r = 0; r < ROWS; r++)
            matrix[r][1] = rank * 10000 + round * 1000 + r;
        MPI_Start(&send);
        MPI_Start(&nobody);
        MPI_Wait(&send, MPI_STATUS_IGNORE);
        MPI_Wait(&nobody, MPI_STATUS_IGNORE);
        memset(matrix, 0, sizeof matrix);
        MPI_Recv(column, ROWS, MPI_INT, left, 5, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        for (int r = 0; r < ROWS; r++)
            good &= column[r] == left * 10000 + round * 1000 + r;
    }
    MPI_Request_free(&send);
    MPI_Request_free(&nobody);
    tap_check(good, "MPI_Bsend_init of a derived type");
    /* The buffer stays attached: MPI_Finalize waits for what is in it. */
    MPI_Bsend(matrix, ROWS, MPI_INT, right, 6, MPI_COMM_WORLD);
    MPI_Recv(column, ROWS, MPI_INT, left, 6, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
}

int main(int argc, char **argv)
{
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_RETURN);
    left = (rank + size - 1) % size;
    right = (rank + 1) % size;
    tap_rank(rank);
    check_promise(1, 0);
    check_promise(1, 1);
    check_promise(100, 77);
    check_promise(7, 300001);
    check_too_small();
    check_reuse();
    check_flush();
    check_automatic();
    check_communicator();
    check_persistent();
    MPI_Finalize();
    return tap_finish();
}
