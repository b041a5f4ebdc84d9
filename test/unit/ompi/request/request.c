/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * ompi/request/request.c: the states of a request, and how many completions a wait and a test after
 * a cancel take. The requests have no operation: a poll function completes one of them in each
 * poll.
 */
#include "ompi/request/request.h"

#include <pthread.h>
#include <sched.h>
#include <stdlib.h>

#include "ompi/communicator/communicator.h"
#include "ompi/request/status.h"
#include "opal/mca/base/param.h"
#include "opal/progress/wait.h"
#include "test/unit/opal/support.h"

enum { COUNT = 8, POLLS_TO_ANSWER = 40 };

static int destroyed;

static void destroy(ompi_object_t *head)
{
    destroyed++;
    free(opal_container_of(head, ompi_request_t, head));
}

static ompi_request_t *create(const ompi_request_ops_t *ops, ompi_communicator_t *comm)
{
    ompi_request_t *request = malloc(sizeof *request);
    ck_assert_ptr_nonnull(request);
    ompi_request_init(request, ops, comm, destroy);
    return request;
}

/* No test releases the communicator's own reference. */
static void end_comm(ompi_object_t *head OPAL_UNUSED)
{
    ck_abort_msg("the communicator has ended");
}

static ompi_request_t *create_plain(void)
{
    static const ompi_request_ops_t none;
    return create(&none, NULL);
}

static void setup(void)
{
    setenv("OMPI_MCA_mca_base_param_files", "", 1);
    opal_param_init();
    ck_assert_int_eq(opal_wait_register(), OPAL_SUCCESS);
    ompi_lock_start(false);
}

/* -- waiting ------------------------------------------------------------------------------- */

static ompi_request_t *requests[COUNT];
static int next_to_complete, polls;

static int complete_next(void *state OPAL_UNUSED)
{
    polls++;
    while (next_to_complete < COUNT && ompi_request_is_settled(requests[next_to_complete]))
        next_to_complete++;
    ck_assert_int_lt(next_to_complete, COUNT); /* the wait goes on for nothing */
    ompi_request_complete(requests[next_to_complete]);
    return 1;
}

static int done_count(void)
{
    int count = 0;
    for (int i = 0; i < COUNT; i++)
        count += ompi_request_is_active(requests[i]) && ompi_request_is_done(requests[i]);
    return count;
}

/* Entry 1 is null, entry 4 is a persistent request that is not started: six are active. */
static void create_all(void)
{
    for (int i = 0; i < COUNT; i++)
        requests[i] = i == 1 ? NULL : create_plain();
    ompi_request_make_persistent(requests[4]);
    ck_assert_int_eq(opal_progress_add(complete_next, NULL), OPAL_SUCCESS);
}

static void check_unlinked(void)
{
    for (int i = 0; i < COUNT; i++)
        ck_assert(requests[i] == NULL || requests[i]->wait == NULL);
}

/* From one (MPI_Waitany) to all (MPI_Waitall), and more than there are. */
START_TEST(a_wait_takes_as_many_as_it_wants)
{
    int wanted = _i + 1, active = COUNT - 2;
    create_all();
    ompi_request_wait(requests, COUNT, (size_t)wanted);
    ck_assert_int_eq(done_count(), wanted < active ? wanted : active);
    ck_assert_int_eq(polls, done_count());
    check_unlinked();
}
END_TEST

static int complete_two(void *state)
{
    complete_next(state);
    return 1 + complete_next(state);
}

START_TEST(more_may_end_at_once_than_a_wait_wants)
{
    int wanted = _i + 1, active = COUNT - 2;
    create_all();
    opal_progress_remove(complete_next, NULL);
    ck_assert_int_eq(opal_progress_add(complete_two, NULL), OPAL_SUCCESS);
    ompi_request_wait(requests, COUNT, (size_t)wanted);
    ck_assert_int_eq(done_count(), wanted < active ? wanted + wanted % 2 : active);
    check_unlinked();
}
END_TEST

