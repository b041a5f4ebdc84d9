/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Reductions. The rows are reduced in the order of the ranks, so the result does not depend on who
 * does it.
 *
 *   reduce                m, n m in the root          the root reduces when all have arrived
 *   allreduce, short, or of two ranks     (n + 1) m   everybody reduces everything
 *   allreduce, long       2 m, n m in the last one    who arrives last reduces for all
 *   reduce_scatter_block  (n + 1) m                   everybody reduces its block of all rows
 *
 * With more ranks than cores the work of all adds up, so only one of them does the long one.
 *
 * Rows are packed. A predefined operation reduces them as they are, if the elements of its type
 * lie without gaps; everything else is unpacked into temporary memory first, in the layout of the
 * type, which is what users' operations know.
 */
#include "ompi/mca/coll/sm/sm.h"

#include <stdlib.h>

/* What is reduced, and by what. */
typedef struct fold {
    ompi_op_t *op;
    ompi_datatype_t *type;
    size_t count;
    void *memory;          /* of value and operand; NULL: not needed */
    void *value, *operand; /* addresses of buffers of the type */
} fold_t;

/* With the memory that this rank may need, before it gives: nobody can go back afterwards. */
static int fold_init(fold_t *fold, const ompi_coll_call_t *call)
{
    ompi_datatype_t *type = call->recv.type;
    size_t count = (size_t)call->recv.count;
    *fold = (fold_t){.op = call->op, .type = type, .count = count};
    if (ompi_op_is_predefined(call->op) && ompi_datatype_is_contiguous(type))
        return MPI_SUCCESS;
    MPI_Count last = (MPI_Count)(count - 1) * ompi_datatype_extent(type);
    uintptr_t lowest = (uintptr_t)(ompi_datatype_true_lb(type) + (last < 0 ? last : 0));
    size_t each = ((size_t)ompi_datatype_span(type, count) + 63) & ~(size_t)63;
    fold->memory = each <= SIZE_MAX / 2 - 63 ? aligned_alloc(64, 2 * each) : NULL;
    if (fold->memory == NULL)
        return MPI_ERR_NO_MEM;
    fold->value = (void *)((uintptr_t)fold->memory - lowest);
    fold->operand = (void *)((uintptr_t)fold->memory + each - lowest);
    return MPI_SUCCESS;
}

static void fold_fini(fold_t *fold)
{
    free(fold->memory);
}

/* Where the operands of a rank begin: `skip` bytes into its row. */
static const char *operands(const sm_comm_t *self, const sm_place_t *place, int rank, size_t skip)
{
    return sm_step_row(self, place, rank) + skip;
}

/* result = all rows, packed. */
static void fold_packed(const fold_t *fold, const sm_comm_t *self, const sm_place_t *place,
                        size_t skip, void *result)
{
    ompi_op_combine(fold->op, operands(self, place, 0, skip), operands(self, place, 1, skip),
                    result, fold->count, fold->type);
    for (int rank = 2; rank < self->size; rank++)
        ompi_op_combine(fold->op, result, operands(self, place, rank, skip), result, fold->count,
                        fold->type);
}

/* fold->value = all rows, from the last one to the first: `in op inout` overwrites the right one.
 */
static void fold_laid_out(const fold_t *fold, const sm_comm_t *self, const sm_place_t *place,
                          size_t skip)
{
    int rank = self->size - 1;
    sm_unpack(ompi_data(fold->value, fold->count, fold->type), operands(self, place, rank, skip));
    while (rank-- > 0) {
        sm_unpack(ompi_data(fold->operand, fold->count, fold->type),
                  operands(self, place, rank, skip));
        ompi_op_reduce(fold->op, fold->operand, fold->value, fold->count, fold->type);
    }
}

/* Into the user's buffer. */
static void fold_to_user(const fold_t *fold, const sm_comm_t *self, const sm_place_t *place,
                         size_t skip, void *buffer)
{
    if (fold->memory == NULL) {
        fold_packed(fold, self, place, skip, buffer);
        return;
    }
    fold_laid_out(fold, self, place, skip);
    ompi_datatype_copy(fold->type, fold->count, fold->value, fold->type, fold->count, buffer);
}

