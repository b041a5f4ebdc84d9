/* SPDX-License-Identifier: BSD-3-Clause */
/* What ob1 does with frames that it should not get: nothing of them is followed, or written. */
#include <stdlib.h>
#include <string.h>

#include "opal/progress/wait.h"
#include "test/unit/ompi/mca/pml/ob1/side.h"

#include "test/unit/opal/support.h"

enum { PEER = 1, OTHER = 2, TAG = 7, LONG = 4000, GUARD = 64 };

static unsigned char sent[LONG], got[GUARD + LONG + GUARD];
static const ob1_match_t match = {.source = PEER, .tag = TAG};

static void setup(void)
{
    side_start();
    for (int i = 0; i < LONG; i++)
        sent[i] = (unsigned char)(i * 7 + 1);
    memset(got, 0, sizeof got);
}

static ompi_request_t *post(size_t length)
{
    ompi_route_t from = side_route(PEER, TAG);
    ompi_data_t data = side_data(got + GUARD, length);
    ompi_request_t *request;
    ck_assert_int_eq(side_pml->irecv(&from, &data, &request), MPI_SUCCESS);
    return request;
}

static ompi_request_t *send(size_t length, ompi_send_mode_t mode)
{
    ompi_route_t to = side_route(PEER, TAG);
    ompi_data_t data = side_data(sent, length);
    ompi_request_t *request;
    ck_assert_int_eq(side_pml->isend(&to, &data, mode, &request), MPI_SUCCESS);
    return request;
}

/* It is done, and had no error. */
static void finish(ompi_request_t *request)
{
    ck_assert(ompi_request_is_done(request));
    ck_assert_int_eq(ompi_request_finish(&request, MPI_STATUS_IGNORE), MPI_SUCCESS);
}

static side_frame_t expect(ob1_kind_t kind)
{
    const side_frame_t *frame = side_next_sent();
    ck_assert_ptr_nonnull(frame);
    ck_assert_uint_eq(frame->rank, PEER);
    ck_assert_uint_eq(frame->kind, kind);
    return *frame;
}

static void require_guards(size_t length)
{
    for (size_t i = 0; i < sizeof got; i++)
        ck_assert(got[i] == 0 || (i >= GUARD && i < GUARD + length));
}

static void answer(unsigned rank, ob1_kind_t kind, uint64_t name)
{
    side_deliver(rank, kind, &name, sizeof name);
}

/* Whatever is not the answer to this send changes nothing. */
START_TEST(only_the_receiver_answers_a_send)
{
    ob1_sync_t head;
    ompi_request_t *first = send(8, OMPI_SEND_SYNCHRONOUS);
    side_frame_t frame = expect(OB1_EAGER_SYNC);
    memcpy(&head, frame.bytes, sizeof head);
    answer(OTHER, OB1_MATCH_ACK, head.sender);
    answer(PEER, OB1_FIN, head.sender);
    answer(PEER, OB1_CANCELLED, head.sender);
    answer(PEER, OB1_MATCH_ACK, (uint64_t)(uintptr_t)first);
    answer(PEER, OB1_MATCH_ACK, head.sender + 1);
    ob1_cts_t cts = {head.sender, 1, 8};
    side_deliver(PEER, OB1_CTS, &cts, sizeof cts);
    ck_assert(!ompi_request_is_done(first));
    answer(PEER, OB1_MATCH_ACK, head.sender);
    finish(first);

    /* The next one may well be at the same address. */
    ompi_request_t *second = send(8, OMPI_SEND_SYNCHRONOUS);
    answer(PEER, OB1_MATCH_ACK, head.sender);
    ck_assert(!ompi_request_is_done(second));
    frame = expect(OB1_EAGER_SYNC);
    memcpy(&head, frame.bytes, sizeof head);
    answer(PEER, OB1_MATCH_ACK, head.sender);
    finish(second);
    side_stop();
}
END_TEST

