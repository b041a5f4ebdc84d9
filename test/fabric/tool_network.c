/* SPDX-License-Identifier: BSD-3-Clause */
/* What a tool sees of messages that the network matches, on 2 ranks; a message of LONG bytes is
 * longer than what the network carries at once. */
#include <mpi.h>
#include <stdlib.h>
#include <string.h>

#include "test/mpi/tap.h"

enum { SHORT = 100, LONG = 10000, TAG = 7, NETWORK = 4, EAGER = 0, RENDEZVOUS = 3 };

static int rank;
static MPI_T_pvar_session session;

/* -- counts ------------------------------------------------------------------------------------ */

static MPI_T_pvar_handle count(const char *name, int class, MPI_Comm *comm)
{
    int index = -1, numbers;
    MPI_T_pvar_handle handle = MPI_T_PVAR_HANDLE_NULL;
    tap_check(MPI_T_pvar_get_index(name, class, &index) == MPI_SUCCESS &&
                  MPI_T_pvar_handle_alloc(session, index, comm, &handle, &numbers) == MPI_SUCCESS &&
                  MPI_T_pvar_start(session, handle) == MPI_SUCCESS,
              "%s is counted", name);
    return handle;
}

static unsigned long counted(MPI_T_pvar_handle handle)
{
    unsigned long value = 0;
    MPI_T_pvar_readreset(session, handle, &value);
    return value;
}

/* -- events ------------------------------------------------------------------------------------ */

typedef struct message {
    unsigned context;
    int source, tag, traffic, transport, protocol;
    MPI_Count bytes;
} message_t;

typedef struct rendezvous {
    unsigned context;
    int peer, tag, traffic, transport, side;
    MPI_Count bytes;
} rendezvous_t;

static message_t matched;
static rendezvous_t begun, ended;
static int matches, begins, ends, connections;

static void on_matched(MPI_T_event_instance event, MPI_T_event_registration handle,
                       MPI_T_cb_safety safety, void *data)
{
    (void)handle, (void)safety, (void)data;
    MPI_T_event_copy(event, &matched);
    matches++;
}

static void on_rendezvous(MPI_T_event_instance event, MPI_T_event_registration handle,
                          MPI_T_cb_safety safety, void *which)
{
    struct {
        rendezvous_t data;
        int error, unused;
    } copy;
    (void)handle, (void)safety;
    MPI_T_event_copy(event, &copy);
    *(rendezvous_t *)which = copy.data;
    *(which == &begun ? &begins : &ends) += 1;
}

static void on_connected(MPI_T_event_instance event, MPI_T_event_registration handle,
                         MPI_T_cb_safety safety, void *data)
{
    int transport = -1;
    (void)handle, (void)safety, (void)data;
    MPI_T_event_read(event, 1, &transport);
    connections += transport == NETWORK;
}

static void watch(const char *name, MPI_Comm *comm, MPI_T_event_cb_function *call, void *data)
{
    int index = -1;
    MPI_T_event_registration handle;
    MPI_T_event_get_index(name, &index);
    tap_check(MPI_T_event_handle_alloc(index, comm, MPI_INFO_NULL, &handle) == MPI_SUCCESS &&
                  MPI_T_event_register_callback(handle, MPI_T_CB_REQUIRE_THREAD_SAFE, MPI_INFO_NULL,
                                                data, call) == MPI_SUCCESS,
              "%s is watched", name);
}

/* -- messages ---------------------------------------------------------------------------------- */

static void pass(MPI_Comm comm, int bytes, MPI_Request *persistent)
{
    static char buffer[LONG];
    if (rank == 1)
        MPI_Recv(buffer, LONG, MPI_CHAR, MPI_ANY_SOURCE, TAG, comm, MPI_STATUS_IGNORE);
    else if (persistent == NULL)
        MPI_Send(buffer, bytes, MPI_CHAR, 1, TAG, comm);
    else
        MPI_Startall(1, persistent), MPI_Wait(persistent, MPI_STATUS_IGNORE);
}

