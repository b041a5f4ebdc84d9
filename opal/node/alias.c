/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The table of aliases, and mapping them.
 *
 * The mapping is copied from that of the region (mremap of no bytes), not made of the region's
 * file: a program may have closed its descriptor.
 */
#include "opal/node/alias.h"

#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "opal/node/node.h"
#include "opal/node/region.h"

enum { UNITS = OPAL_ALIAS_BYTES / OPAL_ALIAS_UNIT };

#define PRIVATE UINT64_MAX

/* ThreadSanitizer has a shadow for some addresses only. */
#if defined(__SANITIZE_THREAD__)
#define CAN_ALIAS 0
#elif defined(__has_feature)
#define CAN_ALIAS !__has_feature(thread_sanitizer)
#else
#define CAN_ALIAS 1
#endif

/* Under the lock, but for the entries, which peers read. */
static struct {
    pthread_mutex_t lock;
    _Atomic uint64_t *table; /* NULL: there was no alias yet */
    bool is_in_region;       /* peers read it */
    size_t top;              /* the unit behind the last one that is used */
} aliases = {.lock = PTHREAD_MUTEX_INITIALIZER};

/* -- looking up -------------------------------------------------------------------------------- */

bool opal_alias_find(const _Atomic uint64_t *table, size_t region_bytes, uintptr_t address,
                     size_t bytes, size_t *offset)
{
    size_t first = address - OPAL_ALIAS_BASE, last = first + (bytes > 0 ? bytes - 1 : 0);
    if (first >= OPAL_ALIAS_BYTES || bytes > OPAL_ALIAS_BYTES - first)
        return false;
    size_t units = last / OPAL_ALIAS_UNIT - first / OPAL_ALIAS_UNIT;
    uint64_t begin = atomic_load_explicit(&table[first / OPAL_ALIAS_UNIT], memory_order_relaxed);
    uint64_t end = atomic_load_explicit(&table[last / OPAL_ALIAS_UNIT], memory_order_relaxed);
    /* Peers can write what is in the table. */
    if (begin == 0 || begin > region_bytes || end - begin != units * OPAL_ALIAS_UNIT)
        return false;
    size_t found = begin - 1 + first % OPAL_ALIAS_UNIT;
    if (found >= region_bytes || bytes > region_bytes - found)
        return false;
    *offset = found;
    return true;
}

bool opal_alias_has(uintptr_t address, size_t bytes)
{
    size_t offset;
    return opal_alias_find(aliases.table, opal_region.bytes, address, bytes, &offset);
}

/* -- the table --------------------------------------------------------------------------------- */

/* Under the lock. False: no memory. */
static bool make_table(void)
{
    if (aliases.table != NULL)
        return true;
    aliases.is_in_region = opal_region.bytes > 0 && opal_node_base() != NULL;
    size_t bytes = UNITS * sizeof *aliases.table;
    aliases.table =
        aliases.is_in_region ? opal_heap_calloc(opal_region.heap, 1, bytes) : calloc(1, bytes);
    if (aliases.table == NULL)
        return false;
    if (aliases.is_in_region) {
        uint64_t offset = (uintptr_t)aliases.table - opal_region.base;
        atomic_store_explicit(&opal_node_own_slot()->aliases, offset, memory_order_release);
        opal_region.alias_bytes = OPAL_ALIAS_BYTES;
    }
    return true;
}

static void set_entries(size_t unit, size_t units, uint64_t value)
{
    for (size_t i = 0; i < units; i++) {
        uint64_t entry = value == 0 || value == PRIVATE ? value : value + i * OPAL_ALIAS_UNIT;
        atomic_store_explicit(&aliases.table[unit + i], entry, memory_order_relaxed);
    }
}

static bool is_free(size_t unit, size_t units)
{
    for (size_t i = 0; i < units; i++) {
        if (atomic_load_explicit(&aliases.table[unit + i], memory_order_relaxed) != 0)
            return false;
    }
    return true;
}

