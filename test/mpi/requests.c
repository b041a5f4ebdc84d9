/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Waiting and testing: lists of null and inactive requests, errors that are told in statuses and to
 * whose handler, looking without taking, many requests at once; and generalized requests, with one
 * that another thread completes while this one sleeps in MPI_Wait.
 */
#include <mpi.h>
#include <pthread.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "tap.h"

static int rank, size, left, right;

static bool is_class(int error, int expected)
{
    int class;
    MPI_Error_class(error, &class);
    return class == expected;
}

static bool is_empty(const MPI_Status *status)
{
    int count = -1, flag = -1;
    MPI_Get_count(status, MPI_INT, &count);
    MPI_Test_cancelled(status, &flag);
    return status->MPI_SOURCE == MPI_ANY_SOURCE && status->MPI_TAG == MPI_ANY_TAG && count == 0 &&
           flag == 0 && status->MPI_ERROR == MPI_SUCCESS;
}

/* -- nothing to wait for ------------------------------------------------------------------- */

static void check_idle(int count, MPI_Request *list, const char *what)
{
    int index = 0, flag = 0, out = 0, indices[4];
    MPI_Status status = {.MPI_ERROR = MPI_ERR_OTHER}, statuses[4];
    MPI_Waitall(count, list, statuses);
    bool good = count == 0 || (is_empty(&statuses[0]) && statuses[count - 1].MPI_ERROR == 0);
    MPI_Testall(count, list, &flag, MPI_STATUSES_IGNORE);
    good &= flag == 1;
    MPI_Waitany(count, list, &index, &status);
    good &= index == MPI_UNDEFINED && is_empty(&status);
    flag = index = 0;
    status.MPI_ERROR = MPI_ERR_OTHER;
    MPI_Testany(count, list, &index, &flag, &status);
    good &= flag == 1 && index == MPI_UNDEFINED && is_empty(&status);
    MPI_Waitsome(count, list, &out, indices, statuses);
    good &= out == MPI_UNDEFINED;
    out = 0;
    MPI_Testsome(count, list, &out, indices, statuses);
    good &= out == MPI_UNDEFINED;
    flag = index = out = 0;
    MPI_Request_get_status_all(count, list, &flag, statuses);
    good &= flag == 1 && (count == 0 || is_empty(&statuses[0]));
    flag = 0;
    status.MPI_ERROR = MPI_ERR_OTHER;
    MPI_Request_get_status_any(count, list, &index, &flag, &status);
    good &= flag == 1 && index == MPI_UNDEFINED && is_empty(&status);
    MPI_Request_get_status_some(count, list, &out, indices, statuses);
    good &= out == MPI_UNDEFINED;
    tap_check(good, "%s: nothing to wait for", what);
}

static void check_idle_lists(void)
{
    int value = 0;
    MPI_Request list[3] = {MPI_REQUEST_NULL, MPI_REQUEST_NULL, MPI_REQUEST_NULL};
    check_idle(0, NULL, "no request");
    check_idle(3, list, "null requests");
    MPI_Recv_init(&value, 1, MPI_INT, left, 1, MPI_COMM_WORLD, &list[1]);
    check_idle(3, list, "an inactive one among null ones");
    MPI_Request_free(&list[1]);
    list[2] = (MPI_Request)MPI_COMM_WORLD;
    tap_check(is_class(MPI_Waitall(3, list, MPI_STATUSES_IGNORE), MPI_ERR_REQUEST),
              "a communicator is no request");
}

/* -- errors -------------------------------------------------------------------------------- */

static int told_class, told_times;
static MPI_Comm told_comm;

static void remember(MPI_Comm *comm, int *error, ...)
{
    told_comm = *comm;
    told_times++;
    MPI_Error_class(*error, &told_class);
}

