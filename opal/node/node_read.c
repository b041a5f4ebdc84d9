/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The memory of another rank of the node. Memory in the region is read where this process has
 * mapped it, other memory by process_vm_readv(2). That call needs the right to trace the process,
 * which containers and Yama often deny. Whether it works is found out by reading a word whose value
 * the peer has published in its slot; a refusal is no error.
 *
 * Threading: the caller's lock.
 */
#include <errno.h>
#include <sys/prctl.h>
#include <sys/random.h>
#include <sys/uio.h>
#include <unistd.h>

#include "opal/arch/copy.h"
#include "opal/node/node.h"
#include "opal/node/region.h"

static uint64_t probed; /* read by peers */

bool opal_node_view(unsigned local_rank, opal_node_view_t *view)
{
    const opal_node_slot_t *slot = opal_node_slot(local_rank);
    *view = (opal_node_view_t){0};
    if (atomic_load_explicit(&slot->pid, memory_order_acquire) == 0)
        return false;
    if (opal_region.bytes == 0 || slot->region_id != opal_region.id)
        return true;
    uintptr_t base = slot->region_base; /* from a peer, but any value leads into our own mapping */
    *view = (opal_node_view_t){
        .base = base, .bytes = opal_region.bytes, .shift = opal_region.base - base};
    uint64_t offset = slot->statics_offset, bytes = slot->statics_bytes, statics = slot->statics;
    if (offset < opal_region.bytes && bytes <= opal_region.bytes - offset) {
        view->statics = statics;
        view->statics_bytes = bytes;
        view->statics_shift = opal_region.base + offset - statics;
    }
    return true;
}

void opal_node_permit_reading(void)
{
    opal_node_slot_t *slot = opal_node_own_slot();
#ifdef PR_SET_PTRACER
    /* Yama permits ancestors, and the process named here with its descendants. Peers descend from
     * the launcher. */
    int launcher = opal_node_launcher();
    prctl(PR_SET_PTRACER, launcher != 0 ? (unsigned long)launcher : PR_SET_PTRACER_ANY, 0, 0, 0);
#endif
    if (getrandom(&probed, sizeof probed, GRND_NONBLOCK) != (ssize_t)sizeof probed)
        probed = (uint64_t)getpid() << 32 | slot->rank;
    slot->probe_value = probed;
    atomic_store_explicit(&slot->probe_address, (uintptr_t)&probed, memory_order_release);
}

opal_status_t opal_node_probe_reading(unsigned local_rank)
{
    const opal_node_slot_t *slot = opal_node_slot(local_rank);
    uint64_t found = 0;
    uint64_t address = atomic_load_explicit(&slot->probe_address, memory_order_acquire);
    if (address == 0)
        return OPAL_ERR_NOT_AVAILABLE;
    if (opal_node_read(local_rank, &found, (uintptr_t)address, sizeof found) != OPAL_SUCCESS ||
        found != slot->probe_value)
        return OPAL_ERR_NOT_SUPPORTED;
    return OPAL_SUCCESS;
}

opal_status_t opal_node_read(unsigned local_rank, void *to, uintptr_t from, size_t bytes)
{
    opal_node_view_t view;
    opal_node_view(local_rank, &view);
    const void *seen = opal_view_at(&view, from, bytes);
    if (seen != NULL) {
        opal_copy(to, seen, bytes);
        return OPAL_SUCCESS;
    }
    pid_t pid = atomic_load_explicit(&opal_node_slot(local_rank)->pid, memory_order_acquire);
    struct iovec local = {to, bytes}, remote = {(void *)from, bytes};
    while (local.iov_len > 0) {
        ssize_t got = pid > 0 ? process_vm_readv(pid, &local, 1, &remote, 1, 0) : 0;
        if (got < 0 && errno == EINTR)
            continue;
        if (got <= 0)
            return OPAL_ERR_SYSTEM;
        local.iov_base = (char *)local.iov_base + got;
        remote.iov_base = (char *)remote.iov_base + got;
        local.iov_len = remote.iov_len -= (size_t)got;
    }
    return OPAL_SUCCESS;
}
