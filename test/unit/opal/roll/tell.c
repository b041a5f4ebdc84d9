/* SPDX-License-Identifier: BSD-3-Clause */
/* opal/roll/tell.c: groups of ranks, in words. */
#include "opal/include/clock.h"
#include "test/unit/opal/roll/job.h"

#define WORLD "\ncomm id=0 rank=0 size=3 calls=0 members=0-2 name=MPI_COMM_WORLD"

START_TEST(calls_in_words)
{
    static const struct {
        const char *text, *wanted;
    } rows[] = {
        {"wait call=MPI_Recv\nreceive comm=0 peer=any tag=any" WORLD,
         "MPI_Recv from any rank, any tag, on MPI_COMM_WORLD"},
        {"wait call=MPI_Ssend\nsend comm=0 peer=0 process=0 tag=3 bytes=12" WORLD,
         "MPI_Ssend of 12 bytes to rank 0, tag 3, on MPI_COMM_WORLD"},
        {"wait call=MPI_Wait\nsend comm=0 peer=0 process=0 tag=3 bytes=20480" WORLD,
         "MPI_Wait for a send of 20 KiB to rank 0, tag 3, on MPI_COMM_WORLD"},
        {"wait call=MPI_Send\nsend comm=0 peer=0 process=0 tag=3 bytes=4 state=no room" WORLD,
         "MPI_Send of 4 bytes to rank 0, tag 3, on MPI_COMM_WORLD; no room"},
        {"wait call=MPI_Recv\nreceive comm=4 peer=2 process=0 tag=3 bytes=4",
         "MPI_Recv from rank 0 (rank 2 there), tag 3, on a communicator without a name"},
        {"wait call=MPI_Waitany\nreceive comm=0 peer=0 process=0 tag=3\nreceive comm=0 peer=any "
         "tag=4\nneeds operations=1" WORLD,
         "MPI_Waitany for a receive from rank 0, tag 3, on MPI_COMM_WORLD or for a receive from "
         "any rank, tag 4, on MPI_COMM_WORLD"},
        {"wait call=MPI_Bcast\ncollective comm=0 number=2\nstep comm=0 peer=0 process=0" JOB_WORLD(
             0, 2, "MPI_Bcast:0:4"),
         "MPI_Bcast with root 0 on MPI_COMM_WORLD"},
        {"wait call=MPI_Wait\ncollective comm=0 number=2" JOB_WORLD(0, 2, "MPI_Barrier:-"),
         "MPI_Wait for a nonblocking MPI_Barrier on MPI_COMM_WORLD"},
        {"wait call=MPI_Win_start\nact comm=0 peer=0 process=0 state=has not called MPI_Win_post" WORLD,
         "MPI_Win_start; rank 0 has not called MPI_Win_post"},
        {"wait call=MPI_Wait\nact state=the program has not done it",
         "MPI_Wait; the program has not done it"},
        {"nonsense", "an unknown call"},
    };
    for (size_t i = 0; i < OPAL_COUNT_OF(rows); i++) {
        char *wanted = opal_xprintf("  %-14s  %s\n", "rank 0", rows[i].wanted);
        job_add(0, rows[i].text);
        job_says(wanted, job_groups());
        free(wanted);
    }
}
END_TEST

START_TEST(states_in_words)
{
    job_add(0, NULL);
    job_add(1, NULL);
    job_add(2, "wait call=MPI_Barrier");
    job_set_state(OPAL_STORY_STOPPED);
    opal_story_add_absent(&job_story, "job", 3, OPAL_STORY_FINALIZED, 0);
    opal_story_add_absent(&job_story, "job", 4, OPAL_STORY_STARTING, 0);
    job_says("  ranks 0, 1      outside of MPI, computing\n"
             "  rank 2          stopped by a signal, in MPI_Barrier\n"
             "  rank 3          behind MPI_Finalize\n"
             "  rank 4          before the end of MPI_Init\n",
             job_groups());
}
END_TEST

static char *table(void)
{
    opal_text_t text = {0};
    job_finish();
    opal_story_tell_table(&job_story, &text);
    opal_story_free(&job_story);
    return opal_text_take(&text);
}

START_TEST(the_table)
{
    job_add(0, NULL);
    job_add(1, "wait call=MPI_Barrier collectives=1234\ncounts posted=1 unmatched=22");
    job_add(2, "wait call=MPI_Recv");
    job_says(
        "  rank  process  state           CPU     memory    waits receives unmatched "
        "collectives  call\n"
        "     0      100  computes      1.5 s      0 MiB\n"
        "     1      101  waits         1.5 s      0 MiB    0.5 s        1        22        "
        "1234  MPI_Barrier\n"
        "     2      102  waits         1.5 s      0 MiB    0.5 s        -         -           "
        "-  MPI_Recv\n",
        table());
    job_add(0, "wait call=MPI_Recv\ncounts posted=1 unmatched=0 sent=123456789 received=4");
    job_add(1, "wait call=MPI_Recv\ncounts posted=1 unmatched=0");
    job_says(
        "  rank  process  state           CPU     memory    waits receives unmatched "
        "collectives      sent  received  call\n"
        "     0      100  waits         1.5 s      0 MiB    0.5 s        1         0           "
        "- 123456789         4  MPI_Recv\n"
        "     1      101  waits         1.5 s      0 MiB    0.5 s        1         0           "
        "-         -         -  MPI_Recv\n",
        table());
}
END_TEST

