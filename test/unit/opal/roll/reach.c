/* SPDX-License-Identifier: BSD-3-Clause */
/* opal/roll/reach.c: which ranks never go on, and when nothing moves. */
#include "test/unit/opal/roll/job.h"

#define NAMED      "\ncomm id=0 rank=0 size=3 calls=0 members=0-2 name=MPI_COMM_WORLD"
#define FROM(peer) "wait call=MPI_Recv\nreceive comm=0 peer=" #peer " process=" #peer " tag=1" NAMED
#define FROM_ANY   "wait call=MPI_Recv\nreceive comm=0 peer=any tag=1" NAMED

static void are_stuck(const char *wanted)
{
    char got[8] = "";
    job_finish();
    for (size_t i = 0; i < job_story.count; i++)
        got[i] = job_story.ranks[i].is_stuck ? 'x' : '-';
    ck_assert_str_eq(got, wanted);
    opal_story_free(&job_story);
}

START_TEST(behind_a_rank_that_computes)
{
    job_add(0, FROM(1));
    job_add(1, FROM(2));
    job_add(2, NULL);
    are_stuck("---");
}
END_TEST

START_TEST(behind_a_cycle)
{
    job_add(0, FROM(1));
    job_add(1, FROM(0));
    job_add(2, FROM(0));
    are_stuck("xxx");
}
END_TEST

START_TEST(any_source)
{
    job_add(0, FROM_ANY);
    job_add(1, FROM(0));
    job_add(2, NULL);
    are_stuck("---");
    job_add(0, FROM_ANY);
    job_add(1, FROM(0));
    job_add(2, FROM(1));
    are_stuck("xxx");
}
END_TEST

/* One of two is enough for MPI_Waitany, and both are needed by MPI_Waitall. */
START_TEST(any_or_all)
{
#define BOTH                                                                                       \
    "wait call=MPI_Wait\nreceive comm=0 peer=1 process=1 tag=1\nreceive comm=0 peer=2 process=2 "  \
    "tag=1"
    job_add(0, BOTH "\nneeds operations=1" NAMED);
    job_add(1, FROM(1));
    job_add(2, NULL);
    are_stuck("-x-");
    job_add(0, BOTH "\nneeds operations=2" NAMED);
    job_add(1, FROM(1));
    job_add(2, NULL);
    are_stuck("xx-");
}
END_TEST

START_TEST(a_rank_that_has_ended_sends_nothing)
{
    job_add(0, FROM(1));
    opal_story_add_absent(&job_story, "job", 1, OPAL_STORY_FINALIZED, 1);
    are_stuck("xx");
}
END_TEST

START_TEST(a_call_that_says_nothing_may_end)
{
    job_add(0, "wait call=MPI_Unheard_of");
    job_add(1, FROM(1));
    job_finish();
    ck_assert(job_story.ranks[1].is_stuck);
    opal_story_free(&job_story);
}
END_TEST

static bool hangs(double seconds)
{
    job_finish();
    bool result = opal_story_is_hung(&job_story, seconds);
    opal_story_free(&job_story);
    return result;
}

/* All have waited for half a second. */
START_TEST(what_hangs)
{
    job_add(0, FROM(1));
    job_add(1, FROM(0));
    ck_assert(hangs(0.4));
    job_add(0, FROM(1));
    job_add(1, FROM(0));
    ck_assert(!hangs(0.6));
    job_add(0, FROM(1));
    opal_story_add_absent(&job_story, "job", 1, OPAL_STORY_FINALIZED, 1);
    ck_assert(hangs(0.4));
}
END_TEST

START_TEST(what_does_not_hang)
{
    static const opal_story_state_t states[] = {OPAL_STORY_COMPUTES, OPAL_STORY_STOPPED,
                                                OPAL_STORY_TRACED, OPAL_STORY_STARTING};
    for (size_t i = 0; i < OPAL_COUNT_OF(states); i++) {
        job_add(0, FROM(1));
        job_add(1, FROM(0));
        job_set_state(states[i]);
        ck_assert(!hangs(0.1));
    }
    job_add(0, "wait call=MPI_Comm_accept");
    job_add(1, FROM(0));
    ck_assert(!hangs(0.1));
    job_add(0, "wait call=MPI_Test place=0x0 open=1 computes=1");
    job_add(1, FROM(0));
    ck_assert(!hangs(0.1));
    job_story = (opal_story_t){0};
    ck_assert(!hangs(0.1));
}
END_TEST

/* The story has not all jobs: a rank that it does not have may send, or come. */
START_TEST(ranks_that_nobody_sees)
{
    static const char *const texts[] = {
        "wait call=MPI_Recv\nreceive comm=5 peer=0 process=0@0123456789abcdef tag=7",
        "wait call=MPI_Recv\nreceive comm=5 peer=any tag=7\n"
        "comm id=5 rank=0 members=0 remote=0@0123456789abcdef",
        "wait call=MPI_Barrier\ncollective comm=5 number=1\n"
        "comm id=5 rank=0 calls=1 members=0 remote=0@0123456789abcdef",
    };
    for (size_t i = 0; i < OPAL_COUNT_OF(texts); i++) {
        job_add(0, texts[i]);
        job_add(1, FROM(0));
        ck_assert(!hangs(0.1));
    }
    job_add(0, "wait call=MPI_Recv\nreceive comm=0 peer=1 process=1 tag=7\n"
               "message comm=5 peer=0 process=0@0123456789abcdef tag=3 bytes=4\n"
               "comm id=5 rank=0 members=0 remote=0@0123456789abcdef");
    job_add(1, FROM(0));
    ck_assert(hangs(0.1));
}
END_TEST

START_TEST(loops_that_still_go_round)
{
    job_add(0, FROM(1));
    job_story.ranks[0].waits[0].is_loop = true;
    job_story.ranks[0].waits[0].written_nsec = 10;
    job_finish();
    ck_assert(opal_story_loops_since(&job_story, 10));
    ck_assert(!opal_story_loops_since(&job_story, 11));
    opal_story_free(&job_story);
}
END_TEST

static const unit_test_t tests[] = {
    {&behind_a_rank_that_computes, 0, 0, 0},
    {&behind_a_cycle, 0, 0, 0},
    {&any_source, 0, 0, 0},
    {&any_or_all, 0, 0, 0},
    {&a_rank_that_has_ended_sends_nothing, 0, 0, 0},
    {&a_call_that_says_nothing_may_end, 0, 0, 0},
    {&what_hangs, 0, 0, 0},
    {&what_does_not_hang, 0, 0, 0},
    {&ranks_that_nobody_sees, 0, 0, 0},
    {&loops_that_still_go_round, 0, 0, 0},
};

UNIT_MAIN("reach", tests, NULL);
