/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What comes from the transports: each frame goes to the part of ob1 that it is for. Also the table
 * of contexts, which leads the first frame of a message to its matcher, and messages that come
 * before this rank has added their communicator.
 *
 * Threading: under ompi_lock. The callbacks of `client` are called from progress, but for
 * take_frame, which reads the table of contexts while it has a lane.
 */
#include <stdlib.h>
#include <string.h>

#include "ompi/mca/pml/ob1/ob1.h"

/* -- contexts -------------------------------------------------------------------------- */

/* By context on the wire; NULL: no such communicator here yet, or any more. An entry is written
 * while the context's lane is held, the table is replaced while all lanes are. */
static ob1_matcher_t **matchers;
static size_t matcher_count;

/* Messages of contexts that are not added yet, by the first node; oldest first. */
static opal_list_t early = {{&early.head, &early.head}};

static inline ob1_matcher_t *matcher_of(uint32_t context)
{
    return opal_likely(context < matcher_count) ? matchers[context] : NULL;
}

void ob1_each_matcher(void (*visit)(ob1_matcher_t *matcher))
{
    for (size_t i = 0; i < matcher_count; i++) {
        if (matchers[i] != NULL)
            visit(matchers[i]);
    }
}

static ob1_message_t *early_at(opal_list_node_t *node)
{
    return opal_container_of(node, ob1_message_t, unexpected.nodes[0]);
}

void ob1_early_drop(const opal_process_t *from)
{
    opal_list_node_t *next;
    for (opal_list_node_t *node = opal_list_first(&early); node != NULL; node = next) {
        ob1_message_t *message = early_at(node);
        next = opal_list_next(&early, node);
        if (from != NULL && message->from != from)
            continue;
        opal_list_remove(node);
        ob1_message_free(message);
    }
}

bool ob1_context_reserve(uint32_t context)
{
    if (context < matcher_count)
        return true;
    size_t count = 2 * (size_t)context + 16;
    ob1_matcher_t **grown = calloc(count, sizeof *grown);
    if (grown == NULL)
        return false;
    if (matcher_count > 0)
        memcpy(grown, matchers, matcher_count * sizeof *grown);
    for (unsigned lane = 0; lane < OPAL_BTL_LANES; lane++)
        opal_btl_lane_hold(lane);
    free(matchers);
    matchers = grown;
    matcher_count = count;
    for (unsigned lane = 0; lane < OPAL_BTL_LANES; lane++)
        opal_btl_lane_drop(lane);
    return true;
}

static void set_matcher(uint32_t context, ob1_matcher_t *matcher)
{
    int lane = ob1_lane_of(context);
    if (lane >= 0)
        opal_btl_lane_hold((unsigned)lane);
    matchers[context] = matcher;
    if (lane >= 0)
        opal_btl_lane_drop((unsigned)lane);
}

/* -- the first frame of a message ------------------------------------------------------ */

/* Whether a message can come from that source, and have that tag. */
static inline bool is_possible(const ob1_matcher_t *matcher, const ob1_match_t *match)
{
    return opal_likely((uint32_t)match->source < matcher->source_count && match->tag >= 0);
}

/*
 * Finds the source of a message; false: there is no such message. The ranks of ompi_comm_processes
 * are indices, which differ between processes: there the process that a message comes from is its
 * source. Those matchers have no possible source, so that other messages pay nothing for it.
 */
static inline bool find_source(const ob1_matcher_t *matcher, const opal_process_t *from,
                               ob1_match_t *match)
{
    if (is_possible(matcher, match))
        return true;
    match->source = (int32_t)from->index;
    return matcher->source_count == 0 && match->tag >= 0;
}

/* The caller holds the lock of the matcher. After releasing it the caller wakes the probes. */
static void add_unexpected(ob1_matcher_t *matcher, ob1_message_t *message, const ob1_match_t *match)
{
    message->unexpected.source = match->source;
    message->unexpected.tag = match->tag;
    ob1_matcher_add_unexpected(matcher, &message->unexpected);
}

OPAL_NOINLINE static void count_demanded(ob1_matcher_t *matcher, opal_process_t *from, size_t bytes)
{
    const ob1_peer_t *peer = opal_process_end(from, OPAL_END_MESSAGES);
    opal_count_message(&matcher->received, bytes);
    if (opal_unlikely(peer == NULL)) /* nothing was sent there yet */
        peer = ob1_peer(from);
    if (peer != NULL) /* there is memory for it */
        opal_count_message(&peer->counts->received, bytes);
}

