/* SPDX-License-Identifier: BSD-3-Clause */
/* opal/util/names.h: a name is found from add to remove, and never means another object. */
#include "opal/util/names.h"

#include <stdlib.h>

#include "test/unit/opal/support.h"

enum { OBJECTS = 1000, ROUNDS = 100000 };

static opal_names_t names;
static char objects[OBJECTS];

static void setup(void)
{
    opal_names_free(&names);
}

START_TEST(an_empty_table_has_no_names)
{
    ck_assert_ptr_null(opal_names_find(&names, 0));
    ck_assert_ptr_null(opal_names_find(&names, UINT64_C(1) << 32));
    ck_assert_ptr_null(opal_names_find(&names, UINT64_MAX));
    opal_names_remove(&names, UINT64_C(1) << 32);
}
END_TEST

START_TEST(an_object_is_found_until_it_is_removed)
{
    uint64_t name = opal_names_add(&names, &objects[0]);
    ck_assert(name != 0);
    ck_assert_ptr_eq(opal_names_find(&names, name), &objects[0]);
    opal_names_remove(&names, name);
    ck_assert_ptr_null(opal_names_find(&names, name));
    opal_names_remove(&names, name); /* twice: nothing */
}
END_TEST

/* Names near the one that was given: another slot, an earlier or later generation. */
START_TEST(names_that_were_not_given_are_not_found)
{
    uint64_t name = opal_names_add(&names, &objects[0]);
    for (int bit = 0; bit < 64; bit++)
        ck_assert_ptr_null(opal_names_find(&names, name ^ UINT64_C(1) << bit));
    ck_assert_ptr_null(opal_names_find(&names, 0));
}
END_TEST

START_TEST(a_slot_that_is_used_again_has_another_name)
{
    uint64_t first = opal_names_add(&names, &objects[0]);
    opal_names_remove(&names, first);
    uint64_t second = opal_names_add(&names, &objects[1]);
    ck_assert_uint_eq((uint32_t)first, (uint32_t)second);
    ck_assert(first != second);
    opal_names_remove(&names, first); /* of no effect on the second */
    ck_assert_ptr_null(opal_names_find(&names, first));
    ck_assert_ptr_eq(opal_names_find(&names, second), &objects[1]);
}
END_TEST

START_TEST(generations_begin_again_without_zero)
{
    uint64_t name = opal_names_add(&names, &objects[0]);
    opal_names_remove(&names, name);
    names.slots[(uint32_t)name].generation = UINT32_MAX;
    uint64_t last = opal_names_add(&names, &objects[0]);
    ck_assert_uint_eq((uint32_t)(last >> 32), UINT32_MAX);
    opal_names_remove(&names, last);
    uint64_t next = opal_names_add(&names, &objects[0]);
    ck_assert(next != 0);
    ck_assert_uint_eq((uint32_t)(next >> 32), 1);
}
END_TEST

/* As a table of so many objects ends that a slot's number has no room for more. */
START_TEST(a_full_table_gives_no_name)
{
    opal_names_t full = {.slot_count = UINT32_MAX / 2 + 1};
    ck_assert_uint_eq(opal_names_add(&full, &objects[0]), 0);
}
END_TEST

START_TEST(many_come_and_go)
{
    uint64_t given[OBJECTS] = {0}, old[OBJECTS] = {0};
    srand(1);
    for (int round = 0; round < ROUNDS; round++) {
        int i = rand() % OBJECTS;
        if (given[i] == 0) {
            given[i] = opal_names_add(&names, &objects[i]);
            ck_assert(given[i] != 0 && given[i] != old[i]);
        } else {
            opal_names_remove(&names, given[i]);
            old[i] = given[i];
            given[i] = 0;
        }
        int j = rand() % OBJECTS;
        ck_assert_ptr_null(opal_names_find(&names, old[j]));
        ck_assert_ptr_eq(opal_names_find(&names, given[j]), given[j] != 0 ? &objects[j] : NULL);
    }
    ck_assert_uint_le(names.slot_count, 2 * OBJECTS);
}
END_TEST

static const unit_test_t tests[] = {
    {.test = &an_empty_table_has_no_names},
    {.test = &an_object_is_found_until_it_is_removed},
    {.test = &names_that_were_not_given_are_not_found},
    {.test = &a_slot_that_is_used_again_has_another_name},
    {.test = &generations_begin_again_without_zero},
    {.test = &a_full_table_gives_no_name},
    {.test = &many_come_and_go},
};

UNIT_MAIN("names", tests, setup);
