/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * pml/ob1: messages with matching in the library, over btl frames.
 *
 *   match.[ch]    which message meets which receive
 *   peer.c        the way to a rank, and what waits for room on it
 *   send.c        the sending side of the protocols
 *   receive.c     the receiving side: posting, and every frame that arrives
 *   probe.c       looking for messages
 *   pull.c        copying out of the sender's memory
 *   out.c         sending out of the user's memory
 *   land.c        receiving into it
 *   credit.c      how much is sent without being asked for
 *   gone.c        what becomes of messages when a rank has died, or has left
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
 *                asks for fragments, whichever the transport finds faster. Also whatever goes to a
 *                rank that does not receive what was sent before: there is no credit for it
 *
 * A transport that sends from where the data lies, and receives to where it belongs, is given both
 * (opal_btl_ops_t.send_now, .send_long, opal_btl_client_t.place); to others data is packed.
 *
 * A send that waits for room is cancelled at once, one that waits for an answer by asking the
 * receiver, who has to be in MPI to answer, or else to have left it. Others are on their way, and
 * end as if nobody had asked.
 *
 * Threading: everything is under ompi_lock, but for what goes beside it, once threads share
 * (ompi_threads_share): a send of one frame, and a receive that is posted or finds its whole
 * message here. Those meet the rest under two finer locks, which whoever has ompi_lock takes too:
 *
 *   matcher   what waits in a context of a communicator, and the pool of its receives. Beside,
 *             receives are posted and eager messages taken out; under ompi_lock receives are taken
 *             out and messages put in: there, posted ones only grow more, and messages fewer
 *   peer      opal_btl_peer_t.lock: a frame from reserve to commit, and whether one may go beside
 *             (allows_unlocked)
 *
 * Order: ompi_lock, matcher, peer. With one of the finer ones held nothing is completed, and no
 * other lock of messages is taken. Who completes a request has ompi_lock, or has just made it.
 */
#ifndef OMPI_PML_OB1_H
#define OMPI_PML_OB1_H

#include "opal/mca/btl/btl.h"
#include "opal/threads/lock.h"
#include "opal/util/list.h"
#include "opal/util/names.h"
#include "opal/util/pool.h"
#include "opal/util/segments.h"
#include "ompi/mca/mpool/mpool.h"
#include "ompi/mca/pml/ob1/match.h"
#include "ompi/mca/pml/ob1/wire.h"
#include "ompi/mca/pml/pml.h"
#include "ompi/request/request.h"

struct ob1_peer;

/* Something that could not be sent for lack of room; a part of what sends it. */
typedef struct ob1_pending {
    opal_list_node_t node;
    /* Tries again; true: it is sent (and may be gone). */
    bool (*push)(struct ob1_pending *pending, struct ob1_peer *peer);
    /* The peer is gone. Ends it; it is out of the peer's lists. */
    void (*fail)(struct ob1_pending *pending, struct ob1_peer *peer);
} ob1_pending_t;

struct ob1_receive;
struct ob1_message;

/* A short frame without matching that waits for room; a part of what causes it. */
typedef struct ob1_control {
    ob1_pending_t pending;
    void (*done)(
        struct ob1_control *control); /* it has left, or the peer is gone; NULL: nothing to do */
    bool is_waiting;
    ob1_kind_t kind;
    unsigned length;
    _Alignas(8) unsigned char bytes[sizeof(ob1_cts_t)];
} ob1_control_t;

/* The message that is arriving in parts: for whom they are. Neither: they are dropped. */
typedef struct ob1_stream {
    struct ob1_receive *receive;
    struct ob1_message *message; /* nobody has asked for it yet */
    size_t received, total;
} ob1_stream_t;

