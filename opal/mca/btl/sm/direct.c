/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Reading a peer's memory that is mapped here too: copied from its layout to ours, by nothing but
 * loads and stores.
 */
#include "opal/mca/btl/sm/sm.h"
#include "opal/util/segments.h"

/* Asked for until the peer has attached. */
static inline const opal_node_view_t *view_of(sm_peer_t *peer)
{
    if (opal_unlikely(!peer->view_is_known))
        peer->view_is_known = opal_node_view(peer->local_rank, &peer->view);
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

bool sm_maps_all(sm_peer_t *peer, const struct iovec *from, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        if (sm_map(peer, (uintptr_t)from[i].iov_base, from[i].iov_len) == NULL)
            return false;
    }
    return true;
}

/* Our next frame is often the answer's neighbour in time. Its line comes to this core while we
 * copy: the peer, who looks for the answer alone, does not want it. */
static void prepare_reply(const sm_peer_t *peer)
{
    if (peer->writer.ring != NULL)
        opal_prefetch_write(ring_word(peer->writer.ring, peer->writer.size, peer->writer.tail));
}

ssize_t sm_get_mapped(sm_peer_t *peer, const struct iovec *to, size_t to_count,
                      const struct iovec *from, size_t from_count)
{
    prepare_reply(peer);
    return (ssize_t)opal_segments_copy(to, to_count, from, from_count, peer->view.shift);
}
