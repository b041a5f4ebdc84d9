/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The pages of a snapshot, and the copy that is made at once.
 *
 * The region's descriptor says which pages exist. Without it the child also copies pages that were
 * never touched.
 *
 * The child may or may not see what the parent's other threads write meanwhile. The engine's lists
 * permit that (opal/heap/heap.h), because a chunk's header is copied before its blocks.
 */
#include "opal/mca/memory/smheap/snapshot.h"

#include <errno.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "opal/mca/memory/smheap/map_region.h"
#include "opal/include/compiler.h"
#include "opal/util/say.h"

#ifndef MADV_POPULATE_WRITE
#define MADV_POPULATE_WRITE 23
#endif

enum { STEP_BYTES = 256 << 10 };

OPAL_NORETURN void smheap_snapshot_fail(const char *step)
{
    opal_say(OPAL_SAY_ERROR,
             "a child that was forked cannot get its own copy of the shared heap (%s, errno %d), "
             "and would change its parent's: it ends. memory_smheap_enable = no avoids this",
             step, errno);
    _exit(1);
}

/* -- which pages -------------------------------------------------------------------------- */

typedef struct walk {
    const smheap_snapshot_t *snapshot;
    smheap_piece_fn_t *call;
    void *context;
    off_t page;
} walk_t;

static off_t seek(int fd, off_t from, int what, off_t end)
{
    off_t found = lseek(fd, from, what);
    if (found < 0 && errno != ENXIO)
        smheap_snapshot_fail("looking for what is there");
    return found < 0 || found > end ? end : found;
}

/* In pieces that are either in the static data or not. */
static void call_apart(const walk_t *walk, off_t begin, off_t end)
{
    const smheap_statics_t *statics = &walk->snapshot->region->statics;
    const off_t edges[] = {(off_t)statics->offset, (off_t)(statics->offset + statics->bytes)};
    for (unsigned i = 0; i < OPAL_COUNT_OF(edges); i++) {
        if (edges[i] <= begin || edges[i] >= end)
            continue;
        walk->call(walk->context, begin, edges[i]);
        begin = edges[i];
    }
    walk->call(walk->context, begin, end);
}

/* The whole pages of these bytes, but for those that are not in the file. */
static void walk_stretch(void *context, void *start, size_t bytes)
{
    const walk_t *walk = context;
    const int fd = walk->snapshot->fd;
    off_t begin = (char *)start - (char *)walk->snapshot->region->header;
    off_t at = begin / walk->page * walk->page;
    off_t end = (begin + (off_t)bytes + walk->page - 1) / walk->page * walk->page;
    while (at < end) {
        off_t data = fd >= 0 ? seek(fd, at, SEEK_DATA, end) : at;
        off_t hole = fd >= 0 && data < end ? seek(fd, data, SEEK_HOLE, end) : end;
        if (hole > data)
            call_apart(walk, data, hole);
        at = hole;
    }
}

/* A block of another process, if it lies in the region. */
static void walk_holding(void *context, void *start, size_t bytes)
{
    if (opal_region_has(start, bytes))
        walk_stretch(context, start, bytes);
}

void smheap_snapshot_walk(const smheap_snapshot_t *snapshot, smheap_piece_fn_t *call, void *context)
{
    const smheap_region_t *region = snapshot->region;
    walk_t walk = {snapshot, call, context, sysconf(_SC_PAGESIZE)};
    walk_stretch(&walk, region->header, (size_t)region->first_chunk * OPAL_HEAP_CHUNK_BYTES);
    opal_heap_each_stretch(snapshot->heap, walk_stretch, &walk);
    if (snapshot->holdings != NULL)
        snapshot->holdings->each(walk_holding, &walk);
}

/* -- the copy ----------------------------------------------------------------------------- */

bool smheap_is_static(const smheap_statics_t *statics, off_t at)
{
    return (size_t)at - statics->offset < statics->bytes;
}

typedef struct copying {
    const smheap_region_t *region;
    smheap_copy_t to;
} copying_t;

static void copy_piece(void *context, off_t at, off_t end)
{
    const copying_t *copying = context;
    const smheap_statics_t *statics = &copying->region->statics;
    const char *from = (const char *)copying->region->header;
    char *to =
        smheap_is_static(statics, at) ? copying->to.statics - statics->offset : copying->to.region;
    /* Many at once, if the system can: else they come one by one. They are still in the cache when
       they are written to. */
    for (off_t step; at < end; at += step) {
        step = end - at < STEP_BYTES ? end - at : STEP_BYTES;
        syscall(SYS_madvise, to + at, (size_t)step, MADV_POPULATE_WRITE);
        memcpy(to + at, from + at, (size_t)step);
    }
}

static char *map_private(size_t bytes)
{
    char *mapped = smheap_map(NULL, bytes, PROT_READ | PROT_WRITE,
                              MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (mapped == MAP_FAILED)
        smheap_snapshot_fail("mapping");
    return mapped;
}

smheap_copy_t smheap_snapshot_now(const smheap_snapshot_t *snapshot)
{
    const smheap_region_t *region = snapshot->region;
    copying_t copying = {.region = region, .to.region = map_private(region->bytes)};
    if (region->statics.bytes > 0)
        copying.to.statics = map_private(region->statics.bytes);
    smheap_snapshot_walk(snapshot, copy_piece, &copying);
    return copying.to;
}

static void move(char *from, size_t bytes, char *to)
{
    if ((char *)syscall(SYS_mremap, from, bytes, bytes, MREMAP_MAYMOVE | MREMAP_FIXED, to) != to)
        smheap_snapshot_fail("mapping it in place");
}

void smheap_snapshot_put(const smheap_snapshot_t *snapshot, const smheap_copy_t *copy)
{
    const smheap_region_t *region = snapshot->region;
    move(copy->region, region->bytes, (char *)region->header);
    if (region->statics.bytes > 0)
        move(copy->statics, region->statics.bytes, region->statics.start);
}
