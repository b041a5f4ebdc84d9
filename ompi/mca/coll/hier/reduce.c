/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Reductions. With N parts, operands of m bytes cross the boundaries of parts
 *
 *   reduce     N - 1 times       allreduce   2 (N - 1) times, if the outer algorithm does the least
 *   reduce_scatter   N - 1 times             scan   log2(N) times in each part
 *
 * in one message of m bytes with leaders, or in `width` ones of m / width bytes in parallel. The
 * operands keep the layout of their type; pieces are whole elements.
 */
#include "ompi/mca/coll/hier/hier.h"
#include "ompi/mca/coll/hier/phase.h"

/* The pieces of `count` elements, for the positions of a part. counts is NULL: no memory. */
static hier_blocks_t cut(const hier_comm_t *self, ompi_schedule_t *schedule, size_t count)
{
    int size = hier_part_size(self, self->part);
    hier_blocks_t pieces = hier_blocks_create(schedule, size);
    size_t width = (size_t)self->width, each = count / width, longer = count % width;
    if (pieces.counts == NULL || pieces.displs == NULL)
        return (hier_blocks_t){0};
    for (int i = 0; i < size; i++) {
        size_t at = (size_t)i;
        pieces.counts[i] = at < width ? (MPI_Count)(each + (at < longer)) : 0;
        pieces.displs[i] = (MPI_Count)(each * at + (at < longer ? at : longer));
    }
    return pieces;
}

static ompi_data_t piece_at(ompi_data_t data, hier_blocks_t pieces, int position)
{
    return ompi_coll_part(data, (size_t)pieces.displs[position], (size_t)pieces.counts[position]);
}

/* -- allreduce -------------------------------------------------------------------------------- */

int hier_allreduce_leaders(const ompi_coll_call_t *call, ompi_schedule_t *schedule)
{
    hier_comm_t *self = hier_of(call);
    ompi_data_t result = ompi_coll_whole(&call->recv);
    hier_add_reduce(schedule, self->inner, ompi_coll_operand(call), result.buffer, 0);
    if (self->position == 0)
        hier_add_allreduce(schedule, self->outer, result);
    hier_add_bcast(schedule, self->inner, result, 0);
    return MPI_SUCCESS;
}

int hier_allreduce_parallel(const ompi_coll_call_t *call, ompi_schedule_t *schedule)
{
    hier_comm_t *self = hier_of(call);
    ompi_data_t result = ompi_coll_whole(&call->recv);
    hier_blocks_t pieces = cut(self, schedule, result.count);
    if (pieces.counts == NULL)
        return MPI_ERR_NO_MEM;
    ompi_data_t own = piece_at(result, pieces, self->position);
    hier_add_reduce_scatter(schedule, self->inner, ompi_coll_operand(call), pieces, own.buffer);
    if (self->outer != NULL)
        hier_add_allreduce(schedule, self->outer, own);
    hier_add_allgatherv(schedule, self->inner, result, pieces);
    return MPI_SUCCESS;
}

/* -- reduce ----------------------------------------------------------------------------------- */

/* The leaders are the ranks of the root's position, if all parts have it; else the leader of the
 * root's part sends the result to the root. */
int hier_reduce_leaders(const ompi_coll_call_t *call, ompi_schedule_t *schedule)
{
    hier_comm_t *self = hier_of(call);
    int rank = schedule->rank, root = call->root, root_part = hier_part_of(self, root);
    int position = hier_position_of(self, root), lead = position < self->width ? position : 0;
    int leader = self->ranks[self->first[root_part] + lead];
    ompi_data_t operand = ompi_coll_operand(call), result = ompi_coll_whole(&call->recv);
    if (self->position == lead && rank != root)
        result.buffer = ompi_schedule_elements(schedule, result.count, result.type);
    hier_add_reduce(schedule, self->inner, operand, result.buffer, lead);
    if (self->position == lead)
        hier_add_reduce(schedule, self->outer, result, result.buffer, root_part);
    if (leader != root && rank == leader)
        ompi_coll_send(schedule, root, result);
    if (leader != root && rank == root)
        ompi_coll_recv(schedule, leader, result);
    return MPI_SUCCESS;
}

/* The ranks of the root's part send their pieces to the root. */
static void collect(const hier_comm_t *self, const ompi_coll_call_t *call,
                    ompi_schedule_t *schedule, hier_blocks_t pieces, ompi_data_t own)
{
    bool is_root = schedule->rank == call->root;
    if (!is_root && self->position < self->width)
        ompi_coll_send(schedule, call->root, own);
    for (int i = 0; is_root && i < self->width; i++) {
        if (i != self->position)
            ompi_coll_recv(schedule, self->ranks[self->first[self->part] + i],
                           piece_at(ompi_coll_whole(&call->recv), pieces, i));
    }
}

