/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Reductions of data in the area. With n ranks and operands of m bytes, a rank copies and reduces
 *
 *   reduce                              n m in the root, m in the    the root reduces
 *                                       others
 *   allreduce, short or of two ranks    (n + 1) m                    each rank reduces everything
 *   allreduce, long                     n m in the last rank to      the last rank to arrive
 *                                       arrive, 2 m in the others    reduces for all
 *   reduce_scatter                      (n + 1) m                    each rank reduces its block
 *   scan, exscan                        up to (n + 1) m              each rank reduces the operands
 *                                                                    up to its own
 *   the same where ranks share cores    2 m to 3 m                   each rank adds its operand to
 *                                                                    what the rank below has
 *
 * With more ranks than cores the work of all ranks adds up, so only one rank does a long allreduce.
 *
 * A rank without memory takes its steps without reducing, and returns the error at the end. The
 * others have their results, unless that rank reduces for them.
 */
#include "ompi/mca/coll/sm/fold.h"

/* Begins a step, and packs this rank's operand into its row. */
static inline int begin_with_operand(sm_comm_t *self, const ompi_coll_call_t *call, sm_flow_t flow,
                                     size_t bytes, sm_slot_t *slot)
{
    int error = sm_step_begin(self, flow, bytes, slot);
    if (error == MPI_SUCCESS)
        sm_pack(ompi_coll_operand(call), sm_step_own_row(self, slot));
    return error;
}

static int reduce_in_root(sm_comm_t *self, const ompi_coll_call_t *call, size_t bytes)
{
    ompi_data_t result = ompi_coll_whole(&call->recv);
    const char *own = sm_own_operand(call);
    sm_slot_t slot;
    int error = sm_step_begin(self, SM_TO_ROOT, bytes, &slot);
    if (error != MPI_SUCCESS)
        return error;
    if (own == NULL)
        sm_pack(ompi_coll_operand(call), sm_step_own_row(self, &slot));
    error = sm_step_arrive_at_root(self, &slot, call->root);
    if (error == MPI_SUCCESS)
        error = sm_step_compare(self, &slot);
    return error == MPI_SUCCESS
               ? sm_fold_rows(self, call, &slot, self->size, 0, result.count, own, result)
               : error;
}

int sm_reduce(sm_comm_t *self, const ompi_coll_call_t *call, size_t bytes)
{
    sm_slot_t slot;
    if (self->rank == call->root)
        return reduce_in_root(self, call, bytes);
    int error = begin_with_operand(self, call, SM_TO_ROOT, bytes, &slot);
    return error == MPI_SUCCESS ? sm_step_arrive_at_root(self, &slot, call->root) : error;
}

static int reduce_by_last(sm_comm_t *self, const ompi_coll_call_t *call, const sm_slot_t *slot,
                          size_t bytes, ompi_data_t result)
{
    int error;
    if (sm_step_count_in(self, slot)) {
        ompi_data_t packed =
            ompi_data(sm_step_result_row(self, slot), bytes, ompi_datatype_of(MPI_BYTE));
        error = sm_step_compare(self, slot);
        if (error == MPI_SUCCESS)
            error = sm_fold_rows(self, call, slot, self->size, 0, result.count,
                                 sm_own_operand(call), packed);
        sm_step_publish_result(self, slot, error);
    } else {
        error = sm_step_await_result(self, slot);
    }
    if (error == MPI_SUCCESS)
        sm_unpack(result, sm_step_row(self, slot, self->size));
    return error;
}

int sm_allreduce(sm_comm_t *self, const ompi_coll_call_t *call, size_t bytes)
{
    ompi_data_t result = ompi_coll_whole(&call->recv);
    sm_slot_t slot;
    int error = begin_with_operand(self, call, SM_SYNC, bytes, &slot);
    if (error != MPI_SUCCESS)
        return error;
    if (sm_has_counters(self) && bytes > SM_INLINE)
        return reduce_by_last(self, call, &slot, bytes, result);
    sm_step_arrive(self, &slot);
    error = sm_step_await_matching(self, &slot);
    if (error != MPI_SUCCESS)
        return error;
    return sm_fold_rows(self, call, &slot, self->size, 0, result.count, sm_own_operand(call),
                        result);
}

sm_blocks_t sm_blocks(const ompi_coll_side_t *side, const sm_comm_t *self)
{
    size_t each = (size_t)side->count, rank = (size_t)self->rank, size = (size_t)self->size;
    if (side->counts.items == NULL)
        return (sm_blocks_t){each * rank, each, each * size};
    sm_blocks_t blocks = {0, (size_t)ompi_ints_at(side->counts, rank), 0};
    for (size_t i = 0; i < size; i++) {
        if (i == rank)
            blocks.first = blocks.total;
        blocks.total += (size_t)ompi_ints_at(side->counts, i);
    }
    return blocks;
}

/* A rank reads its own block where it is, if it can. */
static void pack_blocks(const ompi_coll_call_t *call, const sm_blocks_t *blocks, bool with_own,
                        char *row)
{
    ompi_data_t all = ompi_coll_operand_of(call, blocks->total);
    size_t size = ompi_datatype_size(all.type), behind = blocks->first + blocks->count;
    size_t before = with_own ? blocks->total : blocks->first;
    sm_pack_piece(all, 0, before * size, row);
    if (!with_own)
        sm_pack_piece(all, behind * size, SIZE_MAX, row + behind * size);
}

