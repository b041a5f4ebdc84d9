/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What a program leaves at the end of MPI is reported with its place (mpi_check=full): tests.list
 * awaits the lines on stderr. The argument says what is done:
 *
 *   left      everything is left
 *   freed     everything is freed, also what looks as if it were not: an error handler that a
 *             communicator has, a request that was freed early, handles that MPI keeps; nothing
 *             is reported
 *   session   sessions without MPI_Init: one that is finalized, with an info object that is left
 *             behind, and one that never is
 *   many      things from more places than lines are printed for
 */
#include <mpi.h>
#include <stdlib.h>
#include <string.h>

#include "tap.h"

static int number, window[2], parts[2];

static void handle(MPI_Comm *comm, int *error, ...)
{
    (void)comm, (void)error;
}

static void combine(void *in, void *out, int *count, MPI_Datatype *type)
{
    (void)in, (void)out, (void)count, (void)type;
}

static int nothing(void *state)
{
    (void)state;
    return MPI_SUCCESS;
}

static int query(void *state, MPI_Status *status)
{
    (void)state;
    MPI_Status_set_elements(status, MPI_BYTE, 0);
    MPI_Status_set_cancelled(status, 0);
    status->MPI_SOURCE = status->MPI_TAG = MPI_UNDEFINED;
    return MPI_SUCCESS;
}

static int cancel(void *state, int complete)
{
    (void)state, (void)complete;
    return MPI_SUCCESS;
}

enum { REQUESTS = 8 };

typedef struct made {
    MPI_Comm comms[3], idup, parent;
    MPI_Datatype type, real;
    MPI_Group group;
    MPI_Info info;
    MPI_Win win;
    MPI_Op op;
    MPI_Errhandler errhandler, got;
    MPI_Request receive, general, requests[REQUESTS];
    int keyval;
} made_t;

static void make_requests(made_t *made)
{
    MPI_Request *request = made->requests;
    MPI_Irecv(&number, 1, MPI_INT, MPI_ANY_SOURCE, 1, MPI_COMM_WORLD, &made->receive);
    MPI_Grequest_start(query, nothing, cancel, NULL, &made->general);
    MPI_Comm_idup(MPI_COMM_SELF, &made->idup, request++);
    MPI_Ibarrier(MPI_COMM_WORLD, request++);
    MPI_Barrier_init(MPI_COMM_WORLD, MPI_INFO_NULL, request++);
    MPI_Send_init(&number, 1, MPI_INT, 0, 2, MPI_COMM_SELF, request++);
    MPI_Psend_init(parts, 2, 1, MPI_INT, 0, 3, MPI_COMM_SELF, MPI_INFO_NULL, request++);
    MPI_Rput(&number, 1, MPI_INT, 0, 0, 1, MPI_INT, made->win, request++);
    MPI_Comm_iflush_buffer(MPI_COMM_SELF, request++);
    MPI_Bsend_init(&number, 1, MPI_INT, 0, 4, MPI_COMM_SELF, request++);
}

/* One place, also if a loop is unrolled. */
__attribute__((noinline)) static void copy_world(MPI_Comm *copy)
{
    MPI_Comm_dup(MPI_COMM_WORLD, copy);
}

static void make(made_t *made)
{
    for (int i = 0; i < 3; i++)
        copy_world(&made->comms[i]);
    MPI_Type_contiguous(3, MPI_INT, &made->type);
    MPI_Type_commit(&made->type);
    MPI_Type_create_f90_real(6, 30, &made->real);
    MPI_Comm_get_parent(&made->parent);
    MPI_Comm_group(MPI_COMM_WORLD, &made->group);
    MPI_Info_create(&made->info);
    MPI_Win_create(window, sizeof window, 1, MPI_INFO_NULL, MPI_COMM_SELF, &made->win);
    MPI_Win_lock(MPI_LOCK_SHARED, 0, 0, made->win);
    MPI_Op_create(combine, 1, &made->op);
    MPI_Comm_create_errhandler(handle, &made->errhandler);
    MPI_Comm_set_errhandler(MPI_COMM_SELF, made->errhandler);
    MPI_Comm_get_errhandler(MPI_COMM_SELF, &made->got);
    MPI_Comm_create_keyval(MPI_COMM_NULL_COPY_FN, MPI_COMM_NULL_DELETE_FN, &made->keyval, NULL);
    make_requests(made);
}

static void free_requests(made_t *made)
{
    MPI_Cancel(&made->receive);
    MPI_Request_free(&made->receive);
    MPI_Grequest_complete(made->general);
    MPI_Wait(&made->general, MPI_STATUS_IGNORE);
    MPI_Wait(&made->requests[0], MPI_STATUS_IGNORE);
    MPI_Wait(&made->requests[1], MPI_STATUS_IGNORE);
    MPI_Waitall(2, made->requests + 5, MPI_STATUSES_IGNORE);
    for (int i = 0; i < REQUESTS; i++) {
        if (made->requests[i] != MPI_REQUEST_NULL)
            MPI_Request_free(&made->requests[i]);
    }
}

static void free_all(made_t *made)
{
    free_requests(made);
    MPI_Win_unlock(0, made->win);
    for (int i = 0; i < 3; i++)
        MPI_Comm_free(&made->comms[i]);
    MPI_Comm_disconnect(&made->idup);
    MPI_Type_free(&made->type);
    MPI_Group_free(&made->group);
    MPI_Info_free(&made->info);
    MPI_Win_free(&made->win);
    MPI_Op_free(&made->op);
    MPI_Errhandler_free(&made->errhandler);
    MPI_Errhandler_free(&made->got);
    MPI_Comm_free_keyval(&made->keyval);
}

static void leave_sessions(void)
{
    MPI_Session first, second;
    MPI_Info info;
    MPI_Session_init(MPI_INFO_NULL, MPI_ERRORS_ARE_FATAL, &first);
    MPI_Session_get_info(first, &info);
    MPI_Session_init(MPI_INFO_NULL, MPI_ERRORS_ARE_FATAL, &second);
    MPI_Session_finalize(&first);
    tap_rank(0);
    tap_check(first == MPI_SESSION_NULL, "a session is left");
}

#define FOUR(call) call, call, call, call

static void leave_many(void)
{
    MPI_Info info;
    int errors[] = {FOUR(MPI_Info_create(&info)), FOUR(MPI_Info_create(&info)),
                    FOUR(MPI_Info_create(&info)), FOUR(MPI_Info_create(&info)),
                    FOUR(MPI_Info_create(&info)), FOUR(MPI_Info_create(&info))};
    tap_check(errors[0] == MPI_SUCCESS, "objects from many places");
}

int main(int argc, char **argv)
{
    int rank = 0;
    made_t made;
    const char *what = argc > 1 ? argv[1] : "left";
    if (strcmp(what, "session") == 0) {
        leave_sessions();
        return tap_finish();
    }
    MPI_Init(NULL, NULL);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    tap_rank(rank);
    if (strcmp(what, "many") == 0)
        leave_many();
    else
        make(&made);
    if (strcmp(what, "freed") == 0)
        free_all(&made);
    MPI_Finalize();
    tap_check(1, "the program ends as without checks");
    return tap_finish();
}
