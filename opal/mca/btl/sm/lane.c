/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The lanes of btl/sm: a ring for each lane and ordered pair of ranks, made when threads first
 * share a communicator of that lane. Its memory is taken as a whole, so that no frame fails for
 * want of it.
 *
 * Frames in two rings of one pair have no order. Where the client needs one, it has an SM_FOLLOW
 * written, which names a position in the other ring: the frames behind the SM_FOLLOW wait until the
 * reader has come so far there. Each names what was sent before it, so two never wait for each
 * other.
 */
#include <stdlib.h>
#include <string.h>

#include "opal/mca/btl/base/base.h"
#include "opal/mca/btl/sm/sm.h"
#include "opal/util/log.h"

/* -- sending ------------------------------------------------------------------------------ */

opal_btl_peer_t *sm_lane(opal_btl_peer_t *base, unsigned number)
{
    sm_peer_t *peer = (sm_peer_t *)base;
    if (peer->lanes[number] != NULL)
        return &peer->lanes[number]->base;
    if (peer->foreign != NULL) /* its threads share the one ring */
        return NULL;
    sm_peer_t *lane = aligned_alloc(_Alignof(sm_peer_t), sizeof *lane);
    if (lane == NULL)
        return NULL;
    *lane = (sm_peer_t){.base = {.ops = base->ops, .process = base->process},
                        .slot = peer->slot,
                        .local_rank = peer->local_rank,
                        .way = number + 1};
    if (!sm_make_ring(lane, sm_state.lane_bytes) ||
        ring_populate_all(&lane->writer) != OPAL_SUCCESS) {
        free(lane);
        return NULL;
    }
    peer->lanes[number] = lane;
    return &lane->base;
}

bool sm_follow(opal_btl_peer_t *behind, opal_btl_peer_t *before)
{
    const sm_peer_t *other = (const sm_peer_t *)before;
    sm_follow_t follow = {.position = other->writer.tail, .way = other->way};
    return follow.position == 0 ||
           opal_btl_send_frame(behind, SM_FOLLOW, &follow, sizeof follow, NULL, 0);
}

/* -- receiving ---------------------------------------------------------------------------- */

ring_reader_t *sm_find_reader(const sm_way_t *way, unsigned local_rank)
{
    for (unsigned i = 0; i < way->count; i++) {
        if (way->readers[i].local_rank == local_rank)
            return &way->readers[i];
    }
    return NULL;
}

/* A position that the other ring cannot have reached comes from a damaged writer. */
bool sm_may_go_on(sm_t *self, ring_reader_t *reader, const void *bytes, size_t length)
{
    sm_follow_t follow = {.way = SM_WAYS};
    if (length == sizeof follow)
        memcpy(&follow, bytes, sizeof follow);
    if (follow.way >= SM_WAYS) {
        reader->is_damaged = true;
        return false;
    }
    if (follow.way > 0)
        opal_btl_lane_hold(follow.way - 1);
    const ring_reader_t *other = sm_find_reader(&self->ways[follow.way], reader->local_rank);
    bool has_come = other != NULL && other->head >= follow.position;
    if (other != NULL && follow.position > other->head + other->size)
        reader->is_damaged = true;
    if (follow.way > 0)
        opal_btl_lane_drop(follow.way - 1);
    return has_come;
}

/* Returns how many frames were taken; below 0: none, because the next one is not for this. */
static int take_frames(ring_reader_t *reader, unsigned lane)
{
    unsigned kind;
    size_t length;
    int count = 0;
    const void *bytes;
    while (!reader->is_damaged && (bytes = ring_peek(reader, &kind, &length)) != NULL) {
        const opal_btl_client_t *client = opal_btl_client_of(kind);
        if (client->take == NULL || !client->take(lane, kind, bytes, length))
            return count > 0 ? count : -1;
        count++;
        if (ring_pop(reader, length))
            opal_doorbell_notify(reader->doorbell);
    }
    return reader->is_damaged ? -1 : count;
}

/* While another thread has the lane nothing is to be done: it delivers the frames. */
int sm_poll_lane(void *state, unsigned number)
{
    sm_t *self = state;
    sm_way_t *way = &self->ways[1 + number];
    opal_short_lock_t *lock = &opal_btl_lanes[number].lock;
    int count = 0;
    if (!opal_short_try(lock))
        return 0;
    for (unsigned i = 0; i < way->count; i++) {
        int taken = take_frames(&way->readers[i], number);
        if (taken < 0 && count == 0)
            count = -1;
        else if (taken > 0)
            count = (count > 0 ? count : 0) + taken;
    }
    opal_short_release(lock);
    return count;
}
