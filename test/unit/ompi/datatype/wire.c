/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * ompi/datatype/wire.c: types that were written and read pack the same bytes; words that end early
 * are refused. How a transport carries them, and words that are wrong: test/unit/ompi/mca/osc.
 */
#include "ompi/datatype/wire.h"

#include "test/unit/ompi/datatype/model.h"
#include "test/unit/opal/support.h"

enum { TYPES = 300, ROUNDS = 4 };

static void check_properties(const ompi_datatype_t *type, const ompi_datatype_t *made)
{
    ck_assert_uint_eq(ompi_datatype_size(made), ompi_datatype_size(type));
    ck_assert_int_eq(ompi_datatype_lb(made), ompi_datatype_lb(type));
    ck_assert_int_eq(ompi_datatype_extent(made), ompi_datatype_extent(type));
    ck_assert_int_eq(ompi_datatype_true_lb(made), ompi_datatype_true_lb(type));
    ck_assert_int_eq(ompi_datatype_true_extent(made), ompi_datatype_true_extent(type));
    ck_assert_ptr_eq(ompi_datatype_element(made), ompi_datatype_element(type));
}

START_TEST(types_come_back)
{
    model_seed(500 + (uint64_t)_i);
    for (int i = 0; i < TYPES; i++) {
        size_t bytes;
        bool is_wrong = true;
        sample_t sample = sample_create();
        uint64_t *words = ompi_datatype_write(sample.type, &bytes);
        ompi_datatype_t *made = ompi_datatype_read((const char *)words, bytes, &is_wrong);
        free(words);
        ck_assert_ptr_nonnull(made);
        ck_assert(!is_wrong);
        check_properties(sample.type, made);
        model_check_packs_alike(sample.type, made);
        ompi_datatype_release(made);
        sample_destroy(&sample);
    }
}
END_TEST

/* Nothing behind the words is read. */
START_TEST(words_that_end_early_are_refused)
{
    model_seed(77);
    for (int i = 0; i < 50; i++) {
        size_t bytes;
        sample_t sample = sample_create();
        uint64_t *words = ompi_datatype_write(sample.type, &bytes);
        for (size_t length = 0; length < bytes; length += 1 + length % 7) {
            char *exact = malloc(length + 1);
            bool is_wrong = false;
            memcpy(exact, words, length);
            ck_assert_ptr_null(ompi_datatype_read(exact, length, &is_wrong));
            ck_assert(is_wrong);
            free(exact);
        }
        free(words);
        sample_destroy(&sample);
    }
}
END_TEST

static const unit_test_t tests[] = {
    {.test = &types_come_back, .repeats = ROUNDS},
    {.test = &words_that_end_early_are_refused},
};

static void setup(void)
{
    ck_assert_int_eq(ompi_datatype_init(), MPI_SUCCESS);
}

UNIT_MAIN("ompi/datatype/wire", tests, setup);
