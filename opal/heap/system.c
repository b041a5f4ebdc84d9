/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Anonymous memory for a heap.
 *
 * Threading: what a heap's lock protects, and calls of the system.
 */
#include "opal/heap/system.h"

#include <errno.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

/* Far above where small hints go and far below where the loader and mmap put things. */
#define CORNER_BASE  ((uintptr_t)0x2a0000000000)
#define CORNER_STEP  ((uintptr_t)1 << 32)
#define CORNER_STEPS 0x2000

#define CLAIM_BYTES   ((size_t)4 << 40)
#define RESERVE_BYTES ((size_t)64 << 30)
#define LEAST_BYTES   ((size_t)64 << 20)

/* What a heap knows of a chunk, about, and how much of the address space may go there. */
enum { BYTES_OF_CHUNK = 16, LIMIT_SHARE = 16, ATTEMPTS = 8 };

/* ThreadSanitizer has a shadow for some addresses only. */
#if defined(__SANITIZE_THREAD__)
#define CAN_CLAIM 0
#elif defined(__has_feature)
#define CAN_CLAIM !__has_feature(thread_sanitizer)
#else
#define CAN_CLAIM 1
#endif

/* -- system calls, not by functions that may be hooked --------------------------------- */

static void *map(void *start, size_t bytes, int protection, int flags)
{
    return (void *)syscall(SYS_mmap, start, bytes, protection, MAP_PRIVATE | MAP_ANONYMOUS | flags,
                           -1, 0L);
}

static void unmap(void *start, size_t bytes)
{
    syscall(SYS_munmap, start, bytes);
}

/* Only where nothing is. 0 or an errno value. */
static int map_new(void *start, size_t bytes, int protection, int flags)
{
    void *mapped = map(start, bytes, protection, MAP_FIXED_NOREPLACE | flags);
    if (mapped == start)
        return 0;
    if (mapped == MAP_FAILED)
        return errno;
    unmap(mapped, bytes); /* a kernel from before 4.17 took it for a hint */
    return EEXIST;
}

/* -- the heap's operations ------------------------------------------------------------- */

static void *source_extend(void *context, size_t *bytes)
{
    opal_heap_system_t *source = context;
    if (source->given || *bytes > source->bytes)
        return NULL;
    source->given = true;
    *bytes = source->bytes;
    return source->base;
}

static int source_commit(void *context, void *start, size_t bytes)
{
    opal_heap_system_t *source = context;
    int saved = errno, error = 0;
    if (!source->reserved)
        error = map_new(start, bytes, PROT_READ | PROT_WRITE, 0);
    else if (map(start, bytes, PROT_READ | PROT_WRITE, MAP_FIXED) == MAP_FAILED)
        error = errno;
    errno = saved;
    return error == 0 || error == EEXIST ? error : ENOMEM;
}

static void source_before_release(void *context, void *start, size_t bytes)
{
    opal_heap_system_t *source = context;
    source->before_release(source->context, start, bytes);
}

static void source_decommit(void *context, void *start, size_t bytes, bool again)
{
    opal_heap_system_t *source = context;
    int saved = errno;
    if (again) {
        /* Fails for locked pages. */
        if (syscall(SYS_madvise, start, bytes, MADV_DONTNEED) != 0)
            memset(start, 0, bytes);
    } else if (source->reserved) {
        map(start, bytes, PROT_NONE, MAP_FIXED | MAP_NORESERVE);
    } else {
        unmap(start, bytes);
    }
    errno = saved;
}

static bool source_move(void *context OPAL_UNUSED, void *start, size_t bytes, void *to)
{
    int saved = errno;
    /* The addresses are claimed first: mremap would overwrite other mappings there. */
    bool moved = map_new(to, bytes, PROT_NONE, MAP_NORESERVE) == 0;
    if (moved && (void *)syscall(SYS_mremap, start, bytes, bytes, MREMAP_MAYMOVE | MREMAP_FIXED,
                                 to) == MAP_FAILED) {
        unmap(to, bytes);
        moved = false;
    }
    errno = saved;
    return moved;
}

static void source_fault(void *context, opal_heap_fault_t fault, const void *pointer)
{
    opal_heap_system_t *source = context;
    source->fault(source->context, fault, pointer);
}

