/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The sending side of the protocols: eager, stream, rendezvous (RTS, then fragments if the receiver
 * sends a CTS), and MPI_Cancel of a send.
 */
#include <stdlib.h>
#include <string.h>

#include "opal/node/region.h"
#include "opal/util/pool.h"
#include "ompi/mca/pml/ob1/ob1.h"
#include "ompi/request/status.h"

enum {
    SHORTEST_LISTED = 512, /* bytes; on average, of segments that are copied one by one */
    SHORT_SYNC = 128,      /* up to so many bytes, the data is no longer than an RTS */
};

size_t ob1_rendezvous_limit;

static opal_pool_t sends = {.bytes = sizeof(ob1_send_t)};
static opal_names_t names; /* of sends that a receiver replies to; under ompi_lock */

static void destroy_send(ompi_object_t *head)
{
    ob1_send_t *send = opal_container_of(head, ob1_send_t, request.head);
    ompi_datatype_release(send->data.type);
    if (ompi_threads_share())
        opal_pool_return(&sends, send); /* its owner may have finished it without ompi_lock */
    else
        opal_pool_give(&sends, send);
}

static int restart_send(ompi_request_t *request);
static int cancel_send(ompi_request_t *request);

static void describe(const ompi_request_t *request, ompi_description_t *description)
{
    ob1_describe_send(opal_container_of(request, ob1_send_t, request), description);
}

static const ompi_request_ops_t send_request_ops = {
    .start = restart_send,
    .cancel = cancel_send,
    .describe = describe,
    .can_finish_unlocked = true,
};

static void drop_list(ob1_send_t *send)
{
    if (opal_likely(send->list == NULL))
        return;
    if (opal_region_has(send->list, 1))
        opal_heap_free(opal_region.heap, send->list);
    else
        free(send->list);
    send->list = NULL;
}

/* From now on the peer cannot complete the send by its slot, nor ask for help with the copy. */
static void disarm(ob1_send_t *send)
{
    opal_btl_peer_t *btl = send->peer->btl;
    if (send->slot != 0)
        btl->ops->disarm(btl, send->slot);
    send->slot = 0;
}

void ob1_send_finish(ob1_send_t *send)
{
    if (ompi_event_is_wanted(OMPI_EVENT_RENDEZVOUS_ENDED) && send->is_rendezvous)
        ob1_raise_rndv_sent(OMPI_EVENT_RENDEZVOUS_ENDED, send);
    drop_list(send);
    disarm(send);
    if (send->name != 0)
        opal_names_remove(&names, send->name);
    send->name = 0;
    ompi_request_complete(&send->request);
}

void ob1_send_fail(ob1_send_t *send)
{
    if (!ob1_is_farewell(send->match.context, send->match.tag))
        ob1_peer_report_departed(send->peer);
    send->request.status.MPI_ERROR = send->peer->error;
    ob1_send_finish(send);
}

static void fail_for_memory(ob1_send_t *send)
{
    send->request.status.MPI_ERROR = MPI_ERR_NO_MEM;
    ob1_send_finish(send);
}

/* The bytes of a match in registers: put together in memory, they would be loaded before they have
 * got there. */
static inline opal_btl_head_t head_of(ob1_match_t match)
{
    _Static_assert(sizeof match == OPAL_BTL_HEAD, "a match is the head of a short frame");
    const bool is_little = __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__;
    uint64_t context = match.context, source = (uint32_t)match.source;
    return (opal_btl_head_t){.first = is_little ? context | source << 32 : context << 32 | source,
                             .last = (uint32_t)match.tag};
}

/* -- eager --------------------------------------------------------------------------- */

/* A short message of one run. False: no room. */
OPAL_INLINE bool write_short(opal_btl_peer_t *btl, ob1_match_t match, const ompi_data_t *data,
                             size_t bytes)
{
    const void *origin = (const void *)ompi_datatype_origin(data->type, data->buffer);
    return opal_likely(btl->ops->send_short(btl, OB1_EAGER, head_of(match), origin, bytes));
}

