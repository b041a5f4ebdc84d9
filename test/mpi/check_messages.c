/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Messages of wrong programs (mpi_check=full): a buffer that is changed while a send has it,
 * buffers that overlap, datatypes that differ between sender and receiver. Each mistake is an error
 * of its class with a sentence that names the call, the peer and the tag; the messages before and
 * after it are as without checks. And what looks like a mistake and is none.
 */
#include <mpi.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include "tap.h"

enum { LONG = 50000, TAG = 7, GO = 8, QUIET = 9 }; /* nothing is sent with the last one */

static int rank, other;
static int data[LONG], more[LONG];
static MPI_Comm comm;

/* Whether the error is of the class, and its text has all of the words. */
static bool is(int error, int class, const char *const words[])
{
    int found, length;
    char text[MPI_MAX_ERROR_STRING];
    MPI_Error_class(error, &found);
    MPI_Error_string(error, text, &length);
    bool right = found == class;
    for (int i = 0; right && words[i] != NULL; i++)
        right = strstr(text, words[i]) != NULL;
    if (!right)
        fprintf(stderr, "rank %d: class %d, awaited %d: %s\n", rank, found, class, text);
    return right;
}

#define WORDS(...) ((const char *const[]){__VA_ARGS__, NULL})

static void fill(int *numbers, int count)
{
    for (int i = 0; i < count; i++)
        numbers[i] = i + 1;
}

/* -- changed buffers ------------------------------------------------------------------------- */

typedef enum way { ISEND, ISSEND, PERSISTENT, WAITALL, VECTOR, WAYS } way_t;

static void begin(way_t way, int count, MPI_Datatype vector, MPI_Request *request)
{
    if (way == ISSEND)
        MPI_Issend(data, count, MPI_INT, other, TAG, comm, request);
    else if (way == PERSISTENT)
        MPI_Send_init(data, count, MPI_INT, other, TAG, comm, request);
    else if (way == VECTOR)
        MPI_Isend(data, 1, vector, other, TAG, comm, request);
    else
        MPI_Isend(data, count, MPI_INT, other, TAG, comm, request);
    if (way == PERSISTENT)
        MPI_Start(request);
}

/* The receiver tells when it has all, so that the change disturbs nothing. */
static void change(way_t way, int count, bool is_right)
{
    static const char *const calls[] = {"MPI_Isend to", "MPI_Issend to", "MPI_Send_init to",
                                        "MPI_Isend to", "MPI_Isend to"};
    MPI_Datatype vector;
    MPI_Type_vector(count, 1, 2, MPI_INT, &vector);
    MPI_Type_commit(&vector);
    if (rank == 1) {
        MPI_Recv(more, count, MPI_INT, 0, TAG, comm, MPI_STATUS_IGNORE);
        MPI_Send(NULL, 0, MPI_INT, 0, GO, comm);
        tap_check(true, "received");
    } else {
        MPI_Request request;
        MPI_Status status;
        fill(data, LONG);
        begin(way, count, vector, &request);
        MPI_Recv(NULL, 0, MPI_INT, 1, GO, comm, MPI_STATUS_IGNORE);
        if (is_right)
            data[way == VECTOR ? 1 : count] = -1; /* a gap, or behind the end */
        else
            data[2] ^= 0x100;
        int error =
            way == WAITALL ? MPI_Waitall(1, &request, &status) : MPI_Wait(&request, &status);
        const char *byte = way == VECTOR ? "byte 5 of" : "byte 9 of";
        if (is_right)
            tap_check(error == MPI_SUCCESS, "way %d, %d numbers: a change next to the buffer", way,
                      count);
        else
            tap_check(is(error, way == WAITALL ? MPI_ERR_IN_STATUS : MPI_ERR_BUFFER,
                         WORDS(calls[way], "rank 1 with tag 7", "check_messages", byte)) &&
                          (way != WAITALL || status.MPI_ERROR == MPI_ERR_BUFFER),
                      "way %d, %d numbers: a change of the buffer", way, count);
        if (way == PERSISTENT)
            MPI_Request_free(&request);
    }
    MPI_Type_free(&vector);
}

