/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Looking for an address that is free in all processes of the node.
 *
 * The loader, mmap and the stack are at the top of the address space, small hints and the program
 * itself at its bottom. In between, far from both, nothing is mapped in any program, wherever the
 * system has put it. opal/heap/system.c uses addresses further up.
 */
#include "opal/mca/memory/smheap/map_region.h"

#include <errno.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "opal/heap/heap.h"
#include "opal/util/maps.h"

#define FAR_BASE  ((uint64_t)0x100000000000)
#define FAR_STEP  ((uint64_t)1 << 30)
#define FAR_BYTES ((uint64_t)0x100000000000)

enum { ATTEMPTS = 8 };

void *smheap_map(void *start, size_t bytes, int protection, int flags, int fd, size_t offset)
{
    return (void *)syscall(SYS_mmap, start, bytes, protection, flags, fd, offset);
}

void smheap_unmap(void *start, size_t bytes)
{
    syscall(SYS_munmap, start, bytes);
}

/* Only where nothing is. */
static void *map_at(uintptr_t start, int fd, size_t bytes)
{
    void *wanted = (void *)start;
    void *mapped = smheap_map(wanted, bytes, PROT_READ | PROT_WRITE,
                              MAP_SHARED | MAP_NORESERVE | MAP_FIXED_NOREPLACE, fd, 0);
    if (mapped == wanted)
        return mapped;
    if (mapped != MAP_FAILED)
        smheap_unmap(mapped, bytes); /* a kernel from before 4.17 took it for a hint */
    return NULL;
}

static void *map_anywhere(int fd, size_t bytes)
{
    const uintptr_t chunk = OPAL_HEAP_CHUNK_BYTES;
    void *room = smheap_map(NULL, bytes + chunk, PROT_NONE,
                            MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (room == MAP_FAILED)
        return NULL;
    uintptr_t begin = (uintptr_t)room, base = (begin + chunk - 1) & ~(chunk - 1);
    void *mapped = smheap_map((void *)base, bytes, PROT_READ | PROT_WRITE,
                              MAP_SHARED | MAP_NORESERVE | MAP_FIXED, fd, 0);
    int error = errno;
    if (mapped == MAP_FAILED) {
        smheap_unmap(room, bytes + chunk);
        errno = error;
        return NULL;
    }
    if (base > begin)
        smheap_unmap(room, base - begin);
    if (base + bytes < begin + bytes + chunk)
        smheap_unmap((void *)(base + bytes), begin + chunk - base);
    return mapped;
}

/* -- an address of one's own choice -------------------------------------------------------- */

static void *map_far(int fd, size_t bytes)
{
    uint64_t random = 0;
    const char *bytes_of_kernel = (const char *)getauxval(AT_RANDOM);
    if (bytes_of_kernel != NULL)
        memcpy(&random, bytes_of_kernel + sizeof random, sizeof random);
    for (uint64_t i = 0; i < ATTEMPTS; i++) {
        uint64_t step = (random + i * 1031) % (FAR_BYTES / FAR_STEP);
        void *mapped = map_at(FAR_BASE + step * FAR_STEP, fd, bytes);
        if (mapped != NULL)
            return mapped;
    }
    return NULL;
}

typedef struct hole {
    uintptr_t behind; /* the mapping before */
    uintptr_t begin;
    size_t bytes;
} hole_t;

static bool widest(const opal_mapping_t *mapping, void *context)
{
    hole_t *hole = context;
    if (mapping->start > hole->behind && mapping->start - hole->behind > hole->bytes) {
        hole->begin = hole->behind;
        hole->bytes = mapping->start - hole->behind;
    }
    hole->behind = mapping->end;
    return true;
}

/* In the middle of the widest hole of /proc/self/maps. */
static void *map_in_hole(int fd, size_t bytes)
{
    hole_t hole = {.behind = FAR_STEP};
    if (!opal_maps_walk(widest, &hole) || hole.bytes < bytes)
        return NULL;
    uintptr_t middle = hole.begin + (hole.bytes - bytes) / 2;
    return map_at((middle + FAR_STEP - 1) & ~(uintptr_t)(FAR_STEP - 1), fd, bytes);
}

static void *map_first(int fd, size_t bytes)
{
    void *mapped = map_far(fd, bytes);
    if (mapped == NULL)
        mapped = map_in_hole(fd, bytes);
    return mapped != NULL ? mapped : map_anywhere(fd, bytes);
}

/* -- agreeing ------------------------------------------------------------------------------ */

void *smheap_map_region(int fd, size_t bytes, size_t agreed_offset, bool elsewhere)
{
    uint64_t address = 0;
    if (pread(fd, &address, sizeof address, (off_t)agreed_offset) != (ssize_t)sizeof address)
        return NULL;
    if (elsewhere)
        return map_anywhere(fd, bytes);
    if (address == 0) {
        void *mapped = map_first(fd, bytes);
        if (mapped == NULL)
            return NULL;
        _Atomic uint64_t *agreed = (_Atomic uint64_t *)(void *)((char *)mapped + agreed_offset);
        if (atomic_compare_exchange_strong(agreed, &address, (uintptr_t)mapped) ||
            address == (uintptr_t)mapped)
            return mapped;
        smheap_unmap(mapped, bytes); /* another process was faster: its address */
    }
    void *mapped = map_at((uintptr_t)address, fd, bytes);
    return mapped != NULL ? mapped : map_anywhere(fd, bytes);
}
