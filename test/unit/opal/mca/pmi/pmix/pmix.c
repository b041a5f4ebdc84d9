/* SPDX-License-Identifier: BSD-3-Clause */
/* opal/mca/pmi/pmix/: what is made of a server's answers, whichever of them are missing or wrong.
 */
#include <sys/wait.h>

#include "opal/mca/pmi/base/base.h"
#include "test/unit/opal/mca/pmi/pmix/server.h"
#include "test/unit/opal/support.h"

extern const opal_component_t mca_pmi_pmix_component;

static const opal_pmi_ops_t *ops;
static void *state;
static opal_pmi_job_t job;

static void setup(void)
{
    opal_answer_t answer = {0};
    unit_capture();
    setenv("PMIX_NAMESPACE", "unit.3", 1);
    setenv("PMIX_RANK", "2", 1);
    unsetenv("PMI_FD");
    server.rank = 2;
    mca_pmi_pmix_component.query(&answer);
    ck_assert(answer.usable);
    unit_assert_part(answer.reason, "PMIX_NAMESPACE is unit.3 (rank 2)");
    ops = answer.ops;
    state = answer.state;
}

/* Rank 2 of 4 that all are here. */
static void start(void)
{
    server_know(PMIX_JOB_SIZE, server_uint32(4));
    server_know(PMIX_LOCAL_SIZE, server_uint32(4));
    ck_assert_int_eq(ops->init(state, &job), OPAL_SUCCESS);
}

static void end(void)
{
    ck_assert_int_eq(ops->finalize(state), OPAL_SUCCESS);
    mca_pmi_pmix_component.close();
}

START_TEST(one_node)
{
    server_know(PMIX_APPNUM, (pmix_value_t){.type = PMIX_INT, .data.integer = 1});
    server_know(PMIX_UNIV_SIZE, server_uint32(64));
    start();
    ck_assert_uint_eq(job.rank, 2);
    ck_assert_uint_eq(job.size, 4);
    ck_assert_uint_eq(job.local_rank, 2);
    ck_assert_uint_eq(job.local_size, 4);
    ck_assert_uint_eq(job.node_count, 1);
    ck_assert_uint_eq(job.node_of[3], 0);
    ck_assert_int_eq(job.app_number, 1);
    ck_assert_int_eq(job.universe_size, 64);
    ck_assert_str_eq(job.job_id, "unit.3");
    ck_assert(!job.reporter);
    ck_assert(!job.abort_is_reported);
    ck_assert(!job.key_is_put);
    end();
    ck_assert_str_eq(unit_stderr(), "");
}
END_TEST

START_TEST(what_is_not_told)
{
    server.rank = 0;
    start();
    ck_assert_int_eq(job.app_number, -1);
    ck_assert_int_eq(job.universe_size, -1);
    ck_assert(job.reporter);
    end();
    ck_assert_str_eq(unit_stderr(), "");
}
END_TEST

/* Nodes are numbered by their first ranks, however the server lists them. */
static const struct {
    const char *nodes, *ranks_of[3];
    unsigned node_of[4], count, local_rank, local_size;
} maps[] = {
    {"a0,a1", {"01", "23"}, {0, 0, 1, 1}, 2, 0, 2},
    {"a1,a0", {"01", "23"}, {0, 0, 1, 1}, 2, 0, 2},
    {"a0,a1", {"13", "02"}, {0, 1, 0, 1}, 2, 1, 2},
    {"a2,a1,a0", {"3", "0", "12"}, {0, 1, 1, 2}, 3, 1, 2},
    {"a0,a1,a2", {NULL, "0123", ""}, {0, 0, 0, 0}, 1, 2, 4}, /* some without a rank of this job */
    {"a0,a1", {"0198", "23"}, {0, 0, 1, 1}, 2, 0, 2},        /* with ranks that there are not */
};

START_TEST(several_nodes)
{
    server_know(PMIX_JOB_SIZE, server_uint32(4));
    server.nodes = maps[_i].nodes;
    memcpy(server.ranks_of, maps[_i].ranks_of, sizeof server.ranks_of);
    ck_assert_int_eq(ops->init(state, &job), OPAL_SUCCESS);
    ck_assert_mem_eq(job.node_of, maps[_i].node_of, sizeof maps[_i].node_of);
    ck_assert_uint_eq(job.node_count, maps[_i].count);
    ck_assert_uint_eq(job.local_rank, maps[_i].local_rank);
    ck_assert_uint_eq(job.local_size, maps[_i].local_size);
    end();
}
END_TEST

