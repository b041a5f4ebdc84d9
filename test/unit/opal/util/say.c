/* SPDX-License-Identifier: BSD-3-Clause */
/* opal/util/say.c */
#include "opal/util/say.h"

#include <errno.h>
#include <limits.h>
#include <stdint.h>

#include "opal/util/log.h"
#include "test/unit/opal/support.h"

START_TEST(conversions_are_those_of_printf)
{
    static const long numbers[] = {0, 1, -1, 42, INT_MAX, INT_MIN, LONG_MAX, LONG_MIN};
    char ours[256], theirs[256];
    for (size_t i = 0; i < OPAL_COUNT_OF(numbers); i++) {
        long n = numbers[i];
        opal_say_into(ours, sizeof ours, "%d %i %u %x %ld %lu %lx %zu %c%%", (int)n, (int)n,
                      (unsigned)n, (unsigned)n, n, (unsigned long)n, (unsigned long)n, (size_t)n,
                      'x');
        snprintf(theirs, sizeof theirs, "%d %i %u %x %ld %lu %lx %zu %c%%", (int)n, (int)n,
                 (unsigned)n, (unsigned)n, n, (unsigned long)n, (unsigned long)n, (size_t)n, 'x');
        ck_assert_str_eq(ours, theirs);
    }
    opal_say_into(ours, sizeof ours, "<%s> %p", "text", (void *)0xabc0);
    ck_assert_str_eq(ours, "<text> 0xabc0");
}
END_TEST

START_TEST(a_buffer_is_never_overrun)
{
    char buffer[8];
    memset(buffer, '#', sizeof buffer);
    opal_say_into(buffer, 5, "%s%d", "abc", 123456);
    ck_assert_mem_eq(buffer, "abc1\0###", sizeof buffer);
}
END_TEST

START_TEST(a_line_is_whole)
{
    opal_log_set_origin("node:3");
    unit_capture();
    errno = EBUSY;
    opal_say(OPAL_SAY_WARNING, "%d of %s", 2, "three");
    opal_say(OPAL_SAY_ERROR, "no");
    ck_assert_int_eq(errno, EBUSY);
    ck_assert_str_eq(unit_stderr(), "[node:3] warning: 2 of three\n[node:3] error: no\n");
}
END_TEST

START_TEST(what_is_not_loud_enough_is_not_said)
{
    unit_capture();
    opal_say(OPAL_SAY_INFO, "quiet");
    ck_assert_str_eq(unit_stderr(), "");
    opal_say_threshold = OPAL_SAY_DEBUG;
    opal_say(OPAL_SAY_TRACE, "quieter");
    opal_say(OPAL_SAY_DEBUG, "heard");
    ck_assert_ptr_nonnull(strstr(unit_stderr(), "] heard\n"));
    ck_assert_ptr_null(strstr(unit_stderr(), "quiet"));
}
END_TEST

START_TEST(a_long_line_is_cut)
{
    char text[2 * OPAL_SAY_MAX_BYTES];
    memset(text, 'a', sizeof text - 1);
    text[sizeof text - 1] = 0;
    unit_capture();
    opal_say(OPAL_SAY_ERROR, "%s", text);
    const char *line = unit_stderr();
    ck_assert_uint_eq(strlen(line), OPAL_SAY_MAX_BYTES);
    ck_assert_str_eq(line + OPAL_SAY_MAX_BYTES - 5, "a...\n");
}
END_TEST

static const unit_test_t tests[] = {
    {.test = &conversions_are_those_of_printf},
    {.test = &a_buffer_is_never_overrun},
    {.test = &a_line_is_whole},
    {.test = &what_is_not_loud_enough_is_not_said},
    {.test = &a_long_line_is_cut},
};

UNIT_MAIN("say", tests, NULL);