START_TEST(what_is_done_before_counts)
{
    create_all();
    for (int i = 5; i < COUNT; i++)
        ompi_request_complete(requests[i]);
    ompi_request_wait(requests, COUNT, 3);
    ck_assert_int_eq(polls, 0);
    ompi_request_wait(requests, COUNT, 5);
    ck_assert_int_eq(polls, 2);
    ck_assert_int_eq(done_count(), 5);
    ompi_request_wait(requests, COUNT, COUNT);
    ck_assert_int_eq(polls, 3);
    ompi_request_wait(requests, COUNT, COUNT); /* none is open any more */
    ck_assert_int_eq(polls, 3);
    check_unlinked();
}
END_TEST

/* Two waits of two threads for the same kind of thing: a completion counts for its own alone. */
START_TEST(a_completion_counts_for_its_own_wait)
{
    ompi_request_t *first = create_plain(), *second = create_plain();
    ompi_wait_t one = {.missing = 1}, two = {.missing = 2};
    first->wait = &one;
    second->wait = &two;
    ompi_request_complete(second);
    ck_assert_uint_eq(two.missing, 1);
    ck_assert_int_eq(atomic_load(&two.done), 0);
    ck_assert_uint_eq(one.missing, 1);
    ompi_request_complete(first);
    ck_assert_int_eq(atomic_load(&one.done), 1);
    ck_assert_int_eq(atomic_load(&two.done), 0);
    ck_assert(first->wait == NULL && second->wait == NULL);
    ompi_request_release(first);
    ompi_request_release(second);
}
END_TEST

/* -- lanes --------------------------------------------------------------------------------- */

/* Delivers a frame of the lane; when another thread has begun to wait for the lane. */
static void *complete_in_lane(void *request)
{
    opal_short_lock_t *lock = &opal_btl_lanes[0].lock;
    while (atomic_load(&lock->starving) == 0)
        sched_yield();
    ompi_request_complete(request);
    opal_short_release(lock);
    return NULL;
}

/* Who waits for a request, or frees it, sees either that it is done or that nobody else completes
 * it: the lane is held meanwhile. */
START_TEST(a_request_of_a_lane_is_linked_while_that_is_held)
{
    pthread_t thread;
    ompi_request_t *request = create_plain();
    request->lane = 1;
    opal_short_acquire(&opal_btl_lanes[0].lock);
    ck_assert_int_eq(pthread_create(&thread, NULL, complete_in_lane, request), 0);
    if (_i == 0)
        ompi_request_wait(&request, 1, 1);
    else
        ompi_request_free(&request);
    pthread_join(thread, NULL);
    ck_assert_uint_eq(opal_btl_lanes[0].holds, 0);
    ck_assert(opal_short_take(&opal_btl_lanes[0].lock));
    if (_i == 0)
        ompi_request_release(request);
    ck_assert_int_eq(destroyed, 1);
}
END_TEST

/* Only for lanes, and only while a transport delivers them. */
START_TEST(a_spin_ends_at_what_has_no_lane)
{
    ompi_request_t *list[] = {NULL, create_plain(), create_plain()};
    list[2]->lane = 1;
    ompi_request_complete(list[1]);
    ck_assert(ompi_request_spin(list, 2));
    ck_assert(!ompi_request_spin(list, 3));
    list[2]->lane = 0;
    ck_assert(!ompi_request_spin(list, 3));
    ompi_request_complete(list[2]);
    ck_assert(ompi_request_spin(list, 3));
    ompi_request_release(list[1]);
    ompi_request_release(list[2]);
}
END_TEST

/* -- the end of a request ------------------------------------------------------------------ */

static int calls_of_end;
static bool was_done_at_end;

static void note_end(ompi_request_t *request, void *context)
{
    ck_assert_ptr_eq(context, &calls_of_end);
    calls_of_end++;
    was_done_at_end = ompi_request_is_done(request);
}

/* Once for each time that it was set, and before the owner may see that the request is done. */
START_TEST(the_callback_runs_once_before_the_end_shows)
{
    ompi_request_t *request = create_plain();
    ompi_request_make_persistent(request);
    for (int round = 0; round < 2; round++) {
        atomic_store(&request->done, 0);
        request->active = true;
        if (round == 0) {
            request->on_complete = note_end;
            request->on_complete_context = &calls_of_end;
        }
        ompi_request_complete(request);
        ck_assert(ompi_request_is_done(request));
        ck_assert_int_eq(calls_of_end, 1);
        ck_assert(!was_done_at_end);
    }
    ompi_request_release(request);
}
END_TEST

