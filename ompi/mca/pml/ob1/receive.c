/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The receiving side. A receive meets its message in one of two ways: the message was here first
 * (it waits as an ob1_message_t that holds its first frame), or the receive was. Either way
 * `take_frame` goes on with the first frame.
 *
 * A message for which there is no memory is kept in a reserve: whole, if it is very short or a
 * rendezvous, whose data is still with the sender; of others the head, so that the receive that it
 * belongs to ends, with MPI_ERR_NO_MEM, and so does a send that waits for it.
 */
#include <limits.h>
#include <stdlib.h>
#include <string.h>

#include "opal/arch/copy.h"
#include "opal/util/log.h"
#include "opal/util/pool.h"
#include "ompi/datatype/receive.h"
#include "ompi/mca/pml/ob1/ob1.h"
#include "ompi/request/status.h"

/* -- requests ------------------------------------------------------------------------ */

/* Where threads share, each matcher has its own. */
static opal_pool_t receives = {.bytes = sizeof(ob1_receive_t)};

static opal_names_t names; /* of those that wait for fragments; under ompi_lock */

static opal_pool_t *pool_of(const ompi_communicator_t *comm, ompi_context_t context)
{
    ob1_comm_t *own = comm->pml;
    return &own->receives[context];
}

static void destroy_receive(ompi_object_t *head)
{
    ob1_receive_t *receive = opal_container_of(head, ob1_receive_t, request.head);
    ompi_datatype_release(receive->data.type);
    if (ompi_threads_share())
        opal_pool_return(pool_of(receive->comm, receive->context), receive);
    else
        opal_pool_give(&receives, receive);
}

static int cancel_receive(ompi_request_t *request)
{
    ob1_receive_t *receive = opal_container_of(request, ob1_receive_t, request);
    if (!receive->is_posted)
        return MPI_SUCCESS; /* it has met its message, and will end with it */
    ob1_comm_t *own = receive->comm->pml;
    ob1_matcher_t *matcher = &own->matchers[receive->context];
    ob1_lock(&matcher->lock);
    ob1_matcher_remove_posted(matcher, &receive->posted);
    ob1_unlock(&matcher->lock);
    receive->is_posted = false;
    ompi_status_set_cancelled(&request->status, true);
    ompi_request_complete(request);
    return MPI_SUCCESS;
}

static int restart_receive(ompi_request_t *request);

static const ompi_request_ops_t receive_request_ops = {
    .start = restart_receive,
    .cancel = cancel_receive,
    .can_finish_unlocked = true,
};

/* All but the request itself. */
static void init_receive(ob1_receive_t *receive, const ompi_route_t *from, const ompi_data_t *data)
{
    receive->is_posted = false;
    receive->comm = from->comm;
    receive->context = from->context;
    receive->posted.source = from->rank;
    receive->posted.tag = from->tag;
    receive->data = *data;
    receive->capacity = ompi_datatype_bytes(data->type, data->count);
}

/* Where threads share, under the lock of the matcher whose pool it is. */
static inline ob1_receive_t *create_from(opal_pool_t *pool, const ompi_route_t *from,
                                         const ompi_data_t *data)
{
    ob1_receive_t *receive = opal_pool_take(pool);
    if (receive == NULL)
        return NULL;
    ompi_request_init(&receive->request, &receive_request_ops, from->comm, destroy_receive);
    init_receive(receive, from, data);
    ompi_datatype_retain(data->type);
    return receive;
}

static ob1_receive_t *create_receive(const ompi_route_t *from, const ompi_data_t *data)
{
    if (!ompi_threads_share())
        return create_from(&receives, from, data);
    ob1_matcher_t *matcher = ob1_matcher_for(from);
    opal_fair_acquire(&matcher->lock);
    ob1_receive_t *receive = create_from(pool_of(from->comm, from->context), from, data);
    opal_fair_release(&matcher->lock);
    return receive;
}

/* The receive knows its message: who sent it and how much of it will be in the buffer. */
static void set_matched(ob1_receive_t *receive, const ob1_match_t *match, size_t total)
{
    receive->is_posted = false;
    receive->wanted = total <= receive->capacity ? total : receive->capacity;
    receive->received = 0;
    ompi_status_set(&receive->request.status, match->source, match->tag,
                    ompi_datatype_receive_class(receive->data.type, receive->capacity, total),
                    receive->wanted);
}

