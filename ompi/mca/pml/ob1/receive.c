/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The receiving side. A receive meets its message in one of two ways: the message was here first
 * (it waits as an ob1_message_t that holds its first frame), or the receive was. Either way
 * `take_frame` goes on with the first frame.
 */
#include <limits.h>
#include <stdlib.h>
#include <string.h>

#include "opal/runtime/wait.h"
#include "opal/util/log.h"
#include "opal/util/pool.h"
#include "opal/util/text.h"
#include "ompi/mca/pml/ob1/ob1.h"
#include "ompi/request/status.h"

/* -- requests ------------------------------------------------------------------------ */

static opal_pool_t receives = {.bytes = sizeof(ob1_receive_t)};

static void destroy_receive(ompi_object_t *head)
{
    ob1_receive_t *receive = opal_container_of(head, ob1_receive_t, request.head);
    ompi_datatype_release(receive->data.type);
    opal_pool_give(&receives, receive);
}

static int cancel_receive(ompi_request_t *request)
{
    ob1_receive_t *receive = opal_container_of(request, ob1_receive_t, request);
    if (!receive->is_posted)
        return MPI_SUCCESS; /* it has met its message, and will end with it */
    ob1_comm_t *own = receive->comm->pml;
    ob1_matcher_remove_posted(&own->matchers[receive->context], &receive->posted);
    receive->is_posted = false;
    ompi_status_set_cancelled(&request->status, true);
    ompi_request_complete(request);
    return MPI_SUCCESS;
}

static int restart_receive(ompi_request_t *request);

static const ompi_request_ops_t receive_request_ops = {
    .start = restart_receive,
    .cancel = cancel_receive,
};

/* All but the request itself. */
static void init_receive(ob1_receive_t *receive, const ompi_route_t *from, const ompi_data_t *data)
{
    receive->is_posted = false;
    receive->comm = from->comm;
    receive->context = from->context;
    receive->posted.source = from->rank;
    receive->posted.tag = from->tag;
    receive->data = *data;
    receive->capacity = ompi_datatype_bytes(data->type, data->count);
}

static ob1_receive_t *create_receive(const ompi_route_t *from, const ompi_data_t *data)
{
    ob1_receive_t *receive = opal_pool_take(&receives);
    if (receive == NULL)
        return NULL;
    ompi_request_init(&receive->request, &receive_request_ops, from->comm, destroy_receive);
    init_receive(receive, from, data);
    ompi_datatype_retain(data->type);
    return receive;
}

/* The receive knows its message: who sent it and how much of it will be in the buffer. */
static void meet(ob1_receive_t *receive, const ob1_match_t *match, size_t total)
{
    bool fits = total <= receive->capacity;
    receive->is_posted = false;
    receive->wanted = fits ? total : receive->capacity;
    receive->received = 0;
    ompi_status_set(&receive->request.status, match->source, match->tag,
                    fits ? MPI_SUCCESS : MPI_ERR_TRUNCATE, receive->wanted);
}

static void finish_receive(ob1_receive_t *receive)
{
    ompi_request_complete(&receive->request);
}

/* -- taking messages ----------------------------------------------------------------- */

static void take_eager(ob1_receive_t *receive, const ob1_match_t *match, const void *payload,
                       size_t bytes)
{
    meet(receive, match, bytes);
    ompi_datatype_unpack(receive->data.type, receive->data.count, receive->data.buffer, 0, payload,
                         receive->wanted);
    finish_receive(receive);
}

/* Copies the next part; the segments on both sides are cut to the same size. */
static ssize_t get_part(opal_btl_peer_t *btl, const ob1_receive_t *receive,
                        const struct iovec *from, size_t from_count)
{
    struct iovec to[64];
    size_t bytes = 0;
    size_t to_count =
        ompi_datatype_segments(receive->data.type, receive->data.count, receive->data.buffer,
                               receive->received, to, OPAL_COUNT_OF(to), &bytes);
    size_t left = receive->wanted - receive->received;
    /* The buffer may be larger than the message. */
    for (; bytes > left; to_count--) {
        size_t over = bytes - left;
        if (to[to_count - 1].iov_len > over) {
            to[to_count - 1].iov_len -= over;
            break;
        }
        bytes -= to[to_count - 1].iov_len;
    }
    if (bytes > left)
        bytes = left;

    struct iovec source[OB1_MAX_SEGMENTS];
    size_t skip = receive->received, count = 0, need = bytes;
    for (size_t i = 0; i < from_count && need > 0; i++) {
        if (skip >= from[i].iov_len) {
            skip -= from[i].iov_len;
            continue;
        }
        size_t length = from[i].iov_len - skip < need ? from[i].iov_len - skip : need;
        source[count++] = (struct iovec){(char *)from[i].iov_base + skip, length};
        need -= length;
        skip = 0;
    }
    return btl->ops->get(btl, to, to_count, source, count);
}