/* A message has come. The caller holds the lock of the matcher. */
OPAL_INLINE void count_arrival(ob1_matcher_t *matcher, opal_process_t *from, size_t bytes)
{
    if (opal_is_counted(&ob1_counting))
        count_demanded(matcher, from, bytes);
}

/* No receive waits for the message. Releases the lock of the matcher. False: there is no memory. */
OPAL_INLINE bool keep_unexpected(ob1_matcher_t *matcher, opal_process_t *from, unsigned kind,
                                 const void *bytes, size_t length, const ob1_match_t *match)
{
    ob1_message_t *message = ob1_message_copy(from, kind, bytes, length);
    if (opal_likely(message != NULL)) {
        add_unexpected(matcher, message, match);
        if (opal_is_counted(&ob1_counting)) {
            count_demanded(matcher, from, ob1_message_bytes(kind, bytes, length));
            opal_count(&ob1_unexpected_count, 1);
        }
    }
    ob1_unlock(&matcher->lock);
    if (message == NULL)
        return false;
    if (ompi_event_is_wanted(OMPI_EVENT_MESSAGE_UNEXPECTED))
        ob1_raise_unexpected(from, match, kind, ob1_message_bytes(kind, bytes, length));
    ob1_wake_probes();
    return true;
}

/* False: the message is unexpected, and there is no memory to copy it. */
OPAL_INLINE bool match_message(ob1_matcher_t *matcher, opal_process_t *from, unsigned kind,
                               const void *bytes, size_t length, ob1_match_t *match)
{
    if (opal_unlikely(!find_source(matcher, from, match))) {
        ob1_peer_reject(from, kind, "a message of a rank or with a tag that there is not");
        return true;
    }
    if (opal_unlikely(kind == OB1_CANCEL)) {
        ob1_message_cancel(matcher, from, bytes);
        return true;
    }
    ob1_lock(&matcher->lock);
    ob1_posted_t *posted = ob1_matcher_take_posted(matcher, match->source, match->tag);
    if (opal_unlikely(posted == NULL))
        return keep_unexpected(matcher, from, kind, bytes, length, match);
    count_arrival(matcher, from, ob1_message_bytes(kind, bytes, length));
    ob1_unlock(&matcher->lock);
    ob1_receive_t *receive = opal_container_of(posted, ob1_receive_t, posted);
    if (kind == OB1_EAGER)
        ob1_deliver_eager(receive, match->source, match->tag, (const char *)bytes + sizeof *match,
                          length - sizeof *match);
    else
        ob1_deliver(receive, from, kind, bytes, length);
    return true;
}

/* Also of OB1_CANCEL, which names a message. False: there is no memory to copy the message. */
OPAL_INLINE bool handle_message(opal_process_t *from, unsigned kind, const void *bytes,
                                size_t length)
{
    ob1_match_t match;
    memcpy(&match, bytes, sizeof match);
    ob1_matcher_t *matcher = matcher_of(match.context);
    if (opal_likely(matcher != NULL))
        return match_message(matcher, from, kind, bytes, length, &match);
    if (match.context > INT32_MAX) {
        ob1_peer_reject(from, kind, "a message for a communicator that there cannot be");
        return true;
    }
    ob1_message_t *message = ob1_message_copy(from, kind, bytes, length);
    if (message != NULL)
        opal_list_append(&early, &message->unexpected.nodes[0]);
    return message != NULL;
}

/* A message whose context is there now. */
static void match_early(ob1_matcher_t *matcher, ob1_message_t *message)
{
    ob1_match_t match;
    memcpy(&match, message->frame, sizeof match);
    if (!find_source(matcher, message->from, &match)) {
        ob1_peer_reject(message->from, message->kind,
                        "a message of a rank or with a tag that there is not");
        ob1_message_drop(message);
        return;
    }
    if (message->kind == OB1_CANCEL) {
        ob1_message_cancel(matcher, message->from, message->frame);
        ob1_message_free(message);
        return;
    }
    /* Once the message is with the matcher, another thread may receive and free it. */
    const opal_process_t *from = message->from;
    unsigned kind = message->kind;
    size_t bytes = ob1_message_bytes(kind, message->frame, message->length);
    ob1_lock(&matcher->lock);
    ob1_posted_t *posted = ob1_matcher_take_posted(matcher, match.source, match.tag);
    if (posted == NULL)
        add_unexpected(matcher, message, &match);
    count_arrival(matcher, message->from, bytes);
    ob1_unlock(&matcher->lock);
    if (posted == NULL) {
        if (ompi_event_is_wanted(OMPI_EVENT_MESSAGE_UNEXPECTED))
            ob1_raise_unexpected(from, &match, kind, bytes);
        ob1_wake_probes();
        return;
    }
    ob1_deliver_message(opal_container_of(posted, ob1_receive_t, posted), message);
    ob1_message_free(message);
}