static void finish_receive(ob1_receive_t *receive)
{
    ompi_request_complete(&receive->request);
}

void ob1_receive_end(ob1_receive_t *receive, int error)
{
    receive->is_posted = false;
    receive->request.status.MPI_ERROR = error;
    finish_receive(receive);
}

static void finish_notified(ob1_control_t *control)
{
    finish_receive(opal_container_of(control, ob1_receive_t, control));
}

/* False: there is no room, and the receive is finished when there was. */
static bool notify_sender(ob1_receive_t *receive, ob1_peer_t *peer, ob1_kind_t kind,
                          uint64_t sender)
{
    ob1_ack_t ack = {sender};
    receive->control.done = finish_notified;
    return ob1_peer_send_control(peer, kind, &ack, sizeof ack, &receive->control);
}

/* There is no memory to receive its message, which the sender waits for. */
static void send_nack(ob1_receive_t *receive, ob1_peer_t *peer, uint64_t sender)
{
    receive->request.status.MPI_ERROR = MPI_ERR_NO_MEM;
    if (notify_sender(receive, peer, OB1_NACK, sender))
        finish_receive(receive);
}

/* -- taking messages ----------------------------------------------------------------- */

static void unpack_eager(ob1_receive_t *receive, const ob1_match_t *match, const void *payload,
                         size_t bytes)
{
    set_matched(receive, match, bytes);
    ompi_datatype_unpack(receive->data.type, receive->data.count, receive->data.buffer, 0, payload,
                         receive->wanted);
}

/* The sender is told first: it may go on while this copies. */
static void take_eager_sync(ob1_receive_t *receive, ob1_peer_t *peer, const void *bytes,
                            size_t length)
{
    ob1_sync_t head;
    memcpy(&head, bytes, sizeof head);
    bool is_notified = notify_sender(receive, peer, OB1_MATCH_ACK, head.sender);
    unpack_eager(receive, &head.match, (const char *)bytes + sizeof head, length - sizeof head);
    if (is_notified)
        finish_receive(receive);
}

/* What has arrived of a stream; the rest will follow. */
static void take_stream(ob1_receive_t *receive, ob1_peer_t *peer, const void *bytes, size_t length)
{
    ob1_stream_head_t head;
    memcpy(&head, bytes, sizeof head);
    size_t received = length - sizeof head;
    set_matched(receive, &head.match, head.total);
    ompi_datatype_unpack(receive->data.type, receive->data.count, receive->data.buffer, 0,
                         (const char *)bytes + sizeof head,
                         received < receive->wanted ? received : receive->wanted);
    if (received == head.total) {
        finish_receive(receive);
        return;
    }
    peer->stream.message = NULL;
    if (opal_unlikely(ob1_peer_is_unreachable(peer))) {
        ob1_receive_fail(receive, peer);
        return;
    }
    peer->stream.receive = receive;
}

/* The sender has its buffer back. If it expects an answer, that came with the get. */
static void finish_rndv_get(ob1_receive_t *receive, ob1_peer_t *peer, const ob1_rts_t *head)
{
    if (head->slot == 0) {
        if (!notify_sender(receive, peer, OB1_FIN, head->sender))
            return;
    } else if (receive->wanted == 0) {
        peer->btl->ops->complete(peer->btl, head->slot);
    }
    finish_receive(receive);
}

static void take_rendezvous(ob1_receive_t *receive, ob1_peer_t *peer, const ob1_rts_t *head)
{
    set_matched(receive, &head->match, head->total);
    if (receive->wanted == 0 || ob1_rndv_get(peer->btl, receive, head)) {
        finish_rndv_get(receive, peer, head);
        return;
    }
    if (opal_unlikely(ob1_peer_is_unreachable(peer))) {
        ob1_receive_fail(receive, peer);
        return;
    }
    receive->peer = peer;
    receive->control.is_waiting = false;
    receive->name = opal_names_add(&names, receive);
    if (opal_unlikely(receive->name == 0)) {
        send_nack(receive, peer, head->sender);
        return;
    }
    opal_list_append(&peer->receiving, &receive->posted.node);
    ob1_cts_t cts = {head->sender, receive->name, receive->wanted};
    receive->control.done = NULL;
    ob1_peer_send_control(peer, OB1_CTS, &cts, sizeof cts, &receive->control);
}

