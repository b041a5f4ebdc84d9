/* SPDX-License-Identifier: BSD-3-Clause */
/* ompi/file/range_lock.c, with threads, and with processes that are killed. */
#include "ompi/file/range_lock.h"

#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "test/unit/opal/support.h"

enum { THREADS = 4, ROUNDS = 2000, CELLS = 16, OWNER = 1, OTHER = 2 };

static ompi_range_table_t *table;
static atomic_int other_has_ended;

static bool has_ended(uint32_t owner)
{
    ck_assert_uint_eq(owner, OTHER);
    return atomic_load(&other_has_ended) != 0;
}

static ompi_range_locks_t locks_of(uint32_t owner)
{
    return (ompi_range_locks_t){table, owner, has_ended};
}

static void make_table(void)
{
    table = mmap(NULL, sizeof *table, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    ck_assert_ptr_ne(table, MAP_FAILED);
}

/* -- a thread that asks -------------------------------------------------------------------- */

static atomic_int turns;

typedef struct asker {
    pthread_t thread;
    uint64_t offset, bytes;
    bool is_exclusive;
    int turn; /* 0: the first that got its range; read after asker_end */
    atomic_bool is_over;
} asker_t;

static void *ask(void *given)
{
    asker_t *asker = given;
    ompi_range_locks_t locks = locks_of(OWNER);
    int entry = ompi_range_lock(&locks, asker->offset, asker->bytes, asker->is_exclusive);
    asker->turn = atomic_fetch_add(&turns, 1);
    atomic_store(&asker->is_over, true);
    ompi_range_unlock(&locks, entry);
    return NULL;
}

static int count_used(void)
{
    return __builtin_popcountll(atomic_load(&table->used));
}

/* Returns when the thread has its entry, if there is room, and is about to sleep; those that sleep
 * look again now and then, too. */
static void asker_wait(asker_t *asker)
{
    int used = count_used(), goal = used < OMPI_RANGE_LOCKS ? used + 1 : used;
    atomic_store(&table->is_awaited, 0);
    ck_assert_int_eq(pthread_create(&asker->thread, NULL, ask, asker), 0);
    while (!atomic_load(&asker->is_over) &&
           (atomic_load(&table->is_awaited) == 0 || count_used() < goal))
        sched_yield();
    ck_assert(!atomic_load(&asker->is_over));
}

static void asker_end(asker_t *asker)
{
    ck_assert_int_eq(pthread_join(asker->thread, NULL), 0);
}

/* -- one process --------------------------------------------------------------------------- */

START_TEST(ranges_that_do_not_overlap_are_locked_at_once)
{
    ompi_range_locks_t locks = locks_of(OWNER);
    int entries[] = {ompi_range_lock(&locks, 0, 10, true), ompi_range_lock(&locks, 10, 1, true),
                     ompi_range_lock(&locks, 11, 5, false), ompi_range_lock(&locks, 12, 9, false),
                     ompi_range_lock(&locks, UINT64_MAX, UINT64_MAX, true)};
    for (int i = 0; i < 5; i++)
        ompi_range_unlock(&locks, entries[i]);
    ck_assert_uint_eq(atomic_load(&table->used), 0);
    ck_assert_uint_eq(atomic_load(&table->lock), 0);
}
END_TEST

/* Of each pair of the kinds, over the last byte, and over the first one. */
START_TEST(overlapping_ranges_wait_unless_both_are_read)
{
    ompi_range_locks_t locks = locks_of(OWNER);
    bool has_writer = _i % 3 != 0, is_writer = _i % 3 != 1;
    int entry = ompi_range_lock(&locks, 100, 10, has_writer);
    asker_t asker = {.offset = _i < 3 ? 109 : 91, .bytes = 10, .is_exclusive = is_writer};
    asker_wait(&asker);
    ompi_range_unlock(&locks, entry);
    asker_end(&asker);
}
END_TEST

START_TEST(a_reader_does_not_pass_a_writer_that_waits)
{
    ompi_range_locks_t locks = locks_of(OWNER);
    asker_t writer = {.bytes = 100, .is_exclusive = true}, reader = {.bytes = 1};
    int entry = ompi_range_lock(&locks, 0, 1, false);
    atomic_store(&turns, 0);
    asker_wait(&writer);
    asker_wait(&reader);
    ompi_range_unlock(&locks, entry);
    asker_end(&writer);
    asker_end(&reader);
    ck_assert_int_eq(writer.turn, 0);
    ck_assert_int_eq(reader.turn, 1);
}
END_TEST

START_TEST(a_full_table_is_waited_for)
{
    ompi_range_locks_t locks = locks_of(OWNER);
    int entries[OMPI_RANGE_LOCKS];
    for (int i = 0; i < OMPI_RANGE_LOCKS; i++)
        entries[i] = ompi_range_lock(&locks, (uint64_t)i, 1, true);
    asker_t askers[2] = {{.offset = 1000, .bytes = 1, .is_exclusive = true},
                         {.offset = 5, .bytes = 1}};
    asker_wait(&askers[0]);
    asker_wait(&askers[1]);
    ompi_range_unlock(&locks, entries[7]);
    ompi_range_unlock(&locks, entries[8]);
    asker_end(&askers[0]);
    ck_assert(!atomic_load(&askers[1].is_over));
    for (int i = 0; i < OMPI_RANGE_LOCKS; i++) {
        if (i != 7 && i != 8)
            ompi_range_unlock(&locks, entries[i]);
    }
    asker_end(&askers[1]);
    ck_assert_uint_eq(atomic_load(&table->used), 0);
}
END_TEST

/* -- in earnest ---------------------------------------------------------------------------- */

static unsigned cells[CELLS];

/* Returns how often it read what should not be. */
static unsigned lock_and_count(unsigned number)
{
    ompi_range_locks_t locks = locks_of(OWNER);
    unsigned seed = number, torn = 0;
    for (int round = 0; round < ROUNDS; round++) {
        unsigned first = (unsigned)rand_r(&seed) % CELLS;
        unsigned count = 1 + (unsigned)rand_r(&seed) % (CELLS - first);
        bool writes = rand_r(&seed) % 4 != 0;
        int entry = ompi_range_lock(&locks, first, count, writes);
        for (unsigned cell = first; cell < first + count; cell++) {
            torn += cells[cell] % 2;
            cells[cell] += writes;
        }
        if (writes && round % 64 == 0)
            sched_yield();
        for (unsigned cell = first; writes && cell < first + count; cell++)
            cells[cell]++;
        ompi_range_unlock(&locks, entry);
    }
    return torn;
}

static void *run(void *number)
{
    return (void *)(uintptr_t)lock_and_count((unsigned)(uintptr_t)number);
}

START_TEST(threads_exclude_each_other)
{
    pthread_t threads[THREADS];
    for (uintptr_t i = 0; i < THREADS; i++)
        ck_assert_int_eq(pthread_create(&threads[i], NULL, run, (void *)(i + 1)), 0);
    for (int i = 0; i < THREADS; i++) {
        void *torn;
        ck_assert_int_eq(pthread_join(threads[i], &torn), 0);
        ck_assert_ptr_null(torn);
    }
    ck_assert_uint_eq(atomic_load(&table->used), 0);
}
END_TEST

/* -- a process that is killed -------------------------------------------------------------- */

typedef void do_fn_t(const ompi_range_locks_t *locks);

static void hold_one(const ompi_range_locks_t *locks)
{
    ompi_range_lock(locks, 0, 10, true);
}

static void hold_all(const ompi_range_locks_t *locks)
{
    for (int i = 0; i < OMPI_RANGE_LOCKS; i++)
        ompi_range_lock(locks, 5, 1, false);
}

/* In the middle of writing an entry. */
static void hold_table(const ompi_range_locks_t *locks)
{
    atomic_store(&table->lock, locks->owner);
    table->entries[0] = (ompi_range_lock_entry_t){0, 10, 1, locks->owner, true};
    table->tickets++;
}

/* Another process does that, and stops for ever. */
static pid_t start(do_fn_t *function)
{
    int pipe_ends[2];
    char byte;
    ck_assert_int_eq(pipe(pipe_ends), 0);
    pid_t child = fork();
    ck_assert_int_ge(child, 0);
    if (child == 0) {
        prctl(PR_SET_PDEATHSIG, SIGKILL);
        ompi_range_locks_t locks = locks_of(OTHER);
        function(&locks);
        if (write(pipe_ends[1], "", 1) != 1)
            _exit(1);
        for (;;)
            pause();
    }
    ck_assert_int_eq(read(pipe_ends[0], &byte, 1), 1);
    close(pipe_ends[0]);
    close(pipe_ends[1]);
    return child;
}

static void kill_it(pid_t child)
{
    kill(child, SIGKILL);
    ck_assert_int_eq(waitpid(child, NULL, 0), child);
    atomic_store(&other_has_ended, 1);
}

START_TEST(what_a_killed_process_held_is_free)
{
    static do_fn_t *const functions[] = {hold_one, hold_all, hold_table};
    pid_t child = start(functions[_i]);
    kill_it(child);
    asker_t asker = {.offset = 5, .bytes = 1, .is_exclusive = true};
    ask(&asker);
    ck_assert_uint_eq(atomic_load(&table->used), 0);
    ck_assert_uint_eq(atomic_load(&table->lock), 0);
}
END_TEST

START_TEST(a_sleeper_notices_that_the_holder_is_killed)
{
    pid_t child = start(hold_one);
    asker_t askers[3] = {{.bytes = 3, .is_exclusive = true}, {.bytes = 9}, {.bytes = 9}};
    for (int i = 0; i < 3; i++)
        asker_wait(&askers[i]);
    kill_it(child);
    for (int i = 0; i < 3; i++)
        asker_end(&askers[i]);
    ck_assert_uint_eq(atomic_load(&table->used), 0);
}
END_TEST

/* It waits for this process, and others wait for it. */
START_TEST(a_killed_process_that_waits_is_in_nobodys_way)
{
    ompi_range_locks_t locks = locks_of(OWNER);
    int entry = ompi_range_lock(&locks, 0, 1, false);
    pid_t child = fork();
    ck_assert_int_ge(child, 0);
    if (child == 0) {
        prctl(PR_SET_PDEATHSIG, SIGKILL);
        ompi_range_locks_t own = locks_of(OTHER);
        ompi_range_lock(&own, 0, 100, true);
        _exit(1);
    }
    while (atomic_load(&table->is_awaited) == 0)
        sched_yield();
    kill_it(child);
    asker_t asker = {.bytes = 9};
    ask(&asker);
    ompi_range_unlock(&locks, entry);
    ck_assert_uint_eq(atomic_load(&table->used), 0);
}
END_TEST

static const unit_test_t tests[] = {
    {.test = &ranges_that_do_not_overlap_are_locked_at_once},
    {.test = &overlapping_ranges_wait_unless_both_are_read, .repeats = 6},
    {.test = &a_reader_does_not_pass_a_writer_that_waits},
    {.test = &a_full_table_is_waited_for},
    {.test = &threads_exclude_each_other},
    {.test = &what_a_killed_process_held_is_free, .repeats = 3},
    {.test = &a_sleeper_notices_that_the_holder_is_killed},
    {.test = &a_killed_process_that_waits_is_in_nobodys_way},
};

UNIT_MAIN("range_lock", tests, make_table);
