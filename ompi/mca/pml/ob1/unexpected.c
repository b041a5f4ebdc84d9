/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Unexpected messages: their first frames are copied here until a receive matches them.
 *
 * A message for which there is no memory goes into a reserve of fixed size. A very short message
 * fits as a whole; of a rendezvous the head is enough, because the data is still with the sender.
 * Of any other message the reserve keeps the head alone: the receive that matches it completes with
 * MPI_ERR_NO_MEM, and so does the send if it waits for the receiver.
 *
 * Threading: the reserve is under ompi_lock.
 */
#include <stdlib.h>
#include <string.h>

#include "opal/arch/copy.h"
#include "ompi/mca/pml/ob1/ob1.h"

/* The reserve: how many messages, and how many bytes of each frame. */
enum { RESERVED = 64, RESERVED_BYTES = 64 };

static struct reserved {
    _Alignas(ob1_message_t) unsigned char message[sizeof(ob1_message_t) + RESERVED_BYTES];
} reserve[RESERVED];
static uint64_t reserve_taken; /* a bit for each; under ompi_lock */

/* NULL: the reserve is used up. */
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
                         const void *bytes, size_t length, size_t copied)
{
    message->comm = NULL;
    message->from = from;
    message->kind = kind;
    message->is_reserved = message->is_head_only = false;
    message->length = length;
    opal_copy(message->frame, bytes, copied);
}

/* Copies as much of a frame as an entry of the reserve holds. `room`: what the whole message needs.
 * NULL: the reserve is used up. */
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
    if (kind == OB1_RTS) /* it is received by CTS and fragments */
        ((ob1_rts_t *)(void *)message->frame)->segment_count = 0;
    return message;
}

ob1_message_t *ob1_message_copy(opal_process_t *from, unsigned kind, const void *bytes,
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

/* -- MPI_Cancel of a send -------------------------------------------------------------- */

typedef struct request_name {
    const opal_process_t *from;
    uint64_t sender;
} request_name_t;

/* Whether this message belongs to the send request that the sender names. */
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

void ob1_message_cancel(ob1_matcher_t *matcher, opal_process_t *from, const void *bytes)
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