int hier_reduce_parallel(const ompi_coll_call_t *call, ompi_schedule_t *schedule)
{
    hier_comm_t *self = hier_of(call);
    bool is_root = schedule->rank == call->root;
    int root_part = hier_part_of(self, call->root);
    ompi_data_t operand = ompi_coll_operand(call), own;
    hier_blocks_t pieces = cut(self, schedule, operand.count);
    if (pieces.counts == NULL)
        return MPI_ERR_NO_MEM;
    if (is_root) {
        own = piece_at(ompi_coll_whole(&call->recv), pieces, self->position);
    } else {
        own = piece_at(operand, pieces, self->position);
        own.buffer = ompi_schedule_elements(schedule, own.count, own.type);
    }
    hier_add_reduce_scatter(schedule, self->inner, operand, pieces, own.buffer);
    if (self->outer != NULL)
        hier_add_reduce(schedule, self->outer, own, own.buffer, root_part);
    if (self->part == root_part)
        collect(self, call, schedule, pieces, own);
    return MPI_SUCCESS;
}

/* -- reduce_scatter --------------------------------------------------------------------------- */

/* The blocks in the order of positions: those of position 0 of each part, then of position 1 ... In
 * parts of the same size. */
static ompi_data_t order_blocks(const hier_comm_t *self, const ompi_coll_call_t *call,
                                ompi_schedule_t *schedule, hier_blocks_t positions,
                                const size_t before[])
{
    size_t n = (size_t)schedule->size, next = 0;
    ompi_data_t operand = ompi_coll_operand_of(call, before[n]), ordered = operand;
    ordered.buffer = ompi_schedule_elements(schedule, before[n], operand.type);
    for (int position = 0; position < self->width; position++) {
        positions.displs[position] = (MPI_Count)next;
        for (int part = 0; part < self->parts; part++) {
            int rank = self->ranks[self->first[part] + position];
            size_t count = before[rank + 1] - before[rank];
            ompi_coll_copy(schedule, ompi_coll_part(operand, before[rank], count),
                           ompi_coll_part(ordered, next, count));
            next += count;
        }
        positions.counts[position] = (MPI_Count)next - positions.displs[position];
    }
    return ordered;
}

int hier_reduce_scatter_parallel(const ompi_coll_call_t *call, ompi_schedule_t *schedule)
{
    hier_comm_t *self = hier_of(call);
    size_t n = (size_t)schedule->size;
    size_t *before = ompi_schedule_memory(schedule, (n + 1) * sizeof *before);
    hier_blocks_t positions = hier_blocks_create(schedule, self->width);
    hier_blocks_t parts = hier_blocks_create(schedule, self->parts);
    if (schedule->lacks_memory)
        return MPI_ERR_NO_MEM;
    before[0] = 0;
    for (size_t rank = 0; rank < n; rank++)
        before[rank + 1] = before[rank] + ompi_coll_count(&call->recv, (int)rank);
    for (int part = 0; part < self->parts; part++) {
        int rank = self->ranks[self->first[part] + self->position];
        parts.counts[part] = (MPI_Count)(before[rank + 1] - before[rank]);
        parts.displs[part] = 0;
    }
    ompi_data_t operand = order_blocks(self, call, schedule, positions, before);
    ompi_data_t own = piece_at(operand, positions, self->position);
    hier_add_reduce_scatter(schedule, self->inner, operand, positions, own.buffer);
    hier_add_reduce_scatter(schedule, self->outer, own, parts, call->recv.buffer);
    return MPI_SUCCESS;
}

/* -- scan ------------------------------------------------------------------------------------- */

/*
 * In parts of consecutive ranks, in order: the sum of the parts before this rank's comes from the
 * leaders, and is reduced with the scan within the part.
 */
int hier_scan_leaders(const ompi_coll_call_t *call, ompi_schedule_t *schedule)
{
    hier_comm_t *self = hier_of(call);
    ompi_data_t operand = ompi_coll_operand(call), result = ompi_coll_whole(&call->recv);
    ompi_data_t sum = operand, before = operand;
    bool is_first = self->part == 0, is_leader = self->position == 0;
    if (is_leader)
        sum.buffer = ompi_schedule_elements(schedule, sum.count, sum.type);
    before.buffer = is_first ? NULL : ompi_schedule_elements(schedule, sum.count, sum.type);
    hier_add_reduce(schedule, self->inner, operand, sum.buffer, 0);
    if (self->inner == NULL && call->kind == OMPI_SCAN && operand.buffer != result.buffer)
        ompi_coll_copy(schedule, operand, result);
    hier_add_scan(schedule, self->inner, call->kind, operand, result.buffer);
    if (is_leader)
        hier_add_scan(schedule, self->outer, OMPI_EXSCAN, sum,
                      is_first ? sum.buffer : before.buffer);
    if (is_first)
        return MPI_SUCCESS;
    hier_add_bcast(schedule, self->inner, before, 0);
    if (call->kind == OMPI_EXSCAN && is_leader)
        ompi_coll_copy(schedule, before, result);
    else
        ompi_schedule_reduce(schedule, before.buffer, result);
    return MPI_SUCCESS;
}
