/* SPDX-License-Identifier: BSD-3-Clause */
/* Sends, receives and probes, which the mtl carries out. A request has the mtl's size; persistence,
 * waiting and blocking calls are made here. */
#include <stdlib.h>

#include "opal/profile/profile.h"
#include "opal/util/pool.h"
#include "ompi/mca/pml/cm/cm.h"
#include "ompi/mca/pml/cm/retry.h"
#include "ompi/request/describe.h"
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

/* -- counted sends ------------------------------------------------------------------------ */

/* For mpi_profile. */
static void profile_sent(const ompi_route_t *to, size_t bytes)
{
    opal_profile_sent(&(opal_profile_message_t){
        .peer = ompi_comm_process(to->comm, to->rank),
        .context = ompi_comm_wire_context(to->comm, to->context),
        .tag = to->tag,
        .is_own = to->context == OMPI_CONTEXT_USER,
        .bytes = bytes,
    });
}

static void count_sent(const ompi_route_t *to, const ompi_data_t *data)
{
    if (!opal_is_demanded(&ompi_mtl_counting))
        return;
    size_t bytes = ompi_datatype_bytes(data->type, data->count);
    if (opal_is_counted(&ompi_mtl_counting)) {
        opal_count_message(&ompi_mtl_counts.sent, bytes);
        opal_count_message(&to->comm->network_sent, bytes);
    }
    if (opal_profile_is_on)
        profile_sent(to, bytes);
}

static bool send_now(const ompi_route_t *to, const ompi_data_t *data)
{
    if (opal_unlikely(!cm_mtl->send_now(to, data)))
        return false;
    count_sent(to, data);
    return true;
}

/* It may be complete afterwards, but it is not freed. */
static int start_send(ompi_mtl_request_t *request)
{
    int error = cm_mtl->send(request);
    if (opal_likely(error == MPI_SUCCESS))
        count_sent(&request->route, &request->data);
    return error;
}

/* -- requests ---------------------------------------------------------------------------- */

/* The mtl's part of new memory is zero. NULL: no memory. */
static ompi_mtl_request_t *allocate(void)
{
    return opal_likely(pool.first != NULL) ? opal_pool_take(&pool) : calloc(1, pool.bytes);
}

static void free_request(ompi_mtl_request_t *request)
{
    cm_mtl->release(request);
    opal_pool_give(&pool, request);
}

static ompi_mtl_request_t *mtl_request(ompi_request_t *request)
{
    return opal_container_of(request, ompi_mtl_request_t, base);
}

static void destroy(ompi_object_t *head)
{
    ompi_mtl_request_t *request = opal_container_of(head, ompi_mtl_request_t, base.head);
    ompi_datatype_release(request->data.type);
    free_request(request);
}

static int restart_send(ompi_request_t *base)
{
    ompi_mtl_request_t *request = mtl_request(base);
    ompi_status_set_empty(&base->status); /* the last send may have been cancelled */
    request->is_unreceived = false;
    if (request->mode == OMPI_SEND_SYNCHRONOUS || !send_now(&request->route, &request->data))
        return start_send(request);
    ompi_request_complete(base);
    return MPI_SUCCESS;
}

/* An error completes the request: starting a receive never fails. */
static int restart_receive(ompi_request_t *base)
{
    ompi_status_set_empty(&base->status);
    int error = cm_mtl->receive(mtl_request(base));
    if (error != MPI_SUCCESS) {
        base->status.MPI_ERROR = error;
        ompi_request_complete(base);
    }
    return MPI_SUCCESS;
}

/* Also cancels a send that has failed because its receiver left MPI without receiving it. */
static int cancel(ompi_request_t *base)
{
    ompi_mtl_request_t *request = mtl_request(base);
    if (!ompi_request_is_done(base))
        return cm_mtl->cancel(request);
    if (request->is_send && request->is_unreceived) {
        base->status.MPI_ERROR = MPI_SUCCESS;
        ompi_status_set_cancelled(&base->status, true);
    }
    return MPI_SUCCESS;
}

static void describe(const ompi_request_t *base, ompi_description_t *description)
{
    const ompi_mtl_request_t *request = opal_container_of(base, ompi_mtl_request_t, base);
    ompi_operation_t operation = {
        .word = request->is_send ? "send" : "receive",
        .comm = request->route.comm,
        .peer = request->route.rank,
        .tag = request->route.tag,
        .bytes = ompi_datatype_bytes(request->data.type, request->data.count),
    };
    if (request->route.context == OMPI_CONTEXT_USER)
        ompi_describe_operation(description, &operation);
}

static const ompi_request_ops_t send_ops = {
    .start = restart_send, .cancel = cancel, .describe = describe};
static const ompi_request_ops_t receive_ops = {
    .start = restart_receive, .cancel = cancel, .describe = describe};

static void fill_in(ompi_mtl_request_t *request, const ompi_route_t *route, const ompi_data_t *data)
{
    request->route = *route;
    ompi_data_copy(&request->data, data);
    request->is_unreceived = false;
}