START_TEST(only_what_is_there_is_asked_for)
{
    ob1_rts_t head = {0};
    ompi_request_t *request = send(LONG, OMPI_SEND_STANDARD);
    side_frame_t frame = expect(OB1_RTS);
    memcpy(&head, frame.bytes, offsetof(ob1_rts_t, segments));
    static const uint64_t wrong[] = {0, LONG + 1, UINT64_MAX};
    for (int i = 0; i < 3; i++) {
        ob1_cts_t cts = {head.sender, 99, wrong[i]};
        side_deliver(PEER, OB1_CTS, &cts, sizeof cts);
        ck_assert_ptr_null(side_next_sent());
    }
    ob1_cts_t cts = {head.sender, 99, 100};
    side_deliver(PEER, OB1_CTS, &cts, sizeof cts);
    frame = expect(OB1_FRAGMENT);
    ck_assert_uint_eq(frame.length, sizeof(ob1_fragment_t) + 100);
    side_deliver(PEER, OB1_CTS, &cts, sizeof cts);
    ck_assert_ptr_null(side_next_sent());
    finish(request);
    side_stop();
}
END_TEST

/* The receiver has not completed the slot, but sent a FIN: the slot is free. */
START_TEST(a_fin_frame_disarms_the_slot)
{
    ob1_rts_t head = {0};
    side_slot = 3;
    ompi_request_t *request = send(LONG, OMPI_SEND_STANDARD);
    side_frame_t frame = expect(OB1_RTS);
    memcpy(&head, frame.bytes, offsetof(ob1_rts_t, segments));
    ck_assert_uint_eq(head.slot, 3);
    answer(PEER, OB1_FIN, head.sender);
    finish(request);
    ck_assert_uint_eq(side_slot, 0);
    side_stop();
}
END_TEST

/* The peer may well live, and must not copy what is the user's again. */
START_TEST(a_send_that_fails_disarms_the_slot)
{
    side_slot = 3;
    ompi_request_t *request = send(LONG, OMPI_SEND_STANDARD);
    expect(OB1_RTS);
    side_fail(PEER, OPAL_ERR_NO_MEMORY);
    ck_assert_int_eq(ompi_request_finish(&request, MPI_STATUS_IGNORE), MPI_ERR_NO_MEM);
    ck_assert_uint_eq(side_slot, 0);
    side_stop();
}
END_TEST

/* A receive that waits for fragments of so many bytes; returns what they are sent to. */
static uint64_t begin_fragments(size_t length)
{
    ob1_cts_t cts;
    ob1_rts_t head = {.match = match, .sender = 5, .total = length};
    side_deliver(PEER, OB1_RTS, &head, offsetof(ob1_rts_t, segments));
    side_frame_t frame = expect(OB1_CTS);
    memcpy(&cts, frame.bytes, sizeof cts);
    ck_assert_uint_eq(cts.sender, 5);
    ck_assert_uint_eq(cts.wanted, length);
    return cts.receiver;
}

static void fragment(unsigned rank, uint64_t name, size_t offset, size_t length)
{
    unsigned char frame[sizeof(ob1_fragment_t) + LONG];
    ob1_fragment_t head = {name, offset};
    memcpy(frame, &head, sizeof head);
    memset(frame + sizeof head, 0xff, length);
    side_deliver(rank, OB1_FRAGMENT, frame, sizeof head + length);
}

START_TEST(fragments_stay_within_the_receive)
{
    ompi_request_t *request = post(200);
    uint64_t name = begin_fragments(200);
    fragment(OTHER, name, 0, 200);
    fragment(PEER, (uint64_t)(uintptr_t)request, 0, 200);
    fragment(PEER, name, 1, 200);
    fragment(PEER, name, 0, 201);
    fragment(PEER, name, SIZE_MAX - 1, 2);
    fragment(PEER, name, (size_t)-GUARD, 8);
    require_guards(0);
    fragment(PEER, name, 100, 100);
    fragment(PEER, name, 0, 150); /* more than is missing */
    ck_assert(!ompi_request_is_done(request));
    fragment(PEER, name, 0, 100);
    finish(request);
    fragment(PEER, name, 0, 100); /* it is over */
    require_guards(200);
    side_stop();
}
END_TEST

