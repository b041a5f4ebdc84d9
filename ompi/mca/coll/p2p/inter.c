/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Collectives of intercommunicators: each group gets the result of the remote group's data.
 *
 *   barrier, broadcast, reductions   by the two ranks 0: a group's data is reduced to its rank 0,
 *                                    and what the group gets is broadcast (or scattered) from it
 *   the others                       each rank sends to the ranks that need its data
 */
#include "ompi/mca/coll/p2p/p2p.h"

static int barrier(const ompi_coll_call_t *call, ompi_schedule_t *schedule)
{
    ompi_data_t nothing = ompi_coll_packed(schedule, NULL, 0);
    ompi_coll_call_t spread = {.recv = {.type = schedule->byte}};
    ompi_schedule_within(schedule, true);
    p2p_barrier_dissemination(call, schedule);
    if (schedule->rank == 0) {
        ompi_schedule_within(schedule, false);
        ompi_schedule_send(schedule, 0, nothing);
        ompi_schedule_recv(schedule, 0, nothing);
        ompi_schedule_wait(schedule);
        ompi_schedule_within(schedule, true);
    }
    return p2p_bcast_binomial(&spread, schedule);
}

static int bcast(const ompi_coll_call_t *call, ompi_schedule_t *schedule)
{
    ompi_coll_call_t spread = *call;
    spread.root = 0;
    if (call->root == MPI_ROOT)
        ompi_schedule_send(schedule, 0, ompi_coll_whole(&call->recv));
    if (call->root == MPI_ROOT || call->root == MPI_PROC_NULL)
        return MPI_SUCCESS;
    if (schedule->rank == 0) {
        ompi_schedule_recv(schedule, call->root, ompi_coll_whole(&call->recv));
        ompi_schedule_wait(schedule);
    }
    ompi_schedule_within(schedule, true);
    return p2p_bcast_binomial(&spread, schedule);
}

static int gather(const ompi_coll_call_t *call, ompi_schedule_t *schedule)
{
    if (call->root == MPI_PROC_NULL)
        return MPI_SUCCESS;
    if (call->root != MPI_ROOT)
        ompi_coll_send(schedule, call->root, ompi_coll_whole(&call->send));
    for (int rank = 0; call->root == MPI_ROOT && rank < schedule->size; rank++)
        ompi_coll_recv(schedule, rank, ompi_coll_block(&call->recv, rank));
    return MPI_SUCCESS;
}

static int scatter(const ompi_coll_call_t *call, ompi_schedule_t *schedule)
{
    if (call->root == MPI_PROC_NULL)
        return MPI_SUCCESS;
    if (call->root != MPI_ROOT)
        ompi_coll_recv(schedule, call->root, ompi_coll_whole(&call->recv));
    for (int rank = 0; call->root == MPI_ROOT && rank < schedule->size; rank++)
        ompi_coll_send(schedule, rank, ompi_coll_block(&call->send, rank));
    return MPI_SUCCESS;
}

/* An allgather or alltoall: each rank exchanges messages with each rank of the remote group. */
static int exchange(const ompi_coll_call_t *call, ompi_schedule_t *schedule)
{
    bool gathers = call->kind == OMPI_ALLGATHER || call->kind == OMPI_ALLGATHERV;
    for (int rank = 0; rank < schedule->size; rank++)
        ompi_coll_send(schedule, rank,
                       gathers ? ompi_coll_whole(&call->send) : ompi_coll_block(&call->send, rank));
    for (int rank = 0; rank < schedule->size; rank++)
        ompi_coll_recv(schedule, rank, ompi_coll_block(&call->recv, rank));
    return MPI_SUCCESS;
}

