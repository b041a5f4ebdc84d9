/* SPDX-License-Identifier: BSD-3-Clause */
/* The engine of schedules, over a fake pml whose messages complete when the test says so. */
#include "ompi/schedule/schedule.h"

#include <stdlib.h>
#include <string.h>

#include "opal/progress/wait.h"
#include "ompi/errhandler/errhandler.h"
#include "test/unit/ompi/fake_pml.h"
#include "test/unit/opal/support.h"

enum { MESSAGES_MAX = 100 };

/* -- a fake pml ---------------------------------------------------------------------- */

static message_t *messages[MESSAGES_MAX];
static int message_count;
static unsigned messages_that_block; /* a bit each */
static bool completes_at_once;
static int unreachable = MPI_PROC_NULL;
static ompi_communicator_t comm = {.rank = 1, .size = 4, .local = &comm};

static int begin_message(message_t *message)
{
    if (message->route.rank == unreachable)
        return MPI_ERR_OTHER;
    ck_assert_int_lt(message_count, MESSAGES_MAX);
    messages_that_block |= (unsigned)message->blocks << message_count % 32;
    messages[message_count++] = message;
    if (completes_at_once || message->blocks)
        ompi_request_complete(&message->request);
    return MPI_SUCCESS;
}

static void complete(int i, int error)
{
    messages[i]->request.status.MPI_ERROR = error;
    ompi_request_complete(&messages[i]->request);
}

static void setup(void)
{
    ck_assert_int_eq(ompi_datatype_init(), MPI_SUCCESS);
    ompi_op_init();
    ompi_pml = &fake_pml;
    message_count = message_lives = 0;
    completes_at_once = false;
}

static ompi_data_t ints(int *buffer, size_t count)
{
    return ompi_data(buffer, count, ompi_datatype_of(MPI_INT));
}

static ompi_op_t *sum(void)
{
    return ompi_handle_object(MPI_SUM);
}

/* -- numbers of persistent schedules ------------------------------------------------- */

static uint64_t elsewhere[OMPI_COMM_NUMBERS / 64]; /* numbers that other ranks use */
static int agreements;

static int agree(ompi_communicator_t *with, uint64_t words[], int count)
{
    ck_assert_ptr_eq(with, &comm);
    agreements++;
    for (int i = 0; i < count; i++)
        words[i] |= elsewhere[i];
    return MPI_SUCCESS;
}

static ompi_schedule_t *create(ompi_op_t *op, bool persistent)
{
    uint32_t number;
    if (!persistent)
        return ompi_schedule_create(&comm, op);
    ck_assert_int_eq(ompi_schedule_take_number(&comm, agree, &number), MPI_SUCCESS);
    return ompi_schedule_create_persistent(&comm, op, number);
}

static void finish(ompi_request_t *request, int error)
{
    ck_assert(ompi_request_is_done(request));
    ck_assert_int_eq(ompi_request_finish(&request, MPI_STATUS_IGNORE), error);
    ck_assert_ptr_null(request);
}

/* -- tests --------------------------------------------------------------------------- */

START_TEST(a_round_begins_when_the_one_before_is_done)
{
    int a = 1, b = 2, c = 0;
    ompi_schedule_t *schedule = create(sum(), false);
    ompi_schedule_send(schedule, 2, ints(&a, 1));
    ompi_schedule_recv(schedule, 3, ints(&b, 1));
    ompi_schedule_wait(schedule);
    ompi_schedule_reduce(schedule, &a, ints(&b, 1));
    ompi_schedule_copy(schedule, ints(&b, 1), ints(&c, 1));
    ompi_schedule_send(schedule, 0, ints(&c, 1));
    ompi_request_t *request = ompi_schedule_request(schedule);

    ck_assert_int_eq(message_count, 2);
    ck_assert(messages[0]->sends && messages[0]->route.rank == 2);
    ck_assert(!messages[1]->sends && messages[1]->route.rank == 3);
    ck_assert_int_eq(messages[0]->route.context, OMPI_CONTEXT_COLLECTIVE);
    ck_assert_int_eq(messages[0]->route.tag, messages[1]->route.tag);
    complete(1, MPI_SUCCESS);
    ck_assert_int_eq(message_count, 2);
    ck_assert_int_eq(c, 0);
    b = 10;
    complete(0, MPI_SUCCESS);
    ck_assert_int_eq(message_count, 3);
    ck_assert_int_eq(c, 11);
    ck_assert(!ompi_request_is_done(request));
    complete(2, MPI_SUCCESS);
    finish(request, MPI_SUCCESS);
    ck_assert_int_eq(message_lives, 0);
}
END_TEST