/* Any message, packed. The same. */
static bool write_packed(opal_btl_peer_t *btl, const ob1_match_t *match, const ompi_data_t *data,
                         size_t bytes)
{
    unsigned char *room = btl->ops->reserve(btl, sizeof *match + bytes);
    if (opal_unlikely(room == NULL))
        return false;
    memcpy(room, match, sizeof *match);
    ompi_datatype_pack(data->type, data->count, data->buffer, 0, room + sizeof *match, bytes);
    btl->ops->commit(btl, room, OB1_EAGER, sizeof *match + bytes);
    return true;
}

bool ob1_write_eager(opal_btl_peer_t *btl, const ob1_match_t *match, const ompi_data_t *data,
                     size_t bytes)
{
    bool is_short = bytes <= OPAL_BTL_SHORT && ompi_datatype_is_contiguous(data->type);
    return is_short ? write_short(btl, *match, data, bytes) : write_packed(btl, match, data, bytes);
}

/* Whether a frame that takes part in matching may go the main way, in its order with those of its
 * lane. False: no room. */
static inline bool may_go_main(ob1_peer_t *peer, const ob1_match_t *match)
{
    return !ompi_threads_share() || ob1_lane_leave(peer, match->context);
}

/* The whole message in one frame, by its lane, or by zcopy if that is faster. False: no room. */
static bool push_eager(ob1_peer_t *peer, const ob1_match_t *match, const ompi_data_t *data,
                       size_t bytes)
{
    ob1_pushed_t pushed = bytes >= peer->zcopy_bytes
                              ? ob1_zcopy_now(peer, match, sizeof *match, OB1_EAGER, data, bytes)
                          : ompi_threads_share() ? ob1_lane_push(peer, match, data, bytes)
                                                 : OB1_NOT_SO;
    if (opal_unlikely(pushed != OB1_NOT_SO))
        return pushed == OB1_PUSHED;
    if (!may_go_main(peer, match) || !ob1_write_eager(peer->btl, match, data, bytes))
        return false;
    ob1_peer_charge(peer, bytes);
    return true;
}

/* The name in the receiver's replies. False: no memory. */
static bool give_name(ob1_send_t *send)
{
    if (send->name == 0)
        send->name = opal_names_add(&names, send);
    return opal_likely(send->name != 0);
}

/* The first frame has left, which begins the message. */
static void count(const ob1_send_t *send, ob1_protocol_t protocol)
{
    ob1_count_sent(send->peer, send->request.comm, &send->match, send->bytes);
    ob1_count_protocol(protocol, send->bytes);
}

/* The send completes when the peer replies. */
static void await_reply(ob1_send_t *send, ob1_kind_t kind)
{
    send->awaits = kind;
    opal_list_append(&send->peer->awaiting, &send->pending.node);
}

static bool push_eager_sync(ob1_send_t *send)
{
    ob1_peer_t *peer = send->peer;
    ob1_sync_t head = {.match = send->match, .sender = send->name};
    unsigned char *room =
        may_go_main(peer, &send->match) ? ob1_peer_reserve(peer, sizeof head + send->bytes) : NULL;
    if (room == NULL)
        return false;
    memcpy(room, &head, sizeof head);
    ompi_datatype_pack(send->data.type, send->data.count, send->data.buffer, 0, room + sizeof head,
                       send->bytes);
    if (send->bytes > SHORT_SYNC)
        ob1_peer_charge(peer, send->bytes);
    ob1_peer_commit(peer, room, OB1_EAGER_SYNC, sizeof head + send->bytes);
    count(send, OB1_BY_SYNC);
    await_reply(send, OB1_MATCH_ACK);
    return true;
}

/* -- stream -------------------------------------------------------------------------- */

