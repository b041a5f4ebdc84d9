/* SPDX-License-Identifier: BSD-3-Clause */
/* opal/memory/events/range.c: the arithmetic. What the kernel really does is in calls.c. */
#include "opal/memory/events/range.h"

#include <errno.h>
#include <sys/shm.h>

#include "test/unit/opal/support.h"

#define P 4096UL

static void check(opal_memory_range_t range, uintptr_t start, size_t length)
{
    ck_assert_uint_eq(range.length, length);
    if (length != 0)
        ck_assert_uint_eq(range.start, start);
}

START_TEST(plain_ranges)
{
    static const struct {
        uintptr_t address;
        size_t length, wanted;
    } cases[] = {
        {16 * P, P, P},
        {16 * P, 1, P},
        {16 * P, P + 1, 2 * P},
        {16 * P, 0, 0},
        {16 * P + 1, P, 0},    /* unaligned */
        {16 * P, SIZE_MAX, 0}, /* beyond the address space */
        {16 * P, SIZE_MAX - 17 * P, 0},
        {UINTPTR_MAX - P + 1, P, 0},
        {0, P, P},
    };
    for (size_t i = 0; i < OPAL_COUNT_OF(cases); i++)
        check(opal_memory_range_of((void *)cases[i].address, cases[i].length), cases[i].address,
              cases[i].wanted);
}
END_TEST

static opal_memory_event_t mmap_event(size_t length, int flags, int fd)
{
    return (opal_memory_event_t){.kind = OPAL_MEMORY_MMAP,
                                 .mmap = {NULL, (void *)(512 * P), length, 0, flags, fd, 0}};
}

START_TEST(mmap_replaces_if_it_is_fixed)
{
    const int anonymous = MAP_PRIVATE | MAP_ANONYMOUS;
    opal_memory_event_t event = mmap_event(P + 1, anonymous | MAP_FIXED, -1);
    check(opal_memory_range_mmap(&event), 512 * P, 2 * P);
    event = mmap_event(P, anonymous, -1);
    check(opal_memory_range_mmap(&event), 0, 0);
    event = mmap_event(P, anonymous | MAP_FIXED | MAP_FIXED_NOREPLACE, -1);
    check(opal_memory_range_mmap(&event), 0, 0);
    event = mmap_event(P, anonymous | MAP_FIXED | MAP_HUGETLB | 21 << MAP_HUGE_SHIFT, -1);
    check(opal_memory_range_mmap(&event), 512 * P, 2UL << 20);
    event = mmap_event(P, anonymous | MAP_FIXED | MAP_HUGETLB, -1); /* not known: the largest */
    check(opal_memory_range_mmap(&event), 512 * P, 1UL << 30);
    errno = EBUSY;
    event = mmap_event(P, MAP_SHARED | MAP_FIXED, -1); /* of no file: it will fail */
    check(opal_memory_range_mmap(&event), 512 * P, P);
    ck_assert_int_eq(errno, EBUSY);
}
END_TEST

START_TEST(mremap_takes_away)
{
    enum {
        MOVE = MREMAP_MAYMOVE,
        FIXED = MREMAP_MAYMOVE | MREMAP_FIXED,
        KEEP = MREMAP_MAYMOVE | 4
    };
    static const struct {
        size_t old_length, new_length;
        int flags;
        size_t skipped, old_gone, new_gone; /* pages */
    } cases[] = {
        {3 * P, 5 * P, 0, 0, 0, 0},     /* grows in its place or not at all */
        {3 * P, 5 * P, MOVE, 0, 3, 0},  /* may move */
        {3 * P, 3 * P, MOVE, 0, 0, 0},  /* stays */
        {3 * P, P, MOVE, 1, 2, 0},      /* loses its tail */
        {3 * P, P + 1, 0, 2, 1, 0},     /* to whole pages */
        {3 * P, 5 * P, FIXED, 0, 3, 5}, /* moves, onto something */
        {3 * P, P, FIXED, 0, 3, 1},     /* */
        {0, 2 * P, FIXED, 0, 0, 2},     /* a second mapping of the same pages */
        {0, 2 * P, MOVE, 0, 0, 0},      /* */
        {3 * P, 3 * P, KEEP, 0, 3, 0},  /* the pages go, the mapping stays */
        {3 * P, 0, MOVE, 0, 0, 0},      /* EINVAL */
    };
    for (size_t i = 0; i < OPAL_COUNT_OF(cases); i++) {
        opal_memory_event_t event = {
            .kind = OPAL_MEMORY_MREMAP,
            .mremap = {NULL, (void *)(64 * P), cases[i].old_length, cases[i].new_length,
                       cases[i].flags, (void *)(128 * P)},
        };
        check(opal_memory_range_mremap_old(&event), (64 + cases[i].skipped) * P,
              cases[i].old_gone * P);
        if (cases[i].new_length != 0)
            check(opal_memory_range_mremap_new(&event), 128 * P, cases[i].new_gone * P);
    }
}
END_TEST

