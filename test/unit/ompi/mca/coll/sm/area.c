/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * ompi/mca/coll/sm/area.c: which memory a communicator gets, and when it gets that of another one.
 * Both ranks of each communicator are in this process; rank 0 joins first, and what it sends waits
 * for rank 1. The segment is this test's.
 */
#include <stdlib.h>
#include <string.h>

#include "ompi/mca/coll/sm/sm.h"
#include "test/unit/ompi/fake_pml.h"
#include "test/unit/opal/node/fake_segment.h"
#include "test/unit/opal/support.h"

enum { RANKS = 2, SHORT = 1024, LONG = 64 << 10, SMALL = 4 << 10 };

/* -- messages ------------------------------------------------------------------------------ */

static char sent[64];

static int begin_message(message_t *message)
{
    size_t bytes = message->data.count;
    ck_assert_uint_le(bytes, sizeof sent);
    if (message->sends)
        memcpy(sent, message->data.buffer, bytes);
    else
        memcpy((void *)message->data.buffer, sent, bytes);
    ompi_request_complete(&message->request);
    return MPI_SUCCESS;
}

/* -- communicators ------------------------------------------------------------------------- */

typedef struct job {
    ompi_communicator_t comms[RANKS];
    sm_comm_t *ranks[RANKS];
} job_t;

static void setup(void)
{
    ck_assert_int_eq(ompi_datatype_init(), MPI_SUCCESS);
    ompi_pml = &fake_pml;
}

/* A job that has left may join again. */
static void join(job_t *job, size_t max_bytes)
{
    for (int rank = 0; rank < RANKS; rank++) {
        ompi_communicator_t *comm = &job->comms[rank];
        free(job->ranks[rank]);
        sm_comm_t *self = calloc(1, sizeof *self + RANKS * sizeof self->peers[0]);
        *comm = (ompi_communicator_t){.rank = rank, .size = RANKS, .local = comm};
        *self = (sm_comm_t){.comm = comm, .rank = rank, .size = RANKS, .max_bytes = max_bytes};
        job->ranks[rank] = self;
        ck_assert_int_eq(sm_area_join(self), MPI_SUCCESS);
    }
    ck_assert_ptr_eq(job->ranks[0]->area, job->ranks[1]->area);
    ck_assert_ptr_eq(job->ranks[0]->room, job->ranks[1]->room);
    ck_assert_int_eq(job->ranks[0]->stage, job->ranks[1]->stage);
    if (job->ranks[0]->stage == SM_READY)
        ck_assert_uint_eq(job->ranks[0]->max_bytes, job->ranks[1]->max_bytes);
}

/* The rows of all ranks, and one for the result, in two halves. */
static size_t end_of(const job_t *job)
{
    const sm_comm_t *self = job->ranks[0];
    return (size_t)(self->room - segment) + (RANKS + 1) * 2 * self->room_bytes;
}

static bool has_area_of(const job_t *job, const sm_area_t *area)
{
    return job->ranks[0]->area == area;
}

/* -- tests --------------------------------------------------------------------------------- */

START_TEST(areas_lie_apart_in_the_segment)
{
    static job_t first, second;
    join(&first, SHORT);
    ck_assert_int_eq(first.ranks[0]->stage, SM_READY);
    ck_assert_uint_ge(first.ranks[0]->room_bytes, SHORT);
    ck_assert_uint_le(end_of(&first), carved);
    join(&second, LONG);
    ck_assert_uint_ge((size_t)((char *)second.ranks[0]->area - segment), end_of(&first));
    ck_assert_uint_le(end_of(&second), carved);
}
END_TEST

/* The slowest rank may read it after the others have freed the communicator. */
START_TEST(an_area_is_used_again_when_all_have_left)
{
    static job_t first, second, third;
    join(&first, SHORT);
    sm_area_t *area = first.ranks[0]->area;
    atomic_store(&area->counters[0][3].count, 77);
    sm_area_leave(first.ranks[0]);
    join(&second, SHORT);
    ck_assert(!has_area_of(&second, area));
    sm_area_leave(first.ranks[1]);
    sm_area_leave(first.ranks[1]); /* it has none any more */
    join(&third, SHORT);
    ck_assert(has_area_of(&third, area));
    ck_assert_uint_eq(atomic_load(&area->counters[0][3].count), 0);
    ck_assert_int_eq(atomic_load(&area->shared.left), 0);
}
END_TEST

static void leave(job_t *job)
{
    for (int rank = 0; rank < RANKS; rank++)
        sm_area_leave(job->ranks[rank]);
}

/* A communicator that gets a larger area uses no more of it than it needs, and the area keeps all
 * of its bytes. */
START_TEST(the_smallest_that_is_large_enough_is_taken)
{
    static job_t large, small, other;
    join(&large, LONG);
    join(&small, SHORT);
    sm_area_t *large_area = large.ranks[0]->area, *small_area = small.ranks[0]->area;
    leave(_i == 0 ? &large : &small);
    leave(_i == 0 ? &small : &large);
    join(&other, SHORT);
    ck_assert(has_area_of(&other, small_area));
    join(&small, SHORT);
    ck_assert(has_area_of(&small, large_area));
    ck_assert_uint_eq(small.ranks[0]->max_bytes, SHORT);
    leave(&other);
    leave(&small);
    join(&large, LONG); /* it still has all of its bytes */
    ck_assert(has_area_of(&large, large_area));
    size_t before = carved;
    join(&other, LONG);
    ck_assert_uint_gt(carved, before);
}
END_TEST

START_TEST(a_small_one_is_better_than_none)
{
    static job_t job;
    join(&job, SMALL);
    limit = carved + (carved - 64); /* for one more like it */
    join(&job, LONG);
    ck_assert_int_eq(job.ranks[0]->stage, SM_READY);
    ck_assert_uint_eq(job.ranks[0]->max_bytes, SMALL);
    ck_assert_uint_le(end_of(&job), limit);
    join(&job, LONG);
    ck_assert_int_eq(job.ranks[0]->stage, SM_DECLINED);
    ck_assert_ptr_null(job.ranks[0]->area);
    sm_area_leave(job.ranks[0]);
}
END_TEST

START_TEST(without_pages_there_is_none)
{
    static job_t job;
    populated = OPAL_ERR_NO_MEMORY;
    join(&job, SHORT);
    ck_assert_int_eq(job.ranks[0]->stage, SM_DECLINED);
    ck_assert_ptr_null(job.ranks[1]->area);
}
END_TEST

static const unit_test_t tests[] = {
    {.test = &areas_lie_apart_in_the_segment},
    {.test = &an_area_is_used_again_when_all_have_left},
    {.test = &the_smallest_that_is_large_enough_is_taken, .repeats = 2},
    {.test = &a_small_one_is_better_than_none},
    {.test = &without_pages_there_is_none},
};

UNIT_MAIN("area", tests, setup);