/* Sends as many parts as there is room for. True: all have left. */
static bool push_stream(ob1_send_t *send)
{
    ob1_stream_head_t head = {.match = send->match, .total = send->bytes};
    size_t most = send->peer->part_bytes;
    if (send->pushed == 0 && !may_go_main(send->peer, &send->match))
        return false;
    if (send->pushed == 0 && send->bytes >= send->peer->zcopy_bytes) {
        ob1_pushed_t pushed =
            ob1_zcopy_now(send->peer, &head, sizeof head, OB1_STREAM, &send->data, send->bytes);
        if (pushed == OB1_PUSHED) {
            count(send, OB1_BY_STREAM);
            ob1_send_finish(send);
        }
        if (pushed != OB1_NOT_SO)
            return pushed == OB1_PUSHED;
    }
    while (send->pushed < send->bytes) {
        bool first = send->pushed == 0;
        size_t head_bytes = first ? sizeof head : 0;
        size_t part = send->bytes - send->pushed < most ? send->bytes - send->pushed : most;
        unsigned char *room = ob1_peer_reserve(send->peer, head_bytes + part);
        if (room == NULL)
            return false;
        memcpy(room, &head, head_bytes);
        ompi_datatype_pack(send->data.type, send->data.count, send->data.buffer, send->pushed,
                           room + head_bytes, part);
        if (first) {
            ob1_peer_charge(send->peer, send->bytes);
            count(send, OB1_BY_STREAM);
        }
        ob1_peer_commit(send->peer, room, first ? OB1_STREAM : OB1_STREAM_PART, head_bytes + part);
        send->pushed += part;
    }
    ob1_send_finish(send);
    return true;
}

/* -- rendezvous ---------------------------------------------------------------------- */

_Static_assert(sizeof(ob1_segment_t) == sizeof(struct iovec),
               "ompi_datatype_segments writes segments");

/* Whether copying the data segment by segment is faster than packing it. */
static bool is_in_long_pieces(const ob1_send_t *send)
{
    struct iovec first = {0};
    size_t bytes;
    return ompi_datatype_is_contiguous(send->data.type) ||
           (ompi_datatype_segments(send->data.type, send->data.count, send->data.buffer, 0, &first,
                                   1, &bytes) == 1 &&
            bytes >= SHORTEST_LISTED);
}

/* A list of the segments, if they are more than an RTS holds. Returns their number. 0: they are so
 * short that packing is faster, or there is no memory. */
static uint32_t list_segments(ob1_send_t *send)
{
    const ompi_data_t *data = &send->data;
    size_t most = send->bytes / SHORTEST_LISTED, described = 0;
    if (most > OB1_MAX_LISTED)
        most = OB1_MAX_LISTED;
    if (most <= OB1_MAX_SEGMENTS || !is_in_long_pieces(send))
        return 0;
    /* The receiver has the shared region mapped, if there is one. */
    size_t bytes = most * sizeof *send->list;
    send->list =
        opal_region.heap != NULL ? opal_heap_memalign(opal_region.heap, 64, bytes) : malloc(bytes);
    if (send->list == NULL)
        return 0;
    size_t count = ompi_datatype_segments(data->type, data->count, data->buffer, 0,
                                          (struct iovec *)(void *)send->list, most, &described);
    if (described == send->bytes)
        return (uint32_t)count;
    drop_list(send);
    return 0;
}

/* Writes where the data is, if the receiver can copy it from there. Returns the number of segments;
 * 0: it cannot. */
