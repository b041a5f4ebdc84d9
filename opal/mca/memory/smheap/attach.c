/* SPDX-License-Identifier: BSD-3-Clause */
/* Checking a region, mapping it, and taking a pool for this process. */
#include "opal/mca/memory/smheap/attach.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "opal/mca/memory/smheap/map_region.h"
#include "opal/util/say.h"

enum {
    LIMIT_SHARE = 4, /* of an address space that is limited, the most that the region takes */
    OWN_FD = 900,    /* programs that close what they do not know stop earlier */
    PAUSES = 1000,   /* enough to empty some GB; a stopped process holds nobody up for long */
    PAUSE_NSEC = 100000,
};

/* -- limits ------------------------------------------------------------------------------- */

static bool promises_are_strict(void)
{
    char text[2] = "";
    int fd = open("/proc/sys/vm/overcommit_memory", O_RDONLY | O_CLOEXEC);
    if (fd < 0)
        return false;
    ssize_t got = read(fd, text, sizeof text);
    close(fd);
    return got > 0 && text[0] == '2';
}

/* Why so much cannot be mapped; NULL: it can. */
static const char *limit_of(uint64_t bytes)
{
    struct rlimit limit;
    if (getrlimit(RLIMIT_AS, &limit) == 0 && limit.rlim_cur != RLIM_INFINITY &&
        bytes > limit.rlim_cur / LIMIT_SHARE)
        return "the address space is limited (ulimit -v), and it would take too much of that";
    /* The system keeps no memory ready for a file's holes: where it gives none that it has not
       counted, touching them may be a signal. */
    if (promises_are_strict())
        return "vm.overcommit_memory is 2: shared memory could run out by a signal";
    return NULL;
}

/* -- the header --------------------------------------------------------------------------- */

static const char *complaint_about(int fd, opal_region_header_t *copy)
{
    const int needed = F_SEAL_SHRINK;
    struct stat status;
    int seals = fcntl(fd, F_GET_SEALS);
    if (fstat(fd, &status) != 0)
        return "its descriptor is closed";
    if (seals < 0 || (seals & needed) != needed)
        return "its descriptor leads to something else";
    if (pread(fd, copy, sizeof *copy, 0) != (ssize_t)sizeof *copy)
        return "it is too short";
    return opal_region_complaint(copy, (uint64_t)status.st_size);
}

static bool identify(int fd, smheap_region_t *region)
{
    struct stat status;
    if (fstat(fd, &status) != 0)
        return false;
    region->device = status.st_dev;
    region->inode = status.st_ino;
    return true;
}

bool smheap_is_region(const smheap_region_t *region, int fd)
{
    smheap_region_t found;
    return fd >= 0 && identify(fd, &found) && found.device == region->device &&
           found.inode == region->inode;
}

/* -- taking a pool ------------------------------------------------------------------------ */

void smheap_reap(const smheap_region_t *region)
{
    const struct timespec pause = {.tv_nsec = PAUSE_NSEC};
    const opal_region_tables_t tables = {.header = region->header,
                                         .chunks = region->chunks,
                                         .first_chunk = region->first_chunk,
                                         .pool_count = region->pool_count,
                                         .fd = -1};
    opal_region_life_t self;
    int saved = errno;
    opal_region_own_life(&self);
    for (int i = 0; i < PAUSES && opal_region_reap(&tables, &self) == OPAL_REGION_REAPED_BY_OTHER;
         i++)
        nanosleep(&pause, NULL);
    errno = saved;
}

/* The pool of a process that has ended. */
static bool take_vacant_pool(smheap_region_t *region)
{
    opal_region_header_t *header = region->header;
    opal_region_pool_t *pools = opal_region_pools(header);
    uint32_t attached = atomic_load(&header->attached);
    if (atomic_load(&header->vacant_pools) == 0)
        return false;
    for (uint32_t i = 0; i < attached && i < region->pool_count; i++) {
        int32_t pid = OPAL_REGION_VACANT;
        if (!atomic_compare_exchange_strong(&pools[i].pid, &pid, 0))
            continue;
        atomic_fetch_sub(&header->vacant_pools, 1);
        region->number = i;
        return true;
    }
    return false;
}

