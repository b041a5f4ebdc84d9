/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * fork, where the parent's memory is shared and the child's must not be.
 *
 *   parent                      child
 *   locks the heap, a pipe
 *   fork ------------------->   copies the parent's blocks of the region, and those of other
 *   waits                       processes that it owns, to private memory; maps that instead of the
 *   goes on  <-- end of file -- region; closes the pipe (or dies, which closes it, too)
 *
 * Without a free descriptor for the pipe, the child counts its copy in the parent's pool.
 *
 * The region's descriptor says which pages exist. A program may have closed it and opened another
 * file by that number: so it is checked each time, and only queried. Without it the child also
 * copies pages that were never touched.
 *
 * The child may or may not see what the parent's other threads write meanwhile. The engine's lists
 * permit that (opal/heap/heap.h), because a chunk's header is copied before its blocks.
 *
 * A thread whose stack is a block of the region cannot fork: until the child has its copy, both
 * processes would run on the same stack.
 */
#include "opal/mca/memory/smheap/fork.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "opal/mca/memory/smheap/map_region.h"
#include "opal/node/region.h"
#include "opal/include/clock.h"
#include "opal/util/say.h"

#ifndef MADV_POPULATE_WRITE
#define MADV_POPULATE_WRITE 23
#endif

enum { PAUSE_NSEC = 200000, COPY_TIMEOUT_SEC = 10, PIECE_BYTES = 256 << 10 };

static struct {
    smheap_region_t *region;
    opal_heap_t *heap;
    smheap_election_t *election;
    /* Between prepare and the end of the fork, under the heap's lock. */
    const opal_region_holdings_t *holdings; /* whose lock is held; NULL: there are none */
    int done[2];                            /* a pipe; -1: there is none */
    uint32_t copies;
} self;

/* -- the copy ----------------------------------------------------------------------------- */

static OPAL_NORETURN void give_up(const char *step)
{
    opal_say(OPAL_SAY_ERROR,
             "a child that was forked cannot get its own copy of the shared heap (%s, errno %d), "
             "and would change its parent's: it ends. memory_smheap_enable = no avoids this",
             step, errno);
    _exit(1);
}

/* What a copy is made of. */
typedef struct copying {
    char *from, *to; /* the region, and private memory of the same size */
    off_t page;
    int fd; /* the region's; -1: unknown, and so are the pages that exist */
} copying_t;

static off_t seek(const copying_t *copying, off_t from, int what, off_t end)
{
    off_t found = lseek(copying->fd, from, what);
    if (found < 0 && errno != ENXIO)
        give_up("looking for what is there");
    return found < 0 || found > end ? end : found;
}

static void copy_pages(const copying_t *copying, off_t at, off_t end)
{
    /* Many at once, if the system can: else they come one by one. They are still in the cache when
       they are written to. */
    for (off_t step; at < end; at += step) {
        step = end - at < PIECE_BYTES ? end - at : PIECE_BYTES;
        syscall(SYS_madvise, copying->to + at, (size_t)step, MADV_POPULATE_WRITE);
        memcpy(copying->to + at, copying->from + at, (size_t)step);
    }
}

/* Copies whole pages; pages that are not in the file are left out. */
static void copy_stretch(void *context, void *start, size_t bytes)
{
    const copying_t *copying = context;
    off_t begin = (char *)start - copying->from, page = copying->page, at = begin / page * page;
    off_t end = (begin + (off_t)bytes + page - 1) / page * page;
    while (at < end) {
        off_t data = copying->fd >= 0 ? seek(copying, at, SEEK_DATA, end) : at;
        off_t hole = copying->fd >= 0 && data < end ? seek(copying, data, SEEK_HOLE, end) : end;
        if (hole > data)
            copy_pages(copying, data, hole);
        at = hole;
    }
}

/* A block of another process, if it lies in the region. */
static void copy_holding(void *context, void *start, size_t bytes)
{
    if (opal_region_has(start, bytes))
        copy_stretch(context, start, bytes);
}