static uint32_t describe_data(ob1_send_t *send, ob1_segment_t *segments)
{
    struct iovec vector[OB1_MAX_SEGMENTS];
    opal_btl_peer_t *btl = send->peer->btl;
    const ompi_data_t *data = &send->data;
    size_t described = 0;
    if (!btl->ops->can_rndv_get(btl))
        return 0;
    if (ompi_datatype_is_contiguous(data->type)) {
        *segments = (ob1_segment_t){ompi_datatype_origin(data->type, data->buffer), send->bytes};
        return 1;
    }
    size_t count = ompi_datatype_segments(data->type, data->count, data->buffer, 0, vector,
                                          OB1_MAX_SEGMENTS, &described);
    if (described < send->bytes) {
        uint32_t listed = list_segments(send);
        *segments = (ob1_segment_t){(uintptr_t)send->list, listed * sizeof *segments};
        return listed;
    }
    for (size_t i = 0; i < count; i++)
        segments[i] = (ob1_segment_t){(uint64_t)(uintptr_t)vector[i].iov_base, vector[i].iov_len};
    return (uint32_t)count;
}

/* The RTS is written in place: copying what was written just now costs time. */
static bool push_rts(ob1_send_t *send)
{
    opal_btl_peer_t *btl = send->peer->btl;
    ob1_rts_t *head =
        may_go_main(send->peer, &send->match) ? ob1_peer_reserve(send->peer, sizeof *head) : NULL;
    if (head == NULL)
        return false;
    ob1_match_copy(&head->match, &send->match);
    head->sender = send->name;
    head->total = send->bytes;
    head->synchronous = send->synchronous;
    head->segment_count = describe_data(send, head->segments);
    if (head->segment_count > 0) {
        struct iovec run = {(void *)(uintptr_t)head->segments[0].address,
                            head->segment_count == 1 ? send->bytes : 0};
        send->slot =
            btl->ops->arm(btl, OB1_FIN, head->sender, &run, send->awaits_alone ? send->bytes : 0);
    }
    head->slot = send->slot < OPAL_BTL_NO_SLOT ? send->slot : 0;
    size_t sent = head->segment_count > OB1_MAX_SEGMENTS ? 1 : head->segment_count;
    ob1_peer_commit(send->peer, head, OB1_RTS,
                    offsetof(ob1_rts_t, segments) + sent * sizeof(ob1_segment_t));
    count(send, OB1_BY_RENDEZVOUS);
    await_reply(send, OB1_FIN);
    send->is_rendezvous = true;
    if (ompi_event_is_wanted(OMPI_EVENT_RENDEZVOUS_BEGUN))
        ob1_raise_rndv_sent(OMPI_EVENT_RENDEZVOUS_BEGUN, send);
    return true;
}

/* -- starting ------------------------------------------------------------------------ */

/* Whether a rendezvous is faster although the message fits a frame: the receiver has the buffer
 * mapped. */
static bool is_direct(opal_btl_peer_t *btl, const ompi_data_t *data, size_t bytes)
{
    return bytes >= btl->ops->direct_bytes && bytes <= btl->ops->eager_bytes &&
           ompi_datatype_is_contiguous(data->type) &&
           btl->ops->is_mapped(btl, (const void *)ompi_datatype_origin(data->type, data->buffer),
                               bytes);
}

/* Whether a message that is too long for a frame goes as a stream, unasked. */
static bool is_streamed(const ob1_send_t *send)
{
    opal_btl_peer_t *btl = send->peer->btl;
    size_t limit = btl->ops->stream_bytes > 0 ? btl->ops->stream_bytes : ob1_rendezvous_limit;
    if (send->synchronous || send->bytes > limit)
        return false;
    return !is_in_long_pieces(send) ||
           !btl->ops->rndv_get_pays(btl, ompi_datatype_origin(send->data.type, send->data.buffer),
                                    send->bytes, false);
}

/* The protocol: the kind of the first frame. */
static ob1_kind_t first_kind(const ob1_send_t *send)
{
    opal_btl_peer_t *btl = send->peer->btl;
    if (send->pushed > 0)
        return OB1_STREAM; /* which has begun */
    if (is_direct(btl, &send->data, send->bytes) ||
        ob1_is_beyond_limit(send->request.comm, send->match.context, send->bytes))
        return OB1_RTS;
    if (opal_unlikely(!ob1_peer_has_credit(send->peer)))
        return send->bytes <= SHORT_SYNC ? OB1_EAGER_SYNC : OB1_RTS;
    if (send->bytes > btl->ops->eager_bytes)
        return is_streamed(send) ? OB1_STREAM : OB1_RTS;
    return send->synchronous ? OB1_EAGER_SYNC : OB1_EAGER;
}

