/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Operations that move data through the area: it is packed into rows and unpacked from them. With n
 * ranks and blocks of m bytes, a rank copies
 *
 *   bcast      m            scatter    n m in the root, m in the others
 *   gather     n m in the root, m in the others
 *   allgather  (n + 1) m    alltoall   2 n m
 *
 * A rank waits once. The root of a broadcast or scatter, and the others of a gather, do not wait. A
 * longer allgather or alltoall goes through the area in pieces, with a wait for each.
 */
#include "ompi/mca/coll/sm/step.h"

/* More than two ranks read no lines of others, and do not compare signatures. */
int sm_barrier(sm_comm_t *self, const ompi_coll_call_t *call, size_t bytes OPAL_UNUSED)
{
    sm_slot_t slot;
    if (sm_has_counters(self) || call->comm->call_digest == 0)
        return sm_step_barrier(self);
    self->signature = sm_signature(call->comm->call_digest, 0, SM_SHORT, false);
    int error = sm_step_begin(self, SM_SYNC, 0, &slot);
    if (error != MPI_SUCCESS)
        return error;
    sm_step_arrive(self, &slot);
    return sm_step_await_matching(self, &slot);
}

int sm_bcast(sm_comm_t *self, const ompi_coll_call_t *call, size_t bytes)
{
    sm_slot_t slot;
    int error = sm_step_begin(self, SM_BY_ROOT, bytes, &slot);
    if (error != MPI_SUCCESS)
        return error;
    if (self->rank == call->root) {
        sm_pack(ompi_coll_whole(&call->recv), sm_step_own_row(self, &slot));
        sm_step_notify(self, &slot);
        return MPI_SUCCESS;
    }
    error = sm_step_await(self, &slot, call->root);
    if (error == MPI_ERR_TRUNCATE)
        return sm_step_follow_root(self, &slot, call->root);
    if (error == MPI_SUCCESS)
        sm_unpack(ompi_coll_whole(&call->recv),
                  sm_step_read(self, &slot, call->root, 0, bytes, self->size - 1));
    return error;
}

/* The root copies its own block directly. */
int sm_gather(sm_comm_t *self, const ompi_coll_call_t *call, size_t bytes)
{
    bool is_root = self->rank == call->root;
    sm_slot_t slot;
    int error = sm_step_begin(self, SM_TO_ROOT, bytes, &slot);
    if (error != MPI_SUCCESS)
        return error;
    if (!is_root)
        sm_pack(ompi_coll_whole(&call->send), sm_step_own_row(self, &slot));
    error = sm_step_arrive_at_root(self, &slot, call->root);
    if (error != MPI_SUCCESS || !is_root)
        return error;
    for (int rank = 0; rank < self->size; rank++) {
        if (rank != self->rank && sm_step_matches(self, &slot, rank))
            sm_unpack(ompi_coll_block(&call->recv, rank),
                      sm_step_read(self, &slot, rank, 0, bytes, 1));
        else if (rank != self->rank)
            error = MPI_ERR_TRUNCATE;
    }
    int copied = MPI_SUCCESS;
    if (!ompi_coll_is_in_place(&call->send))
        copied =
            sm_copy_own(ompi_coll_whole(&call->send), ompi_coll_block(&call->recv, self->rank));
    return error != MPI_SUCCESS ? error : copied;
}

/* A row of blocks has none for its owner. The index of a rank's block. */
static size_t place_in(int owner, int rank)
{
    return (size_t)(rank - (rank > owner));
}

static void pack_for_others(const sm_comm_t *self, const ompi_coll_side_t *given, size_t block,
                            char *row)
{
    int before = self->rank, behind = self->size - before - 1;
    sm_pack(ompi_coll_blocks(given, 0, before), row);
    sm_pack(ompi_coll_blocks(given, before + 1, behind), row + (size_t)before * block);
}

/* The root's part. It writes each block into the row of its receiver, so that a half has room for
 * many steps; or all blocks, if they are short (`in_line`), beside its flag. */
static int scatter_from_root(sm_comm_t *self, const ompi_coll_call_t *call, const sm_slot_t *slot,
                             size_t block, bool in_line)
{
    if (in_line)
        pack_for_others(self, &call->send, block, sm_step_own_row(self, slot));
    for (int rank = 0; !in_line && rank < self->size; rank++) {
        if (rank != self->rank)
            sm_pack(ompi_coll_block(&call->send, rank), sm_step_row_to_write(self, slot, rank));
    }
    sm_step_notify(self, slot);
    if (ompi_coll_is_in_place(&call->recv))
        return MPI_SUCCESS;
    return sm_copy_own(ompi_coll_block(&call->send, self->rank), ompi_coll_whole(&call->recv));
}

