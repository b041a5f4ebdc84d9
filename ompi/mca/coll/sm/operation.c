/* SPDX-License-Identifier: BSD-3-Clause */
/* Persistent operations: giving, waiting and taking. operation.h explains them. */
#include "ompi/mca/coll/sm/operation.h"

#include "opal/arch/prefetch.h"
#include "opal/mca/btl/btl.h"

/* -- words that ranks wait for --------------------------------------------------------------- */

static bool is_pair(const sm_operation_t *op)
{
    return op->self->size == 2;
}

/* The ranks of a side that say something; all that are not the root, if they are several. */
static uint64_t members(const sm_operation_t *op, sm_side_t side)
{
    return (uint64_t)op->self->size - (side == SM_OTHERS);
}

static bool has_reached(const _Atomic uint64_t *word, uint64_t value)
{
    return atomic_load_explicit(word, memory_order_acquire) >= value;
}

/* The cell in which the only rank that is waited for stores its use. */
static sm_cell_t *awaited_cell(const sm_operation_t *op, unsigned slot)
{
    return sm_operation_cell(op, is_pair(op) ? 1 - op->self->rank : op->root, slot);
}

static bool all_have_given(const sm_operation_t *op)
{
    if (op->by_last)
        return has_reached(&sm_operation_cell(op, op->self->size, op->slot)->given, op->use);
    if (is_pair(op) || op->givers == SM_ROOT)
        return has_reached(&awaited_cell(op, op->slot)->given, op->use);
    return has_reached(&op->counts[op->slot].given.count, op->use * members(op, op->givers));
}

static bool is_first_of_batch(const sm_operation_t *op)
{
    return (op->slot & (op->batch - 1)) == 0;
}

static bool is_last_of_batch(const sm_operation_t *op)
{
    return (~op->slot & (op->batch - 1)) == 0;
}

/* A use of the batch of slots that this slot is in. */
static bool all_have_taken(const sm_operation_t *op, uint64_t use)
{
    unsigned last = op->slot | (op->batch - 1);
    if (op->reads_early)
        return has_reached(&sm_operation_cell(op, op->self->rank, op->slot)->taken,
                           use * (uint64_t)op->readers);
    if (is_pair(op) || op->takers == SM_ROOT)
        return has_reached(&awaited_cell(op, last)->taken, use);
    return has_reached(&op->counts[last].taken.count, use * members(op, op->takers));
}

static opal_doorbell_t *doorbell_of(const sm_operation_t *op, int rank)
{
    return &opal_node_slot(op->self->peers[rank].local_rank)->doorbell;
}

/* Wakes those that wait for a side, of which this rank has spoken last. */
static void notify_awaiting(const sm_operation_t *op, sm_side_t side)
{
    const sm_comm_t *self = op->self;
    if (is_pair(op) || side == SM_OTHERS) {
        opal_doorbell_notify(doorbell_of(op, is_pair(op) ? 1 - self->rank : op->root));
        return;
    }
    atomic_thread_fence(memory_order_seq_cst);
    for (int rank = 0; rank < self->size; rank++) {
        if (rank != self->rank)
            opal_doorbell_notify_fenced(doorbell_of(op, rank));
    }
}

/* True: this rank is the last one of its side. */
static bool say(sm_operation_t *op, sm_side_t side, _Atomic uint64_t *own, sm_counter_t *counter)
{
    if (is_pair(op) || side == SM_ROOT) {
        atomic_store_explicit(own, op->use, memory_order_release);
        return true;
    }
    return atomic_fetch_add_explicit(&counter->count, 1, memory_order_acq_rel) + 1 ==
           op->use * members(op, side);
}

/* -- data ------------------------------------------------------------------------------------ */

static void pack(const sm_move_t *move, size_t shift)
{
    if (move->plain != NULL)
        opal_copy(move->at + shift, move->plain, move->bytes);
    else
        sm_pack_piece(move->data, move->skip, move->bytes, move->at + shift);
}

static void unpack(const sm_move_t *move, size_t shift)
{
    if (move->plain != NULL)
        opal_copy(move->plain, move->at + shift, move->bytes);
    else
        sm_unpack_piece(move->data, move->skip, move->bytes, move->at + shift);
}

/* Operands that are mapped can be read, so a fold has no error. */
static void fold(sm_operation_t *op, ompi_data_t result)
{
    op->fold.operands = op->operands + (size_t)op->slot * (size_t)op->self->size;
    sm_fold_run(&op->fold, NULL, op->first, op->result.count, result);
}

void sm_operation_reduce(sm_operation_t *op)
{
    fold(op, op->result);
}

void sm_operation_reduce_piece(sm_operation_t *op)
{
    op->fold.operands = op->operands;
    sm_fold_into(&op->fold, NULL, op->result.count, op->first_result, op->results);
}

