/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * opal/mca/base/catalog.c: indices that do not change while parameters come and go, values that
 * outlast them, and what a tool may write when.
 */
#include "opal/mca/base/catalog.h"

#include "opal/mca/base/diagnostic.h"

#include "test/unit/opal/support.h"

static int depth, color, level, told;
static size_t bytes;
static const char *name;
static opal_strings_t list;

static const opal_param_choice_t colors[] = {{"red", 4}, {"blue", 7}, {0}};

/* A level of 13 makes no sense. */
static bool level_written(void)
{
    told++;
    return level != 13;
}

static void count_bytes(void)
{
    bytes += 5;
}

static const opal_param_row_t table[] = {
    {.name = "depth",
     .type = OPAL_PARAM_INT,
     .value = &depth,
     .preset = "10",
     .min = "1",
     .max = "100",
     .prose = "How deep"},
    {.name = "color", .type = OPAL_PARAM_ENUM, .value = &color, .preset = "red", .choices = colors},
    {.name = "level",
     .type = OPAL_PARAM_INT,
     .value = &level,
     .preset = "1",
     .write = OPAL_PARAM_ANYTIME,
     .written = level_written},
    {.name = "name", .type = OPAL_PARAM_STRING, .value = &name, .write = OPAL_PARAM_ANYTIME_EQUAL},
    {.name = "list", .type = OPAL_PARAM_LIST, .value = &list, .preset = "a,b"},
    {.name = "bytes", .type = OPAL_PARAM_SIZE, .value = &bytes, .refresh = count_bytes},
    {.name = "fixed",
     .type = OPAL_PARAM_INT,
     .value = &(int){0},
     .preset = "3",
     .write = OPAL_PARAM_NEVER},
    {.name = "old", .removed = "nothing is left of it"},
    {0},
};

static int other;
static const opal_param_row_t other_table[] = {
    {.name = "more", .type = OPAL_PARAM_INT, .value = &other, .preset = "1"},
    {0},
};

/* -- settings of an object, of which there are two here -- */

typedef struct boat {
    size_t limit;
    opal_strings_t crew;
} boat_t;

static boat_t boats[2];

static void get_limit(void *object, opal_param_value_t *value)
{
    value->size = ((const boat_t *)object)->limit;
}

static bool set_limit(void *object, const opal_param_value_t *value)
{
    if (value->size == 13)
        return false;
    ((boat_t *)object)->limit = value->size;
    return true;
}

static void get_crew(void *object, opal_param_value_t *value)
{
    const boat_t *boat = object;
    for (size_t i = 0; i < boat->crew.count; i++)
        opal_strings_add(&value->list, boat->crew.items[i]);
}

static const opal_bound_row_t bound[] = {
    {OPAL_PVAR_OF_COMM,
     {.name = "limit", .type = OPAL_PARAM_SIZE, .max = "100", .write = OPAL_PARAM_ANYTIME},
     get_limit,
     set_limit},
    {OPAL_PVAR_OF_WIN,
     {.name = "crew", .type = OPAL_PARAM_LIST, .write = OPAL_PARAM_NEVER},
     get_crew,
     NULL},
    {0},
};

static size_t find(const char *full_name)
{
    size_t index = SIZE_MAX;
    ck_assert_msg(opal_catalog_find(full_name, &index), "%s is not in the catalog", full_name);
    return index;
}

static const opal_record_t *look(const char *full_name)
{
    size_t index = find(full_name);
    opal_catalog_look(index, NULL);
    return opal_catalog_at(index);
}

static void setup(void)
{
    unsetenv("OMPI_MCA_sea_depth");
    opal_param_init();
    opal_param_register("sea", "", table);
    opal_catalog_start();
}

/* What is there when the catalog begins is in it, and what comes later; nothing leaves it. */
START_TEST(indices_stay)
{
    size_t count = opal_catalog_count(), index, depth_index = find("sea_depth");
    ck_assert_uint_eq(count, 7);
    ck_assert(!opal_catalog_find("sea_old", &index));
    opal_param_withdraw(table);
    opal_param_register("lake", "deep", other_table);
    opal_param_register("sea", "", table);
    ck_assert_uint_eq(opal_catalog_count(), count + 1);
    ck_assert_uint_eq(find("sea_depth"), depth_index);
    const opal_record_t *more = look("lake_deep_more");
    ck_assert_str_eq(more->framework, "lake");
    ck_assert_str_eq(more->component, "deep");
}
END_TEST

/* The record is a copy: of the row, and of the value when the parameter leaves. */
START_TEST(values_outlast)
{
    depth = 42;
    opal_param_withdraw(table);
    depth = 43;
    const opal_record_t *record = look("sea_depth");
    ck_assert_int_eq(record->value.integer, 42);
    ck_assert_ptr_null(record->live);
    ck_assert_str_eq(record->row.prose, "How deep");
    ck_assert_ptr_ne(record->row.max, table[0].max);
    ck_assert_str_eq(look("sea_color")->row.choices[1].name, "blue");
    ck_assert_uint_eq(look("sea_list")->value.list.count, 2);
    ck_assert_str_eq(look("sea_list")->value.list.items[1], "b");
}
END_TEST

START_TEST(looks_refresh)
{
    size_t before = look("sea_bytes")->value.size;
    ck_assert_uint_eq(look("sea_bytes")->value.size, before + 5);
    level = 8;
    ck_assert_int_eq(look("sea_level")->value.integer, 8);
}
END_TEST

