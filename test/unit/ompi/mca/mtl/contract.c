/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What every mtl promises (ompi/mca/mtl/mtl.h), held against ofi, and the one of the tests that
 * goes by pml/ob1. The test is in the place of pml/cm, which is there too and idle: a job of one
 * sends to itself.
 */
#include "ompi/mca/mtl/mtl.h"

#include "opal/progress/wait.h"
#include "ompi/api/mpi.h"
#include "ompi/request/status.h"
#include "test/unit/ompi/mca/mtl/chosen.h"

enum { LONG = 300000, ROUNDS = 3 };

static const size_t lengths[] = {0, 1, 64, 5000, LONG};
static char out[LONG], in[LONG];

/* -- what pml/cm does ---------------------------------------------------------------------- */

/* A request in memory that is new, or that `release` has left. */
static void prepare(ompi_mtl_request_t *request, bool is_send, int rank, int tag, size_t count)
{
    ompi_request_init_bare(&request->base, NULL, &ompi_comm_world);
    request->route = (ompi_route_t){&ompi_comm_world, OMPI_CONTEXT_USER, rank, tag};
    request->data = (ompi_data_t){is_send ? out : in, count, ompi_datatype_of(MPI_BYTE)};
    request->is_send = is_send;
    request->mode = OMPI_SEND_STANDARD;
}

static ompi_mtl_request_t *create(bool is_send, int rank, int tag, size_t count)
{
    ompi_mtl_request_t *request = calloc(1, unit_mtl->request_bytes);
    prepare(request, is_send, rank, tag, count);
    return request;
}

static ompi_mtl_request_t *begin_send(int tag, size_t count)
{
    ompi_mtl_request_t *request = create(true, 0, tag, count);
    ck_assert_int_eq(unit_mtl->send(request), MPI_SUCCESS);
    return request;
}

static ompi_mtl_request_t *begin_receive(int rank, int tag)
{
    ompi_mtl_request_t *request = create(false, rank, tag, LONG);
    ck_assert_int_eq(unit_mtl->receive(request), MPI_SUCCESS);
    return request;
}

static MPI_Status wait_for(ompi_mtl_request_t *request)
{
    ompi_request_t *base = &request->base;
    ompi_request_wait(&base, 1, 1);
    return base->status;
}

static MPI_Status finish(ompi_mtl_request_t *request)
{
    MPI_Status status = wait_for(request);
    unit_mtl->release(request);
    free(request);
    return status;
}

static void fill(size_t seed)
{
    for (size_t i = 0; i < LONG; i++)
        out[i] = (char)(i * 7 + i / 251 + seed);
    memset(in, 0, sizeof in);
}

static void check_arrival(const MPI_Status *status, int tag, size_t count)
{
    ck_assert_int_eq(status->MPI_ERROR, MPI_SUCCESS);
    ck_assert_int_eq(status->MPI_SOURCE, 0);
    ck_assert_int_eq(status->MPI_TAG, tag);
    ck_assert_uint_eq(ompi_status_bytes(status), count);
    ck_assert(memcmp(in, out, count) == 0);
}

/* The answer that a probe has now. */
static bool probe(const ompi_route_t *from, ompi_mtl_message_t **message, MPI_Status *status)
{
    bool found = false;
    *status = (MPI_Status){.MPI_ERROR = MPI_SUCCESS};
    ck_assert_int_eq(unit_mtl->probe(from, &found, message, status), MPI_SUCCESS);
    return found;
}

static void await_message(const ompi_route_t *from, ompi_mtl_message_t **message,
                          MPI_Status *status)
{
    while (!probe(from, message, status))
        opal_progress();
}

/* -- the table ----------------------------------------------------------------------------- */

START_TEST(the_table_is_complete)
{
    const ompi_mtl_ops_t *ops = unit_mtl;
    ck_assert_uint_ge(ops->request_bytes, sizeof(ompi_mtl_request_t));
    ck_assert_int_ge(ops->limits.max_tag, 32767);
    ck_assert_uint_gt(ops->limits.internal_tags, 0);
    ck_assert_uint_eq(ops->limits.internal_tags & (ops->limits.internal_tags - 1), 0);
    ck_assert(ops->start != NULL && ops->stop != NULL && ops->flush != NULL && ops->meet != NULL);
    ck_assert(ops->finalize_drain != NULL && ops->send_now != NULL && ops->send != NULL);
    ck_assert(ops->receive != NULL && ops->cancel != NULL && ops->release != NULL);
    ck_assert(ops->probe != NULL && ops->receive_message != NULL && ops->forget_context != NULL);
    ck_assert(ops->describe != NULL);
    ck_assert(ops->describe(0) == NULL || strlen(ops->describe(0)) > 0);
}
END_TEST