/* A receive and the first frame of its message have met. */
static void take_frame(ob1_receive_t *receive, opal_process_t *from, unsigned kind,
                       const void *bytes, size_t length)
{
    ob1_match_t match;
    memcpy(&match, bytes, sizeof match);
    if (kind == OB1_EAGER) {
        unpack_eager(receive, &match, (const char *)bytes + sizeof match, length - sizeof match);
        finish_receive(receive);
        return;
    }
    ob1_peer_t *peer = ob1_peer(from);
    if (kind == OB1_EAGER_SYNC)
        take_eager_sync(receive, peer, bytes, length);
    else if (kind == OB1_STREAM)
        take_stream(receive, peer, bytes, length);
    else
        take_rendezvous(receive, peer, bytes);
}

/* Only the head of its message was kept. */
static void take_head_only(ob1_receive_t *receive, const ob1_message_t *message)
{
    ob1_sync_t head;
    memcpy(&head, message->frame, sizeof head);
    set_matched(receive, &head.match, 0);
    if (message->kind == OB1_EAGER_SYNC)
        send_nack(receive, ob1_peer(message->from), head.sender);
    else
        ob1_receive_end(receive, MPI_ERR_NO_MEM);
}

/* It is out of the matching already. */
static inline void take_unexpected(ob1_receive_t *receive, const ob1_message_t *message)
{
    if (opal_unlikely(message->is_head_only))
        take_head_only(receive, message);
    else
        take_frame(receive, message->from, message->kind, message->frame, message->length);
}

/* -- keeping ------------------------------------------------------------------------- */

/* Without memory there is room for so many messages, and for so much of a frame. */
enum { RESERVED = 64, RESERVED_BYTES = 64 };

static struct reserved {
    _Alignas(ob1_message_t) unsigned char message[sizeof(ob1_message_t) + RESERVED_BYTES];
} reserve[RESERVED];
static uint64_t reserve_taken; /* a bit for each; under ompi_lock */

/* NULL: all of it is used. */
static ob1_message_t *take_reserve(void)
{
    if (reserve_taken == UINT64_MAX)
        return NULL;
    int i = __builtin_ctzll(~reserve_taken);
    reserve_taken |= UINT64_C(1) << i;
    return (ob1_message_t *)(void *)reserve[i].message;
}

void ob1_message_free(ob1_message_t *message)
{
    if (opal_unlikely(message->is_reserved))
        reserve_taken &= ~(UINT64_C(1) << ((struct reserved *)(void *)message - reserve));
    else {
        ob1_unexpected_add(ob1_known_peer(message->from->index), -(ptrdiff_t)message->charge);
        free(message);
    }
}

static void fill_message(ob1_message_t *message, opal_process_t *from, unsigned kind,
                         const void *bytes, size_t length, size_t kept)
{
    message->comm = NULL;
    message->from = from;
    message->kind = kind;
    message->is_reserved = message->is_head_only = false;
    message->length = length;
    opal_copy(message->frame, bytes, kept);
}

/* As much of a frame as the reserve takes, which is nothing of a stream that goes on. NULL: the
 * reserve is empty. */
static ob1_message_t *reserve_frame(opal_process_t *from, unsigned kind, const void *bytes,
                                    size_t length, size_t room)
{
    ob1_message_t *message = take_reserve();
    if (message == NULL)
        return NULL;
    fill_message(message, from, kind, bytes, length,
                 length < RESERVED_BYTES ? length : RESERVED_BYTES);
    message->is_reserved = true;
    if (room <= RESERVED_BYTES && room == length)
        return message;
    message->is_head_only = kind != OB1_RTS;
    if (kind == OB1_RTS) /* it will be asked for */
        ((ob1_rts_t *)(void *)message->frame)->segment_count = 0;
    return message;
}

