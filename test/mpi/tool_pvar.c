/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Performance variables: every one that is counted is described, found and read; sessions and
 * handles have values of their own; and the counts are what the program has sent. The argument
 * names the transport that carries the messages of rank 0 to rank 1, or to itself.
 */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tap.h"
#include "tool.h"

enum { TEXT = 1024, SHORT = 24, LONG = 1 << 20 };

static int rank = -1, size;
static MPI_T_pvar_session session;

typedef struct info {
    char name[TEXT];
    int class, bind, readonly, continuous, atomic, verbosity;
    MPI_Datatype datatype;
    MPI_T_enum enumeration;
} info_t;

static int get_info(int index, info_t *info)
{
    char description[TEXT];
    int name_length = TEXT, length = TEXT;
    int error = MPI_T_pvar_get_info(index, info->name, &name_length, &info->verbosity, &info->class,
                                    &info->datatype, &info->enumeration, description, &length,
                                    &info->bind, &info->readonly, &info->continuous, &info->atomic);
    if (error == MPI_SUCCESS && (name_length != (int)strlen(info->name) + 1 || length < 2))
        return -1;
    return error;
}

static bool is_sound(const info_t *info)
{
    bool is_real =
        info->class == MPI_T_PVAR_CLASS_TIMER || info->class == MPI_T_PVAR_CLASS_PERCENTAGE;
    MPI_Datatype expected = info->class == MPI_T_PVAR_CLASS_STATE ? MPI_INT
                            : is_real                             ? MPI_DOUBLE
                                                                  : MPI_UNSIGNED_LONG;
    return info->class >= MPI_T_PVAR_CLASS_STATE && info->class <= MPI_T_PVAR_CLASS_GENERIC &&
           info->datatype == expected &&
           (info->bind == MPI_T_BIND_NO_OBJECT || info->bind == MPI_T_BIND_MPI_COMM ||
            info->bind == MPI_T_BIND_MPI_WIN) &&
           info->readonly == info->continuous && info->atomic == !info->continuous;
}

static MPI_T_pvar_handle open_pvar(const char *name, int class, void *object)
{
    int index = -1, count = 0;
    MPI_T_pvar_handle handle = MPI_T_PVAR_HANDLE_NULL;
    if (MPI_T_pvar_get_index(name, class, &index) != MPI_SUCCESS ||
        MPI_T_pvar_handle_alloc(session, index, object, &handle, &count) != MPI_SUCCESS ||
        count != 1)
        tap_check(false, "no variable %s", name);
    return handle;
}

static unsigned long value_of(MPI_T_pvar_handle handle)
{
    unsigned long value = (unsigned long)-1;
    MPI_T_pvar_read(session, handle, &value);
    return value;
}

/* -- what there is ------------------------------------------------------------------------------
 */

static int check_all(const char *when)
{
    int count = 0, wrong = 0;
    bool runs = rank >= 0;
    MPI_Comm comm = MPI_COMM_WORLD;
    MPI_T_pvar_get_num(&count);
    for (int i = 0; i < count; i++) {
        info_t info;
        int found = -1, elements = 0;
        double value;
        MPI_T_pvar_handle handle = MPI_T_PVAR_HANDLE_NULL;
        bool good = get_info(i, &info) == MPI_SUCCESS && is_sound(&info) &&
                    MPI_T_pvar_get_index(info.name, info.class, &found) == MPI_SUCCESS &&
                    found == i;
        if (good &&
            (info.bind == MPI_T_BIND_NO_OBJECT || (info.bind == MPI_T_BIND_MPI_COMM && runs)))
            good = MPI_T_pvar_handle_alloc(session, i, &comm, &handle, &elements) == MPI_SUCCESS &&
                   MPI_T_pvar_read(session, handle, &value) == MPI_SUCCESS &&
                   MPI_T_pvar_handle_free(session, &handle) == MPI_SUCCESS &&
                   handle == MPI_T_PVAR_HANDLE_NULL;
        if (!good)
            tap_check(false, "%s, variable %d (%s) is wrong", when, i, info.name);
        wrong += !good;
    }
    tap_check(wrong == 0 && count > 30, "%s, all variables are described, found and read", when);
    return count;
}

