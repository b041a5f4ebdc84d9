/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Bodies of the chapter request for several requests: all, any, some.
 *
 * They take an array of the user's handles. `gather` turns it into objects once; then they wait or
 * poll, finish the requests that are done, and write the handles back. The bodies of `any` first
 * search for a request that is done, so that a loop of MPI_Waitany over many finished requests does
 * not gather them each time.
 *
 * Where threads share, `all` and `any` finish requests without the message lock if they can
 * (ompi_request_can_finish_unlocked).
 *
 * An error of a request belongs to its communicator, also if the call returns MPI_ERR_IN_STATUS: of
 * several, the first one's handler is called.
 */
#include <stdlib.h>

#include "ompi/api/bodies.h"
#include "ompi/request/request.h"
#include "ompi/request/status.h"

enum { ON_STACK = 64 };

/* The objects behind an array of handles. */
typedef struct request_array {
    MPI_Request *handles; /* written by the calls that finish */
    size_t count;
    ompi_request_t **objects;
    ompi_request_t *stack[ON_STACK];
} request_array_t;

/* Checks the handles, and writes what they stand for to `objects`, unless that is NULL. */
static int read_handles(size_t count, const MPI_Request *handles, ompi_request_t **objects)
{
    bool checks = ompi_api_checks();
    if (checks && count > 0 && handles == NULL)
        return ompi_api_set_error_detail(MPI_ERR_ARG, "The array of requests is NULL.");
    for (size_t i = 0; i < count; i++) {
        ompi_request_t *request = ompi_handle_object(handles[i]);
        if (checks && !ompi_object_is(request, OMPI_REQUEST) && handles[i] != MPI_REQUEST_NULL)
            return ompi_api_set_error_detail(MPI_ERR_REQUEST,
                                             "The array has a handle of no request.");
        if (objects != NULL)
            objects[i] = request;
    }
    return MPI_SUCCESS;
}

static int check_handles(size_t count, const MPI_Request *handles)
{
    return ompi_api_checks() ? read_handles(count, handles, NULL) : MPI_SUCCESS;
}

static void scatter(request_array_t *array)
{
    if (array->objects != array->stack)
        free(array->objects);
}

static int gather(request_array_t *array, int count, const MPI_Request *handles)
{
    array->handles = (MPI_Request *)(uintptr_t)handles;
    array->count = (size_t)count;
    array->objects = array->stack;
    if (array->count > ON_STACK)
        array->objects = malloc(array->count * sizeof(ompi_request_t *));
    if (array->objects == NULL)
        return MPI_ERR_NO_MEM;
    int error = read_handles(array->count, handles, array->objects);
    if (error != MPI_SUCCESS)
        scatter(array);
    return error;
}

/* Fills in the status of a settled request and writes its handle back. unlocked: the caller does
 * not hold the message lock. */
static inline int finish(ompi_request_t *request, MPI_Request *handle, MPI_Status *status,
                         bool unlocked)
{
    if (!ompi_request_is_active(request)) {
        ompi_status_fill_empty(status);
        return MPI_SUCCESS;
    }
    int error = unlocked ? ompi_request_finish_unlocked(&request, status)
                         : ompi_request_finish(&request, status);
    if (request == NULL)
        *handle = MPI_REQUEST_NULL;
    return error;
}

/* finish() for a request of an array: the error goes to the status, too, if there is one. */
static inline void finish_among(ompi_request_t *request, MPI_Request *handle, MPI_Status *status,
                                bool unlocked, int *result)
{
    if (*result == MPI_SUCCESS && ompi_request_is_active(request))
        ompi_request_set_error_object(request);
    int error = finish(request, handle, status, unlocked);
    if (status != MPI_STATUS_IGNORE)
        status->MPI_ERROR = error;
    if (error != MPI_SUCCESS && *result == MPI_SUCCESS)
        *result = status != MPI_STATUS_IGNORE ? MPI_ERR_IN_STATUS : error;
}