int sm_scatter(sm_comm_t *self, const ompi_coll_call_t *call, size_t block)
{
    size_t others = (size_t)self->size - 1;
    bool in_line = block <= SM_INLINE / others;
    int root = call->root;
    sm_slot_t slot;
    int error = sm_step_begin(self, SM_BY_ROOT, in_line ? others * block : block, &slot);
    if (error != MPI_SUCCESS)
        return error;
    if (self->rank == root)
        return scatter_from_root(self, call, &slot, block, in_line);
    error = sm_step_await(self, &slot, root);
    if (error == MPI_ERR_TRUNCATE)
        return sm_step_follow_root(self, &slot, root);
    if (error != MPI_SUCCESS)
        return error;
    const char *data = in_line ? sm_step_row(self, &slot, root) + place_in(root, self->rank) * block
                               : sm_step_read(self, &slot, self->rank, 0, block, 1);
    sm_unpack(ompi_coll_whole(&call->recv), data);
    return MPI_SUCCESS;
}

/* The bytes of each of `blocks` blocks that go through the area in one step. */
static size_t piece_bytes(const sm_comm_t *self, size_t blocks)
{
    size_t bytes = self->max_bytes / blocks;
    return bytes > SM_PIECE_MIN ? bytes & ~(size_t)63 : bytes;
}

/* `own`: this rank's block; a rank copies it to the result while it waits for the others. */
static int gather_piece(sm_comm_t *self, const ompi_coll_call_t *call, ompi_data_t own, size_t from,
                        size_t length)
{
    sm_slot_t slot;
    int error = sm_step_begin(self, SM_SYNC, length, &slot);
    if (error != MPI_SUCCESS)
        return error;
    sm_pack_piece(own, from, length, sm_step_own_row(self, &slot));
    sm_step_arrive(self, &slot);
    if (from == 0 && !ompi_coll_is_in_place(&call->send))
        sm_copy_own(own, ompi_coll_block(&call->recv, self->rank));
    error = sm_step_await_matching(self, &slot);
    for (int rank = 0; error == MPI_SUCCESS && rank < self->size; rank++) {
        if (rank != self->rank)
            sm_unpack_piece(ompi_coll_block(&call->recv, rank), from, length,
                            sm_step_read(self, &slot, rank, 0, length, self->size - 1));
    }
    return error;
}

int sm_allgather(sm_comm_t *self, const ompi_coll_call_t *call, size_t bytes)
{
    bool in_place = ompi_coll_is_in_place(&call->send);
    ompi_data_t own =
        in_place ? ompi_coll_block(&call->recv, self->rank) : ompi_coll_whole(&call->send);
    size_t piece = bytes <= self->max_bytes ? bytes : piece_bytes(self, 1), from = 0;
    int error;
    do {
        error = gather_piece(self, call, own, from, bytes - from < piece ? bytes - from : piece);
        from += piece;
    } while (error == MPI_SUCCESS && from < bytes);
    return error;
}

/* Also in place: a step overwrites only what it has packed. */
static int exchange_piece(sm_comm_t *self, const ompi_coll_call_t *call,
                          const ompi_coll_side_t *given, size_t from, size_t length)
{
    sm_slot_t slot;
    int error = sm_step_begin(self, SM_SYNC, (size_t)(self->size - 1) * length, &slot);
    if (error != MPI_SUCCESS)
        return error;
    char *row = sm_step_own_row(self, &slot);
    for (int rank = 0; rank < self->size; rank++) {
        if (rank != self->rank)
            sm_pack_piece(ompi_coll_block(given, rank), from, length,
                          row + place_in(self->rank, rank) * length);
    }
    sm_step_arrive(self, &slot);
    if (from == 0 && given == &call->send)
        sm_copy_own(ompi_coll_block(given, self->rank), ompi_coll_block(&call->recv, self->rank));
    error = sm_step_await_matching(self, &slot);
    for (int rank = 0; error == MPI_SUCCESS && rank < self->size; rank++) {
        if (rank != self->rank)
            sm_unpack_piece(
                ompi_coll_block(&call->recv, rank), from, length,
                sm_step_read(self, &slot, rank, place_in(rank, self->rank) * length, length, 1));
    }
    return error;
}

int sm_alltoall(sm_comm_t *self, const ompi_coll_call_t *call, size_t bytes)
{
    const ompi_coll_side_t *given = ompi_coll_is_in_place(&call->send) ? &call->recv : &call->send;
    size_t blocks = (size_t)self->size, block = bytes / blocks;
    size_t piece = bytes <= self->max_bytes ? block : piece_bytes(self, blocks), from = 0;
    int error;
    do {
        error =
            exchange_piece(self, call, given, from, block - from < piece ? block - from : piece);
        from += piece;
    } while (error == MPI_SUCCESS && from < block);
    return error;
}
