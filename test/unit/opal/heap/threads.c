/* SPDX-License-Identifier: BSD-3-Clause */
/* opal/heap/threads.c and pages.c: blocks that other threads free, threads that end while their
 * blocks live on, and states that are used again. */
#include <pthread.h>
#include <sched.h>

#include "opal/heap/engine.h"
#include "test/unit/opal/heap/fake_source.h"

enum { COUNT = 20000, WORKERS = 4 };

static char *blocks[COUNT];

static size_t bytes_of(int i)
{
    return (size_t)i * 7919 % 3000 + (i % 500 == 0 ? 100000 : 0);
}

static void *take_all(void *unused OPAL_UNUSED)
{
    for (int i = 0; i < COUNT; i++) {
        blocks[i] = opal_heap_malloc(&heap, bytes_of(i));
        fake_fill(blocks[i], bytes_of(i), (unsigned)i);
    }
    return NULL;
}

static void *give_all(void *unused OPAL_UNUSED)
{
    for (int i = 0; i < COUNT; i++) {
        ck_assert(fake_is_filled(blocks[i], bytes_of(i), (unsigned)i));
        opal_heap_free(&heap, blocks[i]);
    }
    return NULL;
}

static void run(void *(*call)(void *))
{
    pthread_t thread;
    ck_assert_int_eq(pthread_create(&thread, NULL, call, NULL), 0);
    ck_assert_int_eq(pthread_join(thread, NULL), 0);
}

START_TEST(blocks_live_on_after_their_thread)
{
    run(take_all);
    give_all(NULL);
    /* Freed, but the state that owns most of them is idle. */
    ck_assert_uint_ge(fake_used_blocks(), COUNT / 2);
    opal_heap_trim(&heap, 0);
    ck_assert_uint_eq(fake_used_blocks(), 0);
    ck_assert_int_eq(atomic_load(&fake_faults), 0);
}
END_TEST

START_TEST(another_thread_frees_them)
{
    take_all(NULL);
    run(give_all);
    opal_heap_trim(&heap, 0);
    ck_assert_uint_eq(fake_used_blocks(), 0);
}
END_TEST

/* Thread after thread: neither states nor memory become more. */
START_TEST(states_are_used_again)
{
    opal_heap_stats_t stats;
    size_t peak = 0;
    for (int i = 0; i < 30; i++) {
        run(take_all);
        run(give_all);
        opal_heap_stats(&heap, &stats);
        if (i == 1)
            peak = stats.peak_committed_bytes;
    }
    ck_assert_uint_eq(stats.threads, 2);
    ck_assert_uint_le(stats.peak_committed_bytes, peak + 12 * MIB);
}
END_TEST

static void *take_some(void *where)
{
    char **mine = where;
    for (int i = 0; i < 1000; i++)
        mine[i] = opal_heap_malloc(&heap, 64);
    for (int i = 0; i < 1000; i += 2)
        opal_heap_free(&heap, mine[i]);
    return NULL;
}

/* Free blocks in the pages of a thread that has ended serve the others. */
START_TEST(pages_are_adopted)
{
    pthread_t thread;
    pthread_create(&thread, NULL, take_some, blocks);
    pthread_join(thread, NULL);
    char *one = NULL;
    bool adopted = false;
    for (int i = 0; i < 2000 && !adopted; i++) {
        one = opal_heap_malloc(&heap, 64);
        for (int k = 0; k < 1000; k += 2)
            adopted |= one == blocks[k];
    }
    ck_assert(adopted);
}
END_TEST

/* -- passing blocks around ------------------------------------------------------------- */

typedef struct letter {
    struct letter *_Atomic next;
    unsigned seed;
    size_t bytes; /* behind this head */
} letter_t;

static letter_t *_Atomic mail[WORKERS];
static atomic_int finished;

static void send(int to, unsigned seed)
{
    size_t bytes = seed % 97 == 0 ? 40000 + seed % 100000 : seed % 600;
    letter_t *letter = opal_heap_malloc(&heap, sizeof *letter + bytes);
    letter->seed = seed;
    letter->bytes = bytes;
    fake_fill(letter + 1, bytes, seed);
    letter_t *first = atomic_load(&mail[to]);
    do
        atomic_store(&letter->next, first);
    while (!atomic_compare_exchange_weak(&mail[to], &first, letter));
}

static void receive(int me)
{
    letter_t *letter = atomic_exchange(&mail[me], NULL), *next;
    for (; letter != NULL; letter = next) {
        next = atomic_load(&letter->next);
        ck_assert(fake_is_filled(letter + 1, letter->bytes, letter->seed));
        opal_heap_free(&heap, letter);
    }
}

static void *work(void *number)
{
    int me = (int)(intptr_t)number;
    unsigned random = (unsigned)me + 1;
    for (int i = 0; i < 20000; i++) {
        random = random * 1103515245 + 12345;
        send((int)(random >> 16) % WORKERS, random >> 8);
        receive(me);
        if (i % 1000 == 0)
            sched_yield();
    }
    atomic_fetch_add(&finished, 1);
    while (atomic_load(&finished) < WORKERS) {
        receive(me);
        sched_yield();
    }
    receive(me);
    return NULL;
}

START_TEST(letters_between_threads)
{
    pthread_t threads[WORKERS];
    for (intptr_t i = 0; i < WORKERS; i++)
        ck_assert_int_eq(pthread_create(&threads[i], NULL, work, (void *)i), 0);
    for (int i = 0; i < WORKERS; i++)
        pthread_join(threads[i], NULL);
    opal_heap_trim(&heap, 0);
    ck_assert_uint_eq(fake_used_blocks(), 0);
    ck_assert_int_eq(atomic_load(&fake_faults), 0);
}
END_TEST

