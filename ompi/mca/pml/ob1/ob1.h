/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * pml/ob1: messages with matching in the library, over btl frames. From the top:
 *
 *   ob1.c            the component: start and stop, communicators
 *   dispatch.c       every frame that comes goes to its part; the table of contexts
 *   peer_failure.c   ends the requests that need a rank that has failed or left
 *   send.c           the sending side of the protocols
 *   zcopy_send.c     zcopy: sending out of the user's memory
 *   receive.c        posting receives
 *   probe.c          looking for messages, and claiming them
 *   placement.c      zcopy: placed frames go into the buffer of the receive
 *   deliver.c        a receive has matched: its data comes by eager, stream or rendezvous
 *   rndv_get.c       rendezvous: copying out of the sender's memory
 *   lane.c           lanes: short messages of threads with communicators of their own
 *   unexpected.c     copies of messages that no receive has matched yet
 *   peer.c           the peers, what waits for room on the way to them, control messages
 *   credit.c         flow control: how much is sent unasked
 *   counts.[ch]      performance variables
 *   describe.c       what waits, for a person
 *   event.c          events of tools
 *   match.[ch]       which message matches which receive
 *   wire.h           the frames
 *
 * Protocols, by length:
 *
 *   eager        up to the transport's eager limit: one frame, and the send is done
 *   stream       up to rendezvous_limit: parts in order, unasked; the receiver copies one part out
 *                while the sender copies the next one in
 *   rendezvous   beyond, and synchronous sends that are not eager: the RTS says where the data is.
 *                When a receive has matched it, the receiver copies the data out of the sender's
 *                memory (rndv_get) and sends a FIN, or asks for fragments by a CTS, whichever the
 *                transport finds faster. Also any message to a rank that does not receive what was
 *                sent before: there is no credit for it
 *
 * Data goes by zcopy to a transport that sends from where the data is and places it where it
 * belongs (opal_btl_ops_t.send_now, .send_long, opal_btl_client_t.place). For other transports it
 * is packed.
 *
 * MPI_Cancel of a send: a send that waits for room is cancelled at once. For a send whose RTS or
 * synchronous frame has left, the sender asks the receiver, which replies when it is next in MPI;
 * if the receiver has left instead, the send is cancelled. Other sends complete normally.
 *
 * Threading: everything is under ompi_lock, except the unlocked fast path once threads share
 * (ompi_threads_share): a send of one frame by a lane, a receive that is posted or finds its whole
 * message here, and a message that comes by a lane for such a receive. It meets the rest under
 * finer locks, which the holder of ompi_lock takes, too:
 *
 *   lane      opal_btl_lane_t, held while frames of that lane are delivered: requests that may be
 *             completed without ompi_lock (ompi_request_t.lane)
 *   matcher   what waits in a context of a communicator, and the pool of its receives. The fast
 *             path posts receives, removes those of its lane, and removes eager messages; messages
 *             are added under ompi_lock only
 *   sending   ob1_lane_t: the sending end of a lane, to one peer
 *
 * Order: ompi_lock, lane, matcher, sending. The holder of a matcher or a sending end completes no
 * request, and takes no other lock of messages. A thread that completes a request holds ompi_lock
 * or the request's lane, or has just created the request.
 */
#ifndef OMPI_PML_OB1_H
#define OMPI_PML_OB1_H

#include "opal/mca/base/pvar.h"
#include "opal/mca/btl/btl.h"
#include "opal/profile/profile.h"
#include "opal/threads/lock.h"
#include "opal/util/list.h"
#include "opal/util/names.h"
#include "opal/util/pool.h"
#include "opal/util/segments.h"
#include "ompi/mca/mpool/mpool.h"
#include "ompi/mca/pml/ob1/counts.h"
#include "ompi/mca/pml/ob1/match.h"
#include "ompi/mca/pml/ob1/wire.h"
#include "ompi/mca/pml/pml.h"
#include "ompi/mca/pml/tags.h"
#include "ompi/request/describe.h"
#include "ompi/request/request.h"
#include "ompi/tool/event_point.h"

struct ob1_peer;

/* Something that found no room; a member of what sends it. */
typedef struct ob1_pending {
    opal_list_node_t node;
    /* Tries again. True: it has left, and may be freed. */
    bool (*push)(struct ob1_pending *pending, struct ob1_peer *peer);
    /* The peer is unreachable. Ends it; the caller has removed it from the peer's lists. */
    void (*fail)(struct ob1_pending *pending, struct ob1_peer *peer);
} ob1_pending_t;

struct ob1_receive;
struct ob1_message;

