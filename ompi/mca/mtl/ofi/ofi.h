/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * mtl/ofi: messages that a libfabric provider matches.
 *
 *   tag.[ch]      the bits that are matched
 *   select.[ch]   whether libfabric has a provider that matches our tags
 *   endpoint.c     the endpoint (opal/fabric), its limits, and what all ranks do alike
 *   parcel.c      short messages that the provider must not inject
 *   peers.c       processes that were met, and what waits for room on the way to them
 *   send.c        the sending side, and the messages that say "it was matched"
 *   receive.c     the receiving side
 *   long.c        messages that are longer than the provider takes
 *   recall.c      sends that are taken back
 *   refuse.c      messages that come when MPI ends here
 *   stranger.c    messages of processes that are not of the job
 *   probe.c       looking for messages, and throwing them away
 *   claimed.c      messages that were taken out of the matching
 *   note.c        answers; control.c: what else processes say to each other
 *   buffer.c        where the data lies for the provider: in place, as segments, or packed
 *   registration.c      buffers that the provider has to know first
 *   progress.c    completions, what has to be tried again, and what ends a sleep
 *   ofi.c         the component's operations
 *
 * Everything that the provider is asked to do is an ofi_operation_t. It is the provider's from the
 * call until its completion, which leads back to it by its address:
 *
 *   request --begin--> post --0--> at the provider --completion--> completed, or failed
 *                       | ^
 *          -FI_EAGAIN   v |  progress
 *                      a queue: of the peer (sends), of all receives
 *
 * Order: what is queued goes before what comes later, to the same peer or among the receives, so
 * that the provider sees everything in the order in which the program has called.
 *
 * A synchronous send receives an empty message (ofi_tag_of_answer) beside sending its own; it is
 * done when both are. The answers for equal communicator, peer and tag are interchangeable: if that
 * of the second has come, the first was matched, too.
 *
 * A failure at start is told where it is found; one of a message goes to its request.
 *
 * Threading: all of it under ompi_lock, and libfabric is told so (FI_THREAD_DOMAIN).
 */
#ifndef OMPI_MCA_MTL_OFI_H
#define OMPI_MCA_MTL_OFI_H

#include <rdma/fi_tagged.h>

#include "opal/fabric/fabric.h"
#include "opal/progress/descriptor.h"
#include "opal/util/list.h"
#include "opal/util/pool.h"
#include "ompi/mca/mpool/mpool.h"
#include "ompi/mca/mtl/mtl.h"
#include "ompi/mca/mtl/ofi/tag.h"

enum {
    OFI_MAX_SEGMENTS = 8,         /* that are handed over as they lie; of more a copy is made */
    OFI_INJECT_PACK_BYTES = 4096, /* the longest message that is packed in order to be injected */
    OFI_STANDARD_MAX_BYTES = 64 << 10, /* a longer standard send is a synchronous one */
    OFI_LARGE_BYTES = 128 << 10,       /* more than a socket takes at once as it comes */
    OFI_LONG_HEAD_BYTES = 16, /* long.c: every receive has room for it, where there are long ones */
};

/* -- the choice (select.c), which query has made -------------------------------------------------
 */

typedef struct ofi_choice {
    struct fi_info *info;
    ofi_tag_layout_t tags;
    size_t queue_depth;
    unsigned batch;
    bool is_hpc;
    bool sleeps_on_fd; /* the queue is to have a descriptor */
} ofi_choice_t;

void ofi_set_ops(ompi_mtl_ops_t *ops, const ofi_choice_t *choice);

const char *ofi_describe(unsigned process);

/* -- the network, between start and stop (endpoint.c) --------------------------------------------
 */

typedef struct ofi_network {
    opal_fabric_endpoint_t endpoint;
    ofi_tag_layout_t tags;
    bool source_is_data; /* ofi_tag_full: a sender's rank is completion data, and a receive from
                            one source names its address */
    uint64_t data_word, data_mask; /* what ranks of the job say above that rank; 0: nothing */
    uint64_t proof;                /* what they say in control messages */
    bool needs_registration;       /* FI_MR_LOCAL */
    bool has_long;                 /* a message may be longer than max_bytes */
    size_t inject_bytes;           /* a message of so many is over when the provider has taken it */
    void *spill;                   /* for what nobody wants of a message: quirks.c */
    size_t max_bytes;              /* of one message of the provider's */
    size_t send_segments, receive_segments;
} ofi_network_t;

