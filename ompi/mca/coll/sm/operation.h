/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Persistent operations: the part that is carried out each time. Everything that does not change
 * was agreed on when the operation was made (persistent.c): which bytes go where, and memory of the
 * segment that belongs to the operation alone.
 *
 *   Start      this rank gives: it packs its data into its row, or only says that its buffers can
 *              be read and written
 *   a poll     those that it needs have given: it takes, that is copies or reduces; it says so, and
 *              where others use its buffers it waits until they have taken, too
 *
 * No step of it waits. A polled step of a schedule (OMPI_STEP_POLL) calls sm_operation_advance,
 * which goes on as far as it can. So any number of operations of a communicator can be under way.
 *
 * The memory has a row for each rank, and one for the result of a reduction. A row has several
 * slots, used in turns, so that a rank can start again while others still read what it gave before:
 *
 *   | ranks that have left                                                      |
 *   | counters:  slot 0: given, taken; slot 1: ...      a cache line each        |
 *   | cells:     row 0: slot 0, slot 1, ...; row 1: ...                          |
 *   | room:      row 0: slot 0, slot 1, ...; row 1: ...  data longer than a cell |
 *
 * Which ranks give, and which take, are sides of the operation: all ranks, the root, or the others.
 * Where a single rank is waited for, it stores the number of the slot's use into its cell. Several
 * ranks count, and the last one wakes those that wait. Where all ranks give, nobody begins again
 * before all have given, so two slots suffice. Elsewhere a giver waits before it uses a slot again,
 * for a batch of slots at a time: takers say that they have taken the last slot of a batch, and the
 * giver asks before the first slot of a batch. So most times no line but that of the data moves.
 *
 * Where more than two ranks read in each other's memory, each also says for itself that it has
 * given, and is read at once by those that come later; its readers count in its cell. So ranks that
 * share a core find at their first turn after the last one has given that they are done.
 *
 * Threading: the caller holds ompi_lock.
 */
#ifndef OMPI_COLL_SM_OPERATION_H
#define OMPI_COLL_SM_OPERATION_H

#include "ompi/mca/coll/sm/fold.h"

enum { SM_SLOTS_MAX = 64 };

typedef struct sm_cell {
    _Alignas(64) _Atomic uint64_t given; /* the use of the slot */
    _Atomic uint64_t taken;
    _Alignas(16) char bytes[SM_INLINE];
} sm_cell_t;

typedef struct sm_counts {
    sm_counter_t given, taken;
} sm_counts_t;

typedef enum sm_side { SM_NOBODY, SM_ALL, SM_ROOT, SM_OTHERS } sm_side_t;

/* Packed bytes of the user's data from the byte `skip` on, and where they are kept or found. */
typedef struct sm_move {
    char *at; /* in slot 0 */
    ompi_data_t data;
    size_t skip, bytes;
    char *plain; /* the data is these bytes; NULL: it has gaps */
    /* Of a read. */
    uint64_t use; /* for which it was done last */
    int rank;     /* whose row or memory it reads */
    int readers;  /* reads of that rank's memory, all ranks together */
} sm_move_t;

typedef struct sm_moves {
    sm_move_t *first;
    size_t count;
} sm_moves_t;

typedef enum sm_phase { SM_AT_REST, SM_GIVES, SM_TAKES, SM_ENDS } sm_phase_t;

struct sm_operation;
typedef void sm_reduce_fn_t(struct sm_operation *op);

typedef struct sm_operation {
    sm_comm_t *self;
    /* The memory. */
    opal_shared_t *shared;
    size_t shared_bytes; /* in the rank that has made it; else 0 */
    sm_counts_t *counts; /* of each slot */
    sm_cell_t *cells;    /* of row 0 */
    char *room;
    size_t row_bytes;      /* of a slot of the room */
    size_t row_stride;     /* between the rows of the room; 0: the root's is the only one */
    size_t stride;         /* between the slots of what moves refer to */
    unsigned slots, batch; /* powers of two */
    /* What does not change. */
    int root;
    sm_side_t givers, takers;
    bool gives, takes; /* this rank is one of the givers; it waits for them */
    bool has_taken;    /* it is one of the takers */
    bool ends, reuses; /* it waits for the takers: at the end; before it gives again */
    bool reads_early;  /* as soon as the rank that it reads from has given */
    int readers;       /* then: reads of this rank's memory */
    sm_moves_t packs, writes, reads; /* into the own row; into others' memory; out of it */
    ompi_data_t own_from, own_to;    /* this rank's data for itself; zero: none */
    /* Of a reduction. */
    sm_reduce_fn_t *reduce; /* NULL: it is none */
    sm_fold_t fold;
    ompi_data_t result;
    size_t first;              /* element of the operands that is the first of the result */
    int first_result, results; /* the ranks that get the result, from the first one on */
    bool by_last;              /* the last rank to give reduces for all, into the last row */
    const char **operands;     /* of each slot, of all ranks, as mapped here */
    sm_addresses_t *addresses;
    /* What changes. */
    sm_phase_t phase;
    unsigned slot;
    uint64_t use; /* of the slot, from 1 on */
    unsigned failures;
    int error; /* it has failed for good, or never worked */
} sm_operation_t;

/* The function of a polled step. */
int sm_operation_advance(ompi_schedule_t *schedule, void *context);

/* The cell and the row of a slot. Row `size` has the result. */
static inline sm_cell_t *sm_operation_cell(const sm_operation_t *op, int row, unsigned slot)
{
    return &op->cells[(unsigned)row * op->slots + slot];
}

static inline char *sm_operation_row(const sm_operation_t *op, int row, unsigned slot)
{
    if (op->row_bytes == 0)
        return sm_operation_cell(op, row, slot)->bytes;
    return op->room + (size_t)row * op->row_stride + slot * op->row_bytes;
}

/* Functions for `reduce`: into this rank's result, or this rank's piece into the results. */
sm_reduce_fn_t sm_operation_reduce, sm_operation_reduce_piece;

#endif