static bool push_first(ob1_send_t *send)
{
    ob1_kind_t kind = first_kind(send);
    if (kind == OB1_STREAM)
        return push_stream(send);
    if (kind != OB1_EAGER) {
        if (give_name(send))
            return kind == OB1_RTS ? push_rts(send) : push_eager_sync(send);
        fail_for_memory(send);
        return true;
    }
    if (!push_eager(send->peer, &send->match, &send->data, send->bytes))
        return false;
    ob1_count_sent(send->peer, send->request.comm, &send->match, send->bytes);
    ob1_send_finish(send);
    return true;
}

static bool push_deferred(ob1_pending_t *pending, ob1_peer_t *peer OPAL_UNUSED)
{
    return push_first(opal_container_of(pending, ob1_send_t, pending));
}

static void finish_cancelled(ob1_send_t *send)
{
    ompi_status_set_cancelled(&send->request.status, true);
    ob1_send_finish(send);
}

/* The peer is unreachable, and has not received the message. */
static void fail_unreceived(ob1_send_t *send)
{
    send->is_unreceived = send->peer->has_left;
    ob1_send_fail(send);
}

/* The peer is unreachable, and the first frame has not left completely. */
static void end_unsent(ob1_send_t *send)
{
    ob1_kind_t kind = first_kind(send);
    if (send->peer->has_left && (kind == OB1_EAGER || kind == OB1_STREAM))
        ob1_send_finish(send);
    else
        fail_unreceived(send);
}

static void end_pending(ob1_pending_t *pending, ob1_peer_t *peer)
{
    ob1_send_t *send = opal_container_of(pending, ob1_send_t, pending);
    if (send->awaits != 0 && send->is_cancelling && peer->has_left)
        finish_cancelled(send);
    else if (send->awaits != 0)
        fail_unreceived(send);
    else if (pending->push == push_deferred)
        end_unsent(send);
    else
        ob1_send_fail(send);
}

/* Everything except the request itself. */
static void init_send(ob1_send_t *send, ob1_peer_t *peer, const ompi_route_t *to,
                      const ompi_data_t *data, ompi_send_mode_t mode)
{
    send->peer = peer;
    send->match = ob1_match_of(to);
    send->dest = to->rank;
    ompi_data_copy(&send->data, data);
    send->bytes = ompi_datatype_bytes(data->type, data->count);
    send->synchronous = mode == OMPI_SEND_SYNCHRONOUS;
    send->awaits_alone = false;
}

static void start_send(ob1_send_t *send)
{
    ob1_peer_t *peer = send->peer;
    send->pending.push = push_deferred;
    send->pending.fail = end_pending;
    send->pushed = 0;
    send->awaits = 0;
    send->is_cancelling = send->is_unreceived = send->is_rendezvous = false;
    send->name = 0;
    send->slot = 0;
    send->list = NULL;
    if (opal_unlikely(ob1_peer_is_unreachable(peer))) {
        end_unsent(send);
        return;
    }
    if (!ob1_peer_can_send(peer) || !push_first(send))
        ob1_peer_defer(peer, &peer->frames, &send->pending);
}

/* Why there is no peer for that rank. */
static int error_of(const ompi_route_t *to)
{
    return ob1_peer_error(opal_process(ompi_comm_process(to->comm, to->rank)));
}