extern ofi_network_t ofi;

/* A failure is reported, and leaves nothing open. */
opal_status_t ofi_endpoint_open(const ofi_choice_t *choice);
void ofi_endpoint_close(void);

/* Publishes what has to be alike and the address, meets the others and compares. */
opal_status_t ofi_endpoint_publish(void);

/* -- operations ---------------------------------------------------------------------------------
 */

struct ofi_operation;

typedef struct ofi_operation_kind {
    void (*completed)(struct ofi_operation *operation, const struct fi_cq_tagged_entry *entry);
    void (*failed)(struct ofi_operation *operation, const struct fi_cq_err_entry *error);
    /* Hands it to the provider. False: not now (-FI_EAGAIN). True: it is there, or over already,
     * and may be gone. NULL: it never waits. */
    bool (*post)(struct ofi_operation *operation);
    bool is_idle; /* it is always there: nobody waits for it */
} ofi_operation_kind_t;

typedef struct ofi_operation {
    struct fi_context2 context; /* first: a completion's address is that of the operation */
    const ofi_operation_kind_t *kind;
    opal_list_node_t node; /* of a queue, or of what is the provider's */
} ofi_operation_t;

/* -- peers (peers.c) ----------------------------------------------------------------------------
 */

typedef struct ofi_peer {
    unsigned process; /* rank in MPI_COMM_WORLD */
    fi_addr_t address;
    opal_list_t queue;     /* ofi_operation_t that found no room, in their order */
    opal_list_node_t node; /* in the list of peers with a queue */
    bool is_listed;        /* it is in that list */
    opal_list_t held;      /* sends that wait for what is being taken back: recall.c */
    unsigned recalls;      /* of that */
    bool is_told;          /* that it has left: a person */
    unsigned injected;     /* messages, where the provider's `unheard` counts; ... */
    unsigned heard;        /* ... of them, so many have come there */
} ofi_peer_t;

void ofi_peers_start(void);
void ofi_peers_stop(void);

/* Learns the address. NULL: ofi_peer_error says why: MPI_ERR_NO_MEM, or MPI_ERR_OTHER if there is
 * no way to it, which is reported once. */
ofi_peer_t *ofi_peer_meet(unsigned process);
extern int ofi_peer_error;
opal_status_t ofi_peers_meet_all(void);

/* By process, as far as it has grown; NULL: not met. */
extern ofi_peer_t **ofi_peers;
extern unsigned ofi_peer_count;

static inline ofi_peer_t *ofi_peer(unsigned process)
{
    ofi_peer_t *peer = opal_likely(process < ofi_peer_count) ? ofi_peers[process] : NULL;
    return opal_likely(peer != NULL) ? peer : ofi_peer_meet(process);
}

/* NULL: not met, so nothing was sent to it. */
static inline ofi_peer_t *ofi_peer_met(unsigned process)
{
    return process < ofi_peer_count ? ofi_peers[process] : NULL;
}

/* The peer of a message in a communicator; not MPI_ANY_SOURCE. */
static inline ofi_peer_t *ofi_peer_of(const ompi_communicator_t *comm, int rank)
{
    return ofi_peer(ompi_comm_process(comm, rank));
}

static inline bool ofi_peer_is_clear(const ofi_peer_t *peer)
{
    return opal_list_is_empty(&peer->queue);
}

/* Posts it, now or in its turn. */
void ofi_peer_post(ofi_peer_t *peer, ofi_operation_t *operation);

/* The same for a message, which waits while one is taken back. */
void ofi_peer_send(ofi_peer_t *peer, ofi_operation_t *operation);
void ofi_peer_release(ofi_peer_t *peer);

/* The same for receives, of which there is one queue. */
void ofi_receive_post(ofi_operation_t *operation);
const opal_list_t *ofi_queued_receives(void);

/* What waits for memory: posted again and again, before what others wait for and behind it. */
void ofi_starved_post(ofi_operation_t *operation);

/* Takes what is queued out again. */
void ofi_withdraw(ofi_operation_t *operation);