START_TEST(messages_that_are_done_at_once_end_the_schedule)
{
    int a = 1;
    completes_at_once = true;
    ompi_schedule_t *schedule = create(NULL, false);
    for (int i = 0; i < 90; i++) { /* more than the schedule has room for at first */
        ompi_schedule_send(schedule, i % 4, ints(&a, 1));
        ompi_schedule_wait(schedule);
    }
    finish(ompi_schedule_request(schedule), MPI_SUCCESS);
    ck_assert_int_eq(message_count, 90);
    ck_assert_int_eq(message_lives, 0);
}
END_TEST

START_TEST(a_failed_message_is_reported_at_the_end)
{
    int a = 1;
    ompi_schedule_t *schedule = create(NULL, false);
    ompi_schedule_recv(schedule, 0, ints(&a, 1));
    ompi_schedule_wait(schedule);
    ompi_schedule_send(schedule, 2, ints(&a, 1));
    ompi_request_t *request = ompi_schedule_request(schedule);
    complete(0, MPI_ERR_TRUNCATE);
    ck_assert_int_eq(message_count, 2);
    ck_assert(!ompi_request_is_done(request));
    complete(1, MPI_ERR_OTHER);
    finish(request, MPI_ERR_TRUNCATE);
    ck_assert_int_eq(message_lives, 0);
}
END_TEST

/* Messages of a wrong length could make another rank end the job first, with a misleading error. */
START_TEST(a_rank_that_ends_the_job_sends_no_wrong_lengths)
{
    int a = 1;
    ompi_errhandler_attach(&comm.head, &ompi_errors_are_fatal);
    for (int error = MPI_ERR_TRUNCATE; error <= MPI_ERR_OTHER; error++) {
        ompi_schedule_t *schedule = create(NULL, false);
        message_count = 0;
        ompi_schedule_recv(schedule, 0, ints(&a, 1));
        ompi_schedule_wait(schedule);
        ompi_schedule_send(schedule, 2, ints(&a, 1));
        ompi_request_t *request = ompi_schedule_request(schedule);
        complete(0, error);
        if (error == MPI_ERR_TRUNCATE)
            complete(1, MPI_SUCCESS);
        ck_assert_int_eq(message_count, error == MPI_ERR_TRUNCATE ? 2 : 1);
        finish(request, error);
    }
    ompi_errhandler_detach(&comm.head);
    ck_assert_int_eq(message_lives, 0);
}
END_TEST

/* Also within the round, unless other ranks may wait for its messages. */
START_TEST(nor_in_the_round_of_the_error)
{
    int a = 1, b = 0;
    unreachable = 3;
    ompi_errhandler_attach(&comm.head, &ompi_errors_are_fatal);
    for (int receives = 0; receives < 2; receives++) {
        ompi_schedule_t *schedule = create(NULL, false);
        message_count = 0;
        if (receives)
            ompi_schedule_recv(schedule, 0, ints(&b, 1));
        ompi_schedule_send(schedule, unreachable, ints(&a, 1));
        ompi_schedule_send(schedule, 2, ints(&a, 1));
        ompi_request_t *request = ompi_schedule_request(schedule);
        ck_assert_int_eq(message_count, 2 * receives);
        for (int i = 0; i < message_count; i++)
            complete(i, MPI_SUCCESS);
        finish(request, MPI_ERR_OTHER);
    }
    ompi_errhandler_detach(&comm.head);
    unreachable = MPI_PROC_NULL;
    ck_assert_int_eq(message_lives, 0);
}
END_TEST

/* The next rank of a relay does not know of the error: what it gets instead of data does not fit.
 */
