/* SPDX-License-Identifier: BSD-3-Clause */
/* How far a sender goes unasked, and what a receiver keeps. */
#include <stdlib.h>
#include <string.h>

#include "test/unit/ompi/mca/pml/ob1/side.h"

#include "test/unit/opal/support.h"

enum {
    PEER = 1,
    OTHER = 2,
    TAG = 7,
    BYTES = 200,
    COST = BYTES + OB1_MESSAGE_OVERHEAD,
    WINDOW = SIDE_UNEXPECTED_BYTES / 8 / (SIDE_RANKS - 1),
    IN_WINDOW = WINDOW / COST + 1, /* the last one begins within it */
    IN_TWO = 2 * WINDOW / COST + 1,
    KEPT = COST + sizeof(ob1_match_t),
};

static unsigned char bytes[BYTES];
static ompi_request_t *begun[4 * IN_TWO];
static int begun_count;

static void setup(void)
{
    side_start();
}

static ompi_request_t *send(size_t length)
{
    ompi_route_t to = side_route(PEER, TAG);
    ompi_data_t data = side_data(bytes, length);
    ompi_request_t *request;
    ck_assert_int_eq(side_pml->isend(&to, &data, OMPI_SEND_STANDARD, &request), MPI_SUCCESS);
    begun[begun_count++] = request;
    return request;
}

/* What still waits ends with the peer. */
static void finish(void)
{
    side_fail(PEER, OPAL_ERR_DISCONNECTED);
    while (begun_count > 0)
        ompi_request_finish(&begun[--begun_count], MPI_STATUS_IGNORE);
    side_stop();
}

static void receive(int source, size_t length)
{
    ompi_route_t from = side_route(source, TAG);
    unsigned char got[BYTES];
    ompi_data_t data = side_data(got, length);
    ck_assert_int_eq(side_pml->recv(&from, &data, MPI_STATUS_IGNORE), MPI_SUCCESS);
}

/* A frame to that rank of that kind; the number or name that it begins with. */
static uint64_t expect(unsigned rank, ob1_kind_t kind)
{
    uint64_t number;
    const side_frame_t *frame = side_next_sent();
    ck_assert_ptr_nonnull(frame);
    ck_assert_uint_eq(frame->rank, rank);
    ck_assert_uint_eq(frame->kind, kind);
    memcpy(&number, frame->bytes, sizeof number);
    return number;
}

static void expect_eager(int count)
{
    for (int i = 0; i < count; i++)
        expect(PEER, OB1_EAGER);
}

/* A window, the request for another one, that one, and no more before the credit is here. */
START_TEST(a_sender_is_two_windows_ahead)
{
    for (int i = 0; i < IN_TWO; i++)
        ck_assert_ptr_eq(send(BYTES), &ompi_request_sent);
    expect_eager(IN_WINDOW);
    uint64_t number = expect(PEER, OB1_CREDIT_REQUEST);
    expect_eager(IN_TWO - IN_WINDOW);
    ompi_request_t *waiting = send(BYTES), *very_short = send(8), *empty = send(0);
    ck_assert(!ompi_request_is_done(waiting) && !ompi_request_is_done(very_short));
    side_serve();
    ck_assert(ompi_request_is_done(waiting) && ompi_request_is_done(very_short));
    ck_assert(ompi_request_is_done(empty));

    /* Other numbers are not the credit. */
    uint64_t wrong[] = {0, number + 1, number - 1};
    for (int i = 0; i < 3; i++)
        side_deliver(PEER, OB1_CREDIT, &wrong[i], sizeof wrong[i]);
    side_deliver(OTHER, OB1_CREDIT, &number, sizeof number);
    waiting = send(BYTES);
    expect(PEER, OB1_RTS);
    side_deliver(PEER, OB1_CREDIT, &number, sizeof number);
    ck_assert_ptr_eq(send(BYTES), &ompi_request_sent);
    ck_assert_uint_eq(expect(PEER, OB1_CREDIT_REQUEST), number + 1);
    expect(PEER, OB1_EAGER);
    side_deliver(PEER, OB1_CREDIT, &number, sizeof number); /* the old one */
    for (int i = 0; i < IN_WINDOW + 1; i++)
        send(BYTES);
    ompi_request_t *last = send(BYTES);
    ck_assert(!ompi_request_is_done(last));
    finish();
}
END_TEST

/* A peer that has failed waits for no credit. */
START_TEST(what_goes_to_the_dead_needs_no_credit)
{
    for (int i = 0; i < 3 * IN_WINDOW; i++)
        send(BYTES);
    side_fail(PEER, OPAL_ERR_DISCONNECTED);
    ompi_request_t *request = send(BYTES);
    ck_assert(ompi_request_is_done(request));
    finish();
}
END_TEST

