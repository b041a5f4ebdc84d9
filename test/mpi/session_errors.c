/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Which error handler hears of an error: that of the session; that which a call would have given to
 * the new session or communicator; and for calls without an object the initial one.
 */
#include <mpi.h>

#include "tap.h"

static int session_calls, comm_calls, last_code;
static MPI_Session last_session;
static MPI_Comm last_comm;

static void hear_session(MPI_Session *session, int *code, ...)
{
    session_calls++;
    last_session = *session;
    last_code = *code;
}

static void hear_comm(MPI_Comm *comm, int *code, ...)
{
    comm_calls++;
    last_comm = *comm;
    last_code = *code;
}

static void check_session(MPI_Session session, MPI_Errhandler handler)
{
    MPI_Group group;
    MPI_Errhandler got;
    tap_check(MPI_Group_from_session_pset(session, "mica://none", &group) == MPI_ERR_ARG &&
                  session_calls == 1 && last_session == session && last_code == MPI_ERR_ARG,
              "an error of a call with a session");
    tap_check(MPI_Session_call_errhandler(session, MPI_ERR_OTHER) == MPI_SUCCESS &&
                  session_calls == 2 && last_code == MPI_ERR_OTHER,
              "MPI_Session_call_errhandler");
    MPI_Session_get_errhandler(session, &got);
    tap_check(got == handler, "the error handler that was set");
    MPI_Errhandler_free(&got);
    MPI_Session_set_errhandler(session, MPI_ERRORS_RETURN);
    tap_check(MPI_Group_from_session_pset(session, NULL, &group) == MPI_ERR_ARG &&
                  session_calls == 2,
              "another one is set");
}

static void check_misfits(MPI_Session session, MPI_Errhandler of_comms, MPI_Errhandler of_sessions)
{
    MPI_Session made = MPI_SESSION_NULL;
    MPI_Group group;
    MPI_Comm comm = MPI_COMM_WORLD;
    tap_check(MPI_Session_set_errhandler(session, of_comms) == MPI_ERR_ERRHANDLER &&
                  MPI_Session_init(MPI_INFO_NULL, of_comms, &made) == MPI_ERR_ERRHANDLER &&
                  made == MPI_SESSION_NULL,
              "a session takes no error handler of communicators");
    MPI_Group_from_session_pset(session, "mpi://SELF", &group);
    tap_check(MPI_Comm_create_from_group(group, "x", MPI_INFO_NULL, of_sessions, &comm) ==
                      MPI_ERR_ERRHANDLER &&
                  comm == MPI_COMM_NULL,
              "a communicator takes none of sessions");
    MPI_Group_free(&group);
}

static void check_creation(MPI_Session session, MPI_Errhandler of_comms)
{
    static char tag[MPI_MAX_STRINGTAG_LEN + 2];
    MPI_Group group;
    MPI_Comm comm;
    for (int i = 0; i < MPI_MAX_STRINGTAG_LEN + 1; i++)
        tag[i] = 'x';
    MPI_Group_from_session_pset(session, "mpi://SELF", &group);
    tap_check(MPI_Comm_create_from_group(group, tag, MPI_INFO_NULL, of_comms, &comm) ==
                      MPI_ERR_ARG &&
                  comm_calls == 1 && last_comm == MPI_COMM_NULL && comm == MPI_COMM_NULL,
              "the error handler of a communicator that was not made");
    tap_check(MPI_Comm_create_from_group(group, "right", MPI_INFO_NULL, of_comms, &comm) ==
                      MPI_SUCCESS &&
                  MPI_Send(NULL, 0, MPI_INT, 7, 0, comm) == MPI_ERR_RANK && comm_calls == 2 &&
                  last_comm == comm,
              "and of one that was");
    MPI_Comm_free(&comm);
    MPI_Group_free(&group);
}

static void check_init(MPI_Errhandler of_sessions)
{
    MPI_Session made = MPI_SESSION_NULL;
    MPI_Info info;
    int before = session_calls;
    MPI_Info_create(&info);
    MPI_Info_set(info, "thread_level", "many");
    tap_check(MPI_Session_init(info, of_sessions, &made) == MPI_ERR_INFO_VALUE &&
                  session_calls == before + 1 && last_session == MPI_SESSION_NULL &&
                  made == MPI_SESSION_NULL,
              "the error handler of a session that does not begin");
    MPI_Info_free(&info);
}

int main(void)
{
    MPI_Session session;
    MPI_Errhandler of_sessions, of_comms;
    MPI_Session_create_errhandler(hear_session, &of_sessions);
    tap_rank(0);
    MPI_Session_init(MPI_INFO_NULL, of_sessions, &session);
    MPI_Comm_create_errhandler(hear_comm, &of_comms);
    check_session(session, of_sessions);
    check_misfits(session, of_comms, of_sessions);
    check_creation(session, of_comms);
    MPI_Session_finalize(&session);
    check_init(of_sessions);
    MPI_Errhandler_free(&of_sessions);
    MPI_Errhandler_free(&of_comms);
    return tap_finish();
}
