/* SPDX-License-Identifier: BSD-3-Clause */
/* Generalized requests: the slots of a request call the user's callbacks. */
#include "ompi/request/grequest.h"

#include <stdlib.h>

#include "ompi/request/describe.h"
#include "ompi/request/status.h"

typedef struct grequest {
    ompi_request_t request;
    MPI_Grequest_query_function *query;
    MPI_Grequest_free_function *free;
    MPI_Grequest_cancel_function *cancel;
    void *state;
} grequest_t;

static grequest_t *of(ompi_request_t *request)
{
    return opal_container_of(request, grequest_t, request);
}

/* A query may ask again: it begins with an empty status each time. MPI_ERROR is not the query's. */
static int query(ompi_request_t *request, MPI_Status *status)
{
    ompi_status_set_empty(status);
    int error = of(request)->query(of(request)->state, status);
    status->MPI_ERROR = MPI_SUCCESS;
    return error;
}

static int leave(ompi_request_t *request)
{
    return of(request)->free(of(request)->state);
}

static int cancel(ompi_request_t *request)
{
    int is_complete = ompi_request_is_done(request);
    ompi_unlock();
    int error = of(request)->cancel(of(request)->state, is_complete);
    ompi_lock();
    return error;
}

static void describe(const ompi_request_t *request OPAL_UNUSED, ompi_description_t *description)
{
    ompi_describe_act(description, NULL, 0,
                      "the program has not called MPI_Grequest_complete for it");
}

static const ompi_request_ops_t ops = {
    .cancel = cancel,
    .describe = describe,
    .query = query,
    .leave = leave,
};

static void destroy(ompi_object_t *head)
{
    free(opal_container_of(head, grequest_t, request.head));
}

ompi_request_t *ompi_grequest_start(MPI_Grequest_query_function *query_fn,
                                    MPI_Grequest_free_function *free_fn,
                                    MPI_Grequest_cancel_function *cancel_fn, void *state)
{
    grequest_t *grequest = malloc(sizeof *grequest);
    if (grequest == NULL)
        return NULL;
    ompi_request_init(&grequest->request, &ops, NULL, destroy);
    grequest->query = query_fn;
    grequest->free = free_fn;
    grequest->cancel = cancel_fn;
    grequest->state = state;
    return &grequest->request;
}

bool ompi_grequest_is(const ompi_request_t *request)
{
    return request->ops == &ops;
}

int ompi_grequest_complete(ompi_request_t *request)
{
    int error = MPI_SUCCESS;
    if (request->orphan != OMPI_ORPHAN_NOT) { /* its user's callback goes before it does */
        ompi_unlock();
        error = leave(request);
        ompi_lock();
    }
    ompi_request_complete(request);
    return error;
}
