/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The sending side. What the provider injects is over at once; of all else it has the buffer until
 * the completion.
 *
 * Sends that wait for an answer, which are the synchronous and the long ones, stand in a list of
 * their peer, in the order in which they were begun. Messages of one envelope (communicator, tag,
 * peer) are matched in this order. So OFI_MATCHED, which names the bits of an envelope alone, means
 * the first synchronous one of it: answers of one envelope are interchangeable. OFI_REFUSED means
 * the last one, since the receiver has matched the first ones, and refuses all others.
 */
#include "opal/util/log.h"
#include "ompi/mca/mtl/ofi/ofi.h"
#include "ompi/request/status.h"

static uint64_t bits_of(const ompi_route_t *to, bool is_synchronous)
{
    return ofi_tag_of_message(&ofi.tags, to->comm->context, to->context, (unsigned)to->comm->rank,
                              to->tag, is_synchronous);
}

/* -- at once ------------------------------------------------------------------------- */

bool ofi_send_now(const ompi_route_t *to, const ompi_data_t *data)
{
    unsigned char packed[OFI_INJECT_PACK_BYTES];
    size_t bytes = ompi_datatype_bytes(data->type, data->count);
    bool is_over;
    if (bytes >= ofi.eager_below)
        return false;
    ofi_peer_t *peer = ofi_peer_of(to->comm, to->rank);
    if (peer == NULL || ofi_peer_has_queue(peer))
        return false;
    const void *start = (const void *)ompi_datatype_origin(data->type, data->buffer);
    if (opal_unlikely(!ompi_datatype_is_contiguous(data->type))) {
        if (bytes > sizeof packed)
            return false;
        ompi_datatype_pack(data->type, data->count, data->buffer, 0, packed, bytes);
        start = packed;
    }
    if (ofi_send_bytes(peer, start, bytes, NULL, to->comm->rank, bits_of(to, false), NULL,
                       &is_over) != 0)
        return false;
    ofi_handed_over();
    return true;
}

/* -- answers ------------------------------------------------------------------------- */

static void await_answer(ofi_request_t *request)
{
    request->is_unanswered = true;
    request->missing++;
    ofi_under_way++;
    opal_list_append(&request->peer->unanswered, &request->unanswered);
}

void ofi_send_answered(ofi_request_t *request)
{
    request->is_unanswered = false;
    ofi_under_way--;
    opal_list_remove(&request->unanswered);
}

/* No answer will come. The caller ends the request, or another event does. */
static void forget_answer(ofi_request_t *request)
{
    if (!request->is_unanswered)
        return;
    ofi_send_answered(request);
    ofi_long_forget(request);
    request->missing--;
}

static ofi_request_t *request_at(opal_list_node_t *node)
{
    return opal_container_of(node, ofi_request_t, unanswered);
}

static bool has_left(const ofi_request_t *request, uint64_t bits)
{
    return request->bits == bits && request->stage == OFI_POSTED;
}

void ofi_send_matched(const ofi_control_t *control)
{
    const ofi_peer_t *peer = ofi_peer_met(control->process);
    opal_list_node_t *node = peer != NULL ? opal_list_first(&peer->unanswered) : NULL;
    while (node != NULL &&
           (request_at(node)->parts != NULL || !has_left(request_at(node), control->bits)))
        node = opal_list_next(&peer->unanswered, node);
    if (node == NULL) {
        ofi_control_complain(control, "has matched what was not sent");
        return;
    }
    ofi_send_answered(request_at(node));
    ofi_send_step_done(request_at(node));
}

static void fail_refused(ofi_request_t *request)
{
    ofi_peer_t *peer = request->peer;
    if (!peer->is_reported)
        opal_log_error("rank %u has left through MPI_Finalize: messages that wait for it fail with "
                       "MPI_ERR_PROC_ABORTED; every send needs a receive before that",
                       peer->process);
    peer->is_reported = true;
    request->base.is_unreceived = true;
    request->base.base.status.MPI_ERROR = MPI_ERR_PROC_ABORTED;
}

void ofi_send_refused(const ofi_control_t *control)
{
    const ofi_peer_t *peer = ofi_peer_met(control->process);
    ofi_request_t *last = NULL;
    for (opal_list_node_t *node = peer != NULL ? opal_list_first(&peer->unanswered) : NULL;
         node != NULL; node = opal_list_next(&peer->unanswered, node)) {
        if (has_left(request_at(node), control->bits))
            last = request_at(node);
    }
    if (last == NULL)
        return; /* its message has failed here meanwhile */
    if (last->is_cancelled)
        ompi_status_set_cancelled(&last->base.base.status, true);
    else
        fail_refused(last);
    last->missing++; /* until it is ended here, unless its completion is to come */
    forget_answer(last);
    ofi_send_step_done(last);
}