/* -- one message at a time ----------------------------------------------------------------- */

START_TEST(every_length_both_ways_around)
{
    ompi_lock();
    for (size_t i = 0; i < OPAL_COUNT_OF(lengths); i++) {
        fill(i);
        ompi_mtl_request_t *receive = begin_receive(0, 1), *send = begin_send(1, lengths[i]);
        MPI_Status status = finish(receive);
        check_arrival(&status, 1, lengths[i]);
        ck_assert_int_eq(finish(send).MPI_ERROR, MPI_SUCCESS);
        fill(i + 1);
        send = begin_send(2, lengths[i]);
        status = finish(begin_receive(MPI_ANY_SOURCE, MPI_ANY_TAG));
        check_arrival(&status, 2, lengths[i]);
        ck_assert_int_eq(finish(send).MPI_ERROR, MPI_SUCCESS);
    }
    ompi_unlock();
}
END_TEST

/* When a later message has arrived, whatever there is to hear of the first one was heard. */
START_TEST(a_synchronous_send_waits_for_its_match)
{
    ompi_lock();
    for (size_t i = 0; i < OPAL_COUNT_OF(lengths); i++) {
        fill(i);
        ompi_mtl_request_t *send = create(true, 0, 1, lengths[i]);
        send->mode = OMPI_SEND_SYNCHRONOUS;
        ck_assert_int_eq(unit_mtl->send(send), MPI_SUCCESS);
        ompi_mtl_request_t *later = begin_send(2, 0);
        finish(begin_receive(0, 2));
        finish(later);
        ck_assert(!ompi_request_is_done(&send->base));
        MPI_Status status = finish(begin_receive(0, 1));
        check_arrival(&status, 1, lengths[i]);
        ck_assert_int_eq(finish(send).MPI_ERROR, MPI_SUCCESS);
    }
    ompi_unlock();
}
END_TEST

START_TEST(the_limits_are_usable)
{
    const ompi_mtl_limits_t *limits = &unit_mtl->limits;
    ompi_lock();
    fill(1);
    ompi_mtl_request_t *send = begin_send(limits->max_tag, 7);
    MPI_Status status = finish(begin_receive(0, limits->max_tag));
    check_arrival(&status, limits->max_tag, 7);
    finish(send);
    int last = (int)(limits->internal_tags - 1);
    send = create(true, 0, last, 7);
    ompi_mtl_request_t *receive = create(false, 0, last, LONG);
    send->route.context = receive->route.context = OMPI_CONTEXT_COLLECTIVE;
    ck_assert_int_eq(unit_mtl->send(send), MPI_SUCCESS);
    ck_assert_int_eq(unit_mtl->receive(receive), MPI_SUCCESS);
    status = finish(receive);
    check_arrival(&status, last, 7);
    finish(send);
    ompi_unlock();
}
END_TEST

/* The memory of a request serves another operation when it was released. */
START_TEST(memory_is_used_again)
{
    ompi_lock();
    ompi_mtl_request_t *send = create(true, 0, 1, LONG), *receive = create(false, 0, 1, LONG);
    for (size_t round = 0; round < ROUNDS; round++) {
        fill(round);
        ck_assert_int_eq(unit_mtl->receive(receive), MPI_SUCCESS);
        ck_assert_int_eq(unit_mtl->send(send), MPI_SUCCESS);
        MPI_Status status = wait_for(receive);
        check_arrival(&status, 1, LONG);
        wait_for(send);
        unit_mtl->release(send);
        unit_mtl->release(receive);
        ompi_mtl_request_t *was_send = send; /* each becomes the other one */
        send = receive;
        receive = was_send;
        prepare(send, true, 0, 1, LONG);
        prepare(receive, false, 0, 1, LONG);
    }
    free(send);
    free(receive);
    ompi_unlock();
}
END_TEST

/* It is over when it returns: the buffer is the caller's. Otherwise nothing was sent. */
START_TEST(what_is_sent_now_is_over)
{
    ompi_route_t self = {&ompi_comm_world, OMPI_CONTEXT_USER, 0, 1};
    MPI_Status status;
    ompi_lock();
    for (size_t i = 0; i < OPAL_COUNT_OF(lengths); i++) {
        static char copy[LONG];
        ompi_data_t data = {copy, lengths[i], ompi_datatype_of(MPI_BYTE)};
        fill(i);
        memcpy(copy, out, LONG);
        if (unit_mtl->send_now(&self, &data)) {
            memset(copy, 0, sizeof copy);
            status = finish(begin_receive(0, 1));
            check_arrival(&status, 1, lengths[i]);
        } else {
            ompi_mtl_request_t *send = begin_send(1, 3); /* would come behind it */
            status = finish(begin_receive(0, 1));
            check_arrival(&status, 1, 3);
            finish(send);
        }
    }
    ompi_unlock();
}
END_TEST

