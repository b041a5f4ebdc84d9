/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A heap for the tests of the engine: anonymous memory, with a clock that the test turns, a log of
 * what went back to the system, and of what was said about wrong pointers.
 */
#ifndef OPAL_UNIT_HEAP_PLACE_H
#define OPAL_UNIT_HEAP_PLACE_H

#include <errno.h>
#include <stdatomic.h>
#include <sys/mman.h>

#include "opal/heap/system.h"
#include "test/unit/opal/support.h"

enum { MIB = 1 << 20, PLACE_LOG = 4096 };

typedef struct place_event {
    char *start;
    size_t bytes;
    bool gone; /* else: about to go */
} place_event_t;

static opal_heap_t heap;
static opal_heap_system_t place_source;
static opal_heap_config_t place_config;
static opal_heap_source_ops_t place_ops;
static const opal_heap_source_ops_t *place_system; /* what place_ops passes calls on to */
static place_event_t place_log[PLACE_LOG];
static atomic_int place_events, place_faults;
static atomic_uint place_msec = 1000;
static opal_heap_fault_t place_fault;
static const void *place_fault_at;
static atomic_int place_commits_left = INT32_MAX; /* then there is no memory */

static inline void place_note(void *start, size_t bytes, bool gone)
{
    int at = atomic_fetch_add(&place_events, 1);
    if (at < PLACE_LOG)
        place_log[at] = (place_event_t){start, bytes, gone};
}

/* The pages must be usable still. */
static inline void place_before_release(void *context OPAL_UNUSED, void *start, size_t bytes)
{
    unsigned char *pages = malloc(bytes >> 12);
    ck_assert_int_eq(mincore(start, bytes, pages), 0);
    free(pages);
    place_note(start, bytes, false);
}

static inline void place_decommit(void *context, void *start, size_t bytes, bool again)
{
    place_system->decommit(context, start, bytes, again);
    place_note(start, bytes, true);
}

static inline bool place_move(void *context, void *start, size_t bytes, void *to)
{
    bool moved = place_system->move(context, start, bytes, to);
    if (moved)
        place_note(start, bytes, true);
    return moved;
}

static inline int place_commit(void *context, void *start, size_t bytes)
{
    if (atomic_fetch_sub(&place_commits_left, 1) <= 0) {
        atomic_fetch_add(&place_commits_left, 1);
        return ENOMEM;
    }
    return place_system->commit(context, start, bytes);
}

static inline uint32_t place_now(void *context OPAL_UNUSED)
{
    return atomic_load(&place_msec);
}

static inline void place_say(void *context OPAL_UNUSED, opal_heap_fault_t fault,
                             const void *pointer)
{
    place_fault = fault;
    place_fault_at = pointer;
    atomic_fetch_add(&place_faults, 1);
}

/* Other values of place_config may be set before. */
static inline void place_open(void)
{
    ck_assert_int_eq(opal_heap_system_open(&place_source, &place_config), 0);
    place_system = place_config.ops;
    place_ops = *place_system;
    place_ops.before_release = place_before_release;
    place_ops.decommit = place_decommit;
    place_ops.move = place_system->move != NULL ? place_move : NULL;
    place_ops.commit = place_commit;
    place_ops.now_msec = place_now;
    place_ops.fault = place_say;
    place_config.ops = &place_ops;
    ck_assert_int_eq(opal_heap_open(&heap, &place_config), 0);
}

/* Each stretch that went was announced right before, in full. From one thread. */
static inline size_t place_check_log(void)
{
    size_t bytes = 0;
    int events = atomic_load(&place_events);
    ck_assert_int_lt(events, PLACE_LOG);
    ck_assert_int_eq(events % 2, 0);
    for (int i = 0; i < events; i += 2) {
        ck_assert(!place_log[i].gone && place_log[i + 1].gone);
        ck_assert_ptr_eq(place_log[i].start, place_log[i + 1].start);
        ck_assert_uint_eq(place_log[i].bytes, place_log[i + 1].bytes);
        bytes += place_log[i].bytes;
    }
    return bytes;
}

/* Whether all of [start, start + bytes) has gone since the log began. */
static inline bool place_has_gone(const void *start, size_t bytes)
{
    const char *at = start, *end = at + bytes;
    for (int i = 0; i < atomic_load(&place_events) && at < end; i++)
        if (place_log[i].gone && place_log[i].start <= at &&
            place_log[i].start + place_log[i].bytes > at) {
            at = place_log[i].start + place_log[i].bytes;
            i = -1;
        }
    return at >= end;
}

/* Pages in memory. What is not mapped counts as none. */
static inline size_t place_resident(const void *start, size_t bytes)
{
    uintptr_t begin = (uintptr_t)start & ~(uintptr_t)4095;
    size_t resident = 0;
    for (uintptr_t page = begin; page < (uintptr_t)start + bytes; page += 4096) {
        unsigned char in = 0;
        if (mincore((void *)page, 4096, &in) == 0)
            resident += in & 1;
    }
    return resident;
}

static inline void place_fill(void *block, size_t bytes, unsigned seed)
{
    memset(block, (int)(seed * 37 + 1) & 0xff, bytes);
}

static inline bool place_is_filled(const void *block, size_t bytes, unsigned seed)
{
    const unsigned char *at = block;
    unsigned char wanted = (unsigned char)(seed * 37 + 1);
    return bytes == 0 || (at[0] == wanted && memcmp(at, at + 1, bytes - 1) == 0);
}

static inline bool place_is_zero(const char *block, size_t bytes)
{
    return bytes == 0 || (block[0] == 0 && memcmp(block, block + 1, bytes - 1) == 0);
}

static inline size_t place_used_blocks(void)
{
    opal_heap_stats_t stats;
    opal_heap_stats(&heap, &stats);
    return stats.used_blocks;
}

#endif
