/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The parts of btl/sm, from the top:
 *
 *   sm.c     the component: peers, start and stop
 *   receive.c  progress, completion slots, peers that end
 *   put.c    one-sided operations on a peer's memory
 *   get.c    reading a peer's memory, mapped or by CMA
 *   share.c  a long get with the help of the peer
 *   send.c   the ring to a peer, frames, completion of the peer's slots
 *   lane.c   lanes: the rings that threads use without the upper layer's lock
 *   foreign.h  peers of other jobs
 *   ring.h   a ring
 *   pace.h   which way of long data is faster, as measured
 */
#ifndef BTL_SM_H
#define BTL_SM_H

#include "opal/mca/base/pvar.h"
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

/* Also a lane's end, of which only the first block is used. */
typedef struct sm_peer {
    _Alignas(64) opal_btl_peer_t base;
    ring_writer_t writer; /* no ring before the first frame */
    opal_node_slot_t *slot;
    unsigned local_rank; /* of a process of another job: a number behind those of this node */
    unsigned way;        /* as in ring_t */
    struct sm_foreign *foreign; /* foreign.h; NULL: it is of the own job */

    struct sm_peer *lanes[OPAL_BTL_LANES]; /* NULL: not used yet */
    ring_t *prepared;                      /* for the first frame; NULL: none */
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
    unsigned early_sent, early_got; /* gets because the ring had no memory yet */
    unsigned long_sent, long_got;   /* frames; some of them are timed */
    uint64_t fill_begin;            /* of a frame that is timed, else 0 */
} sm_peer_t;

/* The rings of one way that lead here. Those of a lane are read while the lane is held, and added
 * so, too. */
typedef struct sm_way {
    _Alignas(64) ring_reader_t *readers;
    unsigned count, room;
    unsigned next; /* whose turn it is */
} sm_way_t;

enum { SM_WAYS = 1 + OPAL_BTL_LANES };

/* The transport's own frame, which says: read on when the ring of that way from the same process
 * has been read up to there. */
#define SM_FOLLOW (OPAL_BTL_TRANSPORTS * OPAL_BTL_KINDS + OPAL_BTL_KINDS - 1)

typedef struct sm_follow {
    uint64_t position;
    uint32_t way;
} sm_follow_t;

/* The transport. */
typedef struct sm {
    sm_way_t ways[SM_WAYS];
    opal_node_slot_t *own;
    size_t ring_bytes, lane_bytes;  /* of the rings of a lane; 0: there are no lanes */
    sm_peer_t **peers;              /* by local rank; NULL: not connected */
    unsigned peer_count;            /* with those of other jobs */
    unsigned lanes;                 /* a bit for each that has a ring */
    unsigned deaths;                /* on this node, as far as they have been looked at */
    atomic_bool any_without_memory; /* peers, which may not be reported yet */
    unsigned left_count;            /* peers that have left, and are not reported yet */
    bool *reported;                 /* by local rank */
} sm_t;

extern sm_t sm_state;
extern bool sm_between_jobs; /* parameters */
extern unsigned sm_connect_sec;

/* Whether get is allowed, tried where it seems faster, or always used. */
typedef enum sm_cma { SM_CMA_NO, SM_CMA_AUTO, SM_CMA_ALWAYS } sm_cma_t;
extern int sm_use_cma; /* sm_cma_t */

/* -- sm.c, for foreign.c -- */

/* A new peer, which is not connected; for a process of another job. NULL: no memory. */
sm_peer_t *sm_new_peer(sm_t *self, opal_process_t *process, opal_node_slot_t *slot);

/* Nothing is reported of the peer any more. Takes it out of all lists, and frees it. */
void sm_retire(sm_peer_t *peer);
void sm_remove_peer(sm_peer_t *peer);

/* The slot in which peers find this process; NULL: they do not. */
void sm_set_slot(sm_t *self, opal_node_slot_t *own);

/* -- receive.c -- */

/* Of opal_btl_ops_t. */
int sm_progress(void *state);
uint32_t sm_arm(opal_btl_peer_t *base, unsigned kind, uint64_t what, const struct iovec *memory,
                size_t awaited_bytes);
void sm_disarm(opal_btl_peer_t *base, uint32_t number);

/* Adds a ring that is read, of that way. False: no memory. */
bool sm_append_reader(unsigned way, const ring_reader_t *reader);

/* The reader of the ring from that peer; NULL: nothing has come yet. */
ring_reader_t *sm_reader_of(sm_t *self, sm_peer_t *peer);

/* This process stops reading. */
void sm_return_rings(sm_t *self);

/* The peer has failed; it has left, and is reported when what it has sent was delivered. False:
 * that was known. */