/* The second of three does not fit. */
static void receive_three(MPI_Request *list, int in[3][2])
{
    static int out[4] = {1, 2, 3, 4};
    for (int i = 0; i < 3; i++) {
        MPI_Irecv(in[i], 1, MPI_INT, 0, 30 + i, MPI_COMM_SELF, &list[i]);
        MPI_Send(out, i == 1 ? 2 : 1, MPI_INT, 0, 30 + i, MPI_COMM_SELF);
    }
    /* A network may need a while for that. */
    for (int i = 0; i < 3; i++) {
        for (int flag = 0; !flag;)
            MPI_Request_get_status(list[i], &flag, MPI_STATUS_IGNORE);
    }
}

static bool has_errors(const MPI_Status *statuses, const int *indices)
{
    bool good = true;
    for (int i = 0; i < 3; i++) {
        int class;
        MPI_Error_class(statuses[i].MPI_ERROR, &class);
        good &= indices[i] == i && class == (i == 1 ? MPI_ERR_TRUNCATE : MPI_SUCCESS);
    }
    return good;
}

static void check_errors(void)
{
    static const int all[3] = {0, 1, 2};
    int in[3][2], indices[3], out = 0, index = -1, flag = 0, error;
    MPI_Request list[3];
    MPI_Status statuses[3], status = {.MPI_ERROR = 77};
    MPI_Errhandler handler;

    receive_three(list, in);
    error = MPI_Waitall(3, list, statuses);
    tap_check(is_class(error, MPI_ERR_IN_STATUS) && has_errors(statuses, all) &&
                  list[1] == MPI_REQUEST_NULL,
              "MPI_Waitall tells an error in the status");
    receive_three(list, in);
    tap_check(is_class(MPI_Waitall(3, list, MPI_STATUSES_IGNORE), MPI_ERR_TRUNCATE),
              "or itself, if there are no statuses");
    receive_three(list, in);
    MPI_Request_get_status_all(3, list, &flag, statuses);
    tap_check(flag == 1 && has_errors(statuses, all) && list[1] != MPI_REQUEST_NULL,
              "MPI_Request_get_status_all looks");
    error = MPI_Request_get_status_some(3, list, &out, indices, statuses);
    tap_check(error == MPI_SUCCESS && out == 3 && has_errors(statuses, indices),
              "MPI_Request_get_status_some looks");
    flag = 0;
    MPI_Request_get_status_any(3, list, &index, &flag, &status);
    tap_check(flag == 1 && index == 0 && status.MPI_TAG == 30 && list[0] != MPI_REQUEST_NULL,
              "MPI_Request_get_status_any looks");
    error = MPI_Waitsome(3, list, &out, indices, statuses);
    tap_check(is_class(error, MPI_ERR_IN_STATUS) && out == 3 && has_errors(statuses, indices),
              "MPI_Waitsome tells an error in the status");
    receive_three(list, in);
    error = MPI_Testall(3, list, &flag, statuses);
    tap_check(is_class(error, MPI_ERR_IN_STATUS) && flag == 1 && has_errors(statuses, all),
              "so does MPI_Testall");

    MPI_Comm_create_errhandler(remember, &handler);
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, handler);
    MPI_Irecv(in, 1, MPI_INT, rank, 40, MPI_COMM_WORLD, &list[0]);
    MPI_Send(in, 2, MPI_INT, rank, 40, MPI_COMM_WORLD);
    status.MPI_ERROR = 77;
    error = MPI_Wait(&list[0], &status);
    tap_check(is_class(error, MPI_ERR_TRUNCATE) && status.MPI_ERROR == 77 && told_times == 1 &&
                  told_comm == MPI_COMM_WORLD && told_class == MPI_ERR_TRUNCATE,
              "the handler of the request's communicator is told");
    MPI_Irecv(in, 1, MPI_INT, rank, 40, MPI_COMM_WORLD, &list[0]);
    MPI_Send(in, 2, MPI_INT, rank, 40, MPI_COMM_WORLD);
    error = MPI_Waitany(1, list, &index, &status);
    tap_check(is_class(error, MPI_ERR_TRUNCATE) && told_times == 2 && index == 0,
              "also by MPI_Waitany");
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    MPI_Errhandler_free(&handler);
}