START_TEST(a_map_with_holes)
{
    server_know(PMIX_JOB_SIZE, server_uint32(4));
    server.nodes = _i == 0 ? "a0,a1" : NULL;
    server.ranks_of[0] = "013";
    ck_assert_int_eq(ops->init(state, &job), OPAL_ERR_PROTOCOL);
    unit_assert_part(unit_stderr(), _i == 0 ? "does not say on which node rank 2 of 4 runs"
                                            : "not where 0 of 4 runs");
    unit_assert_part(unit_stderr(), "PMIX_PROC_MAP");
}
END_TEST

static const struct {
    pmix_value_t size;
    bool good;
} sizes[] = {
    {{.type = PMIX_UINT32, .data.uint32 = 4}, true},
    {{.type = PMIX_INT, .data.integer = 4}, true},
    {{.type = PMIX_INT32, .data.int32 = 4}, true},
    {{.type = PMIX_INT64, .data.int64 = 4}, true},
    {{.type = PMIX_UINT, .data.uint = 4}, true},
    {{.type = PMIX_UINT16, .data.uint16 = 4}, true},
    {{.type = PMIX_UINT64, .data.uint64 = 4}, true},
    {{.type = PMIX_SIZE, .data.size = 4}, true},
    {{.type = PMIX_UINT32, .data.uint32 = 2}, false}, /* this is rank 2 */
    {{.type = PMIX_UINT32, .data.uint32 = 0}, false},
    {{.type = PMIX_INT, .data.integer = -4}, false},
    {{.type = PMIX_UINT64, .data.uint64 = UINT64_MAX}, false},
    {{.type = PMIX_SIZE, .data.size = SIZE_MAX}, false},
    {{.type = PMIX_UINT32, .data.uint32 = 1u << 30}, false},
    {{.type = PMIX_STRING, .data.string = "4"}, false},
};

START_TEST(sizes_of_all_types)
{
    server_know(PMIX_JOB_SIZE, sizes[_i].size);
    server_know(PMIX_LOCAL_SIZE, server_uint32(4));
    ck_assert_int_eq(ops->init(state, &job), sizes[_i].good ? OPAL_SUCCESS : OPAL_ERR_PROTOCOL);
    if (sizes[_i].good)
        ck_assert_uint_eq(job.size, 4);
    else
        unit_assert_part(unit_stderr(),
                         "error: pmi/pmix: the launcher says that this is rank 2 of ");
    mca_pmi_pmix_component.close();
}
END_TEST

START_TEST(a_server_that_is_not_there)
{
    server.init = PMIX_ERR_UNREACH;
    setenv("PMIX_VERSION", "9.1", 1);
    ck_assert_int_eq(ops->init(state, &job), OPAL_ERR_DISCONNECTED);
    unit_assert_part(unit_stderr(),
                     "cannot reach the PMIx server that PMIX_NAMESPACE=unit.3 names");
    unit_assert_part(unit_stderr(), "It is of version 9.1, this is ");
    unit_assert_part(unit_stderr(), "unset PMIX_NAMESPACE");
}
END_TEST

START_TEST(put_fence_get)
{
    char text[] = "bytes\0and more";
    void *bytes = NULL;
    size_t length = 99, wanted = _i == 0 ? sizeof text : 0;
    start();
    ck_assert_int_eq(ops->put(state, "modex", text, wanted), OPAL_SUCCESS);
    memset(text, 'x', sizeof text); /* it was copied */
    ck_assert_int_eq(ops->get(state, 2, "modex", &bytes, &length), OPAL_ERR_NOT_FOUND);
    ck_assert_int_eq(ops->fence(state), OPAL_SUCCESS);
    ck_assert(server.has_collected);
    ck_assert_int_eq(ops->get(state, 2, "modex", &bytes, &length), OPAL_SUCCESS);
    ck_assert_uint_eq(length, wanted);
    ck_assert_ptr_nonnull(bytes);
    ck_assert_mem_eq(bytes, "bytes\0and more", wanted);
    free(bytes);
    bytes = NULL;
    ck_assert_int_eq(ops->get(state, 1, "modex", &bytes, &length), OPAL_ERR_NOT_FOUND);
    ck_assert_int_eq(ops->get(state, 2, "crad", &bytes, &length), OPAL_ERR_NOT_FOUND);
    ck_assert_ptr_null(bytes);
    server_forget();
    end();
    ck_assert_str_eq(unit_stderr(), "");
}
END_TEST

