/* SPDX-License-Identifier: BSD-3-Clause */
/* opal/roll/cause.c: what is said to be wrong, and what must not be said. */
#include "test/unit/opal/roll/job.h"

#define RECEIVE(peer, tag) "receive comm=0 peer=" #peer " process=" #peer " tag=" #tag " bytes=4"
#define MESSAGE(peer, tag) "\nmessage comm=0 peer=" #peer " process=" #peer " tag=" #tag " bytes=4"
#define NAMED              "\ncomm id=0 rank=0 size=3 calls=0 members=0-2 name=MPI_COMM_WORLD"

START_TEST(a_cycle_of_receives)
{
    job_add(0, "wait call=MPI_Recv\n" RECEIVE(1, 7) NAMED);
    job_add(1, "wait call=MPI_Recv\n" RECEIVE(2, 7) NAMED);
    job_add(2, "wait call=MPI_Recv\n" RECEIVE(0, 7) NAMED);
    job_says("  - a cycle: rank 0 (MPI_Recv), which waits for rank 1 (MPI_Recv), which waits for "
             "rank 2 (MPI_Recv), which waits for rank 0\n",
             job_causes());
}
END_TEST

START_TEST(a_rank_that_waits_for_itself)
{
    job_add(0, "wait call=MPI_Recv\n" RECEIVE(0, 7) NAMED);
    job_says("  - rank 0 waits for itself (MPI_Recv)\n", job_causes());
}
END_TEST

/* A rank that computes may send: there is no cycle through it. */
START_TEST(no_cycle_through_a_rank_that_computes)
{
    job_add(0, "wait call=MPI_Recv\n" RECEIVE(1, 7) NAMED);
    job_add(1, NULL);
    job_says("  - rank 0 waits for rank 1, which is outside of MPI: it computes, 1.5 s of CPU so "
             "far\n",
             job_causes());
}
END_TEST

START_TEST(a_message_with_another_tag)
{
    job_add(0, "wait call=MPI_Recv\n" RECEIVE(1, 7) MESSAGE(1, 8) NAMED);
    job_add(1, "wait call=MPI_Recv\n" RECEIVE(0, 1) NAMED);
    job_says("  - rank 1 has sent tag 8 to rank 0, which waits for tag 7 from rank 1 (MPI_Recv)\n",
             job_causes());
}
END_TEST

/* The nearest one counts: another tag is nearer than another source. */
START_TEST(the_message_that_is_nearest)
{
    job_add(0, "wait call=MPI_Recv\n" RECEIVE(1, 7) MESSAGE(2, 7) MESSAGE(1, 9) NAMED);
    job_add(1, "wait call=MPI_Recv\n" RECEIVE(0, 1) NAMED);
    job_add(2, "wait call=MPI_Recv\n" RECEIVE(0, 1) NAMED);
    job_says("  - rank 1 has sent tag 9 to rank 0, which waits for tag 7 from rank 1 (MPI_Recv)\n",
             job_causes());
}
END_TEST

START_TEST(a_message_that_nobody_wants)
{
    job_add(0, "wait call=MPI_Recv\n" RECEIVE(0, 7) MESSAGE(1, 8) MESSAGE(1, 9) NAMED);
    job_add(1, NULL);
    job_says("  - rank 0 waits for itself (MPI_Recv)\n"
             "  - rank 0 has no receive for what rank 1 has sent it with tag 8 on MPI_COMM_WORLD, "
             "and for 1 more messages\n",
             job_causes());
}
END_TEST

START_TEST(a_rank_that_is_missing)
{
    job_add(0, "wait call=MPI_Barrier\ncollective comm=0 number=5" JOB_WORLD(2, 5, "MPI_Barrier"));
    job_add(1, "wait call=MPI_Recv\n" RECEIVE(0, 7) JOB_WORLD(2, 4, "MPI_Barrier"));
    job_add(2, "wait call=MPI_Barrier\ncollective comm=0 number=5" JOB_WORLD(2, 5, "MPI_Barrier"));
    job_says("  - rank 1 is not in MPI_Barrier on MPI_COMM_WORLD with ranks 0, 2: it waits in "
             "MPI_Recv from rank 0, tag 7, on MPI_COMM_WORLD\n",
             job_causes());
}
END_TEST

/* The rank has begun the call, and waits for something else: it is not missing. */
START_TEST(a_rank_that_has_left_the_call_is_not_missing)
{
    job_add(0, "wait call=MPI_Reduce\ncollective comm=0 number=5" JOB_WORLD(2, 5, "MPI_Reduce"));
    job_add(1, "wait call=MPI_Recv\n" RECEIVE(0, 7) JOB_WORLD(2, 5, "MPI_Reduce"));
    job_add(2, "wait call=MPI_Recv\n" RECEIVE(0, 7) JOB_WORLD(2, 4, "MPI_Bcast"));
    job_says("  - rank 2 is not in MPI_Reduce on MPI_COMM_WORLD with rank 0: it waits in MPI_Recv "
             "from rank 0, tag 7, on MPI_COMM_WORLD\n",
             job_causes());
}
END_TEST

/* What does not wait does not say whether it has done its part. */
START_TEST(ranks_that_may_be_missing)
{
    job_add(0, "wait call=MPI_Reduce\ncollective comm=0 number=5" JOB_WORLD(2, 5, "MPI_Reduce"));
    job_add(1, NULL);
    job_add(2, NULL);
    job_says("  - MPI_Reduce on MPI_COMM_WORLD with rank 0 waits for one or more of ranks 1, 2, "
             "which are outside of MPI\n",
             job_causes());
}
END_TEST