/* -- phases ---------------------------------------------------------------------------------- */

/* The last rank to give computes the packed result for all. */
static void reduce_for_all(sm_operation_t *op)
{
    char *row = sm_operation_row(op, op->self->size, op->slot);
    fold(op, ompi_data(row, ompi_coll_bytes(op->result), ompi_datatype_of(MPI_BYTE)));
    atomic_store_explicit(&sm_operation_cell(op, op->self->size, op->slot)->given, op->use,
                          memory_order_release);
}

static void give(sm_operation_t *op)
{
    size_t shift = op->slot * op->stride;
    sm_cell_t *cell = sm_operation_cell(op, op->self->rank, op->slot);
    for (size_t i = 0; i < op->packs.count; i++)
        pack(&op->packs.first[i], shift);
    if (op->reads_early)
        atomic_store_explicit(&cell->given, op->use, memory_order_release);
    if (op->gives && say(op, op->givers, &cell->given, &op->counts[op->slot].given)) {
        if (op->by_last)
            reduce_for_all(op);
        notify_awaiting(op, op->givers);
    }
    if (op->own_from.type != NULL)
        sm_copy_own(op->own_from, op->own_to);
}

/* Reads from the ranks that have given, if that has not been done. */
static void read_early(sm_operation_t *op)
{
    for (size_t i = 0; i < op->reads.count; i++) {
        sm_move_t *read = &op->reads.first[i];
        sm_cell_t *cell = sm_operation_cell(op, read->rank, op->slot);
        if (read->use == op->use || !has_reached(&cell->given, op->use))
            continue;
        unpack(read, 0);
        read->use = op->use;
        if (atomic_fetch_add_explicit(&cell->taken, 1, memory_order_acq_rel) + 1 ==
            op->use * (uint64_t)read->readers)
            opal_doorbell_notify(doorbell_of(op, read->rank));
    }
}

static void take(sm_operation_t *op)
{
    size_t shift = op->slot * op->stride;
    sm_cell_t *cell = sm_operation_cell(op, op->self->rank, op->slot);
    if (op->reduce != NULL)
        op->reduce(op);
    for (size_t i = 0; i < op->writes.count; i++)
        pack(&op->writes.first[i], shift);
    for (size_t i = 0; i < op->reads.count && !op->reads_early; i++)
        unpack(&op->reads.first[i], shift);
    bool speaks = op->has_taken && is_last_of_batch(op);
    if (speaks && say(op, op->takers, &cell->taken, &op->counts[op->slot].taken))
        notify_awaiting(op, op->takers);
}

static bool has_failed(const ompi_communicator_t *comm, int rank)
{
    const opal_btl_peer_t *peer = opal_process_get_end(ompi_comm_process(comm, rank), OPAL_END_BTL);
    return peer != NULL && peer->has_failed;
}

/* The operation waits, unless a rank of the communicator has failed. */
static int again(sm_operation_t *op)
{
    sm_comm_t *self = op->self;
    bool is_alive = sm_step_is_alive(self);
    if (opal_unlikely(op->failures != opal_btl_failures)) {
        op->failures = opal_btl_failures;
        for (int rank = 0; rank < self->size; rank++)
            is_alive &= !has_failed(self->comm, rank);
    }
    if (opal_likely(is_alive))
        return OMPI_STEP_AGAIN;
    op->error = MPI_ERR_PROC_ABORTED;
    return op->error;
}

static unsigned next_slot(const sm_operation_t *op)
{
    return (op->slot + 1) & (op->slots - 1);
}

static void begin(sm_operation_t *op)
{
    op->slot = next_slot(op);
    op->use += op->slot == 0;
    op->phase = SM_GIVES;
}

/* After a failure the operation does nothing, since nothing is known of the others. */
int sm_operation_advance(ompi_schedule_t *schedule OPAL_UNUSED, void *context)
{
    sm_operation_t *op = context;
    if (opal_unlikely(op->error != MPI_SUCCESS))
        return op->error;
    if (op->phase == SM_AT_REST)
        begin(op);
    if (op->phase == SM_GIVES) {
        if (op->reuses && is_first_of_batch(op) && !all_have_taken(op, op->use - 1))
            return again(op);
        give(op);
        op->phase = SM_TAKES;
    }
    if (op->phase == SM_TAKES) {
        bool has_all = !op->takes || all_have_given(op);
        if (op->reads_early)
            read_early(op);
        if (!has_all)
            return again(op);
        take(op);
        op->phase = SM_ENDS;
    }
    if (op->ends && !all_have_taken(op, op->use))
        return again(op);
    op->phase = SM_AT_REST;
    opal_prefetch_write(sm_operation_cell(op, op->self->rank, next_slot(op)));
    return MPI_SUCCESS;
}