/*
 * The sending end of a lane, where threads share. While it is open, messages of its communicators
 * that fit one of its frames go there without ompi_lock. It is closed while a message to the peer
 * waits for room, or when one has gone the main way.
 */
typedef struct ob1_lane {
    _Alignas(64) opal_short_lock_t lock;
    bool is_open;  /* read under the lock; this and the next two are written under ompi_lock, too */
    bool is_ahead; /* it has sent what the main way does not follow yet */
    bool is_behind; /* the main way may have sent what this does not follow yet */
    int64_t credit; /* taken from the peer's; below 0: no message without ompi_lock */
    opal_btl_peer_t *btl;
} ob1_lane_t;

/* A control message: a short frame without matching; a member of what causes it. */
typedef struct ob1_control {
    ob1_pending_t pending;
    /* Called when it has left, or the peer is unreachable. May be NULL. */
    void (*done)(struct ob1_control *control);
    bool is_waiting;
    ob1_kind_t kind;
    unsigned length;
    _Alignas(8) unsigned char bytes[sizeof(ob1_cts_t)];
} ob1_control_t;

/* The streamed message that is coming. Its parts go to the receive or to the unexpected message;
 * without both they are dropped. */
typedef struct ob1_stream {
    struct ob1_receive *receive;
    struct ob1_message *message;
    size_t received, total;
} ob1_stream_t;

/* A process that messages go to or come from. Created on first use. */
typedef struct ob1_peer {
    _Alignas(64) opal_btl_peer_t *btl;
    opal_process_t *process;
    size_t short_bytes; /* messages up to here, of one run, go by send_short */
    size_t zcopy_bytes; /* messages from here on go by zcopy */
    size_t part_bytes;  /* the longest part of a stream */
    /* How many bytes at the receiver may still be sent there unasked; below 0: no message, until
     * there is credit. */
    int64_t credit;
    ob1_via_counts_t *counts; /* of its transport */
    atomic_size_t unexpected; /* bytes of its messages that are buffered here */
    opal_list_t frames;       /* ob1_pending_t, in the order in which they have to leave */
    opal_list_t streams;      /* ob1_pending_t of fragments, whose order does not matter */
    opal_list_t awaiting;     /* ob1_pending_t of sends that it has to reply to */
    opal_list_t receiving;    /* ob1_receive_t whose fragments it has to send, by posted.node */
    opal_list_node_t all;     /* in the list of all peers */
    opal_list_node_t node;    /* in the list of peers with something pending */
    ob1_stream_t stream;      /* from it to this process */
    size_t window;            /* the credit of one request, in both directions */
    /* Credit that this process has requested, if is_asking: the request's number and frame. */
    uint64_t asked;
    ob1_control_t request;
    /* Credit that the peer has requested and not got yet: the request's number, or 0; the node in
     * the list of these peers; the frame that grants it. */
    uint64_t wanted;
    opal_list_node_t withheld;
    ob1_control_t grant;
    int error;       /* of requests that need it when it is unreachable */
    bool sends_long; /* its transport has send_long */
    bool is_listed, is_asking;
    bool has_failed;
    bool has_left;    /* through MPI_Finalize: nothing goes there any more, and nothing comes */
    bool is_notified; /* the user was told that it is unreachable */
    bool is_wrong;    /* the user was told of a frame that the peer should not have sent */
    bool has_no_lane; /* there is no memory for more of them */
    _Atomic(ob1_lane_t *) lanes[OPAL_BTL_LANES]; /* NULL: not used yet. Written under ompi_lock */
} ob1_peer_t;

typedef struct ob1_send {
    ompi_request_t request;
    ob1_pending_t pending;
    ob1_peer_t *peer;
    ob1_match_t match;
    ompi_data_t data;
    size_t bytes;
    uint64_t name; /* of this request in the receiver's replies; 0: the receiver does not know it */
    int dest;      /* for events of tools, as is the next one */
    bool is_rendezvous; /* its RTS has left */
    bool synchronous;
    bool awaits_alone;     /* the thread waits for this send, and for no message */
    ob1_kind_t awaits;     /* the reply that completes it: OB1_MATCH_ACK or OB1_FIN; 0: none */
    bool is_cancelling;    /* OB1_CANCEL was sent */
    bool is_unreceived;    /* it has failed because the receiver left without having received it */
    uint32_t slot;         /* the completion slot: what `arm` of the transport has returned */
    ob1_segment_t *list;   /* the segments, if a frame does not hold all; else NULL */
    uint64_t receiver;     /* of the CTS: the name of the receiver's request */
    size_t wanted, pushed; /* bytes of the CTS; bytes sent, as fragments or as a stream */
    opal_btl_long_t zcopy; /* while fragments are sent from `run`, or from a list */
    struct iovec run;
    ompi_mpool_use_t pinned; /* of the part that is being sent, if zcopy.registration is not NULL */
} ob1_send_t;

