/* SPDX-License-Identifier: BSD-3-Clause */
/* opal/profile/trace.h: records come in their order, over windows, and stop at the limit. */
#include "opal/profile/trace.h"

#include <fcntl.h>

#include "test/unit/opal/support.h"

#define MIB ((size_t)1 << 20)

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

#define PIECE (OPAL_TRACE_PIECE / sizeof *words)

START_TEST(records_are_what_was_written)
{
    opal_trace_t *trace = opal_trace_open(path, 4 * MIB);
    opal_trace_message(trace, OPAL_TRACE_SENT, 3, -7, 12, 5, 1000);
    opal_trace_interval(trace, OPAL_TRACE_CALL, 5000, 5600, 9);
    opal_trace_message(trace, OPAL_TRACE_SENT, 3, -7, 12, 6, 1000);
    opal_trace_message(trace, OPAL_TRACE_SENT, 3, -7, 12, 7, 1001);
    opal_trace_message(trace, OPAL_TRACE_MATCHED, 3, -7, 12, 8, 1000);
    opal_trace_close(trace);
    load();
    ck_assert_uint_eq(count, 2 * PIECE);
    ck_assert_uint_eq(words[0], OPAL_TRACE_MAGIC);
    ck_assert_uint_eq(words[1], 0);
    ck_assert_uint_eq(words[2], 0);
    const uint64_t *window = words + PIECE;
    ck_assert_uint_eq(window[0], 1000 << 4 | OPAL_TRACE_SENT);
    ck_assert_uint_eq(window[1] >> 32, 3);
    ck_assert_int_eq((int32_t)(uint32_t)window[1], -7);
    ck_assert_uint_eq(window[2], (uint64_t)5 << 32 | 12);
    ck_assert_uint_eq(window[3], 5000 << 4 | OPAL_TRACE_CALL);
    ck_assert_uint_eq(window[4], 600 << 16 | 9);
    opal_trace_message_t message = {window[0], window[1], (uint32_t)window[2]};
    ck_assert_uint_eq(window[5],
                      (uint64_t)6 << 32 | opal_trace_slot_of(&message) << 4 | OPAL_TRACE_AGAIN);
    ck_assert_uint_eq(window[6], 1001 << 4 | OPAL_TRACE_SENT);
    ck_assert_uint_eq(window[8], (uint64_t)7 << 32 | 12);
    ck_assert_uint_eq(window[9], 1000 << 4 | OPAL_TRACE_MATCHED);
    ck_assert_uint_eq(window[12], OPAL_TRACE_END);
    end();
}
END_TEST

/* The calls of a piece, whose times go on from *next. */
static void check_piece(const uint64_t *piece, uint64_t *next)
{
    for (size_t i = 0; i + 2 <= PIECE && piece[i] != OPAL_TRACE_END; i += 2, ++*next)
        ck_assert_uint_eq(piece[i] >> 4, *next);
}

/* Not all pieces are full: there is no room for the longest record. */
START_TEST(pieces_come_in_their_order)
{
    enum { CALLS = 100000 };
    opal_trace_t *trace = opal_trace_open(path, 4 * MIB);
    for (uint64_t i = 0; i < CALLS; i++)
        opal_trace_interval(trace, OPAL_TRACE_CALL, i, i + 1, 0);
    opal_trace_close(trace);
    load();
    uint64_t calls = 0;
    ck_assert_uint_eq(count, (2 + words[2]) * PIECE);
    for (size_t i = 2; i < 2 + words[2]; i++)
        check_piece(words + i * PIECE, &calls);
    check_piece(words + PIECE, &calls);
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
    ck_assert_uint_eq(count * sizeof *words, 2 * MIB);
    ck_assert_uint_ne(words[1], 0);
    uint64_t calls = 0;
    for (size_t i = 2; i < 2 + words[2]; i++)
        check_piece(words + i * PIECE, &calls);
    check_piece(words + PIECE, &calls); /* the last ones that had room */
    ck_assert_uint_ge(calls, (2 * MIB - OPAL_TRACE_PIECE) / 16 - 2 * words[2]);
    end();
}
END_TEST

static const unit_test_t tests[] = {
    {.test = &records_are_what_was_written},
    {.test = &pieces_come_in_their_order},
    {.test = &a_trace_is_cut_at_its_limit},
};

UNIT_MAIN("trace", tests, setup);
