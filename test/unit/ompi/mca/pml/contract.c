/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What every pml promises (ompi/mca/pml/pml.h), held against ob1, and cm over each mtl. A job of
 * one sends to itself; the operations are called as the bodies of MPI's functions call them.
 */
#include "ompi/mca/pml/pml.h"

#include "ompi/api/mpi.h"
#include "ompi/request/status.h"
#include "test/unit/ompi/mca/mtl/chosen.h"

enum { LONG = 300000, ROUNDS = 3 };

static const size_t lengths[] = {0, 1, 64, 5000, LONG};
static char out[LONG], in[LONG];

static ompi_route_t route(ompi_context_t context, int rank, int tag)
{
    return (ompi_route_t){&ompi_comm_world, context, rank, tag};
}

static ompi_data_t bytes(void *buffer, size_t count)
{
    return (ompi_data_t){buffer, count, ompi_datatype_of(MPI_BYTE)};
}

static void fill(size_t seed)
{
    for (size_t i = 0; i < LONG; i++)
        out[i] = (char)(i * 7 + i / 251 + seed);
    memset(in, 0, sizeof in);
}

static ompi_request_t *isend(ompi_context_t context, int tag, size_t count, ompi_send_mode_t mode)
{
    ompi_request_t *request = NULL;
    ompi_route_t to = route(context, 0, tag);
    ompi_data_t data = bytes(out, count);
    ck_assert_int_eq(ompi_pml->isend(&to, &data, mode, &request), MPI_SUCCESS);
    return request;
}

static ompi_request_t *irecv(ompi_context_t context, int rank, int tag, size_t room)
{
    ompi_request_t *request = NULL;
    ompi_route_t from = route(context, rank, tag);
    ompi_data_t data = bytes(in, room);
    ck_assert_int_eq(ompi_pml->irecv(&from, &data, &request), MPI_SUCCESS);
    return request;
}

/* The error of the request, which is gone then. */
static int finish(ompi_request_t *request, MPI_Status *status)
{
    ompi_request_wait(&request, 1, 1);
    return ompi_request_finish(&request, status);
}

static void check_status(const MPI_Status *status, int tag, size_t count)
{
    ck_assert_int_eq(status->MPI_SOURCE, 0);
    ck_assert_int_eq(status->MPI_TAG, tag);
    ck_assert_uint_eq(ompi_status_bytes(status), count);
}

static void check_arrival(ompi_request_t *receive, int tag, size_t count)
{
    MPI_Status status;
    ck_assert_int_eq(finish(receive, &status), MPI_SUCCESS);
    check_status(&status, tag, count);
    ck_assert(memcmp(in, out, count) == 0);
}

/* -- the table ----------------------------------------------------------------------------- */

START_TEST(the_table_is_complete)
{
    const ompi_pml_ops_t *ops = ompi_pml;
    ck_assert_int_ge(ops->max_tag, 32767);
    ck_assert_uint_ge(ops->internal_tags, 1024);
    ck_assert_uint_eq(ops->internal_tags & (ops->internal_tags - 1), 0);
    ck_assert_uint_gt(ops->max_context, 0);
    ck_assert(ops->start != NULL && ops->stop != NULL && ops->flush != NULL && ops->meet != NULL);
    ck_assert(ops->comm_add != NULL && ops->comm_remove != NULL);
    ck_assert(ops->isend != NULL && ops->irecv != NULL && ops->send_init != NULL &&
              ops->recv_init != NULL && ops->send != NULL && ops->recv != NULL);
    ck_assert(ops->iprobe != NULL && ops->probe != NULL && ops->imrecv != NULL);
    ck_assert((ops->try_send_unlocked == NULL) == (ops->try_recv_unlocked == NULL));
    ck_assert((ops->try_send_unlocked == NULL) == (ops->try_irecv_unlocked == NULL));
}
END_TEST

/* -- sends and receives -------------------------------------------------------------------- */

