/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The sending end of btl/sm: the ring to a peer, frames, and the completion of the peer's slots.
 *
 * The writer carves a ring when it sends its first frame to the reader, and pushes the ring into
 * the inbox of the reader's slot; the reader empties the inbox when it next polls.
 *
 * A frame costs no lock, no system call and no fence: reserve and commit write one cache line for
 * up to 56 bytes and read the reader's doorbell, a line that changes only when the reader sleeps.
 *
 * Threading: the end of a lane is used without the upper layer's lock. Its frames are not measured,
 * and its ring is there, with all of its memory: they touch nothing but the writer's end.
 */
#include <string.h>

#include "opal/arch/copy.h"
#include "opal/mca/btl/base/base.h"
#include "opal/mca/btl/sm/foreign.h"
#include "opal/mca/btl/sm/sm.h"
#include "opal/progress/wait.h"
#include "opal/include/clock.h"
#include "opal/util/log.h"

_Static_assert(OPAL_BTL_HEAD + OPAL_BTL_SHORT < PACE_LONG_FRAME, "short frames are not timed");

sm_t sm_state;

/* -- rings --------------------------------------------------------------------------------- */

ring_t *sm_ring_at(uint32_t index)
{
    uint64_t offset = (uint64_t)index * RING_LINE;
    return offset + sizeof(ring_t) <= opal_node_bytes() ? opal_node_at(offset) : NULL;
}

static uint32_t index_of(const ring_t *ring)
{
    return (uint32_t)(opal_node_offset(ring) / RING_LINE);
}

bool sm_push_ring(opal_node_slot_t *slot, ring_t *ring)
{
    uint32_t index = index_of(ring);
    uint32_t head = atomic_load_explicit(&slot->inbox, memory_order_relaxed);
    do {
        if (head == OPAL_NODE_INBOX_CLOSED)
            return false;
        ring->next = head;
    } while (!atomic_compare_exchange_weak_explicit(&slot->inbox, &head, index,
                                                    memory_order_release, memory_order_relaxed));
    return true;
}

size_t sm_ring_room(const ring_t *ring)
{
    return opal_node_bytes() - opal_node_offset(ring);
}

/* A ring of an earlier start. NULL: none, or the reader still reads it. A list that another process
 * has damaged costs a ring, no more. */
static ring_t *reuse_ring(const sm_peer_t *peer, size_t size)
{
    uint32_t at = sm_state.own->rings;
    for (unsigned left = 2 * SM_WAYS * sm_state.peer_count; at != 0 && left > 0; left--) {
        ring_t *ring = sm_ring_at(at);
        if (ring == NULL || sm_ring_room(ring) < ring_segment_bytes(size))
            return NULL;
        at = ring->older;
        if (ring->reader != peer->local_rank || ring->way != peer->way || ring->size != size ||
            atomic_load_explicit(&ring->is_dropped, memory_order_acquire) == 0)
            continue;
        memset(ring, 0, sizeof *ring + sizeof(uint64_t)); /* and the word of the first frame */
        ring->older = at;
        return ring;
    }
    return NULL;
}

/* NULL: there is no room, or no memory, which was logged. */
static ring_t *carve_ring(size_t size, bool is_spare)
{
    size_t bytes = ring_segment_bytes(size);
    uint64_t offset = is_spare ? opal_node_carve_spare(bytes) : opal_node_carve(bytes);
    ring_t *ring = offset != 0 ? opal_node_at(offset) : NULL;
    if (ring == NULL || opal_node_populate(ring, sizeof *ring + sizeof(uint64_t)) != OPAL_SUCCESS)
        return NULL;
    ring->older = sm_state.own->rings;
    sm_state.own->rings = index_of(ring);
    return ring;
}

/* A ring to the peer, which the peer does not know yet. is_spare: it can be done without. */
static ring_t *find_ring(const sm_peer_t *peer, size_t size, bool is_spare)
{
    ring_t *ring = reuse_ring(peer, size);
    if (ring == NULL)
        ring = carve_ring(size, is_spare);
    if (ring == NULL)
        return NULL;
    ring->size = size;
    ring->local_rank = (uint32_t)(sm_state.own - opal_node_slot(0));
    ring->reader = peer->local_rank;
    ring->way = peer->way;
    return ring;
}

void sm_prepare(opal_btl_peer_t *base)
{
    sm_peer_t *peer = (sm_peer_t *)base;
    if (peer->writer.ring == NULL && peer->prepared == NULL && peer->foreign == NULL)
        peer->prepared = find_ring(peer, sm_state.ring_bytes, true);
}

void sm_drop_prepared(sm_peer_t *peer)
{
    if (peer->prepared != NULL)
        atomic_store_explicit(&peer->prepared->is_dropped, 1, memory_order_relaxed);
    peer->prepared = NULL;
}

bool sm_make_ring(sm_peer_t *peer, size_t size)
{
    if (peer->foreign != NULL)
        return sm_foreign_make_ring(peer);
    ring_t *ring = peer->prepared != NULL ? peer->prepared : find_ring(peer, size, peer->way > 0);
    peer->prepared = NULL;
    if (ring == NULL)
        return false;
    ring_writer_init(&peer->writer, ring, size);
    if (!sm_push_ring(peer->slot, ring))
        sm_push_ring(sm_state.own, ring);
    return true;
}

