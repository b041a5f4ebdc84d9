/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Frames where a network carries the messages (pml/cm): each frame is a message, in a context that
 * nothing else uses. It goes over the network also to the ranks of this node, whose memory other
 * components access. To keep the transports open for frames would be wrong: by their end the ranks
 * of this node learn that this rank is in MPI_Finalize, where it waits for them.
 *
 * It begins with the first window, so programs without windows pay nothing. A number of receives
 * from any source is posted then. A message matches the first of them that is free, so frames are
 * delivered in the order of the receives, which is that in which each process has sent them. A
 * frame that comes before the receives are posted waits in the network.
 *
 * A frame is sent from a buffer of its own, of which a process gets a limited number at a time. A
 * process whose network refuses a frame counts as dead.
 *
 * Threading: under ompi_lock.
 */
#include <stdlib.h>

#include "opal/mca/btl/btl.h"
#include "opal/progress/descriptor.h"
#include "opal/progress/wait.h"
#include "opal/util/log.h"
#include "opal/util/pool.h"
#include "ompi/mca/osc/messages/messages.h"
#include "ompi/request/status.h"

enum {
    MESSAGE_BYTES = 16000, /* providers send so much without asking the receiver */
    RECEIVES = 32,         /* posted; what comes in excess is buffered by the provider */
    MOST_SENDS = 32,       /* under way to one process */
    MOST_FAILURES = 1000,  /* of receives, in a row */
    TAG = 0,               /* the context has no other */
};

typedef struct message {
    uint64_t kind;
    unsigned char frame[MESSAGE_BYTES - sizeof(uint64_t)];
} message_t;

enum { HEAD_BYTES = offsetof(message_t, frame) };

/* A process that frames are sent to. */
typedef struct frame_peer {
    opal_btl_peer_t base;   /* first: messages_peer_t has its address */
    opal_list_node_t node;  /* of all peers */
    unsigned sends;         /* that have begun and not ended, and the one below */
    struct send *postponed; /* there was no memory to begin it; NULL: none */
    opal_timer_t failure;   /* set: a failure is reported by the next progress */
} frame_peer_t;

typedef struct send {
    frame_peer_t *peer;
    size_t bytes;
    message_t message;
} send_t;

typedef struct receive {
    ompi_request_t *request;
    message_t message;
} receive_t;

static opal_list_t peers = {{&peers.head, &peers.head}};
static opal_pool_t sends = {.bytes = sizeof(send_t)};
static unsigned postponed_count;
static receive_t *receives; /* NULL: not started */
static unsigned next;       /* the receive whose frame is delivered next */
static unsigned failures;   /* of receives in a row */

/* The rank is the index of the process. */
static ompi_route_t route_of(int rank)
{
    return (ompi_route_t){&ompi_comm_processes, OMPI_CONTEXT_PARTITIONED, rank, TAG};
}

/* -- sending --------------------------------------------------------------------------------- */

static void report_failure(opal_timer_t *timer)
{
    frame_peer_t *peer = opal_container_of(timer, frame_peer_t, failure);
    if (peer->base.is_unreachable)
        return;
    opal_btl_failures++;
    messages_lose(peer->base.process);
}

static void end(send_t *send, int error)
{
    frame_peer_t *peer = send->peer;
    if (error != MPI_SUCCESS && !peer->failure.is_set && !peer->base.is_unreachable)
        opal_timer_set(&peer->failure, 0);
    peer->sends--;
    opal_pool_give(&sends, send);
}

static void sent(ompi_request_t *request, void *context)
{
    end(context, request->status.MPI_ERROR);
    opal_wait_poke(); /* another thread may have frames for this room, and sleep */
}

/* False: there is no memory now. */
static bool begin(send_t *send)
{
    ompi_route_t route = route_of((int)send->peer->base.process->index);
    ompi_data_t data = {&send->message, HEAD_BYTES + send->bytes, ompi_datatype_of(MPI_BYTE)};
    ompi_request_t *request = NULL;
    int error = ompi_pml->network->isend(&route, &data, OMPI_SEND_STANDARD, &request);
    if (error == MPI_ERR_NO_MEM)
        return false;
    if (error == MPI_SUCCESS && !ompi_request_is_done(request)) {
        request->on_complete = sent;
        request->on_complete_context = send;
    } else {
        end(send, error == MPI_SUCCESS ? request->status.MPI_ERROR : error);
    }
    if (error == MPI_SUCCESS)
        ompi_request_free(&request);
    return true;
}

static void *reserve(opal_btl_peer_t *base, size_t length OPAL_UNUSED)
{
    frame_peer_t *peer = opal_container_of(base, frame_peer_t, base);
    if (peer->sends == MOST_SENDS || peer->postponed != NULL)
        return NULL;
    send_t *send = opal_pool_take(&sends);
    if (send == NULL) {
        opal_btl_retry_soon();
        return NULL;
    }
    send->peer = peer;
    return send->message.frame;
}

static void commit(opal_btl_peer_t *base, void *room, unsigned kind, size_t length)
{
    frame_peer_t *peer = opal_container_of(base, frame_peer_t, base);
    send_t *send = opal_container_of(room, send_t, message.frame);
    send->message.kind = kind;
    send->bytes = length;
    peer->sends++;
    if (begin(send))
        return;
    peer->postponed = send;
    postponed_count++;
}