/* True: everything wanted is here. False: the data must be asked for. */
static bool get_all(ob1_peer_t *peer, ob1_receive_t *receive, const ob1_rendezvous_t *head)
{
    struct iovec from[OB1_MAX_SEGMENTS];
    const opal_btl_ops_t *ops = peer->btl->ops;
    if (head->segment_count == 0 || ops->get == NULL ||
        (ops->get_pays != NULL && !ops->get_pays(peer->btl, head->total, true)))
        return false;
    for (uint32_t i = 0; i < head->segment_count; i++)
        from[i] =
            (struct iovec){(void *)(uintptr_t)head->segments[i].address, head->segments[i].length};
    while (receive->received < receive->wanted) {
        ssize_t got = get_part(peer->btl, receive, from, head->segment_count);
        if (got <= 0) {
            receive->received = 0;
            return false;
        }
        receive->received += (size_t)got;
    }
    return true;
}

/* What has arrived of a stream; the rest will follow. */
static void take_stream(ob1_receive_t *receive, ob1_peer_t *peer, const void *bytes, size_t length)
{
    ob1_stream_head_t head;
    memcpy(&head, bytes, sizeof head);
    size_t arrived = length - sizeof head;
    meet(receive, &head.match, head.total);
    ompi_datatype_unpack(receive->data.type, receive->data.count, receive->data.buffer, 0,
                         (const char *)bytes + sizeof head,
                         arrived < receive->wanted ? arrived : receive->wanted);
    if (arrived == head.total) {
        finish_receive(receive);
        return;
    }
    if (opal_unlikely(peer->is_dead)) {
        ob1_receive_fail(receive);
        return;
    }
    peer->stream.receive = receive;
    peer->stream.message = NULL;
}

static void take_rendezvous(ob1_receive_t *receive, ob1_peer_t *peer, const ob1_rendezvous_t *head)
{
    meet(receive, &head->match, head->total);
    if (receive->wanted == 0 || get_all(peer, receive, head)) {
        ob1_ack_t ack = {head->sender};
        ob1_peer_tell(peer, OB1_PULL_DONE, &ack, sizeof ack);
        finish_receive(receive);
        return;
    }
    if (opal_unlikely(peer->is_dead)) {
        ob1_receive_fail(receive);
        return;
    }
    opal_list_append(&peer->receiving, &receive->posted.node);
    ob1_clear_t clear = {head->sender, (uint64_t)(uintptr_t)receive, receive->wanted};
    ob1_peer_tell(peer, OB1_CLEAR, &clear, sizeof clear);
}

/* A receive and the first frame of its message have met. */
static void take_frame(ob1_receive_t *receive, unsigned rank, unsigned kind, const void *bytes,
                       size_t length)
{
    ob1_match_t match;
    memcpy(&match, bytes, sizeof match);
    if (kind == OB1_EAGER) {
        take_eager(receive, &match, (const char *)bytes + sizeof match, length - sizeof match);
        return;
    }
    ob1_peer_t *peer = ob1_peer(rank);
    if (kind == OB1_EAGER_SYNC) {
        ob1_sync_t head;
        memcpy(&head, bytes, sizeof head);
        ob1_ack_t ack = {head.sender};
        ob1_peer_tell(peer, OB1_MATCH_ACK, &ack, sizeof ack);
        take_eager(receive, &match, (const char *)bytes + sizeof head, length - sizeof head);
    } else if (kind == OB1_STREAM) {
        take_stream(receive, peer, bytes, length);
    } else {
        ob1_rendezvous_t head;
        memcpy(&head, bytes, length);
        take_rendezvous(receive, peer, &head);
    }
}

/* -- probes that wait ---------------------------------------------------------------- */

typedef struct waiting_probe {
    opal_list_node_t node;
    atomic_int done;
} waiting_probe_t;

static opal_list_t waiting_probes = {{&waiting_probes.head, &waiting_probes.head}};

/* Something has arrived that nobody had asked for: whoever probes looks again. */
void ob1_wake_probes(void)
{
    for (opal_list_node_t *node = opal_list_first(&waiting_probes); node != NULL;
         node = opal_list_next(&waiting_probes, node))
        opal_wait_signal(&opal_container_of(node, waiting_probe_t, node)->done);
}