/* -- matching ------------------------------------------------------------------------------ */

START_TEST(in_the_order_of_sending)
{
    ompi_mtl_request_t *sends[2];
    ompi_lock();
    fill(1);
    for (size_t i = 0; i < 2; i++)
        sends[i] = begin_send(1, 10 + i);
    for (size_t i = 0; i < 2; i++) {
        MPI_Status status = finish(begin_receive(MPI_ANY_SOURCE, i == 0 ? MPI_ANY_TAG : 1));
        check_arrival(&status, 1, 10 + i);
        finish(sends[i]);
    }
    ompi_unlock();
}
END_TEST

START_TEST(a_probe_leaves_the_message_or_takes_it)
{
    ompi_route_t any = {&ompi_comm_world, OMPI_CONTEXT_USER, MPI_ANY_SOURCE, MPI_ANY_TAG};
    MPI_Status status;
    ompi_lock();
    ck_assert(!probe(&any, NULL, &status));
    for (size_t i = 0; i < OPAL_COUNT_OF(lengths); i++) {
        ompi_mtl_message_t *message = NULL;
        fill(i);
        ompi_mtl_request_t *send = begin_send(1, lengths[i]);
        await_message(&any, NULL, &status);
        await_message(&any, &message, &status);
        ck_assert_uint_eq(ompi_status_bytes(&status), lengths[i]);
        ck_assert_int_eq(message->route.rank, 0); /* the very source and tag */
        ck_assert_int_eq(message->route.tag, 1);
        ck_assert(message->route.comm == &ompi_comm_world);
        ck_assert(!probe(&any, NULL, &status));
        ompi_mtl_request_t *receive = create(false, 0, 1, LONG);
        ck_assert_int_eq(unit_mtl->receive_message(receive, message), MPI_SUCCESS);
        status = finish(receive);
        check_arrival(&status, 1, lengths[i]);
        finish(send);
    }
    ompi_unlock();
}
END_TEST

START_TEST(a_receive_that_is_cancelled_ends)
{
    ompi_lock();
    fill(1);
    ompi_mtl_request_t *receive = begin_receive(0, 1);
    ck_assert_int_eq(unit_mtl->cancel(receive), MPI_SUCCESS);
    MPI_Status status = finish(receive);
    ck_assert(ompi_status_is_cancelled(&status));
    ompi_mtl_request_t *send = begin_send(1, 5); /* it takes nothing any more */
    status = finish(begin_receive(0, 1));
    check_arrival(&status, 1, 5);
    finish(send);
    ompi_unlock();
}
END_TEST

/* A message for a communicator that has ended is not one of the next with its id. */
START_TEST(what_is_forgotten_comes_to_nobody)
{
    for (char round = 0; round < ROUNDS; round++) {
        MPI_Comm copy;
        int found = 1;
        ck_assert_int_eq(MPI_Comm_dup(MPI_COMM_WORLD, &copy), MPI_SUCCESS);
        MPI_Iprobe(MPI_ANY_SOURCE, MPI_ANY_TAG, copy, &found, MPI_STATUS_IGNORE);
        ck_assert(!found);
        MPI_Send(&round, 1, MPI_CHAR, 0, 1, copy);
        MPI_Probe(0, 1, copy, MPI_STATUS_IGNORE);
        ck_assert_int_eq(MPI_Comm_free(&copy), MPI_SUCCESS);
    }
}
END_TEST

static const unit_test_t tests[] = {
    {.test = &the_table_is_complete},
    {.test = &every_length_both_ways_around},
    {.test = &a_synchronous_send_waits_for_its_match},
    {.test = &the_limits_are_usable},
    {.test = &memory_is_used_again},
    {.test = &what_is_sent_now_is_over},
    {.test = &in_the_order_of_sending},
    {.test = &a_probe_leaves_the_message_or_takes_it},
    {.test = &a_receive_that_is_cancelled_ends},
    {.test = &what_is_forgotten_comes_to_nobody},
};

int main(void)
{
    return unit_run_with_each(false, "mtl contract", tests, OPAL_COUNT_OF(tests));
}