static MPI_Status *status_at(MPI_Status *statuses, size_t i)
{
    return statuses != MPI_STATUSES_IGNORE ? &statuses[i] : MPI_STATUS_IGNORE;
}

static bool is_ready(const ompi_request_t *request)
{
    return ompi_request_is_active(request) && ompi_request_is_done(request);
}

/* The index of the first request that is done; count: none is. *active: a request is active. */
static size_t find_ready(size_t count, const MPI_Request *handles, bool *active)
{
    *active = false;
    for (size_t i = 0; i < count; i++) {
        const ompi_request_t *request = ompi_handle_object(handles[i]);
        if (is_ready(request))
            return i;
        *active |= ompi_request_is_active(request);
    }
    return count;
}

static bool all_settled(const request_array_t *array)
{
    for (size_t i = 0; i < array->count; i++) {
        if (!ompi_request_is_settled(array->objects[i]))
            return false;
    }
    return true;
}

/* Whether all are settled and can be finished without the lock. */
static bool all_can_finish_unlocked(const request_array_t *array)
{
    if (!ompi_threads_share())
        return false;
    for (size_t i = 0; i < array->count; i++) {
        if (!ompi_request_can_finish_unlocked(array->objects[i]))
            return false;
    }
    return true;
}

/* -- all ----------------------------------------------------------------------------- */

static int finish_all(const request_array_t *array, MPI_Status *statuses, bool unlocked)
{
    int result = MPI_SUCCESS;
    for (size_t i = 0; i < array->count; i++)
        finish_among(array->objects[i], &array->handles[i], status_at(statuses, i), unlocked,
                     &result);
    return result;
}

int ompi_api_waitall(int count, MPI_Request array_of_requests[], MPI_Status *array_of_statuses)
{
    request_array_t array;
    int error = gather(&array, count, array_of_requests);
    if (error != MPI_SUCCESS)
        return error;
    bool unlocked = ompi_threads_share() && ompi_request_spin(array.objects, array.count) &&
                    all_can_finish_unlocked(&array);
    if (!unlocked) {
        ompi_lock();
        if (!ompi_request_poll(array.objects, array.count))
            ompi_request_wait(array.objects, array.count, array.count);
        unlocked = all_can_finish_unlocked(&array);
        if (unlocked)
            ompi_unlock();
    }
    error = finish_all(&array, array_of_statuses, unlocked);
    if (!unlocked)
        ompi_unlock();
    scatter(&array);
    return error;
}

static void poll_for(size_t count, const MPI_Request *handles)
{
    ompi_cancel_wait_t cancel_wait = {0};
    ompi_request_look();
    for (size_t i = 0; i < count; i++)
        ompi_request_await_cancel(ompi_handle_object(handles[i]), &cancel_wait);
}

/* Whether all are settled, now or after a poll. */
static bool test_all(const request_array_t *array)
{
    if (!all_settled(array))
        poll_for(array->count, array->handles);
    return all_settled(array);
}

int ompi_api_testall(int count, MPI_Request array_of_requests[], int *flag,
                     MPI_Status *array_of_statuses)
{
    request_array_t array;
    int error = gather(&array, count, array_of_requests);
    if (error != MPI_SUCCESS)
        return error;
    if (all_can_finish_unlocked(&array)) {
        *flag = true;
        error = finish_all(&array, array_of_statuses, true);
    } else {
        ompi_lock();
        *flag = test_all(&array);
        if (*flag)
            error = finish_all(&array, array_of_statuses, false);
        ompi_unlock();
    }
    scatter(&array);
    return error;
}

/* -- any ----------------------------------------------------------------------------- */

/* The results of a call that found no active request. */
static void return_none(int *index, MPI_Status *status)
{
    ompi_status_fill_empty(status);
    *index = MPI_UNDEFINED;
}

