/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Reading a peer's memory: by loads and stores if it is mapped here, else by process_vm_readv(2)
 * (CMA). Either is one copy, without the peer's help. Whether the system permits the second is
 * found out once for each peer.
 */
#include <errno.h>

#include "opal/mca/btl/sm/foreign.h"
#include "opal/mca/btl/sm/sm.h"
#include "opal/include/clock.h"
#include "opal/util/segments.h"

/* -- memory that is mapped here ------------------------------------------------------------ */

static bool find_view(sm_peer_t *peer)
{
    static const opal_node_mapped_t nothing;
    if (peer->foreign == NULL)
        return opal_node_view(peer->local_rank, &peer->view);
    const sm_region_t *region = peer->foreign->region;
    return opal_slot_view(peer->slot, region != NULL ? &region->mapped : &nothing, &peer->view);
}

/* Asked for until the peer has attached. */
static inline const opal_node_view_t *view_of(sm_peer_t *peer)
{
    if (opal_unlikely(!peer->view_is_known))
        peer->view_is_known = find_view(peer);
    return &peer->view;
}

bool sm_maps_any(sm_peer_t *peer)
{
    return view_of(peer)->bytes > 0;
}

void *sm_map(sm_peer_t *peer, uintptr_t address, size_t bytes)
{
    return opal_view_at(view_of(peer), address, bytes);
}

/* From the peer's address of a segment to ours. */
static uintptr_t shift_of(const sm_peer_t *peer, const struct iovec *segment)
{
    uintptr_t address = (uintptr_t)segment->iov_base;
    return (uintptr_t)opal_view_of(&peer->view, address) - address;
}

/* Whether all of these segments are mapped here, with the same shift, as those of one buffer are.
 */
static bool is_all_mapped(sm_peer_t *peer, const struct iovec *from, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        if (sm_map(peer, (uintptr_t)from[i].iov_base, from[i].iov_len) == NULL ||
            shift_of(peer, &from[i]) != shift_of(peer, from))
            return false;
    }
    return true;
}

ssize_t sm_get_mapped(sm_peer_t *peer, const struct iovec *to, size_t to_count,
                      const struct iovec *from, size_t from_count)
{
    const ring_writer_t *writer = &peer->writer;
    /* The next frame from here often follows soon. Its line comes to this core during the copy: the
     * peer, which polls for the completion alone, does not need it meanwhile. */
    if (writer->ring != NULL)
        opal_prefetch_write(ring_word(writer->ring, writer->size, writer->tail));
    return (ssize_t)opal_segments_copy(to, to_count, from, from_count, shift_of(peer, from));
}

/* -- CMA ----------------------------------------------------------------------------------- */

static bool is_forbidden(int error)
{
    return error == EPERM || error == ENOSYS || error == EACCES;
}

ssize_t sm_get_cma(sm_peer_t *peer, const struct iovec *to, size_t to_count,
                   const struct iovec *from, size_t from_count)
{
    ssize_t total = opal_slot_move(peer->slot, false, to, to_count, from, from_count);
    if (total >= 0)
        return total;
    if (!is_forbidden((int)-total))
        return -OPAL_ERR_SYSTEM;
    peer->get_state = SM_GET_FORBIDDEN;
    return -OPAL_ERR_NOT_SUPPORTED;
}

bool sm_can_cma(sm_peer_t *peer)
{
    if (opal_unlikely(peer->get_state == SM_GET_UNKNOWN)) {
        opal_status_t status = opal_slot_probe_reading(peer->slot);
        if (status == OPAL_ERR_NOT_AVAILABLE)
            return true; /* the peer is still in MPI_Init: not known yet */
        peer->get_state = status == OPAL_SUCCESS ? SM_GET_WORKS : SM_GET_FORBIDDEN;
    }
    return peer->get_state == SM_GET_WORKS;
}

/* -- rendezvous ---------------------------------------------------------------------------- */

void sm_advise(sm_peer_t *peer)
{
    for (unsigned way = 0; peer->incoming != NULL && way < PACE_WAYS; way++)
        atomic_store_explicit(&peer->incoming->advice[way], peer->pace.published[way],
                              memory_order_relaxed);
}

/* is_reading: a process that reads a long message does not help another one. */
static ssize_t get_by(pace_way_t way, sm_peer_t *peer, const struct iovec *to, size_t to_count,
                      const struct iovec *from, size_t from_count, uint32_t number)
{
    atomic_uint *is_reading = &sm_state.own->is_reading;
    bool one_run = to_count == 1 && from_count == 1 && to->iov_len == from->iov_len;
    bool shares = one_run && sm_share_pays(peer, way, to->iov_base, to->iov_len);
    atomic_store_explicit(is_reading, 1, memory_order_relaxed);
    ssize_t total = shares
                        ? sm_share_get(peer, way, to->iov_base, from->iov_base, to->iov_len, number)
                    : way == PACE_DIRECT ? sm_get_mapped(peer, to, to_count, from, from_count)
                                         : sm_get_cma(peer, to, to_count, from, from_count);
    atomic_store_explicit(is_reading, 0, memory_order_relaxed);
    if (total > 0 && !shares)
        sm_complete(&peer->base, number);
    return total;
}

static size_t bytes_of(const struct iovec *segments, size_t count)
{
    size_t bytes = 0;
    for (size_t i = 0; i < count; i++)
        bytes += segments[i].iov_len;
    return bytes;
}

static opal_traffic_t counts[PACE_WAYS];

#define COUNTED(id, way, text)                                                                     \
    {.name = id,                                                                                   \
     .class = OPAL_PVAR_COUNTER,                                                                   \
     .value = &counts[way].messages,                                                               \
     .prose = "How many long messages this process has copied out of " text},                      \
    {                                                                                              \
        .name = id "_bytes", .class = OPAL_PVAR_AGGREGATE, .unit = "bytes",                        \
        .value = &counts[way].bytes,                                                               \
        .prose = "The bytes of long messages that this process has copied out of " text            \
    }

const opal_pvar_row_t sm_pvars[] = {
    COUNTED("get_heap", PACE_DIRECT, "memory that it has mapped, too: the shared heap"),
    COUNTED("get_system", PACE_CMA, "the sender's memory by system calls"),
    {0},
};

ssize_t sm_rndv_get(opal_btl_peer_t *base, const struct iovec *to, size_t to_count,
                    const struct iovec *from, size_t from_count, uint32_t number)
{
    sm_peer_t *peer = (sm_peer_t *)base;
    pace_way_t way = is_all_mapped(peer, from, from_count) ? PACE_DIRECT : PACE_CMA;
    if (way == PACE_CMA && !sm_can_cma(peer))
        return -OPAL_ERR_NOT_SUPPORTED;
    bool is_timed = pace_wants_get(&peer->pace, way, bytes_of(from, from_count));
    uint64_t begin = is_timed ? opal_clock_nsec() : 0;
    ssize_t total = get_by(way, peer, to, to_count, from, from_count, number);
    if (total > 0)
        opal_count_message(&counts[way], (uint64_t)total);
    if (total > 0 && is_timed &&
        pace_add_get(&peer->pace, way, (size_t)total, opal_clock_nsec() - begin))
        sm_advise(peer);
    return total;
}

bool sm_can_rndv_get(opal_btl_peer_t *base)
{
    sm_peer_t *peer = (sm_peer_t *)base;
    return sm_can_cma(peer) || sm_maps_any(peer);
}
