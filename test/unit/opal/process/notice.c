/* SPDX-License-Identifier: BSD-3-Clause */
/* opal/process/notice.c, and who starts alone (job.c): a launcher that shows values after a fence,
 * and keeps names. */
#include "opal/process/notice.h"

#include "opal/process/job.h"
#include "test/unit/opal/support.h"

enum { MOST_NAMES = 32 };

static struct {
    struct {
        char *name, *port;
    } names[MOST_NAMES];
    size_t count;
    bool keeps_none, takes_twice; /* as some servers */
    unsigned fences;
} launcher;

static opal_pmi_job_t job = {.rank = 1, .size = 3, .job_id = "unit"};

static opal_status_t init(void *state OPAL_UNUSED, opal_pmi_job_t *found)
{
    *found = job;
    return OPAL_SUCCESS;
}

static opal_status_t fence(void *state OPAL_UNUSED)
{
    launcher.fences++;
    return OPAL_SUCCESS;
}

static size_t find(const char *name)
{
    size_t i = 0;
    while (i < launcher.count && strcmp(launcher.names[i].name, name) != 0)
        i++;
    return i;
}

static opal_status_t publish(void *state OPAL_UNUSED, const char *name, const char *port)
{
    if (find(name) < launcher.count && !launcher.takes_twice)
        return OPAL_ERR_EXISTS;
    ck_assert_uint_lt(launcher.count, MOST_NAMES);
    ck_assert_ptr_null(strpbrk(name, " \n"));
    launcher.names[launcher.count].name = opal_xstrdup(name);
    launcher.names[launcher.count++].port = opal_xstrdup(port);
    return OPAL_SUCCESS;
}

static opal_status_t lookup(void *state OPAL_UNUSED, const char *name, char **port)
{
    size_t i = find(name);
    if (i == launcher.count)
        return OPAL_ERR_NOT_FOUND;
    *port = opal_xstrdup(launcher.names[i].port);
    return OPAL_SUCCESS;
}

static bool keeps_names(void *state OPAL_UNUSED)
{
    return !launcher.keeps_none;
}

static opal_pmi_ops_t ops = {
    .init = init, .fence = fence, .publish = publish, .lookup = lookup, .keeps_names = keeps_names};

static void setup(void)
{
    unit_capture();
}

static void begin(bool is_wished)
{
    opal_job_wish_alone(is_wished);
    ck_assert_int_eq(opal_job_begin(&ops, NULL), OPAL_SUCCESS);
}

static void must_find(unsigned rank, const char *key, const void *wanted, size_t length)
{
    void *bytes;
    size_t found;
    ck_assert_int_eq(opal_notice_get(rank, key, &bytes, &found), OPAL_SUCCESS);
    ck_assert_uint_eq(found, length);
    ck_assert(length == 0 || memcmp(bytes, wanted, length) == 0);
    free(bytes);
}

START_TEST(notices_of_all_lengths_are_found)
{
    static const size_t lengths[] = {0, 1, 999, 1000, 1001, 2000, 2048};
    unsigned char wanted[2048];
    void *bytes;
    size_t found = 77;
    for (size_t i = 0; i < sizeof wanted; i++)
        wanted[i] = (unsigned char)(i * i / 7);
    begin(true);
    for (size_t i = 0; i < OPAL_COUNT_OF(lengths); i++) {
        char key[16];
        snprintf(key, sizeof key, "key.%zu", i);
        ck_assert_int_eq(opal_notice_get(1, key, &bytes, &found), OPAL_ERR_NOT_FOUND);
        ck_assert_int_eq(opal_notice_put(key, wanted, lengths[i]), OPAL_SUCCESS);
        must_find(1, key, wanted, lengths[i]);
        ck_assert_int_eq(opal_notice_get(2, key, &bytes, &found), OPAL_ERR_NOT_FOUND);
    }
    ck_assert_str_eq(unit_stderr(), "");
}
END_TEST

