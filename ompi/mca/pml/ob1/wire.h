/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The frames of pml/ob1, as they travel. Between processes of one job and one architecture.
 *
 *   eager         match | payload                                    the whole message
 *   eager sync    match | sender | payload                           + wants a match_ack
 *   stream        match | total | payload                            the first part of a message
 *   stream part   payload                                            the next part of it
 *   RTS           match | sender, total, segment count | segments    rendezvous: request to send
 *   match_ack     sender                                             a synchronous send has matched
 *   FIN           sender                                             the receiver has all data
 *   CTS           sender, receiver, wanted                           clear to send, in fragments
 *   fragment      receiver, offset | payload
 *   cancel        match | sender                                     MPI_Cancel of a send
 *   cancelled     sender                                             no receive had matched it
 *   nack          sender                                             no memory to receive it
 *   credit request   number                                          flow control, see credit.c
 *   credit           number                                          granted
 *
 * The parts of a stream follow each other in order, and no other stream between the same two begins
 * before it has ended, so they need no name.
 *
 * `sender` and `receiver` are the names (opal/util/names.h) of requests: the process that owns the
 * request looks the name up in a reply. A cancel that comes too late has no reply of its own: the
 * message has matched, and the reply to it is under way. The segments of an RTS are addresses and
 * lengths in the sender's memory, for opal_btl_ops_t.rndv_get; without segments the data has to be
 * asked for by a CTS. If they are more than OB1_MAX_SEGMENTS, the RTS has one segment, which is the
 * list of them.
 *
 * Nothing of a frame is trusted. dispatch.c checks that the frame contains what its head says; the
 * code that looks up a name checks that the request belongs to the sender and waits for this frame.
 * A frame that does not fit is dropped, and logged once for each peer.
 */
#ifndef OMPI_PML_OB1_WIRE_H
#define OMPI_PML_OB1_WIRE_H

#include <stdint.h>

typedef enum ob1_kind {
    OB1_EAGER = 1,
    OB1_EAGER_SYNC,
    OB1_RTS,
    OB1_MATCH_ACK,
    OB1_FIN,
    OB1_CTS,
    OB1_FRAGMENT,
    OB1_STREAM,
    OB1_STREAM_PART,
    OB1_CANCEL,
    OB1_CANCELLED,
    OB1_NACK,
    OB1_CREDIT_REQUEST,
    OB1_CREDIT,
} ob1_kind_t;

/* The match header: first in every frame that takes part in matching. */
typedef struct ob1_match {
    uint32_t context;
    int32_t source; /* rank in the communicator */
    int32_t tag;
} ob1_match_t;

/*
 * Field by field: a load that is wider than the stores before it has to wait until they have left
 * the core, and they are queued behind those of the last frame, whose line the peer has.
 */
static inline void ob1_match_copy(ob1_match_t *to, const ob1_match_t *from)
{
    to->context = *(const volatile uint32_t *)&from->context;
    to->source = *(const volatile int32_t *)&from->source;
    to->tag = *(const volatile int32_t *)&from->tag;
}

/* The head of eager sync and cancel. A frame is not aligned for it: it is copied in and out. */
typedef struct ob1_sync {
    ob1_match_t match;
    uint32_t unused;
    uint64_t sender;
} ob1_sync_t;

typedef struct ob1_stream_head {
    ob1_match_t match;
    uint32_t unused;
    uint64_t total;
} ob1_stream_head_t;

typedef struct ob1_segment {
    uint64_t address, length;
} ob1_segment_t;

enum {
    OB1_MAX_SEGMENTS = 24,
    OB1_MAX_LISTED = 1 << 16,
    OB1_MAX_STREAM = 1 << 30, /* bytes; longer messages are never streamed */
};

typedef struct ob1_rts {
    ob1_match_t match;
    uint32_t segment_count;
    uint64_t sender;
    uint64_t total; /* bytes of the message */
    uint32_t slot;  /* to complete (opal_btl_ops_t.arm); 0: none, the receiver sends a FIN */
    uint8_t synchronous, unused[3];
    ob1_segment_t segments[OB1_MAX_SEGMENTS]; /* the frame has segment_count of them, or one */
} ob1_rts_t;

typedef struct ob1_ack {
    uint64_t sender;
} ob1_ack_t;

typedef struct ob1_credit {
    uint64_t number;
} ob1_credit_t;

typedef struct ob1_cts {
    uint64_t sender, receiver, wanted;
} ob1_cts_t;

typedef struct ob1_fragment {
    uint64_t receiver, offset;
} ob1_fragment_t;

#endif
