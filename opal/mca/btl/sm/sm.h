/* SPDX-License-Identifier: BSD-3-Clause */
/* The parts of btl/sm: rings (ring.h), reading a peer's memory (get.c), help with that
 * (share.c), which of the two is faster (pace.h), and the component. */
#ifndef BTL_SM_H
#define BTL_SM_H

#include "opal/mca/btl/btl.h"
#include "opal/mca/btl/sm/pace.h"
#include "opal/mca/btl/sm/ring.h"
#include "opal/runtime/node.h"

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
    ring_t *incoming; /* the ring from it to us; NULL: we know of none */
    pace_t pace;      /* of what comes from it */
    unsigned sent_turns[PACE_CLASSES], got_turns[PACE_CLASSES]; /* of pace_get_pays */
    unsigned long_sent, long_got;                               /* frames; some of them are timed */
    uint64_t fill_begin; /* of a frame that is timed, else 0 */
} sm_peer_t;

/* Whether get is allowed, tried where it seems faster, or always used. */
typedef enum sm_cma { SM_CMA_NO, SM_CMA_AUTO, SM_CMA_ALWAYS } sm_cma_t;

/* The operations of btl.h. */
ssize_t sm_get(opal_btl_peer_t *base, const struct iovec *to, size_t to_count,
               const struct iovec *from, size_t from_count);
bool sm_can_get(opal_btl_peer_t *base);

/* A get without the peer's help. */
ssize_t sm_get_alone(sm_peer_t *peer, const struct iovec *to, size_t to_count,
                     const struct iovec *from, size_t from_count);

/* -- share.c -- */

/* The kind of the frame that asks for help. */
enum { SM_SHARE = 255 };

/* Whether two get so many bytes from that peer in less time than one. */
bool sm_share_pays(const sm_peer_t *peer, size_t bytes);

/* A get of one run, which the peer helps with. Returns what sm_get does. */
ssize_t sm_share_get(sm_peer_t *peer, void *to, const void *from, size_t bytes);

/* The peer asks for help. */
void sm_share_help(sm_peer_t *peer, const void *frame);

/* -- sm.c -- */

/* The receiver's measurements have changed its advice: the sender gets to see it. */
void sm_advise(sm_peer_t *peer);

#endif