static void check_counts(MPI_Comm comm)
{
    char buffer[SHORT] = {0};
    MPI_Request request = MPI_REQUEST_NULL;
    MPI_T_pvar_handle sent = count("pml_cm_sent", MPI_T_PVAR_CLASS_COUNTER, NULL),
                      sent_bytes = count("pml_cm_sent_bytes", MPI_T_PVAR_CLASS_AGGREGATE, NULL),
                      received = count("pml_cm_received", MPI_T_PVAR_CLASS_COUNTER, NULL),
                      received_bytes =
                          count("pml_cm_received_bytes", MPI_T_PVAR_CLASS_AGGREGATE, NULL),
                      of_comm = count(rank == 0 ? "pml_cm_comm_sent" : "pml_cm_comm_received",
                                      MPI_T_PVAR_CLASS_COUNTER, &comm),
                      rendezvous = count("pml_cm_rendezvous", MPI_T_PVAR_CLASS_COUNTER, NULL);
    unsigned long sends = rank == 0, receives = rank == 1;
    MPI_Send_init(buffer, SHORT, MPI_CHAR, 1, TAG, comm, &request);
    counted(sent), counted(sent_bytes), counted(received), counted(received_bytes);
    pass(comm, SHORT, NULL);
    tap_check(counted(sent) == sends && counted(sent_bytes) == sends * SHORT &&
                  counted(received) == receives && counted(received_bytes) == receives * SHORT &&
                  counted(of_comm) == 1 && counted(rendezvous) == 0,
              "a short message is counted");
    pass(comm, SHORT, &request);
    tap_check(counted(sent) == sends && counted(received) == receives && counted(of_comm) == 1,
              "so is that of a persistent request");
    pass(MPI_COMM_WORLD, SHORT, NULL);
    tap_check(counted(sent) == sends && counted(of_comm) == 0,
              "one of another communicator is not counted for this one");
    counted(sent_bytes), counted(received_bytes);
    pass(comm, LONG, NULL);
    tap_check(counted(rendezvous) == sends && counted(sent_bytes) == sends * LONG &&
                  counted(received_bytes) == receives * LONG,
              "a long one is a rendezvous");
    MPI_Request_free(&request);
}

static void check_events(MPI_Comm comm)
{
    watch("message_matched", &comm, on_matched, NULL);
    watch("rendezvous_begun", &comm, on_rendezvous, &begun);
    watch("rendezvous_ended", &comm, on_rendezvous, &ended);
    pass(comm, SHORT, NULL);
    tap_check(matches == (rank == 1) && begins == 0, "a short message is matched");
    tap_check(rank == 0 || (matched.source == 0 && matched.tag == TAG && matched.traffic == 0 &&
                            matched.transport == NETWORK && matched.protocol == EAGER &&
                            matched.bytes == SHORT),
              "and described");
    pass(comm, LONG, NULL);
    tap_check(matches == 2 * (rank == 1) && begins == 1 && ends == 1,
              "a long one begins and ends on both sides");
    tap_check(begun.peer == 1 - rank && begun.tag == TAG && begun.transport == NETWORK &&
                  begun.side == rank && begun.bytes == LONG &&
                  memcmp(&begun, &ended, sizeof begun) == 0 &&
                  (rank == 0 || (matched.protocol == RENDEZVOUS && matched.bytes == LONG)),
              "and is described");
    pass(MPI_COMM_WORLD, LONG, NULL);
    tap_check(matches == 2 * (rank == 1) && begins == 1, "other communicators are not seen");
}

int main(int argc, char **argv)
{
    int provided;
    MPI_Comm comm;
    MPI_T_init_thread(MPI_THREAD_SINGLE, &provided);
    MPI_T_pvar_session_create(&session);
    watch("peer_connected", NULL, on_connected, NULL);
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    tap_rank(rank);
    MPI_Comm_dup(MPI_COMM_WORLD, &comm);
    check_counts(comm);
    check_events(comm);
    tap_check(connections > 0, "the peer was told");
    MPI_Comm_free(&comm);
    MPI_Finalize();
    MPI_T_finalize();
    return tap_finish();
}
