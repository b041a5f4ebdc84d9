/* SPDX-License-Identifier: BSD-3-Clause */
/* Peer failure: which requests fail, also when there is no memory for the messages of a rank. */
#include "test/unit/ompi/mca/pml/ob1/side.h"

#include <string.h>

#include "opal/progress/wait.h"

#include "test/unit/opal/support.h"

enum { PEER = 1, OTHER = 2, TAG = 7, LENGTH = 8 };

static unsigned char got[LENGTH];

static ompi_request_t *post(int source)
{
    ompi_route_t from = side_route(source, TAG);
    ompi_data_t data = side_data(got, LENGTH);
    ompi_request_t *request;
    ck_assert_int_eq(side_pml->irecv(&from, &data, &request), MPI_SUCCESS);
    return request;
}

static int finish(ompi_request_t *request)
{
    ck_assert(ompi_request_is_done(request));
    return ompi_request_finish(&request, MPI_STATUS_IGNORE);
}

static int probe(int source)
{
    bool found;
    ompi_route_t from = side_route(source, TAG);
    return side_pml->iprobe(&from, &found, NULL, MPI_STATUS_IGNORE);
}

static int send_to(int rank)
{
    ompi_route_t to = side_route(rank, TAG);
    ompi_data_t data = side_data(got, LENGTH);
    return side_pml->send(&to, &data, OMPI_SEND_STANDARD);
}

static void message_comes(unsigned rank)
{
    unsigned char frame[sizeof(ob1_match_t) + LENGTH] = {0};
    ob1_match_t head = {0, (int)rank, TAG};
    memcpy(frame, &head, sizeof head);
    side_deliver(rank, OB1_EAGER, frame, sizeof frame);
}

/* Nothing was sent to it before, nor came from there. */
START_TEST(a_stranger_dies)
{
    ompi_request_t *any = post(MPI_ANY_SOURCE), *other = post(OTHER);
    side_fail(PEER, OPAL_ERR_DISCONNECTED);
    ck_assert_int_eq(finish(any), MPI_ERR_PROC_ABORTED);
    ck_assert(!ompi_request_is_done(other));
    ck_assert_int_eq(probe(MPI_ANY_SOURCE), MPI_ERR_PROC_ABORTED);
    ck_assert_int_eq(probe(OTHER), MPI_SUCCESS);
    message_comes(OTHER);
    ck_assert_int_eq(finish(other), MPI_SUCCESS);
    side_stop();
}
END_TEST

START_TEST(a_stranger_leaves)
{
    ompi_request_t *any = post(MPI_ANY_SOURCE);
    side_leave(PEER);
    ck_assert(!ompi_request_is_done(any));
    ck_assert_int_eq(probe(PEER), MPI_SUCCESS);
    ck_assert_int_eq(send_to(PEER), MPI_SUCCESS); /* and is lost */
    message_comes(OTHER);
    ck_assert_int_eq(finish(any), MPI_SUCCESS);
    side_stop();
}
END_TEST

/* There was no memory to note it: whoever has to do with that rank next finds it dead, and all who
 * wait for it learn it then. */
START_TEST(a_stranger_dies_without_memory)
{
    ompi_request_t *any = post(MPI_ANY_SOURCE);
    side_fail_at = -1;
    side_fail(PEER, OPAL_ERR_DISCONNECTED);
    side_fail_at = 0;
    ck_assert(!ompi_request_is_done(any));
    if (_i == 0)
        ck_assert_int_eq(send_to(PEER), MPI_ERR_PROC_ABORTED);
    else if (_i == 1)
        ck_assert_int_eq(finish(post(PEER)), MPI_ERR_PROC_ABORTED);
    else
        side_deliver(PEER, OB1_CREDIT, got, 0); /* it finds the rank, and is no frame */
    side_progress();
    ck_assert_int_eq(finish(any), MPI_ERR_PROC_ABORTED);
    side_stop();
}
END_TEST

