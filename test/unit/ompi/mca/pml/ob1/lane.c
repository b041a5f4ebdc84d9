/* SPDX-License-Identifier: BSD-3-Clause */
/* ompi/mca/pml/ob1/lane.c: what goes by a lane, in which order with the rest, and what may be taken
 * out of one without ompi_lock. */
#include <string.h>

#include "test/unit/ompi/mca/pml/ob1/side.h"

#include "test/unit/opal/support.h"

enum { PEER = 1, OTHER = 2, TAG = 7, LONG = 4000 };

static unsigned char sent[LONG], got[LONG];
static unsigned lane; /* of side_comm */

static void setup(void)
{
    side_start();
    side_pml->comm_remove(&side_comm);
    ompi_lock_is_shared = true;
    side_pml->comm_add(&side_comm);
    lane = (unsigned)ob1_lane_of(ompi_comm_wire_context(&side_comm, OMPI_CONTEXT_USER));
    memset(sent, 7, sizeof sent);
}

static ompi_request_t *send(size_t length, ompi_send_mode_t mode)
{
    ompi_route_t to = side_route(PEER, TAG);
    ompi_data_t data = side_data(sent, length);
    ompi_request_t *request;
    ck_assert_int_eq(side_pml->isend(&to, &data, mode, &request), MPI_SUCCESS);
    return request;
}

static bool try_send(void)
{
    ompi_route_t to = side_route(PEER, TAG);
    ompi_data_t data = side_data(sent, 8);
    return side_pml->try_send_unlocked(&to, &data, OMPI_SEND_STANDARD);
}

/* NULL: it cannot be posted without ompi_lock. */
static ompi_request_t *try_post_bytes(int source, int tag, size_t bytes)
{
    ompi_route_t from = side_route(source, tag);
    ompi_data_t data = side_data(got, bytes);
    ompi_request_t *request = NULL;
    return side_pml->try_irecv_unlocked(&from, &data, &request) ? request : NULL;
}

static ompi_request_t *try_post(int source, int tag)
{
    return try_post_bytes(source, tag, 8);
}

static void finish(ompi_request_t *request)
{
    ck_assert(ompi_request_is_done(request));
    ck_assert_int_eq(ompi_request_finish(&request, MPI_STATUS_IGNORE), MPI_SUCCESS);
}

static void expect(unsigned way, unsigned kind)
{
    const side_frame_t *frame = side_next_sent();
    ck_assert_ptr_nonnull(frame);
    ck_assert_uint_eq(frame->way, way);
    ck_assert_uint_eq(frame->kind, kind);
}

static void expect_nothing(void)
{
    ck_assert_ptr_null(side_next_sent());
}

/* -- sending ------------------------------------------------------------------------- */

/* The first one opens the lane, under ompi_lock; what it does not carry follows it, and it follows
 * that. */
START_TEST(each_way_follows_the_other)
{
    ck_assert(!try_send());
    finish(send(8, OMPI_SEND_STANDARD));
    expect(1 + lane, SIDE_FOLLOW);
    expect(1 + lane, OB1_EAGER);
    ck_assert(try_send());
    expect(1 + lane, OB1_EAGER);
    ompi_request_t *longer = send(LONG, OMPI_SEND_STANDARD);
    expect(0, SIDE_FOLLOW);
    expect(0, OB1_RTS);
    ompi_request_t *other = send(8, OMPI_SEND_SYNCHRONOUS);
    expect(0, OB1_EAGER_SYNC); /* the lane is behind already */
    ck_assert(!try_send());
    expect_nothing();
    finish(send(8, OMPI_SEND_STANDARD));
    expect(1 + lane, SIDE_FOLLOW);
    expect(1 + lane, OB1_EAGER);
    ck_assert(try_send());
    side_stop();
    ompi_request_free(&longer);
    ompi_request_free(&other);
}
END_TEST

START_TEST(streams_go_the_main_way)
{
    finish(send(8, OMPI_SEND_STANDARD));
    finish(send(SIDE_FRAME_BYTES, OMPI_SEND_STANDARD));
    expect(1 + lane, SIDE_FOLLOW);
    expect(1 + lane, OB1_EAGER);
    expect(0, SIDE_FOLLOW);
    expect(0, OB1_STREAM);
    side_stop();
}
END_TEST

/* The messages of collectives have an order of their own. */
START_TEST(other_contexts_have_no_lane)
{
    ompi_route_t to = {&side_comm, OMPI_CONTEXT_COLLECTIVE, PEER, TAG};
    ompi_data_t data = side_data(sent, 8);
    ompi_request_t *request;
    finish(send(8, OMPI_SEND_STANDARD));
    ck_assert(!side_pml->try_send_unlocked(&to, &data, OMPI_SEND_STANDARD));
    ck_assert_int_eq(side_pml->isend(&to, &data, OMPI_SEND_STANDARD, &request), MPI_SUCCESS);
    expect(1 + lane, SIDE_FOLLOW);
    expect(1 + lane, OB1_EAGER);
    expect(0, OB1_EAGER);
    ck_assert(try_send());
    side_stop();
}
END_TEST

