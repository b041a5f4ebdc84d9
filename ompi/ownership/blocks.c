/* SPDX-License-Identifier: BSD-3-Clause */
/* A hash table with open addressing: a block is in the first slot that was free from the slot of
 * its hash on. Removing a block moves others up, so that no gap lies between a block and that slot.
 */
#include "ompi/ownership/blocks.h"

#include <pthread.h>
#include <stdint.h>
#include <stdlib.h>
#include <unistd.h>

#include "opal/memory/events/events.h"
#include "opal/node/region.h"

enum { ALIGNMENT = 64, FIRST_SLOTS = 64 };

static struct {
    ompi_block_t *slots; /* NULL in `start`: free */
    size_t count;        /* of slots: 0 or a power of two; at most half of them are taken */
    size_t owned, reserved;
} table;

/* Held while the table changes, in addition to the message lock: fork waits for this lock alone. */
static pthread_mutex_t change = PTHREAD_MUTEX_INITIALIZER;

static void lock(void)
{
    pthread_mutex_lock(&change);
}

static void unlock(void)
{
    pthread_mutex_unlock(&change);
}

static void each_taken(opal_region_holding_fn_t *call, void *context)
{
    for (size_t i = 0; i < table.count; i++)
        if (table.slots[i].start != NULL && table.slots[i].is_taken)
            call(context, table.slots[i].start, table.slots[i].bytes);
}

static const opal_region_holdings_t holdings = {lock, unlock, each_taken};

static size_t slot_of(const void *start)
{
    uint64_t key = (uintptr_t)start / ALIGNMENT * UINT64_C(0x9e3779b97f4a7c15);
    return (size_t)(key >> 32) & (table.count - 1);
}

static size_t next_slot(size_t slot)
{
    return (slot + 1) & (table.count - 1);
}

/* Where the block is, or would be. */
static ompi_block_t *look_up(const void *start)
{
    size_t slot = slot_of(start);
    while (table.slots[slot].start != NULL && table.slots[slot].start != start)
        slot = next_slot(slot);
    return &table.slots[slot];
}

static bool grow(void)
{
    ompi_block_t *old = table.slots;
    size_t old_count = table.count, count = old_count > 0 ? 2 * old_count : FIRST_SLOTS;
    ompi_block_t *slots = calloc(count, sizeof *slots);
    if (slots == NULL)
        return false;
    lock();
    table.slots = slots;
    table.count = count;
    for (size_t i = 0; i < old_count; i++)
        if (old[i].start != NULL)
            *look_up(old[i].start) = old[i];
    unlock();
    free(old);
    opal_region_set_holdings(&holdings);
    return true;
}

bool ompi_block_reserve(void)
{
    if (2 * (table.owned + table.reserved + 1) > table.count && !grow())
        return false;
    table.reserved++;
    return true;
}

void ompi_block_unreserve(void)
{
    table.reserved--;
}

void ompi_block_own(const ompi_block_t *block)
{
    lock();
    *look_up(block->start) = *block;
    unlock();
    table.owned++;
    table.reserved--;
}

bool ompi_block_find(const void *start, ompi_block_t *block)
{
    if (table.count == 0 || start == NULL)
        return false;
    *block = *look_up(start);
    return block->start != NULL;
}

/* Moves blocks behind the gap that could not be found any more into it. */
static void close_gap(size_t gap)
{
    for (size_t i = next_slot(gap); table.slots[i].start != NULL; i = next_slot(i)) {
        size_t wanted = slot_of(table.slots[i].start);
        if (((i - wanted) & (table.count - 1)) < ((i - gap) & (table.count - 1)))
            continue;
        table.slots[gap] = table.slots[i];
        gap = i;
    }
    table.slots[gap].start = NULL;
}

bool ompi_block_disown(const void *start, ompi_block_t *block)
{
    if (!ompi_block_find(start, block))
        return false;
    lock();
    close_gap((size_t)(look_up(start) - table.slots));
    unlock();
    table.owned--;
    table.reserved++;
    return true;
}

/* -- memory ------------------------------------------------------------------------------ */

bool ompi_block_allocate(size_t bytes, ompi_block_t *block)
{
    void *start = opal_region_allocate(ALIGNMENT, bytes);
    if (start == NULL)
        return false;
    *block = (ompi_block_t){.start = start, .bytes = bytes};
    return true;
}

/* Whether another taken block lies in a page: then the page is reported when the last of them
 * leaves.
 */
static bool is_in_use(uintptr_t page, size_t page_bytes)
{
    for (size_t i = 0; i < table.count; i++) {
        uintptr_t start = (uintptr_t)table.slots[i].start;
        if (start != 0 && table.slots[i].is_taken && start < page + page_bytes &&
            start + table.slots[i].bytes > page)
            return true;
    }
    return false;
}

/* Pages of this process's own part of the region are reported by its heap. */
void ompi_block_leave(const ompi_block_t *block)
{
    if (!block->is_taken || opal_region_is_own(block->start) || !opal_memory_unmapping_matters())
        return;
    uintptr_t page_bytes = (uintptr_t)sysconf(_SC_PAGESIZE), mask = page_bytes - 1;
    uintptr_t start = (uintptr_t)block->start, end = start + block->bytes;
    uintptr_t first = start & ~mask, behind = (end + mask) & ~mask;
    if ((start & mask) != 0 && is_in_use(first, page_bytes))
        first += page_bytes;
    if ((end & mask) != 0 && behind > first && is_in_use(behind - page_bytes, page_bytes))
        behind -= page_bytes;
    if (behind > first)
        opal_memory_unmapped((void *)first, behind - first);
}

void ompi_block_free(const ompi_block_t *block)
{
    ompi_block_leave(block);
    opal_region_free(block->start);
}

void ompi_blocks_end(void)
{
    ompi_block_t *slots = table.slots;
    opal_region_set_holdings(NULL);
    lock();
    table.slots = NULL;
    table.count = table.owned = table.reserved = 0;
    unlock();
    free(slots);
}