/* The same by a message that has to be kept, where nobody can be told at once. */
START_TEST(a_message_of_the_dead_is_kept)
{
    side_fail_at = -1;
    side_fail(PEER, OPAL_ERR_DISCONNECTED);
    side_fail_at = 0;
    message_comes(PEER);
    ompi_request_t *any = post(MPI_ANY_SOURCE);
    ck_assert_int_eq(finish(any), MPI_SUCCESS);
    ck_assert_int_eq(finish(post(PEER)), MPI_ERR_PROC_ABORTED);
    side_stop();
}
END_TEST

/* What a transport has no memory for ends so, now and later. */
START_TEST(for_want_of_memory)
{
    ompi_request_t *before = post(PEER);
    side_fail(PEER, OPAL_ERR_NO_MEMORY);
    ck_assert_int_eq(finish(before), MPI_ERR_NO_MEM);
    ck_assert_int_eq(finish(post(PEER)), MPI_ERR_NO_MEM);
    ck_assert_int_eq(finish(post(MPI_ANY_SOURCE)), MPI_ERR_NO_MEM);
    ck_assert_int_eq(probe(PEER), MPI_ERR_NO_MEM);
    ck_assert_int_eq(send_to(PEER), MPI_ERR_NO_MEM);
    side_stop();
}
END_TEST

/* A message of the peer's comes that there is no memory for. */
static int starve(void *state OPAL_UNUSED)
{
    side_fail_at = -1;
    message_comes(PEER);
    side_fail_at = 0;
    return 1;
}

/* With the reserve used up. */
START_TEST(a_starved_probe_ends)
{
    ompi_route_t from = side_route(PEER, TAG + 1);
    message_comes(PEER);
    ck_assert_int_eq(opal_progress_add(starve, NULL), OPAL_SUCCESS);
    ck_assert_int_eq(side_pml->probe(&from, NULL, MPI_STATUS_IGNORE), MPI_ERR_NO_MEM);
    opal_progress_remove(starve, NULL);
    side_stop();
}
END_TEST

/* Another job's: nothing is kept of it, and it may be met again. */
START_TEST(a_process_is_forgotten)
{
    opal_process_t *process = opal_process(PEER);
    ompi_communicator_t later = side_comm;
    later.context = 3;
    ob1_match_t head = {ompi_comm_wire_context(&later, OMPI_CONTEXT_USER), PEER, TAG};
    side_deliver(PEER, OB1_EAGER, &head, sizeof head);
    side_is_full = true;
    ob1_ack_t ack = {1};
    ob1_control_t control = {.done = NULL};
    ck_assert(!ob1_peer_send_control(ob1_peer(process), OB1_MATCH_ACK, &ack, sizeof ack, &control));
    ob1_peer_forget(process);
    side_is_full = false;
    ck_assert_ptr_null(ob1_known_peer(PEER));
    side_progress();
    ck_assert_ptr_null(side_next_sent());
    ck_assert_int_eq(side_pml->comm_add(&later), MPI_SUCCESS);
    ompi_route_t any = {&later, OMPI_CONTEXT_USER, MPI_ANY_SOURCE, MPI_ANY_TAG};
    bool found;
    ck_assert_int_eq(side_pml->iprobe(&any, &found, NULL, MPI_STATUS_IGNORE), MPI_SUCCESS);
    ck_assert(!found);
    side_pml->comm_remove(&later);
    ck_assert_int_eq(send_to(PEER), MPI_SUCCESS);
    side_stop();
}
END_TEST

static const unit_test_t tests[] = {
    {.test = &a_stranger_dies},
    {.test = &a_stranger_leaves},
    {.test = &a_stranger_dies_without_memory, .repeats = 3},
    {.test = &a_message_of_the_dead_is_kept},
    {.test = &for_want_of_memory},
    {.test = &a_starved_probe_ends},
    {.test = &a_process_is_forgotten},
};

UNIT_MAIN("peer_failure", tests, side_start);
