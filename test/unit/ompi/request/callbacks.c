/* SPDX-License-Identifier: BSD-3-Clause */
/* ompi/request/callbacks.c: when the callbacks are called, whatever becomes of the request. */
#include "ompi/request/callbacks.h"

#include <stdlib.h>

#include "opal/progress/wait.h"
#include "test/unit/opal/support.h"

static int destroyed, started, start_error;
static bool completes_at_once;

static void destroy(ompi_object_t *head)
{
    destroyed++;
    free(opal_container_of(head, ompi_request_t, head));
}

static int start_operation(ompi_request_t *request)
{
    started++;
    if (completes_at_once)
        ompi_request_complete(request);
    return start_error;
}

static int cancel(ompi_request_t *request)
{
    request->status.MPI_ERROR = MPI_ERR_OTHER;
    ompi_request_complete(request);
    return MPI_SUCCESS;
}

static const ompi_request_ops_t ops = {.start = start_operation, .cancel = cancel};

static ompi_request_t *create(void)
{
    ompi_request_t *request = malloc(sizeof *request);
    ck_assert_ptr_nonnull(request);
    ompi_request_init(request, &ops, NULL, destroy);
    return request;
}

/* -- callbacks that count --------------------------------------------------------------------- */

typedef struct counter {
    ompi_request_callbacks_t callbacks;
    ompi_request_t *request;
    int starts, completions, ends;
    int starts_before; /* of the operation, when the last start was announced */
    bool was_done, was_destroyed;
} counter_t;

static counter_t *counter_of(ompi_request_callbacks_t *callbacks)
{
    return opal_container_of(callbacks, counter_t, callbacks);
}

static void on_start(ompi_request_callbacks_t *callbacks)
{
    counter_of(callbacks)->starts++;
    counter_of(callbacks)->starts_before = started;
}

static void on_complete(ompi_request_callbacks_t *callbacks)
{
    counter_t *counter = counter_of(callbacks);
    counter->completions++;
    counter->was_done = ompi_request_is_done(counter->request);
}

static void on_end(ompi_request_callbacks_t *callbacks)
{
    counter_of(callbacks)->ends++;
    counter_of(callbacks)->was_destroyed = destroyed > 0;
}

static counter_t counter_for(ompi_request_t *request)
{
    return (counter_t){
        .callbacks = {.on_start = on_start, .on_complete = on_complete, .on_end = on_end},
        .request = request};
}

static void check_counts(const counter_t *counter, int starts, int completions, int ends)
{
    ck_assert_int_eq(counter->starts, starts);
    ck_assert_int_eq(counter->completions, completions);
    ck_assert_int_eq(counter->ends, ends);
}

/* -- requests that start once ----------------------------------------------------------------- */

START_TEST(a_request_completes_behind_its_callbacks)
{
    ompi_request_t *request = create();
    counter_t counter = counter_for(request);
    ompi_request_attach(request, &counter.callbacks);
    check_counts(&counter, 0, 0, 0);
    ompi_request_complete(request);
    check_counts(&counter, 0, 1, 1);
    ck_assert(!counter.was_done);
    ck_assert(ompi_request_is_done(request));
    ck_assert_int_eq(ompi_request_finish(&request, MPI_STATUS_IGNORE), MPI_SUCCESS);
    ck_assert_int_eq(destroyed, 1);
    check_counts(&counter, 0, 1, 1);
}
END_TEST

START_TEST(a_request_may_be_done_before)
{
    ompi_request_t *request = _i == 0 ? create() : &ompi_request_sent;
    counter_t counter = counter_for(request);
    if (_i == 0)
        ompi_request_complete(request);
    ompi_request_t before = *request;
    ompi_request_attach(request, &counter.callbacks);
    check_counts(&counter, 0, 1, 1);
    ck_assert_mem_eq(request, &before, sizeof before);
    ck_assert_int_eq(ompi_request_finish(&request, MPI_STATUS_IGNORE), MPI_SUCCESS);
    check_counts(&counter, 0, 1, 1);
}
END_TEST

