/* SPDX-License-Identifier: BSD-3-Clause */
/* The parts of btl/sm: rings (ring.h), reading a peer's memory (get.c) or what of it is mapped here
 * (direct.c), operations on it (put.c), help with that (share.c), which of the two is faster
 * (pace.h), and the component. */
#ifndef BTL_SM_H
#define BTL_SM_H

#include "opal/mca/btl/btl.h"
#include "opal/mca/btl/sm/pace.h"
#include "opal/mca/btl/sm/ring.h"
#include "opal/node/node.h"

/* Whether the system lets us read a peer's memory: asked when it is first needed. */
typedef enum sm_get_state {
    SM_GET_UNKNOWN,
    SM_GET_WORKS,
    SM_GET_FORBIDDEN,
} sm_get_state_t;

typedef struct sm_peer {
    opal_btl_peer_t base;
    ring_writer_t writer; /* no ring before the first frame */
    opal_node_slot_t *slot;
    unsigned local_rank;
    sm_get_state_t get_state;
    atomic_bool has_no_memory; /* there is no memory for a ring to it */
    bool has_left;             /* what it has sent is here */
    bool help_fails;           /* it could not write into our memory */
    bool view_is_known;
    opal_node_view_t view; /* what of its memory is mapped here */
    ring_t *incoming;      /* the ring from it to us; NULL: we know of none */
    unsigned reader;       /* its number and 1; 0: it is not known */
    pace_t pace;           /* of what comes from it */
    unsigned sent_turns[PACE_WAYS][PACE_CLASSES]; /* of pace_get_pays */
    unsigned got_turns[PACE_CLASSES];
    unsigned long_sent, long_got; /* frames; some of them are timed */
    uint64_t fill_begin;          /* of a frame that is timed, else 0 */
} sm_peer_t;

/* Whether get is allowed, tried where it seems faster, or always used. */
typedef enum sm_cma { SM_CMA_NO, SM_CMA_AUTO, SM_CMA_ALWAYS } sm_cma_t;

/* The operations of btl.h. */
ssize_t sm_rndv_get(opal_btl_peer_t *base, const struct iovec *to, size_t to_count,
                    const struct iovec *from, size_t from_count, uint32_t number);
bool sm_can_rndv_get(opal_btl_peer_t *base);

/* put.c */
bool sm_put(opal_btl_peer_t *base, opal_btl_operation_t *operation);
bool sm_get(opal_btl_peer_t *base, opal_btl_operation_t *operation);
bool sm_atomic(opal_btl_peer_t *base, opal_btl_operation_t *operation);

/* Whether the system permits us to read what is not mapped here. */
bool sm_can_cma(sm_peer_t *peer);

/* A get of that, without the peer's help. */
ssize_t sm_get_cma(sm_peer_t *peer, const struct iovec *to, size_t to_count,
                   const struct iovec *from, size_t from_count);

/* -- direct.c -- */

/* Whether some memory of the peer is mapped here. */
bool sm_maps_any(sm_peer_t *peer);

/* Where we see that memory of the peer's; NULL: we do not. */
void *sm_map(sm_peer_t *peer, uintptr_t address, size_t bytes);

/* Whether we see all of that. */
bool sm_maps_all(sm_peer_t *peer, const struct iovec *from, size_t count);

/* A get from what we see. */
ssize_t sm_get_mapped(sm_peer_t *peer, const struct iovec *to, size_t to_count,
                      const struct iovec *from, size_t from_count);

/* -- share.c -- */

/* From how many bytes on the sender helps. */
size_t sm_share_min_bytes(pace_way_t way);

/* Whether two get so many bytes from that peer in less time than one; to there, where the peer has
 * to be able to write. */
bool sm_share_pays(sm_peer_t *peer, pace_way_t way, const void *to, size_t bytes);

/* A get of one run, which the peer helps with. Returns what sm_rndv_get does, and answers as early
 * as can be. */
ssize_t sm_share_get(sm_peer_t *peer, pace_way_t way, void *to, const void *from, size_t bytes,
                     uint32_t number);

/* The peer has asked for help, by that number, with memory that it is exposed. */
void sm_share_help(sm_peer_t *peer, uint32_t generation, const ring_reader_t *reader);

/* -- sm.c -- */

/* The receiver's measurements have changed its advice: the sender gets to see it. */
void sm_advise(sm_peer_t *peer);

/* The peer's line for answers; NULL: there is no memory for it. */
ring_completion_t *sm_completion_line(sm_peer_t *peer);

/* Answers, unless the number is 0. */
void sm_complete(opal_btl_peer_t *base, uint32_t number);

#endif
