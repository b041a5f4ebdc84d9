/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * ompi/mca/coll/base/base.c: which component takes a call, in its three forms. The components are
 * three fakes, which take calls as the test says; the last one has no blocking form.
 */
#include "ompi/mca/coll/base/base.h"

#include <string.h>

#include "ompi/op/op.h"
#include "test/unit/opal/support.h"

enum { FAKES = 3 };

static char states[FAKES]; /* their addresses */
static bool takes_run[FAKES], takes_build[FAKES], gives_up[FAKES];
static int added, add_errors[FAKES], build_error;
static ompi_communicator_t comm = {.rank = 0, .size = 1, .local = &comm};
static const ompi_pml_ops_t pml = {.internal_tags = 1 << 19};
static const ompi_coll_call_t call = {.kind = OMPI_BARRIER, .comm = &comm};
static opal_text_t events; /* what was called, in order */

static int note(char what, const void *state)
{
    int at = (int)((const char *)state - states);
    opal_text_printf(&events, "%c%d ", what, at);
    return at;
}

static void check_events(const char *expected)
{
    ck_assert_str_eq(opal_text_string(&events), expected);
    opal_text_free(&events);
}

static int fake_run(const ompi_coll_call_t *given, void *state, bool *taken)
{
    ck_assert_ptr_eq(given, &call);
    ck_assert(*taken);
    *taken = takes_run[note('r', state)];
    return MPI_SUCCESS;
}

static int work(ompi_schedule_t *schedule, void *state)
{
    return gives_up[note('w', state)] ? ompi_coll_build_behind(&call, state, schedule)
                                      : MPI_SUCCESS;
}

static int fake_build(const ompi_coll_call_t *given OPAL_UNUSED, void *state,
                      ompi_schedule_t *schedule, bool *taken)
{
    ck_assert(*taken);
    *taken = takes_build[note('b', state)];
    if (!*taken)
        return MPI_SUCCESS;
    ompi_schedule_call(schedule, work, state, (ompi_data_t){0}, (ompi_data_t){0});
    ompi_schedule_wait(schedule);
    return build_error;
}

static int fake_add(ompi_communicator_t *to OPAL_UNUSED, void **state)
{
    ck_assert_ptr_null(*state);
    *state = &states[added];
    note('+', *state);
    return add_errors[added++];
}

static void fake_remove(ompi_communicator_t *from OPAL_UNUSED, void *state)
{
    note('-', state);
}

static const char *fake_explain(const ompi_coll_call_t *given, const void *state)
{
    ck_assert_ptr_eq(given, &call);
    return takes_run[note('e', state)] ? "fake" : NULL;
}

static const ompi_coll_ops_t ops = {fake_run, fake_build, fake_add, fake_remove, fake_explain};
static const ompi_coll_ops_t ops_without_run = {NULL, fake_build, fake_add, fake_remove,
                                                fake_explain};

static opal_candidate_t candidates[] = {
    {.name = "zero", .state = OPAL_CANDIDATE_CHOSEN, .answer = {.ops = &ops}},
    {.name = "one", .state = OPAL_CANDIDATE_CHOSEN, .answer = {.ops = &ops}},
    {.name = "two", .state = OPAL_CANDIDATE_CHOSEN, .answer = {.ops = &ops_without_run}},
    {.name = "excluded", .state = OPAL_CANDIDATE_EXCLUDED},
};

static void setup(void)
{
    ck_assert_int_eq(ompi_datatype_init(), MPI_SUCCESS);
    ompi_op_init();
    ompi_pml = &pml;
    mca_coll_framework.candidates = candidates;
    mca_coll_framework.candidate_count = OPAL_COUNT_OF(candidates);
    ompi_coll_start();
    added = 0;
}

static void begin(void)
{
    ck_assert_int_eq(ompi_coll_comm_add(&comm), MPI_SUCCESS);
    check_events("+0 +1 +2 ");
}

/* -- communicators ------------------------------------------------------------------- */

/* As a call is carried out: by the first component that takes it. */
START_TEST(the_first_that_takes_the_call_explains_it)
{
    const char *component = NULL;
    begin();
    takes_run[0] = false;
    takes_run[1] = takes_run[2] = true;
    ck_assert_str_eq(ompi_coll_explain(&call, &component), "fake");
    ck_assert_str_eq(component, "one");
    check_events("e0 e1 ");
    takes_run[1] = takes_run[2] = false;
    ck_assert_ptr_null(ompi_coll_explain(&call, &component));
    check_events("e0 e1 e2 ");
    ompi_coll_comm_remove(&comm);
}
END_TEST

START_TEST(comm_remove_is_called_in_reverse_order)
{
    begin();
    ompi_coll_comm_remove(&comm);
    check_events("-2 -1 -0 ");
    ck_assert_ptr_null(comm.coll);
}
END_TEST

