/* SPDX-License-Identifier: BSD-3-Clause */
/* ompi/mca/osc/messages/type.c: words that are no type are refused, whatever they are. */
#include "ompi/datatype/layout.h"
#include "test/unit/ompi/datatype/model.h"
#include "test/unit/ompi/mca/osc/messages/fake_btl.h"

/* Whether words that come in one frame are taken as a type. Nothing behind them may be read. */
static bool takes(const uint64_t *from, size_t bytes)
{
    messages_head_t head = {.type = 5, .count = bytes};
    char *exact = malloc(bytes > 0 ? bytes : 1);
    memcpy(exact, from, bytes);
    ck_assert(messages_type_receive(&receiver, &head, exact, bytes));
    free(exact);
    bool taken = receiver.received[5] != NULL;
    forget();
    return taken;
}

START_TEST(words_that_end_early_are_refused)
{
    model_seed(77);
    for (int i = 0; i < 100; i++) {
        sample_t sample = sample_create();
        transfer(sample.type);
        forget();
        ck_assert(takes(words, words_bytes));
        for (size_t bytes = 0; bytes < words_bytes; bytes += 1 + bytes % 7)
            ck_assert(!takes(words, bytes));
        sample_destroy(&sample);
    }
}
END_TEST

/* Any of them may be refused; none may end in a crash. */
START_TEST(words_that_are_wrong_do_no_harm)
{
    static const uint64_t wrong[] = {0,          1,          2,          3,
                                     4,          8,          1 << 20,    1ULL << 54,
                                     INT64_MAX,  1ULL << 63, UINT64_MAX, UINT64_MAX - 7,
                                     1ULL << 61, 0xffffffff};
    unsigned refused = 0;
    model_seed(4321);
    for (int i = 0; i < 4000; i++) {
        static uint64_t copy[4096];
        sample_t sample = sample_create();
        transfer(sample.type);
        forget();
        size_t count = words_bytes / 8;
        ck_assert_uint_le(words_bytes, sizeof copy);
        memcpy(copy, words, words_bytes);
        for (MPI_Count changes = model_random(1, 3); changes > 0; changes--)
            copy[model_random(0, (MPI_Count)count - 1)] =
                wrong[model_random(0, OPAL_COUNT_OF(wrong) - 1)];
        refused += !takes(copy, words_bytes);
        sample_destroy(&sample);
    }
    ck_assert_uint_gt(refused, 500);
}
END_TEST

enum { HEAD_WORDS = 7, DEEP = 100000, RUN = OMPI_LAYOUT_RUN, LOOP = OMPI_LAYOUT_LOOP };

/* Loops of two in each other, around a run. */
START_TEST(nothing_is_too_deep)
{
    static uint64_t nested[HEAD_WORDS + 3 * DEEP + 2];
    uint64_t *next = nested + HEAD_WORDS;
    for (int i = 0; i < DEEP; i++, next += 3)
        memcpy(next, (uint64_t[]){LOOP, 1, 100}, 3 * sizeof *next);
    memcpy(next, (uint64_t[]){RUN, 8}, 2 * sizeof *next);
    ck_assert(!takes(nested, sizeof nested));
}
END_TEST

START_TEST(nothing_is_too_large)
{
    static const uint64_t trees[][8] = {{RUN, 8},
                                        {RUN, 1ULL << 63},
                                        {LOOP, 1ULL << 62, 16, RUN, 8},
                                        {LOOP, 1ULL << 61, 16, RUN, 8},
                                        {LOOP, 2, 1ULL << 63, RUN, 8},
                                        {OMPI_LAYOUT_BLOCKS, 2, 0, 1ULL << 63, RUN, 8},
                                        {OMPI_LAYOUT_BLOCKS, 1ULL << 60, 0, 0, RUN, 8},
                                        {OMPI_LAYOUT_LIST, 1, INT64_MAX, RUN, 8},
                                        {77, 2, 0, RUN, 8}};
    uint64_t all[HEAD_WORDS + 8] = {0, 0, 8, -(1ULL << 54), 1ULL << 54};
    memcpy(all + HEAD_WORDS, trees[_i], sizeof trees[_i]);
    ck_assert(takes(all, sizeof all) == (_i == 0));
}
END_TEST