/* A request for the user. NULL: no memory. */
static ompi_mtl_request_t *create(const ompi_request_ops_t *ops, const ompi_route_t *route,
                                  const ompi_data_t *data)
{
    ompi_mtl_request_t *request = allocate();
    if (opal_unlikely(request == NULL))
        return NULL;
    ompi_request_init(&request->base, ops, route->comm, destroy);
    fill_in(request, route, data);
    ompi_datatype_retain(data->type);
    request->is_send = ops == &send_ops;
    return request;
}

/* Returns a request whose start returned `error`; frees it after an error. */
static int return_request(ompi_mtl_request_t *started, int error, ompi_request_t **request)
{
    if (opal_unlikely(error != MPI_SUCCESS)) {
        ompi_request_release(&started->base);
        return error;
    }
    *request = &started->base;
    return MPI_SUCCESS;
}

/* For a blocking call: waits for a request whose start returned `error`, and frees it. */
static int wait_and_free(ompi_mtl_request_t *started, int error, MPI_Status *status)
{
    ompi_request_t *base = &started->base;
    if (opal_likely(error == MPI_SUCCESS)) {
        if (!ompi_request_is_done(base))
            ompi_request_wait_alone(base);
        ompi_status_fill(status, &base->status);
        error = base->status.MPI_ERROR;
    }
    free_request(started);
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
    if (mode != OMPI_SEND_SYNCHRONOUS && opal_likely(send_now(to, data))) {
        *request = &ompi_request_sent;
        return MPI_SUCCESS;
    }
    ompi_mtl_request_t *send = create_send(to, data, mode);
    return send != NULL ? return_request(send, start_send(send), request) : MPI_ERR_NO_MEM;
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
    if (mode != OMPI_SEND_SYNCHRONOUS && opal_likely(send_now(to, data)))
        return MPI_SUCCESS;
    ompi_mtl_request_t *send = allocate();
    if (send == NULL)
        return MPI_ERR_NO_MEM;
    ompi_request_init_bare(&send->base, &send_ops, to->comm);
    fill_in(send, to, data);
    send->mode = mode;
    send->is_send = true;
    return wait_and_free(send, start_send(send), MPI_STATUS_IGNORE);
}

/* -- receiving ----------------------------------------------------------------------- */

int cm_irecv(const ompi_route_t *from, const ompi_data_t *data, ompi_request_t **request)
{
    ompi_mtl_request_t *receive = create(&receive_ops, from, data);
    return receive != NULL ? return_request(receive, cm_mtl->receive(receive), request)
                           : MPI_ERR_NO_MEM;
}

int cm_recv_init(const ompi_route_t *from, const ompi_data_t *data, ompi_request_t **request)
{
    ompi_mtl_request_t *receive = create(&receive_ops, from, data);
    if (receive == NULL)
        return MPI_ERR_NO_MEM;
    ompi_request_make_persistent(&receive->base);
    *request = &receive->base;
    return MPI_SUCCESS;
}

int cm_recv(const ompi_route_t *from, const ompi_data_t *data, MPI_Status *status)
{
    ompi_mtl_request_t *receive = allocate();
    if (receive == NULL)
        return MPI_ERR_NO_MEM;
    ompi_request_init_bare(&receive->base, &receive_ops, from->comm);
    fill_in(receive, from, data);
    receive->is_send = false;
    return wait_and_free(receive, cm_mtl->receive(receive), status);
}

/* -- probes --------------------------------------------------------------------------- */

/* The mtl frees a message in receive_message. */
static void leave_to_mtl(ompi_object_t *head OPAL_UNUSED)
{
}

/* A claimed message retains its communicator until it is received. */
int cm_iprobe(const ompi_route_t *from, bool *found, ompi_message_t **message, MPI_Status *status)
{
    ompi_mtl_message_t *claimed = NULL;
    MPI_Status mtl_status;
    int error = cm_mtl->probe(from, found, message != NULL ? &claimed : NULL, &mtl_status);
    if (error != MPI_SUCCESS || !*found)
        return error;
    ompi_status_fill(status, &mtl_status);
    if (message != NULL) {
        ompi_object_init(&claimed->base.head, OMPI_MESSAGE, leave_to_mtl);
        ompi_object_retain(&claimed->route.comm->head);
        *message = &claimed->base;
    }
    return MPI_SUCCESS;
}

int cm_probe(const ompi_route_t *from, ompi_message_t **message, MPI_Status *status)
{
    return cm_retry_probe(cm_iprobe, from, message, status);
}

int cm_imrecv(ompi_message_t *base, const ompi_data_t *data, ompi_request_t **request)
{
    ompi_mtl_message_t *message = opal_container_of(base, ompi_mtl_message_t, base);
    ompi_communicator_t *comm = message->route.comm;
    ompi_mtl_request_t *receive = create(&receive_ops, &message->route, data);
    if (receive == NULL)
        return MPI_ERR_NO_MEM;
    ompi_object_release(&base->head);
    int error = cm_mtl->receive_message(receive, message);
    ompi_object_release(&comm->head);
    if (error != MPI_SUCCESS) { /* the handle is used up, so the request fails */
        receive->base.status.MPI_ERROR = error;
        ompi_request_complete(&receive->base);
    }
    *request = &receive->base;
    return MPI_SUCCESS;
}