/* The peer does not know the name before the frame has left: a reply before that is rejected. */
START_TEST(no_fragment_comes_before_it_was_asked_for)
{
    ompi_request_t *request = post(200);
    const ob1_receive_t *receive = opal_container_of(request, ob1_receive_t, request);
    ob1_rts_t head = {.match = match, .sender = 5, .total = 200};
    side_is_full = true;
    side_deliver(PEER, OB1_RTS, &head, offsetof(ob1_rts_t, segments));
    fragment(PEER, receive->name, 0, 200);
    ck_assert(!ompi_request_is_done(request));
    require_guards(0);
    side_is_full = false;
    side_progress();
    expect(OB1_CTS);
    fragment(PEER, receive->name, 0, 200);
    finish(request);
    side_stop();
}
END_TEST

/* Another rank has a request of the same name. */
START_TEST(only_the_sender_has_its_message_back)
{
    ob1_sync_t head = {.match = match, .sender = 5};
    side_deliver(PEER, OB1_EAGER_SYNC, &head, sizeof head);
    side_deliver(OTHER, OB1_CANCEL, &head, sizeof head);
    ck_assert_ptr_null(side_next_sent());
    side_deliver(PEER, OB1_CANCEL, &head, sizeof head);
    expect(OB1_CANCELLED);
    side_stop();
}
END_TEST

START_TEST(placement_stays_within_the_receive)
{
    unsigned char bytes[300];
    memset(bytes, 0xff, sizeof bytes);
    ompi_request_t *request = post(200);
    uint64_t name = begin_fragments(200);
    side_place(OTHER, OB1_FRAGMENT, name, 0, bytes, 200, 50);
    side_place(PEER, OB1_FRAGMENT, (uint64_t)(uintptr_t)request, 0, bytes, 200, 50);
    side_place(PEER, OB1_FRAGMENT, name, 1, bytes, 200, 200);
    side_place(PEER, OB1_FRAGMENT, name, 0, bytes, 201, 201);
    side_place(PEER, OB1_FRAGMENT, name, SIZE_MAX, bytes, 2, 2);
    side_place(PEER, OB1_EAGER, name, 0, bytes, 200, 50);
    side_place(PEER, OB1_STREAM_PART, 0, 0, bytes, 200, 50);
    require_guards(0);
    side_place(PEER, OB1_FRAGMENT, name, 0, bytes, 200, 70);
    finish(request);
    side_place(PEER, OB1_FRAGMENT, name, 0, bytes, 200, 70);
    require_guards(200);
    side_stop();
}
END_TEST

START_TEST(short_frames_are_dropped)
{
    static const ob1_sync_t nothing;
    ompi_request_t *request = post(200);
    for (unsigned kind = 0; kind < 255; kind++) {
        for (size_t length = 0; length < sizeof(ob1_match_t); length++)
            side_deliver(PEER, kind, &nothing, length);
    }
    ob1_sync_t sync = {.match = match};
    side_deliver(PEER, OB1_EAGER_SYNC, &sync, sizeof sync - 1);
    side_deliver(PEER, OB1_STREAM, &sync, sizeof sync - 1);
    side_deliver(PEER, OB1_CANCEL, &sync, sizeof sync - 1);
    side_deliver(PEER, OB1_RTS, &sync, sizeof sync);
    ck_assert(!ompi_request_is_done(request));
    side_deliver(PEER, OB1_EAGER, &match, sizeof match);
    finish(request);
    side_stop();
}
END_TEST

START_TEST(messages_are_of_ranks_that_there_are)
{
    static const ob1_match_t wrong[] = {
        {.source = SIDE_RANKS, .tag = TAG},    {.source = MPI_ANY_SOURCE, .tag = TAG},
        {.source = INT32_MIN, .tag = TAG},     {.source = PEER, .tag = MPI_ANY_TAG},
        {.source = PEER, .tag = -1},           {.context = UINT32_MAX, .source = PEER},
        {.context = 1U << 31, .source = PEER},
    };
    bool found;
    ompi_route_t any = side_route(MPI_ANY_SOURCE, MPI_ANY_TAG);
    for (size_t i = 0; i < OPAL_COUNT_OF(wrong); i++) {
        side_deliver(PEER, OB1_EAGER, &wrong[i], sizeof wrong[i]);
        ck_assert_int_eq(side_pml->iprobe(&any, &found, NULL, MPI_STATUS_IGNORE), MPI_SUCCESS);
        ck_assert(!found);
    }
    side_stop();
}
END_TEST