/* The lane opens for the first of two that waited, and there is no room for the second: nothing
 * may go past it. */
START_TEST(nothing_overtakes_a_message_that_waits)
{
    finish(send(8, OMPI_SEND_STANDARD));
    side_is_full = true;
    ompi_request_t *first = send(8, OMPI_SEND_STANDARD), *second = send(8, OMPI_SEND_STANDARD);
    side_is_full = false;
    ck_assert(!try_send());
    side_fills_after = 1;
    side_progress();
    finish(first);
    ck_assert(!ompi_request_is_done(second));
    side_is_full = false;
    ck_assert(!try_send());
    side_progress();
    finish(second);
    ck_assert(try_send());
    side_stop();
}
END_TEST

/* There is room for the word, but not for the message: another thread that finds room then may not
 * send, or it would go past it. */
START_TEST(a_lane_opens_with_its_message)
{
    ob1_match_t match = {.context = ompi_comm_wire_context(&side_comm, OMPI_CONTEXT_USER)};
    ompi_data_t data = side_data(sent, 8);
    ob1_peer_t *peer = ob1_peer_of(&side_comm, PEER);
    side_fills_after = 1;
    ck_assert_int_eq(ob1_lane_push(peer, &match, &data, 8), OB1_NO_ROOM);
    side_is_full = false;
    ck_assert(!try_send());
    ck_assert_int_eq(ob1_lane_push(peer, &match, &data, 8), OB1_PUSHED);
    ck_assert(try_send());
    expect(1 + lane, SIDE_FOLLOW); /* once */
    expect(1 + lane, OB1_EAGER);
    expect(1 + lane, OB1_EAGER);
    expect_nothing();
    side_stop();
}
END_TEST

/* There is room for neither the word that the main way follows, nor later for the message. */
START_TEST(a_message_waits_until_its_order_is_told)
{
    finish(send(8, OMPI_SEND_STANDARD));
    side_is_full = true;
    ompi_request_t *request = send(8, OMPI_SEND_SYNCHRONOUS);
    side_is_full = false;
    expect(1 + lane, SIDE_FOLLOW);
    expect(1 + lane, OB1_EAGER);
    expect_nothing();
    side_fills_after = 1;
    side_progress();
    expect(0, SIDE_FOLLOW);
    expect_nothing();
    side_is_full = false;
    side_progress();
    expect(0, OB1_EAGER_SYNC);
    side_stop();
    ompi_request_free(&request);
}
END_TEST

/* The lane's part of it is used up, then all of it: then messages stay here. */
START_TEST(a_lane_uses_the_credit_of_the_peer)
{
    finish(send(8, OMPI_SEND_STANDARD));
    ob1_peer_t *peer = ob1_known_peer(PEER);
    size_t messages = 1;
    ompi_request_t *held = NULL;
    for (; held == NULL; messages++) {
        ompi_request_t *request = try_send() ? NULL : send(8, OMPI_SEND_STANDARD);
        if (request != NULL && !ompi_request_is_done(request))
            held = request;
        while (side_next_sent() != NULL)
            continue;
        ck_assert_uint_lt(messages, SIDE_UNEXPECTED_BYTES / OB1_MESSAGE_OVERHEAD);
    }
    ck_assert(!try_send());
    ck_assert_uint_ge(messages, peer->window / (OB1_MESSAGE_OVERHEAD + 8));
    side_stop();
    ompi_request_free(&held);
}
END_TEST

START_TEST(without_memory_there_is_no_lane)
{
    ck_assert_ptr_nonnull(ob1_peer_of(&side_comm, PEER));
    side_fail_at = 1 + _i; /* the transport's end, ours */
    finish(send(8, OMPI_SEND_STANDARD));
    side_fail_at = 0;
    ck_assert(!try_send());
    finish(send(8, OMPI_SEND_STANDARD));
    expect(0, OB1_EAGER);
    expect(0, OB1_EAGER);
    side_stop();
}
END_TEST

START_TEST(a_failure_closes_the_lane)
{
    finish(send(8, OMPI_SEND_STANDARD));
    ck_assert(try_send());
    side_fail(PEER, OPAL_ERR_DISCONNECTED);
    ck_assert(!try_send());
    side_stop();
}
END_TEST

/* -- receiving ----------------------------------------------------------------------- */

typedef struct eager {
    ob1_match_t match;
    unsigned char bytes[8];
} eager_t;

static eager_t message(int tag)
{
    eager_t frame = {{ompi_comm_wire_context(&side_comm, OMPI_CONTEXT_USER), PEER, tag},
                     {1, 2, 3, 4, 5, 6, 7, 8}};
    return frame;
}

