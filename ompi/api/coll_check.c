/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Checks that relate several arguments of a collective: MPI_IN_PLACE is allowed there, send and
 * receive buffers differ, counts and types of all blocks are valid, the operator is valid for the
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

static const struct {
    arrays_t send, receive;
} arrays_of[OMPI_COLL_KINDS] = {
    [OMPI_ALLGATHERV] = {NO_ARRAYS, COUNTS_DISPLS},
    [OMPI_GATHERV] = {NO_ARRAYS, COUNTS_DISPLS},
    [OMPI_NEIGHBOR_ALLGATHERV] = {NO_ARRAYS, COUNTS_DISPLS},
    [OMPI_SCATTERV] = {COUNTS_DISPLS, NO_ARRAYS},
    [OMPI_REDUCE_SCATTER] = {NO_ARRAYS, COUNTS},
    [OMPI_ALLTOALLV] = {COUNTS_DISPLS, COUNTS_DISPLS},
    [OMPI_NEIGHBOR_ALLTOALLV] = {COUNTS_DISPLS, COUNTS_DISPLS},
    [OMPI_ALLTOALLW] = {COUNTS_DISPLS_TYPES, COUNTS_DISPLS_TYPES},
    [OMPI_NEIGHBOR_ALLTOALLW] = {COUNTS_DISPLS_TYPES, COUNTS_DISPLS_TYPES},
};

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

static inline roles_t roles_of(const ompi_coll_call_t *call)
{
    int peers = ompi_comm_peers(call->comm);
    bool is_intra = !ompi_comm_is_inter(call->comm);
    roles_t roles = {.sends = true,
                     .receives = true,
                     .send_in_place = is_intra,
                     .sent = peers,
                     .received = peers,
                     .send_arrays = arrays_of[call->kind].send,
                     .receive_arrays = arrays_of[call->kind].receive};
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
        return ompi_api_set_error_detail(MPI_ERR_ARG, "An array of counts is NULL.");
    if (arrays >= COUNTS_DISPLS && side->displs.items == NULL)
        return ompi_api_set_error_detail(MPI_ERR_ARG, "An array of displacements is NULL.");
    if (arrays == COUNTS_DISPLS_TYPES && side->types == NULL)
        return ompi_api_set_error_detail(MPI_ERR_ARG, "An array of datatypes is NULL.");
    for (int i = 0; i < blocks; i++) {
        if (ompi_ints_at(side->counts, (size_t)i) < 0)
            return ompi_api_set_error_detail(MPI_ERR_COUNT, "One of the counts is negative.");
    }
    for (int i = 0; arrays == COUNTS_DISPLS_TYPES && i < blocks; i++) {
        if (!ompi_datatype_is_committed(ompi_handle_object(side->types[i])))
            return ompi_api_set_error_detail(MPI_ERR_TYPE,
                                             "One of the datatypes is none, or not committed.");
    }
    return MPI_SUCCESS;
}

static int check_in_place(const ompi_coll_call_t *call, const roles_t *roles)
{
    const ompi_coll_side_t *send = &call->send, *recv = &call->recv;
    if (roles->sends && send->buffer == MPI_IN_PLACE && !roles->send_in_place)
        return ompi_api_set_error_detail(MPI_ERR_BUFFER,
                                         "MPI_IN_PLACE is no send buffer of this call here.");
    if (roles->receives && recv->buffer == MPI_IN_PLACE && !roles->receive_in_place)
        return ompi_api_set_error_detail(MPI_ERR_BUFFER,
                                         "MPI_IN_PLACE is no receive buffer of this call here.");
    return MPI_SUCCESS;
}

/* -- aliases --------------------------------------------------------------------------------- */

/* The blocks of a side that this process reads or writes. */
typedef struct area {
    ompi_coll_side_t side;
    arrays_t arrays;
    int blocks;
} area_t;

static bool gives_one_block(ompi_coll_kind_t kind)
{
    return kind == OMPI_GATHER || kind == OMPI_GATHERV || kind == OMPI_ALLGATHER ||
           kind == OMPI_ALLGATHERV || kind == OMPI_NEIGHBOR_ALLGATHER ||
           kind == OMPI_NEIGHBOR_ALLGATHERV;
}

static bool takes_one_block(ompi_coll_kind_t kind)
{
    return kind == OMPI_SCATTER || kind == OMPI_SCATTERV;
}

/* Blocks that follow each other without gaps are one. */
static bool are_one(const ompi_coll_side_t *side, arrays_t arrays)
{
    return arrays == NO_ARRAYS && ompi_datatype_is_contiguous(side->type);
}

static area_t area_of(const ompi_coll_side_t *side, arrays_t arrays, int blocks)
{
    area_t area = {*side, arrays, blocks};
    if (!are_one(side, arrays))
        return area;
    area.side.count *= blocks;
    area.blocks = 1;
    return area;
}

/* Bytes that a block certainly has: all of them, or, of one with gaps, the first one. */
typedef struct range {
    uintptr_t start;
    size_t bytes;
} range_t;

static bool ranges_overlap(range_t one, range_t other)
{
    return one.bytes > 0 && other.bytes > 0 && one.start < other.start + other.bytes &&
           other.start < one.start + one.bytes;
}

