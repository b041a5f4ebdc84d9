/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Reduce-scatter, with blocks of one size or of different sizes.
 *
 *   halving     log2(n) a + m b + m g           recursive halving (halving.c); operators that
 *                                               commute only
 *   pairwise    (n-1) (a + m/n b + m/n g)       each rank sends each other rank its block, one at
 *                                               a time; operators that commute only
 *   reduce      log2(n) (a + m b + m g) + m b   a reduction, then a scatter; in rank order
 */
#include "ompi/mca/coll/p2p/p2p.h"

static size_t elements_before(const ompi_coll_call_t *call, int rank)
{
    if (call->recv.counts.items == NULL)
        return (size_t)rank * (size_t)call->recv.count;
    size_t before = 0;
    for (int i = 0; i < rank; i++)
        before += ompi_coll_count(&call->recv, i);
    return before;
}

/* This rank's operand: all blocks. */
static ompi_data_t contribution(const ompi_coll_call_t *call, const ompi_schedule_t *schedule)
{
    return ompi_coll_operand_of(call, elements_before(call, schedule->size));
}

static ompi_data_t result(const ompi_coll_call_t *call, const ompi_schedule_t *schedule)
{
    return ompi_data(call->recv.buffer, ompi_coll_count(&call->recv, schedule->rank),
                     call->recv.type);
}

int p2p_reduce_scatter_halving(const ompi_coll_call_t *call, ompi_schedule_t *schedule)
{
    p2p_halving_t halving;
    if (schedule->size == 1)
        return p2p_reduce_scatter_pairwise(call, schedule);
    p2p_halving_init(&halving, schedule, contribution(call, schedule), (p2p_buffer_t){0},
                     &call->recv);
    p2p_halving_reduce(&halving);
    p2p_halving_scatter(&halving, result(call, schedule));
    return MPI_SUCCESS;
}

static ompi_data_t block(const ompi_coll_call_t *call, ompi_data_t all, int rank)
{
    return ompi_coll_part(all, elements_before(call, rank), ompi_coll_count(&call->recv, rank));
}

int p2p_reduce_scatter_pairwise(const ompi_coll_call_t *call, ompi_schedule_t *schedule)
{
    int rank = schedule->rank, size = schedule->size;
    ompi_data_t all = contribution(call, schedule), own = block(call, all, rank);
    ompi_data_t home = result(call, schedule);
    p2p_sum_t sum;
    /* In place, the result's memory has blocks that have not been sent yet. */
    p2p_sum_init(&sum, schedule, own,
                 p2p_buffer_if(!ompi_coll_is_in_place(&call->send), home.buffer));
    for (int distance = 1; distance < size; distance++) {
        int to = p2p_shift(rank, distance, size), from = p2p_shift(rank, -distance, size);
        ompi_data_t operand = p2p_sum_target(&sum);
        ompi_coll_send(schedule, to, block(call, all, to));
        ompi_coll_recv(schedule, from, operand);
        ompi_schedule_wait(schedule);
        if (home.count > 0)
            p2p_sum_lower(&sum, operand.buffer);
    }
    if (sum.value.buffer != home.buffer)
        ompi_coll_copy(schedule, sum.value, home);
    return MPI_SUCCESS;
}

int p2p_reduce_scatter_reduce(const ompi_coll_call_t *call, ompi_schedule_t *schedule)
{
    bool is_root = schedule->rank == 0;
    ompi_data_t own = contribution(call, schedule);
    ompi_coll_call_t part = *call;
    part.root = 0;
    part.send.buffer = own.buffer;
    part.recv = (ompi_coll_side_t){.count = (MPI_Count)own.count, .type = own.type};
    if (is_root)
        part.recv.buffer = ompi_schedule_elements(schedule, own.count, own.type);
    p2p_reduce_binomial(&part, schedule);
    ompi_schedule_wait(schedule);
    if (!is_root) {
        ompi_coll_recv(schedule, 0, result(call, schedule));
        return MPI_SUCCESS;
    }
    for (int rank = 1; rank < schedule->size; rank++)
        ompi_coll_send(schedule, rank, block(call, ompi_coll_whole(&part.recv), rank));
    ompi_coll_copy(schedule, block(call, ompi_coll_whole(&part.recv), 0), result(call, schedule));
    return MPI_SUCCESS;
}