/* The requests of a communicator share a reference to it, until the last of them goes. */
START_TEST(requests_share_a_reference_to_their_communicator)
{
    ompi_communicator_t comm = {.rank = 0};
    static const ompi_request_ops_t none;
    ompi_object_init(&comm.head, OMPI_COMM, end_comm);
    for (int i = 0; i < COUNT; i++) {
        requests[i] = create(&none, &comm);
        ck_assert_int_eq(atomic_load(&comm.head.references), 2);
    }
    for (int i = 0; i < COUNT; i++) {
        ck_assert_int_eq(atomic_load(&comm.head.references), 2);
        ompi_request_complete(requests[i]);
        ck_assert_int_eq(ompi_request_free(&requests[i]), MPI_SUCCESS);
    }
    ck_assert_int_eq(destroyed, COUNT);
    ck_assert_int_eq(atomic_load(&comm.head.references), 1);
}
END_TEST

/* One that is freed while its operation runs lives as long as that, and so does its communicator.
 */
START_TEST(a_freed_request_lives_until_its_end)
{
    ompi_communicator_t comm = {.rank = 0};
    static const ompi_request_ops_t none;
    ompi_object_init(&comm.head, OMPI_COMM, end_comm);
    ompi_request_t *request = create(&none, &comm), *slot = request;
    ck_assert_int_eq(atomic_load(&comm.head.references), 2);
    ck_assert_int_eq(ompi_request_free(&slot), MPI_SUCCESS);
    ck_assert_ptr_null(slot);
    ck_assert_int_eq(destroyed, 0);
    ck_assert_int_eq(atomic_load(&comm.head.references), 2);
    ompi_request_complete(request);
    ck_assert_int_eq(destroyed, 1);
    ck_assert_int_eq(atomic_load(&comm.head.references), 1);

    slot = create(&none, &comm);
    ompi_request_complete(slot);
    ck_assert_int_eq(ompi_request_free(&slot), MPI_SUCCESS);
    ck_assert_int_eq(destroyed, 2);
    ck_assert_int_eq(atomic_load(&comm.head.references), 1);
}
END_TEST

/* With the lock and without it. */
START_TEST(a_finished_request_gives_its_status_and_goes)
{
    int (*finish)(ompi_request_t **, MPI_Status *) =
        _i == 0 ? ompi_request_finish : ompi_request_finish_unlocked;
    static const ompi_request_ops_t none;
    ompi_communicator_t comm;
    MPI_Status status = {.MPI_ERROR = 77};
    ompi_object_init(&comm.head, OMPI_COMM, end_comm);
    ompi_request_t *request = create(&none, &comm);
    ompi_status_set(&request->status, 3, 4, MPI_ERR_TRUNCATE, 5);
    ompi_request_complete(request);
    ck_assert_int_eq(finish(&request, &status), MPI_ERR_TRUNCATE);
    ck_assert_ptr_null(request);
    ck_assert_int_eq(status.MPI_SOURCE, 3);
    ck_assert_int_eq(status.MPI_TAG, 4);
    ck_assert_int_eq(status.MPI_ERROR, 77); /* it belongs to calls with several statuses */
    ck_assert_uint_eq(ompi_status_bytes(&status), 5);
    ck_assert_int_eq(destroyed, 1);
    ck_assert_int_eq(atomic_load(&comm.head.references), 1);
}
END_TEST

START_TEST(the_request_of_all_sent_messages_stays)
{
    ompi_request_t before = ompi_request_sent;
    for (int i = 0; i < 3; i++) {
        ompi_request_t *slot = &ompi_request_sent;
        ck_assert(ompi_request_can_finish_unlocked(slot));
        ck_assert_int_eq(i == 0   ? ompi_request_finish(&slot, MPI_STATUS_IGNORE)
                         : i == 1 ? ompi_request_finish_unlocked(&slot, MPI_STATUS_IGNORE)
                                  : ompi_request_free(&slot),
                         MPI_SUCCESS);
        ck_assert_ptr_null(slot);
        ck_assert_mem_eq(&ompi_request_sent, &before, sizeof before);
    }
}
END_TEST

