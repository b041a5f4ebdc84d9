/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The memory of another rank of the node. Memory in the region is read where this process has
 * mapped it, other memory by process_vm_readv(2) and process_vm_writev(2). These need the right to
 * trace the process, which containers and Yama often deny. Whether it works is found out by reading
 * a word whose value the peer has published in its slot; a refusal is no error.
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

bool opal_slot_view(const opal_node_slot_t *slot, const opal_node_mapped_t *region,
                    opal_node_view_t *view)
{
    *view = (opal_node_view_t){0};
    if (atomic_load_explicit(&slot->pid, memory_order_acquire) == 0)
        return false;
    if (region->bytes == 0 || slot->region_id != region->id)
        return true;
    uintptr_t base = slot->region_base; /* from a peer, but any value leads into our own mapping */
    *view = (opal_node_view_t){.base = base, .bytes = region->bytes, .shift = region->base - base};
    view->aliases = &slot->aliases;
    uint64_t offset = slot->statics_offset, bytes = slot->statics_bytes, statics = slot->statics;
    if (offset < region->bytes && bytes <= region->bytes - offset) {
        view->statics = statics;
        view->statics_bytes = bytes;
        view->statics_shift = region->base + offset - statics;
    }
    return true;
}

bool opal_node_view(unsigned local_rank, opal_node_view_t *view)
{
    const opal_node_mapped_t own = {opal_region.base, opal_region.bytes, opal_region.id};
    return opal_slot_view(opal_node_slot(local_rank), &own, view);
}

void *opal_view_alias(const opal_node_view_t *view, uintptr_t address, size_t bytes)
{
    const size_t table_bytes = OPAL_ALIAS_BYTES / OPAL_ALIAS_UNIT * sizeof(uint64_t);
    size_t offset;
    if (view->aliases == NULL)
        return NULL;
    uint64_t table = atomic_load_explicit(view->aliases, memory_order_acquire);
    if (table == 0 || table % sizeof(uint64_t) != 0 || table > view->bytes ||
        table_bytes > view->bytes - table) /* from a peer */
        return NULL;
    uintptr_t region = view->base + view->shift;
    return opal_alias_find((const void *)(region + table), view->bytes, address, bytes, &offset)
               ? (void *)(region + offset)
               : NULL;
}

void opal_node_permit_reading(opal_node_slot_t *own)
{
#ifdef PR_SET_PTRACER
    /* Yama permits ancestors, and the process named here with its descendants. Peers descend from
     * the launcher. */
    int launcher = opal_node_launcher();
    prctl(PR_SET_PTRACER, launcher != 0 ? (unsigned long)launcher : PR_SET_PTRACER_ANY, 0, 0, 0);
#endif
    if (getrandom(&probed, sizeof probed, GRND_NONBLOCK) != (ssize_t)sizeof probed)
        probed = (uint64_t)getpid() << 32 | own->rank;
    own->probe_value = probed;
    atomic_store_explicit(&own->probe_address, (uintptr_t)&probed, memory_order_release);
}

opal_status_t opal_slot_probe_reading(const opal_node_slot_t *slot)
{
    uint64_t found = 0;
    uint64_t address = atomic_load_explicit(&slot->probe_address, memory_order_acquire);
    if (address == 0)
        return OPAL_ERR_NOT_AVAILABLE;
    const struct iovec here = {&found, sizeof found}, there = {(void *)address, sizeof found};
    bool is_read = opal_slot_move(slot, false, &here, 1, &there, 1) == (ssize_t)sizeof found;
    return is_read && found == slot->probe_value ? OPAL_SUCCESS : OPAL_ERR_NOT_SUPPORTED;
}

/* Segments handed to the kernel at once; far below its own limit, to spare the stack. */
enum { BATCH = 64 };

/* A cursor in segments, which may stand inside of one. */
typedef struct cursor {
    const struct iovec *segments;
    size_t count;
    size_t done; /* bytes of the first one */
} cursor_t;

/* The next segments, from the cursor on. */
static unsigned long cursor_fill(const cursor_t *cursor, struct iovec batch[BATCH])
{
    unsigned long count = 0;
    for (; count < BATCH && count < cursor->count; count++)
        batch[count] = cursor->segments[count];
    if (count > 0) {
        batch[0].iov_base = (char *)batch[0].iov_base + cursor->done;
        batch[0].iov_len -= cursor->done;
    }
    return count;
}

static void cursor_advance(cursor_t *cursor, size_t bytes)
{
    while (cursor->count > 0 && cursor->segments->iov_len - cursor->done <= bytes) {
        bytes -= cursor->segments->iov_len - cursor->done;
        cursor->segments++;
        cursor->count--;
        cursor->done = 0;
    }
    cursor->done += bytes;
}

ssize_t opal_slot_move(const opal_node_slot_t *slot, bool write, const struct iovec *here,
                       size_t here_count, const struct iovec *there, size_t there_count)
{
    pid_t pid = atomic_load_explicit(&slot->pid, memory_order_relaxed);
    cursor_t local = {.segments = here, .count = here_count};
    cursor_t remote = {.segments = there, .count = there_count};
    ssize_t total = 0;
    cursor_advance(&local, 0); /* over empty segments */
    cursor_advance(&remote, 0);
    while (local.count > 0 && remote.count > 0) {
        struct iovec locals[BATCH], remotes[BATCH];
        unsigned long local_count = cursor_fill(&local, locals);
        unsigned long remote_count = cursor_fill(&remote, remotes);
        if (pid <= 0)
            return -ESRCH;
        ssize_t bytes = write
                            ? process_vm_writev(pid, locals, local_count, remotes, remote_count, 0)
                            : process_vm_readv(pid, locals, local_count, remotes, remote_count, 0);
        if (bytes < 0 && errno == EINTR)
            continue;
        if (bytes <= 0)
            return bytes == 0 ? -EFAULT : -errno;
        total += bytes;
        cursor_advance(&local, (size_t)bytes);
        cursor_advance(&remote, (size_t)bytes);
    }
    return total;
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
    struct iovec local = {to, bytes}, remote = {(void *)from, bytes};
    bool all = opal_node_move(local_rank, false, &local, 1, &remote, 1) == (ssize_t)bytes;
    return all ? OPAL_SUCCESS : OPAL_ERR_SYSTEM;
}
