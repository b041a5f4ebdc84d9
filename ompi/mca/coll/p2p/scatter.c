/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Scatter, also of blocks of different sizes.
 *
 *   linear     n a + n m b          the root sends to each rank
 *   binomial   log2(n) a + n m b    down a tree, counted from the root. Blocks of one size only
 */
#include "ompi/mca/coll/p2p/p2p.h"

int p2p_scatter_linear(const ompi_coll_call_t *call, ompi_schedule_t *schedule)
{
    int root = call->root;
    if (schedule->rank != root) {
        ompi_coll_recv(schedule, root, ompi_coll_whole(&call->recv));
        return MPI_SUCCESS;
    }
    for (int rank = 0; rank < schedule->size; rank++) {
        if (rank != root)
            ompi_coll_send(schedule, rank, ompi_coll_block(&call->send, rank));
    }
    if (!ompi_coll_is_in_place(&call->recv))
        ompi_coll_copy(schedule, ompi_coll_block(&call->send, root), ompi_coll_whole(&call->recv));
    return MPI_SUCCESS;
}

/* The root sends a child the blocks of its subtree, `count` ranks. */
static int send_subtree(const ompi_coll_call_t *call, ompi_schedule_t *schedule, int child,
                        int count)
{
    int before_end = schedule->size - child;
    if (count <= before_end) {
        ompi_schedule_send(schedule, child, ompi_coll_blocks(&call->send, child, count));
        return MPI_SUCCESS;
    }
    size_t bytes = ompi_coll_bytes(ompi_coll_blocks(&call->send, 0, count)),
           head = ompi_coll_bytes(ompi_coll_blocks(&call->send, 0, before_end));
    char *packed = ompi_schedule_room(schedule, bytes);
    ompi_schedule_copy(schedule, ompi_coll_blocks(&call->send, child, before_end),
                       ompi_coll_packed(schedule, packed, head));
    ompi_schedule_copy(schedule, ompi_coll_blocks(&call->send, 0, count - before_end),
                       ompi_coll_packed(schedule, packed + head, bytes - head));
    ompi_schedule_send(schedule, child, ompi_coll_packed(schedule, packed, bytes));
    return MPI_SUCCESS;
}

static int scatter_at_root(const ompi_coll_call_t *call, ompi_schedule_t *schedule)
{
    int root = schedule->rank, size = schedule->size;
    for (int distance = size > 1 ? p2p_power(size - 1) : 0; distance > 0; distance /= 2) {
        int count = distance < size - distance ? distance : size - distance;
        int error = send_subtree(call, schedule, p2p_shift(root, distance, size), count);
        if (error != MPI_SUCCESS)
            return error;
    }
    if (!ompi_coll_is_in_place(&call->recv))
        ompi_schedule_copy(schedule, ompi_coll_blocks(&call->send, root, 1),
                           ompi_coll_whole(&call->recv));
    return MPI_SUCCESS;
}

int p2p_scatter_binomial(const ompi_coll_call_t *call, ompi_schedule_t *schedule)
{
    int rank = schedule->rank, size = schedule->size;
    int from_root = p2p_shift(rank, -call->root, size);
    if (from_root == 0)
        return scatter_at_root(call, schedule);
    int span = from_root & -from_root, parent = p2p_shift(rank, -span, size);
    ompi_data_t own = ompi_coll_whole(&call->recv);
    if (span > size - from_root)
        span = size - from_root;
    if (span == 1) {
        ompi_schedule_recv(schedule, parent, own);
        return MPI_SUCCESS;
    }
    size_t bytes = ompi_coll_bytes(own);
    char *packed = ompi_schedule_room(schedule, (size_t)span * bytes);
    ompi_schedule_recv(schedule, parent, ompi_coll_packed(schedule, packed, (size_t)span * bytes));
    ompi_schedule_wait(schedule);
    for (int distance = p2p_power(span - 1); distance > 0; distance /= 2) {
        int count = distance < span - distance ? distance : span - distance;
        ompi_schedule_send(
            schedule, p2p_shift(rank, distance, size),
            ompi_coll_packed(schedule, packed + (size_t)distance * bytes, (size_t)count * bytes));
    }
    ompi_schedule_copy(schedule, ompi_coll_packed(schedule, packed, bytes), own);
    return MPI_SUCCESS;
}
