/* SPDX-License-Identifier: BSD-3-Clause */
/* opal/mca/pmi/wire/wire.c against launcher.c: good days and every kind of bad one. */
#include "opal/mca/pmi/base/base.h"

#include "test/unit/opal/mca/pmi/wire/launcher.h"
#include "test/unit/opal/support.h"

extern const opal_component_t mca_pmi_wire_component;

static const opal_pmi_ops_t *ops;
static void *state;
static opal_pmi_job_t job;

static void setup(void)
{
    static const char *const names[] = {"PMI_FD",          "PMI_RANK",          "PMI_SIZE",
                                        "MICA_LOCAL_SIZE", "MICA_JOBID",        "MICA_APP_NUMBER",
                                        "MICA_REPORTER",   "OMPI_UNIVERSE_SIZE"};
    for (size_t i = 0; i < OPAL_COUNT_OF(names); i++)
        unsetenv(names[i]);
    unit_capture();
}

static opal_answer_t query(void)
{
    opal_answer_t answer = {0};
    mca_pmi_wire_component.query(&answer);
    ops = answer.ops;
    state = answer.state;
    return answer;
}

/* Ends the rank's side first, so that what it holds is free before the launcher is. */
static const char *end(void)
{
    mca_pmi_wire_component.close();
    return launcher_stop();
}

static void start(unsigned rank, unsigned size, const launcher_fault_t *fault)
{
    launcher_start(rank, size, fault);
    ck_assert(query().usable);
    ck_assert_int_eq(ops->init(state, &job), OPAL_SUCCESS);
}

/* -- query and init --------------------------------------------------------------- */

static const struct {
    const char *fd, *rank, *size, *reason; /* no reason: usable */
} environments[] = {
    {"9", "0", "1", NULL},
    {"9", "3", "4", NULL},
    {NULL, "0", "1", "PMI_FD is not set"},
    {"", "0", "1", "PMI_FD is not set"},
    {"9", NULL, "1", "PMI_RANK and PMI_SIZE are no rank and size"},
    {"9", "0", NULL, "PMI_RANK and PMI_SIZE are no rank and size"},
    {"9", "4", "4", "PMI_RANK and PMI_SIZE are no rank and size"},
    {"9", "-1", "4", "PMI_RANK and PMI_SIZE are no rank and size"},
    {"9", "0", "0", "PMI_RANK and PMI_SIZE are no rank and size"},
    {"9", "0", "16777217", "PMI_RANK and PMI_SIZE are no rank and size"},
    {"9", "x", "4", "PMI_RANK and PMI_SIZE are no rank and size"},
};

START_TEST(the_environment_decides)
{
    if (environments[_i].fd != NULL)
        setenv("PMI_FD", environments[_i].fd, 1);
    if (environments[_i].rank != NULL)
        setenv("PMI_RANK", environments[_i].rank, 1);
    if (environments[_i].size != NULL)
        setenv("PMI_SIZE", environments[_i].size, 1);
    opal_answer_t answer = query();
    ck_assert_int_eq(answer.usable, environments[_i].reason == NULL);
    if (!answer.usable)
        unit_assert_part(answer.reason, environments[_i].reason);
    mca_pmi_wire_component.close();
}
END_TEST

START_TEST(under_a_foreign_launcher)
{
    static const unsigned nodes[] = {0, 0, 1, 1, 0};
    start(4, 5, NULL);
    ck_assert_uint_eq(job.rank, 4);
    ck_assert_uint_eq(job.size, 5);
    ck_assert_uint_eq(job.local_rank, 2);
    ck_assert_uint_eq(job.local_size, 3);
    ck_assert_uint_eq(job.node_count, 2);
    for (size_t rank = 0; rank < OPAL_COUNT_OF(nodes); rank++)
        ck_assert_uint_eq(job.node_of[rank], nodes[rank]);
    ck_assert_int_eq(job.app_number, 2);
    ck_assert_int_eq(job.universe_size, -1);
    ck_assert_str_eq(job.job_id, "kvs_unit_0");
    ck_assert(!job.reporter);
    ck_assert(!job.abort_is_reported);
    ck_assert(!job.key_is_put);
    ck_assert_int_eq(ops->finalize(state), OPAL_SUCCESS);
    ck_assert_str_eq(end(), "init get_my_kvsname get get_appnum get_universe_size finalize ");
    ck_assert_str_eq(unit_stderr(), "");
}
END_TEST

