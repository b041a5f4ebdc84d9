/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * ompi/mca/osc/base/lock.c: which row gets the lock of a target and when; what ranks that have died
 * leave behind.
 */
#include "ompi/mca/osc/base/lock.h"

#include "test/unit/ompi/mca/osc/base/fake_window.h"

enum { TARGET = 1, FAR_ROW = FAKE_RANKS, S = OMPI_OSC_SHARED, X = OMPI_OSC_EXCLUSIVE };

#define GUARD (UINT64_C(1) << 40) /* times 1 + the rank that has it */

/* The far row is the target's own. */
static ompi_osc_window_t *window_of(int row)
{
    return &fake_windows[row == FAR_ROW ? TARGET : row];
}

static bool ask(int row, int kind)
{
    return ompi_osc_lock_ask(window_of(row), row, TARGET, (ompi_osc_lock_kind_t)kind);
}

static bool has(int row)
{
    return ompi_osc_lock_has(window_of(row), row, TARGET);
}

static void release(int row)
{
    ck_assert(has(row));
    ompi_osc_lock_release(window_of(row), row, TARGET);
    ck_assert(!has(row));
}

/* The rows that have the lock, as bits. */
static unsigned holders(void)
{
    unsigned rows = 0;
    for (int row = 0; row <= FAR_ROW; row++)
        rows |= (unsigned)has(row) << row;
    return rows;
}

static uint64_t word(void)
{
    return atomic_load(&fake_shared_area()->lines[TARGET].lock);
}

/* -- rows in turn ------------------------------------------------------------------------------ */

START_TEST(readers_share_and_a_writer_is_alone)
{
    static const struct {
        int first, second;
        bool share;
    } pairs[] = {{S, S, true}, {S, X, false}, {X, S, false}, {X, X, false}};
    ck_assert(ask(0, pairs[_i].first));
    ck_assert(ask(3, pairs[_i].second) == pairs[_i].share);
    ck_assert(ompi_osc_lock_is_wanted(&fake_windows[2], TARGET) == !pairs[_i].share);
    release(0);
    ck_assert_uint_eq(holders(), 1 << 3);
    ck_assert(!ompi_osc_lock_is_wanted(&fake_windows[2], TARGET));
    release(3);
    ck_assert_uint_eq(word(), 0);
}
END_TEST

START_TEST(locks_of_other_targets_do_not_matter)
{
    ck_assert(ask(0, X));
    ck_assert(ompi_osc_lock_ask(&fake_windows[2], 2, 3, OMPI_OSC_EXCLUSIVE));
    ompi_osc_lock_release(&fake_windows[2], 2, 3);
    release(0);
}
END_TEST

/* Whatever the order in which they ask, the rows behind the last one come first. */
START_TEST(writers_get_it_in_turn)
{
    static const int orders[][4] = {{4, 3, 1, 0}, {0, 1, 3, 4}, {1, 4, 0, 3}};
    ck_assert(ask(2, X));
    atomic_store(&fake_shared_area()->lines[TARGET].turn, 2);
    for (int i = 0; i < 4; i++)
        ck_assert(!ask(orders[_i][i], X));
    for (int turn = 2; turn < 2 + 5; turn++) {
        ck_assert_uint_eq(holders(), 1u << turn % 5);
        release(turn % 5);
    }
    ck_assert_uint_eq(word(), 0);
}
END_TEST

START_TEST(readers_get_it_together_up_to_the_next_writer)
{
    ck_assert(ask(0, X));
    ck_assert(!ask(4, S));
    ck_assert(!ask(3, X));
    ck_assert(!ask(2, S));
    ck_assert(!ask(1, S));
    release(0);
    ck_assert_uint_eq(holders(), 1 << 1 | 1 << 2);
    release(2);
    ck_assert_uint_eq(holders(), 1 << 1);
    release(1);
    ck_assert_uint_eq(holders(), 1 << 3);
    release(3);
    ck_assert_uint_eq(holders(), 1 << 4);
}
END_TEST

START_TEST(no_reader_passes_a_writer_that_waits)
{
    ck_assert(ask(0, S));
    ck_assert(!ask(1, X));
    ck_assert(!ask(2, S));
    release(0);
    ck_assert_uint_eq(holders(), 1 << 1);
    release(1);
    ck_assert_uint_eq(holders(), 1 << 2);
}
END_TEST

START_TEST(a_reader_that_comes_again_waits_for_the_writer)
{
    ck_assert(ask(0, X));
    ck_assert(!ask(2, S));
    ck_assert(!ask(3, S));
    release(0);
    ck_assert(!ask(1, X));
    release(3);
    ck_assert(!ask(3, S));
    release(2);
    ck_assert_uint_eq(holders(), 1 << 1);
}
END_TEST