/* Keeps a frame; of a stream, with room for what will follow. NULL: there is no memory at all. */
static ob1_message_t *copy_frame(opal_process_t *from, unsigned kind, const void *bytes,
                                 size_t length)
{
    size_t room = length;
    if (kind == OB1_STREAM) {
        ob1_stream_head_t head;
        memcpy(&head, bytes, sizeof head);
        room = sizeof head + head.total;
    }
    ob1_peer_t *peer = ob1_peer(from);
    ob1_message_t *message = opal_likely(peer != NULL) ? malloc(sizeof *message + room) : NULL;
    if (opal_likely(message != NULL)) {
        fill_message(message, from, kind, bytes, length, length);
        message->charge = room + OB1_MESSAGE_OVERHEAD;
        ob1_unexpected_add(peer, (ptrdiff_t)message->charge);
        if (length < room)
            peer->stream.message = message;
    } else {
        message = reserve_frame(from, kind, bytes, length, room);
    }
    return message;
}

void ob1_message_drop(ob1_message_t *message)
{
    if (message->kind == OB1_STREAM && ob1_peer(message->from)->stream.message == message)
        ob1_peer(message->from)->stream.message = NULL;
    ob1_message_free(message);
}

/* Under the matcher's lock; when that is given back, those who wait in a probe have to look. */
static void add_unexpected(ob1_matcher_t *matcher, ob1_message_t *message, const ob1_match_t *match)
{
    message->unexpected.source = match->source;
    message->unexpected.tag = match->tag;
    ob1_matcher_add_unexpected(matcher, &message->unexpected);
}

typedef struct request_name {
    const opal_process_t *from;
    uint64_t sender;
} request_name_t;

/* Whether a message is the one of this sender's request. */
static bool is_of_request(const ob1_unexpected_t *unexpected, const void *context)
{
    const ob1_message_t *message = opal_container_of(unexpected, ob1_message_t, unexpected);
    const request_name_t *name = context;
    uint64_t sender;
    if (message->kind == OB1_EAGER_SYNC)
        memcpy(&sender, message->frame + offsetof(ob1_sync_t, sender), sizeof sender);
    else if (message->kind == OB1_RTS)
        memcpy(&sender, message->frame + offsetof(ob1_rts_t, sender), sizeof sender);
    else
        return false;
    return sender == name->sender && message->from == name->from;
}

static void free_cancelled(ob1_control_t *control)
{
    ob1_message_free(opal_container_of(control, ob1_message_t, control));
}

/* The sender wants a message back. It is one that waits for a receive, or too late. */
static void handle_cancel(ob1_matcher_t *matcher, opal_process_t *from, const void *bytes)
{
    ob1_sync_t cancel;
    memcpy(&cancel, bytes, sizeof cancel);
    request_name_t name = {from, cancel.sender};
    ob1_lock(&matcher->lock);
    ob1_unexpected_t *unexpected = ob1_matcher_search_unexpected(
        matcher, cancel.match.source, cancel.match.tag, is_of_request, &name);
    if (unexpected != NULL)
        ob1_matcher_remove_unexpected(matcher, unexpected);
    ob1_unlock(&matcher->lock);
    if (unexpected == NULL)
        return;
    ob1_message_t *message = opal_container_of(unexpected, ob1_message_t, unexpected);
    ob1_ack_t ack = {cancel.sender};
    message->control.done = free_cancelled;
    if (ob1_peer_send_control(ob1_peer(from), OB1_CANCELLED, &ack, sizeof ack, &message->control))
        ob1_message_free(message);
}

/* Whether a message can be of that source, and have that tag. */
static inline bool is_possible(const ob1_matcher_t *matcher, const ob1_match_t *match)
{
    return opal_likely((uint32_t)match->source < matcher->source_count && match->tag >= 0);
}

/* False: it waits for a receive, and there is no memory to keep it. */
OPAL_INLINE bool match_message(ob1_matcher_t *matcher, opal_process_t *from, unsigned kind,
                               const void *bytes, size_t length, const ob1_match_t *match)
{
    if (opal_unlikely(!is_possible(matcher, match))) {
        ob1_peer_reject(from, kind, "a message of a rank or with a tag that there is not");
        return true;
    }
    if (opal_unlikely(kind == OB1_CANCEL)) {
        handle_cancel(matcher, from, bytes);
        return true;
    }
    ob1_message_t *message = NULL;
    ob1_lock(&matcher->lock);
    ob1_posted_t *posted = ob1_matcher_take_posted(matcher, match->source, match->tag);
    if (posted == NULL)
        message = copy_frame(from, kind, bytes, length);
    if (message != NULL)
        add_unexpected(matcher, message, match);
    ob1_unlock(&matcher->lock);
    if (posted != NULL)
        take_frame(opal_container_of(posted, ob1_receive_t, posted), from, kind, bytes, length);
    else if (message != NULL)
        ob1_wake_probes();
    return posted != NULL || message != NULL;
}

