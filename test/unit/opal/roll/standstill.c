/* SPDX-License-Identifier: BSD-3-Clause */
/* opal/roll/standstill.c: when a job is said to stand still, and that it is said once. */
#include "opal/roll/standstill.h"

#include "opal/include/clock.h"
#include "test/unit/opal/roll/job.h"

static opal_standstill_t standstill;
static char title[OPAL_STANDSTILL_TITLE_BYTES];
static const uint64_t second = OPAL_NSEC_PER_SEC;

static void begin(void)
{
    opal_standstill_begin(&standstill, 2);
}

/* Two ranks that wait for each other since then. */
static void add_cycle(uint64_t since)
{
    job_add(0, "wait call=MPI_Recv\nreceive comm=0 peer=1 process=1 tag=7");
    job_add(1, "wait call=MPI_Recv\nreceive comm=0 peer=0 process=0 tag=7");
    for (int i = 0; i < 2; i++)
        job_story.ranks[i].waits[0].since_nsec = since;
}

static bool look(void)
{
    opal_story_finish(&job_story, opal_clock_nsec(), NULL);
    bool stands_still = opal_standstill_look(&standstill, &job_story, title);
    opal_story_free(&job_story);
    return stands_still;
}

static bool look_at_cycle(uint64_t since)
{
    add_cycle(since);
    return look();
}

/* The first look that knows the CPU time of all proves nothing. */
static void look_first(uint64_t since)
{
    ck_assert(!look_at_cycle(since));
    ck_assert(!look_at_cycle(since));
}

START_TEST(it_takes_two_looks_and_is_said_once)
{
    uint64_t since = opal_clock_nsec() - 3 * second;
    begin();
    look_first(since);
    ck_assert(look_at_cycle(since));
    double seconds = 0;
    ck_assert_int_eq(sscanf(title, "nothing has moved for %lf s: every rank waits", &seconds), 1);
    ck_assert_double_ge(seconds, 3); /* and what the test has taken */
    ck_assert(!look_at_cycle(since));
    ck_assert(!look_at_cycle(since));
    add_cycle(since);
    opal_story_finish(&job_story, opal_clock_nsec(), NULL);
    ck_assert(opal_standstill_is_reported(&standstill, &job_story));
    opal_story_free(&job_story);
}
END_TEST

START_TEST(it_is_not_long_enough)
{
    uint64_t since = opal_clock_nsec() - second;
    opal_standstill_begin(&standstill, 3600);
    look_first(since);
    ck_assert(!look_at_cycle(since));
}
END_TEST

START_TEST(a_move_between_the_looks)
{
    uint64_t since = opal_clock_nsec() - 3 * second;
    begin();
    look_first(since);
    opal_standstill_moves(&standstill);
    ck_assert(!look_at_cycle(since));
    ck_assert(look_at_cycle(since));
}
END_TEST

START_TEST(threads_that_compute)
{
    uint64_t since = opal_clock_nsec() - 3 * second;
    begin();
    look_first(since);
    add_cycle(since);
    job_story.ranks[0].cpu_seconds += 1;
    ck_assert(!look());
}
END_TEST

START_TEST(a_loop_that_may_have_ended)
{
    uint64_t since = opal_clock_nsec() - 3 * second;
    begin();
    look_first(since);
    add_cycle(since);
    job_story.ranks[0].waits[0].is_loop = true;
    job_story.ranks[0].waits[0].written_nsec = since;
    ck_assert(!look());
}
END_TEST

START_TEST(pauses_are_bounded)
{
    opal_standstill_begin(&standstill, 0.001);
    ck_assert_double_eq(standstill.pause, 0.25);
    opal_standstill_begin(&standstill, 3600);
    ck_assert_double_eq(standstill.pause, 15);
}
END_TEST

static const unit_test_t tests[] = {
    {.test = &it_takes_two_looks_and_is_said_once},
    {.test = &it_is_not_long_enough},
    {.test = &a_move_between_the_looks},
    {.test = &threads_that_compute},
    {.test = &a_loop_that_may_have_ended},
    {.test = &pauses_are_bounded},
};

UNIT_MAIN("standstill", tests, NULL);