/* A text that is cut may have left out the communicator. */
START_TEST(a_rank_whose_text_is_cut_is_not_accused)
{
    job_add(0, "wait call=MPI_Barrier\ncollective comm=0 number=5" JOB_WORLD(2, 5, "MPI_Barrier"));
    job_add(1, "wait call=MPI_Recv\nleft lines");
    job_add(2, "wait call=MPI_Recv\nleft lines");
    char *told = job_causes();
    ck_assert_ptr_null(strstr(told, "is not in"));
    free(told);
}
END_TEST

START_TEST(collectives_that_differ)
{
    job_add(0, "wait call=MPI_Allreduce\ncollective comm=0 number=5" JOB_WORLD(
                   2, 5, "MPI_Bcast:0:4,MPI_Allreduce:-:8"));
    job_add(1, "wait call=MPI_Barrier\ncollective comm=0 number=6" JOB_WORLD(
                   2, 6, "MPI_Bcast:1:4,MPI_Barrier"));
    job_add(2, "wait call=MPI_Barrier\ncollective comm=0 number=6" JOB_WORLD(
                   2, 6, "MPI_Bcast:1:4,MPI_Barrier"));
    job_says("  - collective 5 of MPI_COMM_WORLD differs: rank 0 has MPI_Allreduce, ranks 1, 2 "
             "have MPI_Bcast\n",
             job_causes());
}
END_TEST

START_TEST(roots_and_sizes_that_differ)
{
    job_add(0, "wait call=MPI_Bcast\ncollective comm=0 number=1" JOB_WORLD(1, 1, "MPI_Bcast:0:4"));
    job_add(1, "wait call=MPI_Bcast\ncollective comm=0 number=1" JOB_WORLD(1, 1, "MPI_Bcast:1:4"));
    job_says("  - collective 1 of MPI_COMM_WORLD differs: rank 0 has MPI_Bcast with root 0, rank 1 "
             "has MPI_Bcast with root 1\n",
             job_causes());
    job_add(0, "wait call=MPI_Bcast\ncollective comm=0 number=1" JOB_WORLD(1, 1, "MPI_Bcast:0:4"));
    job_add(1, "wait call=MPI_Bcast\ncollective comm=0 number=1" JOB_WORLD(1, 1, "MPI_Bcast:0:8"));
    job_says("  - collective 1 of MPI_COMM_WORLD differs: rank 0 has MPI_Bcast of 4 bytes, rank 1 "
             "has MPI_Bcast of 8 bytes\n",
             job_causes());
}
END_TEST

/* Communicators with the same number and other members are other communicators. */
START_TEST(the_same_number_of_two_communicators)
{
    static const char *const even = "wait call=MPI_Barrier\ncollective comm=9 number=1\n"
                                    "comm id=9 rank=0 size=2 calls=1 recent=MPI_Barrier:- "
                                    "members=0,2 name=even";
    job_add(0, even);
    job_add(1, "wait call=MPI_Bcast\ncollective comm=9 number=1\ncomm id=9 rank=0 size=2 calls=1 "
               "recent=MPI_Bcast:0:4 members=1,3 name=odd");
    job_add(2, even);
    job_add(3, "wait call=MPI_Bcast\ncollective comm=9 number=1\ncomm id=9 rank=0 size=2 calls=1 "
               "recent=MPI_Bcast:0:4 members=1,3 name=odd");
    job_says("", job_causes());
}
END_TEST

START_TEST(a_rank_that_has_finalized)
{
    job_add(0, "wait call=MPI_Recv\n" RECEIVE(1, 7) NAMED);
    opal_story_add_absent(&job_story, "job", 1, OPAL_STORY_FINALIZED, 101);
    job_says("  - rank 0 waits for rank 1, which has called MPI_Finalize\n", job_causes());
}
END_TEST

/* All of 100 mistakes are counted, and a page is printed. */
START_TEST(many_mistakes)
{
    for (unsigned i = 0; i < 100; i++) {
        char *text = opal_xprintf("wait call=MPI_Recv\nreceive comm=0 peer=%u process=%u tag=7 "
                                  "bytes=4" NAMED,
                                  i, i);
        job_add(i, text);
        free(text);
    }
    char *told = job_causes();
    ck_assert_ptr_nonnull(strstr(told, "and 88 more\n"));
    free(told);
}
END_TEST

static const unit_test_t tests[] = {
    {&a_cycle_of_receives, 0, 0, 0},
    {&a_rank_that_waits_for_itself, 0, 0, 0},
    {&no_cycle_through_a_rank_that_computes, 0, 0, 0},
    {&a_message_with_another_tag, 0, 0, 0},
    {&the_message_that_is_nearest, 0, 0, 0},
    {&a_message_that_nobody_wants, 0, 0, 0},
    {&a_rank_that_is_missing, 0, 0, 0},
    {&a_rank_that_has_left_the_call_is_not_missing, 0, 0, 0},
    {&ranks_that_may_be_missing, 0, 0, 0},
    {&a_rank_whose_text_is_cut_is_not_accused, 0, 0, 0},
    {&collectives_that_differ, 0, 0, 0},
    {&roots_and_sizes_that_differ, 0, 0, 0},
    {&the_same_number_of_two_communicators, 0, 0, 0},
    {&a_rank_that_has_finalized, 0, 0, 0},
    {&many_mistakes, 0, 0, 0},
};

UNIT_MAIN("cause", tests, NULL);