/* NULL: *error says why. */
static ob1_send_t *create_send(const ompi_route_t *to, const ompi_data_t *data,
                               ompi_send_mode_t mode, int *error)
{
    ob1_peer_t *peer = ob1_peer_of(to->comm, to->rank);
    ob1_send_t *send = peer != NULL ? opal_pool_take(&sends) : NULL;
    if (send == NULL) {
        *error = peer == NULL ? error_of(to) : MPI_ERR_NO_MEM;
        return NULL;
    }
    ompi_request_init(&send->request, &send_request_ops, to->comm, destroy_send);
    init_send(send, peer, to, data, mode);
    ompi_datatype_retain(data->type);
    return send;
}

/* Counts a message before it leaves, so that nothing need be remembered of it meanwhile. False: it
 * is not the usual one of a profile, and is counted behind that. */
OPAL_INLINE bool count_early(const ob1_peer_t *peer, const ompi_route_t *to, size_t bytes)
{
    return !opal_is_counted(&ob1_counting) && to->context == OMPI_CONTEXT_USER &&
           opal_profile_sent_again(peer->process->index, bytes);
}

/* There was no room for a short message that has taken credit, and may have been counted early.
 * Finds out again what it is, as that was not remembered. */
OPAL_NOINLINE static bool not_sent(const ompi_route_t *to, const ompi_data_t *data, bool was_early)
{
    size_t bytes = ompi_datatype_bytes(data->type, data->count);
    ob1_met_peer(to->comm, to->rank)->credit += ob1_cost_of(bytes);
    if (was_early)
        opal_profile_not_sent_again();
    return false;
}

/* Counts the message behind it; a function of its own, as it remembers what the message is. */
OPAL_NOINLINE static bool write_counted(ob1_peer_t *peer, const ompi_route_t *to,
                                        const ompi_data_t *data, size_t bytes)
{
    ob1_match_t match = ob1_match_of(to);
    ob1_peer_charge(peer, bytes);
    if (!write_short(peer->btl, match, data, bytes))
        return not_sent(to, data, false);
    ob1_count_sent_demanded(peer, to->comm, &match, bytes);
    return true;
}

/* A short message of one run that nothing delays, while no threads share. True: it has left. */
OPAL_INLINE bool try_send_short(const ompi_route_t *to, const ompi_data_t *data,
                                ompi_send_mode_t mode)
{
    ob1_peer_t *peer = ob1_met_peer(to->comm, to->rank);
    size_t bytes;
    if (opal_unlikely(ompi_threads_share() || peer == NULL || mode == OMPI_SEND_SYNCHRONOUS ||
                      !ompi_datatype_run_bytes(data->type, data->count, &bytes) ||
                      bytes > peer->short_bytes || !opal_list_is_empty(&peer->frames) ||
                      peer->credit < 0))
        return false;
    if (opal_is_demanded(&ob1_counting) && !count_early(peer, to, bytes))
        return write_counted(peer, to, data, bytes);
    ob1_peer_charge(peer, bytes);
    if (opal_unlikely(!write_short(peer->btl, ob1_match_of(to), data, bytes)))
        return not_sent(to, data, opal_is_demanded(&ob1_counting));
    return true;
}

/* Any message that fits a frame, under ompi_lock. True: it has left. */
static bool try_send_eager(const ompi_route_t *to, const ompi_data_t *data, ompi_send_mode_t mode)
{
    ob1_peer_t *peer = ob1_peer_of(to->comm, to->rank);
    size_t bytes = ompi_datatype_bytes(data->type, data->count);
    if (peer == NULL || bytes > peer->btl->ops->eager_bytes || mode == OMPI_SEND_SYNCHRONOUS ||
        !ob1_peer_can_send_eager(peer) || ob1_is_beyond_limit(to->comm, to->context, bytes) ||
        (bytes >= peer->btl->ops->direct_bytes && is_direct(peer->btl, data, bytes)))
        return false;
    ob1_match_t match = ob1_match_of(to);
    if (!push_eager(peer, &match, data, bytes))
        return false;
    ob1_count_sent(peer, to->comm, &match, bytes);
    return true;
}

