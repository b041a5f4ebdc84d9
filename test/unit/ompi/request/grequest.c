/* SPDX-License-Identifier: BSD-3-Clause */
/* ompi/request/grequest.c: when the callbacks of a generalized request are called, with what, and
 * what becomes of their errors. Each callback takes the message lock, as a call of MPI does. */
#include "ompi/request/grequest.h"

#include <pthread.h>

#include "ompi/request/status.h"
#include "test/unit/opal/support.h"

static int queries, frees, cancels, query_error, free_error, cancel_error, cancelled_complete;
static MPI_Status seen;
static int state;

static void *take_lock(void *unused)
{
    ompi_lock();
    ompi_unlock();
    return unused;
}

/* Another thread gets the lock: the caller of the callback does not hold it. */
static void call_mpi(void *given)
{
    pthread_t thread;
    ck_assert_ptr_eq(given, &state);
    pthread_create(&thread, NULL, take_lock, NULL);
    pthread_join(thread, NULL);
}

static int query(void *given, MPI_Status *status)
{
    call_mpi(given);
    queries++;
    seen = *status;
    ompi_status_set(status, 5, 6, MPI_ERR_INTERN, 7);
    return query_error;
}

static int free_state(void *given)
{
    call_mpi(given);
    frees++;
    return free_error;
}

static int cancel(void *given, int complete)
{
    call_mpi(given);
    cancels++;
    cancelled_complete = complete;
    return cancel_error;
}

static ompi_request_t *request;

static void setup(void)
{
    ompi_lock_start(true);
    ompi_lock();
    request = ompi_grequest_start(query, free_state, cancel, &state);
    ck_assert(ompi_grequest_is(request));
    ck_assert(ompi_request_is_active(request) && !ompi_request_is_done(request));
}

START_TEST(the_query_fills_an_empty_status)
{
    MPI_Status status = {.MPI_ERROR = 77};
    ck_assert_int_eq(ompi_grequest_complete(request), MPI_SUCCESS);
    ck_assert(!ompi_request_can_finish_unlocked(request));
    for (int i = 1; i <= 2; i++) { /* MPI_Request_get_status, twice */
        ck_assert_int_eq(ompi_request_query(request, &status), MPI_SUCCESS);
        ck_assert_int_eq(queries, i);
        ck_assert_int_eq(seen.MPI_SOURCE, MPI_ANY_SOURCE);
        ck_assert_int_eq(seen.MPI_TAG, MPI_ANY_TAG);
        ck_assert_uint_eq(ompi_status_bytes(&seen), 0);
        ck_assert_int_eq(status.MPI_SOURCE, 5);
        ck_assert_int_eq(status.MPI_TAG, 6);
        ck_assert_uint_eq(ompi_status_bytes(&status), 7);
        ck_assert_int_eq(status.MPI_ERROR, 77);
    }
    ck_assert_int_eq(ompi_request_finish(&request, &status), MPI_SUCCESS);
    ck_assert_int_eq(queries, 3);
    ck_assert_int_eq(frees, 1);
    ck_assert_ptr_null(request);
}
END_TEST

/* 0: none fails; 1: the query; 2: the free; 3: both. The later error is returned. */
START_TEST(errors_of_callbacks_are_returned)
{
    query_error = _i % 2 == 1 ? 1001 : MPI_SUCCESS;
    free_error = _i >= 2 ? 1002 : MPI_SUCCESS;
    ompi_grequest_complete(request);
    ck_assert_int_eq(ompi_request_finish(&request, MPI_STATUS_IGNORE),
                     free_error != MPI_SUCCESS ? free_error : query_error);
    ck_assert_int_eq(frees, 1);
    ck_assert_ptr_null(request);
}
END_TEST

/* Freed before its end, it is freed by that; freed behind it, at once. There is no query. */
START_TEST(the_state_is_freed_when_both_have_ended)
{
    ompi_request_t *kept = request;
    free_error = 1002;
    if (_i == 0) {
        ck_assert_int_eq(ompi_request_free(&request), MPI_SUCCESS);
        ck_assert_int_eq(frees, 0);
        ck_assert_int_eq(ompi_grequest_complete(kept), 1002);
    } else {
        ck_assert_int_eq(ompi_grequest_complete(request), MPI_SUCCESS);
        ck_assert_int_eq(frees, 0);
        ck_assert_int_eq(ompi_request_free(&request), 1002);
    }
    ck_assert_ptr_null(request);
    ck_assert_int_eq(frees, 1);
    ck_assert_int_eq(queries, 0);
}
END_TEST

/* The user decides what becomes of it: a test does not wait for the answer. */
START_TEST(cancel_tells_whether_it_is_complete)
{
    cancel_error = 1003;
    ck_assert_int_eq(ompi_request_cancel(request), 1003);
    ck_assert_int_eq(cancels, 1);
    ck_assert_int_eq(cancelled_complete, 0);
    ck_assert(!request->is_cancel_unanswered);
    ck_assert(!ompi_request_is_done(request));
    cancel_error = MPI_SUCCESS;
    ompi_grequest_complete(request);
    ck_assert_int_eq(ompi_request_cancel(request), MPI_SUCCESS);
    ck_assert_int_eq(cancels, 2);
    ck_assert_int_eq(cancelled_complete, 1);
}
END_TEST

static const unit_test_t tests[] = {
    {.test = &the_query_fills_an_empty_status},
    {.test = &errors_of_callbacks_are_returned, .repeats = 4},
    {.test = &the_state_is_freed_when_both_have_ended, .repeats = 2},
    {.test = &cancel_tells_whether_it_is_complete},
};

UNIT_MAIN("grequest", tests, setup);