/* The first part of a stream: for now nobody gets the others. False: it cannot be one. */
static bool begin_stream(ob1_peer_t *peer, const void *bytes, size_t length)
{
    ob1_stream_head_t head;
    memcpy(&head, bytes, sizeof head);
    if (head.total < length - sizeof head || head.total > OB1_MAX_STREAM ||
        peer->stream.received < peer->stream.total)
        return false;
    peer->stream = (ob1_stream_t){.received = length - sizeof head, .total = head.total};
    return true;
}

/* The first frame of a message, or its cancel. False: there is no memory to keep it. */
OPAL_INLINE bool handle_message(opal_process_t *from, unsigned kind, const void *bytes,
                                size_t length)
{
    ob1_match_t match;
    memcpy(&match, bytes, sizeof match);
    ob1_matcher_t *matcher = ob1_matcher_of(match.context);
    if (opal_likely(matcher != NULL))
        return match_message(matcher, from, kind, bytes, length, &match);
    if (match.context > INT32_MAX) {
        ob1_peer_reject(from, kind, "a message for a communicator that there cannot be");
        return true;
    }
    ob1_message_t *message = copy_frame(from, kind, bytes, length);
    if (message != NULL)
        ob1_early_add(message);
    return message != NULL;
}

void ob1_stream_received(ob1_peer_t *peer, size_t bytes)
{
    ob1_stream_t *stream = &peer->stream;
    ob1_receive_t *receive = stream->receive;
    stream->received += bytes;
    if (stream->received < stream->total)
        return;
    *stream = (ob1_stream_t){0};
    if (receive != NULL)
        finish_receive(receive);
}

/* False: these bytes are no part of a message. */
static bool handle_stream_part(ob1_peer_t *peer, const void *bytes, size_t length)
{
    const ob1_stream_t *stream = &peer->stream;
    const ob1_receive_t *receive = stream->receive;
    if (length > stream->total - stream->received)
        return false;
    ob1_message_t *message = stream->message;
    if (receive != NULL && stream->received < receive->wanted) {
        size_t fits = receive->wanted - stream->received;
        ompi_datatype_unpack(receive->data.type, receive->data.count, receive->data.buffer,
                             stream->received, bytes, length < fits ? length : fits);
    } else if (message != NULL) {
        opal_copy(message->frame + message->length, bytes, length);
        message->length += length;
    }
    ob1_stream_received(peer, length);
    return true;
}

ob1_receive_t *ob1_receive_of(const ob1_peer_t *peer, uint64_t name, size_t offset, size_t bytes)
{
    ob1_receive_t *receive = opal_names_find(&names, name);
    if (receive == NULL || receive->peer != peer || receive->control.is_waiting ||
        bytes > receive->wanted - receive->received || offset > receive->wanted - bytes)
        return NULL;
    return receive;
}

void ob1_receive_forget(ob1_receive_t *receive)
{
    opal_list_remove(&receive->posted.node);
    opal_names_remove(&names, receive->name);
}

void ob1_fragment_received(ob1_receive_t *receive, size_t bytes)
{
    receive->received += bytes;
    if (receive->received == receive->wanted) {
        ob1_receive_forget(receive);
        finish_receive(receive);
    }
}

/* False: no receive waits for these bytes. */
static bool handle_fragment(const ob1_peer_t *peer, const void *bytes, size_t length)
{
    ob1_fragment_t head;
    memcpy(&head, bytes, sizeof head);
    length -= sizeof head;
    ob1_receive_t *receive = ob1_receive_of(peer, head.receiver, head.offset, length);
    if (receive == NULL)
        return false;
    ompi_datatype_unpack(receive->data.type, receive->data.count, receive->data.buffer, head.offset,
                         (const char *)bytes + sizeof head, length);
    ob1_fragment_received(receive, length);
    return true;
}