void ob1_context_add(uint32_t context, ob1_matcher_t *matcher)
{
    ob1_match_t match;
    opal_list_t mine;
    opal_list_node_t *next;
    set_matcher(context, matcher);
    /* All are taken out first: a request that one of them completes may add a communicator. */
    opal_list_init(&mine);
    for (opal_list_node_t *node = opal_list_first(&early); node != NULL; node = next) {
        next = opal_list_next(&early, node);
        memcpy(&match, early_at(node)->frame, sizeof match);
        if (match.context != context)
            continue;
        opal_list_remove(node);
        opal_list_append(&mine, node);
    }
    while ((next = opal_list_first(&mine)) != NULL) {
        opal_list_remove(next);
        match_early(matcher, early_at(next));
    }
}

void ob1_context_remove(uint32_t context)
{
    set_matcher(context, NULL);
}

/* -- frames ---------------------------------------------------------------------------- */

static bool handle_credit(ob1_peer_t *peer, unsigned kind, const void *bytes)
{
    ob1_credit_t credit;
    memcpy(&credit, bytes, sizeof credit);
    return kind == OB1_CREDIT ? ob1_credit_granted(peer, credit.number)
                              : ob1_credit_requested(peer, credit.number);
}

/* The shortest frame of each kind. */
static const unsigned char head_bytes[] = {
    [OB1_EAGER] = sizeof(ob1_match_t),
    [OB1_EAGER_SYNC] = sizeof(ob1_sync_t),
    [OB1_RTS] = offsetof(ob1_rts_t, segments),
    [OB1_MATCH_ACK] = sizeof(ob1_ack_t),
    [OB1_FIN] = sizeof(ob1_ack_t),
    [OB1_CTS] = sizeof(ob1_cts_t),
    [OB1_FRAGMENT] = sizeof(ob1_fragment_t),
    [OB1_STREAM] = sizeof(ob1_stream_head_t),
    [OB1_STREAM_PART] = 0,
    [OB1_CANCEL] = sizeof(ob1_sync_t),
    [OB1_CANCELLED] = sizeof(ob1_ack_t),
    [OB1_NACK] = sizeof(ob1_ack_t),
    [OB1_CREDIT_REQUEST] = sizeof(ob1_credit_t),
    [OB1_CREDIT] = sizeof(ob1_credit_t),
};

/* Whether an RTS has the segments that its head announces. */
static bool has_segments(const ob1_rts_t *head, size_t length)
{
    size_t sent = head->segment_count > OB1_MAX_SEGMENTS ? 1 : head->segment_count;
    return head->segment_count <= OB1_MAX_LISTED &&
           length >= offsetof(ob1_rts_t, segments) + sent * sizeof(ob1_segment_t);
}

/* Out of line: one inlined copy of handle_message, for eager messages, is enough. */
static bool handle_other(opal_process_t *from, unsigned kind, const void *bytes, size_t length)
{
    return handle_message(from, kind, bytes, length);
}

/* Every frame except a sound eager one. A frame that does not fit is dropped. False: the frame is a
 * message, and there is no memory to copy it; nothing has changed. */
