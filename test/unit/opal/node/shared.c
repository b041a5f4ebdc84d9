/* SPDX-License-Identifier: BSD-3-Clause */
/* opal/node/shared.c: which memory a rank gets, and when it gets that of another use. */
#include "opal/node/shared.h"

#include "test/unit/opal/node/fake_segment.h"
#include "test/unit/opal/support.h"

enum { SHORT = 1024, LONG = 64 << 10 };

static opal_shared_t *make(size_t bytes)
{
    return opal_shared_make(bytes, sizeof(opal_shared_t), bytes);
}

static void release(opal_shared_t *shared)
{
    opal_shared_release(shared, 1);
    opal_shared_leave(shared);
}

/* The slowest user may read it after the others have left. */
START_TEST(memory_is_used_again_when_all_have_left)
{
    opal_shared_t *shared = make(SHORT);
    opal_shared_leave(shared);
    opal_shared_release(shared, 2);
    ck_assert_ptr_ne(make(SHORT), shared);
    opal_shared_leave(shared);
    ck_assert_ptr_eq(make(SHORT), shared);
    ck_assert_int_eq(atomic_load(&shared->left), 0);
    ck_assert_ptr_ne(make(SHORT), shared);
}
END_TEST

START_TEST(the_first_bytes_are_cleared)
{
    enum { CLEARED = sizeof(opal_shared_t) + 100 };
    opal_shared_t *shared = make(SHORT);
    char *bytes = (char *)shared;
    bytes[CLEARED - 1] = bytes[CLEARED] = 7;
    release(shared);
    ck_assert_ptr_eq(opal_shared_make(SHORT, CLEARED, SHORT), shared);
    ck_assert_int_eq(bytes[CLEARED - 1], 0);
    ck_assert_int_eq(bytes[CLEARED], 7);
}
END_TEST

/* Memory keeps its bytes when a use needs fewer. */
START_TEST(the_smallest_that_is_large_enough_is_taken)
{
    opal_shared_t *large = make(LONG), *small = make(SHORT);
    release(_i == 0 ? large : small);
    release(_i == 0 ? small : large);
    ck_assert_ptr_eq(make(SHORT), small);
    ck_assert_ptr_eq(make(SHORT), large);
    release(large);
    ck_assert_ptr_eq(make(LONG), large);
    release(small);
    size_t before = carved;
    make(LONG);
    ck_assert_uint_ge(carved, before + LONG);
}
END_TEST

START_TEST(without_room_there_is_none)
{
    limit = carved + LONG;
    ck_assert_ptr_null(make(LONG + 1));
    ck_assert_ptr_nonnull(make(LONG));
    ck_assert_ptr_null(make(1));
}
END_TEST

START_TEST(without_pages_there_is_none)
{
    populated = OPAL_ERR_NO_MEMORY;
    ck_assert_ptr_null(make(SHORT));
}
END_TEST

/* The next start of MPI has another segment. */
START_TEST(nothing_is_used_again_behind_the_stop)
{
    opal_shared_t *shared = make(SHORT);
    release(shared);
    opal_shared_stop();
    ck_assert_ptr_ne(make(SHORT), shared);
}
END_TEST

static const unit_test_t tests[] = {
    {.test = &memory_is_used_again_when_all_have_left},
    {.test = &the_first_bytes_are_cleared},
    {.test = &the_smallest_that_is_large_enough_is_taken, .repeats = 2},
    {.test = &without_room_there_is_none},
    {.test = &without_pages_there_is_none},
    {.test = &nothing_is_used_again_behind_the_stop},
};

UNIT_MAIN("shared", tests, NULL);