static int begin_postponed(void)
{
    int begun = 0;
    for (opal_list_node_t *node = opal_list_first(&peers); node != NULL && postponed_count > 0;
         node = opal_list_next(&peers, node)) {
        frame_peer_t *peer = opal_container_of(node, frame_peer_t, node);
        if (peer->postponed == NULL || !begin(peer->postponed))
            continue;
        peer->postponed = NULL;
        postponed_count--;
        begun++;
    }
    if (postponed_count > 0)
        opal_btl_retry_soon();
    return begun;
}

static const opal_btl_ops_t frame_ops = {
    .name = "pml",
    .max_frame_bytes = sizeof(((message_t *)NULL)->frame),
    .reserve = reserve,
    .commit = commit,
};

opal_btl_peer_t *messages_connect(opal_process_t *process)
{
    if (ompi_pml->network == NULL)
        return opal_btl_connect(process);
    frame_peer_t *peer = calloc(1, sizeof *peer);
    if (peer == NULL)
        return NULL;
    peer->base = (opal_btl_peer_t){.ops = &frame_ops, .process = process};
    peer->failure.expired = report_failure;
    opal_list_append(&peers, &peer->node);
    return &peer->base;
}

/* -- receiving ------------------------------------------------------------------------------- */

/* Another thread may have completed it, while the one that delivers frames sleeps. */
static void received(ompi_request_t *request OPAL_UNUSED, void *context OPAL_UNUSED)
{
    opal_wait_poke();
}

static void start_receive(receive_t *receive)
{
    receive->request->on_complete = received;
    ompi_request_start(receive->request); /* a failure completes it */
}

/* False: not now. */
static bool deliver(const receive_t *receive)
{
    const MPI_Status *status = &receive->request->status;
    uint64_t bytes = ompi_status_bytes(status);
    if (status->MPI_ERROR != MPI_SUCCESS) {
        if (++failures == MOST_FAILURES)
            opal_log_error("the network delivers nothing of one-sided communication any more");
        return true;
    }
    failures = 0;
    if (bytes < HEAD_BYTES)
        return true;
    opal_process_t *from =
        opal_process((uint32_t)ompi_comm_process(&ompi_comm_processes, status->MPI_SOURCE));
    return messages_receive(from, (unsigned)receive->message.kind, receive->message.frame,
                            bytes - HEAD_BYTES);
}

static int poll(void *state OPAL_UNUSED)
{
    int delivered = postponed_count > 0 ? begin_postponed() : 0;
    for (unsigned left = RECEIVES; left > 0 && ompi_request_is_done(receives[next].request);
         left--) {
        receive_t *receive = &receives[next];
        if (failures == MOST_FAILURES)
            break;
        if (!deliver(receive)) {
            opal_btl_retry_soon();
            break;
        }
        delivered += failures == 0;
        next = (next + 1) % RECEIVES;
        start_receive(receive);
    }
    return delivered;
}

/* -- start and end --------------------------------------------------------------------------- */

static void end_receive(receive_t *receive)
{
    if (receive->request == NULL)
        return;
    receive->request->on_complete = NULL;
    if (!ompi_request_is_done(receive->request))
        receive->request->ops->cancel(receive->request);
    while (!ompi_request_is_done(receive->request))
        opal_progress();
    receive->request->active = false;
    ompi_request_release(receive->request);
}

/* An MPI error code. */
int messages_frames_start(void)
{
    const ompi_pml_ops_t *network = ompi_pml->network;
    ompi_route_t route = route_of(MPI_ANY_SOURCE);
    if (network == NULL || receives != NULL)
        return MPI_SUCCESS;
    receives = calloc(RECEIVES, sizeof *receives);
    int error = receives != NULL && opal_progress_add(poll, NULL) == OPAL_SUCCESS ? MPI_SUCCESS
                                                                                  : MPI_ERR_NO_MEM;
    next = failures = 0;
    for (unsigned i = 0; i < RECEIVES && error == MPI_SUCCESS; i++) {
        ompi_data_t data = {&receives[i].message, MESSAGE_BYTES, ompi_datatype_of(MPI_BYTE)};
        error = network->recv_init(&route, &data, &receives[i].request);
        if (error == MPI_SUCCESS)
            start_receive(&receives[i]);
    }
    if (error != MPI_SUCCESS)
        messages_frames_stop();
    return error;
}

void messages_frames_stop(void)
{
    opal_progress_remove(poll, NULL);
    for (unsigned i = 0; receives != NULL && i < RECEIVES; i++)
        end_receive(&receives[i]);
    free(receives);
    receives = NULL;
    for (opal_list_node_t *node; (node = opal_list_first(&peers)) != NULL;) {
        frame_peer_t *peer = opal_container_of(node, frame_peer_t, node);
        opal_list_remove(node);
        opal_timer_cancel(&peer->failure);
        free(peer->postponed);
        free(peer);
    }
    postponed_count = 0;
    opal_pool_empty(&sends);
}
