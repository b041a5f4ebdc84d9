/* SPDX-License-Identifier: BSD-3-Clause */
/* opal/progress/descriptor.c: what is ready is told, however the set of descriptors changes. */
#include "opal/progress/descriptor.h"

#include "test/unit/opal/progress/engines.h"

/* -- readiness ----------------------------------------------------------------------------- */

START_TEST(nothing_is_open_before_the_first)
{
    open_engine(_i);
    ck_assert_ptr_null(opal_descriptor_engine());
    ck_assert_int_eq(opal_progress(), 0);
    int lowest = dup(0);
    close(lowest);
    end_t end;
    make_end(&end, OPAL_READABLE);
    ck_assert_int_eq(end.descriptor.fd, lowest);
    ck_assert_str_eq(opal_descriptor_engine(), engines[_i]);
    remove_end(&end);
    ck_assert_uint_eq(opal_descriptor_active, 0);
    opal_wait_withdraw();
    ck_assert_ptr_null(opal_descriptor_engine());
    int again = dup(0);
    ck_assert_int_eq(again, lowest);
}
END_TEST

START_TEST(readiness_is_a_level)
{
    end_t end;
    open_engine(_i);
    make_end(&end, OPAL_READABLE);
    look_around();
    ck_assert_int_eq(end.calls, 0);
    for (int i = 0; i < 10; i++)
        send_byte(end.theirs);
    look_around();
    ck_assert_int_gt(end.calls, 1); /* nobody took anything */
    ck_assert_uint_eq(end.events, OPAL_READABLE);
    end.takes = true;
    end.calls = 0;
    look_around();
    ck_assert_int_eq(end.calls, 10);
    remove_end(&end);
}
END_TEST

START_TEST(what_is_wanted_changes)
{
    end_t end;
    open_engine(_i);
    make_end(&end, 0);
    send_byte(end.theirs);
    look_around();
    ck_assert_int_eq(end.calls, 0);
    const unsigned wants[] = {OPAL_READABLE, OPAL_WRITABLE, OPAL_READABLE | OPAL_WRITABLE};
    for (unsigned i = 0; i < 3; i++) {
        end.calls = 0;
        opal_descriptor_want(&end.descriptor, wants[i]);
        look_around();
        ck_assert_int_gt(end.calls, 0);
        ck_assert_uint_eq(end.events, wants[i]);
    }
    end.calls = 0;
    opal_descriptor_want(&end.descriptor, 0);
    look_around();
    ck_assert_int_eq(end.calls, 0);
    close(end.theirs); /* nor is that told */
    look_around();
    ck_assert_int_eq(end.calls, 0);
    opal_descriptor_want(&end.descriptor, OPAL_WRITABLE);
    look_around();
    ck_assert_uint_eq(end.events, OPAL_WRITABLE);
    opal_descriptor_want(&end.descriptor, OPAL_READABLE);
    look_around();
    ck_assert_uint_eq(end.events, OPAL_READABLE);
    opal_descriptor_remove(&end.descriptor);
}
END_TEST

START_TEST(a_full_socket_becomes_writable)
{
    static char bytes[65536];
    end_t end;
    open_engine(_i);
    make_end(&end, 0);
    while (write(end.descriptor.fd, bytes, sizeof bytes) > 0)
        continue;
    opal_descriptor_want(&end.descriptor, OPAL_WRITABLE);
    look_around();
    ck_assert_int_eq(end.calls, 0);
    while (read(end.theirs, bytes, sizeof bytes) > 0)
        continue;
    look_around();
    ck_assert_int_gt(end.calls, 0);
    remove_end(&end);
}
END_TEST

START_TEST(the_peer_closes)
{
    end_t end;
    open_engine(_i);
    make_end(&end, OPAL_READABLE);
    end.ends_wait_at = 1;
    close(end.theirs);
    opal_wait_until(&done, NULL);
    ck_assert_uint_eq(end.events, OPAL_READABLE);
    opal_descriptor_remove(&end.descriptor);
}
END_TEST

