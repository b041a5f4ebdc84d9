/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * How calls fail: in the checks of the wrapper, before the body runs, or in the body, which returns
 * an error code and leaves a sentence and an object for the wrapper in variables of its thread.
 */
#include "ompi/api/wrapper.h"

#include <stdio.h>
#include <string.h>

#include "ompi/check/finding.h"

enum { DETAIL_MAX_BYTES = 128 };

/* From the body to the wrapper that called it; NULL: the body has not set one. */
static _Thread_local const char *error_detail;
static _Thread_local ompi_object_t *error_object;

int ompi_api_set_error_detail(int code, const char *detail)
{
    error_detail = detail;
    return code;
}

void ompi_api_set_error_object(ompi_object_t *object)
{
    ompi_object_retain(object);
    if (error_object != NULL)
        ompi_object_release(error_object);
    error_object = object;
}

int ompi_api_fail(void *object, int code, const char *call, ...)
{
    va_list values;
    const char *detail = error_detail;
    ompi_object_t *about = error_object;
    error_detail = NULL;
    error_object = NULL;
    if (about != NULL) /* the body knows better */
        object = about;
    if (detail == NULL)
        detail = ompi_check_take_text(code, &about);
    va_start(values, call);
    code = ompi_api_invoke_for_call(object != NULL ? object : about, code, call, values, detail);
    va_end(values);
    if (about != NULL) {
        ompi_lock(); /* it may be the last reference of a communicator */
        ompi_object_release(about);
        ompi_unlock();
    }
    return code;
}

int ompi_api_bad_argument(void *object, int code, const char *call, const char *argument, ...)
{
    va_list values;
    char detail[DETAIL_MAX_BYTES];
    snprintf(detail, sizeof detail, "The argument '%s' is not valid.", argument);
    va_start(values, argument);
    code = ompi_api_invoke_for_call(object, code, call, values, detail);
    va_end(values);
    return code;
}

int ompi_api_wrong_state(const char *call, ...)
{
    va_list values;
    va_start(values, call);
    int code = ompi_api_invoke_for_call(
        NULL, MPI_ERR_OTHER, call, values,
        ompi_runtime_is_finalized()
            ? "It was called after MPI_Finalize."
            : "It was called before MPI_Init, or during MPI_Finalize, and no session is open.");
    va_end(values);
    return code;
}