/* Layouts with data outside of the true bounds that come with them, by a byte. */
START_TEST(bounds_hold_the_data)
{
    static const struct {
        int64_t origin, first, behind; /* of the data, relative to the buffer */
        uint64_t tree[9];
    } rows[] = {{0, 0, 8, {RUN, 8}},
                {-20, -20, -12, {RUN, 8}},
                {0, 0, 208, {LOOP, 3, 100, RUN, 8}},
                {40, -160, 48, {LOOP, 3, (uint64_t)-100, RUN, 8}},
                {0, -30, 58, {OMPI_LAYOUT_BLOCKS, 3, 0, (uint64_t)-30, 50, RUN, 8}},
                {7, 7, 116, {OMPI_LAYOUT_LIST, 2, 0, RUN, 8, 100, RUN, 9}},
                {0, 0, 1016, {LOOP, 2, 1000, LOOP, 2, 12, RUN, 4}}};
    int64_t first = rows[_i].first, behind = rows[_i].behind;
    uint64_t all[HEAD_WORDS + 9] = {(uint64_t)rows[_i].origin, 0, 8};
    memcpy(all + HEAD_WORDS, rows[_i].tree, sizeof rows[_i].tree);
    for (int change = -1; change <= 1; change++) {
        for (int end = 3; end <= 4; end++) {
            all[3] = (uint64_t)(first + (end == 3 ? change : 0));
            all[4] = (uint64_t)(behind + (end == 4 ? change : 0));
            bool fits = end == 3 ? change <= 0 : change >= 0;
            ck_assert(takes(all, sizeof all) == fits);
        }
    }
}
END_TEST

/* An accumulate changes whole elements. */
START_TEST(runs_have_whole_elements)
{
    uint64_t element = (uint64_t)(uintptr_t)MPI_DOUBLE;
    uint64_t all[HEAD_WORDS + 8] = {0, 0, 8, 0, 100, 8, element};
    const uint64_t whole[] = {OMPI_LAYOUT_LIST, 2, 0, RUN, 8, 32, RUN, 16};
    memcpy(all + HEAD_WORDS, whole, sizeof whole);
    ck_assert(takes(all, sizeof all));
    all[HEAD_WORDS + 4] = 12; /* of the first run, and the other one has the rest */
    all[HEAD_WORDS + 7] = 12;
    ck_assert(!takes(all, sizeof all));
    all[HEAD_WORDS + 7] = 16;
    ck_assert(!takes(all, sizeof all));
}
END_TEST

/* Frames whose heads do not fit together. */
START_TEST(parts_that_do_not_fit_are_dropped)
{
    static const messages_head_t heads[] = {{.type = MESSAGES_TYPE_SLOTS, .count = 64},
                                            {.type = 5, .count = 64, .position = 65},
                                            {.type = 5, .count = 64, .position = 8},
                                            {.type = 5, .count = 63},
                                            {.type = 5, .count = 1 << 20, .position = 1 << 19}};
    static const char bytes[64];
    messages_head_t begin = {.type = 5, .count = 128};
    if (_i % 2 != 0)
        ck_assert(messages_type_receive(&receiver, &begin, bytes, sizeof bytes));
    ck_assert(messages_type_receive(&receiver, &heads[_i / 2], bytes, sizeof bytes));
    ck_assert_ptr_null(receiver.received[5]);
    forget();
}
END_TEST

static const unit_test_t tests[] = {
    {.test = &words_that_end_early_are_refused},
    {.test = &words_that_are_wrong_do_no_harm},
    {.test = &nothing_is_too_deep},
    {.test = &nothing_is_too_large, .repeats = 9},
    {.test = &bounds_hold_the_data, .repeats = 7},
    {.test = &runs_have_whole_elements},
    {.test = &parts_that_do_not_fit_are_dropped, .repeats = 10},
};

UNIT_MAIN("type_refused", tests, setup);