/* Tries what is queued; returns how many found room. */
int ofi_push(void);
bool ofi_has_queued(void);

/* -- data (buffer.c, registration.c)
 * --------------------------------------------------------------------
 */

/* A buffer that the provider knows. All zero: none. */
typedef struct ofi_registration {
    ompi_mpool_use_t use; /* of the pool, if its registration is not NULL */
    struct fid_mr *own;   /* without a pool */
} ofi_registration_t;

void ofi_registrations_start(void);
void ofi_registrations_stop(void);

/* MPI_ERR_NO_MEM, or MPI_ERR_OTHER: these pages cannot be registered. *descriptor is what the
 * provider is given with them. */
int ofi_register(ofi_registration_t *registration, const void *start, size_t bytes,
                 void **descriptor);
void ofi_deregister(ofi_registration_t *registration);

/* Where the data of a message lies for the provider. All zero: nowhere. */
typedef struct ofi_buffer {
    void *start;      /* one run, or: */
    bool is_segments; /* as the type has it: few enough segments */
    bool is_packed;   /* `start` is a copy, and this structure's */
    void *descriptor;
    ofi_registration_t pin;
} ofi_buffer_t;

/* Errors: those of ofi_registration. */
int ofi_buffer_for_send(ofi_buffer_t *buffer, const ompi_data_t *data, size_t bytes);
int ofi_buffer_for_receive(ofi_buffer_t *buffer, const ompi_data_t *data, size_t capacity);

/* `arrived` bytes are there; they are unpacked if they have to be. */
void ofi_buffer_unpack(ofi_buffer_t *buffer, const ompi_data_t *data, size_t arrived);

void ofi_buffer_free(ofi_buffer_t *buffer);

/* -- requests ------------------------------------------------------------------------------------
 */

struct ofi_long;
struct ofi_answer;

typedef enum ofi_stage {
    OFI_IDLE,
    OFI_HELD,   /* a send: behind what is taken back */
    OFI_QUEUED, /* not yet the provider's */
    OFI_POSTED,
} ofi_stage_t;

typedef struct ofi_request {
    ompi_mtl_request_t base;
    ofi_operation_t operation; /* its message */
    ofi_stage_t stage;         /* of that */
    unsigned missing;          /* of a send: the message, the answer */
    ofi_peer_t *peer;          /* of a send */
    fi_addr_t from;            /* of a receive */
    uint64_t bits, ignore;
    size_t bytes; /* of the message; of a receive: that fit */
    ofi_buffer_t buffer;
    struct ofi_answer *answer;   /* of a synchronous send */
    struct ofi_long *parts;      /* of a long message */
    opal_list_node_t unanswered; /* of sends that may be taken back: recall.c */
    bool may_recall;             /* it is in that list */
    uint64_t recall_name;        /* with which the receiver was asked for it; 0: it was not */
    bool is_cancelled;           /* of a receive: the provider was asked */
} ofi_request_t;

static inline ofi_request_t *ofi_request_of(ofi_operation_t *operation)
{
    return opal_container_of(operation, ofi_request_t, operation);
}

/* Sends and notes that have not left this process. */
extern size_t ofi_outgoing;
void ofi_has_left(void);

/* Requests of at least OFI_LARGE_BYTES, which may be in the middle of coming or going. */
extern size_t ofi_large_requests;

/* It may end from here on. */
static inline void ofi_request_began(const ofi_request_t *request)
{
    if (opal_unlikely(request->bytes >= OFI_LARGE_BYTES))
        ofi_large_requests++;
}

/* Everything of it is over, as its status says. */
void ofi_request_end(ofi_request_t *request);

/* Its result is an error, libfabric's `failure`; the text goes to the log. `error` is that of its
 * completion, or NULL. The request goes on. */
void ofi_request_fail(ofi_request_t *request, int failure, const struct fi_cq_err_entry *error);

enum { OFI_ANY_PROCESS = -1 };

/* "a message to rank 3 failed: ..." */
void ofi_log_failure(const char *what, int process, int failure,
                     const struct fi_cq_err_entry *error);

/* The completion data of a message of the program's, if there is any. */
static inline uint64_t ofi_data_of(int rank)
{
    return ofi.data_word | (uint32_t)rank;
}