/* -- sends --------------------------------------------------------------------------- */

void ofi_send_step_done(ofi_request_t *request)
{
    if (--request->missing > 0)
        return;
    ofi_long_end(request);
    ofi_request_end(request);
}

static void send_completed(ofi_operation_t *operation,
                           const struct fi_cq_tagged_entry *entry OPAL_UNUSED)
{
    ofi_send_step_done(ofi_request_of(operation));
}

static void fail_send(ofi_request_t *request, int failure, const struct fi_cq_err_entry *error)
{
    ofi_request_fail(request, failure, error);
    forget_answer(request);
    ofi_send_step_done(request);
}

static void send_failed(ofi_operation_t *operation, const struct fi_cq_err_entry *error)
{
    fail_send(ofi_request_of(operation), error->err, error);
}

static ssize_t send_segments(ofi_request_t *request)
{
    const ompi_data_t *data = &request->base.data;
    struct iovec segments[OFI_MAX_SEGMENTS];
    size_t bytes;
    struct fi_msg_tagged message = {
        .msg_iov = segments,
        .iov_count = ompi_datatype_segments(data->type, data->count, data->buffer, 0, segments,
                                            ofi.send_segments, &bytes),
        .addr = request->peer->address,
        .tag = request->bits,
        .context = &request->operation.context,
        .data = ofi_data_of(request->base.route.comm->rank),
    };
    return fi_tsendmsg(ofi.endpoint.ep, &message, ofi.source_is_data ? FI_REMOTE_CQ_DATA : 0);
}

static ssize_t hand_over(ofi_request_t *request, bool *is_over)
{
    *is_over = false;
    if (request->parts != NULL)
        return ofi_long_begin(request, is_over);
    if (request->buffer.is_segments)
        return send_segments(request);
    return ofi_send_bytes(request->peer, request->buffer.start, request->bytes,
                          request->buffer.descriptor, request->base.route.comm->rank, request->bits,
                          &request->operation.context, is_over);
}

static bool post_send(ofi_operation_t *operation)
{
    ofi_request_t *request = ofi_request_of(operation);
    bool is_over;
    ssize_t result = hand_over(request, &is_over);
    if (result == -FI_EAGAIN)
        return false;
    request->stage = OFI_POSTED;
    if (result == 0 && opal_unlikely(request->parts != NULL))
        ofi_long_begun(request);
    if (result != 0)
        fail_send(request, (int)-result, NULL);
    else if (is_over)
        ofi_send_step_done(request);
    else
        ofi_operation_posted(operation);
    return true;
}

static const ofi_operation_kind_t send_kind = {
    .completed = send_completed,
    .failed = send_failed,
    .post = post_send,
};

int ofi_send(ompi_mtl_request_t *base)
{
    ofi_request_t *request = opal_container_of(base, ofi_request_t, base);
    request->peer = ofi_peer_of(base->route.comm, base->route.rank);
    if (request->peer == NULL)
        return ofi_peer_error;
    request->bytes = ompi_datatype_bytes(base->data.type, base->data.count);
    request->missing = 1;
    request->is_unanswered = request->is_cancelled = false;
    bool is_long = ofi.has_long && request->bytes >= ofi.max_bytes;
    bool is_answered = is_long || base->mode == OMPI_SEND_SYNCHRONOUS;
    request->bits = bits_of(&base->route, is_answered && base->route.context == OMPI_CONTEXT_USER);
    int error = ofi_buffer_for_send(&request->buffer, &base->data, request->bytes);
    if (error == MPI_SUCCESS && is_long && (error = ofi_long_prepare(request)) != MPI_SUCCESS)
        ofi_buffer_free(&request->buffer);
    if (error != MPI_SUCCESS)
        return error;
    ofi_outgoing++;
    ofi_request_began(request);
    if (is_answered)
        await_answer(request);
    request->stage = OFI_QUEUED;
    request->operation.kind = &send_kind;
    ofi_peer_post(request->peer, &request->operation);
    return MPI_SUCCESS;
}

/* A send that has left ends as its receiver says: MPI_Cancel of it is deprecated, and would cost
 * every send an answer. */
void ofi_send_cancel(ofi_request_t *request)
{
    request->is_cancelled = true;
    if (request->stage != OFI_QUEUED)
        return;
    ofi_withdraw(&request->operation);
    forget_answer(request);
    ompi_status_set_cancelled(&request->base.base.status, true);
    ofi_send_step_done(request);
}