/* Whoever finds the first piece finds all: it comes last. */
START_TEST(a_notice_is_whole_or_not_there)
{
    static const unsigned char wanted[3000];
    begin(true);
    ck_assert_int_eq(opal_notice_put("k", wanted, sizeof wanted), OPAL_SUCCESS);
    ck_assert_uint_eq(launcher.count, 3);
    ck_assert_str_eq(launcher.names[2].name, "mica.unit.k-1-0");
    ck_assert_int_eq(strncmp(launcher.names[2].port, "3000:00", 7), 0);
}
END_TEST

static const char *const damaged[] = {"",       "4",     ":aabb",          "2:aabbcc", "2:aa",
                                      "2:aag0", "2:aab", "99999999999:aa", "-1:aa"};

START_TEST(a_damaged_notice_is_refused)
{
    void *bytes = NULL;
    size_t length = 77;
    begin(true);
    publish(NULL, "mica.unit.k-2-0", damaged[_i]);
    ck_assert_int_eq(opal_notice_get(2, "k", &bytes, &length), OPAL_ERR_PROTOCOL);
    ck_assert_ptr_null(bytes);
    ck_assert_uint_eq(length, 77);
    unit_assert_part(unit_stderr(), "name mica.unit.k-2 is damaged");
}
END_TEST

/* Whether the server refuses a second value or keeps both. */
START_TEST(the_first_value_is_that_of_all)
{
    unsigned char one[] = "one", other[] = "two";
    launcher.takes_twice = _i == 1;
    begin(true);
    ck_assert_int_eq(opal_notice_agree("key", one, sizeof one), OPAL_SUCCESS);
    ck_assert_str_eq((char *)one, "one");
    ck_assert_int_eq(opal_notice_agree("key", other, sizeof other), OPAL_SUCCESS);
    ck_assert_str_eq((char *)other, "one");
    ck_assert_int_eq(opal_notice_agree("key", other, 2), OPAL_ERR_PROTOCOL);
}
END_TEST

/* -- who starts alone -------------------------------------------------------------------------- */

START_TEST(fences_are_left_out_and_made_up_for)
{
    begin(true);
    ck_assert(opal_job_is_alone() && opal_job_sees_notices_only());
    ck_assert_int_eq(opal_job_fence(), OPAL_SUCCESS);
    ck_assert_int_eq(opal_job_fence(), OPAL_SUCCESS);
    ck_assert_uint_eq(launcher.fences, 0);
    ck_assert_int_eq(opal_job_catch_up(), OPAL_SUCCESS);
    ck_assert_uint_eq(launcher.fences, 2);
    ck_assert(!opal_job_is_alone() && !opal_job_sees_notices_only());
    ck_assert_int_eq(opal_job_fence(), OPAL_SUCCESS);
    ck_assert_uint_eq(launcher.fences, 3);
}
END_TEST

START_TEST(without_notices_all_start_together)
{
    opal_pmi_ops_t nameless = ops;
    begin(false);
    ck_assert(!opal_job_is_alone());
    opal_job_end();
    launcher.keeps_none = true;
    begin(true);
    ck_assert(!opal_job_is_alone());
    opal_job_end();
    launcher.keeps_none = false;
    nameless.publish = NULL;
    opal_job_wish_alone(true);
    ck_assert_int_eq(opal_job_begin(&nameless, NULL), OPAL_SUCCESS);
    ck_assert(!opal_job_is_alone());
    opal_job_end();
    nameless.is_prompt = true;
    ck_assert_int_eq(opal_job_begin(&nameless, NULL), OPAL_SUCCESS);
    ck_assert(opal_job_is_alone() && !opal_job_sees_notices_only());
}
END_TEST

static const unit_test_t tests[] = {
    {.test = &notices_of_all_lengths_are_found},
    {.test = &a_notice_is_whole_or_not_there},
    {.test = &a_damaged_notice_is_refused, .repeats = OPAL_COUNT_OF(damaged)},
    {.test = &the_first_value_is_that_of_all, .repeats = 2},
    {.test = &fences_are_left_out_and_made_up_for},
    {.test = &without_notices_all_start_together},
};

UNIT_MAIN("notice", tests, setup);