/* -- parcel.c -- */

void ofi_parcels_start(void);
void ofi_parcels_stop(void);

/* `data` NULL: none. Not for a provider that wants memory registered. */
ssize_t ofi_parcel_send(ofi_peer_t *peer, const void *start, size_t bytes, const uint64_t *data,
                        uint64_t bits);

static inline bool ofi_may_inject(const ofi_peer_t *peer)
{
    return opal_likely(ofi.endpoint.quirks.unheard == 0) ||
           peer->injected - peer->heard < ofi.endpoint.quirks.unheard;
}

/* A message of at most ofi.inject_bytes that is over when this returns 0; `rank` is the sender's, 0
 * if it is none of the program's. */
static inline ssize_t ofi_inject(ofi_peer_t *peer, const void *start, size_t bytes, int rank,
                                 uint64_t bits)
{
    uint64_t data = ofi_data_of(rank);
    if (opal_unlikely(!ofi_may_inject(peer)))
        return ofi_parcel_send(peer, start, bytes, ofi.source_is_data ? &data : NULL, bits);
    ssize_t result = ofi.source_is_data
                         ? fi_tinjectdata(ofi.endpoint.ep, start, bytes, data, peer->address, bits)
                         : fi_tinject(ofi.endpoint.ep, start, bytes, peer->address, bits);
    peer->injected += result == 0;
    return result;
}

/* -- send.c -- */

int ofi_send(ompi_mtl_request_t *request);
bool ofi_send_now(const ompi_route_t *to, const ompi_data_t *data);
int ofi_send_cancel(ofi_request_t *request);
void ofi_sends_end(void);

/* One of the things that a send waits for is over. */
void ofi_send_step_done(ofi_request_t *request);

/* The receiver has the message, or has thrown it away and will not answer. */
void ofi_send_answered(ofi_request_t *request);
void ofi_send_unanswered(ofi_request_t *request);

/* -- recall.c -- */

/* A send is from now on, and no longer, one that may be taken back. */
void ofi_recall_add(ofi_request_t *request);
void ofi_recall_remove(ofi_request_t *request);

/* Asks the receiver for it. MPI_ERR_NO_MEM: it was not asked. */
int ofi_recall(ofi_request_t *request);

/* The oldest one of this envelope that waits for an answer, the newest one that has been sent;
 * NULL: none. */
ofi_request_t *ofi_recall_find(uint64_t bits, const ofi_peer_t *peer);
ofi_request_t *ofi_recall_find_last(uint64_t bits, const ofi_peer_t *peer);

/* What another one has asked for is done, which may progress. Until it is answered, control.c hears
 * nothing else. */
bool ofi_recall_is_asked(void);
void ofi_recall_work(void);
void ofi_recall_stop(void);

/* -- refuse.c -- */

bool ofi_refuse(void);

/* -- note.c -- */

/* A few bytes for a peer, copied, that no request waits for. False: there is no memory now; there
 * will be some when an earlier note has left, if not before. */
enum { OFI_NOTE_MAX_BYTES = 48 };
opal_status_t ofi_notes_start(void);
void ofi_notes_stop(void);
bool ofi_tell(ofi_peer_t *peer, uint64_t bits, const void *bytes, size_t length);

/* -- control.c -- */

typedef enum ofi_control_kind {
    OFI_NEWS,     /* of a long message: its number there, and how much of it is wanted */
    OFI_ARRIVED,  /* all of that */
    OFI_RECALL,   /* bits, rank and how many are behind it */
    OFI_RECALLED, /* number: 1 if it was */
    OFI_REFUSED,  /* bits */
} ofi_control_kind_t;

/*
 *   | kind 4 | process 4 | name 8 | bits or bytes wanted 8 | number 4 | rank 4 | proof 8 |
 */
typedef struct ofi_control {
    uint32_t kind;
    uint32_t process; /* who says it */
    uint64_t name;    /* the sender's, of its message */
    uint64_t bits;
    uint32_t number;
    uint32_t rank;
    uint64_t proof; /* that it is of a rank of the job: stranger.c */
} ofi_control_t;

_Static_assert(sizeof(ofi_control_t) == 40, "as it is drawn");

