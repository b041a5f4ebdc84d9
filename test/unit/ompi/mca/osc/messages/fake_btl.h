/* SPDX-License-Identifier: BSD-3-Clause */
/* A transport for datatypes: each frame comes to the target at once, and is kept. */
#ifndef UNIT_OSC_FAKE_BTL_H
#define UNIT_OSC_FAKE_BTL_H

#include "ompi/mca/osc/messages/messages.h"
#include "test/unit/opal/support.h"

enum { FRAME_BYTES = 1024, WORDS_BYTES = 2 << 20 };

static messages_peer_t receiver; /* what the target knows of the origin */
static size_t frames;
static bool is_full;

/* What was sent last, all frames of it. */
static uint64_t words[WORDS_BYTES / sizeof(uint64_t)];
static size_t words_bytes;

static inline void *reserve(opal_btl_peer_t *peer OPAL_UNUSED, size_t length)
{
    static uint64_t room[FRAME_BYTES / sizeof(uint64_t)];
    ck_assert_uint_le(length, sizeof room);
    return is_full ? NULL : room;
}

static inline void commit(opal_btl_peer_t *peer OPAL_UNUSED, void *room, unsigned kind,
                          size_t length)
{
    messages_head_t head;
    const char *bytes = (char *)room + sizeof head;
    memcpy(&head, room, sizeof head);
    ck_assert_uint_eq(kind, MESSAGES_TYPE);
    ck_assert_uint_le(head.position + length - sizeof head, sizeof words);
    memcpy((char *)words + head.position, bytes, length - sizeof head);
    words_bytes = head.count;
    frames++;
    ck_assert(messages_type_receive(&receiver, &head, bytes, length - sizeof head));
}

static const opal_btl_ops_t ops = {
    .name = "fake", .max_frame_bytes = FRAME_BYTES, .reserve = reserve, .commit = commit};
static opal_btl_peer_t btl = {.ops = &ops};
static messages_peer_t sender = {.btl = &btl}; /* what the origin knows of the target */

static inline void setup(void)
{
    ck_assert_int_eq(ompi_datatype_init(), MPI_SUCCESS);
    opal_list_init(&sender.items);
}

/* Sends a type; returns what the target has made of it. */
static inline ompi_datatype_t *transfer(const ompi_datatype_t *type)
{
    uint16_t slot = UINT16_MAX;
    ck_assert_int_eq(messages_type_slot(&sender, type, &slot), MPI_SUCCESS);
    ck_assert_uint_lt(slot, MESSAGES_TYPE_SLOTS);
    ck_assert_ptr_nonnull(receiver.received[slot]);
    return receiver.received[slot];
}

static inline void forget(void)
{
    messages_types_forget(&sender);
    messages_types_forget(&receiver);
    sender = (messages_peer_t){.btl = &btl};
    opal_list_init(&sender.items);
    receiver = (messages_peer_t){0};
}

#endif