/* Before a start it becomes the value of that start, whatever the environment says. */
START_TEST(written_before_start)
{
    opal_param_withdraw(table);
    ck_assert_int_eq(opal_catalog_write(find("sea_depth"), NULL, "101"), OPAL_ERR_BAD_PARAM);
    ck_assert_int_eq(opal_catalog_write(find("sea_depth"), NULL, "55"), OPAL_SUCCESS);
    ck_assert_int_eq(opal_catalog_write(find("sea_list"), NULL, "x,y,z"), OPAL_SUCCESS);
    ck_assert_int_eq(look("sea_depth")->value.integer, 55);
    opal_param_fini();
    setenv("OMPI_MCA_sea_depth", "66", 1);
    opal_param_init();
    opal_param_register("sea", "", table);
    ck_assert_int_eq(depth, 55);
    ck_assert_uint_eq(list.count, 3);
    ck_assert_uint_eq(opal_param_diagnose_unknown(NULL), 0);
}
END_TEST

START_TEST(written_when)
{
    ck_assert_int_eq(opal_catalog_write(find("sea_depth"), NULL, "5"), OPAL_ERR_BUSY);
    ck_assert_int_eq(opal_catalog_write(find("sea_fixed"), NULL, "5"), OPAL_ERR_NOT_SUPPORTED);
    ck_assert_int_eq(opal_catalog_write(find("sea_bytes"), NULL, "5"), OPAL_ERR_NOT_SUPPORTED);
    ck_assert_int_eq(opal_catalog_write(find("sea_name"), NULL, "whale"), OPAL_SUCCESS);
    ck_assert_str_eq(name, "whale");
    ck_assert_str_eq(look("sea_name")->value.string, "whale");
    ck_assert_str_eq(opal_param_setting("sea_name", NULL), "whale");
}
END_TEST

/* Its owner is told, and may refuse; then everything is as before. */
START_TEST(written_is_told)
{
    ck_assert_int_eq(opal_catalog_write(find("sea_level"), NULL, "9"), OPAL_SUCCESS);
    ck_assert_int_eq(level, 9);
    ck_assert_int_eq(told, 1);
    ck_assert_int_eq(opal_catalog_write(find("sea_level"), NULL, "13"), OPAL_ERR_BAD_PARAM);
    ck_assert_int_eq(level, 9);
    ck_assert_int_eq(told, 3);
    ck_assert_int_eq(look("sea_level")->value.integer, 9);
    ck_assert_int_eq(opal_catalog_write(find("sea_level"), NULL, "nine"), OPAL_ERR_BAD_PARAM);
    ck_assert_int_eq(level, 9);
}
END_TEST

/* They are read from an object and written into it alone, within the limits of the row. */
START_TEST(bound_to_objects)
{
    boats[0].limit = 4;
    boats[1].limit = 5;
    opal_bound_register("sea", "boat", bound);
    opal_bound_register("sea", "boat", bound);
    ck_assert_uint_eq(opal_catalog_count(), 9);
    size_t limit = find("sea_boat_limit"), crew = find("sea_boat_crew");
    ck_assert_int_eq(opal_catalog_at(limit)->bind, OPAL_PVAR_OF_COMM);
    ck_assert_int_eq(opal_catalog_write(limit, &boats[1], "7"), OPAL_SUCCESS);
    opal_catalog_look(limit, &boats[1]);
    ck_assert_uint_eq(opal_catalog_at(limit)->value.size, 7);
    opal_catalog_look(limit, &boats[0]);
    ck_assert_uint_eq(opal_catalog_at(limit)->value.size, 4);
    ck_assert_int_eq(opal_catalog_write(limit, &boats[1], "101"), OPAL_ERR_BAD_PARAM);
    ck_assert_int_eq(opal_catalog_write(limit, &boats[1], "13"), OPAL_ERR_BAD_PARAM);
    ck_assert_uint_eq(boats[1].limit, 7);
    ck_assert_int_eq(opal_catalog_write(crew, &boats[0], "x"), OPAL_ERR_NOT_SUPPORTED);
    opal_strings_add(&boats[0].crew, "ann");
    for (int i = 0; i < 2; i++) /* the second look does not add to the first */
        opal_catalog_look(crew, &boats[0]);
    ck_assert_uint_eq(opal_catalog_at(crew)->value.list.count, 1);
}
END_TEST

/* Without its component a setting remains known, and nothing can be written. */
START_TEST(bound_leave)
{
    opal_bound_register("sea", "boat", bound);
    size_t limit = find("sea_boat_limit");
    opal_bound_withdraw(bound);
    ck_assert_int_eq(opal_catalog_write(limit, &boats[0], "7"), OPAL_ERR_BUSY);
    opal_catalog_look(limit, &boats[0]);
    opal_bound_register("sea", "boat", bound);
    ck_assert_uint_eq(opal_catalog_count(), 9);
    ck_assert_int_eq(opal_catalog_write(limit, &boats[0], "7"), OPAL_SUCCESS);
    ck_assert_uint_eq(boats[0].limit, 7);
}
END_TEST

static const unit_test_t tests[] = {
    {.test = &indices_stay},         {.test = &values_outlast}, {.test = &looks_refresh},
    {.test = &written_before_start}, {.test = &written_when},   {.test = &written_is_told},
    {.test = &bound_to_objects},     {.test = &bound_leave},
};

UNIT_MAIN("catalog", tests, setup);