opal_status_t ofi_control_start(void);
void ofi_control_stop(void);
void ofi_control_listen(void); /* behind a message that was claimed for later */
bool ofi_control_send(ofi_peer_t *peer, const ofi_control_t *control);

/* A rank says what does not fit; told once. */
void ofi_control_complain(const ofi_control_t *control, const char *what);

void ofi_long_news(const ofi_control_t *control);
void ofi_long_arrived(const ofi_control_t *control);
void ofi_recall_asked(const ofi_control_t *control);
void ofi_recall_answered(const ofi_control_t *control);
void ofi_refused(const ofi_control_t *control);

/* -- stranger.c -- */

/* Makes the words that ranks of this job know. A failure was told. */
opal_status_t ofi_words_start(void);

/* How many bits of a message's data are such a word. */
unsigned ofi_data_word_bits(const struct fi_info *info);

/* Whether a message is from a rank of its communicator. NULL: which one that is stands in the bits.
 */
bool ofi_is_of_rank(const ompi_communicator_t *comm, uint64_t bits, uint64_t data);

/* Whether something is from a rank of the job, as far as its data says. */
static inline bool ofi_is_of_job(uint64_t data)
{
    return opal_likely((data & ofi.data_mask) == ofi.data_word);
}

/* The peer that a message has named. NULL: there is no such rank, or no way to it. */
ofi_peer_t *ofi_peer_from(const ompi_communicator_t *comm, int source);
bool ofi_control_is_ours(const ofi_control_t *control);

/* Somebody else's was thrown away. Told once. */
void ofi_report_stranger(void);

/* Throws away the first message of these bits, which is a stranger's. False: not yet. */
bool ofi_swallow(fi_addr_t from, uint64_t bits);
void ofi_strangers_stop(void); /* when the network is closed */

/* -- receive.c -- */

int ofi_receive(ompi_mtl_request_t *request);
int ofi_cancel(ompi_mtl_request_t *request);

/* What a receive or a probe asks the provider for. An error: there is no way to the source. */
int ofi_pattern(const ompi_route_t *from, fi_addr_t *address, ofi_tag_pattern_t *pattern);

/* The sender's rank in the communicator, from the bits and the data of a completion. */
int ofi_source(uint64_t bits, uint64_t data);

/* A message is in the place of its receive; `total` is its length, or that of its beginning. */
void ofi_receive_delivered(ofi_request_t *request, uint64_t bits, uint64_t data, size_t total);
void ofi_receive_end(ofi_request_t *request, uint64_t bits, uint64_t data, size_t total);

/* What the provider may write at the place. */
size_t ofi_receive_room(const ofi_request_t *request);

/* Whether one would take this message that has not yet: it waits for room, or the provider has not
 * come to it. */
bool ofi_receive_waits_for(uint64_t bits, uint64_t data);

/* -- long.c -- */

/* What stands in the beginning of a long message instead of its first bytes. */
typedef struct ofi_long_head {
    uint64_t sender; /* the sender's name for it */
    uint64_t total;
} ofi_long_head_t;

/* Whether a message of ofi.max_bytes is the beginning of a long one. */
static inline bool ofi_long_head_is_one(const ofi_long_head_t *head)
{
    return head->total >= ofi.max_bytes;
}

/* Before it is sent: what it needs, and one more thing to wait for. */
int ofi_long_prepare(ofi_request_t *request);
void ofi_long_send(ofi_request_t *request);

/* There will be no news. What the provider may still be sending stays until the request ends. */
void ofi_long_forget(ofi_request_t *request);
void ofi_long_end(ofi_request_t *request);

void ofi_long_stop(void);

/* The beginning is in its place, as far as it fits there; its head was checked. */
void ofi_long_receive(ofi_request_t *request, uint64_t bits, uint64_t data,
                      const ofi_long_head_t *head);

/* -- probe.c -- */

int ofi_probe(const ompi_route_t *from, bool *found, ompi_mtl_message_t **message,
              MPI_Status *status);
bool ofi_forget_context(uint32_t context);

/* What the provider knows of a message. */
typedef struct ofi_found {
    bool is_there;
    uint64_t bits, data;
    size_t bytes;
} ofi_found_t;

