/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * mtl/ofi: messages that a libfabric provider matches. A file needs those above it; send, receive,
 * long and claimed need each other.
 *
 *   tag.[ch]      the bits that are matched
 *   select.[ch]   whether libfabric has a provider that matches our tags
 *   endpoint.c    the endpoint (opal/fabric), its limits, and what must be alike in all ranks
 *   registration.c  buffers that the provider has to know first
 *   buffer.c      where the data of a message lies for the provider: in place, as segments, packed
 *   progress.c    completions, and what ends a sleep
 *   queue.c       operations that wait for room at the provider, or for memory
 *   peers.c       processes that were met
 *   stranger.c    words that only ranks of the job know
 *   request.c     how requests fail and end
 *   control.c     what processes say to each other beside messages
 *   peek.c        asking the provider for a message that nobody has received
 *   claimed.c     messages that were taken out of the matching, and those that nobody will receive
 *   long.c        messages that are longer than the provider carries
 *   receive.c     the receiving side
 *   send.c        the sending side
 *   probe.c       MPI's probes
 *   ofi.c         the operations, start and end
 *   component.c   parameters, and the answer to the framework
 *
 * Everything that the provider is asked to do is an ofi_operation_t. It is the provider's from the
 * call until its completion, which leads back to it by its address:
 *
 *   request --begin--> post --0--> at the provider --completion--> completed, or failed
 *                       | ^
 *          -FI_EAGAIN   v |  progress
 *                      a queue: of the peer (sends), of all receives
 *
 * Order: a queued operation is posted before every later one to the same peer, or before every
 * later receive, so that the provider sees operations in the order in which the program called.
 *
 * A synchronous send is done when its data has left and its receiver has sent OFI_MATCHED. A send
 * that has left this process cannot be cancelled.
 *
 * A failure at start is reported where it is found; the failure of a message goes to its request.
 *
 * Threading: all of it under ompi_lock, and libfabric knows that (FI_THREAD_DOMAIN).
 */
#ifndef OMPI_MCA_MTL_OFI_H
#define OMPI_MCA_MTL_OFI_H

#include <rdma/fi_tagged.h>

#include "opal/fabric/fabric.h"
#include "opal/progress/descriptor.h"
#include "opal/util/list.h"
#include "ompi/mca/mpool/mpool.h"
#include "ompi/mca/mtl/mtl.h"
#include "ompi/mca/mtl/ofi/tag.h"

enum {
    OFI_MAX_SEGMENTS = 8,         /* more of them are packed */
    OFI_INJECT_PACK_BYTES = 4096, /* the longest message that is packed in order to be injected */
    OFI_LARGE_BYTES = 128 << 10,  /* more than a socket takes at once */
    OFI_LONG_HEAD_BYTES = 16,     /* long.c: every receive has room for it, where messages may be
                                     long */
};

/* -- the choice that query has made (select.c) ------------------------------------------------- */

typedef struct ofi_choice {
    struct fi_info *info;
    ofi_tag_layout_t tags;
    size_t queue_depth;
    unsigned batch;    /* completions per read */
    bool sleeps_on_fd; /* the queue is to have a descriptor */
} ofi_choice_t;

/* The choice is the state that `start` gets (ofi.c). */
void ofi_set_ops(ompi_mtl_ops_t *ops, const ofi_choice_t *choice, bool is_hpc,
                 const char *(*describe)(unsigned process));

/* -- the endpoint, between start and stop (endpoint.c) ----------------------------------------- */

typedef struct ofi_network {
    opal_fabric_endpoint_t endpoint;
    ofi_tag_layout_t tags;
    bool source_is_data; /* ofi_tag_full: a sender's rank is completion data, and a receive from one
                            source names its address */
    uint64_t data_word, data_mask; /* the job's word above that rank; 0: none */
    uint64_t proof;                /* the job's word in control messages */
    bool needs_registration;       /* FI_MR_LOCAL */
    bool has_long;                 /* a message may be longer than max_bytes */
    size_t max_bytes;              /* of one message of the provider's */
    size_t inject_below;           /* messages of fewer bytes are injected: no completion */
    size_t eager_below;            /* of which no request is made: they are not long, either */
    size_t send_segments, receive_segments;
    void *spill; /* the provider writes there what exceeds a receive: quirks.c */
} ofi_network_t;

extern ofi_network_t ofi;

