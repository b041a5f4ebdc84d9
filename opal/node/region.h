/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The region: memory from which this process allocates and which its peers on the node have mapped,
 * too, so that a message in it is copied once, by loads and stores. The component that attaches to
 * the region fills in opal_region before main. Transports ask whether a buffer lies in the region.
 *
 *   if (opal_region_has(buffer, bytes))
 *       ... a peer finds it by its address: opal_node_view and opal_view_at in node.h
 *
 * Threading: written once, before there are threads; after fork the child has none.
 */
#ifndef OPAL_NODE_REGION_H
#define OPAL_NODE_REGION_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "opal/heap/heap.h"
#include "opal/include/compiler.h"
#include "opal/node/alias.h"

typedef struct opal_region {
    uintptr_t base;    /* where this process has mapped it */
    size_t bytes;      /* 0: there is none */
    uint64_t id;       /* random; processes with the same one see the same memory */
    int fd;            /* of its file; a program may have closed it */
    opal_heap_t *heap; /* this process' part; any block of the region may be freed into it */
    /* The pools and owners of region_file.h, and the number of this process' pool. */
    struct opal_region_pool *pools;
    _Atomic uint32_t *owners;
    uint32_t pool_count, number;
    /* The program's static data, if that is a block of the region, mapped where the program has
     * it, too: its address, and where in the region it lies. */
    uintptr_t statics;
    size_t statics_bytes, statics_offset;
    size_t alias_bytes; /* OPAL_ALIAS_BYTES if there may be aliases (alias.h), else 0 */
} opal_region_t;

OPAL_EXPORT extern opal_region_t opal_region;

/* Whether all of these bytes lie in the region, perhaps in an alias of a block. */
static inline bool opal_region_has(const void *start, size_t bytes)
{
    uintptr_t offset = (uintptr_t)start - opal_region.base;
    if (offset < opal_region.bytes)
        return bytes <= opal_region.bytes - offset;
    offset = (uintptr_t)start - opal_region.statics;
    if (offset < opal_region.statics_bytes)
        return bytes <= opal_region.statics_bytes - offset;
    return (uintptr_t)start - OPAL_ALIAS_BASE < opal_region.alias_bytes &&
           opal_alias_has((uintptr_t)start, bytes);
}

/* From now on peers may copy from and to this process' blocks, and give it blocks of theirs. If
   this process ends before it has called opal_region_leave_peers, its blocks are not reused while a
   peer lives. */
OPAL_EXPORT void opal_region_meet_peers(void);
OPAL_EXPORT void opal_region_leave_peers(void);

/* A block of at least one byte for data that peers access: in the region if there is one with room,
 * else of malloc. free returns it. NULL: no memory. */
OPAL_EXPORT void *opal_region_allocate(size_t alignment, size_t bytes);
OPAL_EXPORT void opal_region_free(void *block);

/* Whether a block of the region comes from this process' heap. */
OPAL_EXPORT bool opal_region_is_own(const void *block);

/* Another process is about to own this block, perhaps for longer than the process lives that has
   allocated it: the memory stays until no process lives that has had peers. */
OPAL_EXPORT void opal_region_hand_on(const void *block);

/*
 * The blocks of other processes that this process owns: a child of fork gets copies of them, too.
 * `lock` is called before the fork, and `unlock` after it on both sides. The lock is taken before
 * that of the heap. `each` is called in the child. NULL: there are none.
 */
typedef void opal_region_holding_fn_t(void *context, void *start, size_t bytes);
typedef struct opal_region_holdings {
    void (*lock)(void);
    void (*unlock)(void);
    void (*each)(opal_region_holding_fn_t *call, void *context);
} opal_region_holdings_t;

OPAL_EXPORT void opal_region_set_holdings(const opal_region_holdings_t *holdings);
const opal_region_holdings_t *opal_region_get_holdings(void);

#endif
