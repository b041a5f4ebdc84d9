/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Reducing the operands of all ranks, in the rows of a step or in the memory of the ranks, whose
 * addresses the rows have. Operands are reduced in the order of the ranks, so the result does not
 * depend on which rank reduces, and operators need not commute.
 *
 * Operands are packed. A predefined operator reduces packed elements if its type is contiguous. For
 * all others the operands are unpacked into temporary memory first, in the layout of the type,
 * which the user's operators expect. The data is reduced piece by piece, so that temporary memory
 * stays in the cache.
 *
 * Threading: the caller holds ompi_lock. All folds of the process share the scratch memory, so it
 * holds nothing while a rank waits.
 */
#include "ompi/mca/coll/sm/fold.h"

#include <stdlib.h>

#include "opal/arch/claim.h"
#include "ompi/mca/coll/sm/direct.h"

enum { CLAIMED_STEP = 4 << 10 }; /* measured with 4 KiB to 128 KiB */

static size_t area_step, direct_step, write_step;
static char *scratch;
static size_t scratch_bytes;

static bool reserve(size_t bytes)
{
    if (bytes <= scratch_bytes)
        return true;
    /* Without memory the old buffer stays: a waiting thread has prepared a fold with it. */
    char *larger = bytes <= SIZE_MAX - 63 ? aligned_alloc(64, (bytes + 63) & ~(size_t)63) : NULL;
    if (larger == NULL)
        return false;
    free(scratch);
    scratch = larger;
    scratch_bytes = bytes;
    return true;
}

void sm_fold_open(const ompi_coll_tuning_t *tuning)
{
    area_step = tuning->reduce_area_step;
    direct_step = tuning->reduce_direct_step;
    write_step = tuning->write_step;
}

void sm_fold_close(void)
{
    free(scratch);
    scratch = NULL;
    scratch_bytes = 0;
}

int sm_fold_init(sm_fold_t *fold, sm_comm_t *self, const ompi_coll_call_t *call, bool is_direct)
{
    ompi_datatype_t *type = call->recv.type;
    *fold = (sm_fold_t){
        .self = self, .op = call->op, .type = type, .is_direct = is_direct, .ranks = self->size};
    fold->is_plain = sm_fold_is_plain(call);
    size_t bytes = ompi_datatype_size(type), apart = (size_t)llabs(ompi_datatype_extent(type));
    size_t span = (size_t)ompi_datatype_true_extent(type), longest = bytes > apart ? bytes : apart;
    longest = span > longest ? span : longest;
    fold->step = (is_direct ? direct_step : area_step) / (longest > 0 ? longest : 1);
    if (fold->step == 0)
        fold->step = 1;
    fold->each = ((size_t)ompi_datatype_span(type, fold->step) + 64 + 63) & ~(size_t)63;
    size_t packed = fold->is_plain ? 0 : fold->step * bytes;
    return reserve(2 * fold->each + packed) ? MPI_SUCCESS : MPI_ERR_NO_MEM;
}

/* `bytes` of a rank's operand, from the byte `at` on: in place if they are mapped here, else read
 * into `buffer`. NULL: they cannot be read. */
static const char *operand(const sm_fold_t *fold, const sm_slot_t *slot, int rank, size_t at,
                           size_t bytes, char *buffer)
{
    if (fold->operands != NULL)
        return fold->operands[rank] + at;
    if (!fold->is_direct)
        return sm_step_row(fold->self, slot, rank) + at;
    uintptr_t address = fold->addresses != NULL ? fold->addresses[rank].operand
                                                : sm_direct_address(fold->self, slot, rank);
    return sm_direct_reach(fold->self, rank, address + at, bytes, buffer);
}

/* Whether this rank claims the operand of a rank, which may have been read into `buffer`. */
static bool is_claimed(const sm_fold_t *fold, int rank, const char *data, size_t bytes,
                       const char *buffer)
{
    return fold->claims && rank != fold->self->rank && data != NULL && data != buffer &&
           opal_claim_pays(data, bytes);
}

/* Elements that were claimed must still be in the cache when they are reduced. */
static void combine_claiming(const sm_fold_t *fold, const char *left, bool claims_left,
                             const char *right, bool claims_right, char *target, size_t count)
{
    size_t size = ompi_datatype_size(fold->type);
    size_t step = size < CLAIMED_STEP ? CLAIMED_STEP / size : 1;
    for (size_t done = 0, now; done < count; done += now) {
        now = count - done < step ? count - done : step;
        size_t at = done * size, bytes = now * size;
        if (claims_left)
            opal_claim(left + at, bytes);
        if (claims_right)
            opal_claim(right + at, bytes);
        ompi_op_combine(fold->op, left + at, right + at, target + at, now, fold->type);
    }
}

