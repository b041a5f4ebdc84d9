/* SPDX-License-Identifier: BSD-3-Clause */
/* What tools are told of a collective (ompi/tool/event_point.h). */
#include "ompi/handle/handle.h"
#include "ompi/mca/coll/coll.h"
#include "ompi/topology/topology.h"

/* How many blocks the side has, in the v and w forms. */
static size_t blocks_of(const ompi_coll_call_t *call, bool is_sent)
{
    int in, out;
    if (call->kind < OMPI_NEIGHBOR_ALLGATHER)
        return (size_t)ompi_comm_peers(call->comm);
    ompi_topology_degrees(call->comm->topology, call->comm->rank, &in, &out);
    return (size_t)(is_sent ? out : in);
}

static MPI_Count bytes_of(const ompi_coll_side_t *side, size_t blocks)
{
    MPI_Count bytes = 0;
    if (side->counts.items == NULL)
        return (MPI_Count)ompi_datatype_bytes(side->type, (size_t)side->count);
    for (size_t i = 0; i < blocks; i++) {
        const ompi_datatype_t *type =
            side->types != NULL ? ompi_handle_object(side->types[i]) : side->type;
        bytes += (MPI_Count)ompi_datatype_bytes(type, (size_t)ompi_ints_at(side->counts, i));
    }
    return bytes;
}

/* Whether the call names data there: a rank that is not the root may have none. */
static bool has_data(const ompi_coll_side_t *side)
{
    return side->buffer != MPI_IN_PLACE && (side->type != NULL || side->types != NULL);
}

ompi_event_collective_t ompi_coll_describe(const ompi_coll_call_t *call, ompi_event_form_t form)
{
    bool is_sent = has_data(&call->send);
    const ompi_coll_side_t *side = is_sent ? &call->send : &call->recv;
    return (ompi_event_collective_t){
        .context = call->comm->context,
        .operation = (int)call->kind,
        .form = (int)form,
        .root = call->root,
        .bytes = has_data(side) ? bytes_of(side, blocks_of(call, is_sent)) : 0,
    };
}