START_TEST(what_is_relayed_behind_an_error_does_not_fit)
{
    char a[2] = "";
    size_t bytes = (size_t)_i + 1; /* of what it should be */
    ompi_schedule_t *schedule = create(NULL, false);
    schedule->relays = true;
    ompi_schedule_recv(schedule, 0, ompi_data(a, 2, schedule->byte));
    ompi_schedule_wait(schedule);
    ompi_schedule_send(schedule, 2, ompi_data(a, bytes, schedule->byte));
    ompi_schedule_recv(schedule, 3, ompi_data(a, 2, schedule->byte));
    ompi_request_t *request = ompi_schedule_request(schedule);
    complete(0, MPI_ERR_TRUNCATE);
    ck_assert_int_eq(message_count, 3);
    ck_assert_uint_ne(messages[1]->data.count, bytes);
    ck_assert_uint_eq(messages[2]->data.count, 2); /* a receive is as it was */
    complete(1, MPI_SUCCESS);
    complete(2, MPI_SUCCESS);
    finish(request, MPI_ERR_TRUNCATE);
}
END_TEST

/* The messages of a round bring as much as they should, or less. */
START_TEST(where_lengths_are_exact_less_is_an_error)
{
    int a[4], less = _i;
    ompi_schedule_t *schedule = create(NULL, false);
    schedule->is_exact = true;
    for (int i = 0; i < 2; i++)
        ompi_schedule_recv(schedule, i, ints(a, 2));
    ompi_request_t *request = ompi_schedule_request(schedule);
    ompi_status_set_bytes(&messages[0]->request.status, (size_t)(2 - less) * sizeof(int));
    complete(0, MPI_SUCCESS);
    complete(1, MPI_SUCCESS);
    finish(request, less > 0 ? MPI_ERR_TRUNCATE : MPI_SUCCESS);
}
END_TEST

/* What ompi_schedule_run waits for completes in its polls, a message a poll. */
static int completed, error_of_second;

static int complete_one(void *state OPAL_UNUSED)
{
    ck_assert_int_lt(completed, message_count); /* it waits for nothing */
    complete(completed, completed == 1 ? error_of_second : MPI_SUCCESS);
    completed++;
    return 1;
}

/* It waits for each round, with an error in the middle, too. The only message of a round needs no
 * request of its own. */
START_TEST(a_run_waits_for_each_round)
{
    int a = 1, b = 2;
    ompi_schedule_t schedule;
    ompi_schedule_init(&schedule, &comm, NULL);
    for (int i = 0; i < 3; i++)
        ompi_schedule_send(&schedule, 2, ints(&a, 1));
    ompi_schedule_wait(&schedule);
    ompi_schedule_copy(&schedule, ints(&a, 1), ints(&b, 1));
    ompi_schedule_recv(&schedule, 3, ints(&a, 1));
    completed = 0;
    error_of_second = _i == 0 ? MPI_SUCCESS : MPI_ERR_OTHER;
    ck_assert_int_eq(opal_progress_add(complete_one, NULL), OPAL_SUCCESS);
    ck_assert_int_eq(ompi_schedule_run(&schedule), error_of_second);
    opal_progress_remove(complete_one, NULL);
    ck_assert_int_eq(completed, 3);
    ck_assert_int_eq(message_count, 4);
    for (int i = 0; i < 4; i++)
        ck_assert_int_eq(messages_that_block >> i & 1, i == 3);
    ck_assert_int_eq(b, 1);
    ompi_schedule_fini(&schedule);
    ck_assert_int_eq(message_lives, 0);
}
END_TEST

START_TEST(an_empty_schedule_is_done)
{
    finish(ompi_schedule_request(create(NULL, false)), MPI_SUCCESS);
    ompi_schedule_drop(create(NULL, false));
    ck_assert_int_eq(message_lives, 0);
}
END_TEST

START_TEST(a_persistent_schedule_runs_again_with_its_own_tag)
{
    int a = 1, tag = -1;
    ompi_schedule_t *schedule = create(NULL, true);
    ompi_schedule_send(schedule, 2, ints(&a, 1));
    ompi_schedule_wait(schedule);
    ompi_schedule_recv(schedule, 2, ints(&a, 1));
    ompi_request_t *request = ompi_schedule_request(schedule);
    ck_assert_int_eq(message_count, 0);
    for (int start = 0; start < 3; start++) {
        ck_assert(!request->active);
        ck_assert_int_eq(ompi_request_start(request), MPI_SUCCESS);
        ck_assert_int_eq(message_count, 2 * start + 1);
        tag = start == 0 ? messages[0]->route.tag : tag;
        ck_assert_int_eq(messages[2 * start]->route.tag, tag);
        complete(2 * start, MPI_SUCCESS);
        complete(2 * start + 1, start == 1 ? MPI_ERR_TRUNCATE : MPI_SUCCESS);
        ck_assert(ompi_request_is_done(request));
        ck_assert_int_eq(ompi_request_finish(&request, MPI_STATUS_IGNORE),
                         start == 1 ? MPI_ERR_TRUNCATE : MPI_SUCCESS);
        ck_assert_ptr_nonnull(request);
    }
    ompi_request_free(&request);

    ompi_schedule_t *other = create(NULL, true);
    ompi_schedule_t *third = create(NULL, false);
    ck_assert_int_ne(other->tag, tag);
    ck_assert_int_ne(third->tag, tag);
    ck_assert_int_ne(third->tag, other->tag);
    ompi_schedule_drop(other);
    ompi_schedule_drop(third);
    ck_assert_int_eq(message_lives, 0);
}
END_TEST