START_TEST(a_value_of_another_kind)
{
    void *bytes = NULL;
    size_t length = 99;
    server_know("modex", server_uint32(7));
    start();
    ck_assert_int_eq(ops->get(state, 1, "modex", &bytes, &length), OPAL_ERR_PROTOCOL);
    ck_assert_ptr_null(bytes);
    ck_assert_uint_eq(length, 99);
    unit_assert_part(unit_stderr(), "the key modex of rank 1 is not what this library puts");
    end();
}
END_TEST

/* Each step finds the server gone. */
START_TEST(a_server_that_goes)
{
    void *bytes;
    size_t length;
    static const char *const messages[] = {"putting the key modex", "the fence", "the fence",
                                           "getting the key modex", "saying goodbye"};
    pmix_status_t *const wrong[] = {&server.put, &server.commit, &server.fence, &server.get,
                                    &server.finalize};
    start();
    *wrong[_i] = PMIX_ERR_LOST_CONNECTION;
    ck_assert_int_eq(ops->put(state, "modex", "x", 1),
                     _i == 0 ? OPAL_ERR_DISCONNECTED : OPAL_SUCCESS);
    if (_i >= 1)
        ck_assert_int_eq(ops->fence(state), _i <= 2 ? OPAL_ERR_DISCONNECTED : OPAL_SUCCESS);
    if (_i == 3)
        ck_assert_int_eq(ops->get(state, 2, "modex", &bytes, &length), OPAL_ERR_DISCONNECTED);
    ck_assert_int_eq(ops->finalize(state), _i == 4 ? OPAL_ERR_DISCONNECTED : OPAL_SUCCESS);
    unit_assert_part(unit_stderr(), "error: pmi/pmix: ");
    unit_assert_part(unit_stderr(), messages[_i]);
    unit_assert_part(unit_stderr(), "the launcher on this node has probably ended");
    ck_assert_uint_eq(unit_count(unit_stderr(), "\n"), 1);
    mca_pmi_pmix_component.close();
}
END_TEST

START_TEST(abort_says_who)
{
    int status;
    start();
    if (fork() == 0)
        ops->abort(state, 77);
    wait(&status);
    ck_assert(WIFEXITED(status));
    ck_assert_int_eq(WEXITSTATUS(status), 77);
    ck_assert_str_eq(unit_stderr(), "aborted with 77: rank 2 ends the job with status 77\n");
    end();
}
END_TEST

/* -- further jobs, and names --------------------------------------------------------------- */

static const opal_pmi_info_t infos[] = {{"host", "a,b"},
                                        {"unknown", "x"},
                                        {"wdir", "/tmp"},
                                        {"env", "A=1\nB=2"},
                                        {"bind_to", "core"},
                                        {"soft", "1"},
                                        {"mpi_initial_errhandler", "mpi_errors_return"}};
static const opal_pmi_program_t programs[] = {
    {.command = "one", .max_processes = 2, .infos = infos, .info_count = OPAL_COUNT_OF(infos)},
    {.command = "two", .arguments = (char *[]){"x", "y", NULL}, .max_processes = 1},
};

START_TEST(a_spawn_is_translated)
{
    opal_status_t errors[3] = {OPAL_ERR_BUSY, OPAL_ERR_BUSY, OPAL_ERR_BUSY};
    ck_assert_int_eq(chdir("/"), 0);
    start();
    ck_assert_int_eq(ops->spawn(state, programs, 2, "mica:1:port", errors), OPAL_SUCCESS);
    ck_assert_str_eq(server.spawned,
                     "2 one in /tmp: one;A=1;B=2"
                     ";OMPI_MCA_mpi_initial_errhandler=mpi_errors_return"
                     ";MICA_PARENT_PORT=mica:1:port|" PMIX_HOST "=a,b|" PMIX_BINDTO "=core"
                     " & 1 two in /: two x y;MICA_PARENT_PORT=mica:1:port");
    ck_assert(errors[0] == OPAL_SUCCESS && errors[2] == OPAL_SUCCESS);
    end();
    ck_assert_str_eq(unit_stderr(), "");
}
END_TEST