/* A failure is reported, and leaves nothing open. */
opal_status_t ofi_endpoint_open(const ofi_choice_t *choice);
void ofi_endpoint_close(void);

/* Publishes the address and what must be alike, meets the other ranks and compares. */
opal_status_t ofi_endpoint_publish(void);

/* -- operations (queue.c, progress.c) ---------------------------------------------------------- */

struct ofi_operation;

typedef struct ofi_operation_kind {
    void (*completed)(struct ofi_operation *operation, const struct fi_cq_tagged_entry *entry);
    void (*failed)(struct ofi_operation *operation, const struct fi_cq_err_entry *error);
    /* Hands it to the provider. False: not now (-FI_EAGAIN). True: the provider has it, or it is
     * over already and may be freed. NULL: it never waits in a queue. */
    bool (*post)(struct ofi_operation *operation);
    /* Whether this receive would take the message. NULL: it takes none of a user's. */
    bool (*takes)(const struct ofi_operation *operation, uint64_t bits, uint64_t data);
    bool is_idle; /* it is always posted: nobody waits for it */
} ofi_operation_kind_t;

typedef struct ofi_operation {
    struct fi_context2 context; /* first: a completion's address is that of the operation */
    const ofi_operation_kind_t *kind;
    opal_list_node_t node; /* of a queue, or of ofi_posted */
} ofi_operation_t;

/* Operations that the provider has; how many of them, and answers, somebody waits for. */
extern opal_list_t ofi_posted;
extern size_t ofi_under_way;

/* The provider has it now. */
static inline void ofi_operation_posted(ofi_operation_t *operation)
{
    opal_list_append(&ofi_posted, &operation->node);
    if (opal_likely(!operation->kind->is_idle))
        ofi_under_way++;
}

opal_status_t ofi_progress_start(unsigned batch);
void ofi_progress_stop(void);

/* Reads completions until there are none, and posts what is queued. Returns how much it did. A
 * nested call does nothing. */
int ofi_progress(void);
bool ofi_is_progressing(void);
bool ofi_is_broken(void); /* the queue has failed: nothing completes any more */

/* Called after something was posted or queued. Another thread may sleep without knowing of it, and
 * may be all that drives the provider. */
void ofi_wake_sleeper(void);
static inline void ofi_handed_over(void)
{
    if (ompi_threads_share())
        ofi_wake_sleeper();
}

struct ofi_peer;

void ofi_queues_start(void);

/* Posts it, now or in its turn. Receives have one queue. */
void ofi_peer_post(struct ofi_peer *peer, ofi_operation_t *operation);
void ofi_receive_post(ofi_operation_t *operation);

/* For an operation that waits for memory: it is posted again at each progress, in no order. */
void ofi_starved_post(ofi_operation_t *operation);

/* Takes a queued operation out of its queue. */
void ofi_withdraw(ofi_operation_t *operation);

/* While it is set, queued receives stay where they are: none takes a message that is asked for. */
extern bool ofi_receives_are_held;

/* Whether a receive that is queued will take this message, or one that the provider has not come to
 * (quirks.c). */
bool ofi_receive_takes(uint64_t bits, uint64_t data);

/* Posts what is queued; returns how many found room. */
int ofi_push(void);
bool ofi_has_queued(void);

/* -- peers (peers.c) --------------------------------------------------------------------------- */

typedef struct ofi_peer {
    unsigned process; /* rank in MPI_COMM_WORLD */
    fi_addr_t address;
    opal_list_t queue;      /* operations that found no room, in their order */
    opal_list_node_t node;  /* of the list of peers with a queue */
    bool is_listed;         /* it is in that list */
    bool is_reported;       /* that it has left */
    opal_list_t unanswered; /* sends that wait for its answer, in their order */
} ofi_peer_t;

void ofi_peers_stop(void);

/* Learns the address. NULL: ofi_peer_error says why: MPI_ERR_NO_MEM, or MPI_ERR_OTHER if there is
 * no way to it, which is reported once. */
ofi_peer_t *ofi_peer_meet(unsigned process);
extern int ofi_peer_error;

/* By process, as far as it has grown; NULL: not met. */
extern ofi_peer_t **ofi_peers;
extern unsigned ofi_peer_count;

/* NULL: not met, so nothing was sent to it. */
static inline ofi_peer_t *ofi_peer_met(unsigned process)
{
    return opal_likely(process < ofi_peer_count) ? ofi_peers[process] : NULL;
}

