/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * ob1 without memory: each scenario is run with its first allocation failing, its second, and so on
 * until none fails. All calls and requests end, well or with MPI_ERR_NO_MEM; with memory again, the
 * next message is received right. That everything is given back AddressSanitizer sees.
 */
#include <stdlib.h>
#include <string.h>

#include "test/unit/ompi/mca/pml/ob1/side.h"

#include "test/unit/opal/support.h"

enum { PEER = 1, TAG = 7, MANY = 20, SHORT = 8, MIDDLE = 200, STREAM = 900, LONG = 3000 };

static unsigned char sent[LONG], got[LONG];

/* -- requests ------------------------------------------------------------------------ */

static ompi_request_t *under_way[256];
static size_t under_way_count;

static void require_known(int error)
{
    if (error != MPI_SUCCESS && error != MPI_ERR_NO_MEM) /* Check allocates whenever it is asked */
        ck_abort_msg("error %d", error);
}

/* A call that may have begun something. */
static ompi_request_t *begun(int error, ompi_request_t *request)
{
    require_known(error);
    if (error == MPI_SUCCESS)
        under_way[under_way_count++] = request;
    return error == MPI_SUCCESS ? request : NULL;
}

static ompi_request_t *post(int source, int tag, size_t length)
{
    ompi_route_t from = side_route(source, tag);
    ompi_data_t data = side_data(got, length);
    ompi_request_t *request = NULL;
    int error = side_pml->irecv(&from, &data, &request);
    return begun(error, request);
}

static ompi_request_t *send(size_t length, ompi_send_mode_t mode)
{
    ompi_route_t to = side_route(PEER, TAG);
    ompi_data_t data = side_data(sent, length);
    ompi_request_t *request = NULL;
    int error = side_pml->isend(&to, &data, mode, &request);
    return begun(error, request);
}

/* Nothing hangs. Returns how many have failed. */
static int end_all(void)
{
    int failed = 0;
    side_serve();
    while (under_way_count > 0) {
        ompi_request_t *request = under_way[--under_way_count];
        ck_assert(ompi_request_is_done(request));
        int error = ompi_request_finish(&request, MPI_STATUS_IGNORE);
        require_known(error);
        failed += error != MPI_SUCCESS;
    }
    return failed;
}

/* -- what comes ---------------------------------------------------------------------- */

static unsigned char frame[4096];

/* A head and the message's bytes from an offset on. */
static void deliver(ob1_kind_t kind, const void *head, size_t head_bytes, size_t offset,
                    size_t length)
{
    if (head_bytes > 0)
        memcpy(frame, head, head_bytes);
    for (size_t i = 0; i < length; i++)
        frame[head_bytes + i] = (unsigned char)(offset + i);
    side_deliver(PEER, kind, frame, head_bytes + length);
}

static void eager_comes(uint32_t context, int tag, size_t length)
{
    ob1_match_t head = {context, PEER, tag};
    deliver(OB1_EAGER, &head, sizeof head, 0, length);
}

static void sync_comes(uint64_t sender, size_t length)
{
    ob1_sync_t head = {.match = {0, PEER, TAG}, .sender = sender};
    deliver(OB1_EAGER_SYNC, &head, sizeof head, 0, length);
}

static void stream_comes(void)
{
    ob1_stream_head_t head = {.match = {0, PEER, TAG}, .total = STREAM};
    deliver(OB1_STREAM, &head, sizeof head, 0, MIDDLE);
    for (size_t done = MIDDLE; done < STREAM; done += 100)
        deliver(OB1_STREAM_PART, NULL, 0, done, 100);
}

static void rendezvous_comes(uint64_t sender)
{
    ob1_rts_t head = {.match = {0, PEER, TAG}, .sender = sender, .total = LONG};
    deliver(OB1_RTS, &head, offsetof(ob1_rts_t, segments), 0, 0);
}

static void cancel_comes(uint64_t sender)
{
    ob1_sync_t head = {.match = {0, PEER, TAG}, .sender = sender};
    deliver(OB1_CANCEL, &head, sizeof head, 0, 0);
}

/* -- scenarios ----------------------------------------------------------------------- */

