/* SPDX-License-Identifier: BSD-3-Clause */
/* The sending side: one frame, or a rendezvous and whatever the receiver then asks for. */
#include <stdlib.h>
#include <string.h>

#include "opal/util/pool.h"
#include "opal/util/text.h"
#include "ompi/mca/pml/ob1/ob1.h"
#include "ompi/request/status.h"

static opal_pool_t sends = {.bytes = sizeof(ob1_send_t)};

static void destroy_send(ompi_object_t *head)
{
    ob1_send_t *send = opal_container_of(head, ob1_send_t, request.head);
    ompi_datatype_release(send->data.type);
    opal_pool_give(&sends, send);
}

static int restart_send(ompi_request_t *request);
static int cancel_send(ompi_request_t *request);

static const ompi_request_ops_t send_request_ops = {
    .start = restart_send,
    .cancel = cancel_send,
};

static void finish_send(ob1_send_t *send)
{
    ompi_request_complete(&send->request);
}

static ob1_match_t match_of(const ompi_route_t *to)
{
    return (ob1_match_t){
        .context = ompi_comm_wire_context(to->comm, to->context),
        .source = to->comm->rank,
        .tag = to->tag,
    };
}

/* -- eager --------------------------------------------------------------------------- */

/* The whole message in one frame; false: no room. */
static bool push_eager(ob1_peer_t *peer, const ob1_match_t *match, const ompi_data_t *data,
                       size_t bytes)
{
    unsigned char *room = peer->btl->ops->reserve(peer->btl, sizeof *match + bytes);
    if (opal_unlikely(room == NULL))
        return false;
    memcpy(room, match, sizeof *match);
    ompi_datatype_pack(data->type, data->count, data->buffer, 0, room + sizeof *match, bytes);
    peer->btl->ops->commit(peer->btl, room, OB1_EAGER, sizeof *match + bytes);
    return true;
}

/* The peer has to answer it. */
static void await_answer(ob1_send_t *send)
{
    send->awaits_answer = true;
    opal_list_append(&send->peer->awaiting, &send->pending.node);
}

static void answered(ob1_send_t *send)
{
    send->awaits_answer = false;
    opal_list_remove(&send->pending.node);
}

static bool push_eager_sync(ob1_send_t *send)
{
    ob1_peer_t *peer = send->peer;
    ob1_sync_t head = {.match = send->match, .sender = (uint64_t)(uintptr_t)send};
    unsigned char *room = peer->btl->ops->reserve(peer->btl, sizeof head + send->bytes);
    if (room == NULL)
        return false;
    memcpy(room, &head, sizeof head);
    ompi_datatype_pack(send->data.type, send->data.count, send->data.buffer, 0, room + sizeof head,
                       send->bytes);
    peer->btl->ops->commit(peer->btl, room, OB1_EAGER_SYNC, sizeof head + send->bytes);
    await_answer(send);
    return true;
}

/* -- stream -------------------------------------------------------------------------- */

/* As many parts as there is room for; true: that was all. */
static bool push_stream(ob1_send_t *send)
{
    const opal_btl_ops_t *ops = send->peer->btl->ops;
    ob1_stream_head_t head = {.match = send->match, .total = send->bytes};
    size_t most = ops->max_frame_bytes - sizeof head;
    if (most > ob1_part_bytes)
        most = ob1_part_bytes;
    while (send->pushed < send->bytes) {
        bool first = send->pushed == 0;
        size_t head_bytes = first ? sizeof head : 0;
        size_t part = send->bytes - send->pushed < most ? send->bytes - send->pushed : most;
        unsigned char *room = ops->reserve(send->peer->btl, head_bytes + part);
        if (room == NULL)
            return false;
        memcpy(room, &head, head_bytes);
        ompi_datatype_pack(send->data.type, send->data.count, send->data.buffer, send->pushed,
                           room + head_bytes, part);
        ops->commit(send->peer->btl, room, first ? OB1_STREAM : OB1_STREAM_PART, head_bytes + part);
        send->pushed += part;
    }
    finish_send(send);
    return true;
}

/* -- rendezvous ---------------------------------------------------------------------- */

/* Where the data is, if that can be said in few segments and the receiver can get at it. */
static uint32_t describe_data(const ob1_send_t *send, ob1_segment_t *segments)
{
    struct iovec vector[OB1_MAX_SEGMENTS];
    opal_btl_peer_t *btl = send->peer->btl;
    size_t described = 0;
    if (btl->ops->get == NULL || (btl->ops->can_get != NULL && !btl->ops->can_get(btl)))
        return 0;
    size_t count = ompi_datatype_segments(send->data.type, send->data.count, send->data.buffer, 0,
                                          vector, OB1_MAX_SEGMENTS, &described);
    if (described < send->bytes)
        return 0;
    for (size_t i = 0; i < count; i++)
        segments[i] = (ob1_segment_t){(uint64_t)(uintptr_t)vector[i].iov_base, vector[i].iov_len};
    return (uint32_t)count;
}