/* Reduces the data of this group to its rank 0, into a buffer that *value gets. */
static void reduce_group(const ompi_coll_call_t *call, ompi_schedule_t *schedule,
                         ompi_data_t *value)
{
    ompi_coll_call_t part = *call;
    part.root = 0;
    part.recv = (ompi_coll_side_t){.count = (MPI_Count)value->count, .type = value->type};
    if (schedule->rank == 0)
        part.recv.buffer = ompi_schedule_elements(schedule, value->count, value->type);
    value->buffer = part.recv.buffer;
    ompi_schedule_within(schedule, true);
    p2p_reduce_binomial(&part, schedule);
    ompi_schedule_wait(schedule);
    ompi_schedule_within(schedule, false);
}

static int reduce(const ompi_coll_call_t *call, ompi_schedule_t *schedule)
{
    ompi_data_t value = ompi_coll_whole(&call->recv);
    if (call->root == MPI_ROOT)
        ompi_schedule_recv(schedule, 0, value);
    if (call->root == MPI_ROOT || call->root == MPI_PROC_NULL)
        return MPI_SUCCESS;
    reduce_group(call, schedule, &value);
    if (schedule->rank == 0)
        ompi_schedule_send(schedule, call->root, value);
    return MPI_SUCCESS;
}

/* The two ranks 0 exchange the values of their groups. */
static void swap_values(ompi_schedule_t *schedule, ompi_data_t ours, ompi_data_t theirs)
{
    ompi_schedule_send(schedule, 0, ours);
    ompi_schedule_recv(schedule, 0, theirs);
    ompi_schedule_wait(schedule);
}

static int allreduce(const ompi_coll_call_t *call, ompi_schedule_t *schedule)
{
    ompi_coll_call_t spread = *call;
    ompi_data_t value = ompi_coll_whole(&call->recv);
    spread.root = 0;
    reduce_group(call, schedule, &value);
    if (schedule->rank == 0)
        swap_values(schedule, value, ompi_coll_whole(&call->recv));
    ompi_schedule_within(schedule, true);
    return p2p_bcast_binomial(&spread, schedule);
}

static int reduce_scatter(const ompi_coll_call_t *call, ompi_schedule_t *schedule)
{
    int rank = schedule->rank, size = call->comm->size;
    size_t first = 0, total = 0;
    for (int i = 0; i < size; i++)
        total += ompi_coll_count(&call->recv, i);
    ompi_data_t value = ompi_data(NULL, total, call->recv.type), theirs = value;
    reduce_group(call, schedule, &value);
    if (rank == 0) {
        theirs.buffer = ompi_schedule_elements(schedule, total, theirs.type);
        swap_values(schedule, value, theirs);
    }
    ompi_data_t result =
        ompi_data(call->recv.buffer, ompi_coll_count(&call->recv, rank), value.type);
    ompi_schedule_within(schedule, true);
    if (rank > 0) {
        ompi_coll_recv(schedule, 0, result);
        return MPI_SUCCESS;
    }
    for (int i = 0; i < size; i++) {
        ompi_data_t block = ompi_coll_part(theirs, first, ompi_coll_count(&call->recv, i));
        if (i == 0)
            ompi_coll_copy(schedule, block, result);
        else
            ompi_coll_send(schedule, i, block);
        first += block.count;
    }
    return MPI_SUCCESS;
}

int p2p_inter(const ompi_coll_call_t *call, ompi_schedule_t *schedule)
{
    switch (call->kind) {
    case OMPI_BARRIER:
        return barrier(call, schedule);
    case OMPI_BCAST:
        return bcast(call, schedule);
    case OMPI_GATHER:
    case OMPI_GATHERV:
        return gather(call, schedule);
    case OMPI_SCATTER:
    case OMPI_SCATTERV:
        return scatter(call, schedule);
    case OMPI_REDUCE:
        return reduce(call, schedule);
    case OMPI_ALLREDUCE:
        return allreduce(call, schedule);
    case OMPI_REDUCE_SCATTER:
    case OMPI_REDUCE_SCATTER_BLOCK:
        return reduce_scatter(call, schedule);
    default:
        return exchange(call, schedule);
    }
}