static inline ofi_peer_t *ofi_peer(unsigned process)
{
    ofi_peer_t *peer = ofi_peer_met(process);
    return opal_likely(peer != NULL) ? peer : ofi_peer_meet(process);
}

/* The peer of a message in a communicator; not MPI_ANY_SOURCE. */
static inline ofi_peer_t *ofi_peer_of(const ompi_communicator_t *comm, int rank)
{
    return ofi_peer(ompi_comm_process(comm, rank));
}

static inline bool ofi_peer_has_queue(const ofi_peer_t *peer)
{
    return !opal_list_is_empty(&peer->queue);
}

/* The completion data of a message from this rank of a communicator. */
static inline uint64_t ofi_data_of(int rank)
{
    return ofi.data_word | (uint32_t)rank;
}

/* Hands a run of bytes to the provider. *is_over: it was injected, and has no completion. */
static inline ssize_t ofi_send_bytes(const ofi_peer_t *peer, const void *start, size_t bytes,
                                     void *descriptor, int rank, uint64_t bits, void *context,
                                     bool *is_over)
{
    uint64_t data = ofi_data_of(rank);
    fi_addr_t to = peer->address;
    *is_over = bytes < ofi.inject_below;
    if (*is_over)
        return ofi.source_is_data ? fi_tinjectdata(ofi.endpoint.ep, start, bytes, data, to, bits)
                                  : fi_tinject(ofi.endpoint.ep, start, bytes, to, bits);
    return ofi.source_is_data
               ? fi_tsenddata(ofi.endpoint.ep, start, bytes, descriptor, data, to, bits, context)
               : fi_tsend(ofi.endpoint.ep, start, bytes, descriptor, to, bits, context);
}

/* -- data (registration.c, buffer.c) ----------------------------------------------------------- */

/* A registered range. All zero: none. */
typedef struct ofi_registration {
    ompi_mpool_use_t use; /* of the pool, if its registration is not NULL */
    struct fid_mr *own;   /* without a pool */
} ofi_registration_t;

void ofi_registrations_start(void);
void ofi_registrations_stop(void);

/* If the provider needs it: *descriptor is what the provider is given with these bytes, else NULL.
 * MPI_ERR_NO_MEM, or MPI_ERR_OTHER: these pages cannot be registered. */
int ofi_register(ofi_registration_t *registration, const void *start, size_t bytes,
                 void **descriptor);
void ofi_deregister(ofi_registration_t *registration);

/* Where the data of a message lies for the provider. All zero: nowhere. */
typedef struct ofi_buffer {
    void *start;      /* one run, or: */
    bool is_segments; /* as the type has it: few enough segments */
    bool is_packed;   /* `start` is a copy, and this structure's */
    void *descriptor;
    ofi_registration_t registration;
} ofi_buffer_t;

/* Errors: those of ofi_register. */
int ofi_buffer_for_send(ofi_buffer_t *buffer, const ompi_data_t *data, size_t bytes);
int ofi_buffer_for_receive(ofi_buffer_t *buffer, const ompi_data_t *data, size_t capacity);

/* The first `bytes` are there; they are unpacked if they have to be. */
void ofi_buffer_unpack(ofi_buffer_t *buffer, const ompi_data_t *data, size_t bytes);
void ofi_buffer_free(ofi_buffer_t *buffer);

/* -- requests (request.c) ---------------------------------------------------------------------- */

struct ofi_long;

typedef enum ofi_stage {
    OFI_IDLE,
    OFI_QUEUED, /* not yet the provider's */
    OFI_POSTED,
} ofi_stage_t;

typedef struct ofi_request {
    ompi_mtl_request_t base;
    ofi_operation_t operation; /* its message */
    ofi_stage_t stage;         /* of that */
    unsigned missing;          /* of a send: its message has left, its answer (or rest) */
    ofi_peer_t *peer;          /* of a send */
    fi_addr_t from;            /* of a receive */
    uint64_t bits, ignore;
    size_t bytes; /* of the message; of a receive: that fit */
    ofi_buffer_t buffer;
    struct ofi_long *parts;      /* of a long message */
    opal_list_node_t unanswered; /* of peer->unanswered */
    bool is_unanswered;          /* it is in that list */
    bool is_cancelled;           /* MPI_Cancel came when the provider had it */
} ofi_request_t;

static inline ofi_request_t *ofi_request_of(const ofi_operation_t *operation)
{
    return opal_container_of(operation, ofi_request_t, operation);
}

