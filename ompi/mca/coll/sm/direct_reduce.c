/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Reductions of longer data. Each rank reduces a piece from the memory of all ranks. It writes the
 * result to the buffers of the ranks that want it, if these are in the region; else those ranks
 * read it. With n ranks and operands of m bytes,
 *
 *   allreduce       a rank reduces m / n and writes m; two waits. Short data of two ranks: both
 *                   reduce everything
 *   reduce          a rank reduces m / n and writes it to the root; two waits. Or the root, alone,
 *                   reduces n m (sm_direct_pulls)
 *   reduce_scatter  a rank reduces its block; two waits
 *   scan, exscan    a rank reduces m / n for each rank, and writes it to that rank's result; two
 *                   waits. Where results are read, a rank reduces the operands up to its own
 *
 * Where results are read instead, an allreduce has a third wait, and so has the root of a reduce.
 *
 * The operands of an element are always reduced in the order of the ranks, so these also serve the
 * user's operators and those that do not commute.
 */
#include "ompi/mca/coll/sm/direct.h"
#include "ompi/mca/coll/sm/fold.h"

/* Prepares a reduction of `count` elements. A rank without memory publishes that, and all ranks
 * stop. */
static void begin(sm_fold_t *fold, sm_comm_t *self, const ompi_coll_call_t *call, size_t count,
                  bool needs_copy, sm_source_t *source)
{
    *source = (sm_source_t){0};
    int error = sm_fold_init(fold, self, call, true);
    fold->claims = sm_claims(self, ompi_datatype_bytes(call->recv.type, count), 1);
    if (error == MPI_SUCCESS)
        sm_source_init(source, self, ompi_coll_operand_of(call, count), needs_copy);
    else
        source->error = error;
    source->in_place = ompi_coll_is_in_place(&call->send);
}

/* -- everything in one rank ------------------------------------------------------------------ */

/* Reduces elements from `first` on, when all operands are published. */
static int fold_alone(const sm_fold_t *fold, const sm_slot_t *operands, size_t first,
                      ompi_data_t result)
{
    sm_comm_t *self = fold->self;
    int error = sm_fold_run(fold, operands, first, result.count, result);
    for (int rank = 0; rank < self->size; rank++) {
        if (rank != self->rank)
            sm_direct_reader_done(self, operands, rank, self->size - 1);
    }
    return sm_direct_await_readers(self, operands, self->size - 1, error);
}

/* In place the others read a copy, because the result overwrites the operand. */
int sm_direct_reduce_scatter(sm_comm_t *self, const ompi_coll_call_t *call,
                             size_t bytes OPAL_UNUSED)
{
    sm_blocks_t blocks = sm_blocks(&call->recv, self);
    bool in_place = ompi_coll_is_in_place(&call->send);
    ompi_data_t result = ompi_data(call->recv.buffer, blocks.count, call->recv.type);
    sm_source_t source;
    sm_slot_t operands;
    sm_fold_t fold;
    begin(&fold, self, call, blocks.total, in_place, &source);
    int error = sm_direct_exchange(self, &source, &operands);
    if (error == MPI_SUCCESS)
        error = fold_alone(&fold, &operands, blocks.first, result);
    sm_source_fini(&source);
    return error;
}

/* -- pieces that are read -------------------------------------------------------------------- */

/* A rank's piece of the result. */
static ompi_data_t part_of(const sm_comm_t *self, ompi_data_t result, int rank)
{
    sm_piece_t piece = sm_piece_of(self, result.count, rank);
    return ompi_coll_part(result, piece.first, piece.count);
}

/* Reduces a rank's piece into the result. */
static int reduce_part(const sm_fold_t *fold, const sm_slot_t *operands, ompi_data_t result,
                       int rank)
{
    sm_piece_t piece = sm_piece_of(fold->self, result.count, rank);
    return sm_fold_run(fold, operands, piece.first, piece.count, part_of(fold->self, result, rank));
}

/* Allocates memory for this rank's packed piece. */
static void allocate_piece(const sm_comm_t *self, ompi_data_t result, sm_source_t *reduced)
{
    sm_piece_t piece = sm_piece_of(self, result.count, self->rank);
    sm_source_init_room(reduced, self, ompi_datatype_bytes(result.type, piece.count));
}

/* Reduces this rank's piece into that memory. */
static int reduce_to_room(const sm_fold_t *fold, const sm_slot_t *operands, ompi_data_t result,
                          const sm_source_t *reduced)
{
    sm_piece_t piece = sm_piece_of(fold->self, result.count, fold->self->rank);
    size_t bytes = ompi_datatype_bytes(result.type, piece.count);
    return sm_fold_run(fold, operands, piece.first, piece.count,
                       ompi_data(reduced->room, bytes, ompi_datatype_of(MPI_BYTE)));
}

