/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * opal/arch/copy.c and its kernels: every one that this CPU can run copies the right bytes, writes
 * no other one and reads none that is not in the source.
 */
#include "opal/arch/copy.h"

#include <pthread.h>

#include "opal/arch/copy_kernel.h"
#include "test/unit/opal/support.h"

enum {
    GUARD = 64,
    LINE = 64,
    PAGE = 4096,
    SMALL_MAX = 1024,
    LARGE_MAX = 3 * 1024 * 1024,
    RANDOM_COPIES = 200,
    THREADS = 4,
};

static unsigned char *source, *target, *blank; /* the last as the target was before */

/* The numbers repeat after a prime, so that no line or page is like another one. */
static unsigned char *make_area(size_t bytes, unsigned salt)
{
    unsigned char *area = aligned_alloc(PAGE, (bytes + PAGE) / PAGE * PAGE);
    ck_assert_ptr_nonnull(area);
    for (size_t i = 0; i < bytes; i++)
        area[i] = (unsigned char)((i * salt + i / 251) % 253);
    return area;
}

static void make_areas(void)
{
    size_t bytes = LARGE_MAX + 2 * PAGE + 2 * GUARD;
    source = make_area(bytes, 7);
    target = make_area(bytes, 11);
    blank = make_area(bytes, 11);
}

/* Chooses the kernel number i; false if there is none, or not for this CPU. */
static bool use(int i)
{
    if ((size_t)i >= opal_copy_kernel_count || !opal_copy_kernels[i].usable())
        return false;
    opal_copy_choose(&opal_copy_kernels[i]);
    return true;
}

/* Copies between the offsets, looks at the target and the bytes around it, and restores them. */
static void check_copy(size_t to, size_t from, size_t bytes)
{
    opal_copy(target + GUARD + to, source + from, bytes);
    bool right = memcmp(target + GUARD + to, source + from, bytes) == 0;
    bool before = memcmp(target + to, blank + to, GUARD) == 0;
    size_t end = GUARD + to + bytes;
    bool after = memcmp(target + end, blank + end, GUARD) == 0;
    ck_assert_msg(right && before && after,
                  "%s: %zu bytes from %zu to %zu: copied %s, bytes in front %s, behind %s",
                  opal_copy_choice()->kernel->name, bytes, from, to, right ? "right" : "wrong",
                  before ? "kept" : "lost", after ? "kept" : "lost");
    memcpy(target + GUARD + to, blank + GUARD + to, bytes);
}

START_TEST(small_sizes)
{
    make_areas();
    if (!use(_i))
        return;
    for (size_t bytes = 0; bytes <= SMALL_MAX; bytes++) {
        for (size_t to = 0; to < LINE; to++)
            check_copy(to, (to * 5 + bytes) % LINE, bytes);
    }
}
END_TEST

START_TEST(alignments)
{
    static const size_t sizes[] = {257, 700};
    make_areas();
    if (!use(_i))
        return;
    for (size_t i = 0; i < OPAL_COUNT_OF(sizes); i++) {
        for (size_t to = 0; to < LINE; to++) {
            for (size_t from = 0; from < LINE; from++)
                check_copy(to, from, sizes[i]);
        }
    }
}
END_TEST

/* Around the sizes from which a kernel goes about it in another way, and what the parts leave. */
START_TEST(sizes_around_pages)
{
    make_areas();
    if (!use(_i))
        return;
    for (size_t pages = 1; pages <= 16; pages++) {
        for (size_t more = 0; more < PAGE; more += 320) {
            for (size_t bytes = pages * PAGE + more - 1; bytes <= pages * PAGE + more + 1; bytes++)
                check_copy(bytes % 67, bytes % 59, bytes);
        }
    }
}
END_TEST

START_TEST(random_sizes)
{
    make_areas();
    if (!use(_i))
        return;
    srandom((unsigned)_i);
    for (int i = 0; i < RANDOM_COPIES; i++) {
        size_t limit = (size_t)LARGE_MAX >> random() % 12;
        check_copy((size_t)random() % PAGE, (size_t)random() % PAGE, (size_t)random() % limit);
    }
}
END_TEST