static void check_errors(void)
{
    int count = 0, number = -7;
    info_t info;
    MPI_T_pvar_session other = MPI_T_PVAR_SESSION_NULL;
    MPI_T_pvar_handle handle = MPI_T_PVAR_HANDLE_NULL;
    unsigned long value = 7;
    MPI_T_pvar_get_num(&count);
    tap_check(get_info(-1, &info) == MPI_T_ERR_INVALID_INDEX &&
                  get_info(count, &info) == MPI_T_ERR_INVALID_INDEX &&
                  MPI_T_pvar_handle_alloc(session, count, NULL, &handle, &number) ==
                      MPI_T_ERR_INVALID_INDEX,
              "wrong indices");
    tap_check(MPI_T_pvar_get_index("no such", MPI_T_PVAR_CLASS_COUNTER, &number) ==
                      MPI_T_ERR_INVALID_NAME &&
                  MPI_T_pvar_get_index("pml_ob1_eager", MPI_T_PVAR_CLASS_TIMER, &number) ==
                      MPI_T_ERR_INVALID_NAME &&
                  MPI_T_pvar_get_index(NULL, MPI_T_PVAR_CLASS_COUNTER, &number) ==
                      MPI_T_ERR_INVALID &&
                  MPI_T_pvar_get_num(NULL) == MPI_T_ERR_INVALID && number == -7,
              "wrong names, and a wrong class");
    tap_check(MPI_T_pvar_session_free(&other) == MPI_T_ERR_INVALID_SESSION &&
                  MPI_T_pvar_session_create(NULL) == MPI_T_ERR_INVALID &&
                  MPI_T_pvar_handle_alloc(other, 0, NULL, &handle, &number) ==
                      MPI_T_ERR_INVALID_SESSION &&
                  MPI_T_pvar_handle_free(other, &handle) == MPI_T_ERR_INVALID_SESSION &&
                  MPI_T_pvar_start(other, MPI_T_PVAR_ALL_HANDLES) == MPI_T_ERR_INVALID_SESSION &&
                  MPI_T_pvar_stop(other, handle) == MPI_T_ERR_INVALID_SESSION &&
                  MPI_T_pvar_read(other, handle, &value) == MPI_T_ERR_INVALID_SESSION &&
                  MPI_T_pvar_write(other, handle, &value) == MPI_T_ERR_INVALID_SESSION &&
                  MPI_T_pvar_reset(other, handle) == MPI_T_ERR_INVALID_SESSION &&
                  MPI_T_pvar_readreset(other, handle, &value) == MPI_T_ERR_INVALID_SESSION,
              "wrong sessions");
    tap_check(
        MPI_T_pvar_handle_free(session, &handle) == MPI_T_ERR_INVALID_HANDLE &&
            MPI_T_pvar_start(session, handle) == MPI_T_ERR_INVALID_HANDLE &&
            MPI_T_pvar_stop(session, handle) == MPI_T_ERR_INVALID_HANDLE &&
            MPI_T_pvar_reset(session, handle) == MPI_T_ERR_INVALID_HANDLE &&
            MPI_T_pvar_read(session, MPI_T_PVAR_ALL_HANDLES, &value) == MPI_T_ERR_INVALID_HANDLE &&
            MPI_T_pvar_write(session, MPI_T_PVAR_ALL_HANDLES, &value) == MPI_T_ERR_INVALID_HANDLE &&
            MPI_T_pvar_readreset(session, MPI_T_PVAR_ALL_HANDLES, &value) ==
                MPI_T_ERR_INVALID_HANDLE &&
            value == 7,
        "wrong handles");
    MPI_T_pvar_session_create(&other);
    handle = open_pvar("pml_ob1_eager", MPI_T_PVAR_CLASS_COUNTER, NULL);
    tap_check(MPI_T_pvar_read(other, handle, &value) == MPI_T_ERR_INVALID_HANDLE &&
                  MPI_T_pvar_handle_free(other, &handle) == MPI_T_ERR_INVALID_HANDLE &&
                  MPI_T_pvar_read(session, handle, NULL) == MPI_T_ERR_INVALID,
              "a handle of another session, and no buffer");
    MPI_T_pvar_handle_free(session, &handle);
    tap_check(MPI_T_pvar_session_free(&other) == MPI_SUCCESS && other == MPI_T_PVAR_SESSION_NULL,
              "a session is freed");
}

