/* SPDX-License-Identifier: BSD-3-Clause */
/* opal/heap/blocks.c: realloc keeps contents and moves little; alignment; a soak against a model.
 */
#include "test/unit/opal/heap/fake_source.h"

/* -- realloc --------------------------------------------------------------------------- */

START_TEST(realloc_keeps_what_is_in_it)
{
    static const size_t sizes[] = {1,       16,      100,     2000,     30000,    33000,   40000,
                                   100000,  600000,  1 << 20, 1100000,  3 << 20,  5 << 20, 20 << 20,
                                   9 << 20, 2 << 20, 500000,  32 << 10, 30 << 10, 64,      1};
    for (unsigned from = 0; from < OPAL_COUNT_OF(sizes); from++)
        for (unsigned to = 0; to < OPAL_COUNT_OF(sizes); to++) {
            char *block = opal_heap_malloc(&heap, sizes[from]);
            fake_fill(block, sizes[from], from);
            block = opal_heap_realloc(&heap, block, sizes[to]);
            ck_assert_ptr_nonnull(block);
            ck_assert_uint_ge(opal_heap_usable_size(&heap, block), sizes[to]);
            size_t kept = sizes[from] < sizes[to] ? sizes[from] : sizes[to];
            ck_assert(fake_is_filled(block, kept, from));
            fake_fill(block, sizes[to], to);
            opal_heap_free(&heap, block);
        }
    ck_assert_uint_eq(fake_used_blocks(), 0);
    fake_check_log();
}
END_TEST

START_TEST(realloc_at_its_ends)
{
    char *block = opal_heap_realloc(&heap, NULL, 50);
    ck_assert_ptr_nonnull(block);
    ck_assert_ptr_null(opal_heap_realloc(&heap, block, 0));
    ck_assert_uint_eq(fake_used_blocks(), 0);
    block = opal_heap_reallocarray(&heap, NULL, 10, 10);
    fake_fill(block, 100, 1);
    errno = 0;
    ck_assert_ptr_null(opal_heap_reallocarray(&heap, block, SIZE_MAX / 10, 11));
    ck_assert_int_eq(errno, ENOMEM);
    errno = 0;
    ck_assert_ptr_null(opal_heap_realloc(&heap, block, SIZE_MAX - 1));
    ck_assert_int_eq(errno, ENOMEM);
    ck_assert(fake_is_filled(block, 100, 1));
}
END_TEST

START_TEST(realloc_without_memory_leaves_the_block)
{
    static const size_t kinds[] = {1000, 900000, 9 * MIB};
    char *block = opal_heap_malloc(&heap, kinds[_i]);
    fake_fill(block, kinds[_i], 3);
    atomic_store(&fake_commits_left, 0);
    errno = 0;
    ck_assert_ptr_null(opal_heap_realloc(&heap, block, 200 * MIB));
    ck_assert_int_eq(errno, ENOMEM);
    ck_assert(fake_is_filled(block, kinds[_i], 3));
    opal_heap_free(&heap, block);
    ck_assert_uint_eq(fake_used_blocks(), 0);
}
END_TEST

/* By whole pages, so the block stays where it is while there is room behind it. */
START_TEST(runs_grow_and_shrink_in_place)
{
    char *block = opal_heap_malloc(&heap, 40000);
    for (size_t bytes = 40000; bytes < 900000; bytes += 5000)
        ck_assert_ptr_eq(opal_heap_realloc(&heap, block, bytes), block);
    ck_assert_ptr_eq(opal_heap_realloc(&heap, block, 40000), block);
    char *next = opal_heap_malloc(&heap, 40000);
    ck_assert(next > block && next < block + 900000); /* what was given back is used */
}
END_TEST

/* The pages move, not what is in them. */
START_TEST(huge_blocks_move_by_the_page_table)
{
    char *block = opal_heap_malloc(&heap, 30 * MIB), *wall = opal_heap_malloc(&heap, 30 * MIB);
    fake_fill(block, 30 * MIB, 5);
    char *moved = opal_heap_realloc(&heap, block, 90 * MIB);
    ck_assert_ptr_ne(moved, block);
    ck_assert(fake_is_filled(moved, 30 * MIB, 5));
    if (!fake_source.reserved) { /* a reserved range has to stay so: there it is copied */
        ck_assert_uint_eq(fake_resident(block, 30 * MIB), 0);
        ck_assert_uint_le(fake_resident(moved + 30 * MIB, 59 * MIB), 1);
        ck_assert(fake_has_gone(block, 30 * MIB));
    }
    fake_check_log();
    /* There is room behind it now. */
    ck_assert_ptr_eq(opal_heap_realloc(&heap, moved, 120 * MIB), moved);
    ck_assert(fake_is_filled(moved, 30 * MIB, 5));
    opal_heap_free(&heap, wall);
    opal_heap_free(&heap, moved);
}
END_TEST

