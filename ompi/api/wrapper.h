/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Functions and types that the generated wrappers of the MPI functions and their bodies use.
 */
#ifndef OMPI_API_WRAPPER_H
#define OMPI_API_WRAPPER_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "opal/include/compiler.h"
#include "ompi/api/arguments.h"
#include "opal/profile/profile.h"
#include "ompi/api/mpi.h"
#include "ompi/check/left.h"
#include "ompi/communicator/communicator.h"
#include "ompi/datatype/datatype.h"
#include "ompi/errhandler/errhandler.h"
#include "ompi/file/file.h"
#include "ompi/group/group.h"
#include "ompi/handle/handle.h"
#include "ompi/info/info.h"
#include "ompi/mca/pml/pml.h"
#include "ompi/object/ints.h"
#include "ompi/op/op.h"
#include "ompi/request/request.h"
#include "ompi/runtime/runtime.h"
#include "ompi/session/session.h"
#include "ompi/win/win.h"

/* A tool defines the MPI_ name itself and calls the PMPI_ one. */
#define OMPI_API_ALIAS(name, target)                                                               \
    OPAL_EXPORT extern __typeof__(target) name __attribute__((weak, alias(#target)))

/* Beside the wrapper: the same, for a program that is profiled. */
#define OMPI_API_PROFILED_COPY static OPAL_NOINLINE

/* Code that a successful call never runs is placed apart. */
#define OMPI_API_RARE __attribute__((cold))

/* A call that fails has made no object: its output is a null handle. */
#define OMPI_API_NOTHING(output, null_handle)                                                      \
    do {                                                                                           \
        if ((output) != NULL)                                                                      \
            *(output) = (null_handle);                                                             \
    } while (0)

/* For functions that may be called at any time. */
static inline bool ompi_api_checks(void)
{
    return (ompi_api_mode() & OMPI_API_CHECKED) != 0;
}

/* -- errors ------------------------------------------------------------------------- */

/*
 * Invokes the error handler of `object`, which may be an error handler itself, for an error `code`
 * of `function` ("MPI_Send"). An object
 * that is NULL or has no handler: invokes that of MPI_COMM_SELF, if the program has set one there,
 * else that of MPI_COMM_WORLD; outside of MPI_Init and MPI_Finalize the initial one. `detail` is a
 * sentence for a person, or NULL. Returns the code, or what the program's handler has made of it,
 * unless the handler ends the job.
 */
OMPI_API_RARE int ompi_api_invoke_errhandler(void *object, int code, const char *function,
                                             const char *detail);

/* The same for a call with the values of its arguments (arguments.h), which the message of a fatal
 * error tells. */
OMPI_API_RARE int ompi_api_invoke_for_call(void *object, int code, const char *call, va_list values,
                                           const char *detail);

/* The function and the detail of this thread's last error, if that had this code; NULL: there is no
 * detail. Valid until the thread's next error. */
const char *ompi_api_last_error_detail(int code);

/* Whether the program has set the error handler of MPI_COMM_SELF. */
extern atomic_bool ompi_api_self_errhandler_is_set;

/* For a wrapper whose body returned an error: invokes the error handler of the object, or that of
 * the object which the body set. Returns the code. `call` is a description (arguments.h) with its
 * values behind it, or a name alone; so it is in the two functions below. */
OPAL_EXPORT OMPI_API_RARE int ompi_api_fail(void *object, int code, const char *call, ...);

/* For a body: `return ompi_api_set_error_detail(MPI_ERR_OTHER, "...")` adds a sentence to the error
 * that the wrapper reports. The text is a constant. */
OPAL_EXPORT OMPI_API_RARE int ompi_api_set_error_detail(int code, const char *detail);

/* For a body that makes a communicator: turns a result of ompi/comm_create/create.h into an error
 * code of MPI with its sentence. */
int ompi_api_set_creation_error(int error);

/* For a body whose call names no object and that is going to return an error: the error handler of
 * this object will be invoked. The object is retained until then. */
OMPI_API_RARE void ompi_api_set_error_object(ompi_object_t *object);

/* For a request that is about to be finished: if it failed, the error handler of its communicator,
 * or of what it is an operation of, will be invoked. */
static inline void ompi_request_set_error_object(const ompi_request_t *request)
{
    if (opal_likely(request->status.MPI_ERROR == MPI_SUCCESS))
        return;
    if (request->ops->error_object != NULL)
        ompi_api_set_error_object(request->ops->error_object(request));
    else if (request->comm != NULL)
        ompi_api_set_error_object(&request->comm->head);
}

/* An argument that fails its check of the table. */
OMPI_API_RARE int ompi_api_bad_argument(void *object, int code, const char *call,
                                        const char *argument, ...);

/* A call before MPI_Init or after MPI_Finalize. */
OMPI_API_RARE int ompi_api_wrong_state(const char *call, ...);

#endif
