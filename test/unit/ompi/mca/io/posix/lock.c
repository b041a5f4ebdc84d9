/* SPDX-License-Identifier: BSD-3-Clause */
/* ompi/mca/io/posix/lock.c: what the system says of locks, and what becomes of it. */
#include "test/unit/ompi/mca/io/posix/faults.h"

START_TEST(an_interrupted_lock_is_tried_again)
{
    ompi_io_file_t *file = make_file("interrupted", &no_hints);
    set_fault("fcntl", EINTR, 0, 3);
    ck_assert_int_eq(io()->lock(file, 10, 5, true), 0);
    ck_assert_uint_eq(calls, 4);
    set_fault("fcntl", EINTR, 0, 2);
    ck_assert_int_eq(io()->unlock(file, 10, 5), 0);
    ck_assert_uint_eq(calls, 3);
    ck_assert_int_eq(io()->close(file), 0);
}
END_TEST

START_TEST(errors_are_handed_up)
{
    ompi_io_file_t *file = make_file("refused", &no_hints);
    set_fault("fcntl", EDEADLK, 0, 1);
    ck_assert_int_eq(io()->lock(file, 0, 1, false), EDEADLK);
    set_fault("fcntl", ENOLCK, 0, 1);
    ck_assert_int_eq(io()->unlock(file, 0, 1), ENOLCK);
    ck_assert_int_eq(io()->close(file), 0);
}
END_TEST

/* What the system answers, and whether that means that it has locks. */
static const struct {
    int error;
    bool can_lock;
} answers[] = {
    {ENOLCK, false}, {EOPNOTSUPP, false}, {ENOSYS, false},
    {EINVAL, false}, {EAGAIN, true},      {EACCES, true},
};

START_TEST(refused_locks_are_found_out)
{
    ompi_io_file_t *file = make_file("probed", &no_hints);
    set_fault("fcntl", answers[_i].error, 0, 1);
    io()->probe_locks(file);
    ck_assert_int_eq(file->can_lock, answers[_i].can_lock);
    ck_assert_uint_eq(calls, 1); /* what was not locked is not unlocked */
    ck_assert_int_eq(io()->close(file), 0);
}
END_TEST

START_TEST(the_probe_leaves_no_lock)
{
    ompi_io_file_t *one = make_file("twice", &no_hints), *other = make_file("twice", &no_hints);
    io()->probe_locks(one);
    io()->probe_locks(other);
    ck_assert(one->can_lock && other->can_lock);
    ck_assert_int_eq(io()->lock(one, 0, INT64_MAX, true), 0);
    ck_assert_int_eq(io()->unlock(one, 0, INT64_MAX), 0);
    ck_assert_int_eq(io()->lock(other, 0, INT64_MAX, true), 0);
    ck_assert_int_eq(io()->close(other), 0);
    ck_assert_int_eq(io()->close(one), 0);
}
END_TEST

static const unit_test_t tests[] = {
    {.test = &an_interrupted_lock_is_tried_again},
    {.test = &errors_are_handed_up},
    {.test = &refused_locks_are_found_out, .repeats = OPAL_COUNT_OF(answers)},
    {.test = &the_probe_leaves_no_lock},
};

UNIT_MAIN("lock", tests, NULL);