/* All rows ask again as soon as they have released it. */
START_TEST(each_row_gets_it_once_a_round)
{
    unsigned grants[FAR_ROW + 1] = {0};
    for (int row = 0; row <= FAR_ROW; row++)
        ask(row, X);
    for (int i = 0; i < 100 * (FAR_ROW + 1); i++) {
        int row = __builtin_ctz(holders());
        ck_assert_uint_eq(holders(), 1u << row);
        grants[row]++;
        release(row);
        ck_assert(!ask(row, X));
    }
    for (int row = 0; row <= FAR_ROW; row++)
        ck_assert_uint_eq(grants[row], 100);
}
END_TEST

START_TEST(the_process_of_the_row_is_notified)
{
    int row = _i == 0 ? 3 : FAR_ROW, process = _i == 0 ? 3 : TARGET;
    ck_assert(ask(0, X));
    ck_assert(!ask(row, S));
    atomic_store(&fake->doorbells[process].state, OPAL_DOORBELL_ASLEEP);
    release(0);
    ck_assert_uint_eq(atomic_load(&fake->doorbells[process].bell), 1);
}
END_TEST

/* -- ranks that have died ---------------------------------------------------------------------- */

START_TEST(a_lock_is_taken_back_from_the_dead)
{
    ck_assert(ask(0, _i == 0 ? X : S));
    ck_assert(!ask(2, X));
    ompi_osc_lock_recover(&fake_windows[2], TARGET);
    ck_assert_uint_eq(holders(), 1 << 0);
    fake_death(0);
    ompi_osc_lock_recover(&fake_windows[2], TARGET);
    ck_assert_uint_eq(holders(), 1 << 2);
    release(2);
    ck_assert_uint_eq(word(), 0);
}
END_TEST

START_TEST(the_dead_do_not_wait)
{
    ck_assert(ask(0, X));
    ck_assert(!ask(2, X));
    ck_assert(!ask(3, S));
    fake_death(2);
    release(0);
    ck_assert_uint_eq(holders(), 1 << 3);
}
END_TEST

/* The holder dies, and a rank that waits for it. */
START_TEST(nobody_waits_behind_the_dead)
{
    ck_assert(ask(0, X));
    ck_assert(!ask(2, X));
    fake_death(0);
    fake_death(2);
    ck_assert(ask(_i == 0 ? 3 : FAR_ROW, S));
    ck_assert(!ompi_osc_lock_is_wanted(&fake_windows[3], TARGET));
    release(_i == 0 ? 3 : FAR_ROW);
    ck_assert_uint_eq(word(), 0);
}
END_TEST

/* The far row is the target's, and ends with it. */
START_TEST(the_far_row_dies_with_the_target)
{
    ck_assert(ask(FAR_ROW, X));
    ck_assert(!ask(0, X));
    fake_death(TARGET);
    ompi_osc_lock_recover(&fake_windows[0], TARGET);
    ck_assert_uint_eq(holders(), 1 << 0);
}
END_TEST

/* It died between its cell and the word, before or after the change of the word. */
START_TEST(who_died_on_the_way_has_nothing)
{
    ck_assert(ask(0, S));
    ck_assert(_i == 0 || ask(3, S));
    atomic_store(&fake->cells[3][TARGET].lock, OMPI_OSC_CELL_MOVES);
    fake_death(3);
    ck_assert(ask(2, S));
    ck_assert_uint_eq(word(), 2);
    release(0);
    release(2);
    ck_assert_uint_eq(word(), 0);
}
END_TEST

/* It died while it held the guard, with any nonsense in the word. */
START_TEST(the_guard_of_a_dead_rank_is_taken)
{
    ck_assert(ask(0, S));
    ck_assert(!ask(2, X));
    ck_assert(!ask(3, X));
    atomic_store(&fake_shared_area()->lines[TARGET].lock, 3 * GUARD + 77);
    fake_death(2);
    if (_i == 0)
        ompi_osc_lock_recover(&fake_windows[3], TARGET);
    else
        ck_assert(!ask(FAR_ROW, X));
    ck_assert_uint_eq(holders(), 1 << 0);
    release(0);
    ck_assert_uint_eq(holders(), 1 << 3);
}
END_TEST

static const unit_test_t tests[] = {
    {.test = &readers_share_and_a_writer_is_alone, .repeats = 4},
    {.test = &locks_of_other_targets_do_not_matter},
    {.test = &writers_get_it_in_turn, .repeats = 3},
    {.test = &readers_get_it_together_up_to_the_next_writer},
    {.test = &no_reader_passes_a_writer_that_waits},
    {.test = &a_reader_that_comes_again_waits_for_the_writer},
    {.test = &each_row_gets_it_once_a_round},
    {.test = &the_process_of_the_row_is_notified, .repeats = 2},
    {.test = &a_lock_is_taken_back_from_the_dead, .repeats = 2},
    {.test = &the_dead_do_not_wait},
    {.test = &nobody_waits_behind_the_dead, .repeats = 2},
    {.test = &the_far_row_dies_with_the_target},
    {.test = &who_died_on_the_way_has_nothing, .repeats = 2},
    {.test = &the_guard_of_a_dead_rank_is_taken, .repeats = 2},
};

UNIT_MAIN("lock", tests, fake_setup);