START_TEST(every_length_both_ways_around)
{
    ompi_lock();
    for (size_t i = 0; i < OPAL_COUNT_OF(lengths); i++) {
        fill(i);
        ompi_request_t *receive = irecv(OMPI_CONTEXT_USER, 0, 1, lengths[i]);
        ompi_request_t *send = isend(OMPI_CONTEXT_USER, 1, lengths[i], OMPI_SEND_STANDARD);
        check_arrival(receive, 1, lengths[i]);
        ck_assert_int_eq(finish(send, MPI_STATUS_IGNORE), MPI_SUCCESS);
        fill(i + 1);
        send = isend(OMPI_CONTEXT_USER, 2, lengths[i], OMPI_SEND_STANDARD);
        check_arrival(irecv(OMPI_CONTEXT_USER, MPI_ANY_SOURCE, MPI_ANY_TAG, LONG), 2, lengths[i]);
        ck_assert_int_eq(finish(send, MPI_STATUS_IGNORE), MPI_SUCCESS);
    }
    ompi_unlock();
}
END_TEST

START_TEST(what_is_too_long_is_cut)
{
    MPI_Status status;
    ompi_lock();
    for (size_t i = 1; i < OPAL_COUNT_OF(lengths); i++) {
        fill(i);
        ompi_request_t *receive = irecv(OMPI_CONTEXT_USER, 0, 1, lengths[i] - 1);
        ompi_request_t *send = isend(OMPI_CONTEXT_USER, 1, lengths[i], OMPI_SEND_STANDARD);
        ck_assert_int_eq(finish(receive, &status), MPI_ERR_TRUNCATE);
        ck_assert_int_eq(in[lengths[i] - 1], 0);
        ck_assert_int_eq(finish(send, MPI_STATUS_IGNORE), MPI_SUCCESS);
    }
    ompi_unlock();
}
END_TEST

START_TEST(a_synchronous_send_waits_for_its_match)
{
    ompi_lock();
    for (size_t i = 0; i < OPAL_COUNT_OF(lengths); i++) {
        fill(i);
        ompi_request_t *send = isend(OMPI_CONTEXT_USER, 1, lengths[i], OMPI_SEND_SYNCHRONOUS);
        /* Whatever is on its way before another message has arrived. */
        ompi_request_t *other = isend(OMPI_CONTEXT_USER, 2, 0, OMPI_SEND_STANDARD);
        check_arrival(irecv(OMPI_CONTEXT_USER, 0, 2, 0), 2, 0);
        finish(other, MPI_STATUS_IGNORE);
        ck_assert(!ompi_request_is_done(send));
        check_arrival(irecv(OMPI_CONTEXT_USER, 0, 1, LONG), 1, lengths[i]);
        ck_assert_int_eq(finish(send, MPI_STATUS_IGNORE), MPI_SUCCESS);
    }
    ompi_unlock();
}
END_TEST

/* The type is freed while a request needs it. */
START_TEST(the_type_is_retained)
{
    enum { PIECES = 1000 };
    static int from[2 * PIECES], to[2 * PIECES];
    MPI_Datatype type;
    for (int i = 0; i < 2 * PIECES; i++) {
        from[i] = i + 1;
        to[i] = 0;
    }
    MPI_Type_vector(PIECES, 1, 2, MPI_INT, &type);
    MPI_Type_commit(&type);
    ompi_request_t *send, *receive;
    ompi_route_t self = route(OMPI_CONTEXT_USER, 0, 1);
    ompi_data_t sent = {from, PIECES, ompi_datatype_of(MPI_INT)};
    ompi_data_t received = {to, 1, (void *)type};
    ompi_lock();
    ck_assert_int_eq(ompi_pml->irecv(&self, &received, &receive), MPI_SUCCESS);
    ompi_unlock();
    MPI_Type_free(&type);
    ompi_lock();
    ck_assert_int_eq(ompi_pml->isend(&self, &sent, OMPI_SEND_STANDARD, &send), MPI_SUCCESS);
    ck_assert_int_eq(finish(receive, MPI_STATUS_IGNORE), MPI_SUCCESS);
    ck_assert_int_eq(finish(send, MPI_STATUS_IGNORE), MPI_SUCCESS);
    ompi_unlock();
    for (int i = 0; i < PIECES; i++) {
        ck_assert_int_eq(to[2 * i], i + 1);
        ck_assert_int_eq(to[2 * i + 1], 0);
    }
}
END_TEST