/* What ob1_isend does if the message is not a short one. */
OPAL_NOINLINE static int isend_any(const ompi_route_t *to, const ompi_data_t *data,
                                   ompi_send_mode_t mode, ompi_request_t **request)
{
    if (try_send_eager(to, data, mode)) {
        *request = &ompi_request_sent;
        return MPI_SUCCESS;
    }
    int error;
    ob1_send_t *send = create_send(to, data, mode, &error);
    if (send == NULL)
        return error;
    start_send(send);
    *request = &send->request;
    return MPI_SUCCESS;
}

int ob1_isend(const ompi_route_t *to, const ompi_data_t *data, ompi_send_mode_t mode,
              ompi_request_t **request)
{
    if (opal_unlikely(!try_send_short(to, data, mode)))
        return isend_any(to, data, mode, request);
    *request = &ompi_request_sent;
    return MPI_SUCCESS;
}

static int restart_send(ompi_request_t *request)
{
    ompi_status_set_empty(&request->status); /* it may have been cancelled the last time */
    start_send(opal_container_of(request, ob1_send_t, request));
    return MPI_SUCCESS;
}

int ob1_send_init(const ompi_route_t *to, const ompi_data_t *data, ompi_send_mode_t mode,
                  ompi_request_t **request)
{
    int error;
    ob1_send_t *send = create_send(to, data, mode, &error);
    if (send == NULL)
        return error;
    ompi_request_make_persistent(&send->request);
    *request = &send->request;
    return MPI_SUCCESS;
}

/* Whether messages may come before the send completes: a receive is posted, or a message has begun
 * to come. */
static bool awaits_message(const ob1_peer_t *peer, const ompi_route_t *to)
{
    ob1_matcher_t *matcher = ob1_matcher_for(to);
    ob1_lock(&matcher->lock);
    bool is_posted = matcher->only != NULL || matcher->posted_total > 0;
    ob1_unlock(&matcher->lock);
    return is_posted || !opal_list_is_empty(&peer->receiving);
}

/* What ob1_send does if the message is not a short one. The request is on the stack, if it needs
 * one. */
OPAL_NOINLINE static int send_any(const ompi_route_t *to, const ompi_data_t *data,
                                  ompi_send_mode_t mode)
{
    if (try_send_eager(to, data, mode))
        return MPI_SUCCESS;
    ob1_peer_t *peer = ob1_peer_of(to->comm, to->rank);
    if (peer == NULL)
        return error_of(to);
    if (opal_unlikely(!ob1_peer_has_credit(peer)))
        ompi_request_look(); /* credit may have come: eager sends do not poll */
    ob1_send_t send;
    ompi_request_t *request = &send.request;
    ompi_request_init_bare(request, &send_request_ops, to->comm);
    init_send(&send, peer, to, data, mode);
    send.awaits_alone = !awaits_message(peer, to);
    start_send(&send);
    if (!ompi_request_is_done(request))
        ompi_request_wait_alone(request);
    return request->status.MPI_ERROR;
}

int ob1_send(const ompi_route_t *to, const ompi_data_t *data, ompi_send_mode_t mode)
{
    return opal_likely(try_send_short(to, data, mode)) ? MPI_SUCCESS : send_any(to, data, mode);
}

void ob1_sends_end(void)
{
    opal_pool_empty(&sends);
    opal_names_free(&names);
}

/* -- replies of the receiver --------------------------------------------------------- */

