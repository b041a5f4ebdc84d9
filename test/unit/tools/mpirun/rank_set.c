/* SPDX-License-Identifier: BSD-3-Clause */
/* tools/mpirun/rank_set.c: lists of ranks. */
#include "tools/mpirun/rank_set.h"

#include <string.h>

#include "test/unit/opal/support.h"

START_TEST(rank_set_reads_lists)
{
    static const struct {
        const char *text, *members; /* of 0 to 7; NULL: refused */
    } cases[] = {
        {"0", "0"},    {"0,3-5", "0345"}, {"5-5,1", "15"}, {"3,3", "3"},   {"2-3,0-2", "0123"},
        {"", NULL},    {",", NULL},       {"1,", NULL},    {",1", NULL},   {"3-1", NULL},
        {"1-", NULL},  {"-1", NULL},      {"1-2-3", NULL}, {" 1", NULL},   {"all", NULL},
        {"1;2", NULL}, {"65536", NULL},   {"+1", NULL},    {"1--2", NULL},
    };
    rank_set_t set;
    const char *text = cases[_i].text, *members = cases[_i].members;
    ck_assert_int_eq(rank_set_parse(&set, text, strlen(text)), members != NULL);
    for (unsigned rank = 0; rank < 8; rank++)
        ck_assert_int_eq(rank_set_has(&set, rank),
                         members != NULL && strchr(members, '0' + (int)rank) != NULL);
    if (members != NULL)
        ck_assert_uint_eq(rank_set_highest(&set), (unsigned)(members[strlen(members) - 1] - '0'));
    rank_set_free(&set);
}
END_TEST

START_TEST(rank_set_reads_no_more_than_it_is_told)
{
    rank_set_t set, copy;
    ck_assert(rank_set_parse(&set, "1,2:9", 3));
    rank_set_copy(&copy, &set);
    rank_set_free(&set);
    ck_assert(rank_set_has(&copy, 2) && !rank_set_has(&copy, 9));
    rank_set_free(&copy);
}
END_TEST

static const unit_test_t tests[] = {
    {.test = &rank_set_reads_lists, .repeats = 19},
    {.test = &rank_set_reads_no_more_than_it_is_told},
};

UNIT_MAIN("rank_set", tests, NULL);
