/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Reducing the operands of all ranks, in the order of the ranks. Operands are in rows of a step or
 * in the memory of their ranks.
 *
 * Threading: the caller holds ompi_lock.
 */
#ifndef OMPI_COLL_SM_FOLD_H
#define OMPI_COLL_SM_FOLD_H

#include "ompi/mca/coll/sm/step.h"

/* A rank's operand and the buffer of its result: addresses in that rank. */
typedef struct sm_addresses {
    uintptr_t operand, target;
} sm_addresses_t;

typedef struct sm_fold {
    sm_comm_t *self;
    ompi_op_t *op;
    ompi_datatype_t *type;
    bool is_direct;                  /* operands are in the memory of their ranks */
    bool is_plain;                   /* operands are reduced in packed form */
    const sm_addresses_t *addresses; /* of all ranks, without a step; NULL: rows have them */
    const char *const *operands;     /* as mapped here, without a step; NULL: see above */
    bool claims;                     /* no other rank reads what this rank reads */
    int ranks;                       /* the operands of the first ones are reduced */
    size_t step;                     /* elements that are reduced at a time */
    size_t each;                     /* bytes of each of two scratch buffers */
} sm_fold_t;

/* Whether operands are reduced in packed form. */
static inline bool sm_fold_is_plain(const ompi_coll_call_t *call)
{
    return ompi_op_is_predefined(call->op) && ompi_datatype_is_contiguous(call->recv.type);
}

/* This rank's operand, if it is packed and the result does not overwrite it: then the rank need not
 * read it from its row. */
static inline const char *sm_own_operand(const ompi_coll_call_t *call)
{
    if (ompi_coll_is_in_place(&call->send) || !sm_fold_is_plain(call))
        return NULL;
    return (const char *)ompi_datatype_origin(call->recv.type, call->send.buffer);
}

/* Reduces `count` elements of the first `ranks` rows of a step, at least two, from the element
 * `first` on. `own`: this rank's operand; NULL: its row has it. The result has `count` elements of
 * the type, or their packed bytes. */
int sm_fold_rows(sm_comm_t *self, const ompi_coll_call_t *call, const sm_slot_t *slot, int ranks,
                 size_t first, size_t count, const char *own, ompi_data_t result);

/* Allocates scratch memory. A rank without memory still takes all steps of the operation, without
 * reducing, because the other ranks take them. */
int sm_fold_init(sm_fold_t *fold, sm_comm_t *self, const ompi_coll_call_t *call, bool is_direct);

/* Reduces `count` elements of every rank's operand, from the element `first` on. The result has
 * `count` elements of the type, or their packed bytes. */
int sm_fold_run(const sm_fold_t *fold, const sm_slot_t *slot, size_t first, size_t count,
                ompi_data_t result);

/* The part of `count` elements that a rank reduces, where each rank reduces a part. */
typedef struct sm_piece {
    size_t first, count;
} sm_piece_t;

sm_piece_t sm_piece_of(const sm_comm_t *self, size_t count, int rank);

/* Reduces this rank's piece of `count` elements into the result of `first_rank`, and copies it to
 * the results of the next ranks: `ranks` results in all, wrapping around. */
int sm_fold_into(const sm_fold_t *fold, const sm_slot_t *operands, size_t count, int first_rank,
                 int ranks);

/* Reduces this rank's piece of `count` elements for every rank, whose result is that of the ranks
 * up to it, or of the lower ones (`is_exclusive`), and writes it there. Only plain operands, which
 * these results do not overwrite. */
int sm_fold_scan(const sm_fold_t *fold, const sm_slot_t *operands, size_t count, bool is_exclusive);

/* Called when the component is opened and closed. */
void sm_fold_open(const ompi_coll_tuning_t *tuning);
void sm_fold_close(void);

#endif
