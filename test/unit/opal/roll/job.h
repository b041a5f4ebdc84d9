/* SPDX-License-Identifier: BSD-3-Clause */
/* A story of texts: no processes are needed. */
#ifndef OPAL_UNIT_ROLL_JOB_H
#define OPAL_UNIT_ROLL_JOB_H

#include "opal/roll/report.h"
#include "test/unit/opal/support.h"

static opal_story_t job_story;

enum { JOB_NOW = 1000000000 };

/* Adds a rank that waits, with that text; NULL: it is outside of MPI. */
static inline void job_add(unsigned rank, const char *text)
{
    opal_census_process_t process = {.pid = 100 + (int)rank,
                                     .rank = rank,
                                     .job_id = "job",
                                     .state = text != NULL ? 'S' : 'R',
                                     .cpu_seconds = 1.5};
    char *copy = text != NULL ? opal_xstrdup(text) : NULL;
    process.waits[0] = (opal_census_wait_t){.since_nsec = JOB_NOW / 2, .text = copy};
    process.wait_count = text != NULL;
    opal_story_add(&job_story, &process);
    free(copy);
}

/* The rank of the last job_add has this state, and no wait if it has ended. */
static inline void job_set_state(opal_story_state_t state)
{
    job_story.ranks[job_story.count - 1].state = state;
}

static inline void job_finish(void)
{
    opal_story_finish(&job_story, JOB_NOW, NULL);
}

/* What is wrong, for those who have added all ranks; the story is over. */
static inline char *job_causes(void)
{
    opal_text_t text = {0};
    job_finish();
    opal_story_tell_causes(&job_story, &text);
    opal_story_free(&job_story);
    return opal_text_take(&text);
}

static inline char *job_groups(void)
{
    opal_text_t text = {0};
    job_finish();
    opal_story_tell_groups(&job_story, &text);
    opal_story_free(&job_story);
    return opal_text_take(&text);
}

#define job_says(wanted, told)                                                                     \
    do {                                                                                           \
        char *job_text = (told);                                                                   \
        ck_assert_str_eq(job_text, wanted);                                                        \
        free(job_text);                                                                            \
    } while (0)

/* " comm id=0 ..." of MPI_COMM_WORLD with ranks 0 to LAST, which has made CALLS calls. */
#define JOB_WORLD(last, calls, recent)                                                             \
    "\ncomm id=0 rank=0 size=9 calls=" #calls " recent=" recent " members=0-" #last                \
    " name=MPI_COMM_WORLD"

#endif