/* Reads the others' pieces into the result. Each piece has `readers` readers. */
static int collect(sm_comm_t *self, const sm_slot_t *slot, ompi_data_t result, int readers)
{
    int error = MPI_SUCCESS;
    for (int distance = 1; distance < self->size; distance++) {
        int rank = (self->rank + distance) % self->size;
        ompi_data_t part = part_of(self, result, rank);
        bool is_there = *sm_step_error(self, slot, rank) == MPI_SUCCESS;
        if (error == MPI_SUCCESS && part.count > 0 && is_there)
            error = sm_direct_fetch(self, slot, rank, 0, part, readers);
        sm_direct_reader_done(self, slot, rank, readers);
    }
    return error;
}

/* -- allreduce ------------------------------------------------------------------------------- */

/* Where the others will read this rank's piece: in the result, or in memory if they cannot read it
 * there. The memory is allocated before the operand is published, because later the operation
 * cannot fall back to messages: results overwrite operands. */
static void reserve_piece(const sm_comm_t *self, ompi_data_t result, sm_source_t *source,
                          sm_source_t *reduced)
{
    ompi_data_t part = part_of(self, result, self->rank);
    *reduced = (sm_source_t){.address = ompi_datatype_origin(part.type, part.buffer)};
    if (source->error != MPI_SUCCESS || source->target != 0 || sm_direct_is_readable(self, part))
        return;
    allocate_piece(self, result, reduced);
    source->error = reduced->error;
}

static int allreduce_by_reading(const sm_fold_t *fold, const sm_slot_t *operands,
                                ompi_data_t result, sm_source_t *reduced)
{
    sm_comm_t *self = fold->self;
    sm_slot_t pieces;
    if (reduced->room != NULL)
        reduced->error = reduce_to_room(fold, operands, result, reduced);
    else
        reduced->error = reduce_part(fold, operands, result, self->rank);
    int error = sm_direct_exchange(self, reduced, &pieces);
    if (error != MPI_SUCCESS)
        return error;
    if (reduced->room != NULL)
        sm_unpack(part_of(self, result, self->rank), reduced->room);
    error = collect(self, &pieces, result, self->size - 1);
    return sm_direct_await_readers(self, &pieces, self->size - 1, error);
}

int sm_direct_allreduce(sm_comm_t *self, const ompi_coll_call_t *call, size_t bytes)
{
    ompi_data_t result = ompi_coll_whole(&call->recv);
    sm_source_t source, reduced;
    sm_slot_t operands;
    sm_fold_t fold;
    begin(&fold, self, call, result.count, false, &source);
    if (!sm_direct_pulls(self, bytes))
        sm_source_set_target(&source, self, result);
    reserve_piece(self, result, &source, &reduced);
    int error = sm_direct_exchange(self, &source, &operands);
    if (error == MPI_SUCCESS) {
        bool pushes = sm_direct_has_targets(self, &operands);
        const ompi_coll_sm_limits_t *limits = self->limits;
        size_t whole = pushes ? limits->allreduce_whole_bytes : limits->allreduce_whole_read_bytes;
        /* With an operand in place, only one rank may read each piece of the operands. */
        if (bytes <= whole && !sm_direct_is_in_place(self, &operands)) {
            fold.claims = false;
            error = fold_alone(&fold, &operands, 0, result);
        } else if (pushes) {
            error = sm_direct_barrier(
                self, sm_fold_into(&fold, &operands, result.count, self->rank, self->size));
        } else {
            error = allreduce_by_reading(&fold, &operands, result, &reduced);
        }
    }
    sm_source_fini(&reduced);
    sm_source_fini(&source);
    return error;
}

/* -- reduce ---------------------------------------------------------------------------------- */

/* The root reduces the pieces that other ranks had no memory for, before those ranks go on. */
static int reduce_missing(const sm_fold_t *fold, const sm_slot_t *operands, const sm_slot_t *pieces,
                          ompi_data_t result)
{
    int error = MPI_SUCCESS;
    for (int rank = 0; rank < fold->self->size && error == MPI_SUCCESS; rank++) {
        if (*sm_step_error(fold->self, pieces, rank) != MPI_SUCCESS)
            error = reduce_part(fold, operands, result, rank);
    }
    return error;
}