static void unexpected_ones(void)
{
    eager_comes(0, TAG, SHORT);
    eager_comes(0, TAG, MIDDLE);
    sync_comes(1, MIDDLE);
    stream_comes();
    rendezvous_comes(2);
    for (int i = 0; i < 5; i++)
        post(PEER, TAG, LONG);
}

static void expected_ones(void)
{
    for (int i = 0; i < 5; i++)
        post(i % 2 == 0 ? PEER : MPI_ANY_SOURCE, TAG, LONG);
    eager_comes(0, TAG, SHORT);
    eager_comes(0, TAG, MIDDLE);
    sync_comes(1, MIDDLE);
    stream_comes();
    rendezvous_comes(2);
    for (int i = 0; i < 5; i++) /* for those that could not be posted */
        eager_comes(0, TAG, SHORT);
}

static void sends(void)
{
    send(SHORT, OMPI_SEND_STANDARD);
    send(SHORT, OMPI_SEND_SYNCHRONOUS);
    send(STREAM, OMPI_SEND_STANDARD);
    send(LONG, OMPI_SEND_STANDARD);
    send(LONG, OMPI_SEND_SYNCHRONOUS);
}

static void sends_without_room(void)
{
    side_is_full = true;
    sends();
    sync_comes(1, MIDDLE);
    rendezvous_comes(2);
    post(PEER, TAG, LONG);
    post(PEER, TAG, LONG);
    side_is_full = false;
}

static void many_tags(void)
{
    for (int tag = 0; tag < MANY; tag++)
        eager_comes(0, tag, MIDDLE);
    for (int tag = 0; tag < MANY; tag++)
        post(MPI_ANY_SOURCE, tag, LONG);
    for (int tag = 0; tag < MANY; tag++)
        post(PEER, tag, LONG);
    for (int tag = 0; tag < 2 * MANY; tag++)
        eager_comes(0, tag % MANY, SHORT);
}

static void probes(void)
{
    bool found;
    MPI_Status status;
    ompi_message_t *message;
    ompi_route_t from = side_route(PEER, MPI_ANY_TAG);
    ompi_data_t data = side_data(got, LONG);
    eager_comes(0, TAG, MIDDLE);
    sync_comes(1, MIDDLE);
    rendezvous_comes(2);
    for (;;) {
        require_known(side_pml->iprobe(&from, &found, &message, &status));
        if (!found)
            return;
        int error;
        ompi_request_t *request;
        while ((error = side_pml->imrecv(message, &data, &request)) != MPI_SUCCESS)
            require_known(error); /* the message is still ours */
        begun(error, request);
    }
}

static void cancels(void)
{
    ompi_request_t *one = send(SHORT, OMPI_SEND_SYNCHRONOUS),
                   *other = send(LONG, OMPI_SEND_STANDARD);
    if (one != NULL)
        require_known(ompi_request_cancel(one));
    if (other != NULL)
        require_known(ompi_request_cancel(other));
    sync_comes(1, MIDDLE);
    rendezvous_comes(2);
    cancel_comes(1);
    cancel_comes(2);
    ompi_request_t *receive = post(PEER, TAG, LONG);
    if (receive != NULL && !ompi_request_is_done(receive))
        require_known(ompi_request_cancel(receive));
}

/* A communicator that begins after its messages have come. */
static void early_ones(void)
{
    ompi_communicator_t later = side_comm;
    later.context = 3;
    uint32_t context = ompi_comm_wire_context(&later, OMPI_CONTEXT_USER);
    eager_comes(context, TAG, SHORT);
    eager_comes(context, TAG, MIDDLE);
    int error;
    while ((error = side_pml->comm_add(&later)) != MPI_SUCCESS)
        require_known(error);
    for (int i = 0; i < 2; i++) {
        ompi_route_t from = {&later, OMPI_CONTEXT_USER, PEER, TAG};
        ompi_data_t data = side_data(got, LONG);
        require_known(side_pml->recv(&from, &data, MPI_STATUS_IGNORE));
    }
    side_pml->comm_remove(&later);
}

static void (*const scenarios[])(void) = {
    unexpected_ones, expected_ones, sends,   sends_without_room,
    many_tags,       probes,        cancels, early_ones,
};

