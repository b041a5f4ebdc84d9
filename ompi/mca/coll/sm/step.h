/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Steps of the ranks of a communicator in its area; sm.h explains the protocol. All ranks take the
 * same steps in the same order. In every rank a step begins with sm_step_begin and continues with
 * the calls of its flow. A rank writes only its own row or that of the result, and the root of an
 * SM_BY_ROOT step the rows of all; a rank reads a row only after a call that has waited for it.
 *
 * A call that waits returns MPI_ERR_PROC_ABORTED if a rank of the communicator has failed.
 *
 * Threading: the caller holds ompi_lock. A call that waits releases it meanwhile.
 */
#ifndef OMPI_COLL_SM_STEP_H
#define OMPI_COLL_SM_STEP_H

#include "opal/arch/claim.h"
#include "opal/arch/prefetch.h"
#include "ompi/check/check.h"
#include "ompi/mca/coll/sm/sm.h"

/* The part of the area that a step uses. */
typedef struct sm_slot {
    uint64_t step, arrivals;
    unsigned half, line;
    size_t at;   /* offset in the half's room; SIZE_MAX: the data is in the lines */
    size_t used; /* bytes of the room that earlier steps use */
    size_t end;  /* those that they and this step use */
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

/*
 * The signature of a call:
 *
 *   bit 63        27 26            3     2          1   0
 *   | digest        | bytes mod 2^24 | mismatch | protocol |
 *
 * `is_mismatch`: what the rank sends is not as long as what it receives. The digest is of the other
 * bits of `bytes`, and of `call`, that of what else the ranks give alike (mpi_check; 0: nothing).
 */
enum { SM_SHORT_BITS = 24, SM_DIGEST_AT = SM_SHORT_BITS + 3 };

static inline uint64_t sm_signature(uint64_t call, size_t bytes, sm_protocol_t protocol,
                                    bool is_mismatch)
{
    const uint64_t spread = UINT64_C(0xd6e8feb86659fd93);
    uint64_t low = bytes & ((UINT64_C(1) << SM_SHORT_BITS) - 1);
    uint64_t digest = (call ^ (bytes >> SM_SHORT_BITS) * spread) >> SM_DIGEST_AT;
    low = (low * 2 + is_mismatch) * SM_PROTOCOLS + protocol;
    return protocol == SM_ANY ? 0 : digest << SM_DIGEST_AT | low;
}

/* The bytes of a signature that are fewer than 2^24. */
static inline size_t sm_signature_bytes(uint64_t signature)
{
    return (size_t)(signature / SM_PROTOCOLS / 2) & ((1u << SM_SHORT_BITS) - 1);
}

/* Two ranks use no counters: each waits for the other's flag, which is faster. */
static inline bool sm_has_counters(const sm_comm_t *self)
{
    return self->size > 2;
}

/* False: a rank has failed. Under mpirun the result stays true: mpirun reports the failure and ends
 * the job, and the other ranks wait for that. */
bool sm_step_is_alive(sm_comm_t *self);

static inline size_t sm_room_for(size_t bytes)
{
    return (bytes + 63) & ~(size_t)63;
}

/* For sm_step_begin. */
static inline void sm_step_take_slot(sm_comm_t *self, sm_flow_t flow, size_t bytes, sm_slot_t *slot)
{
    slot->step = ++self->step;
    slot->half = self->half;
    slot->line = self->line;
    slot->at = SIZE_MAX;
    slot->used = self->used;
    if (bytes > SM_INLINE) {
        slot->at = self->used;
        self->used += sm_room_for(bytes);
    }
    slot->end = self->used;
    if (flow != SM_BY_ROOT)
        slot->arrivals = self->arrivals[self->half][self->line] += (uint64_t)self->size;
    self->line++;
    if (flow == SM_SYNC) {
        self->half ^= 1;
        self->line = 0;
        self->used = 0;
    }
}

/* For sm_step_begin: the sync step that ends a half. */
int sm_step_leave_half(sm_comm_t *self);

/* Takes the slot of a step with rows of `bytes`. Waits in a barrier if the half is full. */
static inline int sm_step_begin(sm_comm_t *self, sm_flow_t flow, size_t bytes, sm_slot_t *slot)
{
    /* The last line is for the sync step. Whether a slot is free depends neither on the flow nor on
     * the bytes of short data, because ranks whose calls do not match may differ in them. */
    bool has_line = self->line < SM_LINES - 1;
    size_t quarter = self->room_bytes / 4, wanted = bytes > quarter ? bytes : quarter;
    if (opal_unlikely(!has_line || (self->used > 0 && wanted > self->room_bytes - self->used))) {
        int error = sm_step_leave_half(self);
        if (error != MPI_SUCCESS)
            return error;
    }
    sm_step_take_slot(self, flow, bytes, slot);
    return MPI_SUCCESS;
}

static inline sm_line_t *sm_line_of(const sm_comm_t *self, const sm_slot_t *slot, int row)
{
    return &self->area->lines[row][slot->half][slot->line];
}

/* The bytes beside the flag, in a step whose rows are longer than a line. */
static inline char *sm_step_line(const sm_comm_t *self, const sm_slot_t *slot, int row)
{
    return sm_line_of(self, slot, row)->bytes;
}

/* The data of a row. Row `size` is that of the result. */
static inline char *sm_step_row(const sm_comm_t *self, const sm_slot_t *slot, int row)
{
    if (opal_likely(slot->at == SIZE_MAX))
        return sm_step_line(self, slot, row);
    return self->room + (2 * (size_t)row + slot->half) * self->room_bytes + slot->at;
}

/* `bytes` of a row that another rank has written, from the byte `at` on, which this rank is about
 * to read, one of `readers`. The bytes of a line are not worth a claim. */
static inline const char *sm_step_read(const sm_comm_t *self, const sm_slot_t *slot, int row,
                                       size_t at, size_t bytes, int readers)
{
    const char *data = sm_step_row(self, slot, row) + at;
    if (slot->at != SIZE_MAX && sm_claims(self, bytes, readers))
        opal_claim(data, bytes);
    return data;
}

/* The rows that this rank writes, with memory that is populated. */
void sm_step_populate(sm_comm_t *self, const sm_slot_t *slot, int row, size_t *populated);
char *sm_step_result_row(sm_comm_t *self, const sm_slot_t *slot);

static inline char *sm_step_row_to_write(sm_comm_t *self, const sm_slot_t *slot, int rank)
{
    size_t *populated = &self->peers[rank].memory_bytes;
    if (opal_unlikely(slot->at != SIZE_MAX && slot->end > *populated))
        sm_step_populate(self, slot, rank, populated);
    return sm_step_row(self, slot, rank);
}

static inline char *sm_step_own_row(sm_comm_t *self, const sm_slot_t *slot)
{
    return sm_step_row_to_write(self, slot, self->rank);
}

/* Rows of results and of entries (direct.h) begin with an error: why there is no data. */
static inline int *sm_step_error(const sm_comm_t *self, const sm_slot_t *slot, int row)
{
    return (int *)(void *)sm_step_line(self, slot, row);
}

/* -- waiting and notifying, for the flows --------------------------------------------------- */

static inline bool sm_has_value(const _Atomic uint64_t *word, uint64_t value)
{
    return atomic_load_explicit(word, memory_order_acquire) == value;
}

/* Waits until the word has the value. */
int sm_step_wait(sm_comm_t *self, const _Atomic uint64_t *word, uint64_t value);

/* Called by a rank that has published something for all others. */
void sm_step_notify_many(const sm_comm_t *self);

static inline void sm_step_notify_others(const sm_comm_t *self)
{
    if (sm_has_counters(self))
        sm_step_notify_many(self);
    else
        opal_doorbell_notify(self->peers[1 - self->rank].doorbell);
}

static inline void sm_step_set_flag(const sm_comm_t *self, const sm_slot_t *slot, int row)
{
    atomic_store_explicit(&sm_line_of(self, slot, row)->flag, slot->step, memory_order_release);
}

static inline int sm_step_await_flag(sm_comm_t *self, const sm_slot_t *slot, int row)
{
    return sm_step_wait(self, &sm_line_of(self, slot, row)->flag, slot->step);
}

/* In a line the signature is changed by the step, so that one of an earlier step, in a line that
 * its rank has not written since, equals none. */
static inline uint64_t sm_step_mask(const sm_slot_t *slot)
{
    return slot->step << SM_DIGEST_AT;
}

/* Called before the flag or the count that publishes this rank's row. */
static inline void sm_step_write_signature(const sm_comm_t *self, const sm_slot_t *slot)
{
    if (self->signature != 0)
        sm_line_of(self, slot, self->rank)->signature = self->signature ^ sm_step_mask(slot);
}

static inline uint64_t sm_step_signature(const sm_comm_t *self, const sm_slot_t *slot, int rank)
{
    return sm_line_of(self, slot, rank)->signature ^ sm_step_mask(slot);
}

/* Fetches the line that this rank writes next, while it does something else: a store to a line that
 * a peer has read takes as long as a transfer of a line. */
static inline void sm_step_prefetch_next(const sm_comm_t *self)
{
    opal_prefetch_write(&self->area->lines[self->rank][self->half][self->line]);
}

/* -- SM_SYNC ------------------------------------------------------------------------------- */

/* sm_step_arrive: this rank has written its row. sm_step_await_all returns when all ranks have.
 * sm_step_sync calls both. */
void sm_step_count_arrival(sm_comm_t *self, const sm_slot_t *slot); /* for sm_step_arrive */

static inline void sm_step_arrive(sm_comm_t *self, const sm_slot_t *slot)
{
    sm_step_write_signature(self, slot);
    if (sm_has_counters(self)) {
        sm_step_count_arrival(self, slot);
    } else {
        sm_step_set_flag(self, slot, self->rank);
        sm_step_notify_others(self);
    }
}

int sm_step_await_all(sm_comm_t *self, const sm_slot_t *slot);

static inline int sm_step_sync(sm_comm_t *self, const sm_slot_t *slot)
{
    sm_step_arrive(self, slot);
    return sm_step_await_all(self, slot);
}

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
static inline void sm_step_notify(sm_comm_t *self, const sm_slot_t *slot)
{
    sm_step_write_signature(self, slot);
    sm_step_set_flag(self, slot, self->rank);
    sm_step_notify_others(self);
}

/* sm_step_notify, where only the rank `reader` waits. */
static inline void sm_step_notify_one(sm_comm_t *self, const sm_slot_t *slot, int reader)
{
    sm_step_write_signature(self, slot);
    sm_step_set_flag(self, slot, self->rank);
    opal_doorbell_notify(self->peers[reader].doorbell);
}

int sm_step_await(sm_comm_t *self, const sm_slot_t *slot, int root);
int sm_step_follow_root(sm_comm_t *self, sm_slot_t *slot, int root);

/* -- signatures of rows that were waited for ------------------------------------------------ */

/* For sm_step_matches: whether the signatures differ in what need not be equal. */
bool sm_step_agrees(const sm_comm_t *self, const sm_slot_t *slot, int rank);

static inline bool sm_step_matches(const sm_comm_t *self, const sm_slot_t *slot, int rank)
{
    return opal_likely(sm_step_signature(self, slot, rank) == self->signature) ||
           sm_step_agrees(self, slot, rank);
}

sm_protocol_t sm_step_protocol(const sm_comm_t *self, const sm_slot_t *slot, int rank);

/* What a rank does whose signature differs from another one: MPI_ERR_TRUNCATE, or, if the calls
 * have different steps, the error with which collectives end here. */
int sm_step_differ(sm_comm_t *self);

/* Called when all rows can be read. MPI_ERR_TRUNCATE, in all ranks: a signature differs. */
int sm_step_refuse(sm_comm_t *self, const sm_slot_t *slot); /* for sm_step_compare */

static inline int sm_step_compare(sm_comm_t *self, const sm_slot_t *slot)
{
    for (int rank = 0; rank < self->size; rank++) {
        if (opal_unlikely(rank != self->rank && !sm_step_matches(self, slot, rank)))
            return sm_step_refuse(self, slot);
    }
    /* All signatures are equal, so if this rank has a mismatch, all have one. */
    return opal_unlikely((self->signature & SM_MISMATCH) != 0) ? MPI_ERR_TRUNCATE : MPI_SUCCESS;
}

/* sm_step_await_all and sm_step_compare. */
static inline int sm_step_await_matching(sm_comm_t *self, const sm_slot_t *slot)
{
    int error = sm_step_await_all(self, slot);
    return error == MPI_SUCCESS ? sm_step_compare(self, slot) : error;
}

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
