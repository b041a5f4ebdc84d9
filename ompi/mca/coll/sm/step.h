/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Steps of the ranks of a communicator in its area; sm.h explains the protocol. All ranks take the
 * same steps in the same order. In every rank a step begins with sm_step_begin and continues with
 * the calls of its flow. A rank writes only its own row or that of the result, and reads a row only
 * after a call that has waited for it.
 *
 * A call that waits returns MPI_ERR_PROC_ABORTED if a rank of the communicator has failed.
 *
 * Threading: the caller holds ompi_lock. A call that waits releases it meanwhile.
 */
#ifndef OMPI_COLL_SM_STEP_H
#define OMPI_COLL_SM_STEP_H

#include "ompi/mca/coll/sm/sm.h"

/* The part of the area that a step uses. */
typedef struct sm_slot {
    uint64_t step, arrivals;
    unsigned half, line;
    size_t at;   /* offset in the half's room; SIZE_MAX: the data is in the lines */
    size_t used; /* bytes of the room that earlier steps use */
} sm_slot_t;

typedef enum sm_flow {
    SM_SYNC,    /* every rank writes its row and waits for all ranks */
    SM_TO_ROOT, /* every rank writes its row; the root waits for all ranks */
    SM_BY_ROOT, /* the root writes its row; the others wait for it */
} sm_flow_t;

/* The steps of an operation, as far as they differ. */
typedef enum sm_protocol {
    SM_ANY,    /* the operation has one protocol only; nothing is compared */
    SM_SHORT,  /* rows have the data */
    SM_DIRECT, /* rows say where the data is; one more step says that it was read */
    SM_HALVES, /* sm_pair_bcast, which begins with a sync step */
    SM_PROTOCOLS = 4,
} sm_protocol_t;

/* The bit of a signature that says that the rank has no right data. */
enum { SM_MISMATCH = SM_PROTOCOLS };

/* The signature of a call. `is_mismatch`: what the rank sends is not as long as what it receives.
 */
static inline uint64_t sm_signature(size_t bytes, sm_protocol_t protocol, bool is_mismatch)
{
    return protocol == SM_ANY ? 0 : ((uint64_t)bytes * 2 + is_mismatch) * SM_PROTOCOLS + protocol;
}

/* Two ranks use no counters: each waits for the other's flag, which is faster. */
static inline bool sm_has_counters(const sm_comm_t *self)
{
    return self->size > 2;
}

/* Takes the slot of a step with rows of `bytes`. Waits in a barrier if the half is full. */
int sm_step_begin(sm_comm_t *self, sm_flow_t flow, size_t bytes, sm_slot_t *slot);

/* The data of a row. Row `size` is that of the result. */
char *sm_step_row(const sm_comm_t *self, const sm_slot_t *slot, int row);

/* The rows that this rank writes. The first call for a row populates its memory. */
char *sm_step_own_row(sm_comm_t *self, const sm_slot_t *slot);
char *sm_step_result_row(sm_comm_t *self, const sm_slot_t *slot);

/* The bytes beside the flag, in a step whose rows are longer than a line. */
char *sm_step_line(const sm_comm_t *self, const sm_slot_t *slot, int row);

/* Rows of results and of entries (direct.h) begin with an error: why there is no data. */
int *sm_step_error(const sm_comm_t *self, const sm_slot_t *slot, int row);

/* -- SM_SYNC ------------------------------------------------------------------------------- */

/* sm_step_arrive: this rank has written its row. sm_step_await_all returns when all ranks have.
 * sm_step_sync calls both. */
void sm_step_arrive(sm_comm_t *self, const sm_slot_t *slot);
int sm_step_await_all(sm_comm_t *self, const sm_slot_t *slot);
int sm_step_sync(sm_comm_t *self, const sm_slot_t *slot);

/* A whole step without data. */
int sm_step_barrier(sm_comm_t *self);

/* Called before sm_step_arrive: other ranks may read this row at once, if they see that it is
 * published. */
void sm_step_publish(const sm_comm_t *self, const sm_slot_t *slot);
bool sm_step_is_published(const sm_comm_t *self, const sm_slot_t *slot, int rank);

/* Instead of sm_step_arrive, where the last rank to arrive computes for all. Only with counters,
 * and with data longer than a line. True: this rank is the last one, and may read all rows. It then
 * calls sm_step_publish_result, also after an error. The others call sm_step_await_result, which
 * returns that error. */
bool sm_step_count_in(sm_comm_t *self, const sm_slot_t *slot);
void sm_step_publish_result(sm_comm_t *self, const sm_slot_t *slot, int error);
int sm_step_await_result(sm_comm_t *self, const sm_slot_t *slot);

/* -- SM_TO_ROOT ---------------------------------------------------------------------------- */

/* This rank has written its row. In the root this returns when all ranks have. */
int sm_step_arrive_at_root(sm_comm_t *self, const sm_slot_t *slot, int root);

/* A whole step without data. `compares`: the root compares the signatures of all ranks. */
int sm_step_report(sm_comm_t *self, int root, bool compares);

/* -- SM_BY_ROOT ---------------------------------------------------------------------------- */

/* sm_step_notify: the root has written its row. The others call sm_step_await. MPI_ERR_TRUNCATE:
 * the root's signature differs from this rank's. The rank then calls sm_step_follow_root, which
 * takes the remaining steps of the root's protocol and returns the error. */
void sm_step_notify(sm_comm_t *self, const sm_slot_t *slot);
int sm_step_await(sm_comm_t *self, const sm_slot_t *slot, int root);
int sm_step_follow_root(sm_comm_t *self, sm_slot_t *slot, int root);

/* -- signatures of rows that were waited for ------------------------------------------------ */

bool sm_step_matches(const sm_comm_t *self, const sm_slot_t *slot, int rank);
sm_protocol_t sm_step_protocol(const sm_comm_t *self, const sm_slot_t *slot, int rank);

/* Called when all rows can be read. MPI_ERR_TRUNCATE, in all ranks: a signature differs. */
int sm_step_compare(sm_comm_t *self, const sm_slot_t *slot);

/* -- readers of a rank's own memory --------------------------------------------------------- */

/* `readers` is a word in the owner's row. Each of `all` readers calls sm_step_reader_done when it
 * no longer needs the owner's data; sm_step_await_readers returns when all have. */
void sm_step_reader_done(const sm_comm_t *self, _Atomic uint64_t *readers, uint64_t all, int owner);
int sm_step_await_readers(sm_comm_t *self, const _Atomic uint64_t *readers, uint64_t all);

/* Like the two above, where every rank of the communicator makes both calls. Two ranks have a
 * barrier instead, because storing a flag does not wait for its cache line, as counting would. */
void sm_step_all_reader_done(const sm_comm_t *self, _Atomic uint64_t *readers, uint64_t all,
                             int owner);
int sm_step_all_await_readers(sm_comm_t *self, const _Atomic uint64_t *readers, uint64_t all);

#endif