/* The environment by which our mpirun is known. */
static void be_started_by_mpirun(const char *local_size)
{
    char maker[32];
    snprintf(maker, sizeof maker, "%d", (int)getpid()); /* of the socket */
    setenv("MICA_LOCAL_SIZE", local_size, 1);
    setenv("MICA_JOBID", "job-7", 1);
    setenv("MICA_SUPERVISOR", maker, 1);
}

/* Ours says it all in the environment: one question is enough. */
START_TEST(under_mpirun)
{
    be_started_by_mpirun("4");
    setenv("MICA_APP_NUMBER", "1", 1);
    setenv("OMPI_UNIVERSE_SIZE", "8", 1);
    setenv("MICA_REPORTER", "1", 1);
    start(2, 4, NULL);
    ck_assert_uint_eq(job.local_rank, 2);
    ck_assert_uint_eq(job.local_size, 4);
    ck_assert_uint_eq(job.node_count, 1);
    ck_assert_uint_eq(job.node_of[3], 0);
    ck_assert_int_eq(job.app_number, 1);
    ck_assert_int_eq(job.universe_size, 8);
    ck_assert_str_eq(job.job_id, "job-7");
    ck_assert(job.reporter);
    ck_assert(job.abort_is_reported);
    ck_assert(job.key_is_put);
    ck_assert_int_eq(ops->finalize(state), OPAL_SUCCESS);
    ck_assert_str_eq(end(), "init finalize ");
}
END_TEST

/* Hydra inside a rank of ours: what mpirun has told is about another job. */
START_TEST(under_another_one_in_a_rank_of_mpirun)
{
    setenv("MICA_LOCAL_SIZE", "4", 1);
    setenv("MICA_JOBID", "1-7", 1);
    setenv("MICA_SUPERVISOR", "1", 1);
    setenv("MICA_APP_NUMBER", "1", 1);
    setenv("OMPI_UNIVERSE_SIZE", "8", 1);
    start(2, 4, NULL);
    ck_assert_int_eq(job.app_number, 2);
    ck_assert_str_ne(job.job_id, "1-7");
    ck_assert(!job.abort_is_reported);
    ck_assert(!job.key_is_put);
    ck_assert_int_eq(ops->finalize(state), OPAL_SUCCESS);
    ck_assert_str_eq(end(), "init get_my_kvsname get get_appnum get_universe_size finalize ");
}
END_TEST

static const struct {
    launcher_fault_t fault;
    opal_status_t status;
    const char *message;
} bad_starts[] = {
    {{.command = "init"}, OPAL_ERR_DISCONNECTED, "closed the connection"},
    {{.command = "init", .answer = "cmd=response_to_init rc=-1\n"},
     OPAL_ERR_PROTOCOL,
     "the launcher refused to speak version 1 of PMI: no reason given"},
    {{.command = "init", .answer = "cmd=my_kvsname\n"}, OPAL_ERR_PROTOCOL, "it said my_kvsname"},
    {{.command = "init", .answer = "220 smtp ready\n"}, OPAL_ERR_PROTOCOL, "begin with cmd="},
    {{.command = "init", .answer = "cmd=respo", .half = true},
     OPAL_ERR_DISCONNECTED,
     "closed the connection"},
    {{.command = "get_my_kvsname"}, OPAL_ERR_DISCONNECTED, "closed the connection"},
    {{.command = "get_my_kvsname", .answer = "cmd=my_kvsname\n"},
     OPAL_ERR_PROTOCOL,
     "key-value space has no good name"},
    {{.command = "get_my_kvsname", .answer = "cmd=my_kvsname kvsname=\n"},
     OPAL_ERR_PROTOCOL,
     "key-value space has no good name"},
    {{.command = "get"}, OPAL_ERR_DISCONNECTED, "closed the connection"},
    {{.command = "get", .answer = "cmd=get_result rc=-1 msg=no\n"},
     OPAL_ERR_PROTOCOL,
     "refused to say which ranks share a node: no"},
    {{.command = "get", .answer = "cmd=get_result rc=0\n"},
     OPAL_ERR_PROTOCOL,
     "process mapping \"\" does not describe 3 ranks"},
    {{.command = "get", .answer = "cmd=get_result rc=0 value=(vector,(7,1,1))\n"},
     OPAL_ERR_PROTOCOL,
     "process mapping \"(vector,(7,1,1))\" does not describe 3 ranks"},
    {{.command = "get_appnum"}, OPAL_ERR_DISCONNECTED, "closed the connection"},
    {{.command = "get_appnum", .answer = "nonsense\n"}, OPAL_ERR_PROTOCOL, "begin with cmd="},
    {{.command = "get_universe_size"}, OPAL_ERR_DISCONNECTED, "closed the connection"},
};