/* The first frame of a stream, with so many bytes of it. */
static void begin_stream(uint64_t total, size_t length)
{
    unsigned char frame[sizeof(ob1_stream_head_t) + LONG];
    ob1_stream_head_t head = {.match = match, .total = total};
    memcpy(frame, &head, sizeof head);
    memset(frame + sizeof head, 0xff, length);
    side_deliver(PEER, OB1_STREAM, frame, sizeof head + length);
}

static void part(size_t length)
{
    unsigned char bytes[LONG];
    memset(bytes, 0xff, length);
    side_deliver(PEER, OB1_STREAM_PART, bytes, length);
}

/* Posted or not. */
START_TEST(streams_keep_to_their_length)
{
    ompi_request_t *request = _i == 0 ? post(300) : NULL;
    part(10);
    begin_stream(99, 100);
    begin_stream(UINT64_MAX, 100);
    begin_stream(UINT64_MAX - sizeof(ob1_message_t), 100);
    begin_stream(300, 100);
    begin_stream(300, 100); /* within the first one */
    part(201);
    part(100);
    side_place(PEER, OB1_STREAM_PART, 0, 0, sent, 101, 101);
    part(100);
    part(1);
    if (_i == 1)
        request = post(300);
    finish(request);
    require_guards(300);
    side_stop();
}
END_TEST

/* One that was all in its first frame, and has been received. */
START_TEST(no_part_comes_behind_the_last_one)
{
    begin_stream(100, 100);
    finish(post(100));
    part(0);
    part(1);
    side_place(PEER, OB1_STREAM_PART, 0, 0, sent, 1, 1);
    require_guards(100);
    side_stop();
}
END_TEST

/* The first part could still be received after the rank had failed; more parts come all the same.
 */
START_TEST(nor_behind_the_news_of_a_death)
{
    side_fail(PEER, OPAL_ERR_DISCONNECTED);
    begin_stream(300, 100);
    ompi_route_t from = side_route(PEER, TAG);
    ompi_data_t data = side_data(got + GUARD, 300);
    ck_assert_int_eq(side_pml->recv(&from, &data, MPI_STATUS_IGNORE), MPI_ERR_PROC_ABORTED);
    part(100);
    side_place(PEER, OB1_STREAM_PART, 0, 0, sent, 100, 50);
    require_guards(100);
    side_stop();
}
END_TEST

START_TEST(segments_are_in_the_frame)
{
    ob1_rts_t head = {.match = match, .sender = 5, .total = 100, .segment_count = 3};
    bool found;
    ompi_route_t any = side_route(MPI_ANY_SOURCE, MPI_ANY_TAG);
    side_deliver(PEER, OB1_RTS, &head,
                 offsetof(ob1_rts_t, segments) + 3 * sizeof(ob1_segment_t) - 1);
    head.segment_count = OB1_MAX_LISTED + 1;
    side_deliver(PEER, OB1_RTS, &head, sizeof head);
    head.segment_count = OB1_MAX_SEGMENTS + 1;
    side_deliver(PEER, OB1_RTS, &head, offsetof(ob1_rts_t, segments));
    ck_assert_int_eq(side_pml->iprobe(&any, &found, NULL, MPI_STATUS_IGNORE), MPI_SUCCESS);
    ck_assert(!found);
    side_stop();
}
END_TEST

