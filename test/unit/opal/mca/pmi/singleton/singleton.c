/* SPDX-License-Identifier: BSD-3-Clause */
/* opal/mca/pmi/singleton/singleton.c: a job of one gets back what it put. */
#include "opal/mca/pmi/base/base.h"

#include "test/unit/opal/support.h"

extern const opal_component_t mca_pmi_singleton_component;

static const opal_pmi_ops_t *ops;
static void *state;
static opal_pmi_job_t job;

static void setup(void)
{
    opal_answer_t answer = {0};
    mca_pmi_singleton_component.query(&answer);
    ck_assert(answer.usable);
    ck_assert_int_eq(answer.priority, 0);
    ops = answer.ops;
    state = answer.state;
    ck_assert_int_eq(ops->init(state, &job), OPAL_SUCCESS);
}

START_TEST(it_is_alone)
{
    ck_assert_uint_eq(job.rank, 0);
    ck_assert_uint_eq(job.size, 1);
    ck_assert_uint_eq(job.local_rank, 0);
    ck_assert_uint_eq(job.local_size, 1);
    ck_assert_uint_eq(job.node_of[0], 0);
    ck_assert_uint_eq(job.node_count, 1);
    ck_assert_int_eq(job.app_number, -1);
    ck_assert_int_eq(job.universe_size, -1);
    ck_assert_uint_gt(strlen(job.job_id), 0);
    ck_assert(job.reporter);
    ck_assert(!job.abort_is_reported);
    ck_assert_int_eq(ops->finalize(state), OPAL_SUCCESS);
}
END_TEST

START_TEST(put_and_get)
{
    char text[] = "bytes\0and more";
    void *bytes = NULL;
    size_t length = 99;
    ck_assert_int_eq(ops->put(state, "one", text, sizeof text), OPAL_SUCCESS);
    ck_assert_int_eq(ops->put(state, "nothing", NULL, 0), OPAL_SUCCESS);
    memset(text, 'x', sizeof text); /* it was copied */
    ck_assert_int_eq(ops->fence(state), OPAL_SUCCESS);

    ck_assert_int_eq(ops->get(state, 0, "one", &bytes, &length), OPAL_SUCCESS);
    ck_assert_uint_eq(length, sizeof text);
    ck_assert_mem_eq(bytes, "bytes\0and more", sizeof text);
    free(bytes);
    ck_assert_int_eq(ops->get(state, 0, "nothing", &bytes, &length), OPAL_SUCCESS);
    ck_assert_uint_eq(length, 0);
    free(bytes);
    ck_assert_int_eq(ops->finalize(state), OPAL_SUCCESS);
}
END_TEST

START_TEST(what_was_not_put)
{
    void *bytes = &job;
    size_t length = 99;
    ops->put(state, "one", "x", 1);
    ck_assert_int_eq(ops->get(state, 0, "two", &bytes, &length), OPAL_ERR_NOT_FOUND);
    ck_assert_int_eq(ops->get(state, 1, "one", &bytes, &length), OPAL_ERR_NOT_FOUND);
    ck_assert_ptr_eq(bytes, &job);
    ck_assert_uint_eq(length, 99);
    ck_assert_int_eq(ops->finalize(state), OPAL_SUCCESS);
}
END_TEST

START_TEST(it_can_begin_again)
{
    void *bytes;
    size_t length;
    ops->put(state, "one", "x", 1);
    ck_assert_int_eq(ops->finalize(state), OPAL_SUCCESS);
    ck_assert_int_eq(ops->init(state, &job), OPAL_SUCCESS);
    ck_assert_int_eq(ops->get(state, 0, "one", &bytes, &length), OPAL_ERR_NOT_FOUND);
    ck_assert_int_eq(ops->finalize(state), OPAL_SUCCESS);
}
END_TEST

/* Two processes may have the same id: one after the other, or in two containers. */
START_TEST(a_process_id_does_not_name_a_job)
{
    char *first = strdup(job.job_id);
    ck_assert_int_eq(ops->finalize(state), OPAL_SUCCESS);
    ck_assert_int_eq(ops->init(state, &job), OPAL_SUCCESS);
    ck_assert_str_ne(job.job_id, first);
    ck_assert_int_eq(ops->finalize(state), OPAL_SUCCESS);
    free(first);
}
END_TEST

START_TEST(abort_is_the_exit_code)
{
    ops->abort(state, 7);
}
END_TEST

static const struct {
    const char *name, *value; /* of a variable */
    const char *list;         /* OMPI_MCA_pmi, one name */
    bool usable;
    const char *reason;
} starts[] = {
    {"PMIX_NAMESPACE", "", "", true, "a program without a launcher"},
    {"PMIX_NAMESPACE", "job", "", false,
     "PMIX_NAMESPACE is job (rank 2), but pmi/pmix is not usable"},
    {"PMIX_NAMESPACE", "job", "^wire", false,
     "OMPI_MCA_pmi=singleton makes each task a job of one"},
    {"PMIX_NAMESPACE", "job", "singleton", true, "asked for"},
    {"SLURM_STEP_NUM_TASKS", "3", "", false, "use srun --mpi=pmix, or --mpi=pmi2"},
    {"SLURM_STEP_NUM_TASKS", "1", "", true, "a program without a launcher"},
    {"SLURM_STEP_NUM_TASKS", "3", "singleton", true, "asked for"},
};

START_TEST(one_of_several_is_no_job_of_one)
{
    opal_answer_t answer = {0};
    setenv("PMIX_RANK", "2", 1);
    setenv("SLURM_PROCID", "2", 1);
    setenv(starts[_i].name, starts[_i].value, 1);
    if (*starts[_i].list != 0)
        opal_strings_add(&mca_pmi_framework.selection, starts[_i].list);
    mca_pmi_singleton_component.query(&answer);
    ck_assert_int_eq(answer.usable, starts[_i].usable);
    unit_assert_part(answer.reason, starts[_i].reason);
    opal_strings_free(&mca_pmi_framework.selection);
}
END_TEST

static const unit_test_t tests[] = {
    {.test = &one_of_several_is_no_job_of_one, .repeats = OPAL_COUNT_OF(starts)},
    {.test = &it_is_alone},
    {.test = &put_and_get},
    {.test = &what_was_not_put},
    {.test = &it_can_begin_again},
    {.test = &a_process_id_does_not_name_a_job},
    {.test = &abort_is_the_exit_code, .exit_code = 7},
};

UNIT_MAIN("singleton", tests, setup);