static void log_no_room(const sm_peer_t *peer)
{
    opal_log_error("the shared memory of this node (%zu MiB) has no room for a ring of %zu bytes "
                   "to rank %u; a larger node_segment_size or a smaller btl_sm_ring_bytes helps",
                   opal_node_bytes() >> 20, sm_state.ring_bytes, peer->base.process->rank);
}

/* There is no memory for a ring to the peer, or for its pages. Progress reports it. */
static void fail_for_memory(sm_peer_t *peer)
{
    if (atomic_exchange(&peer->has_no_memory, true))
        return;
    atomic_store(&sm_state.any_without_memory, true);
    opal_wait_notify_self();
}

/* Whether there is a ring to this peer; creates it if need be. */
static bool has_ring(sm_peer_t *peer)
{
    if (opal_likely(peer->writer.ring != NULL))
        return true;
    if (peer->base.is_unreachable && peer->foreign != NULL)
        return false;
    if (!atomic_load(&peer->has_no_memory) && !sm_make_ring(peer, sm_state.ring_bytes)) {
        if (peer->foreign == NULL)
            log_no_room(peer);
        fail_for_memory(peer);
    }
    return peer->writer.ring != NULL;
}

ring_completion_t *sm_completion_line(sm_peer_t *peer)
{
    return has_ring(peer) ? &peer->writer.ring->completion : NULL;
}

void sm_complete(opal_btl_peer_t *base, uint32_t number)
{
    sm_peer_t *peer = (sm_peer_t *)base;
    ring_completion_t *line = number != 0 ? sm_completion_line(peer) : NULL;
    if (line == NULL)
        return;
    atomic_store_explicit(&line->number, number, memory_order_release);
    opal_doorbell_notify(&peer->slot->doorbell);
}

/* -- frames -------------------------------------------------------------------------------- */

void *sm_reserve(opal_btl_peer_t *base, size_t length)
{
    sm_peer_t *peer = (sm_peer_t *)base;
    opal_status_t status = OPAL_ERR_BUSY;
    if (opal_unlikely(!has_ring(peer)))
        return NULL;
    void *room = ring_reserve(&peer->writer, length, &status);
    if (opal_unlikely(room == NULL && status != OPAL_ERR_BUSY))
        fail_for_memory(peer);
    if (opal_unlikely(length >= PACE_LONG_FRAME) && room != NULL &&
        peer->long_sent++ % PACE_FRAMES_PER_SAMPLE == 0)
        peer->fill_begin = opal_clock_nsec();
    return room;
}

void sm_commit(opal_btl_peer_t *base, void *room OPAL_UNUSED, unsigned kind, size_t length)
{
    sm_peer_t *peer = (sm_peer_t *)base;
    if (opal_unlikely(peer->fill_begin != 0)) {
        uint32_t nsec = pace_add_filled(&peer->pace, length, opal_clock_nsec() - peer->fill_begin);
        atomic_store_explicit(&peer->writer.ring->fill_nsec, nsec, memory_order_relaxed);
        peer->fill_begin = 0;
    }
    ring_commit(&peer->writer, kind, length);
    opal_doorbell_notify(&peer->slot->doorbell);
}

/* Into room that there is in this lap of the ring: the word behind the frame is there, too. */
OPAL_INLINE bool put_short(sm_peer_t *peer, unsigned kind, opal_btl_head_t head, const void *bytes,
                           size_t length)
{
    uint64_t frame_bytes = ring_frame_bytes(OPAL_BTL_HEAD + length);
    _Atomic uint64_t *word = ring_next(&peer->writer);
    unsigned char *room = (unsigned char *)(word + 1);
    memcpy(room, &head.first, sizeof head.first);
    memcpy(room + sizeof head.first, &head.last, sizeof head.last);
    opal_copy(room + OPAL_BTL_HEAD, bytes, length);
    ring_publish(word, word + frame_bytes / sizeof *word, kind, OPAL_BTL_HEAD + length);
    peer->writer.tail += frame_bytes;
    opal_doorbell_notify(&peer->slot->doorbell);
    return true;
}

OPAL_NOINLINE static bool put_longer(sm_peer_t *peer, unsigned kind, opal_btl_head_t head,
                                     const void *bytes, size_t length)
{
    return put_short(peer, kind, head, bytes, length);
}

bool sm_send_short(opal_btl_peer_t *base, unsigned kind, opal_btl_head_t head, const void *bytes,
                   size_t length)
{
    sm_peer_t *peer = (sm_peer_t *)base;
    if (opal_unlikely(!ring_has_room(&peer->writer, ring_frame_bytes(OPAL_BTL_HEAD + length))))
        return opal_btl_send_short(base, kind, head, bytes, length);
    if (length > OPAL_COPY_STEP) /* whose copies need a frame of the stack */
        return put_longer(peer, kind, head, bytes, length);
    return put_short(peer, kind, head, bytes, length);
}
