/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * opal/mca/memory/base/base.c: the layer is opened and closed more than once, as by a program that
 * makes one MPI session after the other. What was put in place before main stays; what is vouched
 * for is found out anew each time. The program starts itself with mpi_leave_pinned for that.
 */
#include "opal/mca/memory/base/base.h"

#include "opal/memory/hooks/watcher.h"
#include "test/unit/opal/mca/memory/watch.h"
#include "test/unit/opal/support.h"

enum { ROUNDS = 4, BYTES = 8 << 20 };

static unsigned open_and_ask(void)
{
    ck_assert_int_eq(opal_framework_open(&mca_memory_framework), OPAL_SUCCESS);
    ck_assert_int_eq(opal_framework_select(&mca_memory_framework), OPAL_SUCCESS);
    return opal_memory_support();
}

START_TEST(opened_again_it_vouches_for_the_same)
{
    opal_param_init();
    for (int round = 0; round < ROUNDS; round++) {
        ck_assert_uint_eq(open_and_ask(), everything);
        watch_begin();
        ck_assert_uint_eq(times_unmapped(), 1);
        ck_assert_uint_gt(times_freed(), 0);
        watch_end();
        opal_framework_close(&mca_memory_framework);
        ck_assert_uint_eq(opal_memory_support(), 0);
        ck_assert_uint_eq(times_unmapped() + times_freed(), 0);
    }
    ck_assert_uint_eq(unit_findings(), 0);
}
END_TEST

/* A block from one time goes in another, and from none. */
START_TEST(blocks_outlive_what_was_opened)
{
    char *blocks[ROUNDS];
    opal_param_init();
    for (int round = 0; round < ROUNDS; round++) {
        open_and_ask();
        blocks[round] = malloc(BYTES);
        memset(blocks[round], round, BYTES);
        if (round % 2 == 1)
            free(blocks[round - 1]);
        opal_framework_close(&mca_memory_framework);
    }
    for (int round = 1; round < ROUNDS; round += 2) {
        ck_assert_int_eq(blocks[round][BYTES - 1], round);
        blocks[round] = realloc(blocks[round], 2 * (size_t)BYTES);
        ck_assert_int_eq(blocks[round][BYTES - 1], round);
        free(blocks[round]);
    }
}
END_TEST

static const unit_test_t tests[] = {
    {.test = &opened_again_it_vouches_for_the_same},
    {.test = &blocks_outlive_what_was_opened},
};

int main(int argc OPAL_UNUSED, char **argv)
{
    if (opal_memory_watcher() != NULL) {
        puts("1..1\nok 1 - all of it # SKIP the allocator stands aside for the sanitizer");
        return 0;
    }
    if (getenv("OMPI_MCA_mpi_leave_pinned") == NULL) {
        setenv("OMPI_MCA_mpi_leave_pinned", "1", 1);
        execv("/proc/self/exe", argv);
        perror("/proc/self/exe");
        return EXIT_FAILURE;
    }
    return unit_run("base", tests, OPAL_COUNT_OF(tests), NULL);
}
