/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Alltoall, also with blocks of different sizes and types.
 *
 *   bruck      log2(n) a + log2(n) n/2 m b    a block is sent on in hops of powers of two; the
 *                                             blocks of a hop are one message. Blocks of one
 *                                             size only
 *   pairwise   (n-1) (a + m b)                one exchange at a time
 *   linear     (n-1) (a + m b)                coll_p2p_window exchanges at a time
 *
 * In place, pairwise and linear exchange with one rank at a time, in both directions, and send the
 * block that will be overwritten from a copy.
 */
#include "ompi/mca/coll/p2p/p2p.h"

/* In round k the ranks r and s with r + s = k (modulo n) exchange blocks. */
static int exchange_in_place(const ompi_coll_call_t *call, ompi_schedule_t *schedule)
{
    int rank = schedule->rank, size = schedule->size;
    size_t longest = 0;
    for (int i = 0; i < size; i++) {
        size_t bytes = ompi_coll_bytes(ompi_coll_block(&call->recv, i));
        longest = bytes > longest ? bytes : longest;
    }
    char *packed = ompi_schedule_room(schedule, longest);
    for (int round = 0; round < size; round++) {
        int peer = p2p_shift(round, -rank, size);
        ompi_data_t block = ompi_coll_block(&call->recv, peer);
        ompi_data_t copy = ompi_coll_packed(schedule, packed, ompi_coll_bytes(block));
        if (peer == rank)
            continue;
        ompi_coll_copy(schedule, block, copy);
        ompi_coll_send(schedule, peer, copy);
        ompi_coll_recv(schedule, peer, block);
        ompi_schedule_wait(schedule);
    }
    return MPI_SUCCESS;
}

static int exchange(const ompi_coll_call_t *call, ompi_schedule_t *schedule, int window)
{
    int rank = schedule->rank, size = schedule->size;
    if (ompi_coll_is_in_place(&call->send))
        return exchange_in_place(call, schedule);
    ompi_coll_copy(schedule, ompi_coll_block(&call->send, rank),
                   ompi_coll_block(&call->recv, rank));
    for (int distance = 1; distance < size; distance++) {
        int to = p2p_shift(rank, distance, size), from = p2p_shift(rank, -distance, size);
        ompi_coll_send(schedule, to, ompi_coll_block(&call->send, to));
        ompi_coll_recv(schedule, from, ompi_coll_block(&call->recv, from));
        if (distance % window == 0)
            ompi_schedule_wait(schedule);
    }
    return MPI_SUCCESS;
}

int p2p_alltoall_linear(const ompi_coll_call_t *call, ompi_schedule_t *schedule)
{
    return exchange(call, schedule, (int)p2p_window);
}

int p2p_alltoall_pairwise(const ompi_coll_call_t *call, ompi_schedule_t *schedule)
{
    return exchange(call, schedule, 1);
}

/* -- bruck --------------------------------------------------------------------------- */

/* Copies the blocks whose index has the bit `hop` to `together`, or back from there. Returns their
 * bytes. */
static size_t copy_hop(ompi_schedule_t *schedule, char *blocks, char *together, int hop,
                       size_t bytes, bool back)
{
    size_t done = 0;
    for (int first = hop; first < schedule->size; first += 2 * hop) {
        int count = first + hop <= schedule->size ? hop : schedule->size - first;
        ompi_data_t apart =
            ompi_coll_packed(schedule, blocks + (size_t)first * bytes, (size_t)count * bytes);
        ompi_data_t packed = ompi_coll_packed(schedule, together + done, (size_t)count * bytes);
        ompi_schedule_copy(schedule, back ? packed : apart, back ? apart : packed);
        done += (size_t)count * bytes;
    }
    return done;
}

int p2p_alltoall_bruck(const ompi_coll_call_t *call, ompi_schedule_t *schedule)
{
    int rank = schedule->rank, size = schedule->size;
    const ompi_coll_side_t *source = ompi_coll_is_in_place(&call->send) ? &call->recv : &call->send;
    size_t bytes = ompi_coll_bytes(ompi_coll_block(&call->recv, 0)),
           half = ((size_t)size + 1) / 2 * bytes;
    char *blocks = ompi_schedule_room(schedule, (size_t)size * bytes);
    char *out = ompi_schedule_room(schedule, half), *in = ompi_schedule_room(schedule, half);
    schedule->relays = true;
    /* Index i is the block for the rank i behind this one; in the end, the block from the rank i
     * before. */
    for (int i = 0; i < size; i++)
        ompi_schedule_copy(schedule, ompi_coll_block(source, p2p_shift(rank, i, size)),
                           ompi_coll_packed(schedule, blocks + (size_t)i * bytes, bytes));
    for (int hop = 1; hop < size; hop *= 2) {
        size_t length = copy_hop(schedule, blocks, out, hop, bytes, false);
        ompi_schedule_send(schedule, p2p_shift(rank, hop, size),
                           ompi_coll_packed(schedule, out, length));
        ompi_schedule_recv(schedule, p2p_shift(rank, -hop, size),
                           ompi_coll_packed(schedule, in, length));
        ompi_schedule_wait(schedule);
        copy_hop(schedule, blocks, in, hop, bytes, true);
    }
    for (int i = 0; i < size; i++)
        ompi_schedule_copy(schedule, ompi_coll_packed(schedule, blocks + (size_t)i * bytes, bytes),
                           ompi_coll_block(&call->recv, p2p_shift(rank, -i, size)));
    return MPI_SUCCESS;
}