/* Sends and control messages that have not left this process. */
extern size_t ofi_outgoing;
void ofi_has_left(void);
void ofi_flush(void);

/* Requests of at least OFI_LARGE_BYTES, which may be in the middle of their transfer. */
extern size_t ofi_large_requests;

/* Called when a request begins; it may end from here on. */
static inline void ofi_request_began(const ofi_request_t *request)
{
    if (opal_unlikely(request->bytes >= OFI_LARGE_BYTES))
        ofi_large_requests++;
}

/* Completes it, with the status that it has. */
void ofi_request_end(ofi_request_t *request);

/* Sets its error: libfabric's `failure`, with the completion's text if `error` is not NULL, goes to
 * the log. The caller ends the request. */
void ofi_request_fail(ofi_request_t *request, int failure, const struct fi_cq_err_entry *error);

enum { OFI_ANY_PROCESS = -1 };

/* "a message to rank 3 failed: ..." */
void ofi_log_failure(const char *what, int process, int failure,
                     const struct fi_cq_err_entry *error);

/* -- words of the job (stranger.c) ------------------------------------------------------------- */

/* Makes the words that ranks of this job know. A failure was reported. */
opal_status_t ofi_words_start(void);

/* How many bits of a message's data are such a word. */
unsigned ofi_data_word_bits(const struct fi_info *info);

/* Whether a message is from a rank of its communicator. NULL: which one that is stands in the bits.
 */
bool ofi_is_of_rank(const ompi_communicator_t *comm, uint64_t bits, uint64_t data);

/* The peer that a message has named. NULL: there is no such rank, or no way to it. */
ofi_peer_t *ofi_peer_from(const ompi_communicator_t *comm, int source);

/* The sender's rank in the communicator, from the bits and the data of a completion. */
static inline int ofi_source(uint64_t bits, uint64_t data)
{
    return ofi.source_is_data ? (int)(uint32_t)data : (int)ofi_tag_source(&ofi.tags, bits);
}

/* A stranger's message was thrown away. Reported once. */
void ofi_report_stranger(void);

/* -- control messages (control.c) -------------------------------------------------------------- */

typedef enum ofi_control_kind {
    OFI_MATCHED, /* a receive has taken the synchronous message with these bits */
    OFI_REFUSED, /* no receive will take the last message with these bits */
    OFI_CTS,     /* of a long message, by name: its number at the receiver, bytes wanted */
    OFI_CONTROL_KINDS
} ofi_control_kind_t;

/*
 *   | kind 4 | process 4 | name 8 | bits or bytes wanted 8 | number 4 | zero 4 | proof 8 |
 */
typedef struct ofi_control {
    uint32_t kind;
    uint32_t process; /* that sends it */
    uint64_t name;    /* that the sender of a long message has given it */
    uint64_t bits;
    uint32_t number;
    uint32_t zero;
    uint64_t proof; /* that it is from a rank of the job: stranger.c */
} ofi_control_t;

_Static_assert(sizeof(ofi_control_t) == 40, "as it is drawn");

typedef void ofi_control_fn_t(const ofi_control_t *control);

/* `handlers`: by kind, called in a completion. */
opal_status_t ofi_control_start(ofi_control_fn_t *const handlers[OFI_CONTROL_KINDS]);
void ofi_control_stop(void);

/* Process and proof are filled in. False: there is no memory now; there will be some when an
 * earlier control message has left, if not before. */
bool ofi_control_send(ofi_peer_t *peer, ofi_control_t control);

/* A rank has sent what does not fit; reported once. */
void ofi_control_complain(const ofi_control_t *control, const char *what);

/* -- peek.c ------------------------------------------------------------------------------------ */

/* What the provider knows of a message. */
typedef struct ofi_found {
    bool is_there;
    uint64_t bits, data;
    size_t bytes;
    bool may_be_taken; /* a receive may have got it since it was found (quirks.c) */
} ofi_found_t;

/* Asks for a message, and waits for the answer. With FI_CLAIM in `flags` it is taken out of the
 * matching, and belongs to the operation's context. Returns libfabric's failure, which was
 * reported, or 0. */
int ofi_peek(ofi_operation_t *operation, fi_addr_t from, const ofi_tag_pattern_t *pattern,
             uint64_t flags, ofi_found_t *found);
bool ofi_is_peeking(void);

/* -- claimed.c --------------------------------------------------------------------------------- */

struct ofi_message;