static bool push_rendezvous(ob1_send_t *send)
{
    opal_btl_peer_t *btl = send->peer->btl;
    ob1_rendezvous_t head = {
        .match = send->match,
        .sender = (uint64_t)(uintptr_t)send,
        .total = send->bytes,
        .synchronous = send->synchronous,
    };
    head.segment_count = describe_data(send, head.segments);
    size_t length =
        offsetof(ob1_rendezvous_t, segments) + head.segment_count * sizeof(ob1_segment_t);
    void *room = btl->ops->reserve(btl, length);
    if (room == NULL)
        return false;
    memcpy(room, &head, length);
    btl->ops->commit(btl, room, OB1_RENDEZVOUS, length);
    await_answer(send);
    return true;
}

/* -- starting ------------------------------------------------------------------------ */

/* Whether a message that is too long for a frame goes as a stream, without asking. */
static bool streams(const ob1_send_t *send)
{
    opal_btl_peer_t *btl = send->peer->btl;
    if (send->pushed > 0)
        return true; /* it has begun to */
    if (send->synchronous || send->bytes > ob1_rendezvous_limit)
        return false;
    return btl->ops->get_pays == NULL || !ompi_datatype_is_contiguous(send->data.type) ||
           !btl->ops->get_pays(btl, send->bytes, false);
}

static bool push_first(ob1_send_t *send)
{
    ob1_peer_t *peer = send->peer;
    if (send->bytes > peer->btl->ops->eager_bytes)
        return streams(send) ? push_stream(send) : push_rendezvous(send);
    if (send->synchronous)
        return push_eager_sync(send);
    if (!push_eager(peer, &send->match, &send->data, send->bytes))
        return false;
    finish_send(send);
    return true;
}

static bool push_deferred(ob1_pending_t *pending, ob1_peer_t *peer OPAL_UNUSED)
{
    return push_first(opal_container_of(pending, ob1_send_t, pending));
}

static void fail_pending(ob1_pending_t *pending, ob1_peer_t *peer OPAL_UNUSED)
{
    ob1_send_fail(opal_container_of(pending, ob1_send_t, pending));
}

/* All but the request itself. */
static void init_send(ob1_send_t *send, ob1_peer_t *peer, const ompi_route_t *to,
                      const ompi_data_t *data, ompi_send_mode_t mode)
{
    send->peer = peer;
    send->match = match_of(to);
    send->data = *data;
    send->bytes = ompi_datatype_bytes(data->type, data->count);
    send->synchronous = mode == OMPI_SEND_SYNCHRONOUS;
}

static void start_send(ob1_send_t *send)
{
    ob1_peer_t *peer = send->peer;
    send->pending.push = push_deferred;
    send->pending.fail = fail_pending;
    send->pushed = 0;
    send->awaits_answer = false;
    if (opal_unlikely(peer->is_dead)) {
        ob1_send_fail(send);
        return;
    }
    if (!ob1_peer_is_clear(peer) || !push_first(send))
        ob1_peer_defer(peer, &peer->frames, &send->pending);
}

static int create_send(const ompi_route_t *to, const ompi_data_t *data, ompi_send_mode_t mode,
                       ob1_send_t **created)
{
    ob1_peer_t *peer = ob1_peer(ompi_comm_process(to->comm, to->rank));
    if (peer == NULL)
        return MPI_ERR_OTHER;
    ob1_send_t *send = opal_pool_take(&sends);
    if (send == NULL)
        return MPI_ERR_NO_MEM;
    ompi_request_init(&send->request, &send_request_ops, to->comm, destroy_send);
    init_send(send, peer, to, data, mode);
    ompi_datatype_retain(data->type);
    *created = send;
    return MPI_SUCCESS;
}

/* True: it is gone, in one frame. */
static bool send_at_once(const ompi_route_t *to, const ompi_data_t *data, ompi_send_mode_t mode)
{
    ob1_peer_t *peer = ob1_peer(ompi_comm_process(to->comm, to->rank));
    size_t bytes = ompi_datatype_bytes(data->type, data->count);
    if (peer == NULL || bytes > peer->btl->ops->eager_bytes || mode == OMPI_SEND_SYNCHRONOUS ||
        !ob1_peer_is_clear(peer))
        return false;
    ob1_match_t match = match_of(to);
    return push_eager(peer, &match, data, bytes);
}

