/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Callbacks of a layer above an operation, for what has to be done whenever a request that the
 * program holds starts and completes. A request without them pays nothing: they stand in for its
 * on_complete, and for `start` and `destroy` of a persistent request.
 *
 * Threading: all functions are called under the message lock.
 */
#ifndef OMPI_REQUEST_CALLBACKS_H
#define OMPI_REQUEST_CALLBACKS_H

#include "ompi/request/request.h"

typedef struct ompi_request_callbacks {
    /* A persistent request is about to start. */
    void (*on_start)(struct ompi_request_callbacks *callbacks);

    /* The operation has ended, also if it has failed or was cancelled. The program cannot see that
     * before this returns. */
    void (*on_complete)(struct ompi_request_callbacks *callbacks);

    /* The last call, which may free the callbacks: the request has completed and is not persistent,
     * or it ends. */
    void (*on_end)(struct ompi_request_callbacks *callbacks);

    /* Private. */
    ompi_request_ops_t ops; /* those of the request, with another start */
    const ompi_request_ops_t *replaced_ops;
    void (*replaced_destroy)(ompi_object_t *head);
    void (*replaced_on_complete)(ompi_request_t *request, void *context);
    void *replaced_context;
} ompi_request_callbacks_t;

/*
 * Attaches callbacks, once, to a request that the program gets: a persistent one that was not
 * started, or one that is active, perhaps done. Not for partitioned communication, which knows its
 * requests by their `ops`.
 */
OPAL_EXPORT void ompi_request_attach(ompi_request_t *request, ompi_request_callbacks_t *callbacks);

#endif