static inline range_t range_of(const void *buffer, MPI_Count displacement, size_t count,
                               const ompi_datatype_t *type)
{
    size_t bytes = ompi_datatype_bytes(type, count);
    if (bytes > 0 && !ompi_datatype_is_contiguous(type))
        bytes = 1;
    displacement += ompi_datatype_true_lb(type);
    return (range_t){(uintptr_t)buffer + (uintptr_t)displacement, bytes};
}

static range_t range_at(const area_t *area, int i)
{
    const ompi_coll_side_t *side = &area->side;
    size_t at = area->blocks > 1 ? (size_t)i : 0, count = (size_t)side->count;
    const ompi_datatype_t *type = side->type;
    MPI_Count displacement = 0;
    if (area->arrays == COUNTS_DISPLS_TYPES)
        type = ompi_handle_object(side->types[at]);
    if (area->arrays != NO_ARRAYS) {
        count = (size_t)ompi_ints_at(side->counts, at);
        displacement = ompi_ints_at(side->displs, at);
    } else {
        displacement = (MPI_Count)at * side->count;
    }
    if (area->arrays != COUNTS_DISPLS_TYPES)
        displacement *= ompi_datatype_extent(type);
    return range_of(side->buffer, displacement, count, type);
}

/* A reduction's count and type are in its receiving side. Of a reduce_scatter, what is sent is all
 * blocks, and what is received the rank's own. */
static bool reduction_overlaps(const ompi_coll_call_t *call)
{
    const ompi_coll_side_t *recv = &call->recv;
    size_t sent = (size_t)recv->count, received = sent;
    if (call->kind == OMPI_REDUCE_SCATTER_BLOCK)
        sent *= (size_t)call->comm->size;
    for (int i = 0; call->kind == OMPI_REDUCE_SCATTER && i < call->comm->size; i++)
        sent += (size_t)ompi_ints_at(recv->counts, (size_t)i);
    if (call->kind == OMPI_REDUCE_SCATTER)
        received = (size_t)ompi_ints_at(recv->counts, (size_t)call->comm->rank);
    return ranges_overlap(range_of(call->send.buffer, 0, sent, recv->type),
                          range_of(recv->buffer, 0, received, recv->type));
}

/* Of sides that both have several blocks, only those for the same rank are compared. */
static bool overlap(const area_t *sent, const area_t *received)
{
    int blocks = sent->blocks > 1 ? sent->blocks : received->blocks;
    if (sent->blocks > 1 && received->blocks > 1 && received->blocks < blocks)
        blocks = received->blocks;
    for (int i = 0; i < blocks && sent->blocks > 0 && received->blocks > 0; i++) {
        if (ranges_overlap(range_at(sent, i), range_at(received, i)))
            return true;
    }
    return false;
}

static bool sides_overlap(const ompi_coll_call_t *call, const roles_t *roles)
{
    const ompi_coll_side_t *send = &call->send, *recv = &call->recv;
    int sent = gives_one_block(call->kind) ? 1 : roles->sent;
    int received = takes_one_block(call->kind) ? 1 : roles->received;
    if (opal_likely(are_one(send, roles->send_arrays) && are_one(recv, roles->receive_arrays)))
        return ranges_overlap(
            range_of(send->buffer, 0, (size_t)send->count * (size_t)sent, send->type),
            range_of(recv->buffer, 0, (size_t)recv->count * (size_t)received, recv->type));
    area_t sends = area_of(send, roles->send_arrays, sent);
    area_t receives = area_of(recv, roles->receive_arrays, received);
    return overlap(&sends, &receives);
}

/* Send and receive data may interleave, but have no byte in common. Each rank checks its own
 * buffers; a rank whose buffers are apart takes part in the call. */
static int check_aliases(const ompi_coll_call_t *call, const roles_t *roles)
{
    /* At the edge of a grid nothing is read of some blocks. */
    if (call->kind >= OMPI_NEIGHBOR_ALLGATHER && roles->send_arrays != NO_ARRAYS &&
        call->comm->topology->kind == OMPI_CART)
        return MPI_SUCCESS;
    if (!roles->sends || !roles->receives || call->send.buffer == MPI_IN_PLACE ||
        call->recv.buffer == MPI_IN_PLACE)
        return MPI_SUCCESS;
    if (call->op != NULL ? reduction_overlaps(call) : sides_overlap(call, roles))
        return ompi_api_set_error_detail(
            MPI_ERR_BUFFER, "The send buffer and the receive buffer overlap; a result that "
                            "replaces what is sent is MPI_IN_PLACE.");
    return MPI_SUCCESS;
}

/* -- the whole ------------------------------------------------------------------------------- */

int ompi_api_coll_check(const ompi_coll_call_t *call)
{
    bool is_local = call->kind == OMPI_SCAN || call->kind == OMPI_EXSCAN;
    if (call->kind >= OMPI_NEIGHBOR_ALLGATHER && call->comm->topology == NULL)
        return ompi_api_set_error_detail(MPI_ERR_TOPOLOGY, "The communicator has no topology.");
    if (is_local && ompi_comm_is_inter(call->comm))
        return ompi_api_set_error_detail(MPI_ERR_COMM, "The call is for intracommunicators only.");
    if (call->op != NULL && !ompi_op_is_valid_for(call->op, call->recv.type))
        return ompi_api_wrong_op(call->op, call->recv.type);
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
