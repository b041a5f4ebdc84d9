/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What relates several arguments of a collective: where MPI_IN_PLACE may stand, that buffers are
 * two, that counts and types of many blocks are what they should be, that the operator is for the
 * type.
 */
#include "ompi/api/coll.h"

#include "ompi/api/wrapper.h"
#include "ompi/topology/topology.h"

/* The arrays that a side has. */
typedef enum arrays { NO_ARRAYS, COUNTS, COUNTS_DISPLS, COUNTS_DISPLS_TYPES } arrays_t;

/* Which arguments of a call this rank gives. */
typedef struct roles {
    bool sends, receives;                 /* data of the side is read, written here */
    bool send_in_place, receive_in_place; /* may be MPI_IN_PLACE */
    int sent, received;                   /* blocks, if there are arrays */
    arrays_t send_arrays, receive_arrays;
} roles_t;

static void set_arrays(ompi_coll_kind_t kind, roles_t *roles)
{
    switch (kind) {
    case OMPI_ALLGATHERV:
    case OMPI_GATHERV:
    case OMPI_NEIGHBOR_ALLGATHERV:
        roles->receive_arrays = COUNTS_DISPLS;
        break;
    case OMPI_SCATTERV:
        roles->send_arrays = COUNTS_DISPLS;
        break;
    case OMPI_REDUCE_SCATTER:
        roles->receive_arrays = COUNTS;
        break;
    case OMPI_ALLTOALLV:
    case OMPI_NEIGHBOR_ALLTOALLV:
        roles->send_arrays = roles->receive_arrays = COUNTS_DISPLS;
        break;
    case OMPI_ALLTOALLW:
    case OMPI_NEIGHBOR_ALLTOALLW:
        roles->send_arrays = roles->receive_arrays = COUNTS_DISPLS_TYPES;
        break;
    default:
        break;
    }
}

static void set_rooted(const ompi_coll_call_t *call, bool is_root, roles_t *roles)
{
    bool is_inter = ompi_comm_is_inter(call->comm);
    bool is_idle = is_inter && call->root == MPI_PROC_NULL;
    if (call->kind == OMPI_SCATTER || call->kind == OMPI_SCATTERV) {
        roles->sends = is_root;
        roles->receives = !is_idle && !(is_inter && is_root);
        roles->send_in_place = false;
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
    roles_t roles = {.sends = true,
                     .receives = true,
                     .send_in_place = is_intra,
                     .sent = peers,
                     .received = peers};
    set_arrays(call->kind, &roles);
    switch (call->kind) {
    case OMPI_BARRIER:
        roles.sends = roles.receives = false;
        break;
    case OMPI_BCAST: /* of its one buffer, which the root does not receive into */
        roles.sends = false;
        roles.receives = is_intra || call->root != MPI_PROC_NULL;
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

static int check_blocks(const ompi_coll_side_t *side, arrays_t arrays, int blocks)
{
    if (arrays == NO_ARRAYS || blocks == 0)
        return MPI_SUCCESS;
    if (side->counts.items == NULL)
        return ompi_api_explain(MPI_ERR_ARG, "An array of counts is NULL.");
    if (arrays >= COUNTS_DISPLS && side->displs.items == NULL)
        return ompi_api_explain(MPI_ERR_ARG, "An array of displacements is NULL.");
    if (arrays == COUNTS_DISPLS_TYPES && side->types == NULL)
        return ompi_api_explain(MPI_ERR_ARG, "An array of datatypes is NULL.");
    for (int i = 0; i < blocks; i++) {
        if (ompi_ints_at(side->counts, (size_t)i) < 0)
            return ompi_api_explain(MPI_ERR_COUNT, "One of the counts is negative.");
    }
    for (int i = 0; arrays == COUNTS_DISPLS_TYPES && i < blocks; i++) {
        if (!ompi_datatype_is_committed(ompi_handle_object(side->types[i])))
            return ompi_api_explain(MPI_ERR_TYPE,
                                    "One of the datatypes is none, or not committed.");
    }
    return MPI_SUCCESS;
}

static int check_in_place(const ompi_coll_call_t *call, const roles_t *roles)
{
    const ompi_coll_side_t *send = &call->send, *recv = &call->recv;
    if (roles->sends && send->buffer == MPI_IN_PLACE && !roles->send_in_place)
        return ompi_api_explain(MPI_ERR_BUFFER,
                                "MPI_IN_PLACE is no send buffer of this call here.");
    if (roles->receives && recv->buffer == MPI_IN_PLACE && !roles->receive_in_place)
        return ompi_api_explain(MPI_ERR_BUFFER,
                                "MPI_IN_PLACE is no receive buffer of this call here.");
    return MPI_SUCCESS;
}

/* The lowest byte of the first element that there is; 0 if there is none. */
static uintptr_t first_byte(const ompi_coll_side_t *side, arrays_t arrays, int blocks)
{
    int first = 0;
    while (arrays != NO_ARRAYS && first < blocks && ompi_ints_at(side->counts, (size_t)first) == 0)
        first++;
    if (arrays == NO_ARRAYS ? side->count == 0 : first == blocks)
        return 0;
    const ompi_datatype_t *type =
        arrays == COUNTS_DISPLS_TYPES ? ompi_handle_object(side->types[first]) : side->type;
    MPI_Count displacement = ompi_datatype_true_lb(type);
    if (arrays == COUNTS_DISPLS)
        displacement +=
            ompi_ints_at(side->displs, (size_t)first) * ompi_datatype_extent(side->type);
    else if (arrays == COUNTS_DISPLS_TYPES)
        displacement += ompi_ints_at(side->displs, (size_t)first);
    return ompi_datatype_size(type) > 0 ? (uintptr_t)side->buffer + (uintptr_t)displacement : 0;
}

/* Sides may share a base address, if what lies at it is disjoint. That the first elements are the
 * same is certainly a mistake, and the usual one. */
static int check_aliases(const ompi_coll_call_t *call, const roles_t *roles)
{
    if (!roles->sends || !roles->receives || call->send.buffer == MPI_IN_PLACE ||
        call->recv.buffer == MPI_IN_PLACE)
        return MPI_SUCCESS;
    uintptr_t received = first_byte(&call->recv, roles->receive_arrays, roles->received);
    uintptr_t sent = first_byte(&call->send, roles->send_arrays, roles->sent);
    if (call->op != NULL && received != 0) /* its send side has nothing but a buffer */
        sent = received - (uintptr_t)call->recv.buffer + (uintptr_t)call->send.buffer;
    if (sent != 0 && sent == received)
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
    int error = check_in_place(call, &roles);
    if (error == MPI_SUCCESS && roles.sends && call->send.buffer != MPI_IN_PLACE)
        error = check_blocks(&call->send, roles.send_arrays, roles.sent);
    if (error == MPI_SUCCESS && roles.receives)
        error = check_blocks(&call->recv, roles.receive_arrays, roles.received);
    if (error == MPI_SUCCESS)
        error = check_aliases(call, &roles);
    return error;
}