static bool receive_other(opal_process_t *from, unsigned kind, const void *bytes, size_t length)
{
    bool is_good = kind > 0 && kind < OPAL_COUNT_OF(head_bytes) && length >= head_bytes[kind];
    ob1_peer_t *peer = ob1_peer(from);
    if (opal_unlikely(peer == NULL))
        return ob1_peer_error(from) != MPI_ERR_NO_MEM;
    switch (is_good ? (ob1_kind_t)kind : 0) {
    case OB1_EAGER_SYNC:
    case OB1_CANCEL:
        return handle_other(from, kind, bytes, length);
    case OB1_RTS:
        if (has_segments(bytes, length))
            return handle_other(from, kind, bytes, length);
        break;
    case OB1_STREAM:
        if (ob1_stream_begin(peer, bytes, length)) {
            if (handle_other(from, kind, bytes, length))
                return true;
            peer->stream = (ob1_stream_t){0};
            return false;
        }
        break;
    case OB1_STREAM_PART:
        if (ob1_deliver_stream_part(peer, bytes, length))
            return true;
        break;
    case OB1_FRAGMENT:
        if (ob1_deliver_fragment(peer, bytes, length))
            return true;
        break;
    case OB1_CREDIT_REQUEST:
    case OB1_CREDIT:
        if (handle_credit(peer, kind, bytes))
            return true;
        break;
    default:
        if (is_good && ob1_send_handle_reply(peer, kind, bytes))
            return true;
        break;
    }
    ob1_peer_reject(from, kind, "a frame that nothing waits for, or that lacks something");
    return true;
}

/* On false the transport delivers the frame again later. No receive may wait for that message, or
 * for one behind it: those receives fail. */
static bool receive_frame(opal_process_t *from, unsigned kind, const void *bytes, size_t length)
{
    bool is_taken = opal_likely(kind == OB1_EAGER && length >= sizeof(ob1_match_t))
                        ? handle_message(from, OB1_EAGER, bytes, length)
                        : receive_other(from, kind, bytes, length);
    if (opal_unlikely(!is_taken))
        ob1_receives_fail_no_memory(from);
    return is_taken;
}

/* -- lanes ----------------------------------------------------------------------------- */

/* Whether a thread without ompi_lock may complete the request: nothing is linked to it. Requests of
 * a lane are changed while it is held. */
static bool is_plain(const ompi_request_t *request)
{
    return request->lane != 0 && request->wait == NULL && request->on_complete == NULL &&
           request->orphan == OMPI_ORPHAN_NOT;
}

/* The receive that takes the message, if it can be completed here. Else NULL, and nothing has
 * changed. */
static ob1_receive_t *take_receive(ob1_matcher_t *matcher, const ob1_match_t *match, size_t bytes)
{
    ob1_receive_t *receive = NULL;
    opal_short_acquire(&matcher->lock);
    ob1_posted_t *posted = ob1_matcher_find_taker(matcher, match->source, match->tag);
    if (posted != NULL)
        receive = opal_container_of(posted, ob1_receive_t, posted);
    if (receive != NULL && is_plain(&receive->request)) {
        ob1_matcher_remove_posted(matcher, posted);
        if (opal_is_counted(&ob1_counting))
            opal_count_message(&matcher->received, bytes);
    } else {
        receive = NULL;
    }
    opal_short_release(&matcher->lock);
    return receive;
}

/* opal_btl_client_t.take: an eager message for a receive that is posted. The context tells the
 * lane, so that no frame leads to a communicator that another thread may remove. */
static bool take_frame(unsigned lane, unsigned kind, const void *bytes, size_t length)
{
    ob1_match_t match;
    if (opal_unlikely(kind != OB1_EAGER || length < sizeof match))
        return false;
    memcpy(&match, bytes, sizeof match);
    ob1_matcher_t *matcher =
        ob1_lane_of(match.context) == (int)lane ? matcher_of(match.context) : NULL;
    if (opal_unlikely(matcher == NULL || !is_possible(matcher, &match)))
        return false;
    ob1_receive_t *receive = take_receive(matcher, &match, length - sizeof match);
    if (receive == NULL)
        return false;
    if (opal_is_counted(&ob1_counting))
        ob1_count_received_unlocked(length - sizeof match);
    ob1_deliver_eager(receive, match.source, match.tag, (const char *)bytes + sizeof match,
                      length - sizeof match);
    return true;
}

/* -- start and stop -------------------------------------------------------------------- */

static const opal_btl_client_t client = {
    .receive = receive_frame,
    .take = take_frame,
    .place = ob1_place,
    .placed = ob1_placed,
    .failed = ob1_peer_failed,
    .left = ob1_peer_left,
};

opal_status_t ob1_dispatch_start(void)
{
    return opal_btl_open(OPAL_BTL_MESSAGES, &client);
}

void ob1_dispatch_stop(void)
{
    ob1_early_drop(NULL);
    free(matchers);
    matchers = NULL;
    matcher_count = 0;
}
