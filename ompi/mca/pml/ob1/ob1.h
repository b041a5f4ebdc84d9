/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * pml/ob1: messages with matching in the library, over btl frames.
 *
 *   match.[ch]    which message meets which receive
 *   peer.c        the way to a rank, and what waits for room on it
 *   send.c        the sending side of the protocols
 *   receive.c     the receiving side: posting, and every frame that arrives
 *   death.c       what becomes of messages when a rank dies
 *   ob1.c         the component, and communicators
 *   wire.h        the frames
 *
 * Protocols, by length:
 *
 *   eager        up to the transport's eager limit: one frame, and the send is done
 *   stream       up to rendezvous_limit: parts in order, without asking; the receiver copies one
 *                part out while the sender copies the next one in
 *   rendezvous   beyond, and synchronous sends that are not eager: the receiver is told where the
 *                data lies. When it has matched it copies the data out of the sender's memory, or
 *                asks for fragments, whichever the transport finds faster
 *
 * A send that waits for room is cancelled at once, one that waits for an answer by asking the
 * receiver, who has to be in MPI to answer. Others have left, and end as if nobody had asked.
 *
 * Threading: all of it under ompi_lock.
 */
#ifndef OMPI_PML_OB1_H
#define OMPI_PML_OB1_H

#include "opal/mca/btl/btl.h"
#include "opal/util/list.h"
#include "ompi/mca/pml/ob1/match.h"
#include "ompi/mca/pml/ob1/wire.h"
#include "ompi/mca/pml/pml.h"

struct ob1_peer;

/* Something that could not be sent for lack of room; a part of what sends it. */
typedef struct ob1_pending {
    opal_list_node_t node;
    /* Tries again; true: it is sent (and may be gone). */
    bool (*push)(struct ob1_pending *pending, struct ob1_peer *peer);
    /* The peer has died. Ends it, in whatever list of the peer it is. */
    void (*fail)(struct ob1_pending *pending, struct ob1_peer *peer);
} ob1_pending_t;

struct ob1_receive;
struct ob1_message;

/* The message that is arriving in parts: for whom they are. Neither: they are dropped. */
typedef struct ob1_stream {
    struct ob1_receive *receive;
    struct ob1_message *message; /* nobody has asked for it yet */
    size_t arrived, total;
} ob1_stream_t;

/* The way to a rank of MPI_COMM_WORLD. Made when it is first needed. */
typedef struct ob1_peer {
    opal_btl_peer_t *btl;
    opal_list_t frames;    /* ob1_pending_t, in the order in which they have to leave */
    opal_list_t streams;   /* ob1_pending_t of fragments, whose order does not matter */
    opal_list_t awaiting;  /* ob1_pending_t of sends that it has to answer */
    opal_list_t receiving; /* ob1_receive_t whose fragments it has to send, by posted.node */
    opal_list_node_t node; /* in the list of those with something pending */
    bool is_listed;
    bool is_dead;
    ob1_stream_t stream; /* from it to us */
} ob1_peer_t;

typedef struct ob1_send {
    ompi_request_t request;
    ob1_pending_t pending;
    ob1_peer_t *peer;
    ob1_match_t match;
    ompi_data_t data;
    size_t bytes;
    bool synchronous, awaits_answer;
    uint64_t receiver;     /* the receiver's request, once it asked for fragments */
    size_t wanted, pushed; /* bytes it asked for, bytes sent, as fragments or as a stream */
} ob1_send_t;

typedef struct ob1_receive {
    ompi_request_t request;
    ob1_posted_t posted;
    bool is_posted;
    ompi_communicator_t *comm;
    ompi_context_t context;
    ompi_data_t data;
    size_t capacity;         /* bytes that fit */
    size_t wanted, received; /* while fragments arrive */
} ob1_receive_t;

/*
 * A message that nobody has asked for yet. `rank` is the sender's in MPI_COMM_WORLD. The frame of
 * a stream has room for all of it, and grows.
 */
typedef struct ob1_message {
    ompi_message_t base;
    ob1_arrived_t arrived;
    ompi_communicator_t *comm; /* set by a matched probe */
    ompi_context_t context;
    unsigned rank;
    unsigned kind;
    size_t length;
    _Alignas(8) unsigned char frame[];
} ob1_message_t;