START_TEST(huge_blocks_grow_in_a_few_steps)
{
    char *block = opal_heap_malloc(&heap, 10 * MIB);
    int before = atomic_load(&fake_commits_left);
    for (size_t pages = 1; pages <= 500; pages++)
        ck_assert_ptr_eq(opal_heap_realloc(&heap, block, 10 * MIB + pages * 4096), block);
    ck_assert_int_ge(atomic_load(&fake_commits_left), before - 3);
    ck_assert_uint_le(opal_heap_usable_size(&heap, block), 14 * MIB);
    ck_assert_uint_le(fake_resident(block, 14 * MIB), 1);
}
END_TEST

/* What grows takes the lowest free chunks, where the next search would begin: by one of them, by
   several. */
START_TEST(who_searches_after_growth_finds)
{
    static const size_t grown[] = {6 * MIB, 25 * MIB};
    char *block = opal_heap_malloc(&heap, 3 * MIB), *behind = opal_heap_malloc(&heap, 3 * MIB);
    ck_assert_ptr_eq(behind, block + OPAL_HEAP_CHUNK_BYTES);
    opal_heap_free(&heap, behind);
    ck_assert_ptr_eq(opal_heap_realloc(&heap, block, grown[_i]), block);
    char *next = opal_heap_malloc(&heap, 3 * MIB);
    ck_assert(next >= block + grown[_i]);
    opal_heap_free(&heap, next);
    opal_heap_free(&heap, block);
    ck_assert_uint_eq(fake_used_blocks(), 0);
}
END_TEST

START_TEST(a_huge_block_that_shrinks_gives_back)
{
    char *block = opal_heap_malloc(&heap, 50 * MIB);
    fake_fill(block, 50 * MIB, 6);
    ck_assert_ptr_eq(opal_heap_realloc(&heap, block, 10 * MIB), block);
    ck_assert(fake_is_filled(block, 10 * MIB, 6));
    ck_assert(fake_has_gone(block + 10 * MIB + 4096, 40 * MIB - 4096));
    ck_assert_uint_le(fake_resident(block, 50 * MIB), 10 * MIB / 4096 + 1);
    fake_check_log();
}
END_TEST

/* -- alignment ------------------------------------------------------------------------- */

START_TEST(memalign_aligns)
{
    static const size_t sizes[] = {0, 1, 100, 5000, 40000, 1 << 20, 3 << 20, 9 << 20};
    for (size_t alignment = 1; alignment <= 64 * MIB; alignment *= 2) {
        char *blocks[2 * OPAL_COUNT_OF(sizes)];
        for (unsigned i = 0; i < OPAL_COUNT_OF(blocks); i++) {
            size_t bytes = sizes[i / 2];
            blocks[i] = opal_heap_memalign(&heap, alignment, bytes);
            ck_assert_ptr_nonnull(blocks[i]);
            ck_assert_uint_eq((uintptr_t)blocks[i] % alignment, 0);
            ck_assert_uint_ge(opal_heap_usable_size(&heap, blocks[i]), bytes);
            fake_fill(blocks[i], bytes, i);
        }
        for (unsigned i = 0; i < OPAL_COUNT_OF(blocks); i++) {
            ck_assert(fake_is_filled(blocks[i], sizes[i / 2], i));
            if (i % 2 == 0) {
                blocks[i] = opal_heap_realloc(&heap, blocks[i], 2 * sizes[i / 2] + 1);
                ck_assert(fake_is_filled(blocks[i], sizes[i / 2], i));
            }
            opal_heap_free(&heap, blocks[i]);
        }
    }
    ck_assert_uint_eq(fake_used_blocks(), 0);
    ck_assert_int_eq(atomic_load(&fake_faults), 0);
}
END_TEST

START_TEST(memalign_refuses)
{
    errno = 0;
    ck_assert_ptr_null(opal_heap_memalign(&heap, SIZE_MAX, 10));
    ck_assert_int_eq(errno, EINVAL);
    errno = 0;
    ck_assert_ptr_null(opal_heap_memalign(&heap, SIZE_MAX / 2 + 1, 10));
    ck_assert_int_eq(errno, ENOMEM);
    errno = 0;
    ck_assert_ptr_null(opal_heap_memalign(&heap, 64, SIZE_MAX - 32));
    ck_assert_int_eq(errno, ENOMEM);
    ck_assert_uint_eq((uintptr_t)opal_heap_memalign(&heap, 48, 10) % 64, 0);
    errno = 0;
    ck_assert_ptr_null(opal_heap_pvalloc(&heap, SIZE_MAX));
    ck_assert_int_eq(errno, ENOMEM);
}
END_TEST

START_TEST(posix_memalign_tells_by_its_result)
{
    void *block = &block;
    errno = 77;
    ck_assert_int_eq(opal_heap_posix_memalign(&heap, &block, 4, 10), EINVAL);
    ck_assert_int_eq(opal_heap_posix_memalign(&heap, &block, 24, 10), EINVAL);
    ck_assert_int_eq(opal_heap_posix_memalign(&heap, &block, 0, 10), EINVAL);
    ck_assert_int_eq(opal_heap_posix_memalign(&heap, &block, 64, SIZE_MAX), ENOMEM);
    ck_assert_ptr_eq(block, &block);
    ck_assert_int_eq(opal_heap_posix_memalign(&heap, &block, 512, 10), 0);
    ck_assert_uint_eq((uintptr_t)block % 512, 0);
    ck_assert_int_eq(errno, 77);
}
END_TEST

