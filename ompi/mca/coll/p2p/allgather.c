/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Allgather, also of blocks of different sizes.
 *
 *   doubling   log2(n) a + (n-1) m b    recursive doubling: pairs exchange all blocks that they
 *                                       have, then pairs of pairs; n a power of two, blocks of
 *                                       one size
 *   bruck      log2(n) a + (n-1) m b    any number of ranks; all blocks are copied once more
 *   ring       (n-1) (a + m b)          messages between neighbours only
 *   linear     (n-1) (a + m b)          each rank sends to all others at once
 */
#include "ompi/mca/coll/p2p/p2p.h"

/* The block of this rank. */
static ompi_data_t contribution(const ompi_coll_call_t *call, const ompi_schedule_t *schedule)
{
    return ompi_coll_is_in_place(&call->send) ? ompi_coll_block(&call->recv, schedule->rank)
                                              : ompi_coll_whole(&call->send);
}

/* Copies this rank's block to the receive buffer. */
static void copy_own(const ompi_coll_call_t *call, ompi_schedule_t *schedule)
{
    if (!ompi_coll_is_in_place(&call->send))
        ompi_coll_copy(schedule, ompi_coll_whole(&call->send),
                       ompi_coll_block(&call->recv, schedule->rank));
}

int p2p_allgather_linear(const ompi_coll_call_t *call, ompi_schedule_t *schedule)
{
    int rank = schedule->rank, size = schedule->size;
    ompi_data_t own = contribution(call, schedule);
    for (int distance = 1; distance < size; distance++)
        ompi_coll_send(schedule, p2p_shift(rank, distance, size), own);
    copy_own(call, schedule);
    for (int distance = 1; distance < size; distance++) {
        int from = p2p_shift(rank, -distance, size);
        ompi_coll_recv(schedule, from, ompi_coll_block(&call->recv, from));
    }
    return MPI_SUCCESS;
}

int p2p_allgather_ring(const ompi_coll_call_t *call, ompi_schedule_t *schedule)
{
    int rank = schedule->rank, size = schedule->size;
    int behind = p2p_shift(rank, 1, size), before = p2p_shift(rank, -1, size);
    ompi_data_t out = contribution(call, schedule);
    for (int round = 0; round < size - 1; round++) {
        ompi_data_t in = ompi_coll_block(&call->recv, p2p_shift(before, -round, size));
        ompi_coll_send(schedule, behind, out);
        if (round == 0)
            copy_own(call, schedule);
        ompi_coll_recv(schedule, before, in);
        ompi_schedule_wait(schedule);
        out = in;
    }
    if (size == 1)
        copy_own(call, schedule);
    return MPI_SUCCESS;
}

int p2p_allgather_doubling(const ompi_coll_call_t *call, ompi_schedule_t *schedule)
{
    int rank = schedule->rank, size = schedule->size;
    ompi_data_t out = contribution(call, schedule);
    for (int have = 1; have < size; have *= 2) {
        int peer = rank ^ have;
        if (have > 1)
            out = ompi_coll_blocks(&call->recv, rank & -have, have);
        ompi_schedule_send(schedule, peer, out);
        if (have == 1)
            copy_own(call, schedule);
        ompi_schedule_recv(schedule, peer, ompi_coll_blocks(&call->recv, peer & -have, have));
        ompi_schedule_wait(schedule);
    }
    if (size == 1)
        copy_own(call, schedule);
    return MPI_SUCCESS;
}

/* -- bruck --------------------------------------------------------------------------- */

/* The bytes of the blocks of `count` ranks, from the rank `first` behind this one on, wrapping
 * around. */
static size_t bytes_from(const ompi_coll_call_t *call, const ompi_schedule_t *schedule, int first,
                         int count)
{
    if (call->recv.counts.items == NULL)
        return (size_t)count * ompi_coll_bytes(ompi_coll_block(&call->recv, 0));
    size_t bytes = 0;
    for (int i = first; i < first + count; i++)
        bytes += ompi_coll_bytes(
            ompi_coll_block(&call->recv, p2p_shift(schedule->rank, i, schedule->size)));
    return bytes;
}

/* Unpacks all blocks except this rank's, which is the first of the packed ones. */
static void unpack(const ompi_coll_call_t *call, ompi_schedule_t *schedule, char *packed)
{
    int rank = schedule->rank, size = schedule->size;
    char *next = packed + bytes_from(call, schedule, 0, 1);
    if (call->recv.counts.items == NULL) {
        ompi_data_t upper = ompi_coll_blocks(&call->recv, rank + 1, size - 1 - rank),
                    lower = ompi_coll_blocks(&call->recv, 0, rank);
        ompi_coll_copy(schedule, ompi_coll_packed(schedule, next, ompi_coll_bytes(upper)), upper);
        next += ompi_coll_bytes(upper);
        ompi_coll_copy(schedule, ompi_coll_packed(schedule, next, ompi_coll_bytes(lower)), lower);
        return;
    }
    for (int i = 1; i < size; i++) {
        ompi_data_t block = ompi_coll_block(&call->recv, p2p_shift(rank, i, size));
        ompi_coll_copy(schedule, ompi_coll_packed(schedule, next, ompi_coll_bytes(block)), block);
        next += ompi_coll_bytes(block);
    }
}

int p2p_allgather_bruck(const ompi_coll_call_t *call, ompi_schedule_t *schedule)
{
    int rank = schedule->rank, size = schedule->size;
    size_t have_bytes = bytes_from(call, schedule, 0, 1);
    char *packed = ompi_schedule_room(schedule, bytes_from(call, schedule, 0, size));
    ompi_coll_copy(schedule, contribution(call, schedule),
                   ompi_coll_packed(schedule, packed, have_bytes));
    for (int have = 1; have < size; have *= 2) {
        int count = have < size - have ? have : size - have;
        size_t out = bytes_from(call, schedule, 0, count);
        size_t in = bytes_from(call, schedule, have, count);
        ompi_coll_send(schedule, p2p_shift(rank, -have, size),
                       ompi_coll_packed(schedule, packed, out));
        ompi_coll_recv(schedule, p2p_shift(rank, have, size),
                       ompi_coll_packed(schedule, packed + have_bytes, in));
        ompi_schedule_wait(schedule);
        have_bytes += in;
    }
    copy_own(call, schedule);
    unpack(call, schedule, packed);
    return MPI_SUCCESS;
}