typedef struct ob1_receive {
    ompi_request_t request;
    ob1_posted_t posted;
    bool is_posted;
    ompi_communicator_t *comm;
    ompi_context_t context;
    ompi_data_t data;
    size_t capacity;         /* bytes that fit */
    size_t wanted, received; /* while fragments come */
    ob1_peer_t *peer;        /* while fragments come: the sender, and the name of this request */
    uint64_t name;
    ob1_control_t control; /* to the sender; the receive completes when it has left */
} ob1_receive_t;

/*
 * An unexpected message: its first frame, and of a stream all that has come. If there was no memory
 * for it, the message is in the reserve of unexpected.c.
 */
typedef struct ob1_message {
    ompi_message_t base;
    union {
        ob1_unexpected_t unexpected; /* while it is with a matcher, or its context is not added */
        ob1_control_t control;       /* while OB1_CANCELLED waits for room */
    };
    ompi_communicator_t *comm; /* set by a matched probe */
    ompi_context_t context;
    opal_process_t *from;
    unsigned kind;
    bool is_reserved;
    size_t charge;     /* its bytes in the account of credit.c */
    bool is_head_only; /* of the frame only the head is here: the receive gets MPI_ERR_NO_MEM */
    size_t length;     /* of the frame */
    _Alignas(8) unsigned char frame[];
} ob1_message_t;

/* ompi_communicator_t.pml: a matcher for each context, and the peers of its first ranks. */
typedef struct ob1_comm {
    _Alignas(64) ob1_matcher_t matchers[OMPI_CONTEXT_COUNT];
    opal_pool_t receives[OMPI_CONTEXT_COUNT]; /* where threads share; under the matcher's lock */
    opal_traffic_t sent;                      /* under ompi_lock */
    _Atomic(ob1_thread_counts_t *) sent_unlocked; /* by the fast path; NULL: none was counted */
    uint32_t peer_count;          /* ranks behind these are looked up by their process each time; 0
                                     while rendezvous_limit is set. Written under ompi_lock */
    size_t rendezvous_limit;      /* of its user's messages; SIZE_MAX: it has none of its own */
    _Atomic(ob1_peer_t *) *peers; /* by rank; NULL: not met yet. Written under ompi_lock */
} ob1_comm_t;

/* Between start and stop. */
extern bool ob1_is_running;

/* -- queues.c, for debuggers -- */

struct ompi_pml_queues;
extern const struct ompi_pml_queues ob1_queues;
extern opal_list_t ob1_all_peers;                               /* of peer.c */
extern bool (*const ob1_send_pushes[2])(ob1_pending_t *pending, /* of send.c: those of sends */
                                        struct ob1_peer *peer);

/* NULL: ob1 does not carry the messages of communicators now. */
static inline ob1_comm_t *ob1_comm_of(const ompi_communicator_t *comm)
{
    return ob1_is_running ? comm->pml : NULL;
}

extern const opal_pvar_row_t ob1_pvars[];

/* For mpi_profile. */
static inline void ob1_profile_sent(const ob1_peer_t *peer, const ob1_match_t *match, size_t bytes)
{
    bool is_own = match->context % OMPI_CONTEXT_COUNT == OMPI_CONTEXT_USER;
    if (opal_likely(is_own) && opal_profile_sent_again(peer->process->index, bytes))
        return;
    opal_profile_sent(&(opal_profile_message_t){
        .peer = peer->process->index,
        .context = match->context,
        .tag = match->tag,
        .is_own = is_own,
        .bytes = bytes,
    });
}

/* A message was sent, and there is demand; under ompi_lock. */
static inline void ob1_count_sent_demanded(const ob1_peer_t *peer, const ompi_communicator_t *comm,
                                           const ob1_match_t *match, size_t bytes)
{
    if (opal_is_counted(&ob1_counting)) {
        ob1_comm_t *own = comm->pml;
        opal_count_message(&peer->counts->sent, bytes);
        opal_count_message(&own->sent, bytes);
    }
    if (opal_profile_is_on)
        ob1_profile_sent(peer, match, bytes);
}

static inline void ob1_count_sent(const ob1_peer_t *peer, const ompi_communicator_t *comm,
                                  const ob1_match_t *match, size_t bytes)
{
    if (opal_is_demanded(&ob1_counting))
        ob1_count_sent_demanded(peer, comm, match, bytes);
}

static inline void ob1_count_protocol(ob1_protocol_t protocol, size_t bytes)
{
    if (opal_is_counted(&ob1_counting))
        opal_count_message(&ob1_protocol_counts[protocol], bytes);
}

