/* SPDX-License-Identifier: BSD-3-Clause */
/* Requests of the mtl's size, and what is MPI's about them. */
#include <stdlib.h>

#include "opal/util/pool.h"
#include "ompi/mca/pml/cm/cm.h"
#include "ompi/request/status.h"

static opal_pool_t pool;

void cm_requests_start(void)
{
    pool.bytes = cm_mtl->request_bytes;
}

void cm_requests_end(void)
{
    opal_pool_empty(&pool);
}

/* -- life ---------------------------------------------------------------------------- */

/* The mtl's part of a new one is zero. NULL: no memory. */
static ompi_mtl_request_t *take(void)
{
    return opal_likely(pool.first != NULL) ? opal_pool_take(&pool) : calloc(1, pool.bytes);
}

static void give(ompi_mtl_request_t *request)
{
    cm_mtl->release(request);
    opal_pool_give(&pool, request);
}

static ompi_mtl_request_t *of(ompi_request_t *request)
{
    return opal_container_of(request, ompi_mtl_request_t, base);
}

static void destroy(ompi_object_t *head)
{
    ompi_mtl_request_t *request = opal_container_of(head, ompi_mtl_request_t, base.head);
    ompi_datatype_release(request->data.type);
    give(request);
}

static int send_again(ompi_request_t *base)
{
    ompi_mtl_request_t *request = of(base);
    ompi_status_set_empty(&base->status); /* of the last time: it may have been cancelled */
    request->is_unreceived = false;
    if (request->mode == OMPI_SEND_SYNCHRONOUS ||
        !cm_mtl->send_now(&request->route, &request->data))
        return cm_mtl->send(request);
    ompi_request_complete(base);
    return MPI_SUCCESS;
}

/* It always begins, if only to fail. */
static int receive_again(ompi_request_t *base)
{
    ompi_status_set_empty(&base->status);
    int error = cm_mtl->receive(of(base));
    if (error != MPI_SUCCESS) {
        base->status.MPI_ERROR = error;
        ompi_request_complete(base);
    }
    return MPI_SUCCESS;
}

/* Also of a send that has failed because nobody receives it. */
static int cancel(ompi_request_t *base)
{
    ompi_mtl_request_t *request = of(base);
    if (!ompi_request_is_done(base))
        return cm_mtl->cancel(request);
    if (request->is_send && request->is_unreceived) {
        base->status.MPI_ERROR = MPI_SUCCESS;
        ompi_status_set_cancelled(&base->status, true);
    }
    return MPI_SUCCESS;
}

static const ompi_request_ops_t send_ops = {.start = send_again, .cancel = cancel};
static const ompi_request_ops_t receive_ops = {.start = receive_again, .cancel = cancel};

static void fill_in(ompi_mtl_request_t *request, const ompi_route_t *route, const ompi_data_t *data)
{
    request->route = *route;
    ompi_data_copy(&request->data, data);
    request->is_unreceived = false;
}

/* What the user gets to see. */
static ompi_mtl_request_t *create(const ompi_request_ops_t *ops, const ompi_route_t *route,
                                  const ompi_data_t *data)
{
    ompi_mtl_request_t *request = take();
    if (opal_unlikely(request == NULL))
        return NULL;
    ompi_request_init(&request->base, ops, route->comm, destroy);
    fill_in(request, route, data);
    ompi_datatype_retain(data->type);
    request->is_send = ops == &send_ops;
    return request;
}

/* Of one that was begun, or not: what the caller gets. */
static int hand_out(ompi_mtl_request_t *begun, int error, ompi_request_t **request)
{
    if (opal_unlikely(error != MPI_SUCCESS)) {
        ompi_request_release(&begun->base);
        return error;
    }
    *request = &begun->base;
    return MPI_SUCCESS;
}

/* What it does not: waits for its end, and ends it. */
static int await(ompi_mtl_request_t *begun, int error, MPI_Status *status)
{
    ompi_request_t *base = &begun->base;
    if (opal_likely(error == MPI_SUCCESS)) {
        if (!ompi_request_is_done(base))
            ompi_request_wait_alone(base);
        ompi_status_fill(status, &base->status);
        error = base->status.MPI_ERROR;
    }
    give(begun);
    return error;
}

/* -- sending ------------------------------------------------------------------------- */

static ompi_mtl_request_t *create_send(const ompi_route_t *to, const ompi_data_t *data,
                                       ompi_send_mode_t mode)
{
    ompi_mtl_request_t *request = create(&send_ops, to, data);
    if (request != NULL)
        request->mode = mode;
    return request;
}

int cm_isend(const ompi_route_t *to, const ompi_data_t *data, ompi_send_mode_t mode,
             ompi_request_t **request)
{
    if (mode != OMPI_SEND_SYNCHRONOUS && opal_likely(cm_mtl->send_now(to, data))) {
        *request = &ompi_request_sent;
        return MPI_SUCCESS;
    }
    ompi_mtl_request_t *send = create_send(to, data, mode);
    return send != NULL ? hand_out(send, cm_mtl->send(send), request) : MPI_ERR_NO_MEM;
}

int cm_send_init(const ompi_route_t *to, const ompi_data_t *data, ompi_send_mode_t mode,
                 ompi_request_t **request)
{
    ompi_mtl_request_t *send = create_send(to, data, mode);
    if (send == NULL)
        return MPI_ERR_NO_MEM;
    ompi_request_make_persistent(&send->base);
    *request = &send->base;
    return MPI_SUCCESS;
}

int cm_send(const ompi_route_t *to, const ompi_data_t *data, ompi_send_mode_t mode)
{
    if (mode != OMPI_SEND_SYNCHRONOUS && opal_likely(cm_mtl->send_now(to, data)))
        return MPI_SUCCESS;
    ompi_mtl_request_t *send = take();
    if (send == NULL)
        return MPI_ERR_NO_MEM;
    ompi_request_init_bare(&send->base, &send_ops, to->comm);
    fill_in(send, to, data);
    send->mode = mode;
    send->is_send = true;
    return await(send, cm_mtl->send(send), MPI_STATUS_IGNORE);
}

/* -- receiving ----------------------------------------------------------------------- */

ompi_mtl_request_t *cm_prepare_receive(const ompi_route_t *from, const ompi_data_t *data)
{
    return create(&receive_ops, from, data);
}

int cm_irecv(const ompi_route_t *from, const ompi_data_t *data, ompi_request_t **request)
{
    ompi_mtl_request_t *receive = cm_prepare_receive(from, data);
    return receive != NULL ? hand_out(receive, cm_mtl->receive(receive), request) : MPI_ERR_NO_MEM;
}

int cm_recv_init(const ompi_route_t *from, const ompi_data_t *data, ompi_request_t **request)
{
    ompi_mtl_request_t *receive = cm_prepare_receive(from, data);
    if (receive == NULL)
        return MPI_ERR_NO_MEM;
    ompi_request_make_persistent(&receive->base);
    *request = &receive->base;
    return MPI_SUCCESS;
}

int cm_recv(const ompi_route_t *from, const ompi_data_t *data, MPI_Status *status)
{
    ompi_mtl_request_t *receive = take();
    if (receive == NULL)
        return MPI_ERR_NO_MEM;
    ompi_request_init_bare(&receive->base, &receive_ops, from->comm);
    fill_in(receive, from, data);
    receive->is_send = false;
    return await(receive, cm_mtl->receive(receive), status);
}
