/* SPDX-License-Identifier: BSD-3-Clause */
/* opal/heap/look.c: what headers say is what the heap counts itself; and headers that are none are
 * borne. */
#include "opal/heap/look.h"

#include "opal/heap/layout.h"
#include "test/unit/opal/heap/fake_source.h"

enum { MANY = 4000, STEPS = 12, GARBAGE = 5000 };

static void *blocks[MANY];
static uint64_t used_bytes, used_blocks, fill_pages;
static _Alignas(64) unsigned char copy[OPAL_HEAP_LOOK_BYTES];

static void look_at(void *context OPAL_UNUSED, void *start, size_t bytes)
{
    opal_heap_look_t look;
    uint8_t fill[OPAL_HEAP_LOOK_UNITS];
    if ((uintptr_t)start % OPAL_HEAP_CHUNK_BYTES != 0 || bytes < sizeof copy)
        return;
    memcpy(copy, start, sizeof copy);
    uint32_t most = (uint32_t)((bytes + OPAL_HEAP_CHUNK_MASK) >> OPAL_HEAP_CHUNK_SHIFT);
    opal_heap_look(copy, most, &look, fill);
    used_bytes += look.used_bytes;
    used_blocks += look.blocks;
    ck_assert(look.chunks == 1 || (look.use == OPAL_HEAP_USE_HUGE && look.chunks == most));
    ck_assert_uint_le(look.longest_hole_bytes, look.hole_bytes);
    for (uint32_t i = 0; i < look.chunks; i++) {
        if (look.chunks > 1)
            opal_heap_look_inside(&look, i, fill);
        for (int unit = 0; unit < OPAL_HEAP_LOOK_UNITS; unit++)
            fill_pages += fill[unit];
    }
}

static void compare(void)
{
    opal_heap_stats_t stats;
    opal_heap_stats(&heap, &stats);
    used_bytes = used_blocks = fill_pages = 0;
    opal_heap_each_stretch(&heap, look_at, NULL);
    ck_assert_uint_eq(used_bytes, stats.used_bytes + stats.threads * OPAL_HEAP_PAGE_BYTES);
    ck_assert_uint_eq(used_blocks, stats.used_blocks + stats.threads);
    /* Slabs are rounded up to pages. */
    ck_assert_uint_ge(fill_pages * OPAL_HEAP_PAGE_BYTES, used_bytes);
    ck_assert_uint_le(fill_pages * OPAL_HEAP_PAGE_BYTES, used_bytes + used_bytes / 2 + (64 << 12));
}

static size_t random_bytes(void)
{
    unsigned kind = (unsigned)rand() % 100;
    if (kind < 80)
        return 1 + (size_t)rand() % 40000;
    return kind < 99 ? (size_t)rand() % (1 << 20) : (size_t)rand() % (20 << 20);
}

START_TEST(headers_say_what_the_heap_counts)
{
    srand(3);
    compare();
    for (int step = 0; step < STEPS; step++) {
        for (int i = 0; i < MANY / 4; i++) {
            int at = rand() % MANY;
            opal_heap_free(&heap, blocks[at]);
            blocks[at] = rand() % 3 != 0 ? opal_heap_malloc(&heap, random_bytes()) : NULL;
        }
        compare();
    }
    for (int i = 0; i < MANY; i++)
        opal_heap_free(&heap, blocks[i]);
    opal_heap_trim(&heap, 0);
    compare();
}
END_TEST

static void check_limits(uint32_t most)
{
    opal_heap_look_t look;
    uint8_t fill[OPAL_HEAP_LOOK_UNITS];
    opal_heap_look(copy, most, &look, fill);
    uint64_t room = (uint64_t)look.chunks * OPAL_HEAP_CHUNK_BYTES;
    ck_assert(look.chunks >= 1 && look.chunks <= most);
    ck_assert_uint_le(look.used_bytes, room);
    ck_assert_uint_le(look.used_bytes + look.hole_bytes, room);
    ck_assert_uint_le(look.longest_hole_bytes, look.hole_bytes);
    ck_assert_uint_le(look.blocks, OPAL_HEAP_CHUNK_BYTES / 16);
    for (int unit = 0; unit < OPAL_HEAP_LOOK_UNITS; unit++)
        ck_assert_uint_le(fill[unit], OPAL_HEAP_LOOK_FULL);
}

/* Garbage behind a kind; and real headers with some bits the other way round. */
START_TEST(headers_that_are_none)
{
    static const uint32_t kinds[] = {OPAL_HEAP_SLABS, OPAL_HEAP_RUNS, OPAL_HEAP_HUGE, 17};
    srand(4);
    for (int n = 0; n < GARBAGE; n++) {
        for (size_t i = 0; i < sizeof copy; i += n % 2 ? 1 : 64)
            copy[i] = (unsigned char)rand();
        memcpy(copy, &kinds[n % 4], sizeof kinds[0]);
        check_limits(1 + (uint32_t)n % 7);
    }
    const void *block = opal_heap_malloc(&heap, 100);
    for (int n = 0; n < GARBAGE; n++) {
        memcpy(copy, opal_heap_chunk_of(block), sizeof copy);
        for (int bits = 0; bits < 20; bits++)
            copy[rand() % (int)sizeof copy] ^= (unsigned char)(1 << rand() % 8);
        check_limits(1);
    }
}
END_TEST

static const unit_test_t tests[] = {
    {.test = &headers_say_what_the_heap_counts},
    {.test = &headers_that_are_none},
};

UNIT_MAIN("opal/heap/look", tests, fake_open);