START_TEST(tags_stay_in_their_shares)
{
    const int share = 1 << 17;
    for (int i = 0; i < 3; i++) {
        comm.collectives = UINT32_MAX - 1 + (uint32_t)i;
        comm.prepared = (uint64_t)UINT32_MAX - 1 + (uint64_t)i;
        ompi_schedule_t *one = create(NULL, false);
        ompi_schedule_t *persistent = create(NULL, true);
        ck_assert_int_ge(one->tag, 0);
        ck_assert_int_lt(one->tag, share);
        ck_assert_int_ge(persistent->tag, share);
        ck_assert_int_lt(persistent->tag, 2 * share);
        ompi_schedule_drop(one);
        ompi_schedule_drop(persistent);
    }
    ck_assert_int_eq(message_lives, 0);
}
END_TEST

START_TEST(existing_persistent_schedules_keep_their_numbers)
{
    enum { ALL = 1024, WINDOW = OMPI_COMM_NUMBERS };
    static ompi_pml_ops_t few = {.internal_tags = 4 * ALL};
    static ompi_schedule_t *kept[ALL];
    ompi_pml = &few;
    comm.prepared = 0;
    agreements = 0;
    memset(elsewhere, 0, sizeof elsewhere);
    for (int i = 0; i < ALL; i++) {
        kept[i] = create(NULL, true);
        ck_assert_int_eq(kept[i]->tag, ALL + i);
    }
    ck_assert_int_eq(agreements, 0);

    /* All numbers are in use: an error in all ranks, until one is freed. */
    uint32_t number;
    ck_assert_int_eq(ompi_schedule_take_number(&comm, agree, &number), MPI_ERR_OTHER);
    ck_assert_int_ge(agreements, ALL / WINDOW);
    ompi_schedule_drop(kept[700]);
    kept[700] = create(NULL, true);
    ck_assert_int_eq(kept[700]->tag, ALL + 700);

    /* A number that another rank has not freed is not used either. */
    for (int i = 10; i < 20; i++)
        ompi_schedule_drop(kept[i]);
    elsewhere[0] = UINT64_C(1) << 10 | UINT64_C(1) << 12;
    for (int i = 11; i < 20; i++) {
        if (i != 12)
            ck_assert_int_eq((kept[i] = create(NULL, true))->tag, ALL + i);
    }
    ck_assert_int_eq(ompi_schedule_take_number(&comm, agree, &number), MPI_ERR_OTHER);
    elsewhere[0] = 0;
    kept[10] = create(NULL, true);
    kept[12] = create(NULL, true);
    for (int i = 0; i < ALL; i++)
        ompi_schedule_drop(kept[i]);
    ck_assert_ptr_null(comm.persistent);
}
END_TEST

START_TEST(a_freed_request_lives_until_the_end)
{
    int a = 1, b = 2;
    ompi_op_t *op = ompi_op_create(ompi_op_fn_small(NULL), true);
    ompi_schedule_t *schedule = create(op, false);
    ompi_schedule_send(schedule, 2, ints(&a, 1));
    ompi_schedule_wait(schedule);
    ompi_schedule_recv(schedule, 2, ints(&b, 1));
    ompi_request_t *request = ompi_schedule_request(schedule);
    ck_assert_int_eq(atomic_load(&op->head.references), 2);
    ompi_request_free(&request); /* without waiting for it */
    complete(0, MPI_SUCCESS);
    ck_assert_int_eq(atomic_load(&op->head.references), 2);
    complete(1, MPI_SUCCESS);
    ck_assert_int_eq(atomic_load(&op->head.references), 1);
    ompi_object_release(&op->head);
    ck_assert_int_eq(message_lives, 0);
}
END_TEST