static bool take(int tag)
{
    eager_t frame = message(tag);
    return side_take(lane, OB1_EAGER, &frame, sizeof frame);
}

START_TEST(a_posted_receive_takes_its_message)
{
    ck_assert_ptr_nonnull(ob1_peer_of(&side_comm, PEER));
    ompi_request_t *first = try_post(PEER, TAG), *second = try_post(PEER, TAG + 1);
    ck_assert(take(TAG + 1));
    ck_assert(!ompi_request_is_done(first));
    finish(second);
    ck_assert_int_eq(got[7], 8);
    ck_assert(take(TAG));
    finish(first);
    side_stop();
}
END_TEST

/* Nothing changes then: under ompi_lock it is delivered. */
static void deliver(int tag)
{
    eager_t frame = message(tag);
    ck_assert(!take(tag));
    ck_assert(side_deliver(PEER, OB1_EAGER, &frame, sizeof frame));
}

START_TEST(what_another_thread_may_see_is_left)
{
    ompi_wait_t wait = {.missing = 1};
    ck_assert_ptr_nonnull(ob1_peer_of(&side_comm, PEER));
    deliver(TAG); /* unexpected */
    finish(try_post(PEER, TAG));
    ompi_request_t *any = try_post(MPI_ANY_SOURCE, TAG); /* it may come from another node */
    deliver(TAG);
    finish(any);
    ompi_request_t *longer = try_post_bytes(PEER, TAG, LONG); /* as may a long message */
    deliver(TAG);
    finish(longer);
    ompi_request_t *request = try_post(PEER, TAG);
    request->wait = &wait;
    deliver(TAG);
    ck_assert(wait.done);
    finish(request);
    request = try_post(PEER, TAG);
    ompi_request_free(&request);
    deliver(TAG); /* and it is gone */
    side_stop();
}
END_TEST

/* A lane leads to its own communicators only: another thread may remove others. */
START_TEST(wrong_frames_are_left)
{
    eager_t frame = message(TAG);
    ck_assert_ptr_nonnull(ob1_peer_of(&side_comm, PEER));
    ompi_request_t *request = try_post(PEER, TAG);
    ck_assert(!side_take((lane + 1) % OPAL_BTL_LANES, OB1_EAGER, &frame, sizeof frame));
    ck_assert(!side_take(lane, OB1_EAGER, &frame, sizeof frame.match - 1));
    ck_assert(!side_take(lane, OB1_RTS, &frame, sizeof frame));
    frame.match.context += OMPI_CONTEXT_COLLECTIVE;
    ck_assert(!side_take(lane, OB1_EAGER, &frame, sizeof frame));
    frame = message(TAG);
    frame.match.context += OMPI_CONTEXT_COUNT * OPAL_BTL_LANES * 1000;
    ck_assert(!side_take(lane, OB1_EAGER, &frame, sizeof frame));
    frame = message(TAG);
    frame.match.source = SIDE_RANKS;
    ck_assert(!side_take(lane, OB1_EAGER, &frame, sizeof frame));
    frame = message(-1);
    ck_assert(!side_take(lane, OB1_EAGER, &frame, sizeof frame));
    ck_assert(!ompi_request_is_done(request));
    ck_assert(take(TAG));
    finish(request);
    side_stop();
}
END_TEST

/* Whoever cancels a receive, or waits for it, holds the lane meanwhile, and drops it. */
START_TEST(the_lane_is_free_afterwards)
{
    MPI_Status status;
    ck_assert_ptr_nonnull(ob1_peer_of(&side_comm, PEER));
    ompi_request_t *request = try_post(PEER, TAG);
    ompi_request_cancel(request);
    ck_assert_int_eq(ompi_request_finish(&request, &status), MPI_SUCCESS);
    ck_assert(ompi_status_is_cancelled(&status));
    deliver(TAG);
    finish(try_post(PEER, TAG));
    ck_assert_uint_eq(opal_btl_lanes[lane].holds, 0);
    side_stop();
}
END_TEST

static const unit_test_t tests[] = {
    {.test = &each_way_follows_the_other},
    {.test = &streams_go_the_main_way},
    {.test = &other_contexts_have_no_lane},
    {.test = &nothing_overtakes_a_message_that_waits},
    {.test = &a_lane_opens_with_its_message},
    {.test = &a_message_waits_until_its_order_is_told},
    {.test = &a_lane_uses_the_credit_of_the_peer},
    {.test = &without_memory_there_is_no_lane, .repeats = 2},
    {.test = &a_failure_closes_the_lane},
    {.test = &a_posted_receive_takes_its_message},
    {.test = &what_another_thread_may_see_is_left},
    {.test = &wrong_frames_are_left},
    {.test = &the_lane_is_free_afterwards},
};

UNIT_MAIN("lane", tests, setup);
