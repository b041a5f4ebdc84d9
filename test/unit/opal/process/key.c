/* SPDX-License-Identifier: BSD-3-Clause */
/* opal/process/key.c: who puts the job's key, who gets it, and what comes of a launcher that has
 * none. */
#include "opal/process/key.h"

#include "opal/runtime/init.h"
#include "test/unit/opal/support.h"

/* A launcher that keeps one value. */
static struct {
    unsigned char bytes[64];
    size_t length; /* 0: nothing was put */
    unsigned puts, gets, fences;
    opal_status_t status; /* of everything */
} launcher;

static opal_status_t put(void *state, const char *key, const void *bytes, size_t length)
{
    ck_assert_ptr_eq(state, &launcher);
    ck_assert_str_eq(key, "job-key");
    ck_assert_uint_le(length, sizeof launcher.bytes);
    memcpy(launcher.bytes, bytes, length);
    launcher.length = length;
    launcher.puts++;
    return launcher.status;
}

static opal_status_t get(void *state, unsigned rank, const char *key, void **bytes, size_t *length)
{
    ck_assert_ptr_eq(state, &launcher);
    ck_assert_str_eq(key, "job-key");
    ck_assert_uint_eq(rank, 0);
    launcher.gets++;
    if (launcher.status != OPAL_SUCCESS)
        return launcher.status;
    if (launcher.length == 0)
        return OPAL_ERR_NOT_FOUND;
    *bytes = opal_xmalloc(launcher.length);
    memcpy(*bytes, launcher.bytes, launcher.length);
    *length = launcher.length;
    return OPAL_SUCCESS;
}

static opal_status_t fence(void *state OPAL_UNUSED)
{
    launcher.fences++;
    return OPAL_SUCCESS;
}

static const opal_pmi_ops_t pmi = {.put = put, .get = get, .fence = fence};
static const opal_pmi_job_t first = {.rank = 0, .size = 3}, second = {.rank = 1, .size = 3};

static opal_status_t publish(const opal_pmi_job_t *job)
{
    return opal_job_key_publish(job, &pmi, &launcher);
}

static void setup(void)
{
    static const char *const names[] = {"PMI_FD", "PMI_RANK", "PMI_SIZE", "PMIX_RANK"};
    for (size_t i = 0; i < OPAL_COUNT_OF(names); i++)
        unsetenv(names[i]);
    setenv("OMPI_MCA_mca_base_param_files", "", 1);
#ifdef UNIT_COMPONENTS
    setenv("OMPI_MCA_mca_base_component_path", UNIT_COMPONENTS, 1);
#endif
    unit_capture();
}

START_TEST(rank_0_puts_it_and_all_get_it)
{
    unsigned char one[OPAL_JOB_KEY_BYTES], other[OPAL_JOB_KEY_BYTES],
        zero[OPAL_JOB_KEY_BYTES] = {0};
    ck_assert_int_eq(publish(&second), OPAL_SUCCESS);
    ck_assert_uint_eq(launcher.puts, 0);
    ck_assert_int_eq(publish(&first), OPAL_SUCCESS);
    ck_assert_uint_eq(launcher.puts, 1);
    ck_assert_uint_eq(launcher.length, OPAL_JOB_KEY_BYTES);
    ck_assert_int_eq(opal_job_key_get(&first, &pmi, &launcher, one), OPAL_SUCCESS);
    ck_assert_int_eq(opal_job_key_get(&second, &pmi, &launcher, other), OPAL_SUCCESS);
    ck_assert_mem_eq(one, launcher.bytes, sizeof one);
    ck_assert_mem_eq(one, other, sizeof one);
    ck_assert_mem_ne(one, zero, sizeof one);
    ck_assert_uint_eq(launcher.fences, 0);
    /* All start again: the launcher may have forgotten it. */
    ck_assert_int_eq(publish(&first), OPAL_SUCCESS);
    ck_assert_uint_eq(launcher.puts, 2);
    ck_assert_mem_ne(one, launcher.bytes, sizeof one);
    ck_assert_str_eq(unit_stderr(), "");
}
END_TEST

