/* SPDX-License-Identifier: BSD-3-Clause */
/* ompi/mca/mpool/base/marks.c: every range that is watched is handed over once, or is lost. */
#include "ompi/mca/mpool/base/marks.h"

#include <pthread.h>
#include <sched.h>

#include "test/unit/opal/support.h"

enum { PAGE = 4096, THREADS = 8 };

#define GIB ((uintptr_t)1 << 30)

static ompi_mpool_marks_t marks;

static void setup(void)
{
    opal_memory_events_external(OPAL_MEMORY_ALL_EVENTS);
    ck_assert_int_eq(ompi_mpool_marks_open(&marks, true), OPAL_SUCCESS);
}

/* What was handed over. */
typedef struct taken {
    size_t count, bytes;
    uintptr_t begin, end; /* the hull */
} taken_t;

static void gone(void *context, uintptr_t begin, uintptr_t end)
{
    taken_t *taken = context;
    ck_assert_uint_lt(begin, end);
    if (taken->count == 0 || begin < taken->begin)
        taken->begin = begin;
    if (end > taken->end)
        taken->end = end;
    taken->count++;
    taken->bytes += end - begin;
}

static taken_t take(bool whole)
{
    taken_t taken = {0};
    ck_assert_int_eq(ompi_mpool_marks_take(&marks, gone, &taken), whole);
    ck_assert(!ompi_mpool_marks_pending(&marks));
    return taken;
}

START_TEST(nothing_is_watched_in_the_beginning)
{
    opal_memory_unmapped((void *)PAGE, SIZE_MAX - 2 * PAGE);
    ck_assert(!ompi_mpool_marks_pending(&marks));
    ck_assert_uint_eq(take(true).count, 0);
}
END_TEST

START_TEST(what_leaves_is_taken_once)
{
    ompi_mpool_marks_watch(&marks, 10 * PAGE, 100 * PAGE);
    opal_memory_unmapped((void *)(20 * (uintptr_t)PAGE), 5 * PAGE);
    ck_assert(ompi_mpool_marks_pending(&marks));
    taken_t taken = take(true);
    ck_assert_uint_eq(taken.count, 1);
    ck_assert_uint_eq(taken.begin, 20 * PAGE);
    ck_assert_uint_eq(taken.end, 25 * PAGE);
    ck_assert_uint_eq(take(true).count, 0);
}
END_TEST

START_TEST(only_what_is_watched_counts)
{
    static const struct {
        uintptr_t begin, end, wanted_begin, wanted_end; /* in pages */
    } rows[] = {
        {0, 10, 0, 0},     {100, 200, 0, 0},   {0, 11, 10, 11},  {99, 200, 99, 100},
        {0, 200, 10, 100}, {10, 100, 10, 100}, {50, 51, 50, 51}, {9, 10, 0, 0},
    };
    ompi_mpool_marks_watch(&marks, 30 * PAGE, 40 * PAGE);
    ompi_mpool_marks_watch(&marks, 10 * PAGE, 20 * PAGE);
    ompi_mpool_marks_watch(&marks, 90 * PAGE, 100 * PAGE);
    ompi_mpool_marks_add(&marks, rows[_i].begin * PAGE, rows[_i].end * PAGE);
    taken_t taken = take(true);
    ck_assert_uint_eq(taken.begin, rows[_i].wanted_begin * PAGE);
    ck_assert_uint_eq(taken.end, rows[_i].wanted_end * PAGE);
    ompi_mpool_marks_watch_nothing(&marks);
    ompi_mpool_marks_add(&marks, rows[_i].begin * PAGE, rows[_i].end * PAGE);
    ck_assert_uint_eq(take(true).count, 0);
}
END_TEST

/* Parts of pages are whole ones, and what is beyond the end of everything is at the end. */
START_TEST(odd_ranges_grow)
{
    ompi_mpool_marks_watch(&marks, 10 * PAGE, 100 * PAGE);
    ompi_mpool_marks_add(&marks, 20 * PAGE + 1, 21 * PAGE + 1);
    taken_t taken = take(true);
    ck_assert_uint_eq(taken.begin, 20 * PAGE);
    ck_assert_uint_eq(taken.end, 22 * PAGE);
    opal_memory_unmapped((void *)(99 * (uintptr_t)PAGE), SIZE_MAX);
    taken = take(true);
    ck_assert_uint_eq(taken.begin, 99 * PAGE);
    ck_assert_uint_eq(taken.end, 100 * PAGE);
}
END_TEST

START_TEST(long_ranges_take_several_words)
{
    static const uintptr_t lengths[] = {4 * GIB - PAGE, 4 * GIB, 4 * GIB + PAGE, 77 * GIB};
    uintptr_t begin = OMPI_MPOOL_MARK_LIMIT - 200 * GIB;
    ompi_mpool_marks_watch(&marks, begin, OMPI_MPOOL_MARK_LIMIT);
    for (size_t i = 0; i < OPAL_COUNT_OF(lengths); i++) {
        ompi_mpool_marks_add(&marks, begin + PAGE, begin + PAGE + lengths[i]);
        taken_t taken = take(true);
        ck_assert_uint_eq(taken.begin, begin + PAGE);
        ck_assert_uint_eq(taken.end, begin + PAGE + lengths[i]);
        ck_assert_uint_eq(taken.bytes, lengths[i]);
        ck_assert_uint_eq(taken.count, (lengths[i] + 4 * GIB - 2 * PAGE) / (4 * GIB - PAGE));
    }
}
END_TEST

