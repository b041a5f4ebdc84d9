/* SPDX-License-Identifier: BSD-3-Clause */
/* A handler of unmapped memory that watches one address at a time: how often it is called when the
 * page of that address goes, by munmap and by free. */
#ifndef UNIT_MEMORY_WATCH_H
#define UNIT_MEMORY_WATCH_H

#include <malloc.h>
#include <stdatomic.h>

#include "opal/mca/memory/memory.h"
#include "opal/memory/events/events.h"
#include "test/unit/opal/support.h"

enum { WATCH_PAGE = 4096, WATCH_BLOCK = 8 << 20 };

/* All that a component can vouch for. */
static const unsigned everything =
    OPAL_MEMORY_FREE_SUPPORT | OPAL_MEMORY_CHUNK_SUPPORT | OPAL_MEMORY_MUNMAP_SUPPORT;

static atomic_uintptr_t watched;
static atomic_uint times_gone;

static inline opal_memory_verdict_t watch(opal_memory_event_t *event, void *context OPAL_UNUSED)
{
    uintptr_t start = (uintptr_t)event->vm.address, address = atomic_load(&watched);
    if (start <= address && address - start < event->vm.length)
        atomic_fetch_add(&times_gone, 1);
    return OPAL_MEMORY_PASS;
}

static opal_memory_handler_t watch_handler = {.events = OPAL_MEMORY_VM_UNMAPPED, .fn = watch};

static inline void watch_begin(void)
{
    ck_assert_int_eq(opal_memory_handler_add(&watch_handler), OPAL_SUCCESS);
}

static inline void watch_end(void)
{
    ck_assert(opal_memory_handler_remove(&watch_handler));
}

/* How often it is heard that a page goes. */
static inline unsigned times_unmapped(void)
{
    void *page = mmap(NULL, WATCH_PAGE, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    ck_assert_ptr_ne(page, MAP_FAILED);
    atomic_store(&watched, (uintptr_t)page);
    ck_assert_int_eq(munmap(page, WATCH_PAGE), 0);
    return atomic_exchange(&times_gone, 0);
}

static inline unsigned times_freed(void)
{
    char *volatile block = malloc(WATCH_BLOCK);
    ck_assert_ptr_nonnull(block);
    memset(block, 1, WATCH_BLOCK);
    atomic_store(&watched, (uintptr_t)block + WATCH_BLOCK / 2);
    free(block);
    malloc_trim(0); /* free may keep what it gets for a while */
    return atomic_exchange(&times_gone, 0);
}

#endif
