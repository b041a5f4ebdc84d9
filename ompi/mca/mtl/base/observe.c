/* SPDX-License-Identifier: BSD-3-Clause */
/* What tools see of messages that a network matches: counts, and events. */
#include "ompi/mca/mtl/mtl.h"

#include "opal/profile/profile.h"
#include "ompi/mca/pml/pml.h"
#include "ompi/tool/event_point.h"

ompi_mtl_counts_t ompi_mtl_counts;
opal_demand_t ompi_mtl_counting;

/* Out of line: a tool has asked for it. */
OPAL_NOINLINE static void raise_matched(const ompi_mtl_request_t *receive,
                                        const ompi_mtl_arrival_t *arrival)
{
    ompi_event_message_t data = {
        .context = receive->route.comm->context,
        .source = arrival->source,
        .tag = arrival->tag,
        .traffic = (int)receive->route.context,
        .transport = OMPI_EVENT_BY_NETWORK,
        .protocol = arrival->is_long ? OMPI_EVENT_RENDEZVOUS : OMPI_EVENT_EAGER,
        .bytes = (MPI_Count)arrival->bytes,
    };
    ompi_event_raise(OMPI_EVENT_MESSAGE_MATCHED, OMPI_EVENT_LOCKED, receive->route.comm, &data);
}

static void trace_matched(const ompi_mtl_request_t *receive, const ompi_mtl_arrival_t *arrival)
{
    opal_profile_matched(&(opal_profile_message_t){
        .peer = ompi_comm_process(receive->route.comm, arrival->source),
        .context = ompi_comm_wire_context(receive->route.comm, receive->route.context),
        .tag = arrival->tag,
        .bytes = arrival->bytes,
    });
}

void ompi_mtl_matched(const ompi_mtl_request_t *receive, const ompi_mtl_arrival_t *arrival)
{
    if (opal_unlikely(opal_profile_traces))
        trace_matched(receive, arrival);
    if (opal_is_counted(&ompi_mtl_counting)) {
        opal_count_message(&ompi_mtl_counts.received, arrival->bytes);
        opal_count_message(&receive->route.comm->network_received, arrival->bytes);
    }
    if (ompi_event_is_wanted(OMPI_EVENT_MESSAGE_MATCHED))
        raise_matched(receive, arrival);
}

static void raise_rendezvous(ompi_event_t event, const ompi_mtl_request_t *request, int peer,
                             int tag, size_t bytes)
{
    ompi_event_rendezvous_t data = {
        .context = request->route.comm->context,
        .peer = peer,
        .tag = tag,
        .traffic = (int)request->route.context,
        .transport = OMPI_EVENT_BY_NETWORK,
        .side = request->is_send ? OMPI_EVENT_SENDER : OMPI_EVENT_RECEIVER,
        .bytes = (MPI_Count)bytes,
        .error = request->base.status.MPI_ERROR,
    };
    ompi_event_raise(event, OMPI_EVENT_LOCKED, request->route.comm, &data);
}

void ompi_mtl_rendezvous_begun(const ompi_mtl_request_t *request, int peer, int tag, size_t bytes)
{
    if (opal_is_counted(&ompi_mtl_counting) && request->is_send)
        opal_count_message(&ompi_mtl_counts.rendezvous, bytes);
    if (ompi_event_is_wanted(OMPI_EVENT_RENDEZVOUS_BEGUN))
        raise_rendezvous(OMPI_EVENT_RENDEZVOUS_BEGUN, request, peer, tag, bytes);
}

void ompi_mtl_rendezvous_ended(const ompi_mtl_request_t *request, int peer, int tag, size_t bytes)
{
    if (ompi_event_is_wanted(OMPI_EVENT_RENDEZVOUS_ENDED))
        raise_rendezvous(OMPI_EVENT_RENDEZVOUS_ENDED, request, peer, tag, bytes);
}

void ompi_mtl_met(unsigned process)
{
    ompi_event_connected_t data = {.rank = (int)process, .transport = OMPI_EVENT_BY_NETWORK};
    if (ompi_event_is_wanted(OMPI_EVENT_PEER_CONNECTED))
        ompi_event_raise(OMPI_EVENT_PEER_CONNECTED, OMPI_EVENT_LOCKED, NULL, &data);
}
