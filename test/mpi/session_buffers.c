/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Buffers of sessions: a buffered send goes through the buffer of its communicator, else through
 * that of the session that the communicator derives from, else through that of the process.
 */
#include <mpi.h>
#include <string.h>

#include "tap.h"

enum { COUNT = 200, BYTES = COUNT * (int)sizeof(int), ROOM = BYTES + MPI_BSEND_OVERHEAD };

static MPI_Session session, other;
static int rank, size;
static char memory[3][ROOM];

static MPI_Comm make_comm(MPI_Session from)
{
    MPI_Group group, part;
    MPI_Comm comm, copy;
    const int none = 0;
    MPI_Group_from_session_pset(from, "mpi://WORLD", &group);
    MPI_Group_excl(group, 0, &none, &part); /* derives from the session, too */
    MPI_Comm_create_from_group(part, "buffers", MPI_INFO_NULL, MPI_ERRORS_RETURN, &comm);
    MPI_Comm_dup(comm, &copy); /* as does this one */
    MPI_Comm_free(&comm);
    MPI_Group_free(&group);
    MPI_Group_free(&part);
    return copy;
}

/* Sends COUNT numbers to the next rank; what the send returns. */
static int send(MPI_Comm comm)
{
    int numbers[COUNT], got[COUNT];
    for (int i = 0; i < COUNT; i++)
        numbers[i] = rank + i;
    int error = MPI_Bsend(numbers, COUNT, MPI_INT, (rank + 1) % size, 5, comm);
    memset(numbers, 0, sizeof numbers);
    if (error != MPI_SUCCESS)
        return error;
    MPI_Recv(got, COUNT, MPI_INT, (rank + size - 1) % size, 5, comm, MPI_STATUS_IGNORE);
    return got[COUNT - 1] == (rank + size - 1) % size + COUNT - 1 ? MPI_SUCCESS : MPI_ERR_OTHER;
}

static void check_attached(MPI_Comm comm, MPI_Comm of_other)
{
    void *detached = NULL;
    int bytes = 0;
    MPI_Request request;
    tap_check(send(comm) == MPI_ERR_BUFFER, "without a buffer nothing is sent");
    tap_check(MPI_Session_attach_buffer(session, memory[0], ROOM) == MPI_SUCCESS,
              "a buffer is attached to the session");
    tap_check(MPI_Session_attach_buffer(session, memory[1], ROOM) == MPI_ERR_BUFFER,
              "a second one is refused");
    tap_check(send(comm) == MPI_SUCCESS, "a message goes through it");
    tap_check(send(of_other) == MPI_ERR_BUFFER, "but none of another session");
    tap_check(MPI_Session_flush_buffer(session) == MPI_SUCCESS &&
                  MPI_Session_iflush_buffer(session, &request) == MPI_SUCCESS &&
                  MPI_Wait(&request, MPI_STATUS_IGNORE) == MPI_SUCCESS,
              "it is flushed");
    tap_check(MPI_Session_detach_buffer(session, &detached, &bytes) == MPI_SUCCESS &&
                  detached == memory[0] && bytes == ROOM,
              "and detached");
    tap_check(MPI_Session_detach_buffer(session, &detached, &bytes) == MPI_ERR_BUFFER, "once");
}

/* One buffer is too small for a message, so it shows which one is used. */
static void check_order(MPI_Comm comm, MPI_Comm of_other)
{
    void *detached;
    int bytes;
    MPI_Buffer_attach(memory[0], ROOM);
    MPI_Session_attach_buffer(session, memory[1], MPI_BSEND_OVERHEAD);
    tap_check(send(comm) == MPI_ERR_BUFFER && send(of_other) == MPI_SUCCESS,
              "the session's buffer comes before the process's");
    MPI_Comm_attach_buffer(comm, memory[2], ROOM);
    tap_check(send(comm) == MPI_SUCCESS, "the communicator's comes before the session's");
    MPI_Comm_detach_buffer(comm, &detached, &bytes);
    MPI_Session_detach_buffer(session, &detached, &bytes);
    tap_check(send(comm) == MPI_SUCCESS, "the process's is for the rest");
    MPI_Buffer_detach(&detached, &bytes);
}

static void check_automatic(MPI_Comm comm)
{
    void *detached = NULL;
    MPI_Count bytes = -1;
    tap_check(MPI_Session_attach_buffer_c(session, MPI_BUFFER_AUTOMATIC, 0) == MPI_SUCCESS &&
                  send(comm) == MPI_SUCCESS &&
                  MPI_Session_detach_buffer_c(session, &detached, &bytes) == MPI_SUCCESS &&
                  detached == MPI_BUFFER_AUTOMATIC && bytes == 0,
              "an automatic buffer of a session");
}

int main(void)
{
    MPI_Session_init(MPI_INFO_NULL, MPI_ERRORS_RETURN, &session);
    MPI_Session_init(MPI_INFO_NULL, MPI_ERRORS_RETURN, &other);
    MPI_Comm comm = make_comm(session), of_other = make_comm(other);
    MPI_Comm_rank(comm, &rank);
    MPI_Comm_size(comm, &size);
    tap_rank(rank);
    check_attached(comm, of_other);
    check_order(comm, of_other);
    check_automatic(comm);
    MPI_Session_attach_buffer(other, memory[0], ROOM);
    tap_check(send(of_other) == MPI_SUCCESS, "a buffer is left to the end of its session");
    MPI_Comm_free(&of_other);
    MPI_Session_finalize(&other);
    MPI_Comm_free(&comm);
    MPI_Session_finalize(&session);
    return tap_finish();
}