static size_t units_of(size_t bytes)
{
    return (bytes + OPAL_ALIAS_UNIT - 1) / OPAL_ALIAS_UNIT;
}

void opal_alias_stop(void)
{
    pthread_mutex_lock(&aliases.lock);
    if (aliases.is_in_region)
        atomic_store(&opal_node_own_slot()->aliases, 0);
    opal_region.alias_bytes = 0;
    if (aliases.table != NULL)
        opal_region_free((void *)(uintptr_t)aliases.table);
    aliases.table = NULL;
    aliases.is_in_region = false;
    aliases.top = 0;
    pthread_mutex_unlock(&aliases.lock);
}

/* -- making aliases ---------------------------------------------------------------------------- */

uintptr_t opal_alias_propose(void)
{
    pthread_mutex_lock(&aliases.lock);
    uintptr_t start = OPAL_ALIAS_BASE + aliases.top * OPAL_ALIAS_UNIT;
    pthread_mutex_unlock(&aliases.lock);
    return start;
}

uintptr_t opal_alias_choose(uintptr_t proposed, size_t bytes, size_t alignment)
{
    size_t step = alignment > OPAL_ALIAS_UNIT ? alignment : OPAL_ALIAS_UNIT;
    size_t offset = (proposed - OPAL_ALIAS_BASE + step - 1) / step * step;
    if (!CAN_ALIAS || bytes > OPAL_ALIAS_BYTES || step > OPAL_ALIAS_BYTES)
        return 0;
    /* At the end the lowest addresses are tried again. */
    return OPAL_ALIAS_BASE + (offset <= OPAL_ALIAS_BYTES - bytes ? offset : 0);
}

/* 0 or an errno value. */
static int reserve(void *start, size_t bytes, int protection, int flags)
{
    void *mapped = mmap(start, bytes, protection,
                        MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE | flags, -1, 0);
    if (mapped == start)
        return 0;
    if (mapped == MAP_FAILED)
        return errno;
    munmap(mapped, bytes); /* a kernel from before 4.17 took it for a hint */
    return EEXIST;
}

static int map_block(char *start, void *block, size_t bytes)
{
    int error = reserve(start, bytes, PROT_NONE, MAP_NORESERVE);
    if (error != 0)
        return error;
    void *mapped =
        (void *)syscall(SYS_mremap, block, 0, bytes, MREMAP_MAYMOVE | MREMAP_FIXED, start);
    if (mapped == start)
        return 0;
    error = errno;
    munmap(start, bytes);
    return error;
}

int opal_alias_map(uintptr_t start, void *block, size_t bytes)
{
    size_t unit = (start - OPAL_ALIAS_BASE) / OPAL_ALIAS_UNIT, units = units_of(bytes);
    int saved = errno, error = EEXIST;
    pthread_mutex_lock(&aliases.lock);
    if (!make_table()) {
        error = ENOMEM;
    } else if (is_free(unit, units)) {
        error = block != NULL ? map_block((char *)start, block, bytes)
                              : reserve((void *)start, bytes, PROT_READ | PROT_WRITE, 0);
        if (error == 0)
            set_entries(unit, units,
                        block != NULL ? (uintptr_t)block - opal_region.base + 1 : PRIVATE);
        if (error == 0 && aliases.top < unit + units)
            aliases.top = unit + units;
    }
    pthread_mutex_unlock(&aliases.lock);
    errno = saved;
    return error;
}

void opal_alias_unmap(uintptr_t start, size_t bytes)
{
    size_t unit = (start - OPAL_ALIAS_BASE) / OPAL_ALIAS_UNIT;
    munmap((void *)start, bytes);
    pthread_mutex_lock(&aliases.lock);
    if (aliases.table != NULL)
        set_entries(unit, units_of(bytes), 0);
    while (aliases.top > 0 && aliases.table != NULL && is_free(aliases.top - 1, 1))
        aliases.top--;
    pthread_mutex_unlock(&aliases.lock);
}