/* -- persistent requests ------------------------------------------------------------------- */

static int start_error;
static bool completes_at_once;

static int start(ompi_request_t *request)
{
    ck_assert(request->active && !ompi_request_is_done(request));
    ck_assert(!request->is_cancel_unanswered);
    if (start_error == MPI_SUCCESS && completes_at_once)
        ompi_request_complete(request);
    return start_error;
}

static const ompi_request_ops_t persistent_ops = {.start = start};

START_TEST(a_persistent_request_goes_round)
{
    ompi_request_t *request = create(&persistent_ops, NULL), *slot = request;
    ompi_request_make_persistent(request);
    for (int round = 0; round < 4; round++) {
        completes_at_once = round % 2 == 1;
        ck_assert(ompi_request_is_settled(request) && !ompi_request_is_active(request));
        ck_assert_int_eq(ompi_request_start(request), MPI_SUCCESS);
        ck_assert_int_eq(ompi_request_is_settled(request), completes_at_once);
        if (!completes_at_once)
            ompi_request_complete(request);
        ck_assert_int_eq(round < 2 ? ompi_request_finish(&slot, MPI_STATUS_IGNORE)
                                   : ompi_request_finish_unlocked(&slot, MPI_STATUS_IGNORE),
                         MPI_SUCCESS);
        ck_assert_ptr_eq(slot, request);
    }
    ck_assert_int_eq(ompi_request_free(&slot), MPI_SUCCESS);
    ck_assert_int_eq(destroyed, 1);
}
END_TEST

/* It is inactive again and may be started; what was asked of the last round is forgotten. */
START_TEST(a_start_that_fails_leaves_it_inactive)
{
    ompi_request_t *request = create(&persistent_ops, NULL);
    ompi_request_make_persistent(request);
    start_error = MPI_ERR_OTHER;
    request->is_cancel_unanswered = true;
    ck_assert_int_eq(ompi_request_start(request), MPI_ERR_OTHER);
    ck_assert(!ompi_request_is_active(request));
    start_error = MPI_SUCCESS;
    ck_assert_int_eq(ompi_request_start(request), MPI_SUCCESS);
    ck_assert(ompi_request_is_active(request));
    ompi_request_complete(request);
    ompi_request_release(request);
}
END_TEST

START_TEST(one_without_an_operation_is_done_when_it_starts)
{
    MPI_Status status;
    ompi_status_set(&status, MPI_PROC_NULL, MPI_ANY_TAG, MPI_SUCCESS, 0);
    ompi_request_t *request = ompi_request_create_persistent_done(&status);
    for (int round = 0; round < 2; round++) {
        MPI_Status got = {0};
        ck_assert(!ompi_request_is_active(request));
        ck_assert_int_eq(ompi_request_start(request), MPI_SUCCESS);
        ck_assert(ompi_request_can_finish_unlocked(request) && ompi_request_is_done(request));
        ck_assert_int_eq(ompi_request_finish(&request, &got), MPI_SUCCESS);
        ck_assert_int_eq(got.MPI_SOURCE, MPI_PROC_NULL);
    }
    ompi_request_free(&request);
    request = ompi_request_create_done(&status);
    ck_assert(ompi_request_is_active(request) && ompi_request_is_done(request));
    ompi_request_free(&request);
}
END_TEST

/* -- cancel -------------------------------------------------------------------------------- */

static ompi_request_t *to_answer;
static int cancels, answer_after;

static int cancel(ompi_request_t *request)
{
    ck_assert(ompi_request_is_active(request));
    cancels++;
    return MPI_SUCCESS;
}

static int answer(void *state OPAL_UNUSED)
{
    if (++polls == answer_after)
        ompi_request_complete(to_answer);
    return 0;
}

static const ompi_request_ops_t cancel_ops = {.start = start, .cancel = cancel};

START_TEST(only_what_is_active_is_cancelled)
{
    ompi_request_t *request = create(&cancel_ops, NULL), *plain = create_plain();
    ck_assert_int_eq(ompi_request_cancel(plain), MPI_SUCCESS);
    ck_assert(!plain->is_cancel_unanswered);
    ck_assert_int_eq(ompi_request_cancel(request), MPI_SUCCESS);
    ck_assert(request->is_cancel_unanswered);
    ck_assert_int_eq(cancels, 1);
    ompi_request_make_persistent(request);
    ck_assert_int_eq(ompi_request_cancel(request), MPI_SUCCESS);
    ck_assert_int_eq(cancels, 1);
    ompi_request_release(request);
    ompi_request_release(plain);
}
END_TEST