static inline ob1_matcher_t *ob1_matcher_for(const ompi_route_t *from)
{
    ob1_comm_t *own = from->comm->pml;
    return &own->matchers[from->context];
}

static inline ob1_match_t ob1_match_of(const ompi_route_t *to)
{
    return (ob1_match_t){
        .context = ompi_comm_wire_context(to->comm, to->context),
        .source = to->comm->rank,
        .tag = to->tag,
    };
}

/* -- locks -- */

static inline void ob1_lock(opal_short_lock_t *lock)
{
    if (ompi_threads_share())
        opal_short_acquire(lock);
}

static inline void ob1_unlock(opal_short_lock_t *lock)
{
    if (ompi_threads_share())
        opal_short_release(lock);
}

/* The bytes of the message that begins with this frame. */
OPAL_INLINE size_t ob1_message_bytes(unsigned kind, const void *frame, size_t length)
{
    switch (kind) {
    case OB1_EAGER:
        return length - sizeof(ob1_match_t);
    case OB1_EAGER_SYNC:
        return length - sizeof(ob1_sync_t);
    case OB1_STREAM:
        return ((const ob1_stream_head_t *)frame)->total;
    default:
        return ((const ob1_rts_t *)frame)->total;
    }
}

/* -- match.h, by rank -- */

/* Whether a receive from this source can only match a message of that process. */
static inline bool ob1_is_from(const ompi_communicator_t *comm, int source, uint32_t process)
{
    return source != MPI_ANY_SOURCE && ompi_comm_process(comm, source) == process;
}

/* -- describe.c -- */

void ob1_describe_receive(const ob1_receive_t *receive, ompi_description_t *description);
void ob1_describe_send(const ob1_send_t *send, ompi_description_t *description);
void ob1_describe_waits(ompi_description_t *description, bool all);

/* -- peer.c -- */

/* The peer of a process, connected if need be. NULL: no transport reaches the process, which is
 * logged the first time, or there is no memory. */
ob1_peer_t *ob1_peer(opal_process_t *process);

/* Why ob1_peer returned NULL, as an MPI error. */
int ob1_peer_error(opal_process_t *process);

/* ob1_peer for a callback that reports a failure or a departure. */
ob1_peer_t *ob1_peer_to_fail(opal_process_t *process);

/* The peer if it is connected, else NULL. Needs no lock. */
static inline ob1_peer_t *ob1_known_peer(uint32_t process)
{
    return opal_process_get_end(process, OPAL_END_MESSAGES);
}

/* The count may change meanwhile (rendezvous_limit): either value does. An atomic load would be an
 * instruction of its own. ThreadSanitizer does not know that the plain one does the same. */
static inline uint32_t ob1_peer_count(const ob1_comm_t *own)
{
#if defined(__SANITIZE_THREAD__)
    return __atomic_load_n(&own->peer_count, __ATOMIC_RELAXED);
#else
    return own->peer_count;
#endif
}

/* The peer of a rank, if the communicator has met it, else NULL. Needs no lock. */
static inline ob1_peer_t *ob1_met_peer(const ompi_communicator_t *comm, int rank)
{
    const ob1_comm_t *own = comm->pml;
    return opal_likely((uint32_t)rank < ob1_peer_count(own))
               ? atomic_load_explicit(&own->peers[rank], memory_order_acquire)
               : NULL;
}

/* ob1_peer of a rank, which the communicator has met then. */
ob1_peer_t *ob1_peer_meet(const ompi_communicator_t *comm, int rank);

static inline ob1_peer_t *ob1_peer_of(const ompi_communicator_t *comm, int rank)
{
    ob1_peer_t *met = ob1_met_peer(comm, rank);
    return opal_likely(met != NULL) ? met : ob1_peer_meet(comm, rank);
}

/* Connects the source of a receive. On error no message can come from there, because none can be
 * sent there. So each rank of a collective that needs a message that cannot be sent gets an error,
 * instead of waiting for ever. */
int ob1_connect_source(const ompi_route_t *from);

/* MPI_SUCCESS, or why no message can come from that source any more. */
int ob1_source_error(const ompi_communicator_t *comm, int source);

/* The same, also if the source, or all that may be it, has left: of an operation that the user
 * cannot cancel. It is logged for the first one that is not ob1_is_farewell. */
int ob1_source_error_uncancelled(const ompi_route_t *from);

/* Whether a message says that its sender leaves the communicator: a process that has left through
 * MPI_Finalize need not send and receive it. */
