/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Steps of the ranks of a communicator in its area; sm.h explains the idea. All ranks take the same
 * steps in the same order. A step begins with sm_step_begin in every rank, and goes on by the calls
 * of its flow. A rank writes only its own row (or the result's), and reads a row only after a call
 * that has waited for it.
 *
 * What waits returns MPI_ERR_PROC_ABORTED if a rank of the communicator has died.
 *
 * Threading: the caller holds ompi_lock, which is given back while a call waits.
 */
#ifndef OMPI_COLL_SM_STEP_H
#define OMPI_COLL_SM_STEP_H

#include "ompi/mca/coll/sm/sm.h"

/* What a step takes of the area. */
typedef struct sm_slot {
    uint64_t step, arrivals;
    unsigned half, line;
    size_t at;   /* in the half's room; SIZE_MAX: the data is in the lines */
    size_t used; /* of the room, before the step */
} sm_slot_t;

typedef enum sm_flow {
    SM_SYNC,    /* every rank writes its row, and waits for all */
    SM_TO_ROOT, /* every rank writes its row, and the root waits for all */
    SM_BY_ROOT, /* the root writes its row, and the others wait for it */
} sm_flow_t;

/* How an operation goes through the area. */
typedef enum sm_protocol {
    SM_ANY,    /* the only one of its kind: nothing is compared */
    SM_SHORT,  /* rows have the data */
    SM_DIRECT, /* rows tell where the data is, and one more step says that it has been read */
    SM_HALVES, /* a broadcast of two ranks, which begins with a sync step */
    SM_PROTOCOLS = 4,
} sm_protocol_t;

/* The signature of a call. `is_misfit`: what the rank sends is not as long as what it receives. */
static inline uint64_t sm_signature(size_t bytes, sm_protocol_t protocol, bool is_misfit)
{
    return protocol == SM_ANY ? 0 : ((uint64_t)bytes * 2 + is_misfit) * SM_PROTOCOLS + protocol;
}

/* Between two ranks there are no counters: each waits for the other's flag, which is faster. */
static inline bool sm_has_counters(const sm_comm_t *self)
{
    return self->size > 2;
}

/* Takes the slot of a step with so many bytes in a row. Waits in a barrier if the half is full. */
int sm_step_begin(sm_comm_t *self, sm_flow_t flow, size_t bytes, sm_slot_t *slot);

/* The bytes of a row; row `size` is that of results. */
char *sm_step_row(const sm_comm_t *self, const sm_slot_t *slot, int row);

/* The rows that this rank writes. At the first call for a row its memory is populated. */
char *sm_step_own_row(sm_comm_t *self, const sm_slot_t *slot);
char *sm_step_result_row(sm_comm_t *self, const sm_slot_t *slot);

/* In a step whose rows are longer than a line: the bytes beside the flag, which arrive with it. */
char *sm_step_line(const sm_comm_t *self, const sm_slot_t *slot, int row);

/* Rows of results and of entries (direct.h) begin with an error there: why the data is missing. */
int *sm_step_error(const sm_comm_t *self, const sm_slot_t *slot, int row);

/* -- SM_SYNC ------------------------------------------------------------------------------- */

/* This rank has written its row; sm_step_await_all returns when all have. sm_step_sync is both. */
void sm_step_arrive(sm_comm_t *self, const sm_slot_t *slot);
int sm_step_await_all(sm_comm_t *self, const sm_slot_t *slot);
int sm_step_sync(sm_comm_t *self, const sm_slot_t *slot);

/* A whole step without data. */
int sm_step_barrier(sm_comm_t *self);

/* Before sm_step_arrive: a rank that sees that this row is published may read it at once. */
void sm_step_publish(const sm_comm_t *self, const sm_slot_t *slot);
bool sm_step_is_published(const sm_comm_t *self, const sm_slot_t *slot, int rank);

/* Where the last rank to arrive computes for all; with counters and data longer than a line only.
 * True: this rank is the last one, and all rows are there. It then calls sm_step_publish_result,
 * also with an error; the others call sm_step_await_result and get that error. */
bool sm_step_count_in(sm_comm_t *self, const sm_slot_t *slot);
void sm_step_publish_result(sm_comm_t *self, const sm_slot_t *slot, int error);
int sm_step_await_result(sm_comm_t *self, const sm_slot_t *slot);

/* -- SM_TO_ROOT ---------------------------------------------------------------------------- */

/* This rank has written its row. In the root it returns when all have. */
int sm_step_give(sm_comm_t *self, const sm_slot_t *slot, int root);

/* A whole step without data. `compares`: the root compares the signatures of all ranks. */
int sm_step_report(sm_comm_t *self, int root, bool compares);

/* -- SM_BY_ROOT ---------------------------------------------------------------------------- */

/* The root has written its row; the others wait for it. MPI_ERR_TRUNCATE: the root's signature is
 * not ours. The rank then calls sm_step_follow_root, which takes the steps of the root's protocol
 * and returns the error. */
void sm_step_notify(sm_comm_t *self, const sm_slot_t *slot);
int sm_step_await(sm_comm_t *self, const sm_slot_t *slot, int root);
int sm_step_follow_root(sm_comm_t *self, sm_slot_t *slot, int root);

/* -- signatures of rows that are there ------------------------------------------------------ */

bool sm_step_matches(const sm_comm_t *self, const sm_slot_t *slot, int rank);
sm_protocol_t sm_step_protocol(const sm_comm_t *self, const sm_slot_t *slot, int rank);

/* All rows are there. MPI_ERR_TRUNCATE, in all ranks: one of them differs. */
int sm_step_compare(sm_comm_t *self, const sm_slot_t *slot);

/* -- readers of a rank's own memory --------------------------------------------------------- */

/* `readers` is a word in the owner's row. Each of `all` readers calls the first one when it does
 * not need the owner's data any more; the owner waits for them by the second. */
void sm_step_reader_done(const sm_comm_t *self, _Atomic uint64_t *readers, uint64_t all, int owner);
int sm_step_await_readers(sm_comm_t *self, const _Atomic uint64_t *readers, uint64_t all);

/* The same where every rank of the communicator makes both calls. Without counters there is a
 * barrier instead: a flag is stored without waiting for its cache line, where a count would wait.
 */
void sm_step_all_reader_done(const sm_comm_t *self, _Atomic uint64_t *readers, uint64_t all,
                             int owner);
int sm_step_all_await_readers(sm_comm_t *self, const _Atomic uint64_t *readers, uint64_t all);

#endif