START_TEST(starts_that_fail)
{
    launcher_start(1, 3, &bad_starts[_i].fault);
    ck_assert(query().usable);
    ck_assert_int_eq(ops->init(state, &job), bad_starts[_i].status);
    unit_assert_part(unit_stderr(), bad_starts[_i].message);
    ck_assert_uint_eq(unit_count(unit_stderr(), "error: "), 1);
    end();
}
END_TEST

START_TEST(answers_that_may_be_missing)
{
    static const launcher_fault_t fault = {.command = "get_appnum",
                                           .answer = "cmd=appnum rc=-1 msg=who_knows\n"};
    start(0, 1, &fault);
    ck_assert_int_eq(job.app_number, -1);
    end();
}
END_TEST

/* -- put, fence, get -------------------------------------------------------------- */

static const size_t lengths[] = {0, 1, 2, 399, 400, 401, 800, 801, 100000};

START_TEST(round_trip)
{
    size_t length = lengths[_i], got_length = 99;
    unsigned char *bytes = opal_xmalloc(length);
    void *got = NULL;
    for (size_t i = 0; i < length; i++)
        bytes[i] = (unsigned char)(i * 7 + i / 251);
    start(1, 2, NULL);
    ck_assert_int_eq(ops->put(state, "a-key.of-40-bytes-as-long-as-it-may-be-0", bytes, length),
                     OPAL_SUCCESS);
    ck_assert_int_eq(ops->fence(state), OPAL_SUCCESS);
    ck_assert_int_eq(
        ops->get(state, 1, "a-key.of-40-bytes-as-long-as-it-may-be-0", &got, &got_length),
        OPAL_SUCCESS);
    ck_assert_uint_eq(got_length, length);
    ck_assert_ptr_nonnull(got);
    ck_assert_int_eq(length > 0 ? memcmp(got, bytes, length) : 0, 0);
    ck_assert_str_eq(unit_stderr(), "");
    free(got);
    free(bytes);
    ck_assert_int_eq(ops->finalize(state), OPAL_SUCCESS);
    end();
}
END_TEST

START_TEST(in_the_name_of_another_rank)
{
    unsigned char *got = NULL;
    size_t length = 0;
    char bytes[500];
    memset(bytes, 'b', sizeof bytes);
    start(0, 3, NULL);
    ck_assert_int_eq(ops->put_for(state, 2, "k", bytes, sizeof bytes), OPAL_SUCCESS);
    ck_assert_int_eq(ops->get(state, 2, "k", (void **)&got, &length), OPAL_SUCCESS);
    ck_assert_uint_eq(length, sizeof bytes);
    ck_assert_mem_eq(got, bytes, length);
    free(got);
    ck_assert_int_eq(ops->get(state, 0, "k", (void **)&got, &length), OPAL_ERR_NOT_FOUND);
    end();
}
END_TEST