START_TEST(a_request_may_be_freed_or_cancelled)
{
    ompi_request_t *request = create(), *slot = request;
    counter_t counter = counter_for(request);
    ompi_request_attach(request, &counter.callbacks);
    if (_i == 0) {
        ck_assert_int_eq(ompi_request_free(&slot), MPI_SUCCESS);
        check_counts(&counter, 0, 0, 0);
        ompi_request_complete(request);
        ck_assert_int_eq(destroyed, 1);
        ck_assert(!counter.was_destroyed);
    } else {
        ck_assert_int_eq(ompi_request_cancel(request), MPI_SUCCESS);
        ck_assert_int_eq(ompi_request_finish(&slot, MPI_STATUS_IGNORE), MPI_ERR_OTHER);
    }
    check_counts(&counter, 0, 1, 1);
}
END_TEST

static int calls_of_other;

static void count_other(ompi_request_t *request OPAL_UNUSED, void *context)
{
    ck_assert_ptr_eq(context, &calls_of_other);
    calls_of_other++;
}

/* on_complete may have been set before. */
START_TEST(callbacks_keep_what_they_stand_in_for)
{
    ompi_request_t *request = create();
    counter_t counter = counter_for(request);
    request->on_complete = count_other;
    request->on_complete_context = &calls_of_other;
    ompi_request_attach(request, &counter.callbacks);
    ompi_request_complete(request);
    ck_assert_int_eq(calls_of_other, 1);
    check_counts(&counter, 0, 1, 1);
    ompi_request_release(request);
}
END_TEST

/* -- persistent ones -------------------------------------------------------------------------- */

static ompi_request_t *create_persistent(void)
{
    ompi_request_t *request = create();
    ompi_request_make_persistent(request);
    return request;
}

START_TEST(a_persistent_request_goes_round)
{
    ompi_request_t *request = create_persistent(), *slot = request;
    counter_t counter = counter_for(request);
    ompi_request_attach(request, &counter.callbacks);
    for (int round = 1; round <= 4; round++) {
        completes_at_once = round % 2 == 0;
        ck_assert_int_eq(ompi_request_start(request), MPI_SUCCESS);
        ck_assert_int_eq(started, round);
        ck_assert_int_eq(counter.starts_before, round - 1);
        check_counts(&counter, round, completes_at_once ? round : round - 1, 0);
        if (!completes_at_once)
            ompi_request_complete(request);
        check_counts(&counter, round, round, 0);
        ck_assert(!counter.was_done);
        ck_assert_int_eq(ompi_request_finish(&slot, MPI_STATUS_IGNORE), MPI_SUCCESS);
    }
    ck_assert_int_eq(ompi_request_free(&slot), MPI_SUCCESS);
    check_counts(&counter, 4, 4, 1);
    ck_assert(!counter.was_destroyed);
    ck_assert_int_eq(destroyed, 1);
}
END_TEST

START_TEST(a_start_may_fail)
{
    ompi_request_t *request = create_persistent();
    counter_t counter = counter_for(request);
    ompi_request_attach(request, &counter.callbacks);
    start_error = MPI_ERR_NO_MEM;
    ck_assert_int_eq(ompi_request_start(request), MPI_ERR_NO_MEM);
    check_counts(&counter, 1, 0, 0);
    start_error = MPI_SUCCESS;
    ck_assert_int_eq(ompi_request_start(request), MPI_SUCCESS);
    ompi_request_complete(request);
    check_counts(&counter, 2, 1, 0);
    ompi_request_free(&request);
    check_counts(&counter, 2, 1, 1);
}
END_TEST

START_TEST(a_persistent_request_is_freed_while_it_is_active)
{
    ompi_request_t *request = create_persistent(), *slot = request;
    counter_t counter = counter_for(request);
    ompi_request_attach(request, &counter.callbacks);
    ck_assert_int_eq(ompi_request_start(request), MPI_SUCCESS);
    ck_assert_int_eq(ompi_request_free(&slot), MPI_SUCCESS);
    check_counts(&counter, 1, 0, 0);
    ompi_request_complete(request);
    check_counts(&counter, 1, 1, 1);
    ck_assert_int_eq(destroyed, 1);
}
END_TEST

static const unit_test_t tests[] = {
    {.test = &a_request_completes_behind_its_callbacks},
    {.test = &a_request_may_be_done_before, .repeats = 2},
    {.test = &a_request_may_be_freed_or_cancelled, .repeats = 2},
    {.test = &callbacks_keep_what_they_stand_in_for},
    {.test = &a_persistent_request_goes_round},
    {.test = &a_start_may_fail},
    {.test = &a_persistent_request_is_freed_while_it_is_active},
};

static void setup(void)
{
    ompi_lock_start(false);
}

UNIT_MAIN("ompi/request/callbacks", tests, setup);