START_TEST(memory_is_aligned_and_apart)
{
    static const size_t sizes[] = {1, 63, 64, 700, 1000, 100000, 5};
    unsigned char *pieces[OPAL_COUNT_OF(sizes)];
    ompi_schedule_t schedule;
    ompi_schedule_init(&schedule, &comm, NULL);
    for (size_t i = 0; i < OPAL_COUNT_OF(sizes); i++) {
        pieces[i] = ompi_schedule_memory(&schedule, sizes[i]);
        ck_assert_uint_eq((uintptr_t)pieces[i] % 64, 0);
        memset(pieces[i], (int)i, sizes[i]);
    }
    for (size_t i = 0; i < OPAL_COUNT_OF(sizes); i++)
        ck_assert(pieces[i][0] == i && pieces[i][sizes[i] - 1] == i);
    ck_assert_int_eq(schedule.error, MPI_SUCCESS);
    ck_assert_ptr_null(ompi_schedule_memory(&schedule, SIZE_MAX));
    ck_assert_ptr_null(ompi_schedule_memory(&schedule, SIZE_MAX - 100));
    ck_assert_int_eq(schedule.error, MPI_ERR_NO_MEM);
    ompi_schedule_fini(&schedule);
    ck_assert_int_eq(message_lives, 0);
}
END_TEST

START_TEST(messages_are_empty_without_memory)
{
    int a = 1, b = 2, c = 3;
    ompi_schedule_t *schedule = create(sum(), true);
    int *room = ompi_schedule_room(schedule, SIZE_MAX / 2);
    ck_assert_ptr_nonnull(room);
    ompi_schedule_copy(schedule, ints(&a, 1), ints(room, 1));
    ompi_schedule_send(schedule, 2, ints(room, 1));
    ompi_schedule_recv(schedule, 3, ints(&b, 1));
    ompi_schedule_wait(schedule);
    ompi_schedule_reduce(schedule, &a, ints(&b, 1));
    ompi_schedule_copy(schedule, ints(&b, 1), ints(&c, 1));
    ompi_request_t *request = ompi_schedule_request(schedule);
    for (int i = 0; i < 4; i += 2) {
        ck_assert_int_eq(ompi_request_start(request), MPI_SUCCESS);
        ck_assert_int_eq(message_count, i + 2);
        ck_assert_uint_eq(messages[i]->data.count, 0);
        ck_assert_uint_eq(messages[i + 1]->data.count, 0);
        complete(i, MPI_SUCCESS);
        complete(i + 1, MPI_ERR_TRUNCATE);
        ck_assert_int_eq(ompi_request_finish(&request, MPI_STATUS_IGNORE), MPI_ERR_NO_MEM);
    }
    ck_assert(a == 1 && b == 2 && c == 3);
    ompi_request_free(&request);
    ck_assert_int_eq(message_lives, 0);
}
END_TEST

START_TEST(an_empty_message_instead_of_data_is_no_memory)
{
    int a = 1, b = 2;
    ompi_schedule_t *schedule = create(NULL, false);
    ompi_schedule_recv(schedule, 0, ints(&a, 0)); /* an empty message that is right */
    ompi_schedule_wait(schedule);
    ompi_schedule_send(schedule, 0, ints(&a, 1));
    ompi_schedule_recv(schedule, 0, ints(&b, 1));
    ompi_schedule_wait(schedule);
    ompi_schedule_send(schedule, 0, ints(&b, 1));
    ompi_request_t *request = ompi_schedule_request(schedule);
    complete(0, MPI_SUCCESS);
    ck_assert_uint_eq(messages[1]->data.count, 1);
    complete(1, MPI_SUCCESS);
    ompi_status_set_bytes(&messages[2]->request.status, 0);
    complete(2, MPI_SUCCESS);
    ck_assert_int_eq(message_count, 4);
    ck_assert_uint_eq(messages[3]->data.count, 0);
    complete(3, MPI_SUCCESS);
    finish(request, MPI_ERR_NO_MEM);
    ck_assert_int_eq(message_lives, 0);
}
END_TEST

/* A call that adds steps, once. */
typedef struct guest {
    int calls, error, a, b;
    ompi_datatype_t *type;
    bool has_added;
} guest_t;

