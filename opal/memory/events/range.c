/* SPDX-License-Identifier: BSD-3-Clause */
/* Ranges of pages as the kernel will round them. */
#include "opal/memory/events/range.h"

#include <errno.h>
#include <linux/magic.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/shm.h>
#include <sys/syscall.h>
#include <sys/vfs.h>

#include "opal/memory/events/dispatch.h"
#include "opal/util/maps.h"

#ifndef MREMAP_DONTUNMAP
#define MREMAP_DONTUNMAP 4
#endif

/* No processor that we know has a larger user part: 2^56 on x86-64, 2^52 on aarch64. */
static const uintptr_t address_space_end = (uintptr_t)1 << 56;

static const opal_memory_range_t nothing = {0, 0};

/* Pages, and what else the kernel rounds to, are powers of two. */
OPAL_MEMORY_HOT static opal_memory_range_t make_range(const void *address, size_t length,
                                                      size_t unit)
{
    uintptr_t start = (uintptr_t)address, page = opal_memory_page_bytes();
    if ((start & (page - 1)) != 0 || start >= address_space_end || length > address_space_end)
        return nothing;
    size_t rounded = (length + unit - 1) & ~(unit - 1);
    if (rounded > address_space_end - start)
        return nothing;
    return (opal_memory_range_t){start, rounded};
}

OPAL_MEMORY_HOT opal_memory_range_t opal_memory_range_of(const void *address, size_t length)
{
    return make_range(address, length, opal_memory_page_bytes());
}

/* -- mmap ----------------------------------------------------------------------- */

/* The largest huge page stands for a default that cannot be known: what lies behind the range is
 * forgotten as well. */
static size_t huge_page_bytes(int flags)
{
    enum { LARGEST_SHIFT = 30 };
    unsigned shift = (unsigned)flags >> MAP_HUGE_SHIFT & MAP_HUGE_MASK;
    return (size_t)1 << (shift != 0 ? shift : LARGEST_SHIFT);
}

/* hugetlb rounds the length up to its own pages. A file does not say so in the flags. */
static size_t mmap_unit(int flags, int fd)
{
    struct statfs status;
    if ((flags & MAP_ANONYMOUS) != 0)
        return (flags & MAP_HUGETLB) != 0 ? huge_page_bytes(flags) : opal_memory_page_bytes();
    int saved_errno = errno;
    bool huge = fstatfs(fd, &status) == 0 && status.f_type == HUGETLBFS_MAGIC;
    errno = saved_errno;
    return huge ? (size_t)status.f_bsize : opal_memory_page_bytes();
}

opal_memory_range_t opal_memory_range_mmap(const opal_memory_event_t *event)
{
    int flags = event->mmap.flags;
    bool replaces = (flags & MAP_FIXED) != 0 && (flags & MAP_FIXED_NOREPLACE) == 0;
    if (!replaces)
        return nothing;
    return make_range(event->mmap.address, event->mmap.length, mmap_unit(flags, event->mmap.fd));
}

/* -- mremap --------------------------------------------------------------------- */

/*
 * Whether a mapping that grows will move is not known before, so it counts as moving. Of one that
 * shrinks in its place only the tail goes. An old length of 0 makes a second mapping of shared
 * pages, and takes nothing away.
 */
opal_memory_range_t opal_memory_range_mremap_old(const opal_memory_event_t *event)
{
    int flags = event->mremap.flags;
    opal_memory_range_t old =
        opal_memory_range_of(event->mremap.old_address, event->mremap.old_length);
    opal_memory_range_t wanted =
        opal_memory_range_of(event->mremap.old_address, event->mremap.new_length);
    if (old.length == 0 || event->mremap.new_length == 0)
        return nothing;
    if ((flags & (MREMAP_FIXED | MREMAP_DONTUNMAP)) != 0)
        return old;
    if (wanted.length != 0 && wanted.length <= old.length) {
        old.start += wanted.length;
        old.length -= wanted.length;
        return old;
    }
    return (flags & MREMAP_MAYMOVE) != 0 ? old : nothing;
}

opal_memory_range_t opal_memory_range_mremap_new(const opal_memory_event_t *event)
{
    if ((event->mremap.flags & MREMAP_FIXED) == 0)
        return nothing;
    return opal_memory_range_of(event->mremap.new_address, event->mremap.new_length);
}

