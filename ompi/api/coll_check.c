/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What relates several arguments of a collective: where MPI_IN_PLACE may stand, that buffers are
 * two, that counts and types of many blocks are what they should be, that the operator is for the
 * type.
 */
#include "ompi/api/coll.h"

#include "ompi/api/wrapper.h"
#include "ompi/topology/topology.h"

/* Which arguments of a call this rank gives. */
typedef struct roles {
    bool sends, receives;                 /* data of the side is read, written here */
    bool send_in_place, receive_in_place; /* may be MPI_IN_PLACE */
    int sent, received;                   /* blocks of the v and w forms */
} roles_t;

static void set_rooted(const ompi_coll_call_t *call, bool is_root, roles_t *roles)
{
    bool is_inter = ompi_comm_is_inter(call->comm);
    bool is_idle = is_inter && call->root == MPI_PROC_NULL;
    if (call->kind == OMPI_SCATTER || call->kind == OMPI_SCATTERV) {
        roles->sends = is_root;
        roles->receives = !is_idle && !(is_inter && is_root);
        roles->receive_in_place = is_root && !is_inter;
    } else {
        roles->sends = !is_idle && !(is_inter && is_root);
        roles->receives = is_root;
        roles->send_in_place = is_root && !is_inter;
    }
}

static roles_t roles_of(const ompi_coll_call_t *call)
{
    int peers = ompi_comm_peers(call->comm);
    bool is_intra = !ompi_comm_is_inter(call->comm);
    roles_t roles = {true, true, is_intra, false, peers, peers};
    switch (call->kind) {
    case OMPI_BARRIER:
    case OMPI_BCAST:
        roles.sends = roles.receives = false;
        break;
    case OMPI_GATHER:
    case OMPI_GATHERV:
    case OMPI_SCATTER:
    case OMPI_SCATTERV:
    case OMPI_REDUCE:
        set_rooted(call, ompi_comm_is_root(call->comm, call->root), &roles);
        break;
    case OMPI_REDUCE_SCATTER:
        roles.received = call->comm->size;
        break;
    default:
        if (call->kind >= OMPI_NEIGHBOR_ALLGATHER) {
            roles.send_in_place = false;
            ompi_topology_degrees(call->comm->topology, call->comm->rank, &roles.received,
                                  &roles.sent);
        }
    }
    return roles;
}

static int check_blocks(const ompi_coll_side_t *side, int blocks)
{
    if (side->counts.items == NULL && side->types == NULL)
        return MPI_SUCCESS;
    if (blocks > 0 && side->counts.items == NULL)
        return ompi_api_explain(MPI_ERR_ARG, "An array of counts is NULL.");
    for (int i = 0; i < blocks; i++) {
        if (ompi_ints_at(side->counts, (size_t)i) < 0)
            return ompi_api_explain(MPI_ERR_COUNT, "One of the counts is negative.");
    }
    for (int i = 0; side->types != NULL && i < blocks; i++) {
        if (!ompi_datatype_is_committed(ompi_handle_object(side->types[i])))
            return ompi_api_explain(MPI_ERR_TYPE,
                                    "One of the datatypes is none, or not committed.");
    }
    return MPI_SUCCESS;
}

static int check_buffers(const ompi_coll_call_t *call, const roles_t *roles)
{
    const ompi_coll_side_t *send = &call->send, *recv = &call->recv;
    if (roles->sends && send->buffer == MPI_IN_PLACE && !roles->send_in_place)
        return ompi_api_explain(MPI_ERR_BUFFER,
                                "MPI_IN_PLACE is no send buffer of this call here.");
    if (roles->receives && recv->buffer == MPI_IN_PLACE && !roles->receive_in_place)
        return ompi_api_explain(MPI_ERR_BUFFER,
                                "MPI_IN_PLACE is no receive buffer of this call here.");
    bool has_data = call->op != NULL || send->counts.items != NULL || send->count > 0;
    if (recv->counts.items == NULL)
        has_data = has_data && recv->count > 0;
    if (roles->sends && roles->receives && has_data && send->types == NULL &&
        send->buffer == recv->buffer && send->buffer != MPI_BOTTOM)
        return ompi_api_explain(MPI_ERR_BUFFER,
                                "The send buffer is the receive buffer; MPI_IN_PLACE says so.");
    return MPI_SUCCESS;
}

int ompi_api_coll_check(const ompi_coll_call_t *call)
{
    bool is_local = call->kind == OMPI_SCAN || call->kind == OMPI_EXSCAN;
    if (call->kind >= OMPI_NEIGHBOR_ALLGATHER && call->comm->topology == NULL)
        return ompi_api_explain(MPI_ERR_TOPOLOGY, "The communicator has no topology.");
    if (is_local && ompi_comm_is_inter(call->comm))
        return ompi_api_explain(MPI_ERR_COMM, "The call is for intracommunicators only.");
    if (call->op != NULL && !ompi_op_is_valid_for(call->op, call->recv.type))
        return ompi_api_explain(MPI_ERR_OP, "The operation is not for that datatype.");
    roles_t roles = roles_of(call);
    int error = check_buffers(call, &roles);
    if (error == MPI_SUCCESS && roles.sends && call->send.buffer != MPI_IN_PLACE)
        error = check_blocks(&call->send, roles.sent);
    if (error == MPI_SUCCESS && roles.receives)
        error = check_blocks(&call->recv, roles.received);
    return error;
}
