/* SPDX-License-Identifier: BSD-3-Clause */
/* Real calls of malloc and free. */
#include "opal/mca/memory/base/trial.h"

#include <malloc.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include "opal/memory/events/events.h"
#include "opal/memory/malloc/family.h"

enum { SMALL_BYTES = 1, LARGE_BYTES = 4 << 20, ALIGNMENT = 4096 };

/* The range whose release is waited for. */
typedef struct watch {
    char *begin, *end;
    _Atomic size_t seen;
} watch_t;

static opal_memory_verdict_t see_release(opal_memory_event_t *event, void *context)
{
    watch_t *watch = context;
    char *begin = event->vm.address, *end = begin + event->vm.length;
    begin = begin < watch->begin ? watch->begin : begin;
    end = end > watch->end ? watch->end : end;
    if (begin < end)
        watch->seen += (size_t)(end - begin);
    return OPAL_MEMORY_PASS;
}

static size_t used_blocks(opal_heap_t *heap)
{
    opal_heap_stats_t stats;
    opal_heap_stats(heap, &stats);
    return stats.used_blocks;
}

/* Whether a block comes from a heap of ours, and is freed into it. Volatile: the compiler knows
 * what malloc and free do, and would leave them out. */
static bool comes_and_goes(void *volatile block)
{
    opal_heap_t *heap = block != NULL ? opal_memory_family_heap_of(block) : NULL;
    size_t before = heap != NULL ? used_blocks(heap) : 0;
    free(block);
    return heap != NULL && used_blocks(heap) < before;
}

static bool try_realloc(void)
{
    void *volatile block = malloc(SMALL_BYTES);
    void *grown = realloc(block, LARGE_BYTES);
    if (grown == NULL)
        free(block);
    return comes_and_goes(grown);
}

/* Whether memory that goes back to the system is reported. */
static bool try_release(void)
{
    char *volatile block = malloc(LARGE_BYTES);
    watch_t watch = {.begin = block, .end = block + LARGE_BYTES};
    opal_memory_handler_t handler = {
        .events = OPAL_MEMORY_VM_UNMAPPED, .fn = see_release, .context = &watch};
    if (block == NULL)
        return false;
    memset(block, 1, LARGE_BYTES);
    opal_memory_handler_add_passive(&handler);
    free(block);
    malloc_trim(0);
    opal_memory_handler_remove(&handler);
    return watch.seen >= LARGE_BYTES / 2; /* the block's own pages, of which the ends may be shared
                                           */
}

unsigned opal_memory_try_family(void)
{
    if (!opal_memory_family_is_whole() || !comes_and_goes(malloc(SMALL_BYTES)) ||
        !comes_and_goes(malloc(LARGE_BYTES)) || !try_realloc() ||
        !comes_and_goes(memalign(ALIGNMENT, LARGE_BYTES)))
        return 0;
    return OPAL_MEMORY_FREE_SUPPORT | (try_release() ? OPAL_MEMORY_CHUNK_SUPPORT : 0);
}

void opal_memory_try_unmapping(void)
{
    opal_memory_events_test(OPAL_MEMORY_VM_UNMAPPED);
}

unsigned opal_memory_with_munmap(unsigned support)
{
    opal_memory_report_t report;
    opal_memory_events_report(OPAL_MEMORY_VM_UNMAPPED, &report);
    return support | (report.finding == OPAL_MEMORY_VERIFIED ? OPAL_MEMORY_MUNMAP_SUPPORT : 0);
}
