/* SPDX-License-Identifier: BSD-3-Clause */
/* opal/mca/base/pvar.c: indices that stay, values with and without their owner, demand. */
#include "opal/mca/base/pvar.h"

#include "test/unit/opal/support.h"

static opal_counter_t counter;
static opal_demand_t demand;
static uint64_t depth = 40;

static uint64_t read_depth(const opal_pvar_row_t *row, void *object)
{
    return object != NULL ? *(uint64_t *)object : depth + (uint64_t)row->which;
}

static const opal_pvar_row_t table[] = {
    {.name = "waves",
     .class = OPAL_PVAR_COUNTER,
     .value = &counter,
     .demand = &demand,
     .prose = "How many"},
    {.name = "depth", .class = OPAL_PVAR_LEVEL, .read = read_depth, .which = 2, .prose = "Now"},
    {.name = "depth", .class = OPAL_PVAR_HIGHWATERMARK, .read = read_depth, .prose = "The most"},
    {.name = "of_comm",
     .class = OPAL_PVAR_LEVEL,
     .bind = OPAL_PVAR_OF_COMM,
     .read = read_depth,
     .prose = "Of a communicator"},
    {0},
};

static const opal_pvar_row_t other[] = {
    {.name = "fish", .class = OPAL_PVAR_COUNTER, .value = &counter, .prose = "How many"},
    {0},
};

static size_t find(const char *name, opal_pvar_class_t class)
{
    size_t index = SIZE_MAX;
    ck_assert_msg(opal_pvar_find(name, class, &index), "no variable %s", name);
    return index;
}

static void setup(void)
{
    opal_pvar_register("sea", "salt", table);
}

START_TEST(names_have_classes)
{
    size_t index;
    ck_assert_uint_eq(opal_pvar_count(), 4);
    ck_assert_uint_ne(find("sea_salt_depth", OPAL_PVAR_LEVEL),
                      find("sea_salt_depth", OPAL_PVAR_HIGHWATERMARK));
    ck_assert(!opal_pvar_find("sea_salt_depth", OPAL_PVAR_COUNTER, &index));
    ck_assert(!opal_pvar_find("sea_depth", OPAL_PVAR_LEVEL, &index));
    ck_assert_str_eq(opal_pvar_at(find("sea_salt_waves", OPAL_PVAR_COUNTER))->row.prose,
                     "How many");
    ck_assert_ptr_ne(opal_pvar_at(0)->row.prose, table[0].prose);
}
END_TEST

START_TEST(indices_stay)
{
    size_t level = find("sea_salt_depth", OPAL_PVAR_LEVEL);
    opal_pvar_register("sea", "salt", table);
    opal_pvar_register("lake", "", other);
    opal_pvar_register("lake", "", NULL);
    ck_assert_uint_eq(opal_pvar_count(), 5);
    find("lake_fish", OPAL_PVAR_COUNTER);
    opal_pvar_withdraw(table);
    opal_pvar_withdraw(other);
    opal_pvar_register("sea", "salt", table);
    ck_assert_uint_eq(opal_pvar_count(), 5);
    ck_assert_uint_eq(find("sea_salt_depth", OPAL_PVAR_LEVEL), level);
}
END_TEST

/* Without its DSO a variable has the last value; of an object there is none. */
START_TEST(values)
{
    uint64_t own = 7;
    size_t waves = find("sea_salt_waves", OPAL_PVAR_COUNTER);
    size_t level = find("sea_salt_depth", OPAL_PVAR_LEVEL);
    size_t of_comm = find("sea_salt_of_comm", OPAL_PVAR_LEVEL);
    opal_count(&counter, 3);
    ck_assert_uint_eq(opal_pvar_read(waves, NULL), 3);
    ck_assert_uint_eq(opal_pvar_read(level, NULL), 42);
    ck_assert_uint_eq(opal_pvar_read(of_comm, &own), 7);
    opal_pvar_withdraw(table);
    opal_count(&counter, 1);
    depth = 50;
    ck_assert_uint_eq(opal_pvar_read(waves, NULL), 3);
    ck_assert_uint_eq(opal_pvar_read(level, NULL), 42);
    ck_assert_uint_eq(opal_pvar_read(of_comm, &own), 0);
    opal_pvar_register("sea", "salt", table);
    ck_assert_uint_eq(opal_pvar_count(), 4);
    ck_assert_uint_eq(opal_pvar_read(waves, NULL), 4);
    ck_assert_uint_eq(opal_pvar_read(level, NULL), 52);
}
END_TEST

/* There is one of a variable from its first handle that is started to its last one that is stopped.
 */
START_TEST(demand_by_handles)
{
    size_t waves = find("sea_salt_waves", OPAL_PVAR_COUNTER);
    ck_assert(!opal_is_demanded(&demand));
    opal_pvar_use(waves, true);
    opal_pvar_use(waves, true);
    ck_assert_uint_eq(demand.variables, 1);
    opal_pvar_use(waves, false);
    ck_assert(opal_is_demanded(&demand));
    opal_pvar_use(waves, false);
    ck_assert(!opal_is_demanded(&demand));
    opal_pvar_set_profiled(waves, true);
    ck_assert(opal_is_demanded(&demand) && !opal_is_counted(&demand));
    opal_pvar_use(waves, true);
    opal_pvar_set_profiled(waves, false);
    ck_assert(opal_is_counted(&demand));
    opal_pvar_use(waves, false);
    ck_assert(!opal_is_demanded(&demand));
    opal_pvar_use(find("sea_salt_depth", OPAL_PVAR_LEVEL), true);
    ck_assert(!opal_is_demanded(&demand));
}
END_TEST

/* A table that goes and comes again while a handle is started. */
START_TEST(demand_of_a_table_that_comes_again)
{
    size_t waves = find("sea_salt_waves", OPAL_PVAR_COUNTER);
    opal_pvar_use(waves, true);
    opal_pvar_withdraw(table);
    ck_assert(!opal_is_demanded(&demand));
    opal_pvar_register("sea", "salt", table);
    opal_pvar_register("sea", "salt", table);
    ck_assert_uint_eq(demand.variables, 1);
    opal_pvar_use(waves, false);
    ck_assert(!opal_is_demanded(&demand));
    opal_pvar_withdraw(table);
    opal_pvar_register("sea", "salt", table);
    ck_assert(!opal_is_demanded(&demand));
}
END_TEST

/* A table that goes before anybody has asked leaves nothing. */
START_TEST(nobody_has_asked)
{
    opal_pvar_withdraw(table);
    ck_assert_uint_eq(opal_pvar_count(), 0);
}
END_TEST

START_TEST(counters)
{
    opal_counter_t most = {0};
    opal_traffic_t traffic = {{0}, {0}};
    opal_counter_raise(&most, 5);
    opal_counter_raise(&most, 4);
    ck_assert_uint_eq(opal_counted(&most), 5);
    opal_count_message(&traffic, 10);
    opal_count_message(&traffic, 7);
    ck_assert_uint_eq(opal_counted(&traffic.messages), 2);
    ck_assert_uint_eq(opal_counted(&traffic.bytes), 17);
}
END_TEST

static const unit_test_t tests[] = {
    {.test = &names_have_classes},
    {.test = &indices_stay},
    {.test = &values},
    {.test = &demand_by_handles},
    {.test = &demand_of_a_table_that_comes_again},
    {.test = &nobody_has_asked},
    {.test = &counters},
};

UNIT_MAIN("pvar", tests, setup);