/* -- buffers that overlap -------------------------------------------------------------------- */

/* The receives are cancelled; of two that overlap the second one is not begun. */
static void overlap(void)
{
    MPI_Request first, second;
    MPI_Irecv(data, 10, MPI_INT, other, QUIET, comm, &first);
    int error = MPI_Irecv(data + 9, 10, MPI_INT, MPI_ANY_SOURCE, MPI_ANY_TAG, comm, &second);
    tap_check(second == MPI_REQUEST_NULL &&
                  is(error, MPI_ERR_BUFFER,
                     WORDS("MPI_Irecv from any rank with any tag", "tag 9", "byte 36")),
              "a receive where another one is");
    error = MPI_Isend(data + 1, 1, MPI_INT, other, GO, comm, &second);
    tap_check(is(error, MPI_ERR_BUFFER, WORDS("MPI_Isend to", "MPI_Irecv from", "byte 4")),
              "a send from where a receive is");
    error = MPI_Send(data + 1, 1, MPI_INT, other, GO, comm);
    tap_check(is(error, MPI_ERR_BUFFER, WORDS("MPI_Send to")), "a blocking one");
    error = MPI_Recv(data + 1, 1, MPI_INT, other, GO, comm, MPI_STATUS_IGNORE);
    tap_check(is(error, MPI_ERR_BUFFER, WORDS("MPI_Recv from")), "a blocking receive");
    error = MPI_Irecv(data + 10, 10, MPI_INT, other, QUIET, comm, &second);
    tap_check(error == MPI_SUCCESS, "a receive behind another one");
    MPI_Cancel(&first);
    MPI_Cancel(&second);
    MPI_Wait(&first, MPI_STATUS_IGNORE);
    MPI_Wait(&second, MPI_STATUS_IGNORE);

    error = MPI_Sendrecv(data, 10, MPI_INT, other, QUIET, data + 5, 10, MPI_INT, other, QUIET, comm,
                         MPI_STATUS_IGNORE);
    tap_check(is(error, MPI_ERR_BUFFER, WORDS("MPI_Send to", "MPI_Irecv from")), "MPI_Sendrecv");
    error = MPI_Isendrecv(data, 10, MPI_INT, other, QUIET, data + 5, 10, MPI_INT, other, QUIET,
                          comm, &first);
    tap_check(is(error, MPI_ERR_BUFFER, WORDS("overlaps")), "MPI_Isendrecv");
}

static void overlap_when_started(void)
{
    MPI_Request first, second;
    MPI_Recv_init(data, 10, MPI_INT, other, TAG, comm, &first);
    MPI_Recv_init(data, 10, MPI_INT, other, TAG, comm, &second);
    MPI_Start(&first);
    tap_check(is(MPI_Start(&second), MPI_ERR_BUFFER, WORDS("MPI_Recv_init from")),
              "a persistent receive where another one is");
    MPI_Send(more, 10, MPI_INT, other, TAG, comm);
    MPI_Wait(&first, MPI_STATUS_IGNORE);
    tap_check(MPI_Start(&second) == MPI_SUCCESS, "when the other one has ended");
    MPI_Send(more, 10, MPI_INT, other, TAG, comm);
    MPI_Wait(&second, MPI_STATUS_IGNORE);
    MPI_Request_free(&first);
    MPI_Request_free(&second);
}