static void message_comes(unsigned rank, uint32_t context)
{
    unsigned char frame[sizeof(ob1_match_t) + BYTES] = {0};
    ob1_match_t head = {context, (int)rank, TAG};
    memcpy(frame, &head, sizeof head);
    side_deliver(rank, OB1_EAGER, frame, sizeof frame);
}

static void request_comes(unsigned rank, uint64_t number)
{
    side_deliver(rank, OB1_CREDIT_REQUEST, &number, sizeof number);
}

/* A sender that floods gets no credit before its messages are received; another one does. */
START_TEST(credit_is_withheld_while_too_much_is_kept)
{
    int kept = 0;
    for (; kept * KEPT < SIDE_UNEXPECTED_BYTES / 2; kept++) {
        if (kept % 100 == 0) {
            request_comes(PEER, (uint64_t)kept + 1);
            ck_assert_uint_eq(expect(PEER, OB1_CREDIT), (uint64_t)kept + 1);
        }
        message_comes(PEER, 0);
    }
    request_comes(PEER, 5);
    request_comes(PEER, 6); /* before it has the answer */
    side_progress();
    ck_assert_ptr_null(side_next_sent());
    request_comes(OTHER, 9);
    ck_assert_uint_eq(expect(OTHER, OB1_CREDIT), 9);
    receive(PEER, BYTES);
    side_progress();
    ck_assert_uint_eq(expect(PEER, OB1_CREDIT), 5);
    while (--kept > 0)
        receive(PEER, BYTES);
    side_progress();
    ck_assert_ptr_null(side_next_sent());
    finish();
}
END_TEST

/* So for a communicator that is not there yet; with the peer's death nothing is withheld. */
START_TEST(early_messages_count)
{
    ompi_communicator_t later = side_comm;
    later.context = 3;
    for (int i = 0; i * KEPT < SIDE_UNEXPECTED_BYTES / 2; i++)
        message_comes(PEER, ompi_comm_wire_context(&later, OMPI_CONTEXT_USER));
    request_comes(PEER, 5);
    side_progress();
    ck_assert_ptr_null(side_next_sent());
    if (_i == 1) {
        side_fail(PEER, OPAL_ERR_DISCONNECTED);
        side_progress();
    } else {
        side_pml->comm_add(&later);
        side_pml->comm_remove(&later);
        side_progress();
        ck_assert_uint_eq(expect(PEER, OB1_CREDIT), 5);
    }
    ck_assert_ptr_null(side_next_sent());
    finish();
}
END_TEST

/* Nor do requests and credits that find no room go astray. */
START_TEST(credit_waits_for_room)
{
    side_next_sent();
    for (int i = 0; i < IN_WINDOW; i++)
        send(BYTES);
    expect_eager(IN_WINDOW);
    side_is_full = true;
    request_comes(PEER, 5);
    request_comes(PEER, 6); /* while the credit still waits */
    ompi_request_t *request = send(BYTES);
    uint64_t guess = 1;
    side_deliver(PEER, OB1_CREDIT, &guess, sizeof guess); /* before it was asked */
    side_is_full = false;
    side_progress();
    ck_assert_uint_eq(expect(PEER, OB1_CREDIT), 5);
    ck_assert_uint_eq(expect(PEER, OB1_CREDIT_REQUEST), 1);
    expect(PEER, OB1_EAGER);
    ck_assert(ompi_request_is_done(request));
    ck_assert_ptr_null(side_next_sent());
    finish();
}
END_TEST

/* A short message is paid for before it is sent. */
START_TEST(a_message_that_finds_no_room_costs_nothing)
{
    send(BYTES); /* the communicator has met the peer */
    expect_eager(1);
    const ob1_peer_t *peer = ob1_known_peer(PEER);
    int64_t before = peer->credit;
    side_is_full = true;
    ompi_request_t *waiting = send(BYTES);
    ck_assert(!ompi_request_is_done(waiting));
    ck_assert_int_eq(peer->credit, before);
    side_is_full = false;
    side_progress();
    expect_eager(1);
    ck_assert(ompi_request_is_done(waiting));
    ck_assert_int_eq(peer->credit, before - COST);
    finish();
}
END_TEST

static const unit_test_t tests[] = {
    {.test = &a_sender_is_two_windows_ahead},
    {.test = &what_goes_to_the_dead_needs_no_credit},
    {.test = &credit_is_withheld_while_too_much_is_kept},
    {.test = &early_messages_count, .repeats = 2},
    {.test = &credit_waits_for_room},
    {.test = &a_message_that_finds_no_room_costs_nothing},
};

UNIT_MAIN("credit", tests, setup);