/* Threads that come and go, so that states become idle, lose pages to others, and are taken up
   again, while their blocks are freed elsewhere. */
static void *live_and_end(void *number)
{
    int me = (int)(intptr_t)number;
    unsigned random = (unsigned)me + (unsigned)atomic_fetch_add(&finished, 1) * 7919;
    char *mine[100] = {NULL};
    for (int i = 0; i < 4000; i++) {
        random = random * 1103515245 + 12345;
        unsigned at = (random >> 8) % 100;
        if (mine[at] != NULL)
            ck_assert(fake_is_filled(mine[at], at + 16, at));
        opal_heap_free(&heap, mine[at]);
        mine[at] = opal_heap_malloc(&heap, at + 16);
        fake_fill(mine[at], at + 16, at);
        send((int)(random >> 16) % WORKERS, random >> 8);
        receive(me);
    }
    for (int i = 0; i < 100; i++)
        opal_heap_free(&heap, mine[i]);
    return NULL;
}

static void *line_of_threads(void *number)
{
    for (int i = 0; i < 12; i++) {
        pthread_t thread;
        ck_assert_int_eq(pthread_create(&thread, NULL, live_and_end, number), 0);
        pthread_join(thread, NULL);
    }
    return NULL;
}

START_TEST(threads_come_and_go)
{
    pthread_t threads[WORKERS];
    for (intptr_t i = 0; i < WORKERS; i++)
        ck_assert_int_eq(pthread_create(&threads[i], NULL, line_of_threads, (void *)i), 0);
    for (int i = 0; i < WORKERS; i++)
        pthread_join(threads[i], NULL);
    for (int i = 0; i < WORKERS; i++)
        receive(i);
    opal_heap_trim(&heap, 0);
    ck_assert_uint_eq(fake_used_blocks(), 0);
    ck_assert_int_eq(atomic_load(&fake_faults), 0);
    opal_heap_stats_t stats;
    opal_heap_stats(&heap, &stats);
    ck_assert_uint_le(stats.threads, 1 + WORKERS + 2);
}
END_TEST

/* -- threads that cannot have a state -------------------------------------------------- */

static pthread_key_t late;
/* What the C library does at most. ThreadSanitizer's own state is gone before the last ones. */
enum { LATE_CALLS = UNIT_SANITIZED ? 2 : 4 };

static atomic_int late_calls;
static void *late_blocks[LATE_CALLS];

/* A destructor of thread-local data, called round after round, also behind the heap's own. */
static void allocate_late(void *value)
{
    int call = atomic_fetch_add(&late_calls, 1);
    late_blocks[call] = opal_heap_malloc(&heap, 100);
    fake_fill(late_blocks[call], 100, 9);
    opal_heap_free(&heap, opal_heap_malloc(&heap, 100));
    if (call + 1 < LATE_CALLS)
        pthread_setspecific(late, value);
}

static void *end_late(void *unused OPAL_UNUSED)
{
    opal_heap_free(&heap, opal_heap_malloc(&heap, 100));
    pthread_setspecific(late, &late);
    return NULL;
}

START_TEST(destructors_of_threads_may_allocate)
{
    pthread_key_create(&late, allocate_late);
    run(end_late);
    ck_assert_int_eq(atomic_load(&late_calls), LATE_CALLS);
    for (int i = 0; i < LATE_CALLS; i++) {
        ck_assert(fake_is_filled(late_blocks[i], 100, 9));
        opal_heap_free(&heap, late_blocks[i]);
    }
    opal_heap_trim(&heap, 0);
    ck_assert_uint_eq(fake_used_blocks(), 0);
}
END_TEST

/* A thread has room for a few heaps; in the others it uses the common state. */
START_TEST(more_heaps_than_a_thread_has_room_for)
{
    static opal_heap_t heaps[OPAL_HEAP_SLOTS + 2];
    static opal_heap_system_t sources[OPAL_COUNT_OF(heaps)];
    for (unsigned i = 0; i < OPAL_COUNT_OF(heaps); i++) {
        opal_heap_config_t config = {.bytes = (size_t)1 << 30};
        ck_assert_int_eq(opal_heap_system_open(&sources[i], &config), 0);
        ck_assert_int_eq(opal_heap_open(&heaps[i], &config), 0);
        void *first = opal_heap_malloc(&heaps[i], 100), *second = opal_heap_malloc(&heaps[i], 100);
        ck_assert(opal_heap_owns(&heaps[i], first) && first != second);
        opal_heap_free(&heaps[i], first);
        opal_heap_free(&heaps[i], second);
    }
    for (unsigned i = 0; i < OPAL_COUNT_OF(heaps); i++) {
        opal_heap_close(&heaps[i]);
        opal_heap_system_close(&sources[i]);
    }
}
END_TEST

static const unit_test_t tests[] = {
    {.test = &blocks_live_on_after_their_thread},
    {.test = &another_thread_frees_them},
    {.test = &states_are_used_again},
    {.test = &pages_are_adopted},
    {.test = &letters_between_threads},
    {.test = &threads_come_and_go, .repeats = 3},
    {.test = &destructors_of_threads_may_allocate},
    {.test = &more_heaps_than_a_thread_has_room_for},
};

UNIT_MAIN("opal/heap/threads", tests, fake_open);
