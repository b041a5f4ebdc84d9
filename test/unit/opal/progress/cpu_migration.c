/* SPDX-License-Identifier: BSD-3-Clause */
/* opal/progress/cpu_migration.c: when a rank moves, and where to. */
#include "opal/progress/cpu_migration.h"

#include <sched.h>

#include "test/unit/opal/support.h"

enum { USEC = 1000, MSEC = 1000000 };

START_TEST(a_short_yield_moves_nobody)
{
    opal_cpu_migration_t migration = {0};
    for (uint64_t now = MSEC; now < 100 * MSEC; now += 50 * USEC)
        ck_assert(!opal_cpu_migration_decide(&migration, now, now + 2 * USEC));
}
END_TEST

/* Until one moves, both see long yields; the other one then sees short ones. */
START_TEST(of_two_one_moves)
{
    unsigned both = 0;
    for (unsigned seed = 1; seed < 1000; seed++) {
        opal_cpu_migration_t one = {.seed = seed}, other = {.seed = seed + 1};
        uint64_t now = MSEC;
        bool moves = false, moves_too = false;
        for (unsigned tries = 0; tries < 20 && !moves && !moves_too; tries++, now += 100 * USEC) {
            moves = opal_cpu_migration_decide(&one, now, now + 50 * USEC);
            moves_too = opal_cpu_migration_decide(&other, now, now + 50 * USEC);
        }
        ck_assert(moves || moves_too);
        both += moves && moves_too;
    }
    ck_assert_uint_le(both, 200);
}
END_TEST

START_TEST(a_short_one_between_is_a_new_begin)
{
    opal_cpu_migration_t migration = {.seed = 0};
    for (unsigned seed = 0; migration.long_ones == 0; seed++) {
        migration = (opal_cpu_migration_t){.seed = seed};
        opal_cpu_migration_decide(&migration, MSEC, MSEC + 30 * USEC);
    }
    ck_assert(!opal_cpu_migration_decide(&migration, MSEC, MSEC + 2 * USEC));
    ck_assert_uint_eq(migration.long_ones, 0);
}
END_TEST

/* Every yield takes long, for ten seconds. */
START_TEST(each_move_makes_the_next_one_wait)
{
    opal_cpu_migration_t migration = {0};
    unsigned moves = 0;
    uint64_t last = 0, gap = 0;
    for (uint64_t now = MSEC; now < UINT64_C(10000) * MSEC; now += 100 * USEC) {
        if (!opal_cpu_migration_decide(&migration, now, now + 50 * USEC))
            continue;
        ck_assert_uint_ge(now - last + 8 * 100 * USEC, gap); /* the number is drawn */
        gap = now - last < UINT64_C(500) * MSEC ? now - last : gap;
        last = now;
        moves++;
    }
    ck_assert_uint_ge(moves, 10);
    ck_assert_uint_le(moves, 20);
}
END_TEST

static cpu_set_t allowed;

/* Of those that this process may use: all, the first, or the first two. */
static bool use_first(int count)
{
    cpu_set_t set;
    CPU_ZERO(&set);
    for (int cpu = 0; cpu < CPU_SETSIZE && CPU_COUNT(&set) < count; cpu++) {
        if (CPU_ISSET(cpu, &allowed))
            CPU_SET(cpu, &set);
    }
    return CPU_COUNT(&set) == count && sched_setaffinity(0, sizeof set, &set) == 0;
}

/* The kernel may take it back at once, to a core that other work has just left: so most do. */
START_TEST(it_moves_and_is_not_bound)
{
    cpu_set_t before, after;
    unsigned began = 0, moved = 0;
    sched_getaffinity(0, sizeof allowed, &allowed);
    if (!use_first(2))
        return; /* a machine of one core */
    for (int i = 0; i < 100; i++) {
        ck_assert(use_first(1));
        int first = sched_getcpu();
        ck_assert(use_first(2));
        sched_getaffinity(0, sizeof before, &before);
        int here = sched_getcpu();
        ck_assert(opal_cpu_migrate());
        if (here == first) {
            began++;
            moved += sched_getcpu() != first;
        }
        sched_getaffinity(0, sizeof after, &after);
        ck_assert(CPU_EQUAL(&before, &after));
    }
    ck_assert_uint_ge(2 * moved, began);
}
END_TEST

START_TEST(who_is_bound_stays)
{
    sched_getaffinity(0, sizeof allowed, &allowed);
    ck_assert(use_first(1));
    int here = sched_getcpu();
    ck_assert(!opal_cpu_migrate());
    ck_assert_int_eq(sched_getcpu(), here);
}
END_TEST

static const unit_test_t tests[] = {
    {.test = &a_short_yield_moves_nobody},         {.test = &of_two_one_moves},
    {.test = &a_short_one_between_is_a_new_begin}, {.test = &each_move_makes_the_next_one_wait},
    {.test = &it_moves_and_is_not_bound},          {.test = &who_is_bound_stays},
};

UNIT_MAIN("cpu_migration", tests, NULL);
