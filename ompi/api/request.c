/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Bodies of the chapter request: waiting, testing, starting, giving up.
 *
 * The forms for several requests take an array of handles of the user's. They gather the objects
 * once (`gather`), wait or poll, and then finish those that are done, writing the handles back.
 */
#include <stdlib.h>

#include "opal/runtime/wait.h"
#include "ompi/api/bodies.h"
#include "ompi/request/request.h"
#include "ompi/request/status.h"

enum { ON_STACK = 64 };

/* The objects behind an array of handles. */
typedef struct request_array {
    MPI_Request *handles;
    size_t count;
    ompi_request_t **objects;
    ompi_request_t *stack[ON_STACK];
} request_array_t;

static bool gather(request_array_t *array, int count, const MPI_Request *handles)
{
    array->handles = (MPI_Request *)(uintptr_t)handles;
    array->count = (size_t)count;
    array->objects = array->stack;
    if (array->count > ON_STACK)
        array->objects = malloc(array->count * sizeof(ompi_request_t *));
    if (array->objects == NULL)
        return false;
    for (size_t i = 0; i < array->count; i++)
        array->objects[i] = ompi_handle_object(handles[i]);
    return true;
}

static void scatter(request_array_t *array)
{
    if (array->objects != array->stack)
        free(array->objects);
}

static bool is_active(const ompi_request_t *request)
{
    return request != NULL && request->active;
}

/* A null or inactive one counts as done in all that asks for all. */
static bool is_settled(const ompi_request_t *request)
{
    return !is_active(request) || ompi_request_is_done(request);
}

/* Tells the user of one that is settled, and writes its handle back. */
static int finish(request_array_t *array, size_t i, MPI_Status *status)
{
    MPI_Status empty;
    if (!is_active(array->objects[i])) {
        ompi_status_set_empty(&empty);
        ompi_status_tell(status, &empty);
        return MPI_SUCCESS;
    }
    int error = ompi_request_finish(&array->objects[i], status);
    if (array->objects[i] == NULL)
        array->handles[i] = MPI_REQUEST_NULL;
    return error;
}

static MPI_Status *status_at(MPI_Status *statuses, size_t i)
{
    return statuses != MPI_STATUSES_IGNORE ? &statuses[i] : MPI_STATUS_IGNORE;
}

/* Any of the array that is done, first one first; count if there is none. */
static size_t find_done(const request_array_t *array)
{
    size_t i = 0;
    while (i < array->count &&
           !(is_active(array->objects[i]) && ompi_request_is_done(array->objects[i])))
        i++;
    return i;
}

static bool has_active(const request_array_t *array)
{
    for (size_t i = 0; i < array->count; i++) {
        if (is_active(array->objects[i]))
            return true;
    }
    return false;
}

/* -- one ----------------------------------------------------------------------------- */

/* Finishes a settled request of the wrapper's. */
static int finish_one(ompi_request_t **request, MPI_Status *status)
{
    MPI_Status empty;
    if (is_active(*request))
        return ompi_request_finish(request, status);
    ompi_status_set_empty(&empty);
    ompi_status_tell(status, &empty);
    return MPI_SUCCESS;
}

int ompi_api_wait(ompi_request_t **request, MPI_Status *status)
{
    ompi_lock();
    if (!is_settled(*request))
        ompi_request_wait(request, 1, 1);
    int error = finish_one(request, status);
    ompi_unlock();
    return error;
}

int ompi_api_test(ompi_request_t **request, int *flag, MPI_Status *status)
{
    int error = MPI_SUCCESS;
    ompi_lock();
    if (!is_settled(*request))
        opal_progress();
    *flag = is_settled(*request);
    if (*flag)
        error = finish_one(request, status);
    ompi_unlock();
    return error;
}

int ompi_api_request_get_status(ompi_request_t *request, int *flag, MPI_Status *status)
{
    MPI_Status empty;
    ompi_lock();
    if (!is_settled(request))
        opal_progress();
    *flag = is_settled(request);
    if (*flag && is_active(request)) {
        ompi_status_tell(status, &request->status);
    } else if (*flag) {
        ompi_status_set_empty(&empty);
        ompi_status_tell(status, &empty);
    }
    ompi_unlock();
    return MPI_SUCCESS;
}

/* Why a request cannot be started; MPI_SUCCESS: it can. */
static int check_start(const ompi_request_t *request)
{
    if (!ompi_object_is(request, OMPI_REQUEST))
        return ompi_api_explain(MPI_ERR_REQUEST, "There is no such request.");
    if (!request->persistent)
        return ompi_api_explain(MPI_ERR_REQUEST, "The request is not persistent.");
    if (request->active)
        return ompi_api_explain(MPI_ERR_REQUEST,
                                "The request is active: it was started and not yet waited for.");
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
    ompi_request_free(request);
    ompi_unlock();
    return MPI_SUCCESS;
}

int ompi_api_cancel(ompi_request_t **request)
{
    int error = MPI_SUCCESS;
    ompi_lock();
    if (is_active(*request) && !ompi_request_is_done(*request) && (*request)->ops->cancel != NULL)
        error = (*request)->ops->cancel(*request);
    ompi_unlock();
    return error;
}

/* -- all ----------------------------------------------------------------------------- */