START_TEST(pages)
{
    size_t page = (size_t)sysconf(_SC_PAGESIZE);
    char *block = opal_heap_valloc(&heap, 10);
    ck_assert_uint_eq((uintptr_t)block % page, 0);
    block = opal_heap_pvalloc(&heap, page + 1);
    ck_assert_uint_eq((uintptr_t)block % page, 0);
    ck_assert_uint_ge(opal_heap_usable_size(&heap, block), 2 * page);
    ck_assert_uint_eq(opal_heap_usable_size(&heap, NULL), 0);
}
END_TEST

/* -- everything at random, against a model --------------------------------------------- */

enum { MODEL_BLOCKS = 3000, MODEL_STEPS = 60000 };

typedef struct model {
    unsigned char *at;
    size_t bytes;
    unsigned seed;
} model_t;

static uint64_t random_state;

static uint64_t next_random(void)
{
    random_state = random_state * 6364136223846793005u + 1442695040888963407u;
    return random_state >> 24;
}

static size_t random_bytes(void)
{
    uint64_t kind = next_random() % 1000, random = next_random();
    return kind < 900 ? random % 1500 : kind < 990 ? random % 60000 : random % (3 * MIB);
}

/* A few places are enough for a large block; each byte of a small one is looked at. */
static void model_fill(model_t *block, unsigned seed)
{
    block->seed = seed;
    for (size_t i = 0; i < block->bytes; i += block->bytes < 4096 ? 1 : 509)
        block->at[i] = (unsigned char)(seed + i);
}

static void model_check(const model_t *block, size_t bytes)
{
    bool good = true;
    for (size_t i = 0; i < bytes; i += block->bytes < 4096 ? 1 : 509)
        good &= block->at[i] == (unsigned char)(block->seed + i);
    ck_assert(good);
}

static void model_take(model_t *block)
{
    uint64_t how = next_random() % 4;
    size_t alignment = (size_t)16 << next_random() % 10;
    block->bytes = random_bytes();
    if (how == 0)
        block->at = opal_heap_calloc(&heap, 1, block->bytes);
    else if (how == 1)
        block->at = opal_heap_memalign(&heap, alignment, block->bytes);
    else
        block->at = opal_heap_malloc(&heap, block->bytes);
    ck_assert_ptr_nonnull(block->at);
    ck_assert(how != 1 || (uintptr_t)block->at % alignment == 0);
    ck_assert(how != 0 || fake_is_zero((const char *)block->at, block->bytes));
}

static void model_resize(model_t *block)
{
    size_t bytes = random_bytes() + 1, old = block->bytes;
    block->at = opal_heap_realloc(&heap, block->at, bytes);
    ck_assert_ptr_nonnull(block->at);
    model_check(block, old < bytes ? old : bytes);
    block->bytes = bytes;
}

START_TEST(soak)
{
    static model_t blocks[MODEL_BLOCKS];
    random_state = (uint64_t)_i;
    size_t count = 0;
    for (unsigned step = 0; step < MODEL_STEPS; step++) {
        model_t *block = &blocks[next_random() % MODEL_BLOCKS];
        if (block->at == NULL) {
            model_take(block);
            model_fill(block, step);
            count++;
            continue;
        }
        model_check(block, block->bytes);
        if (next_random() % 3 == 0) {
            model_resize(block);
            model_fill(block, step);
            continue;
        }
        opal_heap_free(&heap, block->at);
        block->at = NULL;
        count--;
        if (step % 5000 == 0)
            atomic_fetch_add(&fake_msec, 700); /* what is unused goes back now and then */
        if (step % 20011 == 0)
            opal_heap_trim(&heap, next_random() % (8 * MIB));
    }
    ck_assert_uint_eq(fake_used_blocks(), count);
    for (unsigned i = 0; i < MODEL_BLOCKS; i++)
        opal_heap_free(&heap, blocks[i].at);
    ck_assert_uint_eq(fake_used_blocks(), 0);
    ck_assert_int_eq(atomic_load(&fake_faults), 0);
}
END_TEST

static const unit_test_t tests[] = {
    {.test = &realloc_keeps_what_is_in_it},
    {.test = &realloc_at_its_ends},
    {.test = &realloc_without_memory_leaves_the_block, .repeats = 3},
    {.test = &runs_grow_and_shrink_in_place},
    {.test = &huge_blocks_move_by_the_page_table},
    {.test = &who_searches_after_growth_finds, .repeats = 2},
    {.test = &huge_blocks_grow_in_a_few_steps},
    {.test = &a_huge_block_that_shrinks_gives_back},
    {.test = &memalign_aligns},
    {.test = &memalign_refuses},
    {.test = &posix_memalign_tells_by_its_result},
    {.test = &pages},
    {.test = &soak, .repeats = 3},
};

UNIT_MAIN("opal/heap/blocks", tests, fake_open);