/* -- many ---------------------------------------------------------------------------------- */

static void check_many(void)
{
    enum { MANY = 10000 };
    MPI_Request *list = malloc(2 * MANY * sizeof *list);
    int *in = malloc(MANY * sizeof *in), *out = malloc(MANY * sizeof *out), *seen;
    bool good = true;
    seen = calloc(MANY, sizeof *seen);
    for (int i = 0; i < MANY; i++) {
        out[i] = rank * MANY + i;
        MPI_Irecv(&in[i], 1, MPI_INT, left, i, MPI_COMM_WORLD, &list[i]);
    }
    for (int i = 0; i < MANY; i++) /* from the last to the first: what is worst for a search */
        MPI_Isend(&out[MANY - 1 - i], 1, MPI_INT, right, MANY - 1 - i, MPI_COMM_WORLD,
                  &list[MANY + i]);
    double begin = MPI_Wtime();
    for (int i = 0; i < MANY; i++) {
        int index = -1;
        MPI_Waitany(MANY, list, &index, MPI_STATUS_IGNORE);
        good &= index >= 0 && index < MANY && seen[index]++ == 0;
        good = good && in[index] == left * MANY + index;
    }
    double seconds = MPI_Wtime() - begin;
    good &= MPI_Waitall(MANY, list + MANY, MPI_STATUSES_IGNORE) == MPI_SUCCESS;
    tap_check(good, "MPI_Waitany takes %d messages, each once", MANY);
    if (rank == 0)
        printf("# in %.3f s\n", seconds);
    free(list);
    free(in);
    free(out);
    free(seen);
}

/* -- generalized requests ------------------------------------------------------------------ */

typedef struct user {
    MPI_Request request;
    int queries, frees, cancels, cancelled_when_complete;
    int query_error, free_error;
} user_t;

static int query(void *state, MPI_Status *status)
{
    user_t *user = state;
    int flag;
    user->queries++;
    /* A callback may call MPI: the library holds no lock. */
    MPI_Iprobe(MPI_ANY_SOURCE, 99, MPI_COMM_SELF, &flag, MPI_STATUS_IGNORE);
    MPI_Status_set_elements(status, MPI_INT, 7);
    MPI_Status_set_cancelled(status, user->cancels > 0);
    status->MPI_SOURCE = 5;
    status->MPI_TAG = 6;
    return user->query_error;
}

static int release(void *state)
{
    user_t *user = state;
    int flag;
    MPI_Iprobe(MPI_ANY_SOURCE, 99, MPI_COMM_SELF, &flag, MPI_STATUS_IGNORE);
    user->frees++;
    return user->free_error;
}

static int cancel(void *state, int complete)
{
    user_t *user = state;
    user->cancels++;
    user->cancelled_when_complete = complete;
    if (!complete)
        MPI_Grequest_complete(user->request);
    return MPI_SUCCESS;
}

