/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A receive has matched a message: the data goes into the user's buffer. The message is expected
 * (its first frame has just come) or unexpected (the frame was copied, see unexpected.c); both
 * begin in ob1_deliver. What the first frame does not contain comes as stream parts or as
 * fragments, or is copied out of the sender's memory (rndv_get.c).
 *
 * Threading: under ompi_lock, except that ob1_deliver_message of an eager message needs no lock.
 */
#include <string.h>

#include "opal/arch/copy.h"
#include "ompi/datatype/receive.h"
#include "ompi/mca/pml/ob1/ob1.h"
#include "ompi/request/status.h"

static opal_names_t names; /* of receives that wait for fragments */

/* The receive has matched: its status says from whom, and how much of the message fits. */
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

void ob1_receive_fail(ob1_receive_t *receive, ob1_peer_t *peer)
{
    ob1_peer_report_departed(peer);
    ob1_receive_end(receive, peer->error);
}

static void finish_notified(ob1_control_t *control)
{
    finish_receive(opal_container_of(control, ob1_receive_t, control));
}

/* Sends a control message about the send request `sender`. False: there is no room yet; the receive
 * completes when the control message has left. */
static bool notify_sender(ob1_receive_t *receive, ob1_peer_t *peer, ob1_kind_t kind,
                          uint64_t sender)
{
    ob1_ack_t ack = {sender};
    receive->control.done = finish_notified;
    return ob1_peer_send_control(peer, kind, &ack, sizeof ack, &receive->control);
}

/* There is no memory to receive this message, and the sender waits for it. */
static void send_nack(ob1_receive_t *receive, ob1_peer_t *peer, uint64_t sender)
{
    receive->request.status.MPI_ERROR = MPI_ERR_NO_MEM;
    if (notify_sender(receive, peer, OB1_NACK, sender))
        finish_receive(receive);
}

/* -- by protocol ----------------------------------------------------------------------- */

static void unpack_eager(ob1_receive_t *receive, const ob1_match_t *match, const void *payload,
                         size_t bytes)
{
    set_matched(receive, match, bytes);
    ompi_datatype_unpack(receive->data.type, receive->data.count, receive->data.buffer, 0, payload,
                         receive->wanted);
}

static inline void deliver_eager(ob1_receive_t *receive, int source, int tag, const void *payload,
                                 size_t bytes)
{
    const ompi_data_t *data = &receive->data;
    if (opal_likely(bytes <= receive->capacity && data->type->run != 0)) {
        receive->is_posted = false;
        ompi_status_set(&receive->request.status, source, tag, MPI_SUCCESS, bytes);
        opal_copy((void *)ompi_datatype_origin(data->type, data->buffer), payload, bytes);
    } else {
        unpack_eager(receive, &(ob1_match_t){.source = source, .tag = tag}, payload, bytes);
    }
    finish_receive(receive);
}

/* A function of its own, called last, so that the path without tools has no call in the middle. */
OPAL_NOINLINE static void deliver_eager_observed(ob1_receive_t *receive, int source, int tag,
                                                 const void *payload, size_t bytes)
{
    ob1_raise_matched_eager(receive, source, tag, bytes);
    deliver_eager(receive, source, tag, payload, bytes);
}

void ob1_deliver_eager(ob1_receive_t *receive, int source, int tag, const void *payload,
                       size_t bytes)
{
    if (ompi_event_is_match_wanted())
        deliver_eager_observed(receive, source, tag, payload, bytes);
    else
        deliver_eager(receive, source, tag, payload, bytes);
}

/* The sender is notified first, so that it continues while the data is copied here. */
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

/* Unpacks what has come of a stream; ob1_deliver_stream_part unpacks the rest. */
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

/* All data is here: the sender gets its FIN, unless rndv_get has completed its slot. */
static void finish_rndv_get(ob1_receive_t *receive, ob1_peer_t *peer, const ob1_rts_t *head)
{
    ob1_note_rndv_received(receive, receive->request.status.MPI_ERROR);
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
    if (ompi_event_is_wanted(OMPI_EVENT_RENDEZVOUS_BEGUN))
        ob1_raise_rndv_received(OMPI_EVENT_RENDEZVOUS_BEGUN, receive, MPI_SUCCESS);
    if (receive->wanted == 0 || ob1_rndv_get(peer->btl, receive, head)) {
        ob1_count_protocol(OB1_BY_GET, receive->wanted);
        finish_rndv_get(receive, peer, head);
        return;
    }
    if (opal_unlikely(ob1_peer_is_unreachable(peer))) {
        ob1_note_rndv_received(receive, peer->error);
        ob1_receive_fail(receive, peer);
        return;
    }
    receive->peer = peer;
    receive->control.is_waiting = false;
    receive->name = opal_names_add(&names, receive);
    if (opal_unlikely(receive->name == 0)) {
        ob1_note_rndv_received(receive, MPI_ERR_NO_MEM);
        send_nack(receive, peer, head->sender);
        return;
    }
    opal_list_append(&peer->receiving, &receive->posted.node);
    ob1_cts_t cts = {head->sender, receive->name, receive->wanted};
    receive->control.done = NULL;
    ob1_peer_send_control(peer, OB1_CTS, &cts, sizeof cts, &receive->control);
}

void ob1_deliver(ob1_receive_t *receive, opal_process_t *from, unsigned kind, const void *bytes,
                 size_t length)
{
    ob1_match_t match;
    memcpy(&match, bytes, sizeof match);
    if (kind == OB1_EAGER) {
        ob1_deliver_eager(receive, match.source, match.tag, (const char *)bytes + sizeof match,
                          length - sizeof match);
        return;
    }
    ob1_peer_t *peer = ob1_peer(from);
    if (ompi_event_is_match_wanted())
        ob1_raise_matched(receive, kind, bytes, length);
    if (kind == OB1_EAGER_SYNC)
        take_eager_sync(receive, peer, bytes, length);
    else if (kind == OB1_STREAM)
        take_stream(receive, peer, bytes, length);
    else
        take_rendezvous(receive, peer, bytes);
}

void ob1_deliver_head_only(ob1_receive_t *receive, const ob1_message_t *message)
{
    ob1_sync_t head;
    memcpy(&head, message->frame, sizeof head);
    if (ompi_event_is_match_wanted())
        ob1_raise_matched(receive, message->kind, message->frame, message->length);
    set_matched(receive, &head.match, 0);
    if (message->kind == OB1_EAGER_SYNC)
        send_nack(receive, ob1_peer(message->from), head.sender);
    else
        ob1_receive_end(receive, MPI_ERR_NO_MEM);
}

/* -- streams --------------------------------------------------------------------------- */

bool ob1_stream_begin(ob1_peer_t *peer, const void *bytes, size_t length)
{
    ob1_stream_head_t head;
    memcpy(&head, bytes, sizeof head);
    if (head.total < length - sizeof head || head.total > OB1_MAX_STREAM ||
        peer->stream.received < peer->stream.total)
        return false;
    peer->stream = (ob1_stream_t){.received = length - sizeof head, .total = head.total};
    return true;
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

bool ob1_deliver_stream_part(ob1_peer_t *peer, const void *bytes, size_t length)
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

/* -- fragments ------------------------------------------------------------------------- */

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
        ob1_note_rndv_received(receive, receive->request.status.MPI_ERROR);
        finish_receive(receive);
    }
}

bool ob1_deliver_fragment(const ob1_peer_t *peer, const void *bytes, size_t length)
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

void ob1_deliver_end(void)
{
    opal_names_free(&names);
}
