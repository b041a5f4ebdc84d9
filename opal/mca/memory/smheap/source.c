/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Chunks and pages of a region.
 *
 * Chunks of processes that have ended are taken first, then new ones.
 *
 * In a child of fork the region is a private copy. The child takes chunks there by the same steps,
 * and no other process sees them.
 */
#include "opal/mca/memory/smheap/source.h"

#include <errno.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "opal/mca/memory/smheap/map_region.h"
#include "opal/memory/events/events.h"

enum { RETAINED_SHARE = 4 }; /* of what is left, one pool takes no more than this part ahead */

/* Takes spare chunks from `at` on, until one is not spare. Returns how many. */
static uint32_t claim(const smheap_region_t *region, _Atomic uint32_t *owners, uint32_t at,
                      uint32_t most)
{
    for (uint32_t i = 0; i < most; i++) {
        uint32_t owner = OPAL_REGION_SPARE;
        if (!atomic_compare_exchange_strong(&owners[at + i], &owner, region->number + 1))
            return i;
    }
    return most;
}

/* Takes at least so many chunks that are spare: the first, or 0. *count becomes how many. */
static uint32_t take_spare(smheap_region_t *region, uint32_t *count)
{
    opal_region_header_t *header = region->header;
    _Atomic uint32_t *owners = opal_region_owners(header, region->pool_count);
    uint32_t given = atomic_load(&header->given), wanted = *count;
    uint32_t most = wanted > region->share ? wanted : region->share;
    if (atomic_load(&header->spare_chunks) == 0)
        return 0;
    if (given > region->chunks) /* peers can write it, and so can bugs */
        given = region->chunks;
    for (uint32_t at = region->first_chunk, row; at < given; at += row + 1) {
        for (row = 0;
             row < most && at + row < given && atomic_load(&owners[at + row]) == OPAL_REGION_SPARE;)
            row++;
        if (row < wanted)
            continue;
        *count = claim(region, owners, at, row);
        if (*count >= wanted) {
            atomic_fetch_sub(&header->spare_chunks, *count);
            return at;
        }
        for (uint32_t i = 0; i < *count; i++) /* another process was faster */
            atomic_store(&owners[at + i], OPAL_REGION_SPARE);
    }
    *count = wanted;
    return 0;
}

/* Takes chunks that were never given to a pool, as take_spare. */
static uint32_t take_new(smheap_region_t *region, uint32_t *count)
{
    opal_region_header_t *header = region->header;
    uint32_t wanted = *count, first = atomic_load_explicit(&header->given, memory_order_relaxed);
    do {
        /* Peers can write it, and so can bugs. */
        *count = wanted;
        if (first < region->first_chunk || first > region->chunks ||
            region->chunks - first < wanted)
            return 0;
        uint32_t ahead = (region->chunks - first) / RETAINED_SHARE;
        if (ahead > region->share)
            ahead = region->share;
        *count = ahead > wanted ? ahead : wanted;
    } while (!atomic_compare_exchange_weak(&header->given, &first, first + *count));
    _Atomic uint32_t *owners = opal_region_owners(header, region->pool_count);
    for (uint32_t i = first; i < first + *count; i++)
        atomic_store_explicit(&owners[i], region->number + 1, memory_order_relaxed);
    return first;
}

static uint32_t take_chunks(smheap_region_t *region, uint32_t *count)
{
    uint32_t wanted = *count, first = 0;
    if (!region->is_private)
        first = take_spare(region, count);
    if (first == 0)
        first = take_new(region, count);
    if (first == 0 && !region->is_private) {
        smheap_reap(region);
        *count = wanted;
        first = take_spare(region, count);
    }
    return first;
}

static void *extend(void *context, size_t *bytes)
{
    smheap_region_t *region = context;
    int saved = errno;
    if (*bytes > region->bytes)
        return NULL;
    uint32_t count = (uint32_t)(*bytes / OPAL_HEAP_CHUNK_BYTES);
    uint32_t first = take_chunks(region, &count);
    if (first == 0)
        return NULL;
    atomic_fetch_add_explicit(&region->pool->chunks, count, memory_order_relaxed);
    char *start = (char *)region->header + (size_t)first * OPAL_HEAP_CHUNK_BYTES;
    *bytes = (size_t)count * OPAL_HEAP_CHUNK_BYTES;
    syscall(SYS_madvise, start, *bytes, MADV_DODUMP);
    errno = saved;
    return start;
}

/* The pages come with the first touch. Those of the largest blocks may be larger than the system's
   smallest, if the system gives such pages to shared memory on request. Of smaller blocks a page
   would hold several, most of which a program may never use. */
static int commit(void *context OPAL_UNUSED, void *start, size_t bytes)
{
    int saved = errno;
    if (bytes > OPAL_HEAP_CHUNK_BYTES)
        syscall(SYS_madvise, start, bytes, MADV_HUGEPAGE);
    errno = saved;
    return 0;
}

static void before_release(void *context OPAL_UNUSED, void *start, size_t bytes)
{
    opal_memory_unmapped(start, bytes);
}

/* In a child of fork they may be those of a file, which would show again. */
static bool replace_by_new(void *start, size_t bytes)
{
    return smheap_map(start, bytes, PROT_READ | PROT_WRITE,
                      MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED, -1, 0) == start;
}

/* The pages stay usable, so they must be zero. They cannot be cut out of the file while a process
   has locked them in memory. */
static void decommit(void *context, void *start, size_t bytes, bool again OPAL_UNUSED)
{
    const smheap_region_t *region = context;
    int saved = errno;
    bool is_removed = region->is_private ? replace_by_new(start, bytes)
                                         : syscall(SYS_madvise, start, bytes, MADV_REMOVE) == 0;
    if (!is_removed)
        memset(start, 0, bytes);
    errno = saved;
}

const opal_heap_source_ops_t smheap_source = {
    .extend = extend,
    .commit = commit,
    .before_release = before_release,
    .decommit = decommit,
};
