/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Reductions of longer data: each rank reduces a piece, which it reads out of everybody's memory.
 * With n ranks and m bytes of an operand, a rank copies and reduces
 *
 *   allreduce       m, and copies m of the others' results; three waits. Of two ranks, short: 2 m,
 *                   two waits: both reduce everything
 *   reduce          m, and the root copies m; two waits, three in the root
 *   reduce_scatter  its block of all operands; two waits
 *
 * Operations of the user's and those that do not commute are no exception: the operands of an
 * element are reduced in the order of the ranks.
 */
#include "ompi/mca/coll/sm/sm.h"

enum { PAIR_WHOLE_BYTES = 512 << 10 }; /* up to here two ranks gain nothing by splitting the work */

/* A rank's piece of `count` elements. */
typedef struct piece {
    size_t first, count;
} piece_t;

static piece_t piece_of(const sm_comm_t *self, size_t count, int rank)
{
    size_t n = (size_t)self->size, at = (size_t)rank, each = count / n, longer = count % n;
    return (piece_t){each * at + (at < longer ? at : longer), each + (at < longer)};
}

static ompi_data_t contribution(const ompi_coll_call_t *call, size_t count)
{
    const void *buffer = call->send.buffer == MPI_IN_PLACE ? call->recv.buffer : call->send.buffer;
    return ompi_data(buffer, count, call->recv.type);
}

/* Publishes what this rank has, and returns when all have. */
static int offer(sm_comm_t *self, const sm_source_t *source, sm_place_t *place)
{
    int error = sm_direct_publish(self, source, place);
    return error == MPI_SUCCESS ? sm_direct_await(self, place) : error;
}

/* Begins a reduction of so many elements. A rank that has no memory says so, and nobody goes on. */
static int begin(sm_fold_t *fold, sm_comm_t *self, const ompi_coll_call_t *call, size_t count,
                 bool needs_copy, sm_source_t *source, sm_place_t *operands)
{
    *source = (sm_source_t){0};
    source->error = sm_fold_init(fold, self, call, true);
    if (source->error == MPI_SUCCESS)
        sm_source_init(source, contribution(call, count), needs_copy);
    return offer(self, source, operands);
}

/* Reduces this rank's piece to where others can read it packed: in the result, if it may be there,
 * else in memory of its own. */
static void reduce_piece(const sm_fold_t *fold, const sm_place_t *place, piece_t piece,
                         ompi_data_t result, bool is_wanted, sm_source_t *reduced)
{
    ompi_data_t to = sm_part(result, piece.first, piece.count);
    if (is_wanted && ompi_datatype_is_contiguous(result.type)) {
        sm_source_init(reduced, to, false);
    } else {
        size_t bytes = ompi_datatype_bytes(result.type, piece.count);
        sm_source_init_room(reduced, bytes);
        to = ompi_data(reduced->room, bytes, ompi_datatype_of(MPI_BYTE));
    }
    if (reduced->error == MPI_SUCCESS)
        reduced->error = sm_fold_run(fold, place, piece.first, piece.count, to);
}

/* All pieces into the result; this rank is one of so many readers of each. */
static int collect(sm_comm_t *self, const sm_place_t *place, const sm_source_t *reduced,
                   ompi_data_t result, int readers)
{
    int error = MPI_SUCCESS;
    for (int distance = 0; distance < self->size; distance++) {
        int rank = (self->rank + distance) % self->size;
        piece_t piece = piece_of(self, result.count, rank);
        ompi_data_t part = sm_part(result, piece.first, piece.count);
        if (rank == self->rank) {
            if (reduced->room != NULL)
                sm_unpack(part, reduced->room);
            continue;
        }
        if (error == MPI_SUCCESS && piece.count > 0)
            error = sm_direct_fetch(self, rank, sm_direct_address(self, place, rank), part);
        sm_direct_leave(self, place, rank, readers);
    }
    return error;
}

/* Reduces the block that this rank wants, to where it belongs. In place, what the others read is a
 * copy: the result belongs where they do. */
static int reduce_block(sm_comm_t *self, const ompi_coll_call_t *call, sm_blocks_t blocks)
{
    bool in_place = call->send.buffer == MPI_IN_PLACE;
    ompi_data_t result = ompi_data(call->recv.buffer, blocks.count, call->recv.type);
    sm_source_t source;
    sm_place_t operands;
    sm_fold_t fold;
    int error = begin(&fold, self, call, blocks.total, in_place, &source, &operands);
    if (error == MPI_SUCCESS) {
        error = sm_fold_run(&fold, &operands, blocks.first, blocks.count, result);
        for (int rank = 0; rank < self->size; rank++) {
            if (rank != self->rank)
                sm_direct_leave(self, &operands, rank, self->size - 1);
        }
        error = sm_direct_finish(self, &operands, self->size - 1, error);
    }
    sm_source_fini(&source);
    return error;
}

int sm_direct_allreduce(sm_comm_t *self, const ompi_coll_call_t *call, size_t bytes)
{
    ompi_data_t result = sm_block(&call->recv, 0);
    if (self->size == 2 && bytes <= PAIR_WHOLE_BYTES)
        return reduce_block(self, call, (sm_blocks_t){0, result.count, result.count});
    sm_source_t source, reduced = {0};
    sm_place_t operands, pieces;
    sm_fold_t fold;
    int error = begin(&fold, self, call, result.count, false, &source, &operands);
    if (error == MPI_SUCCESS) {
        piece_t piece = piece_of(self, result.count, self->rank);
        reduce_piece(&fold, &operands, piece, result, true, &reduced);
        error = offer(self, &reduced, &pieces);
    }
    if (error == MPI_SUCCESS) {
        error = collect(self, &pieces, &reduced, result, self->size - 1);
        error = sm_direct_finish(self, &pieces, self->size - 1, error);
    }
    sm_source_fini(&reduced);
    sm_source_fini(&source);
    return error;
}

/* The root reads the pieces when they are all there; the others wait until it has. */
static int gather_pieces(sm_comm_t *self, int root, const sm_source_t *reduced, ompi_data_t result)
{
    sm_place_t pieces;
    int error = sm_step_begin(self, SM_TO_ROOT, sizeof(sm_entry_t), &pieces);
    if (error != MPI_SUCCESS)
        return error;
    sm_direct_enter(self, &pieces, reduced);
    error = sm_step_give(self, &pieces, root);
    if (error != MPI_SUCCESS)
        return error;
    if (self->rank != root)
        return sm_direct_finish(self, &pieces, 1, reduced->error);
    int offered = sm_direct_offered(self, &pieces);
    error = collect(self, &pieces, reduced, result, 1);
    return offered != MPI_SUCCESS ? offered : error;
}

int sm_direct_reduce(sm_comm_t *self, const ompi_coll_call_t *call, size_t bytes OPAL_UNUSED)
{
    ompi_data_t result = sm_block(&call->recv, 0);
    sm_source_t source, reduced = {0};
    sm_place_t operands;
    sm_fold_t fold;
    int error = begin(&fold, self, call, result.count, false, &source, &operands);
    if (error == MPI_SUCCESS) {
        piece_t piece = piece_of(self, result.count, self->rank);
        reduce_piece(&fold, &operands, piece, result, self->rank == call->root, &reduced);
        error = gather_pieces(self, call->root, &reduced, result);
    }
    sm_source_fini(&reduced);
    sm_source_fini(&source);
    return error;
}

int sm_direct_reduce_scatter(sm_comm_t *self, const ompi_coll_call_t *call,
                             size_t bytes OPAL_UNUSED)
{
    return reduce_block(self, call, sm_blocks(&call->recv, self));
}