START_TEST(what_was_not_put)
{
    void *bytes = &job;
    size_t length = 99;
    start(0, 2, NULL);
    ck_assert_int_eq(ops->put(state, "k", NULL, 0), OPAL_SUCCESS);
    ck_assert_int_eq(ops->get(state, 1, "k", &bytes, &length), OPAL_ERR_NOT_FOUND);
    ck_assert_int_eq(ops->get(state, 0, "kk", &bytes, &length), OPAL_ERR_NOT_FOUND);
    ck_assert_ptr_eq(bytes, &job);
    ck_assert_uint_eq(length, 99);
    ck_assert_str_eq(unit_stderr(), "");
    end();
}
END_TEST

/* 500 bytes are two pieces, "k-0-0" and "k-0-1"; 100 letters are 50 of them. */
static const struct {
    const char *key, *value;
} damages[] = {
    {"k-0-0", ""},      {"k-0-0", "500"},    {"k-0-0", "x:00"},
    {"k-0-0", ":00"},   {"k-0-0", "-1:00"},  {"k-0-0", "99999999999999999999:00"},
    {"k-0-0", "500:0"}, {"k-0-0", "500:0g"}, {"k-0-0", "500:AB"},
    {"k-0-0", "500:"},  {"k-0-0", "1:0000"}, {"k-0-0", "5000:00"},
    {"k-0-1", ""},      {"k-0-1", "0"},      {"k-0-1", "zz"},
};

START_TEST(damaged_values)
{
    char data[500] = "";
    void *bytes = &job;
    size_t length = 99;
    start(0, 1, NULL);
    ck_assert_int_eq(ops->put(state, "k", data, sizeof data), OPAL_SUCCESS);
    ck_assert(launcher_replace(damages[_i].key, damages[_i].value));
    ck_assert_int_eq(ops->get(state, 0, "k", &bytes, &length), OPAL_ERR_PROTOCOL);
    ck_assert_ptr_eq(bytes, &job);
    ck_assert_uint_eq(length, 99);
    unit_assert_part(unit_stderr(), "value of the key k of rank 0 is damaged");
    ck_assert_uint_eq(unit_count(unit_stderr(), "\n"), 1);
    end();
}
END_TEST

START_TEST(a_key_is_put_once)
{
    start(0, 1, NULL);
    ck_assert_int_eq(ops->put(state, "k", "1", 1), OPAL_SUCCESS);
    ck_assert_int_ne(ops->put(state, "k", "2", 1), OPAL_SUCCESS);
    unit_assert_part(unit_stderr(), "the launcher refused the key k: duplicate_or_too_long");
    end();
}
END_TEST

typedef opal_status_t operation_t(void);

static opal_status_t put(void)
{
    char data[1000] = "";
    return ops->put(state, "k", data, sizeof data);
}

static opal_status_t fence(void)
{
    return ops->fence(state);
}

static opal_status_t get(void)
{
    void *bytes = NULL;
    size_t length = 99;
    ck_assert_int_eq(put(), OPAL_SUCCESS);
    opal_status_t status = ops->get(state, 0, "k", &bytes, &length);
    ck_assert_ptr_null(bytes);
    return status;
}

static opal_status_t finalize(void)
{
    return ops->finalize(state);
}

