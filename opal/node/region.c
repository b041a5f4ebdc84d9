/* SPDX-License-Identifier: BSD-3-Clause */
/* What this process writes into its pool for the other processes of the region. */
#include "opal/node/region.h"

#include <stdlib.h>

#include "opal/node/region_file.h"

opal_region_t opal_region;

static const opal_region_holdings_t *_Atomic region_holdings;

void opal_region_meet_peers(void)
{
    if (opal_region.bytes > 0)
        atomic_fetch_or(&opal_region.pools[opal_region.number].ties,
                        OPAL_REGION_MET | OPAL_REGION_SEEN);
}

void opal_region_leave_peers(void)
{
    if (opal_region.bytes > 0)
        atomic_fetch_and(&opal_region.pools[opal_region.number].ties, ~(uint32_t)OPAL_REGION_SEEN);
}

void *opal_region_allocate(size_t alignment, size_t bytes)
{
    void *block = NULL;
    bytes = bytes > 0 ? bytes : 1;
    if (bytes <= SIZE_MAX / 2 && opal_region.bytes > 0)
        block = opal_heap_memalign(opal_region.heap, alignment, bytes);
    if (bytes <= SIZE_MAX / 2 && block == NULL && posix_memalign(&block, alignment, bytes) != 0)
        return NULL;
    return block;
}

void opal_region_free(void *block)
{
    if (opal_region.bytes > 0 && opal_heap_owns(opal_region.heap, block))
        opal_heap_free(opal_region.heap, block);
    else
        free(block);
}

/* 1 + the number of the pool that a block comes from; 0: it lies elsewhere. */
static uint32_t owner_of(const void *block)
{
    uintptr_t offset = (uintptr_t)block - opal_region.base;
    if (offset >= opal_region.bytes || opal_region.owners == NULL)
        return 0;
    uint32_t owner = atomic_load(&opal_region.owners[offset / OPAL_HEAP_CHUNK_BYTES]);
    return owner <= opal_region.pool_count ? owner : 0;
}

bool opal_region_is_own(const void *block)
{
    return owner_of(block) == opal_region.number + 1;
}

void opal_region_hand_on(const void *block)
{
    uint32_t owner = owner_of(block);
    if (owner > 0)
        atomic_fetch_or(&opal_region.pools[owner - 1].ties, OPAL_REGION_GIVEN);
}

void opal_region_set_holdings(const opal_region_holdings_t *holdings)
{
    atomic_store(&region_holdings, holdings);
}

const opal_region_holdings_t *opal_region_get_holdings(void)
{
    return atomic_load(&region_holdings);
}