static char *waiting_for(unsigned peer, unsigned size)
{
    return opal_xprintf("wait call=MPI_Recv\nreceive comm=0 peer=%u process=%u tag=7 bytes=4\n"
                        "comm id=0 rank=0 size=%u calls=3 recent=MPI_Barrier:- members=0-%u "
                        "name=MPI_COMM_WORLD",
                        peer, peer, size, size - 1);
}

static size_t lines_of(const char *text)
{
    size_t lines = 0;
    for (; *text != 0; text++)
        lines += *text == '\n';
    return lines;
}

/* Each waits for its neighbour, so no two are alike: the page stays a page, and takes no time. */
START_TEST(many_ranks)
{
    unsigned size = _i == 0 ? 512 : 4096;
    for (unsigned i = 0; i < size; i++) {
        char *text = waiting_for((i + 1) % size, size);
        job_add(i, text);
        free(text);
    }
    uint64_t begin = opal_clock_nsec();
    job_finish();
    char *page = opal_report_text(&job_story);
    double seconds = (double)(opal_clock_nsec() - begin) / 1e9;
    opal_story_free(&job_story);
    ck_assert_uint_lt(lines_of(page), 40);
    ck_assert_ptr_nonnull(strstr(page, _i == 0 ? "ranks 0-511" : "ranks 0-4095"));
    free(page);
    ck_assert_double_lt(seconds, _i == 0 ? 2 : 60); /* it is 0.01 s and 0.5 s */
}
END_TEST

/* The same of a collective in which one is missing, and one of one ANY_SOURCE. */
START_TEST(many_ranks_in_a_collective)
{
    unsigned size = 2048;
    for (unsigned i = 0; i < size; i++) {
        char *text = opal_xprintf(
            "wait call=%s\n%s\ncomm id=0 rank=0 size=%u calls=%u recent=MPI_Barrier:- members=0-%u "
            "name=MPI_COMM_WORLD",
            i == 7 ? "MPI_Recv" : "MPI_Barrier",
            i == 7 ? "receive comm=0 peer=any tag=7" : "collective comm=0 number=4", size,
            i == 7 ? 3 : 4, size - 1);
        job_add(i, text);
        free(text);
    }
    uint64_t begin = opal_clock_nsec();
    job_finish();
    char *page = opal_report_text(&job_story);
    double seconds = (double)(opal_clock_nsec() - begin) / 1e9;
    opal_story_free(&job_story);
    ck_assert_ptr_nonnull(strstr(page, "rank 7 is not in MPI_Barrier on MPI_COMM_WORLD with ranks "
                                       "0-6, 8-2047: it waits in MPI_Recv from any rank"));
    free(page);
    ck_assert_double_lt(seconds, 30);
}
END_TEST

static void add_on(unsigned rank, const char *host)
{
    job_add(rank, "wait call=MPI_Barrier");
    snprintf(job_story.ranks[rank].host, sizeof job_story.ranks[rank].host, "%s", host);
}

static char *hosts_of(void)
{
    opal_text_t text = {0};
    job_finish();
    opal_story_tell_hosts(&job_story, &text);
    opal_story_free(&job_story);
    return opal_text_take(&text);
}

START_TEST(the_hosts)
{
    add_on(0, "here");
    add_on(1, "here");
    job_says("", hosts_of());
    add_on(0, "here");
    add_on(1, "there");
    add_on(2, "here");
    add_on(3, ""); /* a rank that has left */
    job_says("Hosts:\n  here: ranks 0, 2\n  there: rank 1\n", hosts_of());
    for (unsigned i = 0; i < 40; i++) {
        char *host = opal_xprintf("node%u", i / 2);
        add_on(i, host);
        free(host);
    }
    char *many = hosts_of();
    ck_assert_ptr_nonnull(strstr(many, "  node15: ranks 30, 31\n  and 4 more\n"));
    free(many);
}
END_TEST

static const unit_test_t tests[] = {
    {&calls_in_words, 0, 0, 0}, {&states_in_words, 0, 0, 0}, {&the_table, 0, 0, 0},
    {&the_hosts, 0, 0, 0},      {&many_ranks, 2, 0, 0},      {&many_ranks_in_a_collective, 0, 0, 0},
};

UNIT_MAIN("tell", tests, NULL);
