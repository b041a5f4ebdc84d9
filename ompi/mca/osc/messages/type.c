/* SPDX-License-Identifier: BSD-3-Clause */
/* Datatypes that accesses name by slots: each is sent once, in frames (ompi/datatype/wire.h). */
#include <stdlib.h>

#include "ompi/datatype/wire.h"
#include "ompi/mca/osc/messages/messages.h"

static bool is_sent(const messages_type_t *sent, const ompi_datatype_t *type)
{
    return sent->layout == type->shape.layout && sent->origin == type->shape.origin &&
           sent->extent == ompi_datatype_extent(type);
}

int messages_type_slot(messages_peer_t *peer, const ompi_datatype_t *type, uint16_t *slot)
{
    uintptr_t key = (uintptr_t)type->shape.layout / 64 + (uintptr_t)type->shape.origin +
                    (uintptr_t)ompi_datatype_extent(type) * 7;
    *slot = (uint16_t)(key % MESSAGES_TYPE_SLOTS);
    messages_type_t *sent = &peer->sent[*slot];
    if (is_sent(sent, type))
        return MPI_SUCCESS;
    size_t bytes;
    uint64_t *words = ompi_datatype_write(type, &bytes);
    messages_item_t item = {
        .peer = peer,
        .kind = MESSAGES_TYPE,
        .head = {.type = *slot, .count = bytes},
        .total = bytes,
        .unit = sizeof *words,
        .copy = (char *)words,
        .rank = -1,
    };
    int error = words == NULL ? MPI_ERR_NO_MEM : messages_send(&item);
    if (error != MPI_SUCCESS) {
        free(words);
        return error;
    }
    ompi_layout_release(sent->layout);
    *sent = (messages_type_t){ompi_layout_retain(type->shape.layout), type->shape.origin,
                              ompi_datatype_extent(type)};
    return MPI_SUCCESS;
}

/* Words that are no type are dropped, and empty the slot: what uses it is refused. */
bool messages_type_receive(messages_peer_t *peer, const messages_head_t *head, const char *bytes,
                           size_t length)
{
    if (head->type >= MESSAGES_TYPE_SLOTS || head->position > head->count ||
        length > head->count - head->position)
        return true; /* no frame of ours */
    if (head->position == 0) {
        free(peer->incoming);
        peer->incoming = malloc(head->count);
        peer->incoming_bytes = head->count;
        if (peer->incoming == NULL)
            return false;
    }
    if (peer->incoming == NULL || peer->incoming_bytes != head->count)
        return true; /* nor this one */
    memcpy(peer->incoming + head->position, bytes, length);
    if (head->position + length < head->count)
        return true;
    bool is_wrong;
    ompi_datatype_t *type = ompi_datatype_read(peer->incoming, head->count, &is_wrong);
    if (type == NULL && !is_wrong)
        return false;
    free(peer->incoming);
    peer->incoming = NULL;
    if (peer->received[head->type] != NULL)
        ompi_datatype_release(peer->received[head->type]);
    peer->received[head->type] = type;
    return true;
}

void messages_types_forget(messages_peer_t *peer)
{
    for (size_t i = 0; i < MESSAGES_TYPE_SLOTS; i++) {
        ompi_layout_release(peer->sent[i].layout);
        if (peer->received[i] != NULL)
            ompi_datatype_release(peer->received[i]);
    }
    free(peer->incoming);
}