static void check_grequest(void)
{
    user_t user = {.query_error = MPI_SUCCESS};
    MPI_Status status;
    int flag = -1, count = -1;
    MPI_Grequest_start(query, release, cancel, &user, &user.request);
    MPI_Request copy = user.request;
    MPI_Test(&user.request, &flag, &status);
    bool good = flag == 0 && user.queries == 0;
    MPI_Grequest_complete(user.request);
    MPI_Request_get_status(user.request, &flag, &status);
    good &= flag == 1 && user.queries == 1 && user.frees == 0;
    MPI_Wait(&user.request, &status);
    MPI_Get_count(&status, MPI_INT, &count);
    good &= user.queries == 2 && user.frees == 1 && count == 7 && status.MPI_SOURCE == 5 &&
            status.MPI_TAG == 6 && user.request == MPI_REQUEST_NULL && copy != user.request;
    tap_check(good, "a generalized request: query whenever it is told, free once");

    user = (user_t){.queries = 0};
    MPI_Grequest_start(query, release, cancel, &user, &user.request);
    MPI_Cancel(&user.request);
    good = user.cancels == 1 && user.cancelled_when_complete == 0;
    MPI_Cancel(&user.request);
    good &= user.cancels == 2 && user.cancelled_when_complete == 1;
    MPI_Wait(&user.request, &status);
    MPI_Test_cancelled(&status, &flag);
    tap_check(good && flag == 1 && user.frees == 1, "cancelled, before and after it was complete");

    user = (user_t){.queries = 0};
    MPI_Grequest_start(query, release, cancel, &user, &user.request);
    copy = user.request;
    MPI_Request_free(&user.request);
    good = user.frees == 0;
    MPI_Grequest_complete(copy);
    good &= user.frees == 1 && user.queries == 0;
    MPI_Grequest_start(query, release, cancel, &user, &user.request);
    MPI_Grequest_complete(user.request);
    good &= is_class(MPI_Grequest_complete(user.request), MPI_ERR_REQUEST);
    MPI_Request_free(&user.request);
    tap_check(good && user.frees == 2, "freed before it is complete, and after it");

    user = (user_t){.query_error = MPI_ERR_IO};
    MPI_Grequest_start(query, release, cancel, &user, &user.request);
    MPI_Grequest_complete(user.request);
    good = is_class(MPI_Wait(&user.request, &status), MPI_ERR_IO) && user.frees == 1;
    user = (user_t){.free_error = MPI_ERR_FILE};
    MPI_Grequest_start(query, release, cancel, &user, &user.request);
    MPI_Grequest_complete(user.request);
    good &= is_class(MPI_Waitall(1, &user.request, &status), MPI_ERR_IN_STATUS) &&
            is_class(status.MPI_ERROR, MPI_ERR_FILE);
    tap_check(good, "errors of its callbacks");

    MPI_Irecv(&count, 1, MPI_INT, 0, 3, MPI_COMM_SELF, &copy);
    tap_check(is_class(MPI_Grequest_complete(copy), MPI_ERR_REQUEST),
              "a receive is not completed like that");
    MPI_Cancel(&copy);
    MPI_Wait(&copy, MPI_STATUS_IGNORE);
}

/* Says when a thread of this process sleeps in the kernel. */
static bool sleeps(const char *stat_path)
{
    char text[512] = "";
    FILE *file = fopen(stat_path, "r");
    if (file == NULL)
        return false;
    size_t length = fread(text, 1, sizeof text - 1, file);
    fclose(file);
    text[length] = 0;
    const char *state = strrchr(text, ')');
    return state != NULL && state[1] == ' ' && state[2] == 'S';
}

static void *complete_later(void *argument)
{
    user_t *user = argument;
    char path[64];
    snprintf(path, sizeof path, "/proc/self/task/%d/stat", (int)getpid());
    while (!sleeps(path))
        sched_yield();
    MPI_Grequest_complete(user->request);
    return NULL;
}

static void check_wake_up(void)
{
    enum { ROUNDS = 200 };
    int done = 0;
    for (int i = 0; i < ROUNDS; i++) {
        user_t user = {.queries = 0};
        pthread_t thread;
        MPI_Grequest_start(query, release, cancel, &user, &user.request);
        pthread_create(&thread, NULL, complete_later, &user);
        MPI_Request request = user.request;
        MPI_Wait(&request, MPI_STATUS_IGNORE);
        pthread_join(thread, NULL);
        done += user.frees;
    }
    tap_check(done == ROUNDS, "a thread wakes the one that sleeps in MPI_Wait");
}

int main(int argc, char **argv)
{
    int provided;
    MPI_Init_thread(&argc, &argv, MPI_THREAD_MULTIPLE, &provided);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_RETURN);
    left = (rank + size - 1) % size;
    right = (rank + 1) % size;
    tap_rank(rank);
    check_idle_lists();
    check_errors();
    check_many();
    check_grequest();
    check_wake_up();
    MPI_Finalize();
    return tap_finish();
}