START_TEST(the_break_by_whole_pages)
{
    check(opal_memory_range_break((void *)(8 * P + 1), (void *)(10 * P)), 9 * P, P);
    check(opal_memory_range_break((void *)(8 * P), (void *)(10 * P + 1)), 8 * P, 3 * P);
    check(opal_memory_range_break((void *)(8 * P + 1), (void *)(9 * P)), 0, 0);
    check(opal_memory_range_break((void *)(9 * P), (void *)(8 * P)), 0, 0);
}
END_TEST

START_TEST(advice_that_drops_pages)
{
    static const int drops[] = {
        MADV_DONTNEED,           MADV_FREE, MADV_REMOVE, 24 /* DONTNEED_LOCKED */,
        102 /* GUARD_INSTALL */, 4711 /* whatever comes */};
    static const int keeps[] = {
        MADV_NORMAL, MADV_WILLNEED, MADV_HUGEPAGE, MADV_DONTFORK, MADV_COLD, 21, 22, 23};
    for (size_t i = 0; i < OPAL_COUNT_OF(drops); i++)
        check(opal_memory_range_madvise((void *)(8 * P), P + 1, drops[i]), 8 * P, 2 * P);
    for (size_t i = 0; i < OPAL_COUNT_OF(keeps); i++)
        check(opal_memory_range_madvise((void *)(8 * P), P, keeps[i]), 0, 0);
}
END_TEST

START_TEST(an_attachment_is_found_by_its_parts)
{
    int id = shmget(IPC_PRIVATE, 5 * P, IPC_CREAT | 0600);
    ck_assert_int_ge(id, 0);
    char *first = shmat(id, NULL, 0), *second = shmat(id, NULL, 0);
    shmctl(id, IPC_RMID, NULL);
    ck_assert_ptr_ne(first, (void *)-1);
    ck_assert_ptr_ne(second, (void *)-1);
    errno = EBUSY;
    check(opal_memory_range_shmdt(first), (uintptr_t)first, 5 * P);
    munmap(first, P); /* the beginning, which shmdt does not need */
    munmap(first + 2 * P, P);
    check(opal_memory_range_shmdt(first), (uintptr_t)first, 5 * P);
    munmap(first + 4 * P, P);
    check(opal_memory_range_shmdt(first), (uintptr_t)first, 4 * P);
    check(opal_memory_range_shmdt(second), (uintptr_t)second, 5 * P);
    check(opal_memory_range_shmdt(second + P), 0, 0);
    check(opal_memory_range_shmdt(second + 1), 0, 0);
    check(opal_memory_range_shmdt(NULL), 0, 0);
    ck_assert_int_eq(errno, EBUSY);
    ck_assert_int_eq(shmdt(second), 0);
    check(opal_memory_range_shmdt(second), 0, 0);
}
END_TEST

static const unit_test_t tests[] = {
    {.test = &plain_ranges},
    {.test = &mmap_replaces_if_it_is_fixed},
    {.test = &mremap_takes_away},
    {.test = &the_break_by_whole_pages},
    {.test = &advice_that_drops_pages},
    {.test = &an_attachment_is_found_by_its_parts},
};

UNIT_MAIN("range", tests, NULL);