static int add_the_rest(ompi_schedule_t *schedule, void *context)
{
    guest_t *guest = context;
    guest->calls++;
    for (int i = 0; !guest->has_added && i < 40; i++) { /* enough that the array of steps moves */
        ompi_schedule_send(schedule, i % 4, ompi_data(&guest->a, 1, guest->type));
        ompi_schedule_wait(schedule);
        ompi_schedule_copy(schedule, ints(&guest->a, 1), ints(&guest->b, 1));
    }
    guest->has_added = true;
    return guest->error;
}

START_TEST(a_call_is_a_step_and_adds_the_rest_once)
{
    guest_t guest = {.a = 5, .type = ompi_datatype_of(MPI_INT)};
    ompi_schedule_t *schedule = create(NULL, true);
    ompi_schedule_recv(schedule, 1, ints(&guest.a, 1));
    ompi_schedule_wait(schedule);
    ompi_schedule_call(schedule, add_the_rest, &guest, ints(NULL, 0), (ompi_data_t){0});
    ompi_schedule_wait(schedule);
    ompi_request_t *request = ompi_schedule_request(schedule);
    for (int start = 1; start <= 2; start++) {
        message_count = 0;
        guest.b = 0;
        ck_assert_int_eq(ompi_request_start(request), MPI_SUCCESS);
        ck_assert_int_eq(guest.calls, start - 1); /* not before the message is done */
        complete(0, MPI_SUCCESS);
        ck_assert_int_eq(guest.calls, start);
        for (int i = 1; i <= 40; i++) {
            ck_assert_int_eq(message_count, i + 1);
            ck_assert(!ompi_request_is_done(request));
            complete(i, MPI_SUCCESS);
        }
        ck_assert_int_eq(guest.b, 5);
        ck_assert_int_eq(ompi_request_finish(&request, MPI_STATUS_IGNORE), MPI_SUCCESS);
    }
    ompi_request_free(&request);
    ck_assert_int_eq(message_lives, 0);
}
END_TEST

START_TEST(types_of_calls_and_of_added_steps_are_held)
{
    ompi_shape_t shape = ompi_shape_copy(&ompi_datatype_of(MPI_INT)->shape);
    guest_t guest = {.error = MPI_ERR_NO_MEM, .type = ompi_datatype_create(&shape, NULL)};
    atomic_int *references = &guest.type->head.references;
    completes_at_once = true;
    ompi_schedule_t *schedule = create(NULL, false);
    ompi_schedule_call(schedule, add_the_rest, &guest, (ompi_data_t){0},
                       ompi_data(NULL, 0, guest.type));
    ompi_schedule_wait(schedule);
    ompi_request_t *request = ompi_schedule_request(schedule);
    ck_assert_int_eq(atomic_load(references), 1 + 1 + 40); /* of the test, the call, the sends */
    finish(request, MPI_ERR_NO_MEM);
    ck_assert_int_eq(atomic_load(references), 1);
    ompi_datatype_release(guest.type);
    ck_assert_int_eq(message_lives, 0);
}
END_TEST

static const unit_test_t tests[] = {
    {.test = &a_round_begins_when_the_one_before_is_done},
    {.test = &messages_that_are_done_at_once_end_the_schedule},
    {.test = &a_failed_message_is_reported_at_the_end},
    {.test = &a_rank_that_ends_the_job_sends_no_wrong_lengths},
    {.test = &nor_in_the_round_of_the_error},
    {.test = &what_is_relayed_behind_an_error_does_not_fit, .repeats = 3},
    {.test = &where_lengths_are_exact_less_is_an_error, .repeats = 2},
    {.test = &a_run_waits_for_each_round, .repeats = 2},
    {.test = &an_empty_schedule_is_done},
    {.test = &a_persistent_schedule_runs_again_with_its_own_tag},
    {.test = &tags_stay_in_their_shares},
    {.test = &existing_persistent_schedules_keep_their_numbers},
    {.test = &a_freed_request_lives_until_the_end},
    {.test = &memory_is_aligned_and_apart},
    {.test = &messages_are_empty_without_memory},
    {.test = &an_empty_message_instead_of_data_is_no_memory},
    {.test = &a_call_is_a_step_and_adds_the_rest_once},
    {.test = &types_of_calls_and_of_added_steps_are_held},
};

UNIT_MAIN("schedule", tests, setup);