START_TEST(persistent_ones_are_started_again_and_again)
{
    ompi_request_t *send, *receive;
    ompi_route_t self = route(OMPI_CONTEXT_USER, 0, 1);
    ompi_lock();
    for (size_t i = 0; i < OPAL_COUNT_OF(lengths); i++) {
        ompi_data_t sent = bytes(out, lengths[i]), received = bytes(in, LONG);
        ck_assert_int_eq(ompi_pml->send_init(&self, &sent, OMPI_SEND_STANDARD, &send), MPI_SUCCESS);
        ck_assert_int_eq(ompi_pml->recv_init(&self, &received, &receive), MPI_SUCCESS);
        for (size_t round = 0; round < ROUNDS; round++) {
            fill(round);
            ck_assert_int_eq(ompi_request_start(receive), MPI_SUCCESS);
            ck_assert_int_eq(ompi_request_start(send), MPI_SUCCESS);
            ompi_request_t *both[] = {send, receive};
            ompi_request_wait(both, 2, 2);
            ompi_request_t *kept = receive;
            MPI_Status status;
            ck_assert_int_eq(ompi_request_finish(&kept, &status), MPI_SUCCESS);
            ck_assert_ptr_eq(kept, receive);
            check_status(&status, 1, lengths[i]);
            ck_assert(memcmp(in, out, lengths[i]) == 0);
            kept = send;
            ck_assert_int_eq(ompi_request_finish(&kept, MPI_STATUS_IGNORE), MPI_SUCCESS);
        }
        ompi_request_free(&send);
        ompi_request_free(&receive);
    }
    ompi_unlock();
}
END_TEST

START_TEST(the_blocking_forms)
{
    MPI_Status status;
    ompi_route_t self = route(OMPI_CONTEXT_USER, 0, 1);
    ompi_data_t sent = bytes(out, 64), received = bytes(in, LONG);
    fill(1);
    ompi_lock();
    ck_assert_int_eq(ompi_pml->send(&self, &sent, OMPI_SEND_STANDARD), MPI_SUCCESS);
    ck_assert_int_eq(ompi_pml->recv(&self, &received, &status), MPI_SUCCESS);
    ompi_unlock();
    check_status(&status, 1, 64);
    ck_assert(memcmp(in, out, 64) == 0);
}
END_TEST

/* -- matching ------------------------------------------------------------------------------ */

/* A receive of anything gets what was sent in its context, and the other message stays. */
START_TEST(contexts_do_not_mix)
{
    ompi_lock();
    for (ompi_context_t context = 0; context < OMPI_CONTEXT_COUNT; context++) {
        ompi_context_t other = (context + 1) % OMPI_CONTEXT_COUNT;
        fill(context);
        ompi_request_t *sends[] = {isend(other, 1, 10, OMPI_SEND_STANDARD),
                                   isend(context, 1, 20, OMPI_SEND_STANDARD)};
        check_arrival(irecv(context, MPI_ANY_SOURCE, MPI_ANY_TAG, LONG), 1, 20);
        check_arrival(irecv(other, MPI_ANY_SOURCE, MPI_ANY_TAG, LONG), 1, 10);
        for (int i = 0; i < 2; i++)
            finish(sends[i], MPI_STATUS_IGNORE);
    }
    ompi_unlock();
}
END_TEST

START_TEST(tags_up_to_the_largest)
{
    const int tags[] = {0, 1, ompi_pml->max_tag - 1, ompi_pml->max_tag};
    ompi_request_t *sends[OPAL_COUNT_OF(tags)];
    ompi_lock();
    fill(1);
    for (size_t i = 0; i < OPAL_COUNT_OF(tags); i++)
        sends[i] = isend(OMPI_CONTEXT_USER, tags[i], i, OMPI_SEND_STANDARD);
    for (size_t i = OPAL_COUNT_OF(tags); i-- > 0;)
        check_arrival(irecv(OMPI_CONTEXT_USER, 0, tags[i], LONG), tags[i], i);
    for (size_t i = 0; i < OPAL_COUNT_OF(tags); i++)
        finish(sends[i], MPI_STATUS_IGNORE);
    int last = (int)(ompi_pml->internal_tags - 1);
    sends[0] = isend(OMPI_CONTEXT_COLLECTIVE, last, 5, OMPI_SEND_STANDARD);
    check_arrival(irecv(OMPI_CONTEXT_COLLECTIVE, 0, last, LONG), last, 5);
    finish(sends[0], MPI_STATUS_IGNORE);
    ompi_unlock();
}
END_TEST