static void check_objects(void)
{
    int index = -1, count = 0;
    MPI_Comm null = MPI_COMM_NULL, comm = MPI_COMM_SELF;
    MPI_T_pvar_handle handle = MPI_T_PVAR_HANDLE_NULL;
    MPI_T_pvar_get_index("pml_ob1_comm_sent", MPI_T_PVAR_CLASS_COUNTER, &index);
    tap_check(MPI_T_pvar_handle_alloc(session, index, NULL, &handle, &count) == MPI_T_ERR_INVALID &&
                  MPI_T_pvar_handle_alloc(session, index, &null, &handle, &count) ==
                      MPI_T_ERR_INVALID &&
                  MPI_T_pvar_handle_alloc(session, index, &comm, &handle, &count) == MPI_SUCCESS,
              "a variable of a communicator needs one");
    MPI_T_pvar_handle_free(session, &handle);
}

/* A level is read alone. */
static void check_level(void)
{
    unsigned long value = 7;
    MPI_Comm comm = MPI_COMM_SELF;
    MPI_T_pvar_handle level = open_pvar("pml_ob1_comm_unexpected", MPI_T_PVAR_CLASS_LEVEL, &comm);
    tap_check(MPI_T_pvar_start(session, level) == MPI_T_ERR_PVAR_NO_STARTSTOP &&
                  MPI_T_pvar_stop(session, level) == MPI_T_ERR_PVAR_NO_STARTSTOP &&
                  MPI_T_pvar_reset(session, level) == MPI_T_ERR_PVAR_NO_WRITE &&
                  MPI_T_pvar_write(session, level, &value) == MPI_T_ERR_PVAR_NO_WRITE &&
                  MPI_T_pvar_readreset(session, level, &value) == MPI_T_ERR_PVAR_NO_ATOMIC,
              "a level can be read alone");
    tap_check(MPI_T_pvar_start(session, MPI_T_PVAR_ALL_HANDLES) == MPI_SUCCESS &&
                  MPI_T_pvar_reset(session, MPI_T_PVAR_ALL_HANDLES) == MPI_SUCCESS &&
                  MPI_T_pvar_stop(session, MPI_T_PVAR_ALL_HANDLES) == MPI_SUCCESS,
              "all handles passes over it");
    MPI_T_pvar_handle_free(session, &level);
}

/* -- counts --------------------------------------------------------------------------------------
 */

static void send_self(MPI_Comm comm, int times, int bytes)
{
    static char from[LONG], to[LONG];
    for (int i = 0; i < times; i++)
        MPI_Sendrecv(from, bytes, MPI_BYTE, 0, 1, to, bytes, MPI_BYTE, 0, 1, comm,
                     MPI_STATUS_IGNORE);
}

/* A handle counts while it is started, from 0, whatever others do. */
static void check_handles(void)
{
    unsigned long value = 100;
    MPI_T_pvar_handle one = open_pvar("pml_ob1_sent_self", MPI_T_PVAR_CLASS_COUNTER, NULL);
    MPI_T_pvar_handle two = open_pvar("pml_ob1_sent_self", MPI_T_PVAR_CLASS_COUNTER, NULL);
    send_self(MPI_COMM_SELF, 3, SHORT);
    tap_check(value_of(one) == 0, "a handle that was not started has counted nothing");
    MPI_T_pvar_start(session, one);
    send_self(MPI_COMM_SELF, 5, SHORT);
    MPI_T_pvar_start(session, two);
    send_self(MPI_COMM_SELF, 2, SHORT);
    tap_check(value_of(one) == 7 && value_of(two) == 2, "each counts from its own start");
    MPI_T_pvar_stop(session, one);
    send_self(MPI_COMM_SELF, 4, SHORT);
    tap_check(value_of(one) == 7 && value_of(two) == 6, "a stopped one stays");
    MPI_T_pvar_start(session, one);
    send_self(MPI_COMM_SELF, 1, SHORT);
    tap_check(value_of(one) == 8, "and goes on");
    tap_check(MPI_T_pvar_readreset(session, one, &value) == MPI_SUCCESS && value == 8 &&
                  value_of(one) == 0 && value_of(two) == 7,
              "it is read and reset, and the other is not");
    value = 100;
    tap_check(MPI_T_pvar_write(session, one, &value) == MPI_SUCCESS && value_of(one) == 100,
              "it is written");
    send_self(MPI_COMM_SELF, 1, SHORT);
    tap_check(value_of(one) == 101, "and goes on from there");
    MPI_T_pvar_reset(session, MPI_T_PVAR_ALL_HANDLES);
    tap_check(value_of(one) == 0 && value_of(two) == 0, "all are reset");
    MPI_T_pvar_stop(session, MPI_T_PVAR_ALL_HANDLES);
    send_self(MPI_COMM_SELF, 1, SHORT);
    tap_check(value_of(one) == 0 && value_of(two) == 0, "all are stopped");
    MPI_T_pvar_handle_free(session, &one);
    MPI_T_pvar_handle_free(session, &two);
}