/* comm_remove is not called for a component whose comm_add failed. */
START_TEST(a_failed_comm_add_removes_the_earlier_ones)
{
    add_errors[2] = MPI_ERR_NO_MEM;
    ck_assert_int_eq(ompi_coll_comm_add(&comm), MPI_ERR_NO_MEM);
    check_events("+0 +1 +2 -1 -0 ");
    ck_assert_ptr_null(comm.coll);
}
END_TEST

/* -- calls --------------------------------------------------------------------------- */

START_TEST(the_first_component_that_takes_a_call_runs_it)
{
    takes_run[0] = takes_run[1] = true;
    begin();
    ck_assert_int_eq(ompi_coll_run(&call), MPI_SUCCESS);
    check_events("r0 ");
    takes_run[0] = false;
    ck_assert_int_eq(ompi_coll_run(&call), MPI_SUCCESS);
    check_events("r0 r1 ");
}
END_TEST

/* From the first component without a blocking form on, build is called. */
START_TEST(without_a_blocking_form_its_schedule_is_run)
{
    takes_build[0] = takes_build[2] = true;
    begin();
    ck_assert_int_eq(ompi_coll_run(&call), MPI_SUCCESS);
    check_events("r0 r1 b2 w2 ");
    build_error = MPI_ERR_TRUNCATE;
    ck_assert_int_eq(ompi_coll_run(&call), MPI_ERR_TRUNCATE);
    check_events("r0 r1 b2 ");
}
END_TEST

START_TEST(no_component_takes_a_call)
{
    ompi_request_t *request = NULL;
    begin();
    ck_assert_int_eq(ompi_coll_run(&call), MPI_ERR_UNSUPPORTED_OPERATION);
    check_events("r0 r1 b2 ");
    ck_assert_int_eq(ompi_coll_begin(&call, &request), MPI_ERR_UNSUPPORTED_OPERATION);
    check_events("b0 b1 b2 ");
    ck_assert_int_eq(ompi_coll_prepare(&call, &request), MPI_ERR_UNSUPPORTED_OPERATION);
    check_events("b0 b1 b2 ");
    ck_assert_ptr_null(request);
}
END_TEST

static void finish(ompi_request_t *request, int error)
{
    ck_assert(ompi_request_is_done(request));
    ck_assert_int_eq(ompi_request_finish(&request, MPI_STATUS_IGNORE), error);
}

START_TEST(a_nonblocking_form_is_a_schedule)
{
    ompi_request_t *request;
    takes_run[0] = takes_build[1] = takes_build[2] = true;
    begin();
    ck_assert_int_eq(ompi_coll_begin(&call, &request), MPI_SUCCESS);
    check_events("b0 b1 w1 ");
    finish(request, MPI_SUCCESS);
    build_error = MPI_ERR_NO_MEM;
    ck_assert_int_eq(ompi_coll_begin(&call, &request), MPI_ERR_NO_MEM);
    check_events("b0 b1 ");
}
END_TEST

START_TEST(a_persistent_form_begins_when_it_is_started)
{
    ompi_request_t *request;
    takes_build[1] = true;
    begin();
    ck_assert_int_eq(ompi_coll_prepare(&call, &request), MPI_SUCCESS);
    check_events("b0 b1 ");
    for (int i = 0; i < 2; i++) {
        ck_assert_int_eq(ompi_request_start(request), MPI_SUCCESS);
        check_events("w1 ");
        ck_assert_int_eq(ompi_request_finish(&request, MPI_STATUS_IGNORE), MPI_SUCCESS);
    }
    ompi_request_release(request);
}
END_TEST

/* A component gives up in its running schedule: the next one that takes the call adds the rest. */
START_TEST(a_component_gives_up_in_its_schedule)
{
    ompi_request_t *request;
    takes_build[0] = gives_up[0] = true;
    takes_build[2] = true;
    begin();
    ck_assert_int_eq(ompi_coll_begin(&call, &request), MPI_SUCCESS);
    check_events("b0 w0 b1 b2 w2 ");
    finish(request, MPI_SUCCESS);
    takes_build[2] = false;
    ck_assert_int_eq(ompi_coll_begin(&call, &request), MPI_SUCCESS);
    check_events("b0 w0 b1 b2 ");
    finish(request, MPI_ERR_UNSUPPORTED_OPERATION);
}
END_TEST

static const unit_test_t tests[] = {
    {.test = &the_first_that_takes_the_call_explains_it},
    {.test = &comm_remove_is_called_in_reverse_order},
    {.test = &a_failed_comm_add_removes_the_earlier_ones},
    {.test = &the_first_component_that_takes_a_call_runs_it},
    {.test = &without_a_blocking_form_its_schedule_is_run},
    {.test = &no_component_takes_a_call},
    {.test = &a_nonblocking_form_is_a_schedule},
    {.test = &a_persistent_form_begins_when_it_is_started},
    {.test = &a_component_gives_up_in_its_schedule},
};

UNIT_MAIN("base", tests, setup);
