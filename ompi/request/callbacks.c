/* SPDX-License-Identifier: BSD-3-Clause */
/* A persistent request leads to its callbacks by its `ops`, which are a part of them. */
#include "ompi/request/callbacks.h"

#include <assert.h>

static ompi_request_callbacks_t *callbacks_of(const ompi_request_t *request)
{
    return opal_container_of((ompi_request_ops_t *)request->ops, ompi_request_callbacks_t, ops);
}

static void complete(ompi_request_t *request, void *context)
{
    ompi_request_callbacks_t *callbacks = context;
    if (callbacks->replaced_on_complete != NULL)
        callbacks->replaced_on_complete(request, callbacks->replaced_context);
    callbacks->on_complete(callbacks);
    if (!request->persistent)
        callbacks->on_end(callbacks);
}

static void link_complete(ompi_request_t *request, ompi_request_callbacks_t *callbacks)
{
    callbacks->replaced_on_complete = request->on_complete;
    callbacks->replaced_context = request->on_complete_context;
    request->on_complete = complete;
    request->on_complete_context = callbacks;
}

static int start(ompi_request_t *request)
{
    ompi_request_callbacks_t *callbacks = callbacks_of(request);
    callbacks->on_start(callbacks);
    link_complete(request, callbacks);
    int error = callbacks->replaced_ops->start(request);
    if (error != MPI_SUCCESS)
        request->on_complete = NULL;
    return error;
}

static void destroy(ompi_object_t *head)
{
    ompi_request_t *request = opal_container_of(head, ompi_request_t, head);
    ompi_request_callbacks_t *callbacks = callbacks_of(request);
    request->ops = callbacks->replaced_ops;
    head->destroy = callbacks->replaced_destroy;
    callbacks->on_end(callbacks);
    head->destroy(head);
}

static void attach_persistent(ompi_request_t *request, ompi_request_callbacks_t *callbacks)
{
    assert(!request->active && request->ops->start != start);
    callbacks->replaced_ops = request->ops;
    callbacks->ops = *request->ops;
    callbacks->ops.start = start;
    request->ops = &callbacks->ops;
    callbacks->replaced_destroy = request->head.destroy;
    request->head.destroy = destroy;
}

void ompi_request_attach(ompi_request_t *request, ompi_request_callbacks_t *callbacks)
{
    if (request->persistent) {
        attach_persistent(request, callbacks);
        return;
    }
    ompi_request_hold(request);
    bool is_done = ompi_request_is_done(request);
    if (!is_done)
        link_complete(request, callbacks);
    ompi_request_drop(request);
    if (is_done) {
        callbacks->on_complete(callbacks);
        callbacks->on_end(callbacks);
    }
}
