/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Allreduce.
 *
 *   doubling       log2(n) (a + m b + m g)        recursive doubling: pairs exchange their values,
 *                                                 then pairs of pairs; in rank order. Two more
 *                                                 steps if n is no power of two
 *   halving        2 log2(n) a + 2 m b + m g      a reduce-scatter by recursive halving (halving.c)
 *                                                 and an allgather; operators that commute only
 *   ring           2 (n-1) a + 2 m b + m g        a reduce-scatter and an allgather, both around a
 *                                                 ring; operators that commute only
 *   reduce_bcast   2 log2(n) (a + m b) + m g      a reduce and a broadcast, both binomial
 */
#include "ompi/mca/coll/p2p/p2p.h"

/* Exchanges values with a peer, and takes in the peer's value. */
static void swap(p2p_sum_t *sum, int peer)
{
    ompi_data_t operand = p2p_sum_target(sum);
    ompi_schedule_send(sum->schedule, peer, sum->value);
    ompi_schedule_recv(sum->schedule, peer, operand);
    ompi_schedule_wait(sum->schedule);
    if (peer < sum->schedule->rank)
        p2p_sum_lower(sum, operand.buffer);
    else
        p2p_sum_higher(sum, operand.buffer);
}

/* The ranks beyond a power of two are `extra`. Of the first 2 * extra ranks, each even one sends
 * its operand to the next odd one, and gets the result from it. The other ranks do the doubling. */
int p2p_allreduce_doubling(const ompi_coll_call_t *call, ompi_schedule_t *schedule)
{
    int rank = schedule->rank, power = p2p_power(schedule->size), extra = schedule->size - power;
    bool is_extra = rank < 2 * extra;
    p2p_sum_t sum;
    p2p_sum_init(&sum, schedule, ompi_coll_operand(call), p2p_buffer(call->recv.buffer));
    if (is_extra && rank % 2 == 0) {
        ompi_schedule_send(schedule, rank + 1, sum.value);
        ompi_schedule_wait(schedule);
        ompi_schedule_recv(schedule, rank + 1, ompi_coll_whole(&call->recv));
        return MPI_SUCCESS;
    }
    if (is_extra) {
        ompi_data_t operand = p2p_sum_target(&sum);
        ompi_schedule_recv(schedule, rank - 1, operand);
        ompi_schedule_wait(schedule);
        p2p_sum_lower(&sum, operand.buffer);
    }
    int number = is_extra ? rank / 2 : rank - extra;
    for (int distance = 1; distance < power; distance *= 2) {
        int other = number ^ distance;
        swap(&sum, other < extra ? 2 * other + 1 : other + extra);
    }
    p2p_sum_finish(&sum);
    if (is_extra)
        ompi_schedule_send(schedule, rank - 1, sum.value);
    return MPI_SUCCESS;
}

int p2p_allreduce_halving(const ompi_coll_call_t *call, ompi_schedule_t *schedule)
{
    p2p_halving_t halving;
    if (schedule->size == 1)
        return p2p_allreduce_doubling(call, schedule);
    p2p_halving_init(&halving, schedule, ompi_coll_operand(call), p2p_buffer(call->recv.buffer),
                     NULL);
    p2p_halving_reduce(&halving);
    p2p_halving_allgather(&halving);
    return MPI_SUCCESS;
}

/* A rank's piece of the data. */
static ompi_data_t piece(ompi_data_t data, int rank, int size)
{
    size_t n = (size_t)size, at = (size_t)rank, each = data.count / n, longer = data.count % n;
    return ompi_coll_part(data, each * at + (at < longer ? at : longer), each + (at < longer));
}

int p2p_allreduce_ring(const ompi_coll_call_t *call, ompi_schedule_t *schedule)
{
    int rank = schedule->rank, size = schedule->size;
    int behind = p2p_shift(rank, 1, size), before = p2p_shift(rank, -1, size);
    ompi_data_t own = ompi_coll_operand(call), home = ompi_coll_whole(&call->recv), spare = home;
    if (size == 1)
        return p2p_allreduce_doubling(call, schedule);
    /* Operands can be received at home if this rank's own operand is elsewhere. */
    if (ompi_coll_is_in_place(&call->send))
        spare.buffer = ompi_schedule_elements(schedule, home.count, home.type);
    for (int round = 0; round < size - 1; round++) {
        int out = p2p_shift(rank, -round, size), in = p2p_shift(out, -1, size);
        ompi_data_t target = piece(home, in, size), operand = piece(spare, in, size);
        ompi_coll_send(schedule, behind, piece(round == 0 ? own : home, out, size));
        ompi_coll_recv(schedule, before, operand);
        ompi_schedule_wait(schedule);
        const void *other =
            ompi_coll_is_in_place(&call->send) ? operand.buffer : piece(own, in, size).buffer;
        if (target.count > 0)
            ompi_schedule_reduce(schedule, other, target);
    }
    for (int round = 0; round < size - 1; round++) {
        int out = p2p_shift(behind, -round, size), in = p2p_shift(out, -1, size);
        ompi_coll_send(schedule, behind, piece(home, out, size));
        ompi_coll_recv(schedule, before, piece(home, in, size));
        ompi_schedule_wait(schedule);
    }
    return MPI_SUCCESS;
}

int p2p_allreduce_reduce_bcast(const ompi_coll_call_t *call, ompi_schedule_t *schedule)
{
    ompi_coll_call_t part = *call;
    part.root = 0;
    if (ompi_coll_is_in_place(&call->send) && schedule->rank != 0)
        part.send.buffer = call->recv.buffer;
    p2p_reduce_binomial(&part, schedule);
    ompi_schedule_wait(schedule);
    return p2p_bcast_binomial(&part, schedule);
}