/* Asks, and waits for the answer. `operation` is free again, but for the context of FI_CLAIM. A
 * failure is libfabric's, and was told. */
int ofi_ask(ofi_operation_t *operation, fi_addr_t from, const ofi_tag_pattern_t *pattern,
            uint64_t flags, ofi_found_t *found);
/* Asks for a message that no receive of ours is to have; of `comm`, or NULL. */
int ofi_look(const ompi_communicator_t *comm, fi_addr_t address, const ofi_tag_pattern_t *pattern,
             ofi_found_t *there);

bool ofi_is_asking(void);

/* A receive has got this message, while it is being asked. */
void ofi_taken_meanwhile(uint64_t bits, uint64_t data);

void ofi_status_fill(MPI_Status *status, uint64_t bits, uint64_t data, size_t bytes);

/* -- claimed.c -- */

struct ofi_message;

int ofi_receive_message(ompi_mtl_request_t *request, ompi_mtl_message_t *message);

/* Takes one out of the matching; NULL: there is none, or a failure, which was told unless it is
 * FI_ENOMEM. */
struct ofi_message *ofi_message_take(fi_addr_t address, const ofi_tag_pattern_t *pattern,
                                     const ofi_found_t *there, int *failure);
bool ofi_is_taking(void); /* nobody else may take one now */
void ofi_message_tell(const struct ofi_message *message, MPI_Status *status);
ompi_mtl_message_t *ofi_message_hand_out(struct ofi_message *message, const ompi_route_t *from);

/* Keeps all that there is of a communicator's user context; of all of them. A failure (libfabric's,
 * or 0) leaves the last of them where they are. */
int ofi_claimed_add_all(uint32_t comm);
int ofi_claimed_add_everything(void);
bool ofi_any_is_claimed(void);

/* What the first one is that is claimed (false: none is); throws it away. */
bool ofi_claimed_first(uint64_t *bits, uint64_t *data);
void ofi_claimed_drop_first(void);

/* Throws away the first one of these, if there is one, and that can be now. */
typedef enum ofi_discard { OFI_NONE_LEFT, OFI_DISCARDED, OFI_NOT_YET } ofi_discard_t;
ofi_discard_t ofi_message_discard(const ofi_tag_pattern_t *pattern);

/* False: nothing of that is claimed, and the provider is to be asked. */
bool ofi_claimed_receive(ofi_request_t *request, const ofi_tag_pattern_t *pattern);
bool ofi_claimed_probe(const ompi_route_t *from, const ofi_tag_pattern_t *pattern, bool *found,
                       ompi_mtl_message_t **message, MPI_Status *status, int *error);

/* Throws away a message that nothing has matched: of its bits and source, the one with so many
 * behind it. False: it was matched. */
bool ofi_claimed_drop(uint64_t bits, uint32_t rank, uint32_t behind);
void ofi_claimed_forget(uint32_t comm);

/* -- progress.c -- */

/* Operations that are the provider's; those of them that somebody waits for. */
extern opal_list_t ofi_posted;
extern size_t ofi_under_way;

/* Something goes on that an operation need not stand for. */
static inline void ofi_more_under_way(void)
{
    ofi_under_way++;
}

/* The provider has it now. */
static inline void ofi_operation_posted(ofi_operation_t *operation)
{
    opal_list_append(&ofi_posted, &operation->node);
    if (opal_likely(!operation->kind->is_idle))
        ofi_more_under_way();
}

/* The provider, or a queue here, has got something. Another thread may sleep that has not known of
 * it, and may be all that drives the provider. */
void ofi_wake_sleeper(void);
static inline void ofi_handed_over(void)
{
    if (ompi_threads_share())
        ofi_wake_sleeper();
}

/* `batch`: completions per read. */
opal_status_t ofi_progress_start(unsigned batch);
void ofi_progress_stop(void);

/* Reads completions until there are none, and tries what is queued. Returns how much it did. Not
 * nested: what a completion leads to finds nothing here. */
int ofi_progress(void);
bool ofi_is_broken(void); /* the queue has failed: nothing completes any more */

/* A completion is being worked on, or a queue: none can be waited for. */
bool ofi_is_progressing(void);

#endif