/* Of several messages, and of several receives, the first that matches. */
START_TEST(in_the_order_of_sending_and_posting)
{
    static char places[2][8];
    ompi_request_t *sends[2], *receives[2];
    ompi_route_t any = route(OMPI_CONTEXT_USER, MPI_ANY_SOURCE, MPI_ANY_TAG);
    ompi_lock();
    fill(1);
    for (size_t i = 0; i < 2; i++)
        sends[i] = isend(OMPI_CONTEXT_USER, 1, i + 1, OMPI_SEND_STANDARD);
    for (size_t i = 0; i < 2; i++) {
        check_arrival(irecv(OMPI_CONTEXT_USER, 0, 1, LONG), 1, i + 1);
        finish(sends[i], MPI_STATUS_IGNORE);
    }
    for (size_t i = 0; i < 2; i++) {
        ompi_data_t data = bytes(places[i], sizeof places[i]);
        ck_assert_int_eq(ompi_pml->irecv(&any, &data, &receives[i]), MPI_SUCCESS);
    }
    for (size_t i = 0; i < 2; i++)
        sends[i] = isend(OMPI_CONTEXT_USER, 1, i + 1, OMPI_SEND_STANDARD);
    for (size_t i = 0; i < 2; i++) {
        MPI_Status status;
        ck_assert_int_eq(finish(receives[i], &status), MPI_SUCCESS);
        check_status(&status, 1, i + 1);
        finish(sends[i], MPI_STATUS_IGNORE);
    }
    ompi_unlock();
}
END_TEST

/* -- probes -------------------------------------------------------------------------------- */

START_TEST(a_probe_leaves_the_message)
{
    MPI_Status status;
    bool found = true;
    ompi_route_t from = route(OMPI_CONTEXT_USER, 0, 1);
    fill(1);
    ompi_lock();
    ck_assert_int_eq(ompi_pml->iprobe(&from, &found, NULL, &status), MPI_SUCCESS);
    ck_assert(!found);
    for (size_t i = 0; i < OPAL_COUNT_OF(lengths); i++) {
        ompi_request_t *send = isend(OMPI_CONTEXT_USER, 1, lengths[i], OMPI_SEND_STANDARD);
        for (int again = 0; again < 2; again++) {
            ck_assert_int_eq(ompi_pml->probe(&from, NULL, &status), MPI_SUCCESS);
            check_status(&status, 1, lengths[i]);
        }
        ck_assert_int_eq(ompi_pml->iprobe(&from, &found, NULL, &status), MPI_SUCCESS);
        ck_assert(found);
        check_arrival(irecv(OMPI_CONTEXT_USER, 0, 1, LONG), 1, lengths[i]);
        finish(send, MPI_STATUS_IGNORE);
    }
    ompi_unlock();
}
END_TEST

/* What a matched probe has taken is no other receive's: that gets the next message. */
START_TEST(a_matched_probe_takes_it)
{
    MPI_Status status;
    ompi_route_t from = route(OMPI_CONTEXT_USER, MPI_ANY_SOURCE, MPI_ANY_TAG);
    ompi_lock();
    for (size_t i = 0; i < OPAL_COUNT_OF(lengths); i++) {
        ompi_message_t *message = NULL;
        ompi_request_t *receive = NULL, *second;
        ompi_data_t data = bytes(in, LONG);
        fill(i);
        ompi_request_t *send = isend(OMPI_CONTEXT_USER, 1, lengths[i], OMPI_SEND_STANDARD);
        ck_assert_int_eq(ompi_pml->probe(&from, &message, &status), MPI_SUCCESS);
        ck_assert_ptr_nonnull(message);
        check_status(&status, 1, lengths[i]);
        second = isend(OMPI_CONTEXT_USER, 2, 3, OMPI_SEND_STANDARD);
        check_arrival(irecv(OMPI_CONTEXT_USER, MPI_ANY_SOURCE, MPI_ANY_TAG, LONG), 2, 3);
        ck_assert_int_eq(ompi_pml->imrecv(message, &data, &receive), MPI_SUCCESS);
        check_arrival(receive, 1, lengths[i]);
        finish(send, MPI_STATUS_IGNORE);
        finish(second, MPI_STATUS_IGNORE);
    }
    ompi_unlock();
}
END_TEST

/* -- beside the lock, cancelling, communicators -------------------------------------------- */