/* Columns of a matrix lie between each other; and all sends may read the same. */
static void interleave(void)
{
    MPI_Datatype column;
    MPI_Request requests[8];
    MPI_Type_vector(100, 1, 4, MPI_INT, &column);
    MPI_Type_commit(&column);
    int errors = 0;
    for (int i = 0; i < 4; i++)
        errors += MPI_Irecv(data + i, 1, column, other, i, comm, &requests[i]) != MPI_SUCCESS;
    fill(more, 100);
    for (int i = 0; i < 4; i++)
        errors += MPI_Isend(more, 100, MPI_INT, other, i, comm, &requests[4 + i]) != MPI_SUCCESS;
    errors += MPI_Waitall(8, requests, MPI_STATUSES_IGNORE) != MPI_SUCCESS;
    for (int i = 0; i < 400; i++)
        errors += data[i] != i / 4 + 1;
    tap_check(errors == 0, "columns side by side, and one buffer that is sent four times");
    MPI_Irecv(data, 1, column, other, QUIET, comm, &requests[0]);
    tap_check(is(MPI_Irecv(data + 8, 1, column, other, QUIET, comm, &requests[1]), MPI_ERR_BUFFER,
                 WORDS("byte 32")),
              "the same column from another row on");
    MPI_Cancel(&requests[0]);
    MPI_Wait(&requests[0], MPI_STATUS_IGNORE);
    MPI_Type_free(&column);
}

/* -- datatypes ------------------------------------------------------------------------------- */

typedef struct side {
    MPI_Datatype type;
    int count;
} side_t;

typedef enum receive { RECV, IRECV, MRECV, IMRECV, RECEIVES } receive_t;

static int receive(receive_t how, side_t side, MPI_Status *status)
{
    MPI_Message message;
    MPI_Request request;
    if (how == RECV)
        return MPI_Recv(more, side.count, side.type, 0, TAG, comm, status);
    if (how == IRECV) {
        MPI_Irecv(more, side.count, side.type, MPI_ANY_SOURCE, TAG, comm, &request);
        return MPI_Wait(&request, status);
    }
    MPI_Mprobe(MPI_ANY_SOURCE, TAG, comm, &message, status);
    if (how == MRECV)
        return MPI_Mrecv(more, side.count, side.type, &message, status);
    MPI_Imrecv(more, side.count, side.type, &message, &request);
    return MPI_Wait(&request, status);
}

/* Whether the data has come, with its length in the statuses. */
static void compare(side_t sent, side_t awaited, const char *words[2])
{
    int bytes, size;
    MPI_Status status, probed;
    MPI_Type_size(sent.type, &size);
    for (receive_t how = RECV; how < RECEIVES; how++) {
        if (rank == 0) {
            MPI_Send(data, sent.count, sent.type, 1, TAG, comm);
            MPI_Recv(NULL, 0, MPI_INT, 1, GO, comm, MPI_STATUS_IGNORE);
            tap_check(true, "sent");
            continue;
        }
        MPI_Probe(0, TAG, comm, &probed);
        int error = receive(how, awaited, &status), in_probe;
        MPI_Get_count(&status, MPI_BYTE, &bytes);
        MPI_Get_count(&probed, MPI_BYTE, &in_probe);
        bool right = words == NULL ? error == MPI_SUCCESS
                                   : is(error, MPI_ERR_TYPE, WORDS(words[0], words[1], "tag 7"));
        tap_check(
            right && bytes == sent.count * size && in_probe == bytes && status.MPI_SOURCE == 0,
            "%d elements, received in way %d: %s", sent.count, how, words == NULL ? "" : words[0]);
        MPI_Send(NULL, 0, MPI_INT, 0, GO, comm);
    }
}

typedef struct record {
    int number;
    double value[2];
} record_t;

static MPI_Datatype make_record(MPI_Datatype second)
{
    MPI_Datatype types[] = {MPI_INT, second}, plain, type;
    int lengths[] = {1, 2};
    MPI_Aint places[] = {offsetof(record_t, number), offsetof(record_t, value)};
    MPI_Type_create_struct(2, lengths, places, types, &plain);
    MPI_Type_create_resized(plain, 0, sizeof(record_t), &type);
    MPI_Type_commit(&type);
    MPI_Type_free(&plain);
    return type;
}