static bool handle_credit(ob1_peer_t *peer, unsigned kind, const void *bytes)
{
    ob1_credit_t credit;
    memcpy(&credit, bytes, sizeof credit);
    return kind == OB1_CREDIT ? ob1_credit_granted(peer, credit.number)
                              : ob1_credit_requested(peer, credit.number);
}

/* The shortest frame of each kind. */
static const unsigned char head_bytes[] = {
    [OB1_EAGER] = sizeof(ob1_match_t),
    [OB1_EAGER_SYNC] = sizeof(ob1_sync_t),
    [OB1_RTS] = offsetof(ob1_rts_t, segments),
    [OB1_MATCH_ACK] = sizeof(ob1_ack_t),
    [OB1_FIN] = sizeof(ob1_ack_t),
    [OB1_CTS] = sizeof(ob1_cts_t),
    [OB1_FRAGMENT] = sizeof(ob1_fragment_t),
    [OB1_STREAM] = sizeof(ob1_stream_head_t),
    [OB1_STREAM_PART] = 0,
    [OB1_CANCEL] = sizeof(ob1_sync_t),
    [OB1_CANCELLED] = sizeof(ob1_ack_t),
    [OB1_NACK] = sizeof(ob1_ack_t),
    [OB1_CREDIT_REQUEST] = sizeof(ob1_credit_t),
    [OB1_CREDIT] = sizeof(ob1_credit_t),
};

/* Whether a rendezvous has the segments that it tells of. */
static bool has_segments(const ob1_rts_t *head, size_t length)
{
    size_t told = head->segment_count > OB1_MAX_SEGMENTS ? 1 : head->segment_count;
    return head->segment_count <= OB1_MAX_LISTED &&
           length >= offsetof(ob1_rts_t, segments) + told * sizeof(ob1_segment_t);
}

/* Out of line: only for eager messages it pays to have all of it in one place. */
static bool handle_other(opal_process_t *from, unsigned kind, const void *bytes, size_t length)
{
    return handle_message(from, kind, bytes, length);
}

/* Takes a frame that is no whole eager one, or drops one that does not fit. False: it is a message,
 * and there is no memory to keep it; nothing has changed. */
static bool receive_other(opal_process_t *from, unsigned kind, const void *bytes, size_t length)
{
    bool is_good = kind > 0 && kind < OPAL_COUNT_OF(head_bytes) && length >= head_bytes[kind];
    ob1_peer_t *peer = ob1_peer(from);
    if (opal_unlikely(peer == NULL))
        return ob1_peer_error(from) != MPI_ERR_NO_MEM;
    switch (is_good ? (ob1_kind_t)kind : 0) {
    case OB1_EAGER_SYNC:
    case OB1_CANCEL:
        return handle_other(from, kind, bytes, length);
    case OB1_RTS:
        if (has_segments(bytes, length))
            return handle_other(from, kind, bytes, length);
        break;
    case OB1_STREAM:
        if (begin_stream(peer, bytes, length)) {
            if (handle_other(from, kind, bytes, length))
                return true;
            peer->stream = (ob1_stream_t){0};
            return false;
        }
        break;
    case OB1_STREAM_PART:
        if (handle_stream_part(peer, bytes, length))
            return true;
        break;
    case OB1_FRAGMENT:
        if (handle_fragment(peer, bytes, length))
            return true;
        break;
    case OB1_CREDIT_REQUEST:
    case OB1_CREDIT:
        if (handle_credit(peer, kind, bytes))
            return true;
        break;
    default:
        if (is_good && ob1_send_handle_reply(peer, kind, bytes))
            return true;
        break;
    }
    ob1_peer_reject(from, kind, "a frame that nothing waits for, or that lacks something");
    return true;
}

/* A message that cannot be kept comes again; nobody waits for it, or for one behind it. */
bool ob1_receive_frame(opal_process_t *from, unsigned kind, const void *bytes, size_t length)
{
    bool is_taken = opal_likely(kind == OB1_EAGER && length >= sizeof(ob1_match_t))
                        ? handle_message(from, OB1_EAGER, bytes, length)
                        : receive_other(from, kind, bytes, length);
    if (opal_unlikely(!is_taken))
        ob1_receives_fail_no_memory(from);
    return is_taken;
}

