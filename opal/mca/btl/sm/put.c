/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * One-sided operations on a peer's memory: memory that is mapped here by loads, stores and the
 * CPU's atomics; other memory by process_vm_writev(2) and process_vm_readv(2), where the system
 * permits it; the rest, and atomics on memory that is not mapped, by frames.
 *
 * So all atomics on one location go the same way: whether it is mapped is the same for all peers.
 */
#include "opal/mca/btl/base/remote.h"
#include "opal/mca/btl/sm/sm.h"

/* By the system call. False: it is not permitted, or not all of that memory is there. */
static bool move(bool write, sm_peer_t *peer, const opal_btl_operation_t *operation)
{
    struct iovec local = {operation->local, operation->bytes};
    struct iovec remote = {(void *)(uintptr_t)operation->address, operation->bytes};
    return opal_slot_move(peer->slot, write, &local, 1, &remote, 1) == (ssize_t)operation->bytes;
}

bool sm_put(opal_btl_peer_t *base, opal_btl_operation_t *operation)
{
    sm_peer_t *peer = (sm_peer_t *)base;
    if (opal_unlikely(base->is_unreachable))
        return opal_btl_put_by_frames(base, operation); /* which ends the operation */
    void *mapped = sm_map(peer, operation->address, operation->bytes);
    operation->status = OPAL_SUCCESS;
    if (mapped != NULL)
        opal_btl_put_here(operation, mapped);
    else if (!sm_can_cma(peer) || !move(true, peer, operation))
        return opal_btl_put_by_frames(base, operation);
    return true;
}

bool sm_get(opal_btl_peer_t *base, opal_btl_operation_t *operation)
{
    sm_peer_t *peer = (sm_peer_t *)base;
    if (opal_unlikely(base->is_unreachable))
        return opal_btl_get_by_frames(base, operation);
    const void *mapped = sm_map(peer, operation->address, operation->bytes);
    operation->status = OPAL_SUCCESS;
    if (mapped != NULL)
        opal_btl_get_here(operation, mapped);
    else if (!sm_can_cma(peer) || !move(false, peer, operation))
        return opal_btl_get_by_frames(base, operation);
    return true;
}

bool sm_atomic(opal_btl_peer_t *base, opal_btl_operation_t *operation)
{
    void *mapped = sm_map((sm_peer_t *)base, operation->address, operation->bytes);
    if (mapped == NULL || base->is_unreachable)
        return opal_btl_atomic_by_frames(base, operation);
    opal_btl_atomic_here(operation, mapped);
    return true;
}
