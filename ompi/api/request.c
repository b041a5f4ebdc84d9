/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Bodies of the chapter request for one request, and those that start or make requests. Waits and
 * tests of several requests are in request_list.c.
 */
#include "ompi/api/bodies.h"
#include "ompi/check/left.h"
#include "ompi/request/grequest.h"
#include "ompi/request/request.h"
#include "ompi/request/status.h"

/* Finishes a settled request of the wrapper's. unlocked: the caller does not hold the message lock.
 */
static int finish_one(ompi_request_t **request, MPI_Status *status, bool unlocked)
{
    if (!ompi_request_is_active(*request)) {
        ompi_status_fill_empty(status);
        return MPI_SUCCESS;
    }
    ompi_request_set_error_object(*request);
    return unlocked ? ompi_request_finish_unlocked(request, status)
                    : ompi_request_finish(request, status);
}

int ompi_api_wait(ompi_request_t **request, MPI_Status *status)
{
    if (ompi_threads_share() && ompi_request_spin(request, 1) &&
        ompi_request_can_finish_unlocked(*request))
        return finish_one(request, status, true);
    ompi_lock();
    if (!ompi_request_is_settled(*request) && !ompi_request_poll(request, 1))
        ompi_request_wait(request, 1, 1);
    int error = finish_one(request, status, false);
    ompi_unlock();
    return error;
}

/* Once, if it is not done. */
static void look_at(ompi_request_t *request)
{
    if (ompi_request_is_settled(request))
        return;
    ompi_cancel_wait_t cancel_wait = {0};
    ompi_request_look();
    ompi_request_await_cancel(request, &cancel_wait);
}

int ompi_api_test(ompi_request_t **request, int *flag, MPI_Status *status)
{
    int error = MPI_SUCCESS;
    if (ompi_threads_share() && ompi_request_can_finish_unlocked(*request)) {
        *flag = true;
        return finish_one(request, status, true);
    }
    ompi_lock();
    look_at(*request);
    *flag = ompi_request_is_settled(*request);
    if (*flag)
        error = finish_one(request, status, false);
    ompi_unlock();
    return error;
}

int ompi_api_request_get_status(ompi_request_t *request, int *flag, MPI_Status *status)
{
    int error = MPI_SUCCESS;
    ompi_lock();
    look_at(request);
    *flag = ompi_request_is_settled(request);
    if (*flag && ompi_request_is_active(request))
        error = ompi_request_query(request, status);
    else if (*flag)
        ompi_status_fill_empty(status);
    ompi_unlock();
    return error;
}

/* Why a request cannot be started; MPI_SUCCESS: it can. */
static int check_start(const ompi_request_t *request)
{
    if (!ompi_object_is(request, OMPI_REQUEST))
        return ompi_api_set_error_detail(MPI_ERR_REQUEST, "There is no such request.");
    if (!request->persistent)
        return ompi_api_set_error_detail(MPI_ERR_REQUEST, "The request is not persistent.");
    if (request->active)
        return ompi_api_set_error_detail(
            MPI_ERR_REQUEST, "The request is active: it was started and not yet waited for.");
    return MPI_SUCCESS;
}

int ompi_api_start(ompi_request_t **request)
{
    ompi_lock();
    int error = check_start(*request);
    if (error == MPI_SUCCESS)
        error = ompi_request_start(*request);
    ompi_unlock();
    return error;
}

/* In the order of the list; none, if one of them cannot be started. */
int ompi_api_startall(int count, MPI_Request array_of_requests[])
{
    int error = MPI_SUCCESS;
    ompi_lock();
    for (int i = 0; i < count && error == MPI_SUCCESS; i++)
        error = check_start(ompi_handle_object(array_of_requests[i]));
    for (int i = 0; i < count && error == MPI_SUCCESS; i++) {
        ompi_request_t *request = ompi_handle_object(array_of_requests[i]);
        error = check_start(request); /* again: it may be in the list twice */
        if (error == MPI_SUCCESS)
            error = ompi_request_start(request);
    }
    ompi_unlock();
    return error;
}

int ompi_api_request_free(ompi_request_t **request)
{
    ompi_lock();
    int error = ompi_request_free(request);
    ompi_unlock();
    return error;
}

/* Receives are cancelled if they have not matched a message; sends if they have not left, or are
 * long or synchronous and not matched. Other requests complete as without MPI_Cancel. */
int ompi_api_cancel(ompi_request_t **request)
{
    ompi_lock();
    int error = ompi_request_cancel(*request);
    ompi_unlock();
    return error;
}

/* -- generalized --------------------------------------------------------------------- */

int ompi_api_grequest_start(MPI_Grequest_query_function *query_fn,
                            MPI_Grequest_free_function *free_fn,
                            MPI_Grequest_cancel_function *cancel_fn, void *extra_state,
                            ompi_request_t **request)
{
    ompi_request_t *started = ompi_grequest_start(query_fn, free_fn, cancel_fn, extra_state);
    if (started == NULL)
        return MPI_ERR_NO_MEM;
    *request = started;
    return ompi_check_begun(MPI_SUCCESS, request);
}

int ompi_api_grequest_complete(ompi_request_t *request)
{
    if (!ompi_grequest_is(request))
        return ompi_api_set_error_detail(MPI_ERR_REQUEST,
                                         "MPI_Grequest_start did not make the request.");
    ompi_lock();
    int error = MPI_ERR_REQUEST;
    if (!ompi_request_is_done(request))
        error = ompi_grequest_complete(request);
    ompi_unlock();
    return error;
}
