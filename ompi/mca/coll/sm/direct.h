/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Data that stays in the memory of its rank: how a rank publishes where it is, and how the others
 * read and write it. Used by fold.c, direct_*.c, pair.c, vector.c and nonblocking.c.
 *
 * Threading: the caller holds ompi_lock.
 */
#ifndef OMPI_COLL_SM_DIRECT_H
#define OMPI_COLL_SM_DIRECT_H

#include "ompi/mca/coll/sm/step.h"

/* Called by all ranks, once: finds out whether and how they reach each other's memory, and compares
 * their calls (mpi_check). An error of the comparison is one in all ranks, and all is agreed. */
int sm_direct_agree(sm_comm_t *self);

/* -- a rank's own data ----------------------------------------------------------------------- */

/* What this rank publishes: packed data that the others read, and a buffer to which they write the
 * packed result; or why there is no data. */
typedef struct sm_source {
    uintptr_t address;
    size_t segments;  /* 0: the data is at `address`; else the number of struct iovec there */
    uintptr_t target; /* buffer of this rank's result; 0: the others cannot write it */
    char *room;       /* allocated memory at `address`; NULL: the memory is the user's */
    bool in_place;    /* the data is in the buffer of the result */
    int error;        /* may be SM_FALL_BACK: there is no memory that the others could read */
} sm_source_t;

/* Publishes the user's data. `needs_copy`: the data changes before all ranks have read it. */
void sm_source_init(sm_source_t *source, const sm_comm_t *self, ompi_data_t data, bool needs_copy);

/* Publishes the user's data for sm_direct_fetch, which can also copy from a layout with gaps. */
void sm_source_init_layout(sm_source_t *source, const sm_comm_t *self, ompi_data_t data);

/* Allocates memory for `bytes` of data. */
void sm_source_init_room(sm_source_t *source, const sm_comm_t *self, size_t bytes);
void sm_source_fini(sm_source_t *source);

/* Publishes the buffer of this rank's result, if the others can write it. */
void sm_source_set_target(sm_source_t *source, const sm_comm_t *self, ompi_data_t result);

/* Whether the others can read the data in place, as packed data; whether they can write the result
 * in place. */
bool sm_direct_is_readable(const sm_comm_t *self, ompi_data_t data);
bool sm_direct_is_writable(const sm_comm_t *self, ompi_data_t result);

/* For data in the region that consists of long segments: writes their addresses into `room`, as
 * struct iovec. Returns their number. 0: the data is not in the region, or has short segments. */
size_t sm_direct_describe(const sm_comm_t *self, ompi_data_t data, void *room, size_t bytes);

/* -- entries: a source, as published in a row ------------------------------------------------ */

typedef struct sm_entry {
    int error; /* first, for sm_step_error */
    bool in_place;
    uintptr_t address, target;
    size_t segments;
    _Atomic uint64_t readers; /* ranks that are done with the data */
} sm_entry_t;

_Static_assert(offsetof(sm_entry_t, error) == 0 && sizeof(sm_entry_t) <= SM_INLINE,
               "an entry fits the line of its flag");

/* In a step whose rows are entries: writes this rank's entry; reads the address of a rank's entry.
 */
void sm_direct_write_entry(sm_comm_t *self, const sm_slot_t *slot, const sm_source_t *source);
uintptr_t sm_direct_address(const sm_comm_t *self, const sm_slot_t *slot, int rank);

/* A rank's result buffer, as mapped here; the caller knows its length. NULL, in all ranks: it
 * cannot be written. sm_direct_has_targets: whether the results of all ranks can be written. */
char *sm_direct_target(const sm_comm_t *self, const sm_slot_t *slot, int rank);
bool sm_direct_has_targets(const sm_comm_t *self, const sm_slot_t *slot);

/* Whether the data of any rank is in the buffer of its result. */
bool sm_direct_is_in_place(const sm_comm_t *self, const sm_slot_t *slot);

/* Called when all entries can be read. Returns the first error among them, equal in all ranks. */
int sm_direct_first_error(const sm_comm_t *self, const sm_slot_t *slot);

/* An SM_SYNC step: sm_direct_publish publishes this rank's entry, sm_direct_await waits for the
 * entries of all ranks and returns the same error in all ranks if one has an error.
 * sm_direct_exchange calls both. */
int sm_direct_publish(sm_comm_t *self, const sm_source_t *source, sm_slot_t *slot);
int sm_direct_await(sm_comm_t *self, const sm_slot_t *slot);
int sm_direct_exchange(sm_comm_t *self, const sm_source_t *source, sm_slot_t *slot);

/* All ranks make both calls. sm_direct_reader_done: this rank, one of `readers`, no longer needs
 * the data of `rank`, or cannot read it. sm_direct_await_readers waits until `readers` ranks no
 * longer need this rank's data; it returns `error`, or an error of its own. */
void sm_direct_reader_done(const sm_comm_t *self, const sm_slot_t *slot, int rank, int readers);
int sm_direct_await_readers(sm_comm_t *self, const sm_slot_t *slot, int readers, int error);

/* Without targets, where only the root reads. An SM_TO_ROOT step: each rank publishes its entry to
 * the root. Then the others wait until the root has ended, and learn whether it leaves the
 * operation to messages, as a rank had no memory. sm_direct_end returns `error`, or an error of its
 * own. */
int sm_direct_give(sm_comm_t *self, int root, const sm_source_t *source, sm_slot_t *slot);
int sm_direct_end(sm_comm_t *self, int root, int error);

/* Whether the ranks that want `bytes` of results read them, instead of having them written. */
static inline bool sm_direct_pulls(const sm_comm_t *self, size_t bytes)
{
    return bytes <= self->limits->pull_bytes && (self->size == 2 || self->is_oversubscribed);
}

/* Where ranks write each other's memory: waits until all ranks are done with all reads and writes.
 * Returns `error`, or an error of its own. */
int sm_direct_barrier(sm_comm_t *self, int error);

/* -- another rank's data ---------------------------------------------------------------------- */

/* Packed bytes of a rank, this one included: in place if they are mapped here, else read into
 * `buffer`. NULL: they cannot be read. */
const char *sm_direct_reach(const sm_comm_t *self, int rank, uintptr_t from, size_t bytes,
                            char *buffer);

/* Copy a rank's data, from the packed byte `skip` on, to the user's data. The data is that of the
 * rank's entry, or at `address` with `segments`. `readers`: so many ranks read it. */
int sm_direct_fetch(const sm_comm_t *self, const sm_slot_t *slot, int rank, size_t skip,
                    ompi_data_t to, int readers);
int sm_direct_fetch_from(const sm_comm_t *self, int rank, uintptr_t address, size_t segments,
                         size_t skip, ompi_data_t to, int readers);

#endif