static inline bool ob1_is_farewell(uint32_t context, int tag)
{
    return context % OMPI_CONTEXT_COUNT == OMPI_CONTEXT_COLLECTIVE &&
           ompi_tags_have(OMPI_TAGS_LEAVE, tag);
}

/* The source, or one of all that may be it, if they have left; else NULL. */
ob1_peer_t *ob1_departed_source(const ompi_communicator_t *comm, int source);

/* From now on push_all of peer.c is polled. Called before something waits for room or for credit.
 */
void ob1_peers_poll(void);

/* Appends what found no room to one of the peer's lists, `frames` or `streams`. */
void ob1_peer_defer(ob1_peer_t *peer, opal_list_t *list, ob1_pending_t *pending);

/* Peer failure, or the peer has left. */
static inline bool ob1_peer_is_unreachable(const ob1_peer_t *peer)
{
    return peer->has_failed || peer->has_left;
}

/* Whether a frame whose order matters may leave now. */
static inline bool ob1_peer_can_send(const ob1_peer_t *peer)
{
    return opal_list_is_empty(&peer->frames) && !ob1_peer_is_unreachable(peer);
}

/* Room for a frame. NULL: no room. */
static inline void *ob1_peer_reserve(ob1_peer_t *peer, size_t length)
{
    return peer->btl->ops->reserve(peer->btl, length);
}

static inline void ob1_peer_commit(ob1_peer_t *peer, void *room, ob1_kind_t kind, size_t length)
{
    peer->btl->ops->commit(peer->btl, room, kind, length);
}

/* A frame that the peer should not have sent was dropped: this is logged once for each peer. A
 * frame that names a request may well come after its sender has failed. */
void ob1_peer_reject(opal_process_t *from, unsigned kind, const char *what);

/* Sends a control message. True: it has left, or the peer is unreachable; `control` is not used.
 * False: there is no room; `control`, whose `done` the caller has set, has a copy that leaves
 * later. */
bool ob1_peer_send_control(ob1_peer_t *peer, ob1_kind_t kind, const void *bytes, size_t length,
                           ob1_control_t *control);

/* Peer failure: logs and marks it. Then the caller ends the requests that need the peer, by
 * ob1_fail_unreachable or by ob1_peers_poll. */
void ob1_peer_mark_failed(ob1_peer_t *peer, opal_status_t why);

extern atomic_bool ob1_any_failed, ob1_any_unreachable; /* of the peers that there are */
extern bool ob1_failure_is_new; /* or a departure, since the last ob1_fail_unreachable */

/* A receive that was posted before ob1_any_unreachable is true is failed by ob1_fail_unreachable,
 * and none is posted afterwards without a check. The caller holds ompi_lock or the lock of a
 * matcher. */
static inline bool ob1_any_has_failed(void)
{
    return atomic_load_explicit(&ob1_any_failed, memory_order_relaxed);
}

static inline bool ob1_any_is_unreachable(void)
{
    return atomic_load_explicit(&ob1_any_unreachable, memory_order_relaxed);
}

/* The peer has left through MPI_Finalize; the caller ends the requests as above. */
void ob1_peer_mark_left(ob1_peer_t *peer);

/* Why the receive cannot match any more; MPI_SUCCESS: it can, or the user may cancel it. */
int ob1_receive_error(const ob1_receive_t *receive);

/* A request has failed because the peer has left: this is logged once for each peer. */
void ob1_peer_report_departed(ob1_peer_t *peer);

/* Frees a peer that no request uses any more. */
void ob1_peer_free(ob1_peer_t *peer);

/* `fail` is ob1_fail_unreachable. */
void ob1_peers_start(unsigned ranks, int (*fail)(void));
void ob1_peers_stop(void);

/* ompi_pml_ops_t.flush: returns when nothing is deferred. */
void ob1_peers_flush(void);

/* Before the transports are closed. */
void ob1_peers_stop_polling(void);

/* -- credit.c -- */

/* What an unexpected message costs the receiver, besides its bytes: its record, and the two bins
 * that only it has if no other message has its tag. */
enum { OB1_MESSAGE_OVERHEAD = sizeof(ob1_message_t) + 192 };

extern size_t ob1_unexpected_bytes; /* a parameter */

void ob1_credit_start(unsigned ranks);

/* For a new peer; for a peer that is unreachable. */
void ob1_credit_begin(ob1_peer_t *peer);
void ob1_credit_end(ob1_peer_t *peer);

/* The window is used up: requests credit, unless a request is under way. Returns whether a message
 * may still be sent unasked. */
bool ob1_credit_ask(ob1_peer_t *peer);

/* Whether a message that the peer has not asked for may be sent there. */
static inline bool ob1_peer_has_credit(ob1_peer_t *peer)
{
    return opal_likely(peer->credit >= 0) || ob1_credit_ask(peer);
}

