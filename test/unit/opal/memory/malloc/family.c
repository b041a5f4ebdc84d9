/* SPDX-License-Identifier: BSD-3-Clause */
/* opal/memory/malloc/family.c: which heap serves which size, and every block goes home. */
#include "opal/memory/malloc/family.h"

#include <errno.h>
#include <pthread.h>

#include "opal/heap/system.h"
#include "opal/memory/hooks/watcher.h"
#include "test/unit/opal/support.h"

enum { LEAST = 10000 };

static opal_heap_system_t sources[2];
static opal_heap_t large, all;
static char reason[200];

static void open_heap(opal_heap_t *heap, opal_heap_system_t *source, size_t bytes)
{
    opal_heap_config_t config = {.bytes = bytes};
    ck_assert_int_eq(opal_heap_system_open(source, &config), 0);
    ck_assert_int_eq(opal_heap_open(heap, &config), 0);
}

static void serve(opal_heap_t *heap, size_t least)
{
    ck_assert_msg(opal_memory_family_serve(heap, least, reason, sizeof reason), "%s", reason);
}

/* Volatile, as the compiler knows what the functions do. */
static bool is_from(void *volatile block, const opal_heap_t *heap)
{
    bool found = block != NULL && opal_memory_family_heap_of(block) == heap;
    free(block);
    return found;
}

/* Every function, for a size; blocks at the beginning of a page come from `pages`. */
static bool all_from(size_t bytes, const opal_heap_t *heap, const opal_heap_t *pages)
{
    void *aligned = NULL;
    return is_from(malloc(bytes), heap) && is_from(calloc(2, bytes), heap) &&
           is_from(realloc(NULL, bytes), heap) && is_from(reallocarray(NULL, 1, bytes), heap) &&
           is_from(memalign(256, bytes), heap) && is_from(aligned_alloc(256, bytes), heap) &&
           is_from(valloc(bytes), pages) && posix_memalign(&aligned, 1 << 13, bytes) == 0 &&
           (uintptr_t)aligned % (1 << 13) == 0 && is_from(aligned, pages);
}

START_TEST(nobody_serves)
{
    ck_assert(is_from(malloc(100), NULL) && is_from(malloc(100000), NULL));
    ck_assert(!opal_memory_family_is_whole());
    /* By our names it is the same. */
    void *block = opal_memory_family_malloc(100000);
    block = opal_memory_family_realloc(block, 200000);
    ck_assert_uint_ge(opal_memory_family_malloc_usable_size(block), 200000);
    opal_memory_family_free(block);
    opal_memory_family_free(NULL);
    ck_assert_uint_eq(opal_memory_family_malloc_usable_size(NULL), 0);
    errno = 0;
    ck_assert_ptr_null(opal_memory_family_malloc(SIZE_MAX));
    ck_assert_int_eq(errno, ENOMEM);
}
END_TEST

START_TEST(one_serves_all)
{
    open_heap(&all, &sources[0], 0);
    serve(&all, 0);
    ck_assert(opal_memory_family_is_whole());
    ck_assert(all_from(100, &all, &all));
    ck_assert(all_from(100000, &all, &all));
}
END_TEST

START_TEST(one_serves_large_ones)
{
    open_heap(&large, &sources[0], 0);
    serve(&large, LEAST);
    ck_assert(!opal_memory_family_is_whole());
    ck_assert(all_from(LEAST, &large, &large));
    ck_assert(all_from(3 << 20, &large, &large));
    ck_assert(all_from(LEAST / 2 - 1, NULL, &large));
    ck_assert(is_from(malloc(LEAST - 1), NULL));
    ck_assert(is_from(pvalloc(LEAST), &large));
    ck_assert(is_from(pvalloc(1), &large));
}
END_TEST

/* In either order. */
START_TEST(both_serve)
{
    open_heap(&large, &sources[0], 0);
    open_heap(&all, &sources[1], 0);
    if (_i == 0)
        serve(&all, 0);
    serve(&large, LEAST);
    if (_i == 1)
        serve(&all, 0);
    ck_assert(all_from(LEAST, &large, &large));
    ck_assert(all_from(LEAST / 2 - 1, &all, &large));
    ck_assert_uint_ge(mallinfo2().arena, opal_heap_mallinfo2(&all).arena +
                                             opal_heap_mallinfo2(&large).arena - (1 << 20));
    ck_assert_int_eq(mallopt(M_TRIM_THRESHOLD, 1), 1);
    ck_assert_int_eq(mallopt(12345, 1), 0);
}
END_TEST

static void fill(unsigned char *block, size_t bytes)
{
    for (size_t i = 0; i < bytes; i++)
        block[i] = (unsigned char)(i * 5 + 3);
}

static bool is_filled(const unsigned char *block, size_t bytes)
{
    bool good = true;
    for (size_t i = 0; i < bytes; i++)
        good &= block[i] == (unsigned char)(i * 5 + 3);
    return good;
}

