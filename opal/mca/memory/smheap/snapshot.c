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
            walk->call(walk->context, data, hole);
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

typedef struct copying {
    char *from, *to;
} copying_t;

static void copy_piece(void *context, off_t at, off_t end)
{
    const copying_t *copying = context;
    /* Many at once, if the system can: else they come one by one. They are still in the cache when
       they are written to. */
    for (off_t step; at < end; at += step) {
        step = end - at < STEP_BYTES ? end - at : STEP_BYTES;
        syscall(SYS_madvise, copying->to + at, (size_t)step, MADV_POPULATE_WRITE);
        memcpy(copying->to + at, copying->from + at, (size_t)step);
    }
}

char *smheap_snapshot_now(const smheap_snapshot_t *snapshot)
{
    const smheap_region_t *region = snapshot->region;
    copying_t copying = {.from = (char *)region->header,
                         .to = smheap_map(NULL, region->bytes, PROT_READ | PROT_WRITE,
                                          MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0)};
    if (copying.to == MAP_FAILED)
        smheap_snapshot_fail("mapping");
    smheap_snapshot_walk(snapshot, copy_piece, &copying);
    return copying.to;
}

void smheap_snapshot_put(const smheap_snapshot_t *snapshot, char *copy)
{
    const smheap_region_t *region = snapshot->region;
    char *place = (char *)region->header;
    if ((char *)syscall(SYS_mremap, copy, region->bytes, region->bytes,
                        MREMAP_MAYMOVE | MREMAP_FIXED, place) != place)
        smheap_snapshot_fail("mapping it in place");
}
