/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Reducing the operands of all ranks, wherever they are, in the order of the ranks.
 *
 * Threading: the caller holds ompi_lock.
 */
#ifndef OMPI_COLL_SM_FOLD_H
#define OMPI_COLL_SM_FOLD_H

#include "ompi/mca/coll/sm/step.h"

/* Where a rank's operand is, and where its result goes: addresses of its own. */
typedef struct sm_addresses {
    uintptr_t operand, target;
} sm_addresses_t;

typedef struct sm_fold {
    sm_comm_t *self;
    ompi_op_t *op;
    ompi_datatype_t *type;
    bool is_direct;                  /* rows have the addresses of the operands */
    bool is_plain;                   /* operands are reduced as they are packed */
    const sm_addresses_t *addresses; /* of all ranks, instead of rows, if there is no step */
    size_t step;                     /* elements at a time */
    size_t each;                     /* bytes of scratch memory for them, twice */
} sm_fold_t;

/* Allocates scratch memory. A rank that gets none takes all steps of the operation nevertheless,
 * and only does not reduce: the others are in the same step. */
int sm_fold_init(sm_fold_t *fold, sm_comm_t *self, const ompi_coll_call_t *call, bool is_direct);

/* Reduces `count` elements of every rank's operand, from `first` on, into a result of the same
 * type, or of so many packed bytes. */
int sm_fold_run(const sm_fold_t *fold, const sm_slot_t *slot, size_t first, size_t count,
                ompi_data_t result);

/* The part of `count` elements that a rank reduces, where each reduces one. */
typedef struct sm_piece {
    size_t first, count;
} sm_piece_t;

sm_piece_t sm_piece_of(const sm_comm_t *self, size_t count, int rank);

/* Reduces this rank's piece of so many elements into the result of `first_rank`, and copies it to
 * those of the ranks that follow, `ranks` in all, in a circle. */
int sm_fold_into(const sm_fold_t *fold, const sm_slot_t *operands, size_t count, int first_rank,
                 int ranks);

/* Called when the component is opened and closed. */
void sm_fold_open(const ompi_coll_tuning_t *tuning);
void sm_fold_close(void);

#endif