/* Messages that are still with the matcher are received. */
static void clear_out(void)
{
    bool found = true;
    ompi_route_t any = side_route(MPI_ANY_SOURCE, MPI_ANY_TAG);
    for (;;) {
        ck_assert_int_eq(side_pml->iprobe(&any, &found, NULL, MPI_STATUS_IGNORE), MPI_SUCCESS);
        if (!found)
            return;
        post(MPI_ANY_SOURCE, MPI_ANY_TAG, LONG);
        side_serve();
    }
}

/* With memory all is well. */
static void require_well(void)
{
    memset(got, 0xff, sizeof got);
    eager_comes(0, TAG, MIDDLE);
    post(PEER, TAG, LONG);
    ck_assert_int_eq(end_all(), 0);
    for (int i = 0; i < MIDDLE; i++)
        ck_assert_uint_eq(got[i], (unsigned char)i);
    send(LONG, OMPI_SEND_SYNCHRONOUS);
    ck_assert_int_eq(end_all(), 0);
}

START_TEST(each_allocation_may_fail)
{
    int failed = 0;
    bool hit = true;
    for (int n = 1; hit; n++) {
        side_start();
        ob1_peer(opal_process(PEER));
        side_fail_at = n;
        scenarios[_i]();
        hit = side_fail_at == 0;
        side_fail_at = 0;
        side_serve();
        clear_out();
        failed += end_all();
        require_well();
        side_stop();
        ck_assert_int_lt(n, 500);
    }
    printf("scenario %d: %d requests failed\n", _i, failed);
}
END_TEST

/* There is no memory to talk to a rank for the first time. */
START_TEST(so_may_that_of_a_peer)
{
    side_start();
    ompi_route_t route = side_route(PEER, TAG);
    ompi_data_t data = side_data(got, SHORT);
    ompi_request_t *request;
    MPI_Status status;
    ompi_request_t *receive = post(MPI_ANY_SOURCE, TAG, LONG); /* whose memory is there */
    side_fail_at = -1;
    int sent_error = side_pml->send(&route, &data, OMPI_SEND_STANDARD);
    int begun_error = side_pml->isend(&route, &data, OMPI_SEND_STANDARD, &request);
    int got_error = side_pml->recv(&route, &data, &status);
    int probe_error = side_pml->probe(&route, NULL, &status);
    eager_comes(0, TAG, SHORT);
    side_fail_at = 0;
    ck_assert_int_eq(sent_error, MPI_ERR_NO_MEM);
    ck_assert_int_eq(begun_error, MPI_ERR_NO_MEM);
    ck_assert_int_eq(got_error, MPI_ERR_NO_MEM);
    ck_assert_int_eq(probe_error, MPI_ERR_NO_MEM);
    ck_assert(ompi_request_is_done(receive));
    ck_assert_int_eq(end_all(), 0);
    require_well();
    side_stop();
}
END_TEST

/* All allocations fail. The reserve is used up, and waiting receives fail. */
START_TEST(without_any_memory_nobody_waits_for_ever)
{
    side_start();
    require_well();
    for (int i = 0; i < 100; i++) {
        side_fail_at = -1;
        eager_comes(0, TAG, MIDDLE);
        side_fail_at = 0;
    }
    int failed = 0;
    for (int i = 0; i < 64; i++) {
        post(PEER, TAG, LONG);
        failed += end_all();
    }
    ck_assert_int_eq(failed, 64);
    require_well();

    /* One that is posted when the reserve is used up. */
    post(PEER, TAG + 1, LONG);
    for (int i = 0; i < 65; i++) {
        side_fail_at = -1;
        eager_comes(0, TAG, MIDDLE);
        side_fail_at = 0;
    }
    ck_assert_int_eq(end_all(), 1);
    side_stop();
}
END_TEST

static void setup(void)
{
    for (int i = 0; i < LONG; i++)
        sent[i] = (unsigned char)i;
}

static const unit_test_t tests[] = {
    {.test = &each_allocation_may_fail, .repeats = OPAL_COUNT_OF(scenarios)},
    {.test = &so_may_that_of_a_peer},
    {.test = &without_any_memory_nobody_waits_for_ever},
};

UNIT_MAIN("memory", tests, setup);
