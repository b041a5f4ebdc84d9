/* SPDX-License-Identifier: BSD-3-Clause */
/* tools/mpirun/spelling.c: no option is forgotten, and every row can be used. */
#include "tools/mpirun/spelling.h"

#include "test/unit/opal/support.h"
#include "tools/mpirun/options.h"

START_TEST(spelling_has_every_option)
{
    const char *names;
    size_t i;
    for (i = 0; (names = options_names(i)) != NULL; i++) {
        char *name = opal_xstrndup(names, strcspn(names, " "));
        bool found = false;
        const spelling_row_t *row;
        for (size_t k = 0; (row = spelling_row(k)) != NULL; k++)
            found = found || strcmp(row->option, name) == 0;
        ck_assert_msg(found, "--%s is in no row", name);
        free(name);
    }
    ck_assert_uint_gt(i, 20);
}
END_TEST

START_TEST(spelling_is_complete)
{
    const spelling_row_t *row;
    for (size_t i = 0; (row = spelling_row(i)) != NULL; i++) {
        ck_assert_msg(spelling_find(row->option, row->value) == row, "%s %s is hidden", row->option,
                      row->value);
        for (int by = OPAL_LAUNCHER_SRUN; by < OPAL_LAUNCHER_COUNT; by++) {
            const spelling_t *spelling = &row->by[by];
            bool needs_text = spelling->kind == SPELLING_WORDS ||
                              spelling->kind == SPELLING_VARIABLE ||
                              spelling->kind == SPELLING_REFUSED;
            ck_assert_msg((spelling->text != NULL) == needs_text, "%s, %d", row->option, by);
        }
    }
}
END_TEST

START_TEST(spelling_prefers_the_value)
{
    ck_assert_str_eq(spelling_find("stdin", "all")->by[OPAL_LAUNCHER_SRUN].text, "--input=%s");
    ck_assert_str_eq(spelling_find("stdin", "none")->by[OPAL_LAUNCHER_SRUN].text, "--input=none");
    ck_assert_ptr_null(spelling_find("map-by", "board"));
    ck_assert_ptr_null(spelling_find("nonsense", NULL));
}
END_TEST

static const unit_test_t tests[] = {
    {.test = &spelling_has_every_option},
    {.test = &spelling_is_complete},
    {.test = &spelling_prefers_the_value},
};

UNIT_MAIN("spelling", tests, NULL);