static void types(void)
{
    MPI_Datatype record = make_record(MPI_DOUBLE), wrong = make_record(MPI_INT64_T), vector;
    MPI_Type_vector(50, 1, 2, MPI_INT, &vector);
    MPI_Type_commit(&vector);
    compare((side_t){MPI_INT, 4}, (side_t){MPI_FLOAT, 4},
            (const char *[]){"rank 0 has sent 4 MPI_INT", "of 4 MPI_FLOAT"});
    compare((side_t){MPI_INT, LONG / 2}, (side_t){MPI_FLOAT, LONG},
            (const char *[]){"rank 0 has sent 25000 MPI_INT", "of 50000 MPI_FLOAT"});
    compare((side_t){record, 3}, (side_t){wrong, 5},
            (const char *[]){"9 elements, 60 bytes", "15 elements, 100 bytes"});
    compare((side_t){MPI_INT, 1}, (side_t){wrong, 5}, NULL);
    compare((side_t){record, 3}, (side_t){record, 5}, NULL);
    compare((side_t){MPI_INT, 4}, (side_t){vector, 1}, NULL);
    compare((side_t){vector, 2}, (side_t){MPI_INT32_T, LONG}, NULL);
    compare((side_t){MPI_BYTE, 16}, (side_t){MPI_INT, 10}, NULL);
    compare((side_t){record, 2}, (side_t){MPI_PACKED, 100}, NULL);
    compare((side_t){MPI_INT, 0}, (side_t){MPI_DOUBLE, 0}, NULL);
    MPI_Type_free(&record);
    MPI_Type_free(&wrong);
    MPI_Type_free(&vector);
}

/* -- what is legal --------------------------------------------------------------------------- */

/* A request that was freed tells nothing; a buffer may be used again after a test. */
static void go_on(void)
{
    MPI_Request request, freed;
    int flag = 0;
    MPI_Isend(data, LONG, MPI_INT, other, TAG, comm, &freed);
    MPI_Request_free(&freed);
    MPI_Recv(more, LONG, MPI_INT, other, TAG, comm, MPI_STATUS_IGNORE);
    MPI_Sendrecv(NULL, 0, MPI_INT, other, GO, NULL, 0, MPI_INT, other, GO, comm, MPI_STATUS_IGNORE);
    data[0]++;
    int error = MPI_Irecv(data, LONG, MPI_INT, other, TAG, comm, &request);
    tap_check(error == MPI_SUCCESS, "a buffer whose request was freed");
    MPI_Send(more, LONG, MPI_INT, other, TAG, comm);
    while (error == MPI_SUCCESS && !flag)
        error = MPI_Request_get_status(request, &flag, MPI_STATUS_IGNORE);
    tap_check(MPI_Send(data, 1, MPI_INT, MPI_PROC_NULL, TAG, comm) == MPI_SUCCESS &&
                  MPI_Isend(data, 1, MPI_INT, other, TAG, comm, &freed) == MPI_SUCCESS,
              "a buffer whose receive is known to have ended");
    MPI_Recv(more, 1, MPI_INT, other, TAG, comm, MPI_STATUS_IGNORE);
    MPI_Wait(&freed, MPI_STATUS_IGNORE);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    MPI_Sendrecv_replace(data, LONG, MPI_INT, other, TAG, other, TAG, comm, MPI_STATUS_IGNORE);
    error = MPI_Recv(more, 1, MPI_INT, MPI_PROC_NULL, TAG, comm, MPI_STATUS_IGNORE);
    tap_check(error == MPI_SUCCESS, "the rest goes on");
    if (rank == 0)
        MPI_Send(data, 9, MPI_INT, 1, TAG, comm);
    else
        tap_check(is(MPI_Recv(more, 8, MPI_INT, 0, TAG, comm, MPI_STATUS_IGNORE), MPI_ERR_TRUNCATE,
                     WORDS("")),
                  "a message that is too long");
}

int main(void)
{
    MPI_Init(NULL, NULL);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_dup(MPI_COMM_WORLD, &comm);
    MPI_Comm_set_errhandler(comm, MPI_ERRORS_RETURN);
    tap_rank(rank);
    other = 1 - rank;
    for (way_t way = ISEND; way < WAYS; way++) {
        change(way, 10, false);
        change(way, LONG / 2, false);
        change(way, LONG / 4, true);
    }
    overlap();
    overlap_when_started();
    interleave();
    types();
    go_on();
    MPI_Comm_free(&comm);
    MPI_Finalize();
    return tap_finish();
}