/* Handles of messages and bytes in both directions, started. */
typedef struct both {
    MPI_T_pvar_handle sent, sent_bytes, received, received_bytes;
} both_t;

static both_t watch(const char *sent, const char *received, void *object)
{
    char bytes[TEXT];
    both_t both;
    both.sent = open_pvar(sent, MPI_T_PVAR_CLASS_COUNTER, object);
    both.received = open_pvar(received, MPI_T_PVAR_CLASS_COUNTER, object);
    snprintf(bytes, sizeof bytes, "%s_bytes", sent);
    both.sent_bytes = open_pvar(bytes, MPI_T_PVAR_CLASS_AGGREGATE, object);
    snprintf(bytes, sizeof bytes, "%s_bytes", received);
    both.received_bytes = open_pvar(bytes, MPI_T_PVAR_CLASS_AGGREGATE, object);
    MPI_T_pvar_start(session, MPI_T_PVAR_ALL_HANDLES);
    return both;
}

static void check_both(const both_t *both, unsigned long sent, unsigned long sent_bytes,
                       unsigned long received, unsigned long received_bytes, const char *what)
{
    tap_check(value_of(both->sent) == sent && value_of(both->sent_bytes) == sent_bytes,
              "%s, sent: %lu messages of %lu, %lu bytes of %lu", what, value_of(both->sent), sent,
              value_of(both->sent_bytes), sent_bytes);
    tap_check(value_of(both->received) == received &&
                  value_of(both->received_bytes) == received_bytes,
              "%s, received: %lu messages of %lu, %lu bytes of %lu", what, value_of(both->received),
              received, value_of(both->received_bytes), received_bytes);
}

static void free_both(both_t *both)
{
    MPI_T_pvar_handle_free(session, &both->sent);
    MPI_T_pvar_handle_free(session, &both->sent_bytes);
    MPI_T_pvar_handle_free(session, &both->received);
    MPI_T_pvar_handle_free(session, &both->received_bytes);
}

/* Short, middle and long messages, expected and not, synchronous too, in a communicator of their
 * own; rank 1 answers with one message. The receiver says when it is ready by messages in another
 * communicator, which counts for the transport. */