/* Whether an eager message may leave now. An unreachable peer has no credit. */
static inline bool ob1_peer_can_send_eager(ob1_peer_t *peer)
{
    return opal_likely(opal_list_is_empty(&peer->frames) && peer->credit >= 0) ||
           (ob1_peer_can_send(peer) && ob1_credit_ask(peer));
}

static inline int64_t ob1_cost_of(size_t bytes)
{
    return (int64_t)(bytes + OB1_MESSAGE_OVERHEAD);
}

/* A message of so many bytes goes there unasked. */
static inline void ob1_peer_charge(ob1_peer_t *peer, size_t bytes)
{
    peer->credit -= ob1_cost_of(bytes);
}

extern atomic_size_t ob1_unexpected_total; /* bytes of unexpected messages, of all peers */

static inline void ob1_sum_add(atomic_size_t *sum, size_t bytes)
{
    if (ompi_threads_share())
        atomic_fetch_add_explicit(sum, bytes, memory_order_relaxed);
    else
        atomic_store_explicit(sum, atomic_load_explicit(sum, memory_order_relaxed) + bytes,
                              memory_order_relaxed);
}

/* An unexpected message of the peer is buffered, or (negative) freed. Needs no lock. */
static inline void ob1_unexpected_add(ob1_peer_t *peer, ptrdiff_t bytes)
{
    ob1_sum_add(&ob1_unexpected_total, (size_t)bytes);
    ob1_sum_add(&peer->unexpected, (size_t)bytes);
}

/* Whether a peer waits for credit. ob1_credit_poll grants what may be granted now, and returns how
 * many requests that were. Called by push_all of peer.c. */
bool ob1_credit_withholds(void);
int ob1_credit_poll(void);

/* OB1_CREDIT_REQUEST and OB1_CREDIT. False: no such frame can come now. */
bool ob1_credit_requested(ob1_peer_t *peer, uint64_t number);
bool ob1_credit_granted(ob1_peer_t *peer, uint64_t number);

/* -- send.c -- */

int ob1_isend(const ompi_route_t *to, const ompi_data_t *data, ompi_send_mode_t mode,
              ompi_request_t **request);
int ob1_send_init(const ompi_route_t *to, const ompi_data_t *data, ompi_send_mode_t mode,
                  ompi_request_t **request);
int ob1_send(const ompi_route_t *to, const ompi_data_t *data, ompi_send_mode_t mode);

/* A message in one frame, packed if need be, by one end of the peer's. False: no room. */
bool ob1_write_eager(opal_btl_peer_t *btl, const ob1_match_t *match, const ompi_data_t *data,
                     size_t bytes);

/* A frame that replies to a send: MATCH_ACK, FIN, CTS, NACK, CANCELLED. False: no send waits for
 * it. */
bool ob1_send_handle_reply(const ob1_peer_t *peer, ob1_kind_t kind, const void *bytes);

/* The send ends; the caller has removed it from the peer's lists. */
void ob1_send_finish(ob1_send_t *send);
void ob1_send_fail(ob1_send_t *send); /* the peer is unreachable */

/* Frees the pool of requests. */
void ob1_sends_end(void);

extern size_t ob1_rendezvous_limit, ob1_part_bytes; /* parameters */

/* Whether a message needs a rendezvous by the limit of its communicator. The paths for short
 * messages need not ask: there no peer of such a communicator has been met. */
static inline bool ob1_is_beyond_limit(const ompi_communicator_t *comm, uint32_t wire_context,
                                       size_t bytes)
{
    const ob1_comm_t *own = comm->pml;
    return opal_unlikely(bytes > own->rendezvous_limit) &&
           wire_context % OMPI_CONTEXT_COUNT == OMPI_CONTEXT_USER;
}

typedef enum ob1_pushed {
    OB1_PUSHED,
    OB1_NO_ROOM,
    OB1_NOT_SO, /* it has to go in another way */
} ob1_pushed_t;

/* -- lane.c -- */

/* The lane of a context; -1: its messages go the main way. */
static inline int ob1_lane_of(uint32_t context)
{
    return context % OMPI_CONTEXT_COUNT == OMPI_CONTEXT_USER
               ? (int)(context / OMPI_CONTEXT_COUNT % OPAL_BTL_LANES)
               : -1;
}

/* Whether a message of so many bytes goes by a lane. From direct_bytes on a rendezvous may be
 * faster. */
static inline bool ob1_is_for_lane(const opal_btl_ops_t *ops, size_t bytes)
{
    return ops->lane != NULL && sizeof(ob1_match_t) + bytes <= ops->lane_bytes &&
           bytes <= ops->eager_bytes && bytes < ops->direct_bytes;
}

