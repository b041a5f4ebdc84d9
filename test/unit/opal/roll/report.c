/* SPDX-License-Identifier: BSD-3-Clause */
/* opal/roll/report.c: ranks that are absent, places that another host gets, long pages. */
#include "opal/util/log.h"
#include "test/unit/opal/roll/job.h"

static opal_story_state_t state_of(unsigned rank, int *pid, const void *context)
{
    ck_assert_ptr_eq(context, &job_story);
    *pid = (int)rank + 1000;
    return OPAL_STORY_ENDED;
}

/* Of two jobs, whose ranks come one behind the other. */
START_TEST(those_who_are_absent)
{
    job_add(1, "wait call=MPI_Barrier");
    job_add(3, "wait call=MPI_Barrier");
    job_add(0, "wait call=MPI_Barrier");
    strcpy(job_story.ranks[2].job_id, "kob");
    opal_report_add_absent(&job_story, 3, "job", 4, state_of, &job_story);
    opal_report_add_absent(&job_story, 3, "kob", 2, state_of, &job_story);
    opal_report_add_absent(&job_story, 3, "new", 1, state_of, &job_story);
    static const struct {
        const char *job;
        unsigned rank;
    } wanted[] = {{"job", 0}, {"job", 2}, {"kob", 1}, {"new", 0}};
    ck_assert_uint_eq(job_story.count, 3 + OPAL_COUNT_OF(wanted));
    for (size_t i = 0; i < OPAL_COUNT_OF(wanted); i++) {
        const opal_story_rank_t *absent = &job_story.ranks[3 + i];
        ck_assert_str_eq(absent->job_id, wanted[i].job);
        ck_assert_uint_eq(absent->rank, wanted[i].rank);
        ck_assert_int_eq(absent->pid, (int)wanted[i].rank + 1000);
        ck_assert_int_eq(absent->state, OPAL_STORY_ENDED);
    }
    opal_story_free(&job_story);
}
END_TEST

/* A place of this process is looked up here; one that was looked up elsewhere stays. */
START_TEST(places_are_noted)
{
    opal_story_t story;
    opal_census_process_t process = {.pid = getpid(), .state = 'S', .wait_count = 2};
    opal_census_t census = {&process, 1};
    char *text = opal_xprintf("wait call=MPI_Recv place=%p", (void *)(uintptr_t)state_of);
    process.waits[0].text = process.waits[1].text = text;
    process.waits[1].where = opal_xstrdup("far (away.c:1)");
    opal_report_begin(&story, &census);
    opal_report_finish(&story);
    opal_report_note_places(&story, &census);
    unit_assert_part(process.waits[0].where, "state_of");
    ck_assert_str_eq(process.waits[1].where, "far (away.c:1)");
    ck_assert_str_eq(story.ranks[0].waits[1].where, "far (away.c:1)");
    free(process.waits[0].where);
    free(process.waits[1].where);
    free(text);
    opal_story_free(&story);
}
END_TEST

/* Longer than a message of the log; every line comes whole. */
START_TEST(a_long_page)
{
    enum { RANKS = 15, NAME_BYTES = 30 };
    for (unsigned i = 0; i < RANKS; i++) {
        opal_text_t text = {0};
        opal_text_printf(&text, "wait call=MPI_Waitall");
        for (unsigned k = 0; k < 3; k++)
            opal_text_printf(&text, "\nreceive comm=%u peer=%u process=%u tag=%u", k,
                             (i + k + 1) % RANKS, (i + k + 1) % RANKS, 100 * i + k);
        for (unsigned k = 0; k < 3; k++)
            opal_text_printf(&text, "\ncomm id=%u rank=0 members=0-%d name=%060u", k, RANKS - 1, k);
        job_add(i, opal_text_string(&text));
        opal_text_free(&text);
    }
    job_finish();
    char *page = opal_report_text(&job_story);
    ck_assert_uint_gt(strlen(page), OPAL_LOG_MAX_BYTES);
    unit_capture();
    opal_report_print(&job_story, "a title");
    const char *said = unit_stderr();
    unit_assert_part(said, "warning: a title\n");
    char *rest = page, *line;
    while ((line = strsep(&rest, "\n")) != NULL)
        unit_assert_part(said, line);
    free(page);
    opal_story_free(&job_story);
}
END_TEST

static const unit_test_t tests[] = {
    {.test = &those_who_are_absent},
    {.test = &places_are_noted},
    {.test = &a_long_page},
};

UNIT_MAIN("report", tests, NULL);
