/* SPDX-License-Identifier: BSD-3-Clause */
/* opal/profile/trace.h: records come in their order, over windows, and stop at the limit. */
#include "opal/profile/trace.h"

#include <fcntl.h>

#include "test/unit/opal/support.h"

enum { MIB = 1 << 20 };

static char *path;
static uint64_t *words;
static size_t count;

static void setup(void)
{
    unit_make_folder();
    path = opal_xprintf("%s/trace", unit_folder);
}

static void load(void)
{
    FILE *file = fopen(path, "r");
    ck_assert_ptr_nonnull(file);
    words = malloc(8 * MIB);
    count = fread(words, sizeof *words, MIB, file);
    fclose(file);
}

static void end(void)
{
    free(words);
    free(path);
    unit_remove_folder();
}

START_TEST(records_are_what_was_written)
{
    opal_trace_t *trace = opal_trace_open(path, 4 * MIB);
    opal_trace_message(trace, OPAL_TRACE_SENT, 3, -7, 12, 5, 1000);
    opal_trace_interval(trace, OPAL_TRACE_CALL, 5000, 5600, 9);
    opal_trace_close(trace);
    load();
    ck_assert_uint_eq(count, 7);
    ck_assert_uint_eq(words[0], OPAL_TRACE_MAGIC);
    ck_assert_uint_eq(words[1], 0);
    ck_assert_uint_eq(words[2], 1000 << 4 | OPAL_TRACE_SENT);
    ck_assert_uint_eq(words[3] >> 32, 3);
    ck_assert_int_eq((int32_t)(uint32_t)words[3], -7);
    ck_assert_uint_eq(words[4], (uint64_t)5 << 32 | 12);
    ck_assert_uint_eq(words[5], 5000 << 4 | OPAL_TRACE_CALL);
    ck_assert_uint_eq(words[6], 600 << 16 | 9);
    end();
}
END_TEST

START_TEST(windows_are_filled_up)
{
    enum { CALLS = 100000 };
    opal_trace_t *trace = opal_trace_open(path, 4 * MIB);
    for (uint64_t i = 0; i < CALLS; i++)
        opal_trace_interval(trace, OPAL_TRACE_CALL, i, i + 1, 0);
    opal_trace_close(trace);
    load();
    uint64_t calls = 0;
    for (size_t i = 2; i < count;
         calls += words[i] != OPAL_TRACE_PADDING, i += words[i] == OPAL_TRACE_PADDING ? 1 : 2) {
        if (words[i] != OPAL_TRACE_PADDING)
            ck_assert_uint_eq(words[i] >> 4, calls);
    }
    ck_assert_uint_eq(calls, CALLS);
    end();
}
END_TEST

START_TEST(a_trace_is_cut_at_its_limit)
{
    opal_trace_t *trace = opal_trace_open(path, 2 * MIB);
    for (uint64_t i = 0; i < 1000000; i++)
        opal_trace_interval(trace, OPAL_TRACE_CALL, i, i + 1, 0);
    opal_trace_close(trace);
    load();
    ck_assert_uint_le(count * sizeof *words, 2 * MIB);
    ck_assert_uint_ne(words[1], 0);
    end();
}
END_TEST

static const unit_test_t tests[] = {
    {.test = &records_are_what_was_written},
    {.test = &windows_are_filled_up},
    {.test = &a_trace_is_cut_at_its_limit},
};

UNIT_MAIN("trace", tests, setup);