/* -- System V shared memory ----------------------------------------------------- */

/* From here to the end of the address space: the length cannot be known. */
static opal_memory_range_t everything_from(const void *address)
{
    uintptr_t start = (uintptr_t)address;
    return (opal_memory_range_t){start, address_space_end - start};
}

opal_memory_range_t opal_memory_range_segment(int id, const void *address)
{
    struct shmid_ds status;
    int saved_errno = errno;
    int failed = shmctl(id, IPC_STAT, &status);
    int error = errno;
    errno = saved_errno;
    if (failed == 0)
        return opal_memory_range_of(address, status.shm_segsz);
    /* A segment that may be attached but not looked at. */
    return error == EACCES ? everything_from(address) : nothing;
}

opal_memory_range_t opal_memory_range_shmat(const opal_memory_event_t *event)
{
    uintptr_t start = (uintptr_t)event->shmat.address;
    if ((event->shmat.flags & SHM_REMAP) == 0 || start == 0)
        return nothing;
    if ((event->shmat.flags & SHM_RND) != 0)
        start -= start % (uintptr_t)SHMLBA;
    return opal_memory_range_segment(event->shmat.id, (void *)start);
}

/* An attachment: the mappings of one segment whose offsets fit to one address. Parts of it may have
 * been unmapped or mapped over since. */
typedef struct attachment {
    uintptr_t address, end;
    uint64_t inode, device;
} attachment_t;

static bool visit_attachment(const opal_mapping_t *mapping, void *context)
{
    attachment_t *attachment = context;
    static const char prefix[] = "/SYSV";
    if (mapping->start < attachment->address ||
        mapping->offset != mapping->start - attachment->address ||
        strncmp(mapping->name, prefix, sizeof prefix - 1) != 0)
        return true;
    if (attachment->end == 0) {
        attachment->inode = mapping->inode;
        attachment->device = mapping->device;
    }
    if (mapping->inode == attachment->inode && mapping->device == attachment->device)
        attachment->end = mapping->end;
    return true;
}

opal_memory_range_t opal_memory_range_shmdt(const void *address)
{
    attachment_t attachment = {.address = (uintptr_t)address};
    if (attachment.address % opal_memory_page_bytes() != 0 ||
        attachment.address >= address_space_end)
        return nothing;
    if (!opal_maps_walk(visit_attachment, &attachment))
        return everything_from(address);
    if (attachment.end == 0)
        return nothing;
    return (opal_memory_range_t){attachment.address, attachment.end - attachment.address};
}

/* -- break and madvise ---------------------------------------------------------- */

opal_memory_range_t opal_memory_range_break(const void *low, const void *high)
{
    uintptr_t mask = opal_memory_page_bytes() - 1;
    uintptr_t start = ((uintptr_t)low + mask) & ~mask, end = ((uintptr_t)high + mask) & ~mask;
    return start < end ? (opal_memory_range_t){start, end - start} : nothing;
}

/* Advice that keeps the pages as they are. What is not listed, also for being newer than this list,
 * counts as dropping them. */
static bool keeps_pages(int advice)
{
    enum { PAGEOUT = 21, POPULATE_READ = 22, POPULATE_WRITE = 23, COLLAPSE = 25 };
    enum { SOFT_OFFLINE = 101, GUARD_REMOVE = 103 };
    switch (advice) {
    case MADV_NORMAL:
    case MADV_RANDOM:
    case MADV_SEQUENTIAL:
    case MADV_WILLNEED:
    case MADV_DONTFORK:
    case MADV_DOFORK:
    case MADV_MERGEABLE:
    case MADV_UNMERGEABLE:
    case MADV_HUGEPAGE:
    case MADV_NOHUGEPAGE:
    case MADV_DONTDUMP:
    case MADV_DODUMP:
    case MADV_WIPEONFORK:
    case MADV_KEEPONFORK:
    case MADV_COLD:
    case PAGEOUT:
    case POPULATE_READ:
    case POPULATE_WRITE:
    case COLLAPSE:
    case SOFT_OFFLINE:
    case GUARD_REMOVE:
        return true;
    default:
        return false;
    }
}

opal_memory_range_t opal_memory_range_madvise(const void *address, size_t length, int advice)
{
    return keeps_pages(advice) ? nothing : opal_memory_range_of(address, length);
}