static void copy_region(const smheap_region_t *region, copying_t *copying)
{
    size_t tables = (size_t)region->first_chunk * OPAL_HEAP_CHUNK_BYTES;
    copying->to = smheap_map(NULL, region->bytes, PROT_READ | PROT_WRITE,
                             MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (copying->to == MAP_FAILED)
        give_up("mapping");
    copy_stretch(copying, copying->from, tables);
    opal_heap_each_stretch(self.heap, copy_stretch, copying);
    if (self.holdings != NULL)
        self.holdings->each(copy_holding, copying);
}

/* When the parent goes on, the child does not read the region any more. */
static void own_region(void)
{
    smheap_region_t *region = self.region;
    copying_t copying = {.from = (char *)region->header,
                         .page = sysconf(_SC_PAGESIZE),
                         .fd = smheap_is_region(region, region->fd) ? region->fd : -1};
    copy_region(region, &copying);
    if (self.done[1] < 0)
        atomic_store(&region->pool->copies, self.copies + 1);
    if ((char *)syscall(SYS_mremap, copying.to, region->bytes, region->bytes,
                        MREMAP_MAYMOVE | MREMAP_FIXED, copying.from) != copying.from)
        give_up("mapping it in place");
    region->is_private = true;
    close(self.done[0]);
    close(self.done[1]);
    if (copying.fd >= 0)
        close(copying.fd);
    region->fd = -1;
}

/* Without a pipe, a child that has died, or was never made, is not noticed before the timeout. */
static void wait_for_copy(void)
{
    const struct timespec pause = {.tv_nsec = PAUSE_NSEC};
    const uint64_t end = opal_clock_nsec() + COPY_TIMEOUT_SEC * OPAL_NSEC_PER_SEC;
    do {
        if (atomic_load(&self.region->pool->copies) != self.copies)
            return;
        nanosleep(&pause, NULL);
    } while (opal_clock_nsec() < end);
}

/* -- around fork -------------------------------------------------------------------------- */

static void prepare(void)
{
    int saved = errno;
    if (!self.region->is_private && opal_region_has(&saved, sizeof saved)) {
        opal_say(OPAL_SAY_FATAL, "fork on a stack that malloc has taken from the shared heap: "
                                 "parent and child would destroy it. memory_smheap_enable = no "
                                 "avoids this");
        abort();
    }
    self.holdings = self.region->is_private ? NULL : opal_region_get_holdings();
    if (self.holdings != NULL)
        self.holdings->lock();
    opal_heap_fork_prepare(self.heap);
    if (!self.region->is_private && pipe2(self.done, O_CLOEXEC) != 0)
        self.done[0] = self.done[1] = -1;
    self.copies = atomic_load(&self.region->pool->copies);
    errno = saved;
}

static void in_parent(void)
{
    char nothing;
    int saved = errno; /* of a fork that failed */
    if (!self.region->is_private && self.done[0] < 0) {
        wait_for_copy();
    } else if (!self.region->is_private) {
        close(self.done[1]);
        while (read(self.done[0], &nothing, 1) < 0 && errno == EINTR)
            continue;
        close(self.done[0]);
    }
    errno = saved;
    opal_heap_fork_parent(self.heap);
    if (self.holdings != NULL)
        self.holdings->unlock();
}

static void in_child(void)
{
    int saved = errno;
    if (!self.region->is_private) {
        own_region();
        smheap_stop_listening(self.election);
        opal_region = (opal_region_t){.bytes = 0};
    }
    errno = saved;
    opal_heap_fork_child(self.heap);
    if (self.holdings != NULL)
        self.holdings->unlock();
}

void smheap_watch_forks(smheap_region_t *region, opal_heap_t *heap, smheap_election_t *election)
{
    self.region = region;
    self.heap = heap;
    self.election = election;
    pthread_atfork(prepare, in_parent, in_child);
}
