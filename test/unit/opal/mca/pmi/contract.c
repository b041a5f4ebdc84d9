/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What every component of pmi promises (opal/mca/pmi/pmi.h), held against singleton, wire, and pmix
 * where it is built: each under the launcher that it wants, which is a thread or functions of this
 * program.
 */
#include <pthread.h>

#include "opal/mca/pmi/base/base.h"

#include "test/unit/opal/mca/pmi/wire/launcher.h"
#include "test/unit/opal/support.h"
#ifdef UNIT_PMIX
#include "test/unit/opal/mca/pmi/pmix/server.h"
#endif

enum { LONGEST = 20000, ABORT_CODE = 7 };

/* As long as a key may be, with every kind of character that it may have. */
static const char long_key[] = "abcdefghijklmnopqrstuvwxyz-ABCDEFG.01289";

static const opal_component_t *component;
static const opal_pmi_ops_t *ops;
static void *state;
static opal_pmi_job_t job;

/* -- launchers ----------------------------------------------------------------------------- */

/* `launch` leaves in the environment what makes the component usable; `end` comes behind close. A
 * gate answers in front of query. */
typedef struct launcher {
    const opal_component_t *component;
    opal_gate_fn_t *gate;
    unsigned rank, size;
    void (*launch)(void);
    void (*end)(void);
} launcher_t;

extern const opal_component_t mca_pmi_singleton_component, mca_pmi_wire_component;

static void launch_nothing(void)
{
}

static void launch_wire(void)
{
    launcher_start(1, 4, NULL);
}

static void end_wire(void)
{
    launcher_stop();
}

#ifdef UNIT_PMIX
extern const opal_component_t mca_pmi_pmix_component;
opal_gate_fn_t mca_pmi_pmix_gate;

static void launch_pmix(void)
{
    setenv("PMIX_NAMESPACE", "unit.3", 1);
    setenv("PMIX_RANK", "1", 1);
    server.rank = 1;
    server_know(PMIX_JOB_SIZE, server_uint32(4));
    server_know(PMIX_LOCAL_SIZE, server_uint32(4));
}

static void end_pmix(void)
{
    server_forget();
    server.fact_count = 0;
}
#endif

static const launcher_t launchers[] = {
    {&mca_pmi_singleton_component, NULL, 0, 1, launch_nothing, launch_nothing},
    {&mca_pmi_wire_component, NULL, 1, 4, launch_wire, end_wire},
#ifdef UNIT_PMIX
    {&mca_pmi_pmix_component, mca_pmi_pmix_gate, 1, 4, launch_pmix, end_pmix},
#endif
};

enum { COMPONENTS = OPAL_COUNT_OF(launchers) };

static void setup(void)
{
    static const char *const names[] = {"PMI_FD",         "PMI_RANK",  "PMI_SIZE",
                                        "PMIX_NAMESPACE", "PMIX_RANK", "MICA_LOCAL_SIZE"};
    for (size_t i = 0; i < OPAL_COUNT_OF(names); i++)
        unsetenv(names[i]);
    unit_capture();
}

/* -- a component's life -------------------------------------------------------------------- */

static opal_answer_t query(void)
{
    opal_answer_t answer = {0};
    if (component->open != NULL)
        ck_assert_int_eq(component->open(), OPAL_SUCCESS);
    component->query(&answer);
    ops = answer.ops;
    state = answer.state;
    return answer;
}

static void close_component(void)
{
    if (component->close != NULL)
        component->close();
}

static void begin(int number)
{
    component = launchers[number].component;
    launchers[number].launch();
    ck_assert(query().usable);
    ck_assert_int_eq(ops->init(state, &job), OPAL_SUCCESS);
}

/* Nothing has gone wrong, so nothing has been said. */
static void end(int number)
{
    ck_assert_int_eq(ops->finalize(state), OPAL_SUCCESS);
    close_component();
    launchers[number].end();
    ck_assert_str_eq(unit_stderr(), "");
}

START_TEST(the_table_is_complete)
{
    component = launchers[_i].component;
    launchers[_i].launch();
    opal_answer_t answer = query();
    ck_assert(answer.usable);
    ck_assert_int_ge(answer.priority, 0);
    ck_assert_int_le(answer.priority, OPAL_PRIORITY_MAX);
    ck_assert_uint_gt(strlen(answer.reason), 0);
    ck_assert(ops->init != NULL && ops->put != NULL && ops->fence != NULL && ops->get != NULL &&
              ops->abort != NULL && ops->finalize != NULL);
    close_component();
    launchers[_i].end();
}
END_TEST

/* One that finds no launcher of its kind says so, and says nothing to the user. */
START_TEST(without_its_launcher_it_says_why_not)
{
    opal_answer_t answer = {0};
    component = launchers[_i].component;
    if (launchers[_i].launch == launch_nothing) { /* a launcher that is not its own */
        setenv("PMIX_NAMESPACE", "unit.3", 1);
        setenv("PMIX_RANK", "2", 1);
    }
    if (launchers[_i].gate != NULL) {
        launchers[_i].gate(&answer);
    } else {
        answer = query();
        close_component();
    }
    ck_assert(!answer.usable);
    ck_assert_uint_gt(strlen(answer.reason), 0);
    ck_assert_str_eq(unit_stderr(), "");
}
END_TEST

/* -- who it is ----------------------------------------------------------------------------- */