/* Reduces `count` packed elements of all ranks. */
static int fold_plain(const sm_fold_t *fold, const sm_slot_t *slot, size_t at, size_t count,
                      char *result)
{
    size_t bytes = count * ompi_datatype_size(fold->type);
    /* The result may overwrite this rank's operand, which is read at its turn: so the sums of
     * earlier ranks are in scratch memory. */
    const char *left = operand(fold, slot, 0, at, bytes, scratch);
    bool claims_left = is_claimed(fold, 0, left, bytes, scratch);
    if (fold->ranks == 1 && left != NULL)
        opal_copy(result, left, bytes);
    for (int rank = 1, last = fold->ranks - 1; rank <= last && left != NULL; rank++) {
        const char *right = operand(fold, slot, rank, at, bytes, scratch + fold->each);
        if (right == NULL)
            return MPI_ERR_OTHER;
        char *target = rank == last ? result : scratch;
        bool claims_right = is_claimed(fold, rank, right, bytes, scratch + fold->each);
        if (claims_left || claims_right)
            combine_claiming(fold, left, claims_left, right, claims_right, target, count);
        else
            ompi_op_combine(fold->op, left, right, target, count, fold->type);
        left = target;
        claims_left = false;
    }
    return left != NULL ? MPI_SUCCESS : MPI_ERR_OTHER;
}

/* Reduces `count` elements in the layout of the type, from the last rank to the first, because
 * `inout = in op inout` overwrites its right operand. */
static int fold_laid_out(const sm_fold_t *fold, const sm_slot_t *slot, size_t at, size_t count,
                         ompi_data_t result)
{
    ompi_datatype_t *type = fold->type;
    MPI_Count last = (MPI_Count)(count - 1) * ompi_datatype_extent(type);
    uintptr_t lowest = (uintptr_t)(ompi_datatype_true_lb(type) + (last < 0 ? last : 0));
    /* The lowest address of the elements keeps its alignment. */
    void *value = (void *)((uintptr_t)scratch + lowest % 64 - lowest);
    void *left = (void *)((uintptr_t)value + fold->each);
    size_t bytes = count * ompi_datatype_size(type);
    for (int rank = fold->ranks - 1; rank >= 0; rank--) {
        const char *packed = operand(fold, slot, rank, at, bytes, scratch + 2 * fold->each);
        bool is_first = rank == fold->ranks - 1;
        if (packed == NULL)
            return MPI_ERR_OTHER;
        sm_unpack(ompi_data(is_first ? value : left, count, type), packed);
        if (!is_first)
            ompi_op_reduce(fold->op, left, value, count, type);
    }
    ompi_datatype_copy(type, count, value, result.type, result.count, result.buffer);
    return MPI_SUCCESS;
}

int sm_fold_run(const sm_fold_t *fold, const sm_slot_t *slot, size_t first, size_t count,
                ompi_data_t result)
{
    size_t size = ompi_datatype_size(fold->type);
    /* Elements or bytes of the result per element. */
    size_t unit = count > 0 ? result.count / count : 0;
    for (size_t done = 0; done < count; done += fold->step) {
        size_t at = (first + done) * size;
        size_t now = count - done < fold->step ? count - done : fold->step;
        ompi_data_t part = ompi_coll_part(result, done * unit, now * unit);
        int error = fold->is_plain
                        ? fold_plain(fold, slot, at, now,
                                     (char *)ompi_datatype_origin(part.type, part.buffer))
                        : fold_laid_out(fold, slot, at, now, part);
        if (error != MPI_SUCCESS)
            return error;
    }
    return MPI_SUCCESS;
}

/* `bytes` of a rank's operand, from the byte `at` on. `own`: where this rank's is. */
static const char *row_operand(const sm_comm_t *self, const sm_slot_t *slot, int rank,
                               const char *own, size_t at, size_t bytes, int readers)
{
    if (rank == self->rank)
        return (own != NULL ? own : sm_step_row(self, slot, rank)) + at;
    return sm_step_read(self, slot, rank, at, bytes, readers);
}

/* sm_fold_rows of plain operands. */
static void fold_plain_rows(const sm_comm_t *self, const ompi_coll_call_t *call,
                            const sm_slot_t *slot, int ranks, size_t first, size_t count,
                            const char *own, char *result)
{
    size_t size = ompi_datatype_size(call->recv.type), at = first * size;
    size_t step = opal_likely(count * size <= area_step) ? count : area_step / size;
    int readers = call->kind == OMPI_REDUCE ? 1 : self->size - 1;
    for (size_t done = 0; done < count; done += step) {
        size_t now = count - done < step ? count - done : step;
        const char *left = row_operand(self, slot, 0, own, at, now * size, readers);
        for (int rank = 1; rank < ranks; rank++) {
            const char *right = row_operand(self, slot, rank, own, at, now * size, readers);
            ompi_op_combine(call->op, left, right, result, now, call->recv.type);
            left = result;
        }
        at += now * size;
        result += now * size;
    }
}