int sm_reduce_scatter(sm_comm_t *self, const ompi_coll_call_t *call, size_t bytes)
{
    sm_blocks_t blocks = sm_blocks(&call->recv, self);
    ompi_data_t result = ompi_data(call->recv.buffer, blocks.count, call->recv.type);
    ompi_data_t block =
        ompi_coll_part(ompi_coll_operand_of(call, blocks.total), blocks.first, blocks.count);
    const char *own = block.buffer != result.buffer ? sm_own_operand(call) : NULL;
    sm_slot_t slot;
    int error = sm_step_begin(self, SM_SYNC, bytes, &slot);
    if (error != MPI_SUCCESS)
        return error;
    pack_blocks(call, &blocks, own == NULL, sm_step_own_row(self, &slot));
    sm_step_arrive(self, &slot);
    error = sm_step_await_matching(self, &slot);
    if (error != MPI_SUCCESS)
        return error;
    return sm_fold_rows(self, call, &slot, self->size, blocks.first, blocks.count, own, result);
}

/* Waits for the rows of lower ranks. After a mismatch with rank 0, whose signature counts for all,
 * the room is used as rank 0 uses it. */
static int await_lower(sm_comm_t *self, sm_slot_t *slot)
{
    int error = MPI_SUCCESS;
    for (int rank = 0; rank < self->rank; rank++) {
        int awaited = sm_step_await(self, slot, rank);
        if (awaited == MPI_ERR_TRUNCATE && rank == 0)
            awaited = sm_step_follow_root(self, slot, 0);
        if (awaited == MPI_ERR_PROC_ABORTED)
            return awaited;
        error = error != MPI_SUCCESS ? error : awaited;
    }
    return error;
}

/* The sum of the lower ranks, in the row of the rank below, and this rank's operand, in its row. An
 * error there becomes one here, and so in all higher ranks. */
static int add_to_lower(sm_comm_t *self, const ompi_coll_call_t *call, sm_slot_t *slot,
                        const char *own, size_t bytes)
{
    int lower = self->rank - 1, error = sm_step_await(self, slot, lower);
    ompi_data_t result = ompi_coll_whole(&call->recv);
    if (error == MPI_ERR_TRUNCATE) {
        self->signature = sm_step_signature(self, slot, lower) | SM_MISMATCH;
        return sm_step_follow_root(self, slot, lower);
    }
    if (error != MPI_SUCCESS) {
        self->signature |= SM_MISMATCH;
        return error;
    }
    const char *sum = sm_step_read(self, slot, lower, 0, bytes, 1);
    char *row = sm_step_own_row(self, slot);
    ompi_op_combine(call->op, sum, own, row, result.count, result.type);
    sm_unpack(result, call->kind == OMPI_SCAN ? row : sum);
    return MPI_SUCCESS;
}

/* A rank reads one row only, but it waits until all lower ranks have had their turn. That is best
 * where ranks share cores, and have turns anyway. Of plain operands. */
static int scan_in_turn(sm_comm_t *self, const ompi_coll_call_t *call, size_t bytes)
{
    ompi_data_t operand = ompi_coll_operand(call);
    const char *own = (const char *)ompi_datatype_origin(operand.type, operand.buffer);
    sm_slot_t slot;
    int error = sm_step_begin(self, SM_BY_ROOT, bytes, &slot);
    if (error != MPI_SUCCESS)
        return error;
    if (self->rank > 0)
        error = add_to_lower(self, call, &slot, own, bytes);
    else
        sm_pack(operand, sm_step_own_row(self, &slot));
    if (self->rank == 0 && call->kind == OMPI_SCAN && !ompi_coll_is_in_place(&call->send))
        sm_copy_own(operand, ompi_coll_whole(&call->recv));
    if (self->rank < self->size - 1 && error != MPI_ERR_PROC_ABORTED)
        sm_step_notify_one(self, &slot, self->rank + 1);
    return error;
}

/* A rank waits for lower ones only, so these run ahead. */
int sm_scan(sm_comm_t *self, const ompi_coll_call_t *call, size_t bytes)
{
    int operands = self->rank + (call->kind == OMPI_SCAN);
    if (self->size > 2 && self->is_oversubscribed && sm_fold_is_plain(call))
        return scan_in_turn(self, call, bytes);
    ompi_data_t result = ompi_coll_whole(&call->recv);
    sm_slot_t slot;
    int error = begin_with_operand(self, call, SM_BY_ROOT, bytes, &slot);
    if (error != MPI_SUCCESS)
        return error;
    sm_step_notify(self, &slot);
    error = await_lower(self, &slot);
    if (error != MPI_SUCCESS || operands == 0)
        return error;
    if (operands > 1)
        return sm_fold_rows(self, call, &slot, operands, 0, result.count, sm_own_operand(call),
                            result);
    sm_unpack(result, sm_step_row(self, &slot, 0));
    return MPI_SUCCESS;
}
