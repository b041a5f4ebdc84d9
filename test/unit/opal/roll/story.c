/* SPDX-License-Identifier: BSD-3-Clause */
/* opal/roll/story.c: what the lines of a text mean. */
#include "opal/util/hex.h"
#include "opal/util/sha256.h"
#include "test/unit/opal/roll/job.h"

START_TEST(an_operation)
{
    job_add(0, "wait call=MPI_Wait place=0x1234 open=2\n"
               "receive comm=3 peer=1 process=1 tag=8 bytes=400 state=its data is on the way\n"
               "send comm=3 peer=any tag=any\n"
               "needs operations=1\nleft operations=5\nunheard of=1");
    job_add(1, NULL);
    job_finish();
    const opal_story_wait_t *wait = &job_story.ranks[0].waits[0];
    ck_assert_str_eq(wait->call, "MPI_Wait");
    ck_assert_uint_eq(wait->place, 0x1234);
    ck_assert_uint_eq(wait->needs, 1);
    ck_assert_uint_eq(wait->left_out, 5);
    ck_assert_uint_eq(wait->count, 2);
    ck_assert_uint_eq(wait->operations[0].comm, 3);
    ck_assert_int_eq(wait->operations[0].who, 1);
    ck_assert_int_eq(wait->operations[0].tag, 8);
    ck_assert_uint_eq(wait->operations[0].bytes, 400);
    ck_assert_str_eq(wait->operations[0].state, "its data is on the way");
    ck_assert_int_eq(wait->operations[1].who, OPAL_STORY_ANY);
    ck_assert_int_eq(wait->operations[1].tag, OPAL_STORY_ANY);
    ck_assert_uint_eq(wait->operations[1].bytes, UINT64_MAX);
    ck_assert(!job_story.ranks[0].is_cut);
    opal_story_free(&job_story);
}
END_TEST

START_TEST(a_communicator)
{
    job_add(0, "wait call=MPI_Recv\ncomm id=7 rank=1 size=4 calls=9 recent=MPI_Bcast:2:16,"
               "MPI_Barrier:-,MPI_Scan:-:8 members=1-3,0 remote=9 name=the ocean's ranks");
    for (unsigned i = 1; i < 4; i++)
        job_add(i, NULL);
    job_finish();
    const opal_story_comm_t *comm = opal_story_comm(&job_story.ranks[0], 7);
    ck_assert_str_eq(comm->name, "the ocean's ranks");
    ck_assert_uint_eq(comm->member_count, 5);
    ck_assert_int_eq(comm->members[0], 1);
    ck_assert_int_eq(comm->members[3], 0);
    ck_assert_int_eq(comm->members[4], OPAL_STORY_UNKNOWN);
    ck_assert(comm->is_inter);
    const opal_story_call_t *call = opal_story_call(&job_story.ranks[0], 7, 7);
    ck_assert_str_eq(call->name, "MPI_Bcast");
    ck_assert_int_eq(call->root, 2);
    ck_assert_uint_eq(call->bytes, 16);
    call = opal_story_call(&job_story.ranks[0], 7, 8);
    ck_assert_int_eq(call->root, OPAL_STORY_UNKNOWN);
    ck_assert_uint_eq(call->bytes, UINT64_MAX);
    ck_assert_str_eq(opal_story_call(&job_story.ranks[0], 7, 9)->name, "MPI_Scan");
    ck_assert_ptr_null(opal_story_call(&job_story.ranks[0], 7, 6));
    ck_assert_ptr_null(opal_story_call(&job_story.ranks[0], 7, 10));
    ck_assert_ptr_null(opal_story_call(&job_story.ranks[0], 8, 9));
    opal_story_free(&job_story);
}
END_TEST

/* A process of another job is named by the tag of the job. */
START_TEST(a_rank_of_another_job)
{
    unsigned char digest[OPAL_SHA256_BYTES];
    char tag[17];
    opal_census_process_t other = {.pid = 9, .rank = 5, .job_id = "other", .state = 'R'};
    opal_sha256("other", strlen("other"), digest);
    opal_hex_print(tag, digest, 8);
    char *text = opal_xprintf("wait call=MPI_Recv\nreceive comm=0 peer=0 process=5@%s tag=1", tag);
    job_add(0, text);
    opal_story_add(&job_story, &other);
    free(text);
    job_finish();
    ck_assert_int_eq(job_story.ranks[0].waits[0].operations[0].who, 1);
    ck_assert(job_story.has_several_jobs);
    opal_story_free(&job_story);
}
END_TEST

START_TEST(whether_a_rank_has_begun_a_call)
{
    job_add(0, "wait call=MPI_Recv\ncomm id=0 calls=3 members=0-3 name=w");
    job_add(1, "wait call=MPI_Recv\nleft lines");
    job_add(2, NULL);
    job_add(3, "wait call=MPI_Recv");
    job_finish();
    const opal_story_rank_t *ranks = job_story.ranks;
    ck_assert_int_eq(opal_story_part(&ranks[0], 0, 3), OPAL_STORY_HAS_BEGUN);
    ck_assert_int_eq(opal_story_part(&ranks[0], 0, 4), OPAL_STORY_HAS_NOT_BEGUN);
    ck_assert_int_eq(opal_story_part(&ranks[1], 0, 1), OPAL_STORY_MAY_HAVE_BEGUN);
    ck_assert_int_eq(opal_story_part(&ranks[2], 0, 1), OPAL_STORY_MAY_HAVE_BEGUN);
    ck_assert_int_eq(opal_story_part(&ranks[3], 0, 1), OPAL_STORY_HAS_NOT_BEGUN);
    opal_story_free(&job_story);
}
END_TEST

/* Each beginning of a text, which a writer may have left: nothing is read outside of it. */
START_TEST(texts_that_are_cut)
{
    static const char whole[] =
        "wait call=MPI_Waitall place=0x12 open=1\nreceive comm=0 peer=1 process=1@0123456789abcdef "
        "tag=8\nneeds operations=1\ncomm id=0 calls=1 recent=MPI_Bcast:1:4,MPI_Scan:-:8 "
        "members=0-1,3@0123456789abcdef,9-1 remote=1-2 name=x y";
    for (size_t length = 0; length < sizeof whole; length++) {
        char *text = opal_xstrndup(whole, length);
        job_add(0, text);
        job_add(1, NULL);
        free(text);
        job_finish();
        free(opal_report_text(&job_story));
        opal_story_free(&job_story);
    }
}
END_TEST

static const unit_test_t tests[] = {
    {&an_operation, 0, 0, 0},          {&a_communicator, 0, 0, 0},
    {&a_rank_of_another_job, 0, 0, 0}, {&whether_a_rank_has_begun_a_call, 0, 0, 0},
    {&texts_that_are_cut, 0, 0, 0},
};

UNIT_MAIN("story", tests, NULL);