/* The way to a process. Made when it is first needed. */
typedef struct ob1_peer {
    _Alignas(64) opal_btl_peer_t *btl;
    opal_process_t *process;
    /* What its transport is good at: messages from here on leave out of the user's memory; the
     * longest part of a stream. */
    size_t zcopy_bytes, part_bytes;
    /* What may still be sent there unasked, in bytes at the receiver; below 0: not before there is
     * more. Written under the peer's lock, read under it or under ompi_lock. */
    _Atomic(int64_t) credit;
    atomic_size_t unexpected; /* what is kept of its messages */
    opal_list_t frames;       /* ob1_pending_t, in the order in which they have to leave */
    opal_list_t streams;      /* ob1_pending_t of fragments, whose order does not matter */
    opal_list_t awaiting;     /* ob1_pending_t of sends that it has to answer */
    opal_list_t receiving;    /* ob1_receive_t whose fragments it has to send, by posted.node */
    opal_list_node_t all;     /* in the list of all */
    opal_list_node_t node;    /* in the list of those with something pending */
    ob1_stream_t stream;      /* from it to us */
    size_t window;            /* the credit that a request brings, both ways */
    /* Credit that was asked for, if is_asking: the number of the request, and its frame. */
    uint64_t asked;
    ob1_control_t request;
    /* The other way: the number of what it asks for and does not get yet, or 0, and where it waits;
     * the frame that gives it. */
    uint64_t wanted;
    opal_list_node_t withheld;
    ob1_control_t grant;
    int error;       /* what fails for want of it */
    bool sends_long; /* its transport does, out of the user's memory */
    bool is_listed, is_asking;
    bool has_failed;
    bool has_left;    /* nothing is sent there any more, and nothing comes */
    bool is_notified; /* a person has been told that it is gone */
    bool is_wrong;    /* a person has been told of a frame that it should not have sent */
    /* A frame may leave beside ompi_lock: one has left before, it lives, and none waits for room
     * that has to leave first. Written under ompi_lock and the peer's lock, read under either. */
    bool allows_unlocked;
} ob1_peer_t;

typedef struct ob1_send {
    ompi_request_t request;
    ob1_pending_t pending;
    ob1_peer_t *peer;
    ob1_match_t match;
    ompi_data_t data;
    size_t bytes;
    uint64_t name; /* what the receiver calls it, once it was told; 0: it has none */
    bool synchronous, blocking;
    ob1_kind_t awaits;     /* the answer: OB1_MATCH_ACK, OB1_FIN or what comes instead; or 0 */
    bool is_cancelling;    /* the receiver is to give it back */
    bool is_unreceived;    /* it has failed, as the receiver has left without having taken it */
    uint32_t slot;         /* what `arm` of the transport said */
    ob1_segment_t *list;   /* of more segments than fit a frame; NULL: none */
    uint64_t receiver;     /* the name of the receiver's request, once it asked for fragments */
    size_t wanted, pushed; /* bytes it asked for, bytes sent, as fragments or as a stream */
    opal_btl_long_t zcopy; /* while they are sent from where they lie; of `run`, or of a list */
    struct iovec run;
    ompi_mpool_use_t pinned; /* of the part that is sent, if its registration is not NULL */
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
    ob1_peer_t *peer;        /* likewise, whose they are, and what it calls this receive */
    uint64_t name;
    ob1_control_t
        control; /* the answer to the sender; the receive is not done before it has left */
} ob1_receive_t;

/*
 * A message that nobody has asked for yet. The frame of a stream has room for all of it, and
 * grows. What comes when there is no memory is kept in a
 * reserve, as far as it fits there.
 */
typedef struct ob1_message {
    ompi_message_t base;
    union {
        ob1_unexpected_t unexpected; /* while it is with a matcher, or with those that came early */
        ob1_control_t control;       /* while its sender is told that it has it back */
    };
    ompi_communicator_t *comm; /* set by a matched probe */
    ompi_context_t context;
    opal_process_t *from;
    unsigned kind;
    bool is_reserved;
    size_t charge;     /* what it counts as, while it is kept */
    bool is_head_only; /* the frame has its head alone: whoever receives it gets MPI_ERR_NO_MEM */
    size_t length;     /* also of what is lost */
    _Alignas(8) unsigned char frame[];
} ob1_message_t;

/* What a communicator has of ours: a matcher for each of its contexts. */
typedef struct ob1_comm {
    ob1_matcher_t matchers[OMPI_CONTEXT_COUNT];
    opal_pool_t receives[OMPI_CONTEXT_COUNT]; /* where threads share; the lock of the matcher */
} ob1_comm_t;

static inline ob1_matcher_t *ob1_matcher_for(const ompi_route_t *from)
{
    ob1_comm_t *own = from->comm->pml;
    return &own->matchers[from->context];
}

/* -- locks -- */

static inline void ob1_lock(opal_fair_lock_t *lock)
{
    if (ompi_threads_share())
        opal_fair_acquire(lock);
}

static inline void ob1_unlock(opal_fair_lock_t *lock)
{
    if (ompi_threads_share())
        opal_fair_release(lock);
}

/* -- peer.c -- */

/* The way to a process; NULL, with a message when that is first found: there is none. Or no memory.
 */
ob1_peer_t *ob1_peer(opal_process_t *process);

/* The same, of a process whose end is being told. */
ob1_peer_t *ob1_peer_to_fail(opal_process_t *process);