static bool take_new_pool(smheap_region_t *region)
{
    _Atomic uint32_t *attached = &region->header->attached;
    uint32_t number = atomic_load_explicit(attached, memory_order_relaxed);
    do {
        if (number >= region->pool_count)
            return false;
    } while (!atomic_compare_exchange_weak(attached, &number, number + 1));
    region->number = number;
    return true;
}

/* When all ranks have attached, a further process may follow one that has ended. */
static bool take_pool(smheap_region_t *region)
{
    if (atomic_load(&region->header->attached) >= region->header->ranks)
        smheap_reap(region);
    return take_vacant_pool(region) || take_new_pool(region);
}

static bool enter(smheap_region_t *region, int rank, size_t least)
{
    opal_region_life_t self;
    if (!take_pool(region))
        return false;
    opal_region_own_life(&self);
    region->pool = opal_region_pools(region->header) + region->number;
    region->pool->rank = rank;
    region->pool->base = (uintptr_t)region->header;
    region->pool->least = least;
    region->pool->space = self.space;
    region->pool->program = self.program;
    atomic_store_explicit(&region->pool->chunks, 0, memory_order_relaxed);
    atomic_store_explicit(&region->pool->ties, 0, memory_order_relaxed);
    atomic_store_explicit(&region->pool->pid, self.pid, memory_order_release);
    return true;
}

/* The others' memory is not part of this process' core file. */
static void map_out_of_cores(const smheap_region_t *region)
{
    madvise(region->header, region->bytes, MADV_DONTDUMP);
}

bool smheap_attach(smheap_region_t *region, int fd, int rank, const opal_memory_shared_t *settings,
                   char *reason, size_t room)
{
    opal_region_header_t copy;
    *region = (smheap_region_t){.fd = -1};
    const char *complaint = complaint_about(fd, &copy);
    if (complaint != NULL) {
        opal_say_into(reason, room, "the region (descriptor %d) is refused: %s", fd, complaint);
        return false;
    }
    complaint = limit_of(copy.bytes);
    if (complaint != NULL) {
        opal_say_into(reason, room, "no room for %u MiB: %s", (unsigned)(copy.bytes >> 20),
                      complaint);
        return false;
    }
    opal_region_header_t *header =
        smheap_map_region(fd, copy.bytes, offsetof(opal_region_header_t, base), settings->offset);
    if (header == NULL) {
        opal_say_into(reason, room, "no room for %u MiB of addresses",
                      (unsigned)(copy.bytes >> 20));
        return false;
    }
    /* A descriptor of our own; what was handed down is for MPI_Init to close. */
    int own = fcntl(fd, F_DUPFD_CLOEXEC, OWN_FD);
    *region = (smheap_region_t){
        .fd = own >= 0 ? own : fcntl(fd, F_DUPFD_CLOEXEC, 3),
        .header = header,
        .bytes = copy.bytes,
        .id = copy.id,
        .chunks = copy.chunks,
        .first_chunk = copy.first_chunk,
        .share = copy.share,
        .pool_count = copy.pool_count,
        .agreed = atomic_load_explicit(&header->base, memory_order_relaxed) == (uintptr_t)header,
    };
    identify(fd, region);
    if (!enter(region, rank, settings->min_bytes)) {
        opal_say_into(reason, room, "%u processes are attached, and there is room for no more",
                      copy.pool_count);
        smheap_detach(region);
        return false;
    }
    map_out_of_cores(region);
    return true;
}

void smheap_detach(smheap_region_t *region)
{
    smheap_unmap(region->header, region->bytes);
    close(region->fd);
    *region = (smheap_region_t){.fd = -1};
}