/* The first test polls until the answer is there; a second one does not poll for it. */
START_TEST(the_first_test_awaits_the_answer)
{
    ompi_cancel_wait_t wait = {.end = UINT64_MAX};
    to_answer = create(&cancel_ops, NULL);
    answer_after = POLLS_TO_ANSWER;
    ck_assert_int_eq(opal_progress_add(answer, NULL), OPAL_SUCCESS);
    ompi_request_await_cancel(NULL, &wait);
    ompi_request_await_cancel(to_answer, &wait); /* it was not cancelled */
    ck_assert_int_eq(polls, 0);
    ompi_request_cancel(to_answer);
    ompi_request_await_cancel(to_answer, &wait);
    ck_assert(ompi_request_is_done(to_answer));
    ck_assert_int_eq(polls, POLLS_TO_ANSWER);
    ompi_request_await_cancel(to_answer, &wait);
    ck_assert_int_eq(polls, POLLS_TO_ANSWER);
}
END_TEST

/* Without an answer it ends all the same. The requests of one test share the polls and the time. */
START_TEST(the_answer_is_awaited_for_a_limited_time)
{
    ompi_cancel_wait_t wait = {.end = 1}; /* long over */
    ompi_request_t *all[] = {create(&cancel_ops, NULL), create(&cancel_ops, NULL)};
    ck_assert_int_eq(opal_progress_add(answer, NULL), OPAL_SUCCESS);
    for (int i = 0; i < 2; i++)
        ompi_request_cancel(all[i]);
    ompi_request_await_cancel(all[0], &wait);
    ck_assert_int_gt(polls, 0);
    int first = polls;
    ompi_request_await_cancel(all[1], &wait);
    ck_assert_int_eq(polls, first);
    ck_assert(!all[1]->is_cancel_unanswered);
    for (int i = 0; i < 2; i++) {
        ompi_request_complete(all[i]);
        ompi_request_release(all[i]);
    }
}
END_TEST

/* The second poll finds that a message must come first. */
static bool poll_twice(ompi_request_t *request OPAL_UNUSED)
{
    return ++polls < 2;
}

START_TEST(what_waits_for_messages_is_not_polled_again)
{
    static const ompi_request_ops_t ops = {.poll = poll_twice};
    ompi_request_t *request = create(&ops, NULL);
    ck_assert(!ompi_request_poll(&request, 1));
    ck_assert_int_eq(polls, 2);
    ompi_request_complete(request);
    ck_assert(ompi_request_poll(&request, 1));
    ck_assert_int_eq(polls, 2);
    ompi_request_release(request);
}
END_TEST

static const unit_test_t tests[] = {
    {.test = &a_wait_takes_as_many_as_it_wants, .repeats = COUNT},
    {.test = &more_may_end_at_once_than_a_wait_wants, .repeats = COUNT},
    {.test = &what_is_done_before_counts},
    {.test = &a_completion_counts_for_its_own_wait},
    {.test = &the_callback_runs_once_before_the_end_shows},
    {.test = &a_request_of_a_lane_is_linked_while_that_is_held, .repeats = 2},
    {.test = &a_spin_ends_at_what_has_no_lane},
    {.test = &requests_share_a_reference_to_their_communicator},
    {.test = &a_freed_request_lives_until_its_end},
    {.test = &a_finished_request_gives_its_status_and_goes, .repeats = 2},
    {.test = &the_request_of_all_sent_messages_stays},
    {.test = &a_persistent_request_goes_round},
    {.test = &a_start_that_fails_leaves_it_inactive},
    {.test = &one_without_an_operation_is_done_when_it_starts},
    {.test = &only_what_is_active_is_cancelled},
    {.test = &the_first_test_awaits_the_answer},
    {.test = &the_answer_is_awaited_for_a_limited_time},
    {.test = &what_waits_for_messages_is_not_polled_again},
};

UNIT_MAIN("request", tests, setup);