static const struct {
    operation_t *operation;
    launcher_fault_t fault;
    opal_status_t status;
    const char *message;
} bad_days[] = {
    {put, {.command = "put"}, OPAL_ERR_DISCONNECTED, "closed the connection"},
    {put, {.command = "put", .skip = 2}, OPAL_ERR_DISCONNECTED, "closed the connection"},
    {put,
     {.command = "put", .skip = 1, .answer = "cmd=put_result rc=-1 msg=full\n"},
     OPAL_ERR_PROTOCOL,
     "refused the key k: full"},
    {put,
     {.command = "put", .answer = "cmd=put_result rc=1\n"},
     OPAL_ERR_PROTOCOL,
     "refused the key k: no reason given"},
    {put, {.command = "put", .answer = "cmd=barrier_out\n"}, OPAL_ERR_PROTOCOL, "it said barrier_"},
    {put, {.command = "put", .answer = "\x80\xff\n"}, OPAL_ERR_PROTOCOL, "begin with cmd="},
    {fence, {.command = "barrier_in"}, OPAL_ERR_DISCONNECTED, "closed the connection"},
    {fence,
     {.command = "barrier_in", .answer = "cmd=barrier_out rc=-1\n"},
     OPAL_ERR_PROTOCOL,
     "refused the fence"},
    /* The first get asks for the mapping. */
    {get, {.command = "get", .skip = 1}, OPAL_ERR_DISCONNECTED, "closed the connection"},
    {get, {.command = "get", .skip = 2}, OPAL_ERR_DISCONNECTED, "closed the connection"},
    {get,
     {.command = "get", .skip = 1, .answer = "cmd=get_result rc=0\n"},
     OPAL_ERR_PROTOCOL,
     "is damaged"},
    {get,
     {.command = "get", .skip = 2, .answer = "cmd=get_result rc=-1 msg=gone\n"},
     OPAL_ERR_PROTOCOL,
     "is damaged"},
    {get, {.command = "get", .skip = 2, .answer = "noise\n"}, OPAL_ERR_PROTOCOL, "begin with cmd="},
    {finalize, {.command = "finalize"}, OPAL_ERR_DISCONNECTED, "closed the connection"},
    {finalize,
     {.command = "finalize", .answer = "cmd=finalize_ack rc=1\n"},
     OPAL_ERR_PROTOCOL,
     "refused to let this rank go"},
};

START_TEST(days_that_end_badly)
{
    start(0, 1, &bad_days[_i].fault);
    ck_assert_int_eq(bad_days[_i].operation(), bad_days[_i].status);
    unit_assert_part(unit_stderr(), bad_days[_i].message);
    ck_assert_uint_eq(unit_count(unit_stderr(), "error: "), 1);
    end();
}
END_TEST

START_TEST(abort_tells_the_launcher_and_waits_for_it)
{
    start(0, 2, NULL);
    ops->abort(state, 9);
}
END_TEST

START_TEST(it_can_begin_again)
{
    for (int round = 0; round < 2; round++) {
        start(0, 1, NULL);
        ck_assert_int_eq(ops->put(state, "k", "x", 1), OPAL_SUCCESS);
        ck_assert_int_eq(ops->finalize(state), OPAL_SUCCESS);
        unit_assert_part(end(), "get_my_kvsname");
    }
}
END_TEST

/* A session has ended, and another one begins. Sanitizers see whether the port leaks. */
START_TEST(a_spawned_job_can_begin_again)
{
    be_started_by_mpirun("1");
    setenv("PMI_SPAWNED", "1", 1);
    setenv("MICA_PARENT_PORT", "mica:1:port", 1);
    start(0, 1, NULL);
    ck_assert_str_eq(job.parent_port, "mica:1:port");
    ck_assert_int_eq(ops->finalize(state), OPAL_SUCCESS);
    ck_assert_int_eq(ops->init(state, &job), OPAL_SUCCESS);
    ck_assert_str_eq(job.parent_port, "mica:1:port");
    ck_assert_int_eq(ops->finalize(state), OPAL_SUCCESS);
    end();
}
END_TEST

static const unit_test_t tests[] = {
    {.test = &the_environment_decides, .repeats = OPAL_COUNT_OF(environments)},
    {.test = &under_a_foreign_launcher},
    {.test = &under_mpirun},
    {.test = &under_another_one_in_a_rank_of_mpirun},
    {.test = &starts_that_fail, .repeats = OPAL_COUNT_OF(bad_starts)},
    {.test = &answers_that_may_be_missing},
    {.test = &round_trip, .repeats = OPAL_COUNT_OF(lengths)},
    {.test = &in_the_name_of_another_rank},
    {.test = &what_was_not_put},
    {.test = &damaged_values, .repeats = OPAL_COUNT_OF(damages)},
    {.test = &a_key_is_put_once},
    {.test = &days_that_end_badly, .repeats = OPAL_COUNT_OF(bad_days)},
    {.test = &abort_tells_the_launcher_and_waits_for_it, .exit_code = 9},
    {.test = &it_can_begin_again},
    {.test = &a_spawned_job_can_begin_again},
};

UNIT_MAIN("wire", tests, setup);
