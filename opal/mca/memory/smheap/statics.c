/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Finding the program's static data, and mapping the region there.
 *
 * Which pages have been written to is what /proc/self/pagemap says: a page that is neither in
 * memory nor swapped out is zero. To read them all would make page tables for all of them.
 */
#include "opal/mca/memory/smheap/statics.h"

#include <fcntl.h>
#include <link.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "opal/mca/memory/smheap/map_region.h"

enum {
    LARGE_PAGE = 2 << 20, /* what the system may map at once, if addresses and file agree */
    ENTRIES = 512,        /* of pagemap, that are read at a time */
};

#define HAS_CONTENT (UINT64_C(3) << 62) /* an entry of pagemap: in memory, or swapped out */

static uintptr_t page_bytes(void)
{
    return (uintptr_t)sysconf(_SC_PAGESIZE);
}

/* The largest stretch of whole pages without a file in the program's own segments. */
static int find(struct dl_phdr_info *program, size_t size, void *context)
{
    smheap_statics_t *found = context;
    const uintptr_t page = page_bytes();
    (void)size;
    for (int i = 0; i < program->dlpi_phnum; i++) {
        const ElfW(Phdr) *segment = &program->dlpi_phdr[i];
        uintptr_t start = program->dlpi_addr + segment->p_vaddr;
        if (segment->p_type != PT_LOAD || (segment->p_flags & PF_W) == 0)
            continue;
        uintptr_t begin = (start + segment->p_filesz + page - 1) / page * page;
        uintptr_t end = (start + segment->p_memsz) / page * page;
        if (end > begin && end - begin > found->bytes)
            *found = (smheap_statics_t){.start = (char *)begin, .bytes = end - begin};
    }
    return 1; /* the program comes first */
}

/* False: it is not known which pages have content. */
static bool copy_content(char *to, const smheap_statics_t *statics)
{
    const size_t page = page_bytes();
    uint64_t entries[ENTRIES];
    int pagemap = open("/proc/self/pagemap", O_RDONLY | O_CLOEXEC);
    bool is_known = pagemap >= 0;
    for (size_t at = 0; is_known && at < statics->bytes;) {
        off_t first = (off_t)((uintptr_t)(statics->start + at) / page * sizeof *entries);
        ssize_t got = pread(pagemap, entries, sizeof entries, first);
        is_known = got >= (ssize_t)sizeof *entries;
        for (ssize_t i = 0; is_known && i < got / (ssize_t)sizeof *entries && at < statics->bytes;
             i++, at += page)
            if ((entries[i] & HAS_CONTENT) != 0)
                memcpy(to + at, statics->start + at, page);
    }
    if (pagemap >= 0)
        close(pagemap);
    return is_known;
}

static bool is_single_threaded(void)
{
    struct stat tasks;
    return stat("/proc/self/task", &tasks) == 0 && tasks.st_nlink == 3; /* itself, .. and one */
}

const char *smheap_share_statics(smheap_region_t *region, opal_heap_t *heap, size_t least)
{
    smheap_statics_t statics = {.bytes = 0};
    if (least == 0)
        return "memory_smheap_static_bytes is 0";
    dl_iterate_phdr(find, &statics);
    if (statics.bytes < least)
        return "the program has little";
    if (statics.bytes > (size_t)region->share * OPAL_HEAP_CHUNK_BYTES)
        return "it is larger than this rank's share of the region";
    /* What another thread writes between the copy and the mapping would be lost. */
    if (!is_single_threaded())
        return "a library has started a thread before main";
    char *block = opal_heap_memalign(heap, page_bytes(), statics.bytes + LARGE_PAGE);
    if (block == NULL || region->fd < 0)
        return "the region has no room for it";
    char *place = block + (uintptr_t)(statics.start - block) % LARGE_PAGE;
    statics.offset = (size_t)(place - (char *)region->header);
    if (!copy_content(place, &statics)) {
        opal_heap_free(heap, block);
        return "/proc/self/pagemap does not tell which of its pages are in use";
    }
    if (smheap_map(statics.start, statics.bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_FIXED,
                   region->fd, statics.offset) != statics.start)
        return "the system does not map it";
    syscall(SYS_madvise, statics.start, statics.bytes, MADV_HUGEPAGE);
    region->statics = statics;
    return NULL;
}