START_TEST(mpirun_has_put_it)
{
    const opal_pmi_job_t job = {.rank = 0, .size = 3, .key_is_put = true};
    unsigned char key[OPAL_JOB_KEY_BYTES];
    ck_assert_int_eq(publish(&job), OPAL_SUCCESS);
    ck_assert_uint_eq(launcher.puts, 0);
    memset(launcher.bytes, 7, launcher.length = OPAL_JOB_KEY_BYTES);
    ck_assert_int_eq(opal_job_key_get(&job, &pmi, &launcher, key), OPAL_SUCCESS);
    ck_assert_mem_eq(key, launcher.bytes, sizeof key);
}
END_TEST

START_TEST(a_failed_put_can_be_tried_again)
{
    launcher.status = OPAL_ERR_PROTOCOL;
    ck_assert_int_eq(publish(&first), OPAL_ERR_PROTOCOL);
    launcher.status = OPAL_SUCCESS;
    ck_assert_int_eq(publish(&first), OPAL_SUCCESS);
    ck_assert_uint_eq(launcher.puts, 2);
}
END_TEST

static const struct {
    bool key_is_put;
    size_t length;
    opal_status_t launchers, status;
    const char *message;
} bad[] = {
    {false, 0, OPAL_SUCCESS, OPAL_ERR_NOT_FOUND, "which rank 0 should have put"},
    {true, 0, OPAL_SUCCESS, OPAL_ERR_NOT_FOUND, "which mpirun should have made"},
    {true, 31, OPAL_SUCCESS, OPAL_ERR_PROTOCOL, "has 31 bytes instead of 32"},
    {false, 33, OPAL_SUCCESS, OPAL_ERR_PROTOCOL, "has 33 bytes instead of 32"},
    {false, 32, OPAL_ERR_DISCONNECTED, OPAL_ERR_DISCONNECTED, ""}, /* pmi has said it */
};

START_TEST(no_key_from_the_launcher)
{
    const opal_pmi_job_t job = {.rank = 1, .size = 3, .key_is_put = bad[_i].key_is_put};
    unsigned char key[OPAL_JOB_KEY_BYTES] = {0}, before[OPAL_JOB_KEY_BYTES] = {0};
    launcher.length = bad[_i].length;
    launcher.status = bad[_i].launchers;
    memset(launcher.bytes, 7, sizeof launcher.bytes);
    ck_assert_int_eq(opal_job_key_get(&job, &pmi, &launcher, key), bad[_i].status);
    ck_assert_mem_eq(key, before, sizeof key);
    unit_assert_part(unit_stderr(), bad[_i].message);
    if (bad[_i].message[0] == 0)
        ck_assert_str_eq(unit_stderr(), "");
}
END_TEST

/* It makes its own, and keeps it. */
START_TEST(a_job_of_one)
{
    unsigned char one[OPAL_JOB_KEY_BYTES] = {0}, other[OPAL_JOB_KEY_BYTES] = {0};
    for (int round = 0; round < 2; round++) {
        ck_assert_int_eq(opal_init(OPAL_FAILURE_IS_RETURNED), OPAL_SUCCESS);
        ck_assert_int_eq(opal_job_key(round == 0 ? one : other), OPAL_SUCCESS);
        ck_assert_int_eq(opal_finalize(), OPAL_SUCCESS);
    }
    ck_assert_mem_eq(one, other, sizeof one);
    memset(other, 0, sizeof other);
    ck_assert_mem_ne(one, other, sizeof one);
    ck_assert_str_eq(unit_stderr(), "");
}
END_TEST

static const unit_test_t tests[] = {
    {.test = &rank_0_puts_it_and_all_get_it},
    {.test = &mpirun_has_put_it},
    {.test = &a_failed_put_can_be_tried_again},
    {.test = &no_key_from_the_launcher, .repeats = OPAL_COUNT_OF(bad)},
    {.test = &a_job_of_one},
};

UNIT_MAIN("key", tests, setup);