int sm_fold_rows(sm_comm_t *self, const ompi_coll_call_t *call, const sm_slot_t *slot, int ranks,
                 size_t first, size_t count, const char *own, ompi_data_t result)
{
    sm_fold_t fold;
    if (ompi_coll_bytes(result) == 0)
        return MPI_SUCCESS;
    if (opal_likely(sm_fold_is_plain(call))) {
        fold_plain_rows(self, call, slot, ranks, first, count, own,
                        (char *)ompi_datatype_origin(result.type, result.buffer));
        return MPI_SUCCESS;
    }
    int error = sm_fold_init(&fold, self, call, false);
    fold.ranks = ranks;
    return error == MPI_SUCCESS ? sm_fold_run(&fold, slot, first, count, result) : error;
}

sm_piece_t sm_piece_of(const sm_comm_t *self, size_t count, int rank)
{
    size_t n = (size_t)self->size, at = (size_t)rank, each = count / n, longer = count % n;
    return (sm_piece_t){each * at + (at < longer ? at : longer), each + (at < longer)};
}

/* A rank's result buffer, as mapped here. */
static char *target_of(const sm_fold_t *fold, const sm_slot_t *operands, int rank)
{
    if (fold->addresses == NULL)
        return sm_direct_target(fold->self, operands, rank);
    return opal_view_of(&fold->self->peers[rank].view, fold->addresses[rank].target);
}

/* Also in place: no other rank reads these elements of an operand. */
int sm_fold_into(const sm_fold_t *fold, const sm_slot_t *operands, size_t count, int first_rank,
                 int ranks)
{
    sm_comm_t *self = fold->self;
    sm_piece_t piece = sm_piece_of(self, count, self->rank);
    size_t size = ompi_datatype_size(fold->type);
    size_t step = write_step > size ? write_step / size : 1;
    char *target = target_of(fold, operands, first_rank);
    for (size_t done = 0; done < piece.count; done += step) {
        size_t now = piece.count - done < step ? piece.count - done : step;
        size_t first = piece.first + done, at = first * size, bytes = now * size;
        ompi_data_t result = ompi_data(target + at, bytes, ompi_datatype_of(MPI_BYTE));
        int error = sm_fold_run(fold, operands, first, now, result);
        if (error != MPI_SUCCESS)
            return error;
        for (int i = 1; i < ranks; i++) {
            int rank = (first_rank + i) % self->size;
            opal_copy(target_of(fold, operands, rank) + at, target + at, bytes);
        }
    }
    return MPI_SUCCESS;
}

/* The results of all ranks, of `count` elements from the byte `at` on. */
static int scan_plain(const sm_fold_t *fold, const sm_slot_t *operands, size_t at, size_t count,
                      bool is_exclusive)
{
    size_t bytes = count * ompi_datatype_size(fold->type);
    char *sums[] = {scratch, scratch + fold->each / 2};
    const char *sum = NULL; /* of the ranks before */
    for (int rank = 0; rank < fold->ranks; rank++) {
        char *target = target_of(fold, operands, rank) + at;
        const char *right = operand(fold, operands, rank, at, bytes, scratch + fold->each);
        if (right == NULL)
            return MPI_ERR_OTHER;
        if (is_exclusive && sum != NULL)
            opal_copy(target, sum, bytes);
        char *next = is_exclusive ? sums[rank % 2] : target;
        if (sum != NULL)
            ompi_op_combine(fold->op, sum, right, next, count, fold->type);
        else
            opal_copy(next, right, bytes);
        sum = next;
    }
    return MPI_SUCCESS;
}

int sm_fold_scan(const sm_fold_t *fold, const sm_slot_t *operands, size_t count, bool is_exclusive)
{
    sm_piece_t piece = sm_piece_of(fold->self, count, fold->self->rank);
    size_t size = ompi_datatype_size(fold->type), step = write_step / size;
    int error = MPI_SUCCESS;
    for (size_t done = 0, now; error == MPI_SUCCESS && done < piece.count; done += now) {
        now = piece.count - done < step ? piece.count - done : step;
        error = scan_plain(fold, operands, (piece.first + done) * size, now, is_exclusive);
    }
    return error;
}