void ob1_early_match(ob1_matcher_t *matcher, ob1_message_t *message)
{
    ob1_match_t match;
    memcpy(&match, message->frame, sizeof match);
    if (!is_possible(matcher, &match)) {
        ob1_peer_reject(message->from, message->kind,
                        "a message of a rank or with a tag that there is not");
        ob1_message_drop(message);
        return;
    }
    if (message->kind == OB1_CANCEL) {
        handle_cancel(matcher, message->from, message->frame);
        ob1_message_free(message);
        return;
    }
    ob1_lock(&matcher->lock);
    ob1_posted_t *posted = ob1_matcher_take_posted(matcher, match.source, match.tag);
    if (posted == NULL)
        add_unexpected(matcher, message, &match);
    ob1_unlock(&matcher->lock);
    if (posted == NULL) {
        ob1_wake_probes();
        return;
    }
    take_unexpected(opal_container_of(posted, ob1_receive_t, posted), message);
    ob1_message_free(message);
}

/* -- receiving ----------------------------------------------------------------------- */

int ob1_connect_source(const ompi_route_t *from)
{
    if (from->rank == MPI_ANY_SOURCE)
        return MPI_SUCCESS;
    opal_process_t *process = opal_process(ompi_comm_process(from->comm, from->rank));
    return ob1_peer(process) != NULL ? MPI_SUCCESS : ob1_peer_error(process);
}

/* Whether a receive may be posted as it is: nobody is dead, and the source has been met before. */
static inline bool is_reachable(const ompi_route_t *from)
{
    return opal_likely(!ob1_any_has_failed()) &&
           (from->rank == MPI_ANY_SOURCE ||
            ob1_known_peer(ompi_comm_process(from->comm, from->rank)) != NULL);
}

/* Under the matcher's lock. False: no memory. */
static bool post(ob1_matcher_t *matcher, ob1_receive_t *receive)
{
    receive->is_posted = ob1_matcher_post(matcher, &receive->posted);
    return receive->is_posted;
}

static void take_message(ob1_receive_t *receive, ob1_message_t *message)
{
    take_unexpected(receive, message);
    ob1_message_free(message);
}

/* Its message is not here: it never comes, or from one that is met only now; or there was no memory
 * to post it. Under ompi_lock, so that it has not come meanwhile. */
static void start_checked(ob1_receive_t *receive, const ompi_route_t *from)
{
    ob1_matcher_t *matcher = ob1_matcher_for(from);
    int error = ob1_connect_source(from); /* which may find it dead */
    if (error == MPI_SUCCESS)
        error = ob1_source_error(from->comm, from->rank);
    if (error == MPI_SUCCESS) {
        ob1_lock(&matcher->lock);
        error = post(matcher, receive) ? MPI_SUCCESS : MPI_ERR_NO_MEM;
        ob1_unlock(&matcher->lock);
    }
    if (error != MPI_SUCCESS)
        ob1_receive_end(receive, error);
}

static void start_receive(ob1_receive_t *receive, const ompi_route_t *from)
{
    ob1_matcher_t *matcher = ob1_matcher_for(from);
    ob1_lock(&matcher->lock);
    ob1_unexpected_t *unexpected = ob1_matcher_find_unexpected(matcher, from->rank, from->tag);
    bool posted = unexpected == NULL && is_reachable(from) && post(matcher, receive);
    if (unexpected != NULL)
        ob1_matcher_remove_unexpected(matcher, unexpected);
    ob1_unlock(&matcher->lock);
    if (unexpected != NULL)
        take_message(receive, opal_container_of(unexpected, ob1_message_t, unexpected));
    else if (opal_unlikely(!posted))
        start_checked(receive, from);
}

int ob1_irecv(const ompi_route_t *from, const ompi_data_t *data, ompi_request_t **request)
{
    ob1_receive_t *receive = create_receive(from, data);
    if (receive == NULL)
        return MPI_ERR_NO_MEM;
    start_receive(receive, from);
    *request = &receive->request;
    return MPI_SUCCESS;
}

static int restart_receive(ompi_request_t *request)
{
    ob1_receive_t *receive = opal_container_of(request, ob1_receive_t, request);
    ompi_route_t from = {receive->comm, receive->context, receive->posted.source,
                         receive->posted.tag};
    ompi_status_set_empty(&request->status); /* of the last time: it may have been cancelled */
    start_receive(receive, &from);
    return MPI_SUCCESS;
}

