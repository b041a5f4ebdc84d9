/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Reduce.
 *
 *   linear          n (a + m b + m g)            the root takes in one operand after the other
 *   binomial        log2(n) (a + m b + m g)      up a tree: counted from the root if the operator
 *                                                commutes, else from rank 0, which sends the result
 *                                                to the root
 *   scatter_gather  2 log2(n) a + 2 m b + m g    a reduce-scatter by recursive halving (halving.c),
 *                                                then a binomial gather; operators that commute
 *                                                only
 */
#include "ompi/mca/coll/p2p/p2p.h"

int p2p_reduce_linear(const ompi_coll_call_t *call, ompi_schedule_t *schedule)
{
    int root = call->root;
    p2p_sum_t sum;
    if (schedule->rank != root) {
        ompi_schedule_send(schedule, root, ompi_coll_operand(call));
        return MPI_SUCCESS;
    }
    p2p_sum_init(&sum, schedule, ompi_coll_operand(call), p2p_buffer(call->recv.buffer));
    for (int i = 1; i < schedule->size; i++) {
        bool is_lower = i <= root;
        ompi_data_t operand = p2p_sum_target(&sum);
        ompi_schedule_recv(schedule, is_lower ? root - i : i, operand);
        ompi_schedule_wait(schedule);
        if (is_lower)
            p2p_sum_lower(&sum, operand.buffer);
        else
            p2p_sum_higher(&sum, operand.buffer);
    }
    p2p_sum_finish(&sum);
    return MPI_SUCCESS;
}

/* Reduces up the tree. In the rank `top` the sum is the result in the end. */
static void climb(p2p_sum_t *sum, int top)
{
    ompi_schedule_t *schedule = sum->schedule;
    int rank = schedule->rank, size = schedule->size, from_top = p2p_shift(rank, -top, size);
    for (int distance = 1; distance < size; distance *= 2) {
        if (from_top & distance) {
            ompi_schedule_send(schedule, p2p_shift(rank, -distance, size), sum->value);
            ompi_schedule_wait(schedule);
            return;
        }
        if (from_top + distance >= size)
            continue;
        ompi_data_t operand = p2p_sum_target(sum);
        ompi_schedule_recv(schedule, p2p_shift(rank, distance, size), operand);
        ompi_schedule_wait(schedule);
        p2p_sum_higher(sum, operand.buffer);
    }
}

int p2p_reduce_binomial(const ompi_coll_call_t *call, ompi_schedule_t *schedule)
{
    int rank = schedule->rank, root = call->root;
    int top = ompi_op_is_commutative(call->op) ? root : 0;
    p2p_sum_t sum;
    p2p_sum_init(&sum, schedule, ompi_coll_operand(call),
                 p2p_buffer_if(rank == root, call->recv.buffer));
    climb(&sum, top);
    if (rank == root && rank == top)
        p2p_sum_finish(&sum);
    else if (rank == top)
        ompi_schedule_send(schedule, root, sum.value);
    else if (rank == root)
        ompi_schedule_recv(schedule, top, ompi_coll_whole(&call->recv));
    return MPI_SUCCESS;
}

int p2p_reduce_scatter_gather(const ompi_coll_call_t *call, ompi_schedule_t *schedule)
{
    int rank = schedule->rank, root = call->root;
    p2p_halving_t halving;
    if (schedule->size == 1)
        return p2p_reduce_binomial(call, schedule);
    p2p_halving_init(&halving, schedule, ompi_coll_operand(call),
                     p2p_buffer_if(rank == root, call->recv.buffer), NULL);
    p2p_halving_reduce(&halving);
    p2p_halving_gather(&halving, root);
    return MPI_SUCCESS;
}