/* Sends as many fragments as there is room for. True: all have left. */
static bool push_fragments(ob1_pending_t *pending, ob1_peer_t *peer)
{
    ob1_send_t *send = opal_container_of(pending, ob1_send_t, pending);
    size_t most = peer->btl->ops->max_frame_bytes - sizeof(ob1_fragment_t);
    while (send->pushed < send->wanted) {
        ob1_fragment_t head = {send->receiver, send->pushed};
        size_t part = send->wanted - send->pushed < most ? send->wanted - send->pushed : most;
        unsigned char *room = ob1_peer_reserve(peer, sizeof head + part);
        if (room == NULL)
            return false;
        memcpy(room, &head, sizeof head);
        ompi_datatype_pack(send->data.type, send->data.count, send->data.buffer, send->pushed,
                           room + sizeof head, part);
        ob1_peer_commit(peer, room, OB1_FRAGMENT, sizeof head + part);
        send->pushed += part;
    }
    ob1_send_finish(send);
    return true;
}

bool (*const ob1_send_pushes[])(ob1_pending_t *pending, ob1_peer_t *peer) = {push_deferred,
                                                                             push_fragments};

static void send_fragments(ob1_send_t *send, const ob1_cts_t *cts)
{
    send->receiver = cts->receiver;
    send->wanted = cts->wanted;
    send->pushed = 0;
    if (ob1_zcopy_long(send))
        return;
    send->pending.push = push_fragments;
    if (!push_fragments(&send->pending, send->peer))
        ob1_peer_defer(send->peer, &send->peer->streams, &send->pending);
}

/* Whether the send waits for this reply. */
static bool is_reply_to(const ob1_send_t *send, ob1_kind_t kind, const ob1_cts_t *reply)
{
    switch (kind) {
    case OB1_CTS:
        return send->awaits == OB1_FIN && reply->wanted > 0 && reply->wanted <= send->bytes;
    case OB1_CANCELLED:
        return send->awaits != 0 && send->is_cancelling;
    case OB1_NACK:
        return send->awaits != 0;
    default:
        return send->awaits == kind;
    }
}

bool ob1_send_handle_reply(const ob1_peer_t *peer, ob1_kind_t kind, const void *bytes)
{
    ob1_cts_t reply = {0};
    memcpy(&reply, bytes, kind == OB1_CTS ? sizeof reply : sizeof(ob1_ack_t));
    ob1_send_t *send = opal_names_find(&names, reply.sender);
    if (send == NULL || send->peer != peer || !is_reply_to(send, kind, &reply))
        return false;
    send->awaits = 0;
    opal_list_remove(&send->pending.node);
    disarm(send);
    if (kind == OB1_CTS)
        send_fragments(send, &reply);
    else if (kind == OB1_CANCELLED)
        finish_cancelled(send);
    else if (kind == OB1_NACK)
        fail_for_memory(send);
    else
        ob1_send_finish(send);
    return true;
}

/* -- cancelling ---------------------------------------------------------------------- */

static void free_control(ob1_control_t *control)
{
    free(control);
}

/* The receiver may still have the message. Its reply to the message itself may end the send before
 * the OB1_CANCEL has left, so the control message is allocated. */
static int send_cancel(ob1_send_t *send)
{
    ob1_sync_t name = {.match = send->match, .sender = send->name};
    ob1_control_t *control = malloc(sizeof *control);
    if (control == NULL)
        return MPI_ERR_NO_MEM;
    send->is_cancelling = true;
    control->done = free_control;
    if (ob1_peer_send_control(send->peer, OB1_CANCEL, &name, sizeof name, control))
        free(control);
    return MPI_SUCCESS;
}

static int cancel_send(ompi_request_t *request)
{
    ob1_send_t *send = opal_container_of(request, ob1_send_t, request);
    if (ompi_request_is_done(request)) {
        if (send->is_unreceived) { /* failed because the receiver left: cancelled instead */
            request->status.MPI_ERROR = MPI_SUCCESS;
            ompi_status_set_cancelled(&request->status, true);
        }
    } else if (send->awaits != 0) {
        return send_cancel(send);
    } else if (send->pending.push == push_deferred && send->pushed == 0) {
        opal_list_remove(&send->pending.node);
        finish_cancelled(send);
    }
    return MPI_SUCCESS;
}
