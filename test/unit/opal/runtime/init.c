/* SPDX-License-Identifier: BSD-3-Clause */
/* opal/runtime/init.c: start and end as a job of one, and what is said when a setting is wrong. */
#include "opal/process/job.h"
#include "opal/runtime/init.h"

#include <sys/socket.h>
#include <sys/wait.h>

#include "opal/mca/base/framework.h"
#include "opal/util/log.h"
#include "test/unit/opal/support.h"

#define SET(name, value) setenv("OMPI_MCA_" name, value, 1)

static void setup(void)
{
    static const char *const names[] = {"PMI_FD",    "PMI_RANK",      "PMI_SIZE",
                                        "PMIX_RANK", "MICA_REPORTER", "MICA_MCA_COMMAND_LINE"};
    for (size_t i = 0; i < OPAL_COUNT_OF(names); i++)
        unsetenv(names[i]);
    SET("mca_base_param_files", "");
#ifdef UNIT_COMPONENTS
    SET("mca_base_component_path", UNIT_COMPONENTS);
#endif
    unit_capture();
}

START_TEST(a_job_of_one)
{
    void *state, *bytes;
    size_t length;
    ck_assert_int_eq(opal_init(OPAL_FAILURE_IS_RETURNED), OPAL_SUCCESS);
    ck_assert_uint_eq(opal_job()->size, 1);
    ck_assert_uint_eq(opal_job()->rank, 0);
    ck_assert_ptr_nonnull(strstr(opal_log_origin(), ":0"));
    const opal_pmi_ops_t *pmi = opal_pmi(&state);
    ck_assert_int_eq(pmi->put(state, "k", "bytes", 6), OPAL_SUCCESS);
    ck_assert_int_eq(pmi->fence(state), OPAL_SUCCESS);
    ck_assert_int_eq(pmi->get(state, 0, "k", &bytes, &length), OPAL_SUCCESS);
    ck_assert_str_eq(bytes, "bytes");
    free(bytes);
    ck_assert_int_eq(opal_finalize(), OPAL_SUCCESS);
    ck_assert_ptr_null(opal_pmi(&state));
    ck_assert_str_eq(unit_stderr(), "");
}
END_TEST

START_TEST(again_and_again)
{
    for (int round = 0; round < 3; round++) {
        ck_assert_int_eq(opal_init(OPAL_FAILURE_IS_RETURNED), OPAL_SUCCESS);
        ck_assert_int_eq(opal_finalize(), OPAL_SUCCESS);
    }
    ck_assert_str_eq(unit_stderr(), "");
}
END_TEST

static const struct {
    const char *name, *value;
    opal_status_t status;
    const char *message;
} bad_settings[] = {
    {"pmi", "wrie", OPAL_ERR_BAD_PARAM,
     "error: pmi (environment) names the component \"wrie\", which does not exist; did you mean "
     "wire?"},
    {"pmi", "^singletn", OPAL_ERR_BAD_PARAM, "did you mean singleton?"},
    {"pmi", "wire", OPAL_ERR_NOT_AVAILABLE,
     "\n    singleton: excluded by pmi = wire (environment)\n"
     "    wire: PMI_FD is not set"},
    {"memory", "nosuch", OPAL_ERR_BAD_PARAM, "memory (environment) names the component \"nosuch\""},
#ifndef UNIT_COMPONENTS /* without them there would be nobody, which is said too */
    {"mca_base_component_path", "$UNIT_UNSET", OPAL_ERR_BAD_PARAM, "UNIT_UNSET is not set"},
#endif
    {"mca_base_param_files", "/nowhere/at.all", OPAL_ERR_BAD_PARAM, "/nowhere/at.all cannot be"},
};

START_TEST(a_wrong_setting_ends_it)
{
    void *state;
    unsetenv("UNIT_UNSET");
    char *variable = opal_xprintf("OMPI_MCA_%s", bad_settings[_i].name);
    setenv(variable, bad_settings[_i].value, 1);
    free(variable);
    ck_assert_int_eq(opal_init(OPAL_FAILURE_IS_RETURNED), bad_settings[_i].status);
    ck_assert_ptr_null(opal_pmi(&state));
    unit_assert_part(unit_stderr(), bad_settings[_i].message);
    ck_assert_uint_eq(unit_count(unit_stderr(), "error: "), 1);
    /* Nothing of it is left: with a good setting it starts. */
    unsetenv("OMPI_MCA_pmi");
    unsetenv("OMPI_MCA_memory");
    unsetenv("OMPI_MCA_mca_base_component_path");
    setup();
    ck_assert_int_eq(opal_init(OPAL_FAILURE_IS_RETURNED), OPAL_SUCCESS);
    ck_assert_int_eq(opal_finalize(), OPAL_SUCCESS);
    ck_assert_str_eq(unit_stderr(), "");
}
END_TEST

START_TEST(a_junk_line_ends_it)
{
    char *files = opal_xprintf("%s", unit_file("params.conf", "# one\njunk\n"));
    SET("mca_base_param_files", files);
    free(files);
    ck_assert_int_eq(opal_init(OPAL_FAILURE_IS_RETURNED), OPAL_ERR_BAD_PARAM);
    unit_assert_part(unit_stderr(), "/params.conf:2: this line cannot be read");
}
END_TEST