/* What a communicator has of ours: a matcher for each of its contexts. */
typedef struct ob1_comm {
    ob1_matcher_t matchers[OMPI_CONTEXT_COUNT];
} ob1_comm_t;

/* -- peer.c -- */

/* The way to a rank; NULL, with a message: there is none. */
ob1_peer_t *ob1_peer(unsigned rank);

/* Remembers something that found no room. */
void ob1_peer_defer(ob1_peer_t *peer, opal_list_t *list, ob1_pending_t *pending);

/* Whether a frame that has to keep its place may leave now. */
static inline bool ob1_peer_is_clear(const ob1_peer_t *peer)
{
    return opal_list_is_empty(&peer->frames) && !peer->is_dead;
}

/* NULL, without a message: nothing was sent there yet, nor came from there. */
ob1_peer_t *ob1_known_peer(unsigned rank);

/* Sends a short frame without matching now or later; its bytes are copied. */
void ob1_peer_tell(ob1_peer_t *peer, ob1_kind_t kind, const void *bytes, size_t length);

opal_status_t ob1_peers_start(unsigned count, opal_btl_handler_fn_t *handler);
void ob1_peers_stop(void);

/* Waits until nothing is deferred. */
void ob1_peers_flush(void);

/* -- send.c -- */

int ob1_isend(const ompi_route_t *to, const ompi_data_t *data, ompi_send_mode_t mode,
              ompi_request_t **request);
int ob1_send_init(const ompi_route_t *to, const ompi_data_t *data, ompi_send_mode_t mode,
                  ompi_request_t **request);
int ob1_send(const ompi_route_t *to, const ompi_data_t *data, ompi_send_mode_t mode);

/* Frees what is kept for requests to come. */
void ob1_sends_end(void);

void ob1_send_acknowledged(const ob1_ack_t *ack);
void ob1_send_clear(const ob1_clear_t *clear);
void ob1_send_cancelled(const ob1_ack_t *ack);

/* -- receive.c -- */

int ob1_irecv(const ompi_route_t *from, const ompi_data_t *data, ompi_request_t **request);
int ob1_recv_init(const ompi_route_t *from, const ompi_data_t *data, ompi_request_t **request);
int ob1_recv(const ompi_route_t *from, const ompi_data_t *data, MPI_Status *status);
int ob1_iprobe(const ompi_route_t *from, bool *found, ompi_message_t **message, MPI_Status *status);
int ob1_probe(const ompi_route_t *from, ompi_message_t **message, MPI_Status *status);
int ob1_imrecv(ompi_message_t *message, const ompi_data_t *data, ompi_request_t **request);

void ob1_receives_end(void);

/* Those who wait in a probe look again. */
void ob1_wake_probes(void);

/* Ends a message that nobody will ask for. */
void ob1_message_drop(ob1_message_t *message);

/* A message whose communicator exists now. Takes it. */
void ob1_replay_early(ob1_matcher_t *matcher, ob1_message_t *message);

/* The btl's handler. */
void ob1_handle_frame(unsigned rank, unsigned kind, const void *bytes, size_t length);

/* -- death.c -- */

/* Of opal_btl_on_death. */
void ob1_peer_died(unsigned rank);

/* Whether no message can be expected from there any more. */
bool ob1_is_hopeless(const ompi_communicator_t *comm, int source);

/* They have been taken out of all lists. */
void ob1_send_fail(ob1_send_t *send);
void ob1_receive_fail(ob1_receive_t *receive);

/* -- ob1.c -- */

void ob1_each_matcher(void (*visit)(ob1_matcher_t *matcher));

/* Parameters. */
extern size_t ob1_rendezvous_limit, ob1_part_bytes;

/* The matcher of a context on the wire; NULL: no such communicator here yet, or any more. */
ob1_matcher_t *ob1_matcher_of(uint32_t context);

/* Keeps a message of such a context until it is added. */
void ob1_keep_early(ob1_message_t *message, uint32_t context);

#endif
