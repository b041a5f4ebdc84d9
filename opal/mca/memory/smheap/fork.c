/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * fork, where the parent's memory is shared and the child's must not be.
 *
 *   parent                      child
 *   locks the heap, a pipe
 *   fork ------------------->   makes its snapshot of the parent's blocks (snapshot.h), closes the
 *   waits        <-- end of file -- pipe (or dies, which closes it, too)
 *   waits until the snapshot does not need its memory any more
 *
 * Without a free descriptor for the pipe, the child copies at once, and counts its copy in the
 * parent's pool.
 *
 * A program may have closed the region's descriptor and opened another file by that number: so it
 * is checked each time, and only queried or mapped.
 *
 * A thread whose stack is a block of the region cannot fork: until the child has its snapshot, both
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
#include "opal/mca/memory/smheap/snapshot.h"
#include "opal/node/region.h"
#include "opal/include/clock.h"
#include "opal/util/say.h"

enum { PAUSE_NSEC = 200000, COPY_TIMEOUT_SEC = 10 };

static struct {
    smheap_region_t *region;
    opal_heap_t *heap;
    smheap_election_t *election;
    smheap_keeper_t *keeper; /* shared with the children; NULL: there was no memory */
    /* Between prepare and the end of the fork, under the heap's lock. */
    const opal_region_holdings_t *holdings; /* whose lock is held; NULL: there are none */
    int done[2];                            /* a pipe; -1: there is none */
    uint32_t copies;
} self;

/* -- the child ---------------------------------------------------------------------------- */

static void copy_now(const smheap_snapshot_t *snapshot)
{
    const smheap_copy_t copy = smheap_snapshot_now(snapshot);
    if (self.done[1] < 0)
        atomic_store(&self.region->pool->copies, self.copies + 1);
    smheap_snapshot_put(snapshot, &copy);
}

static void own_region(void)
{
    smheap_region_t *region = self.region;
    const smheap_snapshot_t snapshot = {.region = region,
                                        .heap = self.heap,
                                        .holdings = self.holdings,
                                        .fd =
                                            smheap_is_region(region, region->fd) ? region->fd : -1};
    bool may_wait = snapshot.fd >= 0 && self.done[1] >= 0 && self.keeper != NULL;
    if (!may_wait || !smheap_snapshot_lazy(&snapshot, self.keeper))
        copy_now(&snapshot);
    region->is_private = true;
    close(self.done[0]);
    close(self.done[1]);
    if (snapshot.fd >= 0)
        close(snapshot.fd);
    region->fd = -1;
}

/* -- the parent --------------------------------------------------------------------------- */

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
    smheap_snapshot_complete();
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
        if (self.keeper != NULL)
            smheap_snapshot_await(self.keeper);
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
    void *page = smheap_map(NULL, sizeof *self.keeper, PROT_READ | PROT_WRITE,
                            MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    self.keeper = page == MAP_FAILED ? NULL : page;
    pthread_atfork(prepare, in_parent, in_child);
}
