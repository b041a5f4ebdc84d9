/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Data that stays in the memory of its rank: how a rank tells the others where it is, and how they
 * read and write it. Below fold.c, direct_*.c, pair.c, vector.c and
 * nonblocking.c.
 *
 * Threading: the caller holds ompi_lock.
 */
#ifndef OMPI_COLL_SM_DIRECT_H
#define OMPI_COLL_SM_DIRECT_H

#include "ompi/mca/coll/sm/step.h"

/* All ranks call this, once: finds out whether and how they reach each other's memory. */
int sm_direct_agree(sm_comm_t *self);

/* -- a rank's own data ----------------------------------------------------------------------- */

/* What this rank tells the others: where packed data is that they read, and where the packed form
 * of a result goes that they write; or why there is no such data. */
typedef struct sm_source {
    uintptr_t address;
    size_t segments;  /* 0: the data is at `address`; else so many struct iovec, which tell where */
    uintptr_t target; /* 0: the others cannot write this rank's result */
    char *room;       /* memory of its own, at `address`; NULL: the memory is the user's */
    bool in_place;    /* the data lies where the result goes */
    int error;        /* also SM_FALL_BACK: there is no memory that the others could read */
} sm_source_t;

/* The user's data. `needs_copy`: it changes before all have read it. */
void sm_source_init(sm_source_t *source, const sm_comm_t *self, ompi_data_t data, bool needs_copy);

/* The same for data that the others only fetch, which they can do from one layout to another. */
void sm_source_init_layout(sm_source_t *source, const sm_comm_t *self, ompi_data_t data);

/* Memory for so many bytes of data. */
void sm_source_init_room(sm_source_t *source, const sm_comm_t *self, size_t bytes);
void sm_source_fini(sm_source_t *source);

/* Lets the others write this result, if they can. */
void sm_source_set_target(sm_source_t *source, const sm_comm_t *self, ompi_data_t result);

/* Whether the others can read data where it is, as packed data; and write a result where it is. */
bool sm_direct_is_readable(const sm_comm_t *self, ompi_data_t data);
bool sm_direct_is_writable(const sm_comm_t *self, ompi_data_t result);

/* For data in the region that lies in long pieces: writes where these are into `room` of so many
 * bytes, as struct iovec. Returns their number; 0: the data is not like that. */
size_t sm_direct_describe(const sm_comm_t *self, ompi_data_t data, void *room, size_t bytes);

/* -- entries: what a row tells of a source --------------------------------------------------- */

typedef struct sm_entry {
    int error; /* sm_step_error finds it */
    bool in_place;
    uintptr_t address, target;
    size_t segments;
    _Atomic uint64_t readers; /* ranks that are done with the data */
} sm_entry_t;

_Static_assert(offsetof(sm_entry_t, error) == 0 && sizeof(sm_entry_t) <= SM_INLINE,
               "it comes with the flag");

/* In a step whose rows are entries: writes our own; reads that of a rank. */
void sm_direct_write_entry(sm_comm_t *self, const sm_slot_t *slot, const sm_source_t *source);
uintptr_t sm_direct_address(const sm_comm_t *self, const sm_slot_t *slot, int rank);

/* Where a rank's result is mapped here; the caller knows its length. NULL: it cannot be written.
 * All ranks get the same answer to whether it can. The second: whether all results can. */
char *sm_direct_target(const sm_comm_t *self, const sm_slot_t *slot, int rank);
bool sm_direct_has_targets(const sm_comm_t *self, const sm_slot_t *slot);

/* Whether the data of any rank lies where its result goes. */
bool sm_direct_is_in_place(const sm_comm_t *self, const sm_slot_t *slot);

/* All entries are there: MPI_SUCCESS, or the first error among them, the same in all ranks. */
int sm_direct_first_error(const sm_comm_t *self, const sm_slot_t *slot);

/* SM_SYNC: publishes this rank's entry; waits for those of all. No rank goes on if one has an
 * error. sm_direct_exchange is both. */
int sm_direct_publish(sm_comm_t *self, const sm_source_t *source, sm_slot_t *slot);
int sm_direct_await(sm_comm_t *self, const sm_slot_t *slot);
int sm_direct_exchange(sm_comm_t *self, const sm_source_t *source, sm_slot_t *slot);

/* All ranks make both calls. The first: this rank, one of so many readers, does not need that
 * rank's data any more, or cannot read it. The second waits until so many are done with ours, and
 * returns the error given, or a new one. */
void sm_direct_reader_done(const sm_comm_t *self, const sm_slot_t *slot, int rank, int readers);
int sm_direct_await_readers(sm_comm_t *self, const sm_slot_t *slot, int readers, int error);

/* The same where ranks write each other's memory: waits until all are done with everything. */
int sm_direct_barrier(sm_comm_t *self, int error);

/* -- another rank's data ---------------------------------------------------------------------- */

/* Packed bytes of a rank (also our own): where they are mapped here, or, copied, in `buffer`. NULL:
 * they cannot be read. */
const char *sm_direct_reach(const sm_comm_t *self, int rank, uintptr_t from, size_t bytes,
                            char *buffer);

/* Copies to the user's data what lies `skip` packed bytes behind the beginning of a rank's data: of
 * data that an entry tells of, and of other data. */
int sm_direct_fetch(const sm_comm_t *self, const sm_slot_t *slot, int rank, size_t skip,
                    ompi_data_t to);
int sm_direct_fetch_from(const sm_comm_t *self, int rank, uintptr_t address, size_t segments,
                         size_t skip, ompi_data_t to);

#endif