/* Until one of them is done. */
static int wait_for_one(int count, const MPI_Request *handles)
{
    request_array_t array;
    int error = gather(&array, count, handles);
    if (error != MPI_SUCCESS)
        return error;
    ompi_request_wait(array.objects, array.count, 1);
    scatter(&array);
    return MPI_SUCCESS;
}

static int finish_any(MPI_Request *handles, size_t i, int *index, MPI_Status *status, bool unlocked)
{
    *index = (int)i;
    ompi_request_t *request = ompi_handle_object(handles[i]);
    ompi_request_set_error_object(request);
    return finish(request, &handles[i], status, unlocked);
}

/* Finishes the first one that is done, if that can be without the lock. */
static bool finish_any_unlocked(int count, MPI_Request *handles, int *index, MPI_Status *status,
                                int *error)
{
    bool active;
    if (!ompi_threads_share())
        return false;
    size_t i = find_ready((size_t)count, handles, &active);
    if (i == (size_t)count || !ompi_request_can_finish_unlocked(ompi_handle_object(handles[i])))
        return false;
    *error = finish_any(handles, i, index, status, true);
    return true;
}

int ompi_api_waitany(int count, MPI_Request array_of_requests[], int *indx, MPI_Status *status)
{
    bool active;
    int error = check_handles((size_t)count, array_of_requests);
    if (error != MPI_SUCCESS || finish_any_unlocked(count, array_of_requests, indx, status, &error))
        return error;
    ompi_lock();
    size_t i = find_ready((size_t)count, array_of_requests, &active);
    if (i == (size_t)count && active) {
        error = wait_for_one(count, array_of_requests);
        i = find_ready((size_t)count, array_of_requests, &active);
    }
    if (i < (size_t)count)
        error = finish_any(array_of_requests, i, indx, status, false);
    else if (error == MPI_SUCCESS)
        return_none(indx, status);
    ompi_unlock();
    return error;
}

/* find_ready, once more after a poll. */
static size_t poll_ready(int count, const MPI_Request *handles, bool *active)
{
    size_t i = find_ready((size_t)count, handles, active);
    if (i == (size_t)count && *active) {
        poll_for((size_t)count, handles);
        i = find_ready((size_t)count, handles, active);
    }
    return i;
}

int ompi_api_testany(int count, MPI_Request array_of_requests[], int *indx, int *flag,
                     MPI_Status *status)
{
    bool active;
    int error = check_handles((size_t)count, array_of_requests);
    if (error != MPI_SUCCESS)
        return error;
    if (finish_any_unlocked(count, array_of_requests, indx, status, &error)) {
        *flag = true;
        return error;
    }
    ompi_lock();
    size_t i = poll_ready(count, array_of_requests, &active);
    *flag = i < (size_t)count || !active;
    *indx = MPI_UNDEFINED;
    if (i < (size_t)count)
        error = finish_any(array_of_requests, i, indx, status, false);
    else if (*flag)
        return_none(indx, status);
    ompi_unlock();
    return error;
}

/* -- some ---------------------------------------------------------------------------- */

/* Those from `first` on that are done. */
static int finish_some(int count, MPI_Request *handles, size_t first, int *outcount, int indices[],
                       MPI_Status *statuses)
{
    int result = MPI_SUCCESS, found = 0;
    for (size_t i = first; i < (size_t)count; i++) {
        ompi_request_t *request = ompi_handle_object(handles[i]);
        if (!is_ready(request))
            continue;
        finish_among(request, &handles[i], status_at(statuses, (size_t)found), false, &result);
        indices[found++] = (int)i;
    }
    *outcount = found;
    return result;
}

int ompi_api_waitsome(int incount, MPI_Request array_of_requests[], int *outcount,
                      int array_of_indices[], MPI_Status *array_of_statuses)
{
    bool active;
    int error = check_handles((size_t)incount, array_of_requests);
    if (error != MPI_SUCCESS)
        return error;
    ompi_lock();
    size_t first = find_ready((size_t)incount, array_of_requests, &active);
    if (first == (size_t)incount && active) {
        error = wait_for_one(incount, array_of_requests);
        first = find_ready((size_t)incount, array_of_requests, &active);
    }
    if (first < (size_t)incount)
        error = finish_some(incount, array_of_requests, first, outcount, array_of_indices,
                            array_of_statuses);
    else if (error == MPI_SUCCESS)
        *outcount = MPI_UNDEFINED;
    ompi_unlock();
    return error;
}