/* -- arriving ------------------------------------------------------------------------ */

/* Keeps a frame; of a stream, with room for what will follow. */
static ob1_message_t *copy_frame(unsigned rank, unsigned kind, const void *bytes, size_t length)
{
    size_t room = length;
    if (kind == OB1_STREAM) {
        ob1_stream_head_t head;
        memcpy(&head, bytes, sizeof head);
        room = sizeof head + head.total;
    }
    ob1_message_t *message = opal_xmalloc(sizeof *message + room);
    message->comm = NULL;
    message->rank = rank;
    message->kind = kind;
    message->length = length;
    memcpy(message->frame, bytes, length);
    if (kind == OB1_STREAM)
        ob1_peer(rank)->stream.message = message;
    return message;
}

void ob1_message_drop(ob1_message_t *message)
{
    if (message->kind == OB1_STREAM && ob1_peer(message->rank)->stream.message == message)
        ob1_peer(message->rank)->stream.message = NULL;
    free(message);
}

static void keep(ob1_matcher_t *matcher, ob1_message_t *message, const ob1_match_t *match)
{
    message->arrived.source = match->source;
    message->arrived.tag = match->tag;
    ob1_matcher_keep(matcher, &message->arrived);
    ob1_wake_probes();
}

/* Whether a message is the one of this sender's request. */
static bool is_of_request(const ob1_arrived_t *arrived, const void *context)
{
    const ob1_message_t *message = opal_container_of(arrived, ob1_message_t, arrived);
    const ob1_sync_t *name = context;
    ob1_rendezvous_t rendezvous;
    ob1_sync_t sync;
    if (message->kind == OB1_EAGER_SYNC) {
        memcpy(&sync, message->frame, sizeof sync);
        return sync.sender == name->sender;
    }
    if (message->kind == OB1_RENDEZVOUS) {
        memcpy(&rendezvous, message->frame, offsetof(ob1_rendezvous_t, segments));
        return rendezvous.sender == name->sender;
    }
    return false;
}

/* The sender wants a message back. It is one that waits for a receive, or too late. */
static void give_back(ob1_matcher_t *matcher, unsigned rank, const void *bytes)
{
    ob1_sync_t name;
    memcpy(&name, bytes, sizeof name);
    ob1_arrived_t *arrived = ob1_matcher_search_arrived(matcher, name.match.source, name.match.tag,
                                                        is_of_request, &name);
    if (arrived == NULL)
        return;
    ob1_matcher_remove_arrived(matcher, arrived);
    ob1_message_drop(opal_container_of(arrived, ob1_message_t, arrived));
    ob1_ack_t ack = {name.sender};
    ob1_peer_tell(ob1_peer(rank), OB1_CANCELLED, &ack, sizeof ack);
}

static void arrive(ob1_matcher_t *matcher, unsigned rank, unsigned kind, const void *bytes,
                   size_t length, const ob1_match_t *match)
{
    if (opal_unlikely(kind == OB1_CANCEL)) {
        give_back(matcher, rank, bytes);
        return;
    }
    ob1_posted_t *posted = ob1_matcher_take_posted(matcher, match->source, match->tag);
    if (posted != NULL)
        take_frame(opal_container_of(posted, ob1_receive_t, posted), rank, kind, bytes, length);
    else
        keep(matcher, copy_frame(rank, kind, bytes, length), match);
}

/* The first part of a stream: for now nobody gets the others. */
static void begin_stream(unsigned rank, const void *bytes, size_t length)
{
    ob1_stream_head_t head;
    memcpy(&head, bytes, sizeof head);
    ob1_peer(rank)->stream = (ob1_stream_t){.arrived = length - sizeof head, .total = head.total};
}

static void handle_stream_part(unsigned rank, const void *bytes, size_t length)
{
    ob1_stream_t *stream = &ob1_peer(rank)->stream;
    ob1_receive_t *receive = stream->receive;
    ob1_message_t *message = stream->message;
    if (receive != NULL && stream->arrived < receive->wanted) {
        size_t fits = receive->wanted - stream->arrived;
        ompi_datatype_unpack(receive->data.type, receive->data.count, receive->data.buffer,
                             stream->arrived, bytes, length < fits ? length : fits);
    } else if (message != NULL) {
        memcpy(message->frame + message->length, bytes, length);
        message->length += length;
    }
    stream->arrived += length;
    if (stream->arrived < stream->total)
        return;
    *stream = (ob1_stream_t){0};
    if (receive != NULL)
        finish_receive(receive);
}

