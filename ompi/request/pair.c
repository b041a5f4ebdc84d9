/* SPDX-License-Identifier: BSD-3-Clause */
/* A pair counts down as its operations complete. */
#include "ompi/request/pair.h"

#include <stdlib.h>

#include "ompi/request/describe.h"

typedef struct pair {
    ompi_request_t request;
    unsigned missing;        /* parts, and one until it is sealed */
    ompi_request_t *receive; /* NULL: none, or it has ended */
    void *scratch;
} pair_t;

/* A send of a pair is seen by its receiver. */
static void describe(const ompi_request_t *request, ompi_description_t *description)
{
    const pair_t *pair = opal_container_of(request, pair_t, request);
    if (pair->receive != NULL && pair->receive->ops->describe != NULL)
        pair->receive->ops->describe(pair->receive, description);
}

static const ompi_request_ops_t pair_ops = {.describe = describe};

static pair_t *of(ompi_request_t *request)
{
    return opal_container_of(request, pair_t, request);
}

static void destroy(ompi_object_t *head)
{
    pair_t *pair = opal_container_of(head, pair_t, request.head);
    free(pair->scratch);
    free(pair);
}

ompi_request_t *ompi_pair_create(struct ompi_communicator *comm, void *scratch)
{
    pair_t *pair = malloc(sizeof *pair);
    if (pair == NULL)
        return NULL;
    ompi_request_init(&pair->request, &pair_ops, comm, destroy);
    pair->missing = 1;
    pair->receive = NULL;
    pair->scratch = scratch;
    return &pair->request;
}

void ompi_pair_seal(ompi_request_t *request)
{
    if (--of(request)->missing == 0)
        ompi_request_complete(request);
}

static void end_send(ompi_request_t *part, void *context)
{
    ompi_request_t *request = context;
    ompi_request_t *receive = of(request)->receive;
    if (request->status.MPI_ERROR == MPI_SUCCESS)
        request->status.MPI_ERROR = part->status.MPI_ERROR;
    if (part->status.MPI_ERROR != MPI_SUCCESS && receive != NULL)
        receive->ops->cancel(receive);
    ompi_pair_seal(request);
}

static void end_receive(ompi_request_t *part, void *context)
{
    ompi_request_t *request = context;
    int before = request->status.MPI_ERROR;
    of(request)->receive = NULL;
    request->status = part->status;
    if (before != MPI_SUCCESS)
        request->status.MPI_ERROR = before;
    ompi_pair_seal(request);
}

void ompi_pair_add(ompi_request_t *request, ompi_request_t *part, bool is_receive)
{
    void (*end)(ompi_request_t *, void *) = is_receive ? end_receive : end_send;
    of(request)->missing++;
    if (ompi_request_is_done(part)) {
        end(part, request);
    } else {
        part->on_complete = end;
        part->on_complete_context = request;
        if (is_receive)
            of(request)->receive = part;
    }
    ompi_request_free(&part);
}