/* The root reads the pieces when all are published. The others wait until it has. */
static int reduce_by_reading(const sm_fold_t *fold, const sm_slot_t *operands, int root,
                             ompi_data_t result)
{
    sm_comm_t *self = fold->self;
    bool is_root = self->rank == root;
    sm_source_t reduced = {0};
    sm_slot_t pieces;
    int reduces = MPI_SUCCESS;
    if (is_root) {
        reduces = reduce_part(fold, operands, result, root);
    } else {
        allocate_piece(self, result, &reduced);
        if (reduced.error == MPI_SUCCESS)
            reduced.error = reduce_to_room(fold, operands, result, &reduced);
    }
    int error = sm_direct_give(self, root, &reduced, &pieces);
    if (error == MPI_SUCCESS && is_root) {
        int missing = reduce_missing(fold, operands, &pieces, result);
        int collected = collect(self, &pieces, result, 1);
        reduces = reduces != MPI_SUCCESS ? reduces : missing != MPI_SUCCESS ? missing : collected;
    }
    if (error == MPI_SUCCESS)
        error = sm_direct_await_readers(self, &pieces, is_root ? 0 : 1, reduces);
    sm_source_fini(&reduced);
    return error;
}

/* The root's part of reduce_in_root, when all operands are published. */
static int reduce_all(const sm_fold_t *fold, const sm_slot_t *operands, ompi_data_t result)
{
    int error = sm_step_compare(fold->self, operands);
    if (error == MPI_SUCCESS)
        error = sm_direct_first_error(fold->self, operands);
    return error == MPI_SUCCESS ? sm_fold_run(fold, operands, 0, result.count, result) : error;
}

static int reduce_in_root(sm_comm_t *self, const ompi_coll_call_t *call)
{
    bool is_root = self->rank == call->root;
    ompi_data_t result = ompi_coll_whole(&call->recv);
    sm_source_t source;
    sm_slot_t operands;
    sm_fold_t fold;
    if (is_root)
        begin(&fold, self, call, result.count, false, &source);
    else
        sm_source_init(&source, self, ompi_coll_operand(call), false);
    int error = sm_direct_give(self, call->root, &source, &operands);
    if (error == MPI_SUCCESS) {
        int reduced = is_root ? reduce_all(&fold, &operands, result) : source.error;
        error = sm_direct_end(self, call->root, reduced);
    }
    sm_source_fini(&source);
    return error;
}

int sm_direct_reduce(sm_comm_t *self, const ompi_coll_call_t *call, size_t bytes)
{
    if (sm_direct_pulls(self, bytes))
        return reduce_in_root(self, call);
    ompi_data_t result = ompi_coll_whole(&call->recv);
    sm_source_t source;
    sm_slot_t operands;
    sm_fold_t fold;
    begin(&fold, self, call, result.count, false, &source);
    if (self->rank == call->root)
        sm_source_set_target(&source, self, result);
    int error = sm_direct_exchange(self, &source, &operands);
    if (error == MPI_SUCCESS) {
        if (sm_direct_target(self, &operands, call->root) != NULL)
            error = sm_direct_barrier(self,
                                      sm_fold_into(&fold, &operands, result.count, call->root, 1));
        else
            error = reduce_by_reading(&fold, &operands, call->root, result);
    }
    sm_source_fini(&source);
    return error;
}

/* -- scan and exscan ------------------------------------------------------------------------- */

/* This rank reads what it needs. */
static int scan_by_reading(sm_fold_t *fold, const sm_slot_t *operands, ompi_data_t result)
{
    if (fold->ranks == 0)
        return MPI_SUCCESS;
    fold->claims = sm_claims(fold->self, ompi_coll_bytes(result), fold->self->size - 1);
    return sm_fold_run(fold, operands, 0, result.count, result);
}

/* In place the others read a copy, because the result overwrites the operand. */
int sm_direct_scan(sm_comm_t *self, const ompi_coll_call_t *call, size_t bytes)
{
    bool in_place = ompi_coll_is_in_place(&call->send), is_exclusive = call->kind == OMPI_EXSCAN;
    ompi_data_t result = ompi_coll_whole(&call->recv);
    sm_source_t source;
    sm_slot_t operands;
    sm_fold_t fold;
    begin(&fold, self, call, result.count, in_place, &source);
    /* More ranks than two would read each operand several times. */
    if (self->size > 2 || !sm_direct_pulls(self, bytes))
        sm_source_set_target(&source, self, result);
    int error = sm_direct_exchange(self, &source, &operands);
    if (error == MPI_SUCCESS && fold.is_plain && sm_direct_has_targets(self, &operands)) {
        error = sm_fold_scan(&fold, &operands, result.count, is_exclusive);
        error = sm_direct_barrier(self, error);
    } else if (error == MPI_SUCCESS) {
        fold.ranks = self->rank + !is_exclusive;
        error = sm_direct_barrier(self, scan_by_reading(&fold, &operands, result));
    }
    sm_source_fini(&source);
    return error;
}
