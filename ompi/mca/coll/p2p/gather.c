/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Gather, also of blocks of different sizes.
 *
 *   linear     n a + n m b          each rank sends to the root
 *   binomial   log2(n) a + n m b    a tree, counted from the root; an inner rank sends its
 *                                   subtree's blocks as one message. Blocks of one size only
 */
#include "ompi/mca/coll/p2p/p2p.h"

int p2p_gather_linear(const ompi_coll_call_t *call, ompi_schedule_t *schedule)
{
    int root = call->root;
    if (schedule->rank != root) {
        ompi_coll_send(schedule, root, ompi_coll_whole(&call->send));
        return MPI_SUCCESS;
    }
    for (int rank = 0; rank < schedule->size; rank++) {
        if (rank != root)
            ompi_coll_recv(schedule, rank, ompi_coll_block(&call->recv, rank));
    }
    if (!ompi_coll_is_in_place(&call->send))
        ompi_coll_copy(schedule, ompi_coll_whole(&call->send), ompi_coll_block(&call->recv, root));
    return MPI_SUCCESS;
}

/* The root receives the blocks of a child's subtree, `count` ranks. */
static int receive_subtree(const ompi_coll_call_t *call, ompi_schedule_t *schedule, int child,
                           int count)
{
    int before_end = schedule->size - child;
    if (count <= before_end) {
        ompi_schedule_recv(schedule, child, ompi_coll_blocks(&call->recv, child, count));
        return MPI_SUCCESS;
    }
    size_t bytes = ompi_coll_bytes(ompi_coll_blocks(&call->recv, 0, count)),
           head = ompi_coll_bytes(ompi_coll_blocks(&call->recv, 0, before_end));
    char *packed = ompi_schedule_room(schedule, bytes);
    ompi_schedule_recv(schedule, child, ompi_coll_packed(schedule, packed, bytes));
    ompi_schedule_wait(schedule);
    ompi_schedule_copy(schedule, ompi_coll_packed(schedule, packed, head),
                       ompi_coll_blocks(&call->recv, child, before_end));
    ompi_schedule_copy(schedule, ompi_coll_packed(schedule, packed + head, bytes - head),
                       ompi_coll_blocks(&call->recv, 0, count - before_end));
    return MPI_SUCCESS;
}

static int gather_at_root(const ompi_coll_call_t *call, ompi_schedule_t *schedule)
{
    int root = schedule->rank, size = schedule->size;
    if (!ompi_coll_is_in_place(&call->send))
        ompi_schedule_copy(schedule, ompi_coll_whole(&call->send),
                           ompi_coll_blocks(&call->recv, root, 1));
    for (int distance = 1; distance < size; distance *= 2) {
        int count = distance < size - distance ? distance : size - distance;
        int error = receive_subtree(call, schedule, p2p_shift(root, distance, size), count);
        if (error != MPI_SUCCESS)
            return error;
    }
    return MPI_SUCCESS;
}

int p2p_gather_binomial(const ompi_coll_call_t *call, ompi_schedule_t *schedule)
{
    int rank = schedule->rank, size = schedule->size;
    int from_root = p2p_shift(rank, -call->root, size);
    if (from_root == 0)
        return gather_at_root(call, schedule);
    int span = from_root & -from_root, parent = p2p_shift(rank, -span, size);
    ompi_data_t own = ompi_coll_whole(&call->send);
    if (span > size - from_root)
        span = size - from_root;
    if (span == 1) {
        ompi_schedule_send(schedule, parent, own);
        return MPI_SUCCESS;
    }
    size_t bytes = ompi_coll_bytes(own);
    char *packed = ompi_schedule_room(schedule, (size_t)span * bytes);
    ompi_schedule_copy(schedule, own, ompi_coll_packed(schedule, packed, bytes));
    for (int distance = 1; distance < span; distance *= 2) {
        int count = distance < span - distance ? distance : span - distance;
        ompi_schedule_recv(
            schedule, p2p_shift(rank, distance, size),
            ompi_coll_packed(schedule, packed + (size_t)distance * bytes, (size_t)count * bytes));
    }
    ompi_schedule_wait(schedule);
    ompi_schedule_send(schedule, parent, ompi_coll_packed(schedule, packed, (size_t)span * bytes));
    return MPI_SUCCESS;
}