START_TEST(beside_the_lock_it_is_all_or_nothing)
{
    int error = -1;
    MPI_Status status = {.MPI_SOURCE = -7}, untouched = status;
    ompi_route_t self = route(OMPI_CONTEXT_USER, 0, 1);
    ompi_data_t sent = bytes(out, 8), received = bytes(in, 8);
    fill(1);
    if (ompi_pml->try_send_unlocked == NULL)
        return;
    ck_assert(!ompi_pml->try_recv_unlocked(&self, &received, &status, &error));
    ck_assert_int_eq(error, -1);
    ck_assert(memcmp(&status, &untouched, sizeof status) == 0);
    ck_assert_int_eq(in[1], 0);
    if (!ompi_pml->try_send_unlocked(&self, &sent, OMPI_SEND_STANDARD)) {
        ompi_lock();
        ck_assert_int_eq(ompi_pml->send(&self, &sent, OMPI_SEND_STANDARD), MPI_SUCCESS);
        ompi_unlock();
    }
    if (!ompi_pml->try_recv_unlocked(&self, &received, &status, &error)) {
        ompi_lock();
        error = ompi_pml->recv(&self, &received, &status);
        ompi_unlock();
    }
    ck_assert_int_eq(error, MPI_SUCCESS);
    check_status(&status, 1, 8);
    ck_assert(memcmp(in, out, 8) == 0);
}
END_TEST

/* One that is cancelled takes no message. */
START_TEST(a_receive_is_cancelled)
{
    MPI_Status status;
    ompi_lock();
    fill(1);
    ompi_request_t *receive = irecv(OMPI_CONTEXT_USER, 0, 1, LONG);
    ck_assert_int_eq(ompi_request_cancel(receive), MPI_SUCCESS);
    ck_assert_int_eq(finish(receive, &status), MPI_SUCCESS);
    ck_assert(ompi_status_is_cancelled(&status));
    ompi_request_t *send = isend(OMPI_CONTEXT_USER, 1, 9, OMPI_SEND_STANDARD);
    check_arrival(irecv(OMPI_CONTEXT_USER, 0, 1, LONG), 1, 9);
    finish(send, MPI_STATUS_IGNORE);
    ompi_unlock();
}
END_TEST

START_TEST(communicators_come_and_go)
{
    for (char round = 0; round < ROUNDS; round++) {
        MPI_Comm copy;
        MPI_Request requests[2];
        char sent = round, received[2] = {-1, -1};
        ck_assert_int_eq(MPI_Comm_dup(MPI_COMM_WORLD, &copy), MPI_SUCCESS);
        MPI_Irecv(&received[0], 1, MPI_CHAR, 0, 1, MPI_COMM_WORLD, &requests[0]);
        MPI_Irecv(&received[1], 1, MPI_CHAR, 0, 1, copy, &requests[1]);
        MPI_Send(&sent, 1, MPI_CHAR, 0, 1, copy);
        MPI_Wait(&requests[1], MPI_STATUS_IGNORE);
        ck_assert_int_eq(received[1], sent);
        ck_assert_int_eq(received[0], -1);
        MPI_Send(&sent, 1, MPI_CHAR, 0, 1, MPI_COMM_WORLD);
        MPI_Comm_free(&copy);
        MPI_Wait(&requests[0], MPI_STATUS_IGNORE);
        ck_assert_int_eq(received[0], sent);
    }
}
END_TEST

static const unit_test_t tests[] = {
    {.test = &the_table_is_complete},
    {.test = &every_length_both_ways_around},
    {.test = &what_is_too_long_is_cut},
    {.test = &a_synchronous_send_waits_for_its_match},
    {.test = &the_type_is_retained},
    {.test = &persistent_ones_are_started_again_and_again},
    {.test = &the_blocking_forms},
    {.test = &contexts_do_not_mix},
    {.test = &tags_up_to_the_largest},
    {.test = &in_the_order_of_sending_and_posting},
    {.test = &a_probe_leaves_the_message},
    {.test = &a_matched_probe_takes_it},
    {.test = &beside_the_lock_it_is_all_or_nothing},
    {.test = &a_receive_is_cancelled},
    {.test = &communicators_come_and_go},
};

int main(void)
{
    return unit_run_with_each(true, "pml contract", tests, OPAL_COUNT_OF(tests));
}
