/* SPDX-License-Identifier: BSD-3-Clause */
/* opal/runtime/build.c: the message to a user whose ranks run different builds. */
#include "opal/runtime/build.h"

#include "test/unit/opal/support.h"

/* A launcher that keeps one value. */
static struct {
    char *bytes; /* NULL: nothing was put */
    size_t length;
    unsigned gets;
} launcher;

static opal_status_t put(void *state, const char *key, const void *bytes, size_t length)
{
    ck_assert_ptr_eq(state, &launcher);
    ck_assert_str_eq(key, "build");
    ck_assert_ptr_null(launcher.bytes);
    launcher.bytes = opal_xmalloc(length);
    memcpy(launcher.bytes, bytes, length);
    launcher.length = length;
    return OPAL_SUCCESS;
}

static opal_status_t get(void *state, unsigned rank, const char *key, void **bytes, size_t *length)
{
    ck_assert_ptr_eq(state, &launcher);
    ck_assert_str_eq(key, "build");
    ck_assert_uint_eq(rank, 0);
    launcher.gets++;
    if (launcher.bytes == NULL)
        return OPAL_ERR_NOT_FOUND;
    *bytes = opal_xmalloc(launcher.length);
    memcpy(*bytes, launcher.bytes, launcher.length);
    *length = launcher.length;
    return OPAL_SUCCESS;
}

static const opal_pmi_ops_t pmi = {.put = put, .get = get};
static const opal_pmi_job_t first = {.rank = 0, .size = 3, .node_count = 2},
                            third = {.rank = 2, .size = 3, .node_count = 2};

static opal_status_t publish(const opal_pmi_job_t *job, const char *text)
{
    return opal_build_publish(job, &pmi, &launcher, text);
}

static opal_status_t check(const opal_pmi_job_t *job, const char *text)
{
    return opal_build_check(job, &pmi, &launcher, text);
}

START_TEST(equal_builds_go_together)
{
    unit_capture();
    ck_assert_int_eq(publish(&third, opal_build_text), OPAL_SUCCESS);
    ck_assert_ptr_null(launcher.bytes);
    ck_assert_int_eq(publish(&first, opal_build_text), OPAL_SUCCESS);
    ck_assert_int_eq(check(&first, opal_build_text), OPAL_SUCCESS);
    ck_assert_uint_eq(launcher.gets, 0);
    ck_assert_int_eq(check(&third, opal_build_text), OPAL_SUCCESS);
    ck_assert_uint_eq(launcher.gets, 1);
    ck_assert_str_eq(unit_stderr(), "");
}
END_TEST

START_TEST(different_builds_are_named)
{
    char host[256], wanted[2 * sizeof host + 256];
    gethostname(host, sizeof host);
    unit_capture();
    ck_assert_int_eq(publish(&first, "Mica 7.1 for vax"), OPAL_SUCCESS);
    ck_assert_int_eq(check(&third, "Mica 7.2 for pdp11"), OPAL_ERR_NOT_SUPPORTED);
    snprintf(wanted, sizeof wanted,
             "rank 2 on %s runs Mica 7.2 for pdp11, but rank 0 on %s runs Mica 7.1 for vax: all "
             "hosts of a job need the same version and architecture",
             host, host);
    unit_assert_part(unit_stderr(), wanted);
}
END_TEST

START_TEST(a_build_that_does_not_tell_is_another_one)
{
    unit_capture();
    ck_assert_int_eq(check(&third, "Mica 7.2 for vax"), OPAL_ERR_NOT_SUPPORTED);
    unit_assert_part(unit_stderr(), "runs Mica 7.2 for vax; rank 0 has not published its version");
}
END_TEST

START_TEST(nonsense_is_another_one)
{
    static const struct {
        const char *bytes;
        size_t length;
    } values[] = {{"", 0}, {"host", 4}, {"host", 5}, {"host\0Mica", 9}};
    launcher.bytes = (char *)values[_i].bytes;
    launcher.length = values[_i].length;
    unit_capture();
    ck_assert_int_eq(check(&third, "Mica"), OPAL_ERR_NOT_SUPPORTED);
    unit_assert_part(unit_stderr(), "rank 0 on its host runs something else");
}
END_TEST

START_TEST(on_one_machine_nobody_asks)
{
    opal_pmi_job_t one_node = first, played = first;
    one_node.node_count = 1;
    played.key_is_put = true;
    ck_assert_int_eq(publish(&one_node, "x"), OPAL_SUCCESS);
    ck_assert_int_eq(publish(&played, "x"), OPAL_SUCCESS);
    ck_assert_ptr_null(launcher.bytes);
    one_node.rank = played.rank = 1;
    ck_assert_int_eq(check(&one_node, "x"), OPAL_SUCCESS);
    ck_assert_int_eq(check(&played, "x"), OPAL_SUCCESS);
    ck_assert_uint_eq(launcher.gets, 0);
}
END_TEST

static const unit_test_t tests[] = {
    {.test = &equal_builds_go_together},
    {.test = &different_builds_are_named},
    {.test = &a_build_that_does_not_tell_is_another_one},
    {.test = &nonsense_is_another_one, .repeats = 4},
    {.test = &on_one_machine_nobody_asks},
};

UNIT_MAIN("build", tests, NULL);
