/* SPDX-License-Identifier: BSD-3-Clause */
/* ompi/request/pair.c: a send and a receive as one request. The parts complete, in each order, when
 * the test says so. */
#include "ompi/request/pair.h"

#include <stdlib.h>

#include "ompi/request/status.h"
#include "test/unit/opal/support.h"

static int destroyed, cancels;
static ompi_request_t *pair, *sent, *received; /* the parts: valid until they complete */

static void destroy(ompi_object_t *head)
{
    destroyed++;
    free(opal_container_of(head, ompi_request_t, head));
}

/* What ob1 does with a receive that no message has matched: it completes at once. */
static int cancel(ompi_request_t *request)
{
    cancels++;
    ompi_status_set_cancelled(&request->status, true);
    ompi_request_complete(request);
    return MPI_SUCCESS;
}

static const ompi_request_ops_t ops = {.cancel = cancel};

static ompi_request_t *create_part(void)
{
    ompi_request_t *part = malloc(sizeof *part);
    ck_assert_ptr_nonnull(part);
    ompi_request_init(part, &ops, NULL, destroy);
    return part;
}

static void end(ompi_request_t *part, int tag, int error)
{
    ompi_status_set(&part->status, 0, tag, error, (uint64_t)tag);
    ompi_request_complete(part);
}

static void setup(void)
{
    pair = ompi_pair_create(NULL, malloc(1));
    sent = create_part();
    received = create_part();
}

static void add_both(void)
{
    ompi_pair_add(pair, received, true);
    ompi_pair_add(pair, sent, false);
    ompi_pair_seal(pair);
}

static void finish(int error, int tag)
{
    MPI_Status status = {0};
    ck_assert(ompi_request_is_done(pair));
    ck_assert_int_eq(ompi_request_finish(&pair, &status), error);
    ck_assert_int_eq(status.MPI_TAG, tag);
    ck_assert_uint_eq(ompi_status_bytes(&status), (uint64_t)tag);
    ck_assert_int_eq(destroyed, 2);
}

/* 0: the send first; 1: the receive. */
START_TEST(it_is_done_with_the_second_part)
{
    add_both();
    for (int i = 0; i < 2; i++) {
        ck_assert(!ompi_request_is_done(pair));
        ck_assert_int_eq(destroyed, i);
        if (i == _i)
            end(sent, 1, MPI_SUCCESS);
        else
            end(received, 2, MPI_SUCCESS);
    }
    finish(MPI_SUCCESS, 2);
    ck_assert_int_eq(cancels, 0);
}
END_TEST

/* Parts that are done when they are added. The next part may still be added. */
START_TEST(it_is_not_done_before_all_parts_are_there)
{
    end(received, 2, MPI_SUCCESS);
    ompi_pair_add(pair, received, true);
    ck_assert(!ompi_request_is_done(pair));
    end(sent, 1, MPI_SUCCESS);
    ompi_pair_add(pair, sent, false);
    ck_assert(!ompi_request_is_done(pair));
    ompi_pair_seal(pair);
    finish(MPI_SUCCESS, 2);
}
END_TEST

/* The message that is received may be the answer to the one that was not sent. */
START_TEST(a_send_that_fails_cancels_the_receive)
{
    add_both();
    end(sent, 1, MPI_ERR_PROC_ABORTED);
    ck_assert_int_eq(cancels, 1);
    ck_assert(ompi_request_is_done(pair));
    ck_assert_int_eq(ompi_request_finish(&pair, MPI_STATUS_IGNORE), MPI_ERR_PROC_ABORTED);
    ck_assert_int_eq(destroyed, 2);
}
END_TEST

/* Also a send that has failed when it is added. A receive that has ended is not cancelled. */
START_TEST(a_receive_that_has_ended_is_left_alone)
{
    if (_i == 0) {
        add_both();
        end(received, 2, MPI_SUCCESS);
        end(sent, 1, MPI_ERR_OTHER);
    } else {
        ompi_pair_add(pair, received, true);
        end(received, 2, MPI_SUCCESS);
        end(sent, 1, MPI_ERR_OTHER);
        ompi_pair_add(pair, sent, false);
        ompi_pair_seal(pair);
    }
    ck_assert_int_eq(cancels, 0);
    finish(MPI_ERR_OTHER, 2);
}
END_TEST

START_TEST(of_two_errors_the_first_counts)
{
    add_both();
    end(received, 2, MPI_ERR_TRUNCATE);
    ck_assert(!ompi_request_is_done(pair));
    end(sent, 1, MPI_ERR_OTHER);
    finish(MPI_ERR_TRUNCATE, 2);
}
END_TEST

/* MPI_Request_free of an MPI_Isendrecv. */
START_TEST(a_freed_pair_lives_until_both_have_ended)
{
    add_both();
    ck_assert_int_eq(ompi_request_free(&pair), MPI_SUCCESS);
    end(sent, 1, MPI_SUCCESS);
    ck_assert_int_eq(destroyed, 1);
    end(received, 2, MPI_SUCCESS);
    ck_assert_int_eq(destroyed, 2);
}
END_TEST

static const unit_test_t tests[] = {
    {.test = &it_is_done_with_the_second_part, .repeats = 2},
    {.test = &it_is_not_done_before_all_parts_are_there},
    {.test = &a_send_that_fails_cancels_the_receive},
    {.test = &a_receive_that_has_ended_is_left_alone, .repeats = 2},
    {.test = &of_two_errors_the_first_counts},
    {.test = &a_freed_pair_lives_until_both_have_ended},
};

UNIT_MAIN("pair", tests, setup);