bool ob1_try_send_unlocked(const ompi_route_t *to, const ompi_data_t *data, ompi_send_mode_t mode);

/* Sends a whole message by its lane, under ompi_lock; opens the lane. NOT_SO: it does not fit, or
 * there is no lane. */
ob1_pushed_t ob1_lane_push(ob1_peer_t *peer, const ob1_match_t *match, const ompi_data_t *data,
                           size_t bytes);

/* A message of that context is about to go the main way: it follows those of the lane, which is
 * closed. False: there is no room to say so. */
bool ob1_lane_leave(ob1_peer_t *peer, uint32_t context);

/* No message goes to this peer without ompi_lock until a lane is opened again. */
void ob1_lanes_close(ob1_peer_t *peer);
void ob1_lanes_free(ob1_peer_t *peer);

/* Bytes, on average, from which on segments are handed to a transport one by one. Shorter ones are
 * packed and unpacked here. */
enum { OB1_SHORTEST_PIECE = 256 };

/* -- zcopy_send.c -- */

/* Sends a whole message: a frame of that kind and head with the data in it, or for OB1_STREAM with
 * the data in a frame behind it. */
ob1_pushed_t ob1_zcopy_now(ob1_peer_t *peer, const void *head, size_t head_bytes, unsigned kind,
                           const ompi_data_t *data, size_t bytes);

/* Sends what a CTS asks for, as a long placed frame. False: the data has to be packed. */
bool ob1_zcopy_long(ob1_send_t *send);

/* Registered (pinned) pages for transports that send from them: before the transports are started,
 * and while they run. */
void ob1_pins_prepare(void);
void ob1_pins_start(void);
void ob1_pins_stop(void);

extern size_t ob1_pin_bytes, ob1_pipeline_bytes; /* parameters */

/* -- receive.c -- */

int ob1_irecv(const ompi_route_t *from, const ompi_data_t *data, ompi_request_t **request);
int ob1_recv_init(const ompi_route_t *from, const ompi_data_t *data, ompi_request_t **request);
int ob1_recv(const ompi_route_t *from, const ompi_data_t *data, MPI_Status *status);
bool ob1_try_recv_unlocked(const ompi_route_t *from, const ompi_data_t *data, MPI_Status *status,
                           int *error);
bool ob1_try_irecv_unlocked(const ompi_route_t *from, const ompi_data_t *data,
                            ompi_request_t **request);
int ob1_imrecv(ompi_message_t *message, const ompi_data_t *data, ompi_request_t **request);

/* Frees the pool of requests. */
void ob1_receives_end(void);

/* -- deliver.c -- */

/* A receive has matched the message that begins with this frame. */
void ob1_deliver(ob1_receive_t *receive, opal_process_t *from, unsigned kind, const void *bytes,
                 size_t length);
void ob1_deliver_eager(ob1_receive_t *receive, int source, int tag, const void *payload,
                       size_t bytes);
void ob1_deliver_head_only(ob1_receive_t *receive, const ob1_message_t *message);

/* A receive has matched an unexpected message, which is out of the matcher. The caller frees the
 * message afterwards. */
static inline void ob1_deliver_message(ob1_receive_t *receive, const ob1_message_t *message)
{
    if (opal_unlikely(message->is_head_only))
        ob1_deliver_head_only(receive, message);
    else
        ob1_deliver(receive, message->from, message->kind, message->frame, message->length);
}

/* The receive ends without its message; the caller has removed it from all lists. */
void ob1_receive_end(ob1_receive_t *receive, int error);
void ob1_receive_fail(ob1_receive_t *receive, ob1_peer_t *peer); /* the peer is unreachable */

/* OB1_STREAM: until a receive or an unexpected message is set, its parts are dropped. False: no
 * stream can begin with this frame. */
bool ob1_stream_begin(ob1_peer_t *peer, const void *bytes, size_t length);

/* OB1_STREAM_PART, OB1_FRAGMENT. False: nothing waits for these bytes. */
bool ob1_deliver_stream_part(ob1_peer_t *peer, const void *bytes, size_t length);
bool ob1_deliver_fragment(const ob1_peer_t *peer, const void *bytes, size_t length);

/* So many bytes of a stream, of fragments, are in the buffer, or were dropped. */
void ob1_stream_received(ob1_peer_t *peer, size_t bytes);
void ob1_fragment_received(ob1_receive_t *receive, size_t bytes);

/* The receive that waits for a fragment with these bytes; NULL: none does. */
ob1_receive_t *ob1_receive_of(const ob1_peer_t *peer, uint64_t name, size_t offset, size_t bytes);

