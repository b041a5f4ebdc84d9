/* SPDX-License-Identifier: BSD-3-Clause */
/* Events of tools: their data is put together here when a tool wants them (ob1_note_matched and so
 * on of ob1.h look). */
#include <string.h>

#include "ompi/mca/pml/ob1/ob1.h"

static int transport_to(const ob1_peer_t *peer)
{
    return (int)(peer != NULL ? ompi_event_transport_of(peer->btl->ops->name)
                              : OMPI_EVENT_BY_OTHER);
}

static int protocol_of(unsigned kind)
{
    switch ((ob1_kind_t)kind) {
    case OB1_EAGER_SYNC:
        return OMPI_EVENT_EAGER_SYNCHRONOUS;
    case OB1_STREAM:
        return OMPI_EVENT_STREAM;
    case OB1_RTS:
        return OMPI_EVENT_RENDEZVOUS;
    default:
        return OMPI_EVENT_EAGER;
    }
}

static ompi_event_message_t describe(const ob1_match_t *match, const ob1_peer_t *peer,
                                     unsigned kind, size_t bytes)
{
    return (ompi_event_message_t){
        .context = match->context / OMPI_CONTEXT_COUNT,
        .source = match->source,
        .tag = match->tag,
        .traffic = (int)(match->context % OMPI_CONTEXT_COUNT),
        .transport = transport_to(peer),
        .protocol = protocol_of(kind),
        .bytes = (MPI_Count)bytes,
    };
}

static ob1_match_t match_of(const ob1_receive_t *receive, int source, int tag)
{
    return (ob1_match_t){
        .context = ompi_comm_wire_context(receive->comm, receive->context),
        .source = source,
        .tag = tag,
    };
}

static const ob1_peer_t *peer_at(const ob1_receive_t *receive, int source)
{
    return ob1_known_peer(ompi_comm_process(receive->comm, source));
}

/* For mpi_trace. */
static void trace_matched(const ob1_receive_t *receive, const ob1_match_t *match, size_t bytes)
{
    opal_profile_matched(&(opal_profile_message_t){
        .peer = ompi_comm_process(receive->comm, match->source),
        .context = match->context,
        .tag = match->tag,
        .bytes = bytes,
    });
}

void ob1_raise_matched_eager(const ob1_receive_t *receive, int source, int tag, size_t bytes)
{
    ob1_match_t match = match_of(receive, source, tag);
    if (opal_profile_traces)
        trace_matched(receive, &match, bytes);
    if (!ompi_event_is_wanted(OMPI_EVENT_MESSAGE_MATCHED))
        return;
    ompi_event_message_t data = describe(&match, peer_at(receive, source), OB1_EAGER, bytes);
    ompi_event_raise(OMPI_EVENT_MESSAGE_MATCHED, OMPI_EVENT_LOCKED, receive->comm, &data);
}

void ob1_raise_matched(const ob1_receive_t *receive, unsigned kind, const void *frame,
                       size_t length)
{
    ob1_match_t match;
    memcpy(&match, frame, sizeof match);
    size_t bytes = ob1_message_bytes(kind, frame, length);
    if (opal_profile_traces)
        trace_matched(receive, &match, bytes);
    if (!ompi_event_is_wanted(OMPI_EVENT_MESSAGE_MATCHED))
        return;
    ompi_event_message_t data = describe(&match, peer_at(receive, match.source), kind, bytes);
    ompi_event_raise(OMPI_EVENT_MESSAGE_MATCHED, OMPI_EVENT_LOCKED, receive->comm, &data);
}

void ob1_raise_unexpected(const opal_process_t *from, const ob1_match_t *match, unsigned kind,
                          size_t bytes)
{
    ompi_event_message_t data = describe(match, ob1_known_peer(from->index), kind, bytes);
    ompi_event_raise(OMPI_EVENT_MESSAGE_UNEXPECTED, OMPI_EVENT_LOCKED, ompi_comm_find(data.context),
                     &data);
}

void ob1_raise_rndv_sent(ompi_event_t event, const ob1_send_t *send)
{
    ompi_event_rendezvous_t data = {
        .context = send->match.context / OMPI_CONTEXT_COUNT,
        .peer = send->dest,
        .tag = send->match.tag,
        .traffic = (int)(send->match.context % OMPI_CONTEXT_COUNT),
        .transport = transport_to(send->peer),
        .side = OMPI_EVENT_SENDER,
        .bytes = (MPI_Count)send->bytes,
        .error = send->request.status.MPI_ERROR,
    };
    ompi_event_raise(event, OMPI_EVENT_LOCKED, send->request.comm, &data);
}

void ob1_raise_rndv_received(ompi_event_t event, const ob1_receive_t *receive, int error)
{
    const MPI_Status *status = &receive->request.status;
    ompi_event_rendezvous_t data = {
        .context = receive->comm->context,
        .peer = status->MPI_SOURCE,
        .tag = status->MPI_TAG,
        .traffic = (int)receive->context,
        .transport = transport_to(peer_at(receive, status->MPI_SOURCE)),
        .side = OMPI_EVENT_RECEIVER,
        .bytes = (MPI_Count)receive->wanted,
        .error = error,
    };
    ompi_event_raise(event, OMPI_EVENT_LOCKED, receive->comm, &data);
}