void sm_report_failure(const sm_peer_t *peer, opal_status_t why);
bool sm_note_left(sm_peer_t *peer);

/* Whether the peer has ended without a word. */
bool sm_peer_is_dead(const sm_peer_t *peer);

/* -- get.c -- */

extern const opal_pvar_row_t sm_pvars[];

/* opal_btl_ops_t.rndv_get and .can_rndv_get. */
ssize_t sm_rndv_get(opal_btl_peer_t *base, const struct iovec *to, size_t to_count,
                    const struct iovec *from, size_t from_count, uint32_t number);
bool sm_can_rndv_get(opal_btl_peer_t *base);

/* Whether some memory of the peer is mapped here. */
bool sm_maps_any(sm_peer_t *peer);

/* Where that memory of the peer is mapped here; NULL: it is not. */
void *sm_map(sm_peer_t *peer, uintptr_t address, size_t bytes);

/* Copies from the peer's memory, all of which is mapped here. */
ssize_t sm_get_mapped(sm_peer_t *peer, const struct iovec *to, size_t to_count,
                      const struct iovec *from, size_t from_count);

/* Whether the system permits CMA; the same by CMA. */
bool sm_can_cma(sm_peer_t *peer);
ssize_t sm_get_cma(sm_peer_t *peer, const struct iovec *to, size_t to_count,
                   const struct iovec *from, size_t from_count);

/* The receiver's measurements have changed its advice: writes it where the sender reads it. */
void sm_advise(sm_peer_t *peer);

/* -- put.c -- */

bool sm_put(opal_btl_peer_t *base, opal_btl_operation_t *operation);
bool sm_get(opal_btl_peer_t *base, opal_btl_operation_t *operation);
bool sm_atomic(opal_btl_peer_t *base, opal_btl_operation_t *operation);

/* -- share.c -- */

/* The shortest get that the sender helps with. */
size_t sm_share_min_bytes(pace_way_t way);

/* Whether two processes copy so many bytes from that peer to `to` in less time than one. */
bool sm_share_pays(sm_peer_t *peer, pace_way_t way, const void *to, size_t bytes);

/* A get of one run with the peer's help. Returns what sm_rndv_get does. Completes the slot as early
 * as possible. */
ssize_t sm_share_get(sm_peer_t *peer, pace_way_t way, void *to, const void *from, size_t bytes,
                     uint32_t number);

/* Called from progress: the peer asks for help, by that number, with memory that is exposed to
 * it. */
void sm_share_help(sm_peer_t *peer, uint32_t generation, const ring_reader_t *reader);

/* -- send.c -- */

void *sm_reserve(opal_btl_peer_t *base, size_t length);
void sm_commit(opal_btl_peer_t *base, void *room, unsigned kind, size_t length);
bool sm_send_short(opal_btl_peer_t *base, unsigned kind, opal_btl_head_t head, const void *bytes,
                   size_t length);

/* The line of the ring to this peer on which its slot is completed, and help asked for. Creates the
 * ring if need be; NULL: there is no memory for it. */
ring_completion_t *sm_completion_line(sm_peer_t *peer);

/* Completes the peer's slot, unless the number is 0. */
void sm_complete(opal_btl_peer_t *base, uint32_t number);

/* opal_btl_ops_t.prepare; what it has taken is not used any more. */
void sm_prepare(opal_btl_peer_t *base);
void sm_drop_prepared(sm_peer_t *peer);

/* Makes the ring of this peer's way, of that size, and tells the peer. False: there is no room. */
bool sm_make_ring(sm_peer_t *peer, size_t size);

/* A ring by its index in the node's segment; NULL: none can be there. */
ring_t *sm_ring_at(uint32_t index);

/* Bytes from the beginning of a ring to the end of the segment. */
size_t sm_ring_room(const ring_t *ring);

/* -- lane.c -- */

opal_btl_peer_t *sm_lane(opal_btl_peer_t *base, unsigned number);
bool sm_follow(opal_btl_peer_t *behind, opal_btl_peer_t *before);
int sm_poll_lane(void *state, unsigned number);

/* The reader of that way's ring from a rank; NULL: the ring has not been found yet. */
ring_reader_t *sm_find_reader(const sm_way_t *way, unsigned local_rank);

/* Whether the frames behind an SM_FOLLOW may be read now. Under the upper layer's lock. */
bool sm_may_go_on(sm_t *self, ring_reader_t *reader, const void *bytes, size_t length);

/* Pushes a ring into an inbox. False: the inbox is closed. */
bool sm_push_ring(opal_node_slot_t *slot, ring_t *ring);

#endif