START_TEST(init_tells_the_job)
{
    unsigned on_node = 0, before = 0;
    begin(_i);
    ck_assert_uint_eq(job.rank, launchers[_i].rank);
    ck_assert_uint_eq(job.size, launchers[_i].size);
    for (unsigned rank = 0; rank < job.size; rank++) {
        ck_assert_uint_lt(job.node_of[rank], job.node_count);
        on_node += job.node_of[rank] == job.node_of[job.rank];
        before += job.node_of[rank] == job.node_of[job.rank] && rank < job.rank;
    }
    ck_assert_uint_eq(job.local_size, on_node);
    ck_assert_uint_eq(job.local_rank, before);
    ck_assert_int_ge(job.app_number, -1);
    ck_assert(job.universe_size == -1 || job.universe_size >= (int)job.size);
    ck_assert_uint_gt(strlen(job.job_id), 0);
    ck_assert_int_eq(job.reporter, job.rank == 0);
    end(_i);
}
END_TEST

/* -- what the others say ------------------------------------------------------------------- */

static void put(const char *key, const char *bytes, size_t length)
{
    char *copy = malloc(length + 1);
    memcpy(copy, bytes, length);
    ck_assert_int_eq(ops->put(state, key, copy, length), OPAL_SUCCESS);
    memset(copy, 0, length); /* it was copied */
    free(copy);
}

static void expect(unsigned rank, const char *key, const char *wanted, size_t length)
{
    void *bytes = NULL;
    size_t got = SIZE_MAX;
    ck_assert_int_eq(ops->get(state, rank, key, &bytes, &got), OPAL_SUCCESS);
    ck_assert_uint_eq(got, length);
    ck_assert(length == 0 || memcmp(bytes, wanted, length) == 0);
    free(bytes);
}

static void expect_nothing(unsigned rank, const char *key)
{
    void *bytes = &job;
    size_t length = 99;
    ck_assert_int_eq(ops->get(state, rank, key, &bytes, &length), OPAL_ERR_NOT_FOUND);
    ck_assert_ptr_eq(bytes, &job); /* nothing was written */
    ck_assert_uint_eq(length, 99);
}

START_TEST(what_was_put_is_got)
{
    static char longest[LONGEST];
    for (size_t i = 0; i < LONGEST; i++)
        longest[i] = (char)(i * 7);
    begin(_i);
    put("some", "a\0b\n=; c", 9);
    put("none", "", 0);
    put(long_key, longest, LONGEST);
    ck_assert_int_eq(ops->fence(state), OPAL_SUCCESS);
    for (unsigned again = 0; again < 2; again++) {
        expect(job.rank, "some", "a\0b\n=; c", 9);
        expect(job.rank, "none", "", 0);
        expect(job.rank, long_key, longest, LONGEST);
    }
    end(_i);
}
END_TEST

START_TEST(what_was_not_put_is_not_found)
{
    begin(_i);
    put("some", "x", 1);
    ck_assert_int_eq(ops->fence(state), OPAL_SUCCESS);
    expect_nothing(job.rank, "som");
    expect_nothing(job.rank, "some.");
    expect_nothing((job.rank + 1) % 4, "some");
    end(_i);
}
END_TEST

START_TEST(there_are_several_rounds)
{
    begin(_i);
    ck_assert_int_eq(ops->fence(state), OPAL_SUCCESS); /* nothing was put */
    for (char round = 'a'; round < 'e'; round++) {
        char key[] = {'k', round, 0};
        expect_nothing(job.rank, key);
        put(key, &round, 1);
        ck_assert_int_eq(ops->fence(state), OPAL_SUCCESS);
        for (char earlier = 'a'; earlier <= round; earlier++)
            expect(job.rank, (char[]){'k', earlier, 0}, &earlier, 1);
    }
    end(_i);
}
END_TEST

START_TEST(a_rank_speaks_for_another_one)
{
    begin(_i);
    if (ops->put_for != NULL) {
        ck_assert_int_eq(ops->put_for(state, 0, "his", "zero", 4), OPAL_SUCCESS);
        put("his", "one", 3);
        ck_assert_int_eq(ops->fence(state), OPAL_SUCCESS);
        expect(0, "his", "zero", 4);
        expect(job.rank, "his", "one", 3);
        expect_nothing(2, "his");
    }
    end(_i);
}
END_TEST

/* -- the end ------------------------------------------------------------------------------- */

START_TEST(it_can_be_opened_again)
{
    begin(_i);
    end(_i);
    begin(_i);
    put("some", "x", 1);
    ck_assert_int_eq(ops->fence(state), OPAL_SUCCESS);
    expect(job.rank, "some", "x", 1);
    end(_i);
}
END_TEST

static void *abort_here(void *argument OPAL_UNUSED)
{
    ops->abort(state, ABORT_CODE);
    return NULL;
}

START_TEST(any_thread_aborts)
{
    pthread_t thread;
    begin(_i);
    pthread_create(&thread, NULL, abort_here, NULL);
    pthread_join(thread, NULL);
}
END_TEST

static const unit_test_t tests[] = {
    {.test = &the_table_is_complete, .repeats = COMPONENTS},
    {.test = &without_its_launcher_it_says_why_not, .repeats = COMPONENTS},
    {.test = &init_tells_the_job, .repeats = COMPONENTS},
    {.test = &what_was_put_is_got, .repeats = COMPONENTS},
    {.test = &what_was_not_put_is_not_found, .repeats = COMPONENTS},
    {.test = &there_are_several_rounds, .repeats = COMPONENTS},
    {.test = &a_rank_speaks_for_another_one, .repeats = COMPONENTS},
    {.test = &it_can_be_opened_again, .repeats = COMPONENTS},
    {.test = &any_thread_aborts, .repeats = COMPONENTS, .exit_code = ABORT_CODE},
};

UNIT_MAIN("pmi contract", tests, setup);