START_TEST(too_many_are_lost_together)
{
    size_t count = 0;
    ompi_mpool_marks_watch(&marks, PAGE, 100000 * (uintptr_t)PAGE);
    for (size_t i = 1; i < 10000; i++)
        ompi_mpool_marks_add(&marks, 2 * i * PAGE, (2 * i + 1) * PAGE);
    taken_t taken = take(false);
    ck_assert_uint_gt(taken.count, OMPI_MPOOL_MARK_WORDS / 2);
    /* All words are free again. */
    for (size_t i = 1; i <= OMPI_MPOOL_MARK_WORDS / 2; i++)
        ompi_mpool_marks_add(&marks, 2 * i * PAGE, (2 * i + 1) * PAGE);
    count = take(true).count;
    ck_assert_uint_eq(count, OMPI_MPOOL_MARK_WORDS / 2);
}
END_TEST

START_TEST(the_same_again_needs_no_room)
{
    ompi_mpool_marks_watch(&marks, PAGE, 1000 * (uintptr_t)PAGE);
    for (size_t i = 0; i < 10000; i++)
        ompi_mpool_marks_add(&marks, 10 * PAGE, (11 + i % 2) * PAGE);
    ck_assert_uint_eq(take(true).count, 2);
    ompi_mpool_marks_add(&marks, 10 * PAGE, 11 * PAGE);
    ck_assert_uint_eq(take(true).count, 1);
}
END_TEST

START_TEST(what_is_closed_hears_nothing)
{
    ompi_mpool_marks_watch(&marks, PAGE, 100 * PAGE);
    ompi_mpool_marks_close(&marks);
    opal_memory_unmapped((void *)(uintptr_t)PAGE, PAGE);
    ck_assert(!ompi_mpool_marks_pending(&marks));
}
END_TEST

/* -- many threads -------------------------------------------------------------------------- */

/*
 * How often a thread's pages left, and how often this came here. All threads together have fewer
 * marks under way than words are tried for one (64): what leaves while the pool takes gathers
 * behind it, so that even a few hundred could fill a stretch, and be lost as they should.
 */
enum { ROUNDS = 20000, UNDER_WAY = 6 };
static atomic_uint left[THREADS], came[THREADS];
static atomic_uint running;

/* Each page leaves once, so that no two marks are alike. */
static void *leave(void *argument)
{
    uintptr_t me = (uintptr_t)argument;
    for (unsigned i = 1; i <= ROUNDS; i++) {
        uintptr_t page = me * ROUNDS + i;
        ompi_mpool_marks_add(&marks, page * PAGE, (page + 1) * PAGE);
        atomic_store(&left[me], i);
        while (i - atomic_load(&came[me]) > UNDER_WAY)
            sched_yield();
    }
    atomic_fetch_sub(&running, 1);
    return NULL;
}

static void count(void *context OPAL_UNUSED, uintptr_t begin, uintptr_t end)
{
    ck_assert_uint_eq(end - begin, PAGE);
    atomic_fetch_add(&came[(begin / PAGE - 1) / ROUNDS], 1);
}

START_TEST(no_mark_of_eight_threads_is_missed)
{
    pthread_t threads[THREADS];
    ompi_mpool_marks_watch(&marks, PAGE, (1 + (uintptr_t)THREADS * ROUNDS) * PAGE);
    atomic_store(&running, THREADS);
    for (uintptr_t i = 0; i < THREADS; i++)
        ck_assert_int_eq(pthread_create(&threads[i], NULL, leave, (void *)i), 0);
    while (atomic_load(&running) > 0) {
        unsigned before[THREADS];
        for (size_t i = 0; i < THREADS; i++)
            before[i] = atomic_load(&left[i]);
        if (ompi_mpool_marks_pending(&marks))
            ck_assert(ompi_mpool_marks_take(&marks, count, NULL));
        else
            sched_yield();
        /* What had left before is here. */
        for (size_t i = 0; i < THREADS; i++)
            ck_assert_uint_ge(atomic_load(&came[i]), before[i]);
    }
    for (size_t i = 0; i < THREADS; i++)
        pthread_join(threads[i], NULL);
    ompi_mpool_marks_take(&marks, count, NULL);
    for (size_t i = 0; i < THREADS; i++)
        ck_assert_uint_eq(atomic_load(&came[i]), ROUNDS);
}
END_TEST

static const unit_test_t tests[] = {
    {.test = &nothing_is_watched_in_the_beginning},
    {.test = &what_leaves_is_taken_once},
    {.test = &only_what_is_watched_counts, .repeats = 8},
    {.test = &odd_ranges_grow},
    {.test = &long_ranges_take_several_words},
    {.test = &too_many_are_lost_together},
    {.test = &the_same_again_needs_no_room},
    {.test = &what_is_closed_hears_nothing},
    {.test = &no_mark_of_eight_threads_is_missed},
};

UNIT_MAIN("marks", tests, setup);
