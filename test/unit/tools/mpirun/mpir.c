/* SPDX-License-Identifier: BSD-3-Clause */
/* tools/mpirun/mpir.c: the table of processes that debuggers read. */
#include "tools/mpirun/mpir.h"

#include "test/unit/opal/support.h"

START_TEST(mpir_keeps_the_order_of_ranks)
{
    enum { RANKS = 200 };
    for (unsigned i = 0; i < RANKS; i++)
        mpir_enter(2, i, (pid_t)(2000 + i), "node7", "/b");
    for (unsigned i = RANKS; i > 0; i--)
        mpir_enter(1, i - 1, (pid_t)(1000 + i - 1), "node7", "/a");
    ck_assert_int_eq(MPIR_proctable_size, 2 * RANKS);
    for (int i = 0; i < 2 * RANKS; i++) {
        bool first = i < RANKS;
        ck_assert_int_eq(MPIR_proctable[i].pid, first ? 1000 + i : 2000 + i - RANKS);
        ck_assert_str_eq(MPIR_proctable[i].executable_name, first ? "/a" : "/b");
    }
    mpir_remove_job(1);
    ck_assert_int_eq(MPIR_proctable_size, RANKS);
    ck_assert_int_eq(MPIR_proctable[0].pid, 2000);
    mpir_remove_job(1);
    mpir_remove_job(2);
    ck_assert_int_eq(MPIR_proctable_size, 0);
}
END_TEST

START_TEST(mpir_replaces_a_process)
{
    mpir_enter(1, 0, 10, "node7", "/a");
    mpir_enter(1, 1, 11, "node7", "/a");
    mpir_enter(1, 0, 12, "node8", "/c");
    ck_assert_int_eq(MPIR_proctable_size, 2);
    ck_assert_int_eq(MPIR_proctable[0].pid, 12);
    ck_assert_str_eq(MPIR_proctable[0].host_name, "node8");
    ck_assert_str_eq(MPIR_proctable[0].executable_name, "/c");
    ck_assert_int_eq(MPIR_proctable[1].pid, 11);
    mpir_remove_job(1);
}
END_TEST

START_TEST(mpir_tells_only_a_debugger)
{
    mpir_announce();
    ck_assert_int_eq(MPIR_debug_state, MPIR_NULL);
    MPIR_being_debugged = 1;
    mpir_announce();
    ck_assert_int_eq(MPIR_debug_state, MPIR_DEBUG_SPAWNED);
}
END_TEST

static const unit_test_t tests[] = {
    {.test = &mpir_keeps_the_order_of_ranks},
    {.test = &mpir_replaces_a_process},
    {.test = &mpir_tells_only_a_debugger},
};

UNIT_MAIN("mpir", tests, NULL);