/* So many pages, between two that cannot be touched. */
static unsigned char *make_island(size_t pages)
{
    unsigned char *area =
        mmap(NULL, (pages + 2) * PAGE, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    ck_assert_ptr_ne(area, MAP_FAILED);
    ck_assert_int_eq(mprotect(area + PAGE, pages * PAGE, PROT_READ | PROT_WRITE), 0);
    memset(area + PAGE, 1, pages * PAGE);
    return area + PAGE;
}

/* A byte read or written beyond either end would be a fault. */
START_TEST(nothing_beyond_the_ends)
{
    enum { PAGES = 20, SIZES = 1500 };
    unsigned char *from = make_island(PAGES), *to = make_island(PAGES);
    const size_t all = PAGES * PAGE;
    if (!use(_i))
        return;
    for (size_t bytes = 0; bytes < SIZES; bytes++) {
        opal_copy(to, from, bytes);
        opal_copy(to, from + all - bytes, bytes);
        opal_copy(to + all - bytes, from, bytes);
        opal_copy(to + all - bytes, from + all - bytes, bytes);
        opal_copy(to, from + bytes, all - bytes);
        opal_copy(to + bytes, from, all - bytes);
    }
}
END_TEST

START_TEST(all_that_run_are_measured)
{
    opal_copy_choose(NULL);
    const opal_copy_choice_t *choice = opal_copy_choice();
    ck_assert(choice->measured);
    ck_assert(choice->kernel->usable());
    for (size_t i = 0; i < opal_copy_kernel_count; i++) {
        for (size_t k = 0; k < OPAL_COPY_TRIALS; k++)
            ck_assert_int_eq(choice->speed[i][k] > 0, opal_copy_kernels[i].usable());
    }
}
END_TEST

START_TEST(a_named_one_is_used)
{
    for (size_t i = 0; i < opal_copy_kernel_count; i++) {
        opal_copy_choose(&opal_copy_kernels[i]);
        ck_assert_ptr_eq(opal_copy_choice()->kernel, &opal_copy_kernels[i]);
        ck_assert(!opal_copy_choice()->measured);
    }
}
END_TEST

static opal_copy_fn_t *unmeasured;

static void *copy_until_measured(void *room)
{
    do
        opal_copy_large(room, source, SMALL_MAX);
    while (__atomic_load_n(&opal_copy_current, __ATOMIC_RELAXED) == unmeasured);
    return NULL;
}

/* A first message does not wait for a measurement. */
START_TEST(little_is_copied_without_a_measurement)
{
    make_areas();
    opal_copy_choose(NULL);
    unmeasured = opal_copy_current;
    for (size_t copied = 0; copied < OPAL_COPY_UNMEASURED_BYTES; copied += SMALL_MAX) {
        opal_copy_large(target, source, SMALL_MAX);
        ck_assert(opal_copy_current == unmeasured);
    }
    ck_assert_mem_eq(target, source, SMALL_MAX);
    opal_copy_large(target, source, SMALL_MAX);
    ck_assert(opal_copy_current != unmeasured);
}
END_TEST

/* Each of them may be the one that makes the choice. */
START_TEST(first_copies_at_once)
{
    pthread_t threads[THREADS];
    make_areas();
    opal_copy_choose(NULL);
    unmeasured = opal_copy_current;
    for (size_t i = 0; i < THREADS; i++)
        ck_assert_int_eq(pthread_create(&threads[i], NULL, copy_until_measured, target + i * PAGE),
                         0);
    for (size_t i = 0; i < THREADS; i++) {
        ck_assert_int_eq(pthread_join(threads[i], NULL), 0);
        ck_assert_mem_eq(target + i * PAGE, source, SMALL_MAX);
    }
    ck_assert(opal_copy_choice()->measured);
}
END_TEST

static const unit_test_t tests[] = {
    {.test = &little_is_copied_without_a_measurement},
    {.test = &small_sizes, .repeats = OPAL_COPY_KERNELS_MAX},
    {.test = &alignments, .repeats = OPAL_COPY_KERNELS_MAX},
    {.test = &sizes_around_pages, .repeats = OPAL_COPY_KERNELS_MAX},
    {.test = &random_sizes, .repeats = OPAL_COPY_KERNELS_MAX},
    {.test = &nothing_beyond_the_ends, .repeats = OPAL_COPY_KERNELS_MAX},
    {.test = &all_that_run_are_measured},
    {.test = &a_named_one_is_used},
    {.test = &first_copies_at_once},
};

UNIT_MAIN("copy", tests, NULL);