START_TEST(what_is_no_descriptor_is_refused)
{
    opal_descriptor_t descriptor = {.fd = 999, .wants = OPAL_READABLE, .ready = count_call};
    open_engine(_i);
    unit_capture();
    ck_assert_int_ne(opal_descriptor_add(&descriptor), OPAL_SUCCESS);
    ck_assert_ptr_nonnull(strstr(unit_stderr(), "descriptor 999"));
    ck_assert_uint_eq(opal_descriptor_active, 0);
}
END_TEST

/* -- changes from within ------------------------------------------------------------------- */

enum { MANY = 8 };
static end_t ends[MANY];
static int total_calls;

static int remove_all_others(opal_descriptor_t *descriptor, unsigned events OPAL_UNUSED)
{
    total_calls++;
    for (int i = 0; i < MANY; i++) {
        if (&ends[i].descriptor != descriptor)
            remove_end(&ends[i]);
    }
    remove_end(opal_container_of(descriptor, end_t, descriptor));
    memset(ends, 0xff, sizeof ends); /* whoever looks at them falls over */
    return 1;
}

START_TEST(one_removes_all)
{
    open_engine(_i);
    for (int i = 0; i < MANY; i++) {
        make_end(&ends[i], OPAL_READABLE);
        ends[i].descriptor.ready = remove_all_others;
        send_byte(ends[i].theirs);
    }
    look_around();
    ck_assert_int_eq(total_calls, 1);
    ck_assert_uint_eq(opal_descriptor_active, 0);
}
END_TEST

static int replace_itself(opal_descriptor_t *descriptor, unsigned events OPAL_UNUSED)
{
    end_t *end = opal_container_of(descriptor, end_t, descriptor);
    total_calls++;
    int ends_wait_at = end->ends_wait_at;
    remove_end(end);
    make_end(end, OPAL_READABLE); /* most likely with the same number, and in the same slot */
    end->descriptor.ready = replace_itself;
    end->ends_wait_at = ends_wait_at;
    if (total_calls == ends_wait_at)
        opal_wait_signal(&done);
    else
        send_byte(end->theirs);
    return 1;
}

START_TEST(one_replaces_itself)
{
    end_t end;
    open_engine(_i);
    make_end(&end, OPAL_READABLE);
    end.descriptor.ready = replace_itself;
    end.ends_wait_at = 100;
    send_byte(end.theirs);
    opal_wait_until(&done, NULL);
    look_around();
    ck_assert_int_eq(total_calls, 100);
    remove_end(&end);
}
END_TEST

/* What wants nothing for a while keeps its place, also if those behind it go. */
START_TEST(it_wants_again_when_others_have_gone)
{
    end_t first, second, third;
    open_engine(_i);
    make_end(&first, OPAL_READABLE);
    make_end(&second, OPAL_READABLE);
    send_byte(first.theirs);
    opal_descriptor_want(&first.descriptor, 0);
    remove_end(&second);
    opal_descriptor_want(&first.descriptor, OPAL_READABLE);
    look_around();
    ck_assert_int_gt(first.calls, 0);
    make_end(&second, OPAL_READABLE);
    make_end(&third, OPAL_READABLE);
    first.calls = 0;
    look_around();
    ck_assert_int_gt(first.calls, 0);
    remove_end(&first);
    remove_end(&second);
    remove_end(&third);
}
END_TEST

static const unit_test_t tests[] = {
    {.test = &nothing_is_open_before_the_first, .repeats = ENGINES},
    {.test = &readiness_is_a_level, .repeats = ENGINES},
    {.test = &what_is_wanted_changes, .repeats = ENGINES},
    {.test = &a_full_socket_becomes_writable, .repeats = ENGINES},
    {.test = &the_peer_closes, .repeats = ENGINES},
    {.test = &what_is_no_descriptor_is_refused, .repeats = ENGINES},
    {.test = &one_removes_all, .repeats = ENGINES},
    {.test = &one_replaces_itself, .repeats = ENGINES},
    {.test = &it_wants_again_when_others_have_gone, .repeats = ENGINES},
};

UNIT_MAIN("descriptor", tests, set_up_sleeper);
