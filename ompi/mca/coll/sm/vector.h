/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Rows of blocks whose lengths only their sender and their receiver know, so that ranks cannot
 * agree on a protocol by length. Each row describes the data that its rank sends, and contains it
 * if it is short:
 *
 *   line: | flag | readers | call | error | where | the item, if it is the only one |
 *   room: | item 0 | item 1 | ... | packed blocks                            |
 *
 * For longer data the items have addresses, and the owner waits for the readers.
 *
 * Threading: the caller holds ompi_lock.
 */
#ifndef OMPI_COLL_SM_VECTOR_H
#define OMPI_COLL_SM_VECTOR_H

#include "ompi/mca/coll/sm/direct.h"
#include "ompi/mca/coll/sm/offer.h"

typedef enum sm_where {
    SM_IN_ROW,    /* packed; items have offsets */
    SM_IN_MEMORY, /* in the memory of its owner */
    SM_DELIVERED, /* the owner has written it to the root's buffer */
} sm_where_t;

typedef struct sm_vector_item {
    uintptr_t address;
    size_t segments, bytes;
    int rank; /* of neighbours: for which it is */
} sm_vector_item_t;

typedef struct sm_vector_head {
    _Atomic uint64_t readers; /* ranks that no longer need the data in memory */
    uint64_t call;            /* digest of the owner's call, changed by the step */
    sm_vector_item_t only;
    size_t used; /* bytes of the row that items and packed data use */
    int error;
    sm_where_t where;
    int items; /* of neighbours */
} sm_vector_head_t;

_Static_assert(sizeof(sm_vector_head_t) <= SM_INLINE, "a head fits the line of its flag");

static inline size_t sm_vector_items_bytes(int items)
{
    return items > 1 ? (size_t)items * sizeof(sm_vector_item_t) : 0;
}

static inline sm_vector_head_t *sm_vector_head(const sm_comm_t *self, const sm_slot_t *slot,
                                               int rank)
{
    return (sm_vector_head_t *)(void *)sm_step_line(self, slot, rank);
}

/* Whether the rank's row, which was waited for, is one of this rank's call. */
static inline bool sm_vector_matches(const sm_comm_t *self, const sm_slot_t *slot, int rank)
{
    return sm_vector_head(self, slot, rank)->call == (self->comm->call_digest ^ sm_step_mask(slot));
}

static inline sm_vector_item_t *sm_vector_items(const sm_comm_t *self, const sm_slot_t *slot,
                                                int rank, int items)
{
    if (items == 1)
        return &sm_vector_head(self, slot, rank)->only;
    return (sm_vector_item_t *)(void *)sm_step_row(self, slot, rank);
}

/* The blocks that a rank sends: one for each item. */
typedef struct sm_vector_blocks {
    const ompi_coll_side_t *side;
    int count;
    int own;                /* the index of this rank's own block, which is left out */
    const sm_port_t *ports; /* of neighbours, instead of the side */
} sm_vector_blocks_t;

/* Writes this rank's row of `bytes`: its only block, or the blocks for all other ranks. */
void sm_vector_write(sm_comm_t *self, const sm_slot_t *slot, size_t bytes,
                     const sm_vector_blocks_t *blocks, bool needs_copy, sm_source_t *source);

/* Shortens the receive buffer to `bytes`. MPI_ERR_TRUNCATE: it is too short. */
int sm_vector_fit(ompi_data_t *to, size_t bytes);

/* Reads the data of an item of a rank's row, as one of `readers`. */
int sm_vector_read_item(const sm_comm_t *self, const sm_slot_t *slot, int rank,
                        const sm_vector_item_t *item, ompi_data_t to, int readers);

/* This rank, one of `readers`, no longer needs the data in the memory of `rank`. */
void sm_vector_reader_done(const sm_comm_t *self, const sm_slot_t *slot, int rank, int readers);

/* Waits until `readers` ranks no longer need this rank's data. Returns `error`, or an error of its
 * own. */
int sm_vector_await_readers(sm_comm_t *self, const sm_slot_t *slot, int readers, int error);

#endif