/* It moves when it has grown large, and what is in it comes along. What has been large stays. */
START_TEST(realloc_across_the_limit)
{
    open_heap(&large, &sources[0], 0);
    open_heap(&all, &sources[1], 0);
    if (_i == 1)
        serve(&all, 0);
    serve(&large, LEAST);
    opal_heap_t *small = _i == 1 ? &all : NULL;
    unsigned char *block = malloc(50);
    fill(block, 50);
    ck_assert_ptr_eq(opal_memory_family_heap_of(block), small);
    block = realloc(block, LEAST - 1);
    ck_assert_ptr_eq(opal_memory_family_heap_of(block), small);
    ck_assert(is_filled(block, 50));
    fill(block, LEAST - 1);
    block = realloc(block, LEAST);
    ck_assert_ptr_eq(opal_memory_family_heap_of(block), &large);
    ck_assert(is_filled(block, LEAST - 1));
    fill(block, LEAST);
    block = realloc(block, 50);
    ck_assert_ptr_eq(opal_memory_family_heap_of(block), &large);
    ck_assert(is_filled(block, 50));
    ck_assert_ptr_null(realloc(block, 0));
}
END_TEST

/* Blocks from before anybody served. */
START_TEST(old_blocks_go_home)
{
    unsigned char *old[2] = {malloc(100), malloc(100000)};
    fill(old[0], 100);
    fill(old[1], 100000);
    open_heap(&large, &sources[0], 0);
    open_heap(&all, &sources[1], 0);
    serve(&all, 0);
    serve(&large, LEAST);
    ck_assert_uint_ge(malloc_usable_size(old[0]), 100);
    old[0] = realloc(old[0], 200);
    ck_assert_ptr_eq(opal_memory_family_heap_of(old[0]), &all);
    ck_assert(is_filled(old[0], 100));
    old[1] = realloc(old[1], 200000);
    ck_assert_ptr_eq(opal_memory_family_heap_of(old[1]), &large);
    ck_assert(is_filled(old[1], 100000));
    free(old[0]);
    free(old[1]);
}
END_TEST

/* The heap for large blocks is full: they come from elsewhere, and errno tells nothing. */
START_TEST(no_room_is_no_failure)
{
    enum { BLOCKS = 60, BYTES = 5 << 20 };
    unsigned char *blocks[BLOCKS];
    open_heap(&large, &sources[0], 128 << 20);
    serve(&large, LEAST);
    int elsewhere = 0;
    errno = 77;
    for (int i = 0; i < BLOCKS; i++) {
        blocks[i] = i % 2 == 0 ? malloc(BYTES) : calloc(5, 1 << 20);
        ck_assert_ptr_nonnull(blocks[i]);
        elsewhere += opal_memory_family_heap_of(blocks[i]) == NULL;
    }
    ck_assert_int_eq(errno, 77);
    ck_assert_int_gt(elsewhere, BLOCKS / 4);
    ck_assert_int_lt(elsewhere, BLOCKS);
    void *aligned = memalign(4096, BYTES);
    ck_assert_ptr_null(opal_memory_family_heap_of(aligned));
    /* One that has to grow moves out. */
    fill(blocks[0], BYTES);
    ck_assert_ptr_eq(opal_memory_family_heap_of(blocks[0]), &large);
    blocks[0] = realloc(blocks[0], 64 << 20);
    ck_assert_ptr_null(opal_memory_family_heap_of(blocks[0]));
    ck_assert(is_filled(blocks[0], BYTES));
    for (int i = 0; i < BLOCKS; i++)
        free(blocks[i]);
    free(aligned);
    volatile size_t many = SIZE_MAX / 2; /* the compiler knows what calloc does */
    ck_assert_ptr_null(calloc(many, 3));
}
END_TEST

static void *churn(void *context)
{
    unsigned seed = (unsigned)(uintptr_t)context;
    for (int i = 0; i < 20000; i++) {
        void *volatile block = malloc((size_t)rand_r(&seed) % (3 * LEAST));
        block = realloc(block, 1 + (size_t)rand_r(&seed) % (3 * LEAST));
        free(block);
    }
    return NULL;
}

START_TEST(threads)
{
    pthread_t them[4];
    open_heap(&large, &sources[0], 0);
    serve(&large, LEAST);
    for (uintptr_t i = 0; i < OPAL_COUNT_OF(them); i++)
        pthread_create(&them[i], NULL, churn, (void *)i);
    for (size_t i = 0; i < OPAL_COUNT_OF(them); i++)
        pthread_join(them[i], NULL);
    ck_assert(is_from(malloc(LEAST), &large));
}
END_TEST

START_TEST(hooks_may_be_forbidden)
{
    setenv("OMPI_MCA_memory_malloc_hooks", "no", 1);
    open_heap(&large, &sources[0], 0);
    ck_assert(!opal_memory_family_serve(&large, LEAST, reason, sizeof reason));
    ck_assert_str_eq(reason, "memory_malloc_hooks is no");
    ck_assert(is_from(malloc(LEAST), NULL));
}
END_TEST

static const unit_test_t tests[] = {
    {&nobody_serves, 0, 0, 0},
    {&one_serves_all, 0, 0, 0},
    {&one_serves_large_ones, 0, 0, 0},
    {&both_serve, 2, 0, 0},
    {&realloc_across_the_limit, 2, 0, 0},
    {&old_blocks_go_home, 0, 0, 0},
    {&no_room_is_no_failure, 0, 0, 0},
    {&threads, 0, 0, 0},
    {&hooks_may_be_forbidden, 0, 0, 0},
};

static const unit_test_t beside_a_watcher[] = {
    {&nobody_serves, 0, 0, 0},
};

int main(void)
{
    if (opal_memory_watcher() != NULL)
        return unit_run("family", beside_a_watcher, OPAL_COUNT_OF(beside_a_watcher), NULL);
    return unit_run("family", tests, OPAL_COUNT_OF(tests), NULL);
}