static void check_counts(const char *transport)
{
    static const int lengths[] = {0, SHORT, 600, 5000, 50000, LONG};
    enum { LENGTHS = sizeof lengths / sizeof *lengths };
    static char data[LONG];
    char sent[TEXT], received[TEXT];
    unsigned long messages = 0, bytes = 0;
    int peer = 1 - rank;
    MPI_Comm comm;
    MPI_Request requests[LENGTHS];
    MPI_Comm_dup(MPI_COMM_WORLD, &comm);
    MPI_Barrier(MPI_COMM_WORLD);
    snprintf(sent, sizeof sent, "pml_ob1_sent_%s", transport);
    snprintf(received, sizeof received, "pml_ob1_received_%s", transport);
    /* What arrives before the receiver counts is not counted, so rank 1 says when it does: rank 0
     * begins after that, and rank 1 has one message more to its count. */
    if (rank == 0)
        MPI_Recv(NULL, 0, MPI_BYTE, peer, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    both_t via = watch(sent, received, NULL);
    both_t own = watch("pml_ob1_comm_sent", "pml_ob1_comm_received", &comm);
    if (rank == 1)
        MPI_Send(NULL, 0, MPI_BYTE, peer, 0, MPI_COMM_WORLD);
    for (int i = 0; i < LENGTHS; i++) {
        messages += 3;
        bytes += 3UL * (unsigned long)lengths[i];
        if (rank == 0) {
            MPI_Send(data, lengths[i], MPI_BYTE, 1, 1, comm);
            MPI_Ssend(data, lengths[i], MPI_BYTE, 1, 2, comm);
            MPI_Isend(data, lengths[i], MPI_BYTE, 1, 3, comm, &requests[i]);
            MPI_Wait(&requests[i], MPI_STATUS_IGNORE);
        } else if (rank == 1) {
            for (int tag = 1; tag <= 3; tag++)
                MPI_Recv(data, LONG, MPI_BYTE, MPI_ANY_SOURCE, tag, comm, MPI_STATUS_IGNORE);
        }
    }
    if (rank == 0)
        MPI_Recv(data, LONG, MPI_BYTE, peer, 4, comm, MPI_STATUS_IGNORE);
    else if (rank == 1)
        MPI_Send(data, 77, MPI_BYTE, peer, 4, comm);
    if (rank == 0)
        check_both(&own, messages, bytes, 1, 77, "communicator");
    else if (rank == 1)
        check_both(&own, 1, 77, messages, bytes, "communicator");
    if (rank == 0)
        check_both(&via, messages, bytes, 1, 77, transport);
    else if (rank == 1)
        check_both(&via, 2, 77, messages, bytes, transport);
    free_both(&via);
    free_both(&own);
    MPI_Comm_free(&comm);
}

static void check_self(void)
{
    MPI_Comm comm = MPI_COMM_SELF;
    both_t via = watch("pml_ob1_sent_self", "pml_ob1_received_self", NULL);
    both_t own = watch("pml_ob1_comm_sent", "pml_ob1_comm_received", &comm);
    send_self(MPI_COMM_SELF, 4, SHORT);
    send_self(MPI_COMM_SELF, 2, LONG);
    check_both(&via, 6, 4 * SHORT + 2UL * LONG, 6, 4 * SHORT + 2UL * LONG, "self");
    check_both(&own, 6, 4 * SHORT + 2UL * LONG, 6, 4 * SHORT + 2UL * LONG, "MPI_COMM_SELF");
    free_both(&via);
    free_both(&own);
}

/* Messages without a receive, receives without a message, and the most of both. */
static void check_queues(void)
{
    enum { MANY = 5 };
    char data[SHORT] = "", to[MANY][SHORT];
    MPI_Comm comm = MPI_COMM_SELF;
    MPI_Request sends[MANY], receives[MANY];
    MPI_T_pvar_handle unexpected =
        open_pvar("pml_ob1_comm_unexpected", MPI_T_PVAR_CLASS_LEVEL, &comm);
    MPI_T_pvar_handle most_unexpected =
        open_pvar("pml_ob1_comm_unexpected", MPI_T_PVAR_CLASS_HIGHWATERMARK, &comm);
    MPI_T_pvar_handle posted = open_pvar("pml_ob1_comm_posted", MPI_T_PVAR_CLASS_LEVEL, &comm);
    MPI_T_pvar_handle most_posted =
        open_pvar("pml_ob1_comm_posted", MPI_T_PVAR_CLASS_HIGHWATERMARK, &comm);
    MPI_T_pvar_start(session, MPI_T_PVAR_ALL_HANDLES);
    tap_check(value_of(most_posted) == 0 && value_of(most_unexpected) == 0, "queues are empty");
    for (int i = 0; i < MANY; i++)
        MPI_Irecv(to[i], SHORT, MPI_BYTE, 0, i, MPI_COMM_SELF, &receives[i]);
    tap_check(value_of(posted) == MANY, "%d receives are posted", MANY);
    for (int i = 0; i < MANY; i++)
        MPI_Isend(data, SHORT, MPI_BYTE, 0, i, MPI_COMM_SELF, &sends[i]);
    MPI_Waitall(MANY, sends, MPI_STATUSES_IGNORE);
    MPI_Waitall(MANY, receives, MPI_STATUSES_IGNORE);
    tap_check(value_of(posted) == 0 && value_of(most_posted) == MANY, "they were the most");
    int flag = 0;
    for (int i = 0; i < MANY; i++)
        MPI_Isend(data, SHORT, MPI_BYTE, 0, i, MPI_COMM_SELF, &sends[i]);
    while (!flag)
        MPI_Iprobe(0, MANY - 1, MPI_COMM_SELF, &flag, MPI_STATUS_IGNORE);
    tap_check(value_of(unexpected) == MANY, "%d messages are unexpected", MANY);
    for (int i = 0; i < MANY; i++)
        MPI_Recv(data, SHORT, MPI_BYTE, 0, i, MPI_COMM_SELF, MPI_STATUS_IGNORE);
    MPI_Waitall(MANY, sends, MPI_STATUSES_IGNORE);
    tap_check(value_of(unexpected) == 0 && value_of(most_unexpected) == MANY, "they were the most");
    MPI_T_pvar_reset(session, most_unexpected);
    tap_check(value_of(most_unexpected) == 0 && value_of(most_posted) == MANY,
              "a watermark is reset, and the other is not");
    MPI_T_pvar_handle_free(session, &unexpected);
    MPI_T_pvar_handle_free(session, &most_unexpected);
    MPI_T_pvar_handle_free(session, &posted);
    MPI_T_pvar_handle_free(session, &most_posted);
}

/* Handles of an object that has ended do not count for the next one at its address. */
static void check_ended_object(MPI_T_pvar_handle handle, const char *what)
{
    unsigned long value = 77;
    tap_check(MPI_T_pvar_read(session, handle, &value) == MPI_T_ERR_INVALID_HANDLE &&
                  MPI_T_pvar_stop(session, handle) == MPI_T_ERR_INVALID_HANDLE && value == 77 &&
                  MPI_T_pvar_reset(session, MPI_T_PVAR_ALL_HANDLES) == MPI_SUCCESS,
              "a handle of a %s that was freed", what);
    tap_check(MPI_T_pvar_handle_free(session, &handle) == MPI_SUCCESS, "can be freed");
}

static void check_ended(void)
{
    int *memory;
    MPI_Comm comm;
    MPI_Win win;
    MPI_Comm_dup(MPI_COMM_SELF, &comm);
    MPI_Win_allocate(sizeof *memory, 1, MPI_INFO_NULL, MPI_COMM_SELF, &memory, &win);
    MPI_T_pvar_handle sent = open_pvar("pml_ob1_comm_sent", MPI_T_PVAR_CLASS_COUNTER, &comm);
    MPI_T_pvar_handle most =
        open_pvar("pml_ob1_comm_posted", MPI_T_PVAR_CLASS_HIGHWATERMARK, &comm);
    MPI_T_pvar_handle puts = open_pvar("win_puts", MPI_T_PVAR_CLASS_COUNTER, &win);
    MPI_T_pvar_start(session, MPI_T_PVAR_ALL_HANDLES);
    MPI_Comm_free(&comm);
    MPI_Win_free(&win);
    MPI_Comm_dup(MPI_COMM_SELF, &comm);
    check_ended_object(sent, "communicator");
    check_ended_object(most, "communicator");
    check_ended_object(puts, "window");
    MPI_Comm_free(&comm);
}

int main(int argc, char **argv)
{
    int provided;
    const char *transport = argc > 1 ? argv[1] : "sm";
    MPI_T_init_thread(MPI_THREAD_SINGLE, &provided);
    MPI_T_pvar_session_create(&session);
    int before = check_all("before MPI_Init");
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    tap_rank(rank);
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    tap_check(check_all("while MPI runs") >= before, "no variable goes away");
    check_errors();
    check_objects();
    check_level();
    check_handles();
    check_self();
    check_queues();
    check_ended();
    if (size >= 2)
        check_counts(transport);
    MPI_Finalize();
    rank = -1;
    check_all("after MPI_Finalize");
    MPI_T_pvar_session_free(&session);
    MPI_T_finalize();
    return tap_finish();
}