int ompi_api_testsome(int incount, MPI_Request array_of_requests[], int *outcount,
                      int array_of_indices[], MPI_Status *array_of_statuses)
{
    bool active;
    int error = check_handles((size_t)incount, array_of_requests);
    if (error != MPI_SUCCESS)
        return error;
    ompi_lock();
    size_t first = poll_ready(incount, array_of_requests, &active);
    *outcount = active ? 0 : MPI_UNDEFINED;
    if (first < (size_t)incount)
        error = finish_some(incount, array_of_requests, first, outcount, array_of_indices,
                            array_of_statuses);
    ompi_unlock();
    return error;
}

/* -- looking without taking ---------------------------------------------------------- */

/* The status of a settled one. Its own error goes to the status of an array; the call fails only
 * if the query of a generalized request does. */
static int look_at(ompi_request_t *request, MPI_Status *status)
{
    if (ompi_request_is_active(request))
        return ompi_request_query(request, status);
    ompi_status_fill_empty(status);
    return MPI_SUCCESS;
}

static void look_among(ompi_request_t *request, MPI_Status *status, int *result)
{
    int error = look_at(request, status);
    if (error != MPI_SUCCESS)
        *result = status != MPI_STATUS_IGNORE ? MPI_ERR_IN_STATUS : error;
    else if (ompi_request_is_active(request))
        error = request->status.MPI_ERROR;
    if (status != MPI_STATUS_IGNORE)
        status->MPI_ERROR = error;
}

int ompi_api_request_get_status_all(int count, const MPI_Request array_of_requests[], int *flag,
                                    MPI_Status *array_of_statuses)
{
    request_array_t array;
    int error = gather(&array, count, array_of_requests);
    if (error != MPI_SUCCESS)
        return error;
    ompi_lock();
    *flag = test_all(&array);
    for (size_t i = 0; *flag && i < array.count; i++)
        look_among(array.objects[i], status_at(array_of_statuses, i), &error);
    ompi_unlock();
    scatter(&array);
    return error;
}

int ompi_api_request_get_status_any(int count, const MPI_Request array_of_requests[], int *indx,
                                    int *flag, MPI_Status *status)
{
    bool active;
    int error = check_handles((size_t)count, array_of_requests);
    if (error != MPI_SUCCESS)
        return error;
    ompi_lock();
    size_t i = poll_ready(count, array_of_requests, &active);
    *flag = i < (size_t)count || !active;
    *indx = i < (size_t)count ? (int)i : MPI_UNDEFINED;
    if (i < (size_t)count)
        error = look_at(ompi_handle_object(array_of_requests[i]), status);
    else if (*flag)
        return_none(indx, status);
    ompi_unlock();
    return error;
}

int ompi_api_request_get_status_some(int incount, const MPI_Request array_of_requests[],
                                     int *outcount, int array_of_indices[],
                                     MPI_Status *array_of_statuses)
{
    bool active;
    int error = check_handles((size_t)incount, array_of_requests), found = 0;
    if (error != MPI_SUCCESS)
        return error;
    ompi_lock();
    size_t first = poll_ready(incount, array_of_requests, &active);
    for (size_t i = first; i < (size_t)incount; i++) {
        ompi_request_t *request = ompi_handle_object(array_of_requests[i]);
        if (!is_ready(request))
            continue;
        look_among(request, status_at(array_of_statuses, (size_t)found), &error);
        array_of_indices[found++] = (int)i;
    }
    *outcount = found > 0 || active ? found : MPI_UNDEFINED;
    ompi_unlock();
    return error;
}
