/* SPDX-License-Identifier: BSD-3-Clause */
/* Which processes have ended, and their pools and chunks. */
#include "opal/node/region_reap.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/falloc.h>
#include <signal.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

/* -- which processes live ---------------------------------------------------------------- */

void opal_region_own_life(opal_region_life_t *self)
{
    struct stat space;
    int saved = errno;
    const void *bytes_of_kernel =
        (const void *)getauxval(AT_RANDOM); /* random, new with each exec */
    *self = (opal_region_life_t){.pid = (int32_t)getpid()};
    if (bytes_of_kernel != NULL)
        memcpy(&self->program, bytes_of_kernel, sizeof self->program);
    if (stat("/proc/self/ns/pid", &space) == 0)
        self->space = (uint32_t)space.st_ino;
    errno = saved;
}

static bool has_ended(int32_t pid)
{
    return pid > 0 && kill(pid, 0) != 0 && errno == ESRCH;
}

bool opal_region_has_ended(const opal_region_pool_t *pool, const opal_region_life_t *self)
{
    int32_t pid = atomic_load_explicit(&pool->pid, memory_order_acquire);
    if (pid <= 0)
        return pid < 0;
    if (self->space == 0 || pool->space != self->space)
        return false;
    return pid == self->pid ? pool->program != self->program : has_ended(pid);
}

/* -- one at a time ----------------------------------------------------------------------- */

static bool begin(opal_region_header_t *header, const opal_region_life_t *self)
{
    uint64_t mine = (uint64_t)self->space << 32 | (uint32_t)self->pid, holder = 0;
    if (atomic_compare_exchange_strong(&header->reaper, &holder, mine))
        return true;
    return holder >> 32 == self->space && has_ended((int32_t)holder) &&
           atomic_compare_exchange_strong(&header->reaper, &holder, mine);
}

static void end(opal_region_header_t *header)
{
    atomic_store(&header->reaper, 0);
}

/* -- pools ------------------------------------------------------------------------------- */

static uint32_t count_pools(const opal_region_tables_t *tables)
{
    uint32_t attached = atomic_load_explicit(&tables->header->attached, memory_order_acquire);
    return attached < tables->pool_count ? attached : tables->pool_count;
}

static bool is_left(const opal_region_pool_t *pool)
{
    int32_t pid = atomic_load_explicit(&pool->pid, memory_order_relaxed);
    return pid < 0 && pid != OPAL_REGION_VACANT;
}

/* Whether a process lives that has had peers, and so may use blocks of others. */
static bool has_live_peers(const opal_region_tables_t *tables, const opal_region_life_t *self)
{
    const opal_region_pool_t *pools = opal_region_pools(tables->header);
    for (uint32_t i = 0, count = count_pools(tables); i < count; i++)
        if ((atomic_load(&pools[i].ties) & OPAL_REGION_MET) != 0 &&
            !opal_region_has_ended(&pools[i], self))
            return true;
    return false;
}

/* The pids of pools whose chunks no process needs become -pid. Whether there are such pools. */
static bool mark(const opal_region_tables_t *tables, const opal_region_life_t *self)
{
    opal_region_pool_t *pools = opal_region_pools(tables->header);
    bool any = false, knows_peers = false, live_peers = false;
    for (uint32_t i = 0, count = count_pools(tables); i < count; i++) {
        int32_t pid = atomic_load_explicit(&pools[i].pid, memory_order_relaxed);
        any |= is_left(&pools[i]); /* left by a reaper that was killed */
        if (pid <= 0 || !opal_region_has_ended(&pools[i], self))
            continue;
        bool in_doubt = (atomic_load(&pools[i].ties) & (OPAL_REGION_SEEN | OPAL_REGION_GIVEN)) != 0;
        if (in_doubt && !knows_peers) {
            live_peers = has_live_peers(tables, self);
            knows_peers = true;
        }
        if (in_doubt && live_peers)
            continue;
        atomic_store(&pools[i].pid, -pid);
        any = true;
    }
    return any;
}

/* Makes pools available. The count grows first, so a process that takes a pool finds it counted. */
static void vacate(const opal_region_tables_t *tables)
{
    opal_region_pool_t *pools = opal_region_pools(tables->header);
    for (uint32_t i = 0, count = count_pools(tables); i < count; i++) {
        if (!is_left(&pools[i]))
            continue;
        atomic_fetch_add(&tables->header->vacant_pools, 1);
        atomic_store(&pools[i].pid, OPAL_REGION_VACANT);
    }
}

/* -- chunks ------------------------------------------------------------------------------ */

/* The chunks read as zero then. Without the descriptor this fails for pages that are locked in
 * memory. */
static bool empty(const opal_region_tables_t *tables, uint32_t first, uint32_t count)
{
    size_t offset = (size_t)first * OPAL_HEAP_CHUNK_BYTES;
    size_t bytes = (size_t)count * OPAL_HEAP_CHUNK_BYTES;
    if (tables->fd >= 0)
        return fallocate(tables->fd, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, (off_t)offset,
                         (off_t)bytes) == 0;
    /* Directly, as the program's madvise may be ours by way of a patch. */
    return syscall(SYS_madvise, (char *)tables->header + offset, bytes, MADV_REMOVE) == 0;
}

/* Chunks of marked pools are emptied, those in a row at once. False: not all of them could be. */
static bool free_chunks(const opal_region_tables_t *tables)
{
    opal_region_header_t *header = tables->header;
    const opal_region_pool_t *pools = opal_region_pools(header);
    _Atomic uint32_t *owners = opal_region_owners(header, tables->pool_count);
    uint32_t given = atomic_load(&header->given);
    bool all = true;
    if (given > tables->chunks) /* peers can write it, and so can bugs */
        given = tables->chunks;
    for (uint32_t i = tables->first_chunk, behind; i < given; i = behind) {
        uint32_t owner = atomic_load(&owners[i]);
        for (behind = i + 1; behind < given && atomic_load(&owners[behind]) == owner;)
            behind++;
        if (owner == 0 || owner > tables->pool_count || !is_left(&pools[owner - 1]))
            continue;
        if (!empty(tables, i, behind - i)) {
            all = false;
            continue;
        }
        atomic_fetch_add(&header->spare_chunks, behind - i);
        for (uint32_t k = i; k < behind; k++)
            atomic_store(&owners[k], OPAL_REGION_SPARE);
    }
    return all;
}

opal_region_reaped_t opal_region_reap(const opal_region_tables_t *tables,
                                      const opal_region_life_t *self)
{
    int saved = errno;
    opal_region_reaped_t reaped = OPAL_REGION_REAPED_NONE;
    if (self->space == 0)
        return reaped;
    if (!begin(tables->header, self)) {
        reaped = OPAL_REGION_REAPED_BY_OTHER;
    } else {
        if (mark(tables, self)) {
            reaped = OPAL_REGION_REAPED_SOME;
            if (free_chunks(tables))
                vacate(tables);
        }
        end(tables->header);
    }
    errno = saved;
    return reaped;
}