/* All that is wrong is said at once, in the order in which it was found, by rank 0. */
START_TEST(everything_is_said_at_once)
{
    SET("mca_base_param_files", "/nowhere/at.all");
    SET("memory", "nosuch");
    SET("pmi", "^nosuch");
    ck_assert_int_eq(opal_init(OPAL_FAILURE_IS_RETURNED), OPAL_ERR_BAD_PARAM);
    const char *text = unit_stderr();
    const char *file = strstr(text, "/nowhere/at.all"), *memory = strstr(text, "memory ("),
               *pmi = strstr(text, "pmi (");
    ck_assert_ptr_nonnull(file);
    ck_assert(file < memory && memory < pmi);
    ck_assert_uint_eq(unit_count(text, "error: "), 3);
    ck_assert_uint_eq(unit_count(text, ":0] error: "), 3);
}
END_TEST

static int own;

static const opal_param_row_t own_params[] = {
    {.name = "own", .type = OPAL_PARAM_INT, .value = &own, .preset = "5"}, {0}};

/* Of the caller's own table: reported together with the others, and as much a failure. */
START_TEST(the_callers_settings_count)
{
    SET("unit_own", "many");
    SET("memory", "nosuch");
    opal_param_init();
    ck_assert_int_eq(opal_param_register("unit", "", own_params), OPAL_ERR_BAD_PARAM);
    ck_assert_str_eq(unit_stderr(), "");
    ck_assert_int_eq(opal_init(OPAL_FAILURE_IS_RETURNED), OPAL_ERR_BAD_PARAM);
    unit_assert_part(unit_stderr(), ":0] error: unit_own = \"many\" (environment) is refused");
    ck_assert_uint_eq(unit_count(unit_stderr(), "error: "), 2);
    opal_param_withdraw(own_params);
    opal_param_fini();
}
END_TEST

/* Three ranks of one launcher, of which none is the reporter. */
START_TEST(ranks_that_fail_together_say_it_once)
{
    enum { RANKS = 3 };
    int ends[2], status;
    ck_assert_int_eq(socketpair(AF_UNIX, SOCK_STREAM, 0, ends), 0);
    char *end = opal_xprintf("%d", ends[0]);
    setenv("PMI_FD", end, 1);
    free(end);
    setenv("PMI_RANK", "1", 1);
    setenv("OMPI_COMM_WORLD_LOCAL_SIZE", "3", 1);
    SET("memory", "nosuch");
    SET("pmi", "singletonn");
    for (int i = 0; i < RANKS; i++) {
        if (fork() == 0)
            _exit(opal_init(OPAL_FAILURE_IS_RETURNED) != OPAL_ERR_BAD_PARAM);
    }
    for (int i = 0; i < RANKS; i++) {
        ck_assert_int_gt(wait(&status), 0);
        ck_assert_int_eq(status, 0);
    }
    ck_assert_uint_eq(unit_count(unit_stderr(), "error: "), 2);
}
END_TEST

START_TEST(unknown_settings_are_the_callers_to_ask_for)
{
    SET("pmii", "wire");
    SET("nobodys_own", "1");
    ck_assert_int_eq(opal_init(OPAL_FAILURE_IS_RETURNED), OPAL_SUCCESS);
    ck_assert_str_eq(unit_stderr(), "");
    ck_assert_uint_eq(opal_param_diagnose_unknown(opal_framework_owns_unseen), 2);
    unit_assert_part(unit_stderr(), "warning: pmii (environment) is not a parameter");
    unit_assert_part(unit_stderr(), "did you mean pmi?");
    ck_assert_int_eq(opal_finalize(), OPAL_SUCCESS);
}
END_TEST

START_TEST(abort_before_init)
{
    opal_abort(6);
}
END_TEST

START_TEST(abort_after_init)
{
    ck_assert_int_eq(opal_init(OPAL_FAILURE_IS_RETURNED), OPAL_SUCCESS);
    opal_abort(8);
}
END_TEST

START_TEST(finalize_without_init)
{
    ck_assert_int_eq(opal_finalize(), OPAL_SUCCESS);
    ck_assert_str_eq(unit_stderr(), "");
}
END_TEST

static const unit_test_t tests[] = {
    {.test = &a_job_of_one},
    {.test = &again_and_again},
    {.test = &a_wrong_setting_ends_it, .repeats = OPAL_COUNT_OF(bad_settings)},
    {.test = &a_junk_line_ends_it},
    {.test = &everything_is_said_at_once},
    {.test = &the_callers_settings_count},
    {.test = &ranks_that_fail_together_say_it_once},
    {.test = &unknown_settings_are_the_callers_to_ask_for},
    {.test = &abort_before_init, .exit_code = 6},
    {.test = &abort_after_init, .exit_code = 8},
    {.test = &finalize_without_init},
};

UNIT_MAIN("init", tests, setup);