/* Why one was NULL, as an MPI error. */
int ob1_peer_error(opal_process_t *process);

/* NULL, without a message: nothing was sent there yet, nor came from there. Beside ompi_lock, too.
 */
static inline ob1_peer_t *ob1_known_peer(uint32_t process)
{
    return opal_process_get_end(process, OPAL_END_MESSAGES);
}

/* Whether a receive from there can only be for a message of that process. */
static inline bool ob1_is_from(const ompi_communicator_t *comm, int source, uint32_t process)
{
    return source != MPI_ANY_SOURCE && ompi_comm_process(comm, source) == process;
}

/* The way to a rank of a communicator. */
static inline ob1_peer_t *ob1_peer_of(const ompi_communicator_t *comm, int rank)
{
    uint32_t process = ompi_comm_process(comm, rank);
    ob1_peer_t *known = ob1_known_peer(process);
    return opal_likely(known != NULL) ? known : ob1_peer(opal_process(process));
}

/* Before something begins to wait for room, for credit, or to be told: it is polled for from now
 * on. */
void ob1_peers_poll(void);

/* Remembers something that found no room. */
void ob1_peer_defer(ob1_peer_t *peer, opal_list_t *list, ob1_pending_t *pending);

static inline bool ob1_peer_is_unreachable(const ob1_peer_t *peer)
{
    return peer->has_failed || peer->has_left;
}

/* Whether a frame that has to keep its place may leave now. */
static inline bool ob1_peer_can_send(const ob1_peer_t *peer)
{
    return opal_list_is_empty(&peer->frames) && !ob1_peer_is_unreachable(peer);
}

/* Room for a frame; with it the peer's lock, which commit gives back. NULL: none. */
static inline void *ob1_peer_reserve(ob1_peer_t *peer, size_t length)
{
    ob1_lock(&peer->btl->lock);
    void *room = peer->btl->ops->reserve(peer->btl, length);
    if (opal_unlikely(room == NULL))
        ob1_unlock(&peer->btl->lock);
    return room;
}

/* A frame has left under ompi_lock, and the peer's lock is given back. */
static inline void ob1_peer_sent(ob1_peer_t *peer)
{
    if (ompi_threads_share()) {
        peer->allows_unlocked = ob1_peer_can_send(peer);
        opal_fair_release(&peer->btl->lock);
    }
}

static inline void ob1_peer_commit(ob1_peer_t *peer, void *room, ob1_kind_t kind, size_t length)
{
    peer->btl->ops->commit(peer->btl, room, kind, length);
    ob1_peer_sent(peer);
}

/* No frame leaves beside ompi_lock, until one has left under it. */
void ob1_peer_forbid_unlocked(ob1_peer_t *peer);

/* A frame that the rank should not have sent was dropped: a person is told once. Frames that name
 * requests may well come behind the news that it is dead. */
void ob1_peer_reject(opal_process_t *from, unsigned kind, const char *what);

/* Sends a short frame without matching. True: it has left, or nobody is there. False: there is no
 * room; the note, whose `done` is set, has a copy, and is done when that has left. */
bool ob1_peer_send_control(ob1_peer_t *peer, ob1_kind_t kind, const void *bytes, size_t length,
                           ob1_control_t *control);

/* Out of all lists but those of what has begun with it. */
void ob1_peer_free(ob1_peer_t *peer);

opal_status_t ob1_peers_start(unsigned ranks);
void ob1_peers_stop(void);

/* The first part of stop: ends the transports, which tell the peers. */
void ob1_peers_close(void);

/* Waits until nothing is deferred. */
void ob1_peers_flush(void);

/* -- credit.c -- */

/* What a message costs who keeps it, besides its bytes: its record, and the two bins that only it
 * has if no other has its tag. */
enum { OB1_MESSAGE_OVERHEAD = sizeof(ob1_message_t) + 192 };

extern size_t ob1_unexpected_bytes; /* a parameter */

void ob1_credit_start(unsigned ranks);

/* Of a new peer, and of one that is gone. */
void ob1_credit_begin(ob1_peer_t *peer);
void ob1_credit_end(ob1_peer_t *peer);

/* Its window is used up: asks for more, or has. Whether something may still be sent. */
bool ob1_credit_ask(ob1_peer_t *peer);

/* Whether something may be sent there that it has not asked for. */
static inline bool ob1_peer_has_credit(ob1_peer_t *peer)
{
    return opal_likely(atomic_load_explicit(&peer->credit, memory_order_relaxed) >= 0) ||
           ob1_credit_ask(peer);
}

