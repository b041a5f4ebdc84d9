/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Lanes: ways of short frames between two processes, beside the main way, for threads that hold no
 * lock of the upper layer. A lane has its own memory and its own lock, so threads that use
 * different lanes write no cache line that another one reads.
 *
 *   sending     opal_btl_ops_t.lane: an end to a peer, whose frames the client orders by a lock
 *   receiving   opal_btl_poll_lane by a thread that waits for a frame of that lane; whatever it
 *               cannot take stays there for opal_progress, which delivers the frames of all lanes
 *
 * The lock of a lane is held while its frames are delivered. The holder of the upper layer's lock
 * holds the lane to change what those frames find.
 */
#ifndef OPAL_MCA_BTL_LANE_H
#define OPAL_MCA_BTL_LANE_H

#include "opal/include/compiler.h"
#include "opal/threads/lock.h"

enum { OPAL_BTL_LANES = 8 }; /* a power of 2 */

typedef struct opal_btl_lane {
    _Alignas(64) opal_short_lock_t lock;
    unsigned holds; /* by the holder of the upper layer's lock, who may hold it again */
} opal_btl_lane_t;

OPAL_EXPORT extern opal_btl_lane_t opal_btl_lanes[OPAL_BTL_LANES];

/* Delivers frames of that lane. Returns how many; below 0: the next one needs the upper layer's
 * lock, and opal_progress. */
OPAL_EXPORT int opal_btl_poll_lane(unsigned number);

/* No thread delivers frames of this lane until it is dropped, but the caller, who has the upper
 * layer's lock. */
static inline void opal_btl_lane_hold(unsigned number)
{
    opal_btl_lane_t *lane = &opal_btl_lanes[number];
    if (lane->holds++ == 0)
        opal_short_acquire(&lane->lock);
}

/* False: another thread delivers its frames. */
static inline bool opal_btl_lane_try_hold(unsigned number)
{
    opal_btl_lane_t *lane = &opal_btl_lanes[number];
    if (lane->holds == 0 && !opal_short_try(&lane->lock))
        return false;
    lane->holds++;
    return true;
}

static inline void opal_btl_lane_drop(unsigned number)
{
    opal_btl_lane_t *lane = &opal_btl_lanes[number];
    if (--lane->holds == 0)
        opal_short_release(&lane->lock);
}

#endif