static void handle_fragment(const void *bytes, size_t length)
{
    ob1_fragment_t head;
    memcpy(&head, bytes, sizeof head);
    ob1_receive_t *receive = (ob1_receive_t *)(uintptr_t)head.receiver;
    ompi_datatype_unpack(receive->data.type, receive->data.count, receive->data.buffer, head.offset,
                         (const char *)bytes + sizeof head, length - sizeof head);
    receive->received += length - sizeof head;
    if (receive->received == receive->wanted) {
        opal_list_remove(&receive->posted.node);
        finish_receive(receive);
    }
}

void ob1_handle_frame(unsigned rank, unsigned kind, const void *bytes, size_t length)
{
    switch ((ob1_kind_t)kind) {
    case OB1_EAGER:
    case OB1_EAGER_SYNC:
    case OB1_STREAM:
    case OB1_RENDEZVOUS:
    case OB1_CANCEL: {
        ob1_match_t match;
        if (kind == OB1_STREAM)
            begin_stream(rank, bytes, length);
        memcpy(&match, bytes, sizeof match);
        ob1_matcher_t *matcher = ob1_matcher_of(match.context);
        if (opal_likely(matcher != NULL))
            arrive(matcher, rank, kind, bytes, length, &match);
        else
            ob1_keep_early(copy_frame(rank, kind, bytes, length), match.context);
        return;
    }
    case OB1_MATCH_ACK:
    case OB1_PULL_DONE:
        ob1_send_acknowledged(bytes);
        return;
    case OB1_CLEAR:
        ob1_send_clear(bytes);
        return;
    case OB1_CANCELLED:
        ob1_send_cancelled(bytes);
        return;
    case OB1_FRAGMENT:
        handle_fragment(bytes, length);
        return;
    case OB1_STREAM_PART:
        handle_stream_part(rank, bytes, length);
        return;
    }
    opal_log_error("pml/ob1: rank %u sent a frame of the unknown kind %u (%zu bytes)", rank, kind,
                   length);
}

void ob1_replay_early(ob1_matcher_t *matcher, ob1_message_t *message)
{
    ob1_match_t match;
    memcpy(&match, message->frame, sizeof match);
    if (message->kind == OB1_CANCEL) {
        give_back(matcher, message->rank, message->frame);
        free(message);
        return;
    }
    ob1_posted_t *posted = ob1_matcher_take_posted(matcher, match.source, match.tag);
    if (posted == NULL) {
        keep(matcher, message, &match);
        return;
    }
    take_frame(opal_container_of(posted, ob1_receive_t, posted), message->rank, message->kind,
               message->frame, message->length);
    free(message);
}

/* -- receiving ----------------------------------------------------------------------- */

static ob1_matcher_t *matcher_for(const ompi_route_t *from)
{
    ob1_comm_t *own = from->comm->pml;
    return &own->matchers[from->context];
}

/* The message that the receive would take, out of the matching; NULL: none is here. */
static ob1_message_t *take_arrived(const ompi_route_t *from)
{
    ob1_matcher_t *matcher = matcher_for(from);
    ob1_arrived_t *arrived = ob1_matcher_find_arrived(matcher, from->rank, from->tag);
    if (arrived == NULL)
        return NULL;
    ob1_matcher_remove_arrived(matcher, arrived);
    return opal_container_of(arrived, ob1_message_t, arrived);
}

static void start_receive(ob1_receive_t *receive, const ompi_route_t *from)
{
    ob1_message_t *message = take_arrived(from);
    if (message == NULL && opal_unlikely(ob1_is_hopeless(from->comm, from->rank))) {
        ob1_receive_fail(receive);
        return;
    }
    if (message == NULL) {
        receive->is_posted = true;
        ob1_matcher_post(matcher_for(from), &receive->posted);
        return;
    }
    take_frame(receive, message->rank, message->kind, message->frame, message->length);
    free(message);
}

int ob1_irecv(const ompi_route_t *from, const ompi_data_t *data, ompi_request_t **request)
{
    ob1_receive_t *receive = create_receive(from, data);
    if (receive == NULL)
        return MPI_ERR_NO_MEM;
    start_receive(receive, from);
    *request = &receive->request;
    return MPI_SUCCESS;
}