/* Whether a whole message may leave now, unasked. A peer that is gone has no credit. */
static inline bool ob1_peer_can_send_eager(ob1_peer_t *peer)
{
    return opal_likely(opal_list_is_empty(&peer->frames) &&
                       atomic_load_explicit(&peer->credit, memory_order_relaxed) >= 0) ||
           (ob1_peer_can_send(peer) && ob1_credit_ask(peer));
}

/* A message of so many bytes goes there unasked. With the peer's lock. */
static inline void ob1_peer_charge(ob1_peer_t *peer, size_t bytes)
{
    atomic_store_explicit(&peer->credit,
                          atomic_load_explicit(&peer->credit, memory_order_relaxed) -
                              (int64_t)(bytes + OB1_MESSAGE_OVERHEAD),
                          memory_order_relaxed);
}

extern atomic_size_t ob1_unexpected_total; /* what is kept, of all peers */

static inline void ob1_sum_add(atomic_size_t *sum, size_t bytes)
{
    if (ompi_threads_share())
        atomic_fetch_add_explicit(sum, bytes, memory_order_relaxed);
    else
        atomic_store_explicit(sum, atomic_load_explicit(sum, memory_order_relaxed) + bytes,
                              memory_order_relaxed);
}

/* Something of the peer's is kept, or (negative) not any more. Beside ompi_lock, too. */
static inline void ob1_unexpected_add(ob1_peer_t *peer, ptrdiff_t bytes)
{
    ob1_sum_add(&ob1_unexpected_total, (size_t)bytes);
    ob1_sum_add(&peer->unexpected, (size_t)bytes);
}

/* Whether somebody does not get what it has asked for; gives it to those who may have it now, and
 * returns how many. */
bool ob1_credit_withholds(void);
int ob1_credit_poll(void);

/* Frames from there. False: they do not fit. */
bool ob1_credit_requested(ob1_peer_t *peer, uint64_t number);
bool ob1_credit_granted(ob1_peer_t *peer, uint64_t number);

/* -- send.c -- */

int ob1_isend(const ompi_route_t *to, const ompi_data_t *data, ompi_send_mode_t mode,
              ompi_request_t **request);
int ob1_send_init(const ompi_route_t *to, const ompi_data_t *data, ompi_send_mode_t mode,
                  ompi_request_t **request);
int ob1_send(const ompi_route_t *to, const ompi_data_t *data, ompi_send_mode_t mode);
bool ob1_try_send_unlocked(const ompi_route_t *to, const ompi_data_t *data, ompi_send_mode_t mode);

/* Frees what is kept for requests to come. */
void ob1_sends_end(void);

void ob1_send_finish(ob1_send_t *send);

/* A frame that answers a send of ours. False: no send waits for that. */
bool ob1_send_handle_reply(const ob1_peer_t *peer, ob1_kind_t kind, const void *bytes);

/* -- out.c -- */

typedef enum ob1_pushed {
    OB1_PUSHED,
    OB1_NO_ROOM,
    OB1_MUST_PACK, /* it has to be packed: the transport, or the data, is not made for it */
} ob1_pushed_t;

/* A whole message: a frame of that kind and head with the data, or behind it if that is a stream's.
 */
ob1_pushed_t ob1_zcopy_now(ob1_peer_t *peer, const void *head, size_t head_bytes, unsigned kind,
                           const ompi_data_t *data, size_t bytes);

/* What the receiver wants, as a long message that lands. False: it has to be packed. */
bool ob1_zcopy_long(ob1_send_t *send);

/* Of transports that send out of pinned pages: before they are started, and while they are. */
void ob1_pins_prepare(void);
void ob1_pins_start(void);
void ob1_pins_stop(void);

/* -- land.c -- */

/* opal_btl_client_t.place and .placed. */
size_t ob1_place(opal_process_t *from, unsigned kind, uint64_t name, size_t offset, size_t bytes,
                 struct iovec *segments, size_t max);
void ob1_placed(opal_process_t *from, unsigned kind, uint64_t name, size_t offset, size_t bytes);

/* -- receive.c -- */

int ob1_irecv(const ompi_route_t *from, const ompi_data_t *data, ompi_request_t **request);
int ob1_recv_init(const ompi_route_t *from, const ompi_data_t *data, ompi_request_t **request);
int ob1_recv(const ompi_route_t *from, const ompi_data_t *data, MPI_Status *status);
bool ob1_try_recv_unlocked(const ompi_route_t *from, const ompi_data_t *data, MPI_Status *status,
                           int *error);
