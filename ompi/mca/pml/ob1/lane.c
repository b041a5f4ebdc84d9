/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Lanes (opal/mca/btl/lane.h): where threads share, the short messages of a communicator go by the
 * lane that its context says, in both directions, and threads that wait for them look there, so
 * that threads with communicators of their own share neither a lock nor a ring.
 *
 * All else goes the main way, under ompi_lock. The messages of one communicator stay in order: one
 * that goes another way than the last follows it (opal_btl_ops_t.follow).
 *
 *               ob1_lane_push: the lane follows the main way, and the message is sent
 *     behind  ------------------------------------------------>  ahead, open
 *        ^                                                          |
 *        +----------------------------------------------------------+
 *               ob1_lane_leave: the main way follows the lane
 *
 * Open means that messages may be sent without ompi_lock: not while one waits for room.
 */
#include <stdlib.h>

#include "ompi/mca/pml/ob1/ob1.h"

enum { WINDOW_SHARE = 16 }; /* of the peer's window, for a lane at a time */

/* -- sending without ompi_lock -------------------------------------------------------------- */

static ob1_lane_t *known_lane(ob1_peer_t *peer, uint32_t context)
{
    int number = ob1_lane_of(context);
    return number >= 0 ? atomic_load_explicit(&peer->lanes[number], memory_order_acquire) : NULL;
}

bool ob1_try_send_unlocked(const ompi_route_t *to, const ompi_data_t *data, ompi_send_mode_t mode)
{
    ob1_peer_t *peer = ob1_met_peer(to->comm, to->rank);
    ob1_match_t match = ob1_match_of(to);
    ob1_lane_t *lane = peer != NULL ? known_lane(peer, match.context) : NULL;
    size_t bytes = ompi_datatype_bytes(data->type, data->count);
    if (lane == NULL || mode == OMPI_SEND_SYNCHRONOUS || !ob1_is_for_lane(lane->btl->ops, bytes))
        return false;
    opal_short_acquire(&lane->lock);
    bool was_sent =
        lane->is_open && lane->credit >= 0 && ob1_write_eager(lane->btl, &match, data, bytes);
    if (opal_likely(was_sent))
        lane->credit -= ob1_cost_of(bytes);
    opal_short_release(&lane->lock);
    if (opal_is_demanded(&ob1_counting) && was_sent) {
        if (opal_is_counted(&ob1_counting))
            ob1_count_sent_unlocked(&((ob1_comm_t *)to->comm->pml)->sent_unlocked, bytes);
        if (opal_profile_is_on)
            ob1_profile_sent(peer, &match, bytes);
    }
    return was_sent;
}

/* -- under ompi_lock ------------------------------------------------------------------------ */

/* NULL: there is no memory for it. */
static ob1_lane_t *make_lane(ob1_peer_t *peer, unsigned number)
{
    if (peer->has_no_lane)
        return NULL;
    opal_btl_peer_t *btl = peer->btl->ops->lane(peer->btl, number);
    ob1_lane_t *lane = btl != NULL ? aligned_alloc(_Alignof(ob1_lane_t), sizeof *lane) : NULL;
    if (lane == NULL) {
        peer->has_no_lane = true;
        return NULL;
    }
    *lane = (ob1_lane_t){.is_behind = true, .credit = -1, .btl = btl};
    atomic_store_explicit(&peer->lanes[number], lane, memory_order_release);
    return lane;
}

static ob1_lane_t *lane_for(ob1_peer_t *peer, uint32_t context)
{
    int number = ob1_lane_of(context);
    if (number < 0)
        return NULL;
    ob1_lane_t *lane = known_lane(peer, context);
    return lane != NULL ? lane : make_lane(peer, (unsigned)number);
}

/* The caller has found that the peer has credit. */
static void take_credit(ob1_peer_t *peer, ob1_lane_t *lane)
{
    int64_t share = (int64_t)(peer->window / WINDOW_SHARE);
    if (lane->credit >= 0)
        return;
    peer->credit -= share;
    lane->credit += share;
}

/* The lane follows the main way. False: there is no room to say so. */
static bool catch_up(const ob1_peer_t *peer, ob1_lane_t *lane)
{
    if (lane->is_behind && !peer->btl->ops->follow(lane->btl, peer->btl))
        return false;
    lane->is_behind = false;
    return true;
}

ob1_pushed_t ob1_lane_push(ob1_peer_t *peer, const ob1_match_t *match, const ompi_data_t *data,
                           size_t bytes)
{
    if (!ob1_is_for_lane(peer->btl->ops, bytes))
        return OB1_NOT_SO;
    ob1_lane_t *lane = lane_for(peer, match->context);
    if (lane == NULL)
        return OB1_NOT_SO;
    opal_short_acquire(&lane->lock);
    take_credit(peer, lane);
    bool was_sent = catch_up(peer, lane) && ob1_write_eager(lane->btl, match, data, bytes);
    if (was_sent) {
        lane->credit -= ob1_cost_of(bytes);
        lane->is_ahead = true;
        lane->is_open = ob1_peer_can_send(peer);
    }
    opal_short_release(&lane->lock);
    return was_sent ? OB1_PUSHED : OB1_NO_ROOM;
}

bool ob1_lane_leave(ob1_peer_t *peer, uint32_t context)
{
    ob1_lane_t *lane = known_lane(peer, context);
    if (lane == NULL)
        return true;
    opal_short_acquire(&lane->lock);
    bool has_left = !lane->is_ahead || peer->btl->ops->follow(peer->btl, lane->btl);
    if (has_left) {
        lane->is_open = lane->is_ahead = false;
        lane->is_behind = true;
    }
    opal_short_release(&lane->lock);
    return has_left;
}

void ob1_lanes_close(ob1_peer_t *peer)
{
    for (unsigned i = 0; i < OPAL_BTL_LANES; i++) {
        ob1_lane_t *lane = atomic_load_explicit(&peer->lanes[i], memory_order_relaxed);
        if (lane == NULL)
            continue;
        opal_short_acquire(&lane->lock);
        lane->is_open = false;
        opal_short_release(&lane->lock);
    }
}

void ob1_lanes_free(ob1_peer_t *peer)
{
    for (unsigned i = 0; i < OPAL_BTL_LANES; i++)
        free(atomic_load_explicit(&peer->lanes[i], memory_order_relaxed));
}
