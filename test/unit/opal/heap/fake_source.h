/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A heap for the tests of the engine: anonymous memory, with a clock that the test turns, a log of
 * what went back to the system, and of what was said about wrong pointers.
 */
#ifndef OPAL_UNIT_HEAP_FAKE_SOURCE_H
#define OPAL_UNIT_HEAP_FAKE_SOURCE_H

#include <errno.h>
#include <stdatomic.h>
#include <sys/mman.h>

#include "opal/heap/system.h"
#include "test/unit/opal/support.h"

enum { MIB = 1 << 20, FAKE_LOG = 4096 };

typedef struct fake_event {
    char *start;
    size_t bytes;
    bool gone; /* else: about to go */
} fake_event_t;

static opal_heap_t heap;
static opal_heap_system_t fake_source;
static opal_heap_config_t fake_config;
static opal_heap_source_ops_t fake_ops;
static const opal_heap_source_ops_t *fake_system; /* what fake_ops passes calls on to */
static fake_event_t fake_log[FAKE_LOG];
static atomic_int fake_events, fake_faults;
static atomic_uint fake_msec = 1000;
static opal_heap_fault_t fake_fault;
static const void *fake_fault_at;
static atomic_int fake_commits_left = INT32_MAX; /* then there is no memory */

static inline void fake_note(void *start, size_t bytes, bool gone)
{
    int at = atomic_fetch_add(&fake_events, 1);
    if (at < FAKE_LOG)
        fake_log[at] = (fake_event_t){start, bytes, gone};
}

/* The pages must be usable still. */
static inline void fake_before_release(void *context OPAL_UNUSED, void *start, size_t bytes)
{
    unsigned char *pages = malloc(bytes >> 12);
    ck_assert_int_eq(mincore(start, bytes, pages), 0);
    free(pages);
    fake_note(start, bytes, false);
}

static inline void fake_decommit(void *context, void *start, size_t bytes, bool again)
{
    fake_system->decommit(context, start, bytes, again);
    fake_note(start, bytes, true);
}

static inline bool fake_move(void *context, void *start, size_t bytes, void *to)
{
    bool moved = fake_system->move(context, start, bytes, to);
    if (moved)
        fake_note(start, bytes, true);
    return moved;
}

static inline int fake_commit(void *context, void *start, size_t bytes)
{
    if (atomic_fetch_sub(&fake_commits_left, 1) <= 0) {
        atomic_fetch_add(&fake_commits_left, 1);
        return ENOMEM;
    }
    return fake_system->commit(context, start, bytes);
}

static inline uint32_t fake_now(void *context OPAL_UNUSED)
{
    return atomic_load(&fake_msec);
}

static inline void fake_say(void *context OPAL_UNUSED, opal_heap_fault_t fault, const void *pointer)
{
    fake_fault = fault;
    fake_fault_at = pointer;
    atomic_fetch_add(&fake_faults, 1);
}

/* Other values of fake_config may be set before. */
static inline void fake_open(void)
{
    ck_assert_int_eq(opal_heap_system_open(&fake_source, &fake_config), 0);
    fake_system = fake_config.ops;
    fake_ops = *fake_system;
    fake_ops.before_release = fake_before_release;
    fake_ops.decommit = fake_decommit;
    fake_ops.move = fake_system->move != NULL ? fake_move : NULL;
    fake_ops.commit = fake_commit;
    fake_ops.now_msec = fake_now;
    fake_ops.fault = fake_say;
    fake_config.ops = &fake_ops;
    ck_assert_int_eq(opal_heap_open(&heap, &fake_config), 0);
}

/* Each stretch that went was announced right before, in full. From one thread. */
static inline size_t fake_check_log(void)
{
    size_t bytes = 0;
    int events = atomic_load(&fake_events);
    ck_assert_int_lt(events, FAKE_LOG);
    ck_assert_int_eq(events % 2, 0);
    for (int i = 0; i < events; i += 2) {
        ck_assert(!fake_log[i].gone && fake_log[i + 1].gone);
        ck_assert_ptr_eq(fake_log[i].start, fake_log[i + 1].start);
        ck_assert_uint_eq(fake_log[i].bytes, fake_log[i + 1].bytes);
        bytes += fake_log[i].bytes;
    }
    return bytes;
}

/* Whether all of [start, start + bytes) has gone since the log began. */
static inline bool fake_has_gone(const void *start, size_t bytes)
{
    const char *at = start, *end = at + bytes;
    for (int i = 0; i < atomic_load(&fake_events) && at < end; i++)
        if (fake_log[i].gone && fake_log[i].start <= at &&
            fake_log[i].start + fake_log[i].bytes > at) {
            at = fake_log[i].start + fake_log[i].bytes;
            i = -1;
        }
    return at >= end;
}

/* How many pages of the range are resident. A page that is not mapped is not counted. */
static inline size_t fake_resident(const void *start, size_t bytes)
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

static inline void fake_fill(void *block, size_t bytes, unsigned seed)
{
    memset(block, (int)(seed * 37 + 1) & 0xff, bytes);
}

static inline bool fake_is_filled(const void *block, size_t bytes, unsigned seed)
{
    const unsigned char *at = block;
    unsigned char wanted = (unsigned char)(seed * 37 + 1);
    return bytes == 0 || (at[0] == wanted && memcmp(at, at + 1, bytes - 1) == 0);
}

static inline bool fake_is_zero(const char *block, size_t bytes)
{
    return bytes == 0 || (block[0] == 0 && memcmp(block, block + 1, bytes - 1) == 0);
}

static inline size_t fake_used_blocks(void)
{
    opal_heap_stats_t stats;
    opal_heap_stats(&heap, &stats);
    return stats.used_blocks;
}

#endif