/* Looks for a message that no receive of ours is to have; of `comm`, or NULL: of any. Libfabric's
 * failure, which was reported, or FI_EAGAIN: whether there is one is not known now. */
int ofi_look(const ompi_communicator_t *comm, fi_addr_t address, const ofi_tag_pattern_t *pattern,
             ofi_found_t *there);

/* Takes the message that ofi_look has found out of the matching. NULL: there is none, or a failure,
 * which was reported unless it is FI_ENOMEM. */
struct ofi_message *ofi_claim(fi_addr_t address, const ofi_tag_pattern_t *pattern,
                              const ofi_found_t *there, int *failure);
ompi_mtl_message_t *ofi_claimed_hand_out(struct ofi_message *message, const ompi_route_t *from,
                                         MPI_Status *status);
int ofi_receive_message(ompi_mtl_request_t *request, ompi_mtl_message_t *message);

void ofi_status_fill(MPI_Status *status, uint64_t bits, uint64_t data, size_t bytes);

/* Claims all messages of a communicator's user context. A failure (libfabric's, or 0) leaves the
 * last of them where they are. */
int ofi_claim_all(uint32_t comm);
bool ofi_any_is_claimed(void);

/* False: no claimed message is meant, and the provider is to be asked. */
bool ofi_claimed_receive(ofi_request_t *request, const ofi_tag_pattern_t *pattern);
bool ofi_claimed_probe(const ompi_route_t *from, const ofi_tag_pattern_t *pattern, bool *found,
                       ompi_mtl_message_t **message, MPI_Status *status, int *error);

bool ofi_refuse(void);
bool ofi_forget_context(uint32_t context);

/* -- long.c ------------------------------------------------------------------------------------ */

/* It stands in the beginning of a long message instead of the first bytes of the data. */
typedef struct ofi_long_head {
    uint64_t name; /* that the sender has given the message */
    uint64_t total;
} ofi_long_head_t;

/* Whether a message of ofi.max_bytes is the beginning of a long one. */
static inline bool ofi_long_head_is_one(const ofi_long_head_t *head)
{
    return head->total >= ofi.max_bytes;
}

/* The sender: what the request needs before its beginning is sent; the beginning (*is_over: there
 * is no completion); the beginning was handed over; no CTS will come; the request is over. */
int ofi_long_prepare(ofi_request_t *request);
ssize_t ofi_long_begin(ofi_request_t *request, bool *is_over);
void ofi_long_begun(ofi_request_t *request);
void ofi_long_forget(ofi_request_t *request);
void ofi_long_end(ofi_request_t *request);
void ofi_long_cts(const ofi_control_t *control);

/* The receiver: the beginning is in the buffer, as far as it fits; its head was checked. */
void ofi_long_receive(ofi_request_t *request, uint64_t bits, uint64_t data,
                      const ofi_long_head_t *head);

void ofi_long_stop(void);

/* -- receive.c --------------------------------------------------------------------------------- */

int ofi_receive(ompi_mtl_request_t *request);
void ofi_receive_cancel(ofi_request_t *request);

/* What a receive or a probe asks the provider for. An error: there is no way to the source. */
int ofi_pattern(const ompi_route_t *from, fi_addr_t *address, ofi_tag_pattern_t *pattern);

/* A message is in the buffer of its receive; `total` is its length, or that of its beginning. */
void ofi_receive_delivered(ofi_request_t *request, uint64_t bits, uint64_t data, size_t total);

/* All of it is there. */
void ofi_receive_end(ofi_request_t *request, uint64_t bits, uint64_t data, size_t total);

/* How many bytes the provider may write into the buffer. */
size_t ofi_receive_room(const ofi_request_t *request);

/* -- send.c ------------------------------------------------------------------------------------ */

int ofi_send(ompi_mtl_request_t *request);
bool ofi_send_now(const ompi_route_t *to, const ompi_data_t *data);
void ofi_send_cancel(ofi_request_t *request);

/* One of the events that a send waits for has come. */
void ofi_send_step_done(ofi_request_t *request);

/* Its answer has come: it is none of those that wait for one. */
void ofi_send_answered(ofi_request_t *request);

void ofi_send_matched(const ofi_control_t *control);
void ofi_send_refused(const ofi_control_t *control);

/* -- probe.c ----------------------------------------------------------------------------------- */

int ofi_probe(const ompi_route_t *from, bool *found, ompi_mtl_message_t **message,
              MPI_Status *status);

#endif