/* A reserved range has no gaps: what moves out of it would leave one. */
static void fill_ops(opal_heap_system_t *source)
{
    source->ops = (opal_heap_source_ops_t){
        .extend = source_extend,
        .commit = source_commit,
        .before_release = source->before_release != NULL ? source_before_release : NULL,
        .decommit = source_decommit,
        .move = source->reserved ? NULL : source_move,
        .fault = source->fault != NULL ? source_fault : NULL,
    };
}

/* -- finding a range ------------------------------------------------------------------- */

static size_t address_limit(void)
{
    struct rlimit limit;
    return getrlimit(RLIMIT_AS, &limit) == 0 && limit.rlim_cur != RLIM_INFINITY
               ? (size_t)limit.rlim_cur
               : SIZE_MAX;
}

/* Whether the corner is ours for now: nothing at its ends, and the kernel lets us. */
static bool is_vacant(uintptr_t base, size_t bytes)
{
    const uintptr_t probes[] = {base, base + bytes / 2, base + bytes - OPAL_HEAP_CHUNK_BYTES};
    for (size_t i = 0; i < OPAL_COUNT_OF(probes); i++) {
        void *at = (void *)probes[i];
        if (map_new(at, OPAL_HEAP_CHUNK_BYTES, PROT_NONE, MAP_NORESERVE) != 0)
            return false;
        unmap(at, OPAL_HEAP_CHUNK_BYTES);
    }
    return true;
}

static bool claim(opal_heap_system_t *source, size_t bytes)
{
    uint64_t random = 0;
    const void *bytes_of_kernel = (const void *)getauxval(AT_RANDOM);
    if (bytes_of_kernel != NULL)
        memcpy(&random, bytes_of_kernel, sizeof random);
    for (int i = 0; i < ATTEMPTS; i++) {
        uintptr_t base = CORNER_BASE + (random + (uint64_t)i * 1031) % CORNER_STEPS * CORNER_STEP;
        if (is_vacant(base, bytes)) {
            source->base = (void *)base;
            source->bytes = bytes;
            return true;
        }
    }
    return false;
}

static bool reserve(opal_heap_system_t *source, size_t bytes)
{
    for (; bytes >= LEAST_BYTES; bytes /= 2) {
        size_t more = bytes + OPAL_HEAP_CHUNK_BYTES;
        void *start = map(NULL, more, PROT_NONE, MAP_NORESERVE);
        if (start == MAP_FAILED)
            continue;
        uintptr_t begin = (uintptr_t)start;
        uintptr_t base =
            (begin + OPAL_HEAP_CHUNK_BYTES - 1) & ~(uintptr_t)(OPAL_HEAP_CHUNK_BYTES - 1);
        if (base > begin)
            unmap(start, base - begin);
        if (begin + more > base + bytes)
            unmap((void *)(base + bytes), begin + more - base - bytes);
        source->base = (void *)base;
        source->bytes = bytes;
        source->reserved = true;
        return true;
    }
    return false;
}

int opal_heap_system_open(opal_heap_system_t *source, opal_heap_config_t *config)
{
    int saved = errno;
    size_t limit = address_limit(), bytes = config->bytes != 0 ? config->bytes : CLAIM_BYTES;
    while (bytes / OPAL_HEAP_CHUNK_BYTES * BYTES_OF_CHUNK > limit / LIMIT_SHARE &&
           bytes > LEAST_BYTES)
        bytes /= 2;
    bytes &= ~(size_t)(OPAL_HEAP_CHUNK_BYTES - 1);
    source->given = source->reserved = false;
    if (!CAN_CLAIM || !claim(source, bytes)) {
        size_t most = limit / 2 < RESERVE_BYTES ? limit / 2 : RESERVE_BYTES;
        if (!reserve(source, bytes < most ? bytes : most))
            return ENOMEM;
    }
    fill_ops(source);
    config->ops = &source->ops;
    config->context = source;
    config->base = source->base;
    config->bytes = source->bytes;
    errno = saved;
    return 0;
}

void opal_heap_system_close(opal_heap_system_t *source)
{
    if (source->reserved)
        unmap(source->base, source->bytes);
    source->base = NULL;
    source->bytes = 0;
    source->given = source->reserved = false;
}
