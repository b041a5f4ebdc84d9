/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Reductions. With N parts, operands of m bytes cross the boundaries of parts
 *
 *   reduce     N - 1 times       allreduce   2 (N - 1) times, if the outer algorithm does the least
 *   reduce_scatter   N - 1 times             scan   log2(N) times in each part
 *
 * in one message of m bytes with leaders, or in `width` ones of m / width bytes in parallel (reduce
 * and allreduce in parallel are in pipeline.c). The operands keep the layout of their type; pieces
 * are whole elements.
 */
#include "ompi/mca/coll/hier/hier.h"
#include "ompi/mca/coll/hier/phase.h"

/* -- allreduce -------------------------------------------------------------------------------- */

int hier_allreduce_leaders(const ompi_coll_call_t *call, ompi_schedule_t *schedule)
{
    hier_comm_t *self = hier_of(call);
    ompi_data_t result = ompi_coll_whole(&call->recv);
    hier_add_reduce(schedule, self->inner, ompi_coll_operand(call), result.buffer, 0, false);
    if (self->position == 0)
        hier_add_allreduce(schedule, self->outer, result);
    hier_add_bcast(schedule, self->inner, result, 0, false);
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
    hier_add_reduce(schedule, self->inner, operand, result.buffer, lead, false);
    if (self->position == lead)
        hier_add_reduce(schedule, self->outer, result, result.buffer, root_part, false);
    if (leader != root && rank == leader)
        ompi_coll_send(schedule, root, result);
    if (leader != root && rank == root)
        ompi_coll_recv(schedule, leader, result);
    return MPI_SUCCESS;
}

/* -- reduce_scatter --------------------------------------------------------------------------- */

/* The number of elements before the block of each rank; at [size]: of all. NULL: no memory. */
static size_t *offsets_of(const ompi_coll_call_t *call, ompi_schedule_t *schedule)
{
    size_t n = (size_t)schedule->size;
    size_t *offsets = ompi_schedule_memory(schedule, (n + 1) * sizeof *offsets), next = 0;
    for (size_t rank = 0; offsets != NULL && rank <= n; rank++) {
        offsets[rank] = next;
        next += rank < n ? ompi_coll_count(&call->recv, (int)rank) : 0;
    }
    return offsets;
}

/* Copies the block of a rank to the element `next` of `to`. Returns the number of its elements. */
static size_t append(ompi_schedule_t *schedule, ompi_data_t from, const size_t offsets[], int rank,
                     ompi_data_t to, size_t next)
{
    size_t count = offsets[rank + 1] - offsets[rank];
    ompi_coll_copy(schedule, ompi_coll_part(from, offsets[rank], count),
                   ompi_coll_part(to, next, count));
    return count;
}

/* The leader of a part reduces the operands of its ranks. */
int hier_reduce_scatter_leaders(const ompi_coll_call_t *call, ompi_schedule_t *schedule)
{
    hier_comm_t *self = hier_of(call);
    size_t *offsets = offsets_of(call, schedule), next = 0;
    hier_blocks_t parts = hier_blocks_create(schedule, self->parts);
    hier_blocks_t own = hier_blocks_create(schedule, hier_part_size(self, self->part));
    if (schedule->lacks_memory)
        return MPI_ERR_NO_MEM;
    ompi_data_t operand = ompi_coll_operand_of(call, offsets[schedule->size]), sum = operand;
    bool is_leader = self->position == 0;
    if (is_leader)
        sum.buffer = ompi_schedule_elements(schedule, 2 * sum.count, sum.type);
    hier_add_reduce(schedule, self->inner, operand, sum.buffer, 0, false);
    ompi_data_t ordered = ompi_coll_part(sum, sum.count, sum.count);
    for (int part = 0; part < self->parts; part++) {
        size_t first = next;
        for (int i = 0; i < hier_part_size(self, part); i++) {
            int rank = self->ranks[self->first[part] + i];
            if (part == self->part) {
                own.displs[i] = (MPI_Count)(next - first);
                own.counts[i] = (MPI_Count)(offsets[rank + 1] - offsets[rank]);
            }
            next += is_leader ? append(schedule, sum, offsets, rank, ordered, next)
                              : offsets[rank + 1] - offsets[rank];
        }
        parts.counts[part] = (MPI_Count)(next - first);
        parts.displs[part] = 0;
    }
    ompi_data_t result = ompi_data(call->recv.buffer, 0, operand.type);
    if (is_leader)
        hier_add_reduce_scatter(schedule, self->outer, ordered, parts, sum.buffer);
    else
        sum.buffer = ompi_coll_part(result, (size_t)-own.displs[self->position], 0).buffer;
    hier_add_scatterv(schedule, self->inner, sum, own, 0);
    if (is_leader)
        ompi_coll_copy(schedule, hier_piece(sum, own, 0), hier_piece(result, own, 0));
    return MPI_SUCCESS;
}

/* The blocks in the order of positions: those of position 0 of each part, then of position 1 ... In
 * parts of the same size. */
static ompi_data_t order_blocks(const hier_comm_t *self, ompi_schedule_t *schedule,
                                ompi_data_t operand, hier_blocks_t positions,
                                const size_t offsets[])
{
    size_t next = 0;
    ompi_data_t ordered = operand;
    ordered.buffer = ompi_schedule_elements(schedule, operand.count, operand.type);
    for (int position = 0; position < self->width; position++) {
        positions.displs[position] = (MPI_Count)next;
        for (int part = 0; part < self->parts; part++)
            next += append(schedule, operand, offsets, self->ranks[self->first[part] + position],
                           ordered, next);
        positions.counts[position] = (MPI_Count)next - positions.displs[position];
    }
    return ordered;
}

int hier_reduce_scatter_parallel(const ompi_coll_call_t *call, ompi_schedule_t *schedule)
{
    hier_comm_t *self = hier_of(call);
    size_t *offsets = offsets_of(call, schedule);
    hier_blocks_t positions = hier_blocks_create(schedule, self->width);
    hier_blocks_t parts = hier_blocks_create(schedule, self->parts);
    if (schedule->lacks_memory)
        return MPI_ERR_NO_MEM;
    for (int part = 0; part < self->parts; part++) {
        int rank = self->ranks[self->first[part] + self->position];
        parts.counts[part] = (MPI_Count)(offsets[rank + 1] - offsets[rank]);
        parts.displs[part] = 0;
    }
    ompi_data_t operand = order_blocks(
        self, schedule, ompi_coll_operand_of(call, offsets[schedule->size]), positions, offsets);
    ompi_data_t own = hier_piece(operand, positions, self->position);
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
    hier_add_reduce(schedule, self->inner, operand, sum.buffer, 0, false);
    if (self->inner == NULL && call->kind == OMPI_SCAN && operand.buffer != result.buffer)
        ompi_coll_copy(schedule, operand, result);
    hier_add_scan(schedule, self->inner, call->kind, operand, result.buffer);
    if (is_leader)
        hier_add_scan(schedule, self->outer, OMPI_EXSCAN, sum,
                      is_first ? sum.buffer : before.buffer);
    if (is_first)
        return MPI_SUCCESS;
    hier_add_bcast(schedule, self->inner, before, 0, false);
    if (call->kind == OMPI_EXSCAN && is_leader)
        ompi_coll_copy(schedule, before, result);
    else
        ompi_schedule_reduce(schedule, before.buffer, result);
    return MPI_SUCCESS;
}