/* A transport, for which each segment costs time, does not get hundreds of them. */
START_TEST(short_pieces_are_copied_at_once)
{
    enum { PIECES = 200, PIECE = 8, STRIDE = 12, BYTES = PIECES * PIECE, START = 100 };
    const ompi_shape_t *byte = &ompi_datatype_of(MPI_BYTE)->shape;
    ompi_shape_t piece, shape;
    ck_assert_int_eq(ompi_shape_repeat(byte, PIECE, 1, &piece), MPI_SUCCESS);
    ck_assert_int_eq(ompi_shape_repeat(&piece, PIECES, STRIDE, &shape), MPI_SUCCESS);
    ompi_shape_release(&piece);
    ompi_datatype_t *pieces = ompi_datatype_create(&shape, NULL);
    ck_assert_ptr_nonnull(pieces);
    ompi_route_t from = side_route(PEER, TAG);
    ompi_data_t data = {got + GUARD, 1, pieces};
    ompi_request_t *request;
    ck_assert_int_eq(side_pml->irecv(&from, &data, &request), MPI_SUCCESS);
    memcpy(side_memory + START, sent, BYTES);
    ob1_rts_t head = {.match = match, .sender = 5, .total = BYTES, .segment_count = 1};
    head.segments[0] = (ob1_segment_t){START, BYTES};
    side_gets = 0;
    side_deliver(PEER, OB1_RTS, &head, sizeof head);
    finish(request);
    ck_assert_uint_eq(side_gets, 1);
    for (size_t i = 0; i < LONG; i++)
        ck_assert_uint_eq(got[GUARD + i], i / STRIDE < PIECES && i % STRIDE < PIECE
                                              ? sent[i / STRIDE * PIECE + i % STRIDE]
                                              : 0);
    ompi_datatype_release(pieces);
    side_stop();
}
END_TEST

/* The peer asks for the data of what it gets. */
static int ask_for_data(void *state OPAL_UNUSED)
{
    const side_frame_t *frame = side_next_sent();
    ob1_rts_t head;
    if (frame == NULL || frame->kind != OB1_RTS)
        return 0;
    memcpy(&head, frame->bytes, offsetof(ob1_rts_t, segments));
    ob1_cts_t cts = {head.sender, 99, head.total};
    side_deliver(PEER, OB1_CTS, &cts, sizeof cts);
    return 1;
}

static size_t awaited_by_send(void)
{
    ompi_route_t to = side_route(PEER, TAG);
    ompi_data_t data = side_data(sent, LONG);
    ck_assert_int_eq(side_pml->send(&to, &data, OMPI_SEND_STANDARD), MPI_SUCCESS);
    while (side_next_sent() != NULL)
        ;
    return side_awaited_bytes;
}

/* A blocking send waits for its completion alone only if no message may come meanwhile. */
START_TEST(a_send_knows_what_is_awaited)
{
    ob1_rts_t head = {.match = match, .sender = 5, .total = LONG};
    ck_assert_int_eq(opal_progress_add(ask_for_data, NULL), OPAL_SUCCESS);
    ck_assert_uint_eq(awaited_by_send(), LONG);
    ompi_request_t *receive = post(LONG);
    ck_assert_uint_eq(awaited_by_send(), 0);
    side_deliver(PEER, OB1_RTS, &head, offsetof(ob1_rts_t, segments));
    ck_assert_uint_eq(awaited_by_send(), 0); /* fragments are about to come */
    opal_progress_remove(ask_for_data, NULL);
    side_stop();
    ompi_request_free(&receive);
}
END_TEST

static const unit_test_t tests[] = {
    {.test = &a_send_knows_what_is_awaited},
    {.test = &only_the_receiver_answers_a_send},
    {.test = &only_what_is_there_is_asked_for},
    {.test = &a_fin_frame_disarms_the_slot},
    {.test = &a_send_that_fails_disarms_the_slot},
    {.test = &fragments_stay_within_the_receive},
    {.test = &no_fragment_comes_before_it_was_asked_for},
    {.test = &only_the_sender_has_its_message_back},
    {.test = &placement_stays_within_the_receive},
    {.test = &short_frames_are_dropped},
    {.test = &messages_are_of_ranks_that_there_are},
    {.test = &streams_keep_to_their_length, .repeats = 2},
    {.test = &no_part_comes_behind_the_last_one},
    {.test = &nor_behind_the_news_of_a_death},
    {.test = &segments_are_in_the_frame},
    {.test = &short_pieces_are_copied_at_once},
};

UNIT_MAIN("frames", tests, setup);