START_TEST(a_spawn_is_refused)
{
    static const struct {
        pmix_status_t error;
        opal_status_t status;
        const char *message;
    } cases[] = {
        {PMIX_ERR_NOT_SUPPORTED, OPAL_ERR_NOT_SUPPORTED, "starts no further jobs at run time"},
        {PMIX_ERR_NOT_FOUND, OPAL_ERR_ERROR,
         "cannot start one: the launcher's PMIx server refused"},
    };
    opal_status_t errors[3] = {OPAL_SUCCESS};
    start();
    server.spawn = cases[_i].error;
    ck_assert_int_eq(ops->spawn(state, programs, 2, NULL, errors), cases[_i].status);
    ck_assert(errors[0] == cases[_i].status && errors[2] == cases[_i].status);
    unit_assert_part(unit_stderr(), cases[_i].message);
    ck_assert_uint_eq(unit_count(unit_stderr(), "\n"), 1);
    end();
}
END_TEST

START_TEST(a_spawned_job_has_parents)
{
    start();
    ck_assert_ptr_null(job.parent_port);
    end();
    setenv("MICA_PARENT_PORT", "mica:1:port", 1);
    ck_assert_int_eq(ops->init(state, &job), OPAL_SUCCESS);
    ck_assert_str_eq(job.parent_port, "mica:1:port");
    end();
}
END_TEST

START_TEST(names_are_published)
{
    char *port = NULL;
    start();
    ck_assert_int_eq(ops->lookup(state, "a b", &port), OPAL_ERR_NOT_FOUND);
    ck_assert_ptr_null(port);
    ck_assert_int_eq(ops->unpublish(state, "a b"), OPAL_ERR_NOT_FOUND);
    ck_assert_int_eq(ops->publish(state, "a b", "p"), OPAL_SUCCESS);
    ck_assert_int_eq(ops->publish(state, "a b", "q"), OPAL_ERR_EXISTS);
    ck_assert_int_eq(ops->lookup(state, "a b", &port), OPAL_SUCCESS);
    ck_assert_str_eq(port, "p");
    free(port);
    ck_assert_int_eq(ops->unpublish(state, "a b"), OPAL_SUCCESS);
    ck_assert_str_eq(unit_stderr(), "");
    ck_assert(ops->keeps_names(state));
    server.names = PMIX_ERR_NOT_SUPPORTED;
    ck_assert(!ops->keeps_names(state));
    ck_assert_str_eq(unit_stderr(), "");
    ck_assert_int_eq(ops->publish(state, "a b", "p"), OPAL_ERR_NOT_SUPPORTED);
    unit_assert_part(unit_stderr(), "cannot look up the name a b: the PMIx server of this launcher "
                                    "keeps no names");
    end();
}
END_TEST

START_TEST(names_have_a_limit)
{
    char service[PMIX_MAX_KEYLEN + 2], *port;
    memset(service, 'x', sizeof service - 1);
    service[sizeof service - 1] = 0;
    start();
    ck_assert_int_eq(ops->publish(state, service, "p"), OPAL_ERR_TOO_LARGE);
    ck_assert_int_eq(ops->lookup(state, service, &port), OPAL_ERR_TOO_LARGE);
    ck_assert_int_eq(ops->unpublish(state, service), OPAL_ERR_TOO_LARGE);
    ck_assert_int_eq(ops->publish(state, service + 1, "p"), OPAL_SUCCESS);
    ck_assert_int_eq(ops->lookup(state, service + 1, &port), OPAL_SUCCESS);
    free(port);
    end();
}
END_TEST

/* Whichever form the table has, and however a server says that a process is no more. */
START_TEST(a_child_that_ends_early_is_noticed)
{
    const opal_pmi_program_t program = {.command = "true", .max_processes = 2};
    static const pmix_proc_state_t ends[] = {PMIX_PROC_STATE_UNDEF, PMIX_PROC_STATE_TERMINATED,
                                             PMIX_PROC_STATE_TERM_NON_ZERO};
    opal_status_t errors[2];
    char *text = NULL;
    start();
    server.wraps_rows = _i == 1;
    server.table[0] = (pmix_proc_info_t){.state = PMIX_PROC_STATE_RUNNING};
    server.table[1] = (pmix_proc_info_t){.proc.rank = 1, .state = PMIX_PROC_STATE_CONNECTED};
    ck_assert_int_eq(ops->spawn(state, &program, 1, "mica:1:port", errors), OPAL_SUCCESS);
    ck_assert_int_eq(ops->spawn_trouble(state, "mica:1:port", &text), OPAL_ERR_NOT_FOUND);
    for (size_t i = 0; i < OPAL_COUNT_OF(ends); i++) {
        server.table[1].state = ends[i];
        ck_assert_int_eq(ops->spawn_trouble(state, "mica:1:port", &text), OPAL_SUCCESS);
        ck_assert_str_eq(text, "rank 1 of them has ended before MPI_Init");
        free(text);
    }
    ck_assert_int_eq(ops->spawn_trouble(state, "mica:1:other", &text), OPAL_ERR_NOT_FOUND);
    server.query = PMIX_ERR_NOT_SUPPORTED;
    ck_assert_int_eq(ops->spawn_trouble(state, "mica:1:port", &text), OPAL_ERR_NOT_FOUND);
    ck_assert_str_eq(unit_stderr(), "");
    end();
}
END_TEST