/* Removes a receive that waits for fragments from the peer's list and from the names. */
void ob1_receive_forget(ob1_receive_t *receive);

/* Frees the names. */
void ob1_deliver_end(void);

/* -- placement.c -- */

/* opal_btl_client_t.place and .placed. */
size_t ob1_place(opal_process_t *from, unsigned kind, uint64_t name, size_t offset, size_t bytes,
                 struct iovec *segments, size_t max);
void ob1_placed(opal_process_t *from, unsigned kind, uint64_t name, size_t offset, size_t bytes);

/* -- event.c --
 *
 * Points of events. The caller holds ompi_lock or the lane of the message, or is the only thread
 * that knows the receive. */

void ob1_raise_matched(const ob1_receive_t *receive, unsigned kind, const void *frame,
                       size_t length);
void ob1_raise_matched_eager(const ob1_receive_t *receive, int source, int tag, size_t bytes);
void ob1_raise_unexpected(const opal_process_t *from, const ob1_match_t *match, unsigned kind,
                          size_t bytes);
void ob1_raise_rndv_sent(ompi_event_t event, const ob1_send_t *send);
void ob1_raise_rndv_received(ompi_event_t event, const ob1_receive_t *receive, int error);

/* A rendezvous that this process receives has ended. */
static inline void ob1_note_rndv_received(const ob1_receive_t *receive, int error)
{
    if (ompi_event_is_wanted(OMPI_EVENT_RENDEZVOUS_ENDED))
        ob1_raise_rndv_received(OMPI_EVENT_RENDEZVOUS_ENDED, receive, error);
}

/* -- rndv_get.c -- */

/* Copies what the receive wants out of the sender's memory, and completes the slot of the RTS if it
 * has one. False: the data has to be asked for by a CTS. */
bool ob1_rndv_get(opal_btl_peer_t *btl, ob1_receive_t *receive, const ob1_rts_t *head);

/* -- unexpected.c -- */

/* Copies the first frame of a message; for a stream, with room for the parts that follow. NULL:
 * there is no memory, and the reserve is used up. The caller holds the lock of the matcher. */
ob1_message_t *ob1_message_copy(opal_process_t *from, unsigned kind, const void *bytes,
                                size_t length);

/* Drops a message that no receive will match. ob1_message_free: one that a receive has matched, or
 * that is no stream. */
void ob1_message_drop(ob1_message_t *message);
void ob1_message_free(ob1_message_t *message);

/* OB1_CANCEL: if the message that it names is still unexpected, removes it and sends OB1_CANCELLED.
 * Else a receive has matched it, and the reply to the send is under way. */
void ob1_message_cancel(ob1_matcher_t *matcher, opal_process_t *from, const void *bytes);

/* -- probe.c -- */

int ob1_iprobe(const ompi_route_t *from, bool *found, ompi_message_t **message, MPI_Status *status);
int ob1_probe(const ompi_route_t *from, ompi_message_t **message, MPI_Status *status);

/* An unexpected message was added, or a peer has failed: blocking probes look again. The caller
 * holds no lock of a matcher. */
void ob1_wake_probes(void);

/* Blocking probes for a message of that process get MPI_ERR_NO_MEM. */
void ob1_probes_fail_no_memory(uint32_t process);

/* -- peer_failure.c -- */

/* opal_btl_client_t.failed and .left. */
void ob1_peer_failed(opal_process_t *process, opal_status_t why);
void ob1_peer_left(opal_process_t *process);

/* Fails posted receives that need a peer that has failed since the last call, and wakes probes.
 * Returns how often it had to. */
int ob1_fail_unreachable(void);

/* There is no memory to copy a message of that process: receives and probes that wait for a message
 * of it get MPI_ERR_NO_MEM. Those from MPI_ANY_SOURCE wait for as long as memory is short. */
void ob1_receives_fail_no_memory(opal_process_t *process);

/* opal_process_on_forget: the process is no longer used, and its peer is freed. */
void ob1_peer_forget(opal_process_t *process);

/* -- dispatch.c -- */

opal_status_t ob1_dispatch_start(void);
void ob1_dispatch_stop(void);

/* Makes room for a context on the wire. False: no memory. */
bool ob1_context_reserve(uint32_t context);

/* Messages of this context go to this matcher; first those that came before. The context was
 * reserved. */
void ob1_context_add(uint32_t context, ob1_matcher_t *matcher);
void ob1_context_remove(uint32_t context);

void ob1_each_matcher(void (*visit)(ob1_matcher_t *matcher));

/* Drops messages of contexts that are not added, from this process; NULL: from all. */
void ob1_early_drop(const opal_process_t *from);

#endif
