/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Scan and exscan, in rank order.
 *
 *   doubling   log2(n) (a + m b + m g)   in round k a rank sends its value to the rank 2^k behind
 *                                        it
 *   linear     n (a + m b + m g)         from rank to rank
 *
 * An exscan by doubling sends each operand to the next rank first. It is then an inclusive scan of
 * these operands by all ranks except rank 0.
 */
#include "ompi/mca/coll/p2p/p2p.h"

/* An inclusive scan of the ranks from `first` on. */
static int double_distances(p2p_sum_t *sum, int first)
{
    ompi_schedule_t *schedule = sum->schedule;
    int rank = schedule->rank, size = schedule->size;
    for (int distance = 1; distance < size - first; distance *= 2) {
        bool receives = rank - distance >= first;
        ompi_data_t operand = receives ? p2p_sum_target(sum) : sum->value;
        if (rank + distance < size)
            ompi_schedule_send(schedule, rank + distance, sum->value);
        if (receives)
            ompi_schedule_recv(schedule, rank - distance, operand);
        ompi_schedule_wait(schedule);
        if (receives)
            p2p_sum_lower(sum, operand.buffer);
    }
    p2p_sum_finish(sum);
    return MPI_SUCCESS;
}

int p2p_scan_doubling(const ompi_coll_call_t *call, ompi_schedule_t *schedule)
{
    p2p_sum_t sum;
    p2p_sum_init(&sum, schedule, ompi_coll_operand(call), p2p_buffer(call->recv.buffer));
    return double_distances(&sum, 0);
}

int p2p_scan_linear(const ompi_coll_call_t *call, ompi_schedule_t *schedule)
{
    int rank = schedule->rank;
    p2p_sum_t sum;
    p2p_sum_init(&sum, schedule, ompi_coll_operand(call), p2p_buffer(call->recv.buffer));
    if (rank > 0) {
        ompi_data_t operand = p2p_sum_target(&sum);
        ompi_schedule_recv(schedule, rank - 1, operand);
        ompi_schedule_wait(schedule);
        p2p_sum_lower(&sum, operand.buffer);
    }
    p2p_sum_finish(&sum);
    if (rank + 1 < schedule->size)
        ompi_schedule_send(schedule, rank + 1, sum.value);
    return MPI_SUCCESS;
}

int p2p_exscan_doubling(const ompi_coll_call_t *call, ompi_schedule_t *schedule)
{
    int rank = schedule->rank;
    ompi_data_t own = ompi_coll_operand(call), first = ompi_coll_whole(&call->recv);
    if (rank > 0 && ompi_coll_is_in_place(&call->send))
        first.buffer = ompi_schedule_elements(schedule, first.count, first.type);
    if (rank + 1 < schedule->size)
        ompi_schedule_send(schedule, rank + 1, own);
    if (rank == 0)
        return MPI_SUCCESS;
    ompi_schedule_recv(schedule, rank - 1, first);
    ompi_schedule_wait(schedule);
    p2p_sum_t sum;
    p2p_sum_init(&sum, schedule, first, p2p_buffer(call->recv.buffer));
    sum.value_is_foreign = false;
    return double_distances(&sum, 1);
}

int p2p_exscan_linear(const ompi_coll_call_t *call, ompi_schedule_t *schedule)
{
    int rank = schedule->rank;
    bool is_last = rank == schedule->size - 1;
    ompi_data_t own = ompi_coll_operand(call), next = own;
    if (rank > 0 && !is_last) {
        next.buffer = ompi_schedule_elements(schedule, own.count, own.type);
        ompi_schedule_copy(schedule, own, next);
    }
    if (rank > 0) {
        ompi_schedule_recv(schedule, rank - 1, ompi_coll_whole(&call->recv));
        ompi_schedule_wait(schedule);
    }
    if (rank > 0 && !is_last)
        ompi_schedule_reduce(schedule, call->recv.buffer, next);
    if (!is_last)
        ompi_schedule_send(schedule, rank + 1, next);
    return MPI_SUCCESS;
}