/* -- process sets ------------------------------------------------------------------------------ */

START_TEST(sets_of_the_server_are_known)
{
    opal_strings_t names = {0};
    unsigned *ranks;
    size_t count;
    start();
    server.pset_names = "east,mpi-set";
    server.members[0] = (pmix_proc_t){.nspace = "unit.3", .rank = 3};
    server.members[1] = (pmix_proc_t){.nspace = "unit.4", .rank = 2}; /* of another job */
    server.members[2] = (pmix_proc_t){.nspace = "unit.3", .rank = 1};
    server.members[3] = (pmix_proc_t){.nspace = "unit.3", .rank = 4}; /* there is no such rank */
    server.member_count = 4;
    ck_assert_int_eq(ops->pset_names(state, &names), OPAL_SUCCESS);
    ck_assert_uint_eq(names.count, 2);
    ck_assert_str_eq(names.items[0], "east");
    ck_assert_str_eq(names.items[1], "mpi-set");
    opal_strings_free(&names);
    ck_assert_int_eq(ops->pset_ranks(state, "east", &ranks, &count), OPAL_SUCCESS);
    ck_assert_uint_eq(count, 2);
    ck_assert_uint_eq(ranks[0], 3);
    ck_assert_uint_eq(ranks[1], 1);
    free(ranks);
    ck_assert_int_eq(ops->pset_ranks(state, "mpi-set", &ranks, &count), OPAL_SUCCESS);
    ck_assert_uint_eq(count, 0);
    free(ranks);
    ck_assert_str_eq(unit_stderr(), "");
    end();
}
END_TEST

/* Such as that of Open MPI 4: to have none is no failure, but to ask for one is. */
START_TEST(a_server_without_sets)
{
    opal_strings_t names = {0};
    unsigned *ranks = NULL;
    size_t count;
    start();
    if (_i == 1)
        server.query = PMIX_ERR_NOT_SUPPORTED;
    ck_assert_int_eq(ops->pset_names(state, &names), OPAL_SUCCESS);
    ck_assert_uint_eq(names.count, 0);
    ck_assert_str_eq(unit_stderr(), "");
    ck_assert_int_eq(ops->pset_ranks(state, "east", &ranks, &count), OPAL_ERR_NOT_FOUND);
    ck_assert_ptr_null(ranks);
    unit_assert_part(unit_stderr(), "does not say which ranks are in the process set east");
    end();
}
END_TEST

static const unit_test_t tests[] = {
    {.test = &one_node},
    {.test = &what_is_not_told},
    {.test = &several_nodes, .repeats = OPAL_COUNT_OF(maps)},
    {.test = &a_map_with_holes, .repeats = 2},
    {.test = &sizes_of_all_types, .repeats = OPAL_COUNT_OF(sizes)},
    {.test = &a_server_that_is_not_there},
    {.test = &put_fence_get, .repeats = 2},
    {.test = &a_value_of_another_kind},
    {.test = &a_server_that_goes, .repeats = 5},
    {.test = &abort_says_who},
    {.test = &a_spawn_is_translated},
    {.test = &a_spawn_is_refused, .repeats = 2},
    {.test = &a_spawned_job_has_parents},
    {.test = &a_child_that_ends_early_is_noticed, .repeats = 2},
    {.test = &names_are_published},
    {.test = &names_have_a_limit},
    {.test = &sets_of_the_server_are_known},
    {.test = &a_server_without_sets, .repeats = 2},
};

UNIT_MAIN("pmi pmix", tests, setup);