int ob1_recv_init(const ompi_route_t *from, const ompi_data_t *data, ompi_request_t **request)
{
    ob1_receive_t *receive = create_receive(from, data);
    if (receive == NULL)
        return MPI_ERR_NO_MEM;
    ompi_request_make_persistent(&receive->request);
    *request = &receive->request;
    return MPI_SUCCESS;
}

/* The request of a blocking receive stands on the stack. */
int ob1_recv(const ompi_route_t *from, const ompi_data_t *data, MPI_Status *status)
{
    ob1_receive_t receive;
    ompi_request_t *request = &receive.request;
    ompi_request_init_bare(request, &receive_request_ops, from->comm);
    init_receive(&receive, from, data);
    start_receive(&receive, from);
    if (!ompi_request_is_done(request))
        ompi_request_wait_alone(request);
    ompi_status_fill(status, &request->status);
    return request->status.MPI_ERROR;
}

void ob1_receives_end(void)
{
    opal_pool_empty(&receives);
    opal_names_free(&names);
}

/* -- receiving beside ompi_lock ------------------------------------------------------ */

/* Under the matcher's lock: the message that a receive takes, if it is here and whole. Otherwise
 * NULL, and *may_post says whether the receive can be posted without ompi_lock. */
static ob1_message_t *find_whole(ob1_matcher_t *matcher, const ompi_route_t *from, bool *may_post)
{
    ob1_unexpected_t *unexpected = ob1_matcher_find_unexpected(matcher, from->rank, from->tag);
    *may_post = unexpected == NULL && is_reachable(from);
    if (unexpected == NULL)
        return NULL;
    ob1_message_t *message = opal_container_of(unexpected, ob1_message_t, unexpected);
    return message->kind == OB1_EAGER && !message->is_reserved ? message : NULL;
}

bool ob1_try_irecv_unlocked(const ompi_route_t *from, const ompi_data_t *data,
                            ompi_request_t **request)
{
    ob1_matcher_t *matcher = ob1_matcher_for(from);
    ob1_receive_t *receive = NULL;
    bool may_post, is_posted = false;
    opal_fair_acquire(&matcher->lock);
    ob1_message_t *message = find_whole(matcher, from, &may_post);
    if (message != NULL || may_post)
        receive = create_from(pool_of(from->comm, from->context), from, data);
    if (receive != NULL && message != NULL)
        ob1_matcher_remove_unexpected(matcher, &message->unexpected);
    else if (receive != NULL)
        is_posted = post(matcher, receive);
    opal_fair_release(&matcher->lock);
    if (receive == NULL)
        return false;
    *request = &receive->request;
    if (message != NULL)
        take_message(receive, message);
    else if (!is_posted)
        ob1_receive_end(receive, MPI_ERR_NO_MEM);
    return true;
}

bool ob1_try_recv_unlocked(const ompi_route_t *from, const ompi_data_t *data, MPI_Status *status,
                           int *error)
{
    ob1_matcher_t *matcher = ob1_matcher_for(from);
    ob1_receive_t receive;
    bool may_post;
    opal_fair_acquire(&matcher->lock);
    ob1_message_t *message = find_whole(matcher, from, &may_post);
    if (message != NULL)
        ob1_matcher_remove_unexpected(matcher, &message->unexpected);
    opal_fair_release(&matcher->lock);
    if (message == NULL)
        return false;
    ompi_request_init_bare(&receive.request, &receive_request_ops, from->comm);
    init_receive(&receive, from, data);
    take_message(&receive, message);
    ompi_status_fill(status, &receive.request.status);
    *error = receive.request.status.MPI_ERROR;
    return true;
}

/* What a matched probe has taken. */
int ob1_imrecv(ompi_message_t *base, const ompi_data_t *data, ompi_request_t **request)
{
    ob1_message_t *message = opal_container_of(base, ob1_message_t, base);
    ompi_route_t from = {message->comm, message->context, message->unexpected.source,
                         message->unexpected.tag};
    ob1_receive_t *receive = create_receive(&from, data);
    if (receive == NULL)
        return MPI_ERR_NO_MEM;
    take_unexpected(receive, message);
    ompi_object_release(&message->base.head);
    *request = &receive->request;
    return MPI_SUCCESS;
}