/* Finishes all; MPI_ERR_IN_STATUS if one failed, with each one's error in its status. */
static int finish_all(request_array_t *array, MPI_Status *statuses)
{
    int result = MPI_SUCCESS;
    for (size_t i = 0; i < array->count; i++) {
        MPI_Status *status = status_at(statuses, i);
        int error = finish(array, i, status);
        if (error != MPI_SUCCESS)
            result = statuses != MPI_STATUSES_IGNORE ? MPI_ERR_IN_STATUS : error;
        if (status != MPI_STATUS_IGNORE)
            status->MPI_ERROR = error;
    }
    return result;
}

static bool all_settled(const request_array_t *array)
{
    for (size_t i = 0; i < array->count; i++) {
        if (!is_settled(array->objects[i]))
            return false;
    }
    return true;
}

int ompi_api_waitall(int count, MPI_Request array_of_requests[], MPI_Status *array_of_statuses)
{
    request_array_t array;
    if (!gather(&array, count, array_of_requests))
        return MPI_ERR_NO_MEM;
    ompi_lock();
    ompi_request_wait(array.objects, array.count, array.count);
    int error = finish_all(&array, array_of_statuses);
    ompi_unlock();
    scatter(&array);
    return error;
}

int ompi_api_testall(int count, MPI_Request array_of_requests[], int *flag,
                     MPI_Status *array_of_statuses)
{
    request_array_t array;
    int error = MPI_SUCCESS;
    if (!gather(&array, count, array_of_requests))
        return MPI_ERR_NO_MEM;
    ompi_lock();
    if (!all_settled(&array))
        opal_progress();
    *flag = all_settled(&array);
    if (*flag)
        error = finish_all(&array, array_of_statuses);
    ompi_unlock();
    scatter(&array);
    return error;
}

/* -- any ----------------------------------------------------------------------------- */

/* What the calls say that found nothing active. */
static void tell_none(int *index, MPI_Status *status)
{
    MPI_Status empty;
    ompi_status_set_empty(&empty);
    ompi_status_tell(status, &empty);
    *index = MPI_UNDEFINED;
}

int ompi_api_waitany(int count, MPI_Request array_of_requests[], int *indx, MPI_Status *status)
{
    request_array_t array;
    int error = MPI_SUCCESS;
    if (!gather(&array, count, array_of_requests))
        return MPI_ERR_NO_MEM;
    ompi_lock();
    ompi_request_wait(array.objects, array.count, 1);
    size_t i = find_done(&array);
    if (i < array.count) {
        *indx = (int)i;
        error = finish(&array, i, status);
    } else {
        tell_none(indx, status);
    }
    ompi_unlock();
    scatter(&array);
    return error;
}

int ompi_api_testany(int count, MPI_Request array_of_requests[], int *indx, int *flag,
                     MPI_Status *status)
{
    request_array_t array;
    int error = MPI_SUCCESS;
    if (!gather(&array, count, array_of_requests))
        return MPI_ERR_NO_MEM;
    ompi_lock();
    size_t i = find_done(&array);
    if (i == array.count) {
        opal_progress();
        i = find_done(&array);
    }
    *flag = i < array.count || !has_active(&array);
    *indx = MPI_UNDEFINED;
    if (i < array.count) {
        *indx = (int)i;
        error = finish(&array, i, status);
    } else if (*flag) {
        tell_none(indx, status);
    }
    ompi_unlock();
    scatter(&array);
    return error;
}

/* -- some ---------------------------------------------------------------------------- */

static int finish_some(request_array_t *array, int *outcount, int indices[], MPI_Status *statuses)
{
    int result = MPI_SUCCESS;
    int found = 0;
    if (!has_active(array)) {
        *outcount = MPI_UNDEFINED;
        return MPI_SUCCESS;
    }
    for (size_t i = 0; i < array->count; i++) {
        if (!is_active(array->objects[i]) || !ompi_request_is_done(array->objects[i]))
            continue;
        MPI_Status *status = status_at(statuses, (size_t)found);
        int error = finish(array, i, status);
        if (error != MPI_SUCCESS)
            result = statuses != MPI_STATUSES_IGNORE ? MPI_ERR_IN_STATUS : error;
        if (status != MPI_STATUS_IGNORE)
            status->MPI_ERROR = error;
        indices[found++] = (int)i;
    }
    *outcount = found;
    return result;
}

int ompi_api_waitsome(int incount, MPI_Request array_of_requests[], int *outcount,
                      int array_of_indices[], MPI_Status *array_of_statuses)
{
    request_array_t array;
    if (!gather(&array, incount, array_of_requests))
        return MPI_ERR_NO_MEM;
    ompi_lock();
    ompi_request_wait(array.objects, array.count, 1);
    int error = finish_some(&array, outcount, array_of_indices, array_of_statuses);
    ompi_unlock();
    scatter(&array);
    return error;
}

int ompi_api_testsome(int incount, MPI_Request array_of_requests[], int *outcount,
                      int array_of_indices[], MPI_Status *array_of_statuses)
{
    request_array_t array;
    if (!gather(&array, incount, array_of_requests))
        return MPI_ERR_NO_MEM;
    ompi_lock();
    if (find_done(&array) == array.count)
        opal_progress();
    int error = finish_some(&array, outcount, array_of_indices, array_of_statuses);
    ompi_unlock();
    scatter(&array);
    return error;
}