int ob1_isend(const ompi_route_t *to, const ompi_data_t *data, ompi_send_mode_t mode,
              ompi_request_t **request)
{
    if (opal_likely(send_at_once(to, data, mode))) {
        *request = &ompi_request_sent;
        return MPI_SUCCESS;
    }
    ob1_send_t *send;
    int error = create_send(to, data, mode, &send);
    if (error != MPI_SUCCESS)
        return error;
    start_send(send);
    *request = &send->request;
    return MPI_SUCCESS;
}

static int restart_send(ompi_request_t *request)
{
    ompi_status_set_empty(&request->status); /* of the last time: it may have been cancelled */
    start_send(opal_container_of(request, ob1_send_t, request));
    return MPI_SUCCESS;
}

int ob1_send_init(const ompi_route_t *to, const ompi_data_t *data, ompi_send_mode_t mode,
                  ompi_request_t **request)
{
    ob1_send_t *send;
    int error = create_send(to, data, mode, &send);
    if (error != MPI_SUCCESS)
        return error;
    ompi_request_make_persistent(&send->request);
    *request = &send->request;
    return MPI_SUCCESS;
}

/* The request of a blocking send stands on the stack, if it needs one at all. */
int ob1_send(const ompi_route_t *to, const ompi_data_t *data, ompi_send_mode_t mode)
{
    if (opal_likely(send_at_once(to, data, mode)))
        return MPI_SUCCESS;
    ob1_peer_t *peer = ob1_peer(ompi_comm_process(to->comm, to->rank));
    if (peer == NULL)
        return MPI_ERR_OTHER;
    ob1_send_t send;
    ompi_request_t *request = &send.request;
    ompi_request_init_bare(request, &send_request_ops, to->comm);
    init_send(&send, peer, to, data, mode);
    start_send(&send);
    if (!ompi_request_is_done(request))
        ompi_wait_until(&request->done);
    return request->status.MPI_ERROR;
}

void ob1_sends_end(void)
{
    opal_pool_empty(&sends);
}

/* -- what the receiver answers ------------------------------------------------------- */

void ob1_send_acknowledged(const ob1_ack_t *ack)
{
    ob1_send_t *send = (ob1_send_t *)(uintptr_t)ack->sender;
    answered(send);
    finish_send(send);
}

/* As many fragments as there is room for; true: that was all. */
static bool push_fragments(ob1_pending_t *pending, ob1_peer_t *peer)
{
    ob1_send_t *send = opal_container_of(pending, ob1_send_t, pending);
    size_t most = peer->btl->ops->max_frame_bytes - sizeof(ob1_fragment_t);
    while (send->pushed < send->wanted) {
        ob1_fragment_t head = {send->receiver, send->pushed};
        size_t part = send->wanted - send->pushed < most ? send->wanted - send->pushed : most;
        unsigned char *room = peer->btl->ops->reserve(peer->btl, sizeof head + part);
        if (room == NULL)
            return false;
        memcpy(room, &head, sizeof head);
        ompi_datatype_pack(send->data.type, send->data.count, send->data.buffer, send->pushed,
                           room + sizeof head, part);
        peer->btl->ops->commit(peer->btl, room, OB1_FRAGMENT, sizeof head + part);
        send->pushed += part;
    }
    finish_send(send);
    return true;
}

void ob1_send_clear(const ob1_clear_t *clear)
{
    ob1_send_t *send = (ob1_send_t *)(uintptr_t)clear->sender;
    answered(send);
    send->receiver = clear->receiver;
    send->wanted = clear->wanted;
    send->pushed = 0;
    send->pending.push = push_fragments;
    if (!push_fragments(&send->pending, send->peer))
        ob1_peer_defer(send->peer, &send->peer->streams, &send->pending);
}

/* -- cancelling ---------------------------------------------------------------------- */

static void finish_cancelled(ob1_send_t *send)
{
    ompi_status_set_cancelled(&send->request.status, true);
    finish_send(send);
}

static int cancel_send(ompi_request_t *request)
{
    ob1_send_t *send = opal_container_of(request, ob1_send_t, request);
    if (ompi_request_is_done(request))
        return MPI_SUCCESS;
    if (send->awaits_answer) {
        ob1_sync_t name = {.match = send->match, .sender = (uint64_t)(uintptr_t)send};
        ob1_peer_tell(send->peer, OB1_CANCEL, &name, sizeof name);
    } else if (send->pending.push == push_deferred && send->pushed == 0) {
        opal_list_remove(&send->pending.node);
        finish_cancelled(send);
    }
    return MPI_SUCCESS;
}

void ob1_send_cancelled(const ob1_ack_t *ack)
{
    ob1_send_t *send = (ob1_send_t *)(uintptr_t)ack->sender;
    answered(send);
    finish_cancelled(send);
}
