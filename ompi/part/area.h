/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Areas: how a sender and a receiver of one node tell each other about partitions, without
 * messages. An area lies in the node's segment. The sender makes it and names it in its offer.
 *
 *   mode, buffer, started, emptied   written by the receiver
 *   flags                            written by the sender, one for each of its partitions
 *   room                             for the data, if the receiver cannot read the sender's buffer
 *
 * Both sides number their rounds from 1 on. In a round, MPI_Pready sets the flag of its partition
 * to
 *
 *   OMPI_PART_DELIVERED   if the receiver has started this round and its buffer is mapped in the
 *                         sender, which has copied the data there
 *   OMPI_PART_READY       else: the data is in the sender's buffer or the room. The receiver copies
 *                         it when it starts, tests or waits. When it has all data of the round, it
 *                         sets `emptied`
 *
 * A send is complete when all flags are set and, if one is READY, the receiver has emptied the
 * round. So the sender is at most one round ahead of the receiver, and does not write a buffer
 * whose receive is not started. Values of different rounds differ, so that flags are not cleared.
 * Only the sender writes their lines: the next MPI_Pready does not wait for them.
 *
 * Each side notifies the other one's doorbell, and finds what the other one has written in a poll
 * function, which exists while one of its requests is active.
 *
 * Threading: the caller holds ompi_lock, except for what is atomic.
 */
#ifndef OMPI_PART_AREA_H
#define OMPI_PART_AREA_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "opal/node/node.h"
#include "opal/node/shared.h"
#include "opal/process/process.h"
#include "opal/util/list.h"
#include "ompi/mca/pml/pml.h"

typedef enum ompi_part_mode {
    OMPI_PART_UNDECIDED, /* the receiver has not got the offer yet */
    OMPI_PART_DIRECT,    /* partitions go by the flags */
    OMPI_PART_MESSAGES,  /* partitions go by messages of the pml; the receiver has left the area */
} ompi_part_mode_t;

typedef struct ompi_part_area {
    opal_shared_t shared; /* its user is the receiver */

    /* Written by the receiver, `mode` after `buffer`. */
    _Alignas(64) atomic_uint mode; /* ompi_part_mode_t */
    atomic_uint started, emptied;  /* rounds */
    uintptr_t buffer;              /* its address in the receiver; 0: not in the region */

    _Alignas(64) atomic_uint flags[];
} ompi_part_area_t;

enum { OMPI_PART_READY, OMPI_PART_DELIVERED };

/* The value of a flag in a round. */
static inline unsigned ompi_part_flag(unsigned round, unsigned state)
{
    return 2 * round + state;
}

/* Whether a value is not before another one. Values count modulo 2^32. */
static inline bool ompi_part_is_reached(unsigned value, unsigned wanted)
{
    return (int)(value - wanted) >= 0;
}

static inline bool ompi_part_flag_has(const atomic_uint *flag, unsigned wanted)
{
    return ompi_part_is_reached(atomic_load_explicit(flag, memory_order_acquire), wanted);
}

static inline void ompi_part_flag_set(atomic_uint *flag, unsigned value)
{
    atomic_store_explicit(flag, value, memory_order_release);
}

static inline ompi_part_mode_t ompi_part_area_mode(const ompi_part_area_t *area)
{
    return (ompi_part_mode_t)atomic_load_explicit(&area->mode, memory_order_acquire);
}

/* The sender's: an area with flags of round 0, and `room` bytes for data. NULL: the node's segment
 * has no room for it. release: the area is used again when the receiver has left it, too. */
ompi_part_area_t *ompi_part_area_make(size_t partitions, size_t room);
void ompi_part_area_release(ompi_part_area_t *area);
char *ompi_part_area_room(ompi_part_area_t *area, size_t partitions);

/* The receiver's. */
void ompi_part_area_leave(ompi_part_area_t *area);

/* -- both sides ---------------------------------------------------------------------------- */

/* The other side, as this one sees it. */
typedef struct ompi_part_peer {
    opal_process_t *process;
    int local_rank; /* -1: it is not on this node, or is this process */
} ompi_part_peer_t;

ompi_part_peer_t ompi_part_peer(const ompi_route_t *route);

static inline opal_doorbell_t *ompi_part_peer_doorbell(const ompi_part_peer_t *peer)
{
    return &opal_node_slot((unsigned)peer->local_rank)->doorbell;
}

/* It has failed, or left through MPI_Finalize. What it has written before that can be read. */
bool ompi_part_peer_is_unreachable(const ompi_part_peer_t *peer);

/* The peer's bytes in this process; NULL: they are not mapped here. */
char *ompi_part_peer_map(const ompi_part_peer_t *peer, uintptr_t start, size_t bytes);

/* An active request that is polled. */
typedef struct ompi_part_active {
    opal_list_node_t node;
    int (*poll)(struct ompi_part_active *active); /* returns how many things it did */
} ompi_part_active_t;

/* Returns an MPI error code. */
int ompi_part_activate(ompi_part_active_t *active);
void ompi_part_deactivate(ompi_part_active_t *active);

/* The message that MPI_Psend_init sends to MPI_Precv_init. */
typedef struct ompi_part_offer {
    uint64_t partitions, bytes; /* of one partition */
    uint64_t tag;               /* of the first: its number in the share */
    uint64_t area;              /* its offset in the node's segment; 0: there is none */
    uint64_t buffer;            /* its address in the sender; 0: the data is in the room */
} ompi_part_offer_t;

/* Of the message that partition i of a sender may be. */
ompi_route_t ompi_part_piece_route(const ompi_route_t *route, uint64_t first, size_t i);

static inline void *ompi_part_element(const ompi_data_t *data, size_t element)
{
    intptr_t offset = (intptr_t)element * (intptr_t)ompi_datatype_extent(data->type);
    return (void *)((uintptr_t)data->buffer + (uintptr_t)offset);
}

/* Parts of functions of part.h that receive.c has. */
size_t ompi_part_receive_count(const ompi_request_t *request);

#endif
