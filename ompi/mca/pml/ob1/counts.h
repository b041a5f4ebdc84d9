/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What ob1 counts, for the performance variables of counts.c: messages and bytes by transport, by
 * protocol and by communicator.
 *
 * A message is counted when its first frame has left or has come, while there is demand. The thread
 * that counts holds ompi_lock, so the counters are plain words. On the unlocked fast path (lanes)
 * each thread has counters of its own.
 */
#ifndef OMPI_PML_OB1_COUNTS_H
#define OMPI_PML_OB1_COUNTS_H

#include <stdatomic.h>

#include "opal/util/counter.h"
#include "ompi/tool/event_point.h"

/* Transports are numbered as for events. */
enum { OB1_VIAS = OMPI_EVENT_BY_NETWORK + 1 };

/* What differs from a plain eager message, which is counted by its transport alone. */
typedef enum ob1_protocol {
    OB1_BY_SYNC,       /* eager, and the sender waits for the match */
    OB1_BY_STREAM,     /* in parts, unasked */
    OB1_BY_RENDEZVOUS, /* after the receive has matched */
    OB1_BY_ZCOPY,      /* any of these out of the sender's memory, without a copy: counted twice */
    OB1_BY_GET,        /* rendezvous, copied by this process out of the sender's memory */
    OB1_PROTOCOLS,
} ob1_protocol_t;

/* Both directions of a transport. */
typedef struct ob1_via_counts {
    opal_traffic_t sent, received;
} ob1_via_counts_t;

extern ob1_via_counts_t ob1_via_counts[OB1_VIAS];
extern opal_traffic_t ob1_protocol_counts[OB1_PROTOCOLS];
extern opal_counter_t ob1_unexpected_count;

OPAL_HIDDEN extern opal_demand_t ob1_counting;

/* What each thread has sent in a communicator by the fast path. */
typedef struct ob1_thread_counts ob1_thread_counts_t;

/* Of the fast path, while there is demand: a message of the transport that has lanes. `sent`: of
 * the communicator; NULL: none was counted yet. Freed with free(). */
void ob1_count_sent_unlocked(_Atomic(ob1_thread_counts_t *) *sent, uint64_t bytes);
void ob1_count_received_unlocked(uint64_t bytes);

/* All messages, if they are counted now; those before are not in it. False: they are not counted.
 */
bool ob1_count_messages(uint64_t *sent, uint64_t *received);

#endif