static int restart_receive(ompi_request_t *request)
{
    ob1_receive_t *receive = opal_container_of(request, ob1_receive_t, request);
    ompi_route_t from = {receive->comm, receive->context, receive->posted.source,
                         receive->posted.tag};
    ompi_status_set_empty(&request->status); /* of the last time: it may have been cancelled */
    start_receive(receive, &from);
    return MPI_SUCCESS;
}

int ob1_recv_init(const ompi_route_t *from, const ompi_data_t *data, ompi_request_t **request)
{
    ob1_receive_t *receive = create_receive(from, data);
    if (receive == NULL)
        return MPI_ERR_NO_MEM;
    ompi_request_make_persistent(&receive->request);
    *request = &receive->request;
    return MPI_SUCCESS;
}

/* The request of a blocking receive stands on the stack. */
int ob1_recv(const ompi_route_t *from, const ompi_data_t *data, MPI_Status *status)
{
    ob1_receive_t receive;
    ompi_request_t *request = &receive.request;
    ompi_request_init_bare(request, &receive_request_ops, from->comm);
    init_receive(&receive, from, data);
    start_receive(&receive, from);
    if (!ompi_request_is_done(request))
        ompi_wait_until(&request->done);
    ompi_status_tell(status, &request->status);
    return request->status.MPI_ERROR;
}

void ob1_receives_end(void)
{
    opal_pool_empty(&receives);
}

/* -- probing ------------------------------------------------------------------------- */

/* The bytes of the whole message. */
static size_t message_bytes(const ob1_message_t *message)
{
    ob1_rendezvous_t head;
    ob1_stream_head_t stream;
    switch ((ob1_kind_t)message->kind) {
    case OB1_STREAM:
        memcpy(&stream, message->frame, sizeof stream);
        return stream.total;
    case OB1_EAGER:
        return message->length - sizeof(ob1_match_t);
    case OB1_EAGER_SYNC:
        return message->length - sizeof(ob1_sync_t);
    default:
        memcpy(&head, message->frame, offsetof(ob1_rendezvous_t, segments));
        return head.total;
    }
}

static void destroy_message(ompi_object_t *head)
{
    ob1_message_t *message = opal_container_of(head, ob1_message_t, base.head);
    ompi_communicator_t *comm = message->comm;
    ob1_message_drop(message);
    ompi_object_release(&comm->head);
}

int ob1_iprobe(const ompi_route_t *from, bool *found, ompi_message_t **message, MPI_Status *status)
{
    ob1_matcher_t *matcher = matcher_for(from);
    ob1_arrived_t *arrived = ob1_matcher_find_arrived(matcher, from->rank, from->tag);
    *found = arrived != NULL;
    if (arrived == NULL)
        return MPI_SUCCESS;
    ob1_message_t *seen = opal_container_of(arrived, ob1_message_t, arrived);
    MPI_Status told;
    ompi_status_set(&told, arrived->source, arrived->tag, MPI_SUCCESS, message_bytes(seen));
    ompi_status_tell(status, &told);
    if (message != NULL) {
        ob1_matcher_remove_arrived(matcher, arrived);
        ompi_object_init(&seen->base.head, OMPI_MESSAGE, destroy_message);
        seen->comm = from->comm;
        ompi_object_retain(&seen->comm->head);
        seen->context = from->context;
        *message = &seen->base;
    }
    return MPI_SUCCESS;
}

int ob1_probe(const ompi_route_t *from, ompi_message_t **message, MPI_Status *status)
{
    bool found;
    for (;;) {
        int error = ob1_iprobe(from, &found, message, status);
        if (error != MPI_SUCCESS || found)
            return error;
        if (ob1_is_hopeless(from->comm, from->rank))
            return MPI_ERR_PROC_ABORTED;
        waiting_probe_t probe = {.done = 0};
        opal_list_append(&waiting_probes, &probe.node);
        ompi_wait_until(&probe.done);
        opal_list_remove(&probe.node);
    }
}

int ob1_imrecv(ompi_message_t *base, const ompi_data_t *data, ompi_request_t **request)
{
    ob1_message_t *message = opal_container_of(base, ob1_message_t, base);
    ompi_route_t from = {message->comm, message->context, message->arrived.source,
                         message->arrived.tag};
    ob1_receive_t *receive = create_receive(&from, data);
    if (receive == NULL)
        return MPI_ERR_NO_MEM;
    take_frame(receive, message->rank, message->kind, message->frame, message->length);
    ompi_object_release(&message->base.head);
    *request = &receive->request;
    return MPI_SUCCESS;
}