/* Into the row of results. */
static void fold_to_row(const fold_t *fold, sm_comm_t *self, const sm_place_t *place)
{
    char *row = sm_step_result_row(self, place);
    if (fold->memory == NULL) {
        fold_packed(fold, self, place, 0, row);
        return;
    }
    fold_laid_out(fold, self, place, 0);
    sm_pack(ompi_data(fold->value, fold->count, fold->type), row);
}

/* Puts `count` elements of this rank into its row. */
static void contribute(sm_comm_t *self, const sm_place_t *place, const ompi_coll_call_t *call,
                       size_t count)
{
    const void *buffer = call->send.buffer == MPI_IN_PLACE ? call->recv.buffer : call->send.buffer;
    sm_pack(ompi_data(buffer, count, call->recv.type), sm_step_own_row(self, place));
}

static int reduce_in_root(sm_comm_t *self, const ompi_coll_call_t *call, size_t bytes)
{
    fold_t fold;
    sm_place_t place;
    int error = fold_init(&fold, call);
    if (error == MPI_SUCCESS)
        error = sm_step_begin(self, SM_TO_ROOT, bytes, &place);
    if (error == MPI_SUCCESS) {
        contribute(self, &place, call, fold.count);
        error = sm_step_give(self, &place, call->root);
    }
    if (error == MPI_SUCCESS)
        fold_to_user(&fold, self, &place, 0, call->recv.buffer);
    fold_fini(&fold);
    return error;
}

int sm_reduce(sm_comm_t *self, const ompi_coll_call_t *call, size_t bytes)
{
    sm_place_t place;
    if (self->rank == call->root)
        return reduce_in_root(self, call, bytes);
    int error = sm_step_begin(self, SM_TO_ROOT, bytes, &place);
    if (error != MPI_SUCCESS)
        return error;
    contribute(self, &place, call, (size_t)call->recv.count);
    return sm_step_give(self, &place, call->root);
}

/* Everybody reduces: the block that begins `skip` bytes into each row. */
static int reduce_by_all(sm_comm_t *self, const ompi_coll_call_t *call, const fold_t *fold,
                         const sm_place_t *place, size_t skip)
{
    int error = sm_step_meet(self, place);
    if (error == MPI_SUCCESS)
        fold_to_user(fold, self, place, skip, call->recv.buffer);
    return error;
}

static int reduce_by_last(sm_comm_t *self, const ompi_coll_call_t *call, const fold_t *fold,
                          const sm_place_t *place)
{
    int error = MPI_SUCCESS;
    if (sm_step_arrive(self, place)) {
        fold_to_row(fold, self, place);
        sm_step_tell_result(self, place);
    } else {
        error = sm_step_await_result(self, place);
    }
    if (error == MPI_SUCCESS)
        sm_unpack(sm_block(&call->recv, 0), sm_step_row(self, place, self->size));
    return error;
}

int sm_allreduce(sm_comm_t *self, const ompi_coll_call_t *call, size_t bytes)
{
    fold_t fold;
    sm_place_t place;
    int error = fold_init(&fold, call);
    if (error == MPI_SUCCESS)
        error = sm_step_begin(self, SM_SYNC, bytes, &place);
    if (error == MPI_SUCCESS) {
        contribute(self, &place, call, fold.count);
        if (self->size == 2 || bytes <= SM_INLINE)
            error = reduce_by_all(self, call, &fold, &place, 0);
        else
            error = reduce_by_last(self, call, &fold, &place);
    }
    fold_fini(&fold);
    return error;
}

int sm_reduce_scatter_block(sm_comm_t *self, const ompi_coll_call_t *call, size_t bytes)
{
    fold_t fold;
    sm_place_t place;
    size_t block = bytes / (size_t)self->size;
    int error = fold_init(&fold, call);
    if (error == MPI_SUCCESS)
        error = sm_step_begin(self, SM_SYNC, bytes, &place);
    if (error == MPI_SUCCESS) {
        contribute(self, &place, call, (size_t)self->size * fold.count);
        error = reduce_by_all(self, call, &fold, &place, (size_t)self->rank * block);
    }
    fold_fini(&fold);
    return error;
}