bool ob1_try_irecv_unlocked(const ompi_route_t *from, const ompi_data_t *data,
                            ompi_request_t **request);
int ob1_imrecv(ompi_message_t *message, const ompi_data_t *data, ompi_request_t **request);

/* Frees what is kept for requests to come. */
void ob1_receives_end(void);

/* Ends a message that nobody will ask for; one that was asked for, or is in no stream. */
void ob1_message_drop(ob1_message_t *message);
void ob1_message_free(ob1_message_t *message);

/* A message whose communicator exists now. Takes it. */
void ob1_early_match(ob1_matcher_t *matcher, ob1_message_t *message);

/* Bytes of a stream, of fragments, are where they belong, or were for nobody. */
void ob1_stream_received(ob1_peer_t *peer, size_t bytes);
void ob1_fragment_received(ob1_receive_t *receive, size_t bytes);

/* The receive that waits for fragments with these bytes; NULL: none does. */
ob1_receive_t *ob1_receive_of(const ob1_peer_t *peer, uint64_t name, size_t offset, size_t bytes);

/* It is over without its message. */
void ob1_receive_end(ob1_receive_t *receive, int error);

/* No fragments come for it any more. */
void ob1_receive_forget(ob1_receive_t *receive);

/* opal_btl_client_t.receive. */
bool ob1_receive_frame(opal_process_t *from, unsigned kind, const void *bytes, size_t length);

/*
 * MPI_SUCCESS, or the error of a receive from there: nothing can come, as nothing can be sent. So
 * in a collective every rank that needs a message that cannot be sent gets an error, and none
 * waits.
 */
int ob1_connect_source(const ompi_route_t *from);

/* -- probe.c -- */

int ob1_iprobe(const ompi_route_t *from, bool *found, ompi_message_t **message, MPI_Status *status);
int ob1_probe(const ompi_route_t *from, ompi_message_t **message, MPI_Status *status);

/* Something has arrived that nobody had asked for, or somebody has died: those who wait look again.
 * No matcher is locked. */
void ob1_wake_probes(void);

/* Those who wait for a message of that process get MPI_ERR_NO_MEM. */
void ob1_probes_fail_no_memory(uint32_t process);

/* -- pull.c -- */

/* Gets what the receive wants, and answers if the sender expects that. False: the data must be
 * asked for. */
bool ob1_rndv_get(opal_btl_peer_t *btl, ob1_receive_t *receive, const ob1_rts_t *head);

/* -- gone.c -- */

/* Beside ompi_lock, too: what was posted before it was said is failed, and nothing is afterwards.
 */
bool ob1_any_has_failed(void);

/* Nobody is dead yet. */
void ob1_peer_failure_start(void);

/* A new peer is dead: when its end was told there was no memory for it. Since this may be called
 * under a matcher's lock, receives and probes that wait for it are ended later, by
 * ob1_fail_unreachable, which push_all calls; it returns how often it had to. */
void ob1_peer_found_failed(ob1_peer_t *peer);
int ob1_fail_unreachable(void);

/* A process is forgotten: nothing of it is left here. */
void ob1_peer_forget(opal_process_t *process);

/* opal_btl_client_t.failed and .left. */
void ob1_peer_failed(opal_process_t *process, opal_status_t why);
void ob1_peer_left(opal_process_t *process);

/* MPI_SUCCESS, or why no message can be expected from there any more. */
int ob1_source_error(const ompi_communicator_t *comm, int source);

/* There is no memory to keep a message of that process: receives and probes that wait for one
 * behind it get MPI_ERR_NO_MEM. Those of any source wait for as long as memory is short. */
void ob1_receives_fail_no_memory(opal_process_t *process);

/* They have been taken out of all lists. The receive's message is one of that peer's. */
void ob1_send_fail(ob1_send_t *send);
void ob1_receive_fail(ob1_receive_t *receive, ob1_peer_t *peer);

/* -- ob1.c -- */

void ob1_each_matcher(void (*visit)(ob1_matcher_t *matcher));

/* Parameters. */
extern size_t ob1_rendezvous_limit, ob1_part_bytes, ob1_pin_bytes, ob1_pipeline_bytes;

/* The matcher of a context on the wire; NULL: no such communicator here yet, or any more. */
ob1_matcher_t *ob1_matcher_of(uint32_t context);

/* Keeps a message of such a context until it is added; forgets those from there, NULL: all. */
void ob1_early_add(ob1_message_t *message);
void ob1_early_drop(const opal_process_t *from);

#endif
