/* SPDX-License-Identifier: BSD-3-Clause */
/* See report.h. */
#include "opal/roll/report.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "opal/include/clock.h"
#include "opal/lines/lines.h"
#include "opal/util/log.h"

enum {
    PLACE_BYTES = 160,
    PART_BYTES = OPAL_LOG_MAX_BYTES / 2, /* of a page: each line gets an origin before it */
};

void opal_report_begin(opal_story_t *story, const opal_census_t *census)
{
    *story = (opal_story_t){0};
    for (size_t i = 0; i < census->count; i++)
        opal_story_add(story, &census->processes[i]);
}

/* Whether `at` is of the job, and not behind its rank `rank`. */
static bool is_up_to(const opal_story_rank_t *at, const char *job_id, unsigned rank)
{
    return strcmp(at->job_id, job_id) == 0 && at->rank <= rank;
}

void opal_report_add_absent(opal_story_t *story, size_t known, const char *job_id, unsigned size,
                            opal_report_state_fn_t *state, const void *context)
{
    size_t next = 0;
    while (next < known && strcmp(story->ranks[next].job_id, job_id) != 0)
        next++;
    for (unsigned i = 0; i < size; i++) {
        bool is_known = false;
        int pid = 0;
        for (; next < known && is_up_to(&story->ranks[next], job_id, i); next++)
            is_known = true;
        if (is_known)
            continue;
        opal_story_state_t absent = state(i, &pid, context);
        opal_story_add_absent(story, job_id, i, absent, pid);
    }
}

/* What was read of the files of the last process; those of the next one are often the same, but
 * each process has them at other addresses. */
static opal_lines_t *lines;
static int lines_pid;

static char *where(int pid, uint64_t address)
{
    char text[PLACE_BYTES];
    opal_location_t location = {.address = address};
    if (lines == NULL || lines_pid != pid) {
        if (lines != NULL)
            opal_lines_close(lines);
        lines = opal_lines_open(pid);
        lines_pid = pid;
    }
    if (lines != NULL)
        opal_lines_find(lines, address, &location);
    return opal_xstrdup(opal_lines_describe(&location, text, sizeof text));
}

void opal_report_finish(opal_story_t *story)
{
    opal_story_finish(story, opal_clock_nsec(), where);
    if (lines != NULL)
        opal_lines_close(lines);
    lines = NULL;
}

void opal_report_note_places(const opal_story_t *story, opal_census_t *census)
{
    for (size_t i = 0; i < census->count; i++) {
        opal_census_process_t *process = &census->processes[i];
        for (unsigned k = 0; k < process->wait_count; k++) {
            const char *place = story->ranks[i].waits[k].where;
            if (process->waits[k].where == NULL && place != NULL)
                process->waits[k].where = opal_xstrdup(place);
        }
    }
}

char *opal_report_text(const opal_story_t *story)
{
    opal_text_t text = {0}, causes = {0};
    opal_story_tell_groups(story, &text);
    opal_story_tell_causes(story, &causes);
    if (causes.length > 0)
        opal_text_printf(&text, "What is wrong:\n%s", opal_text_string(&causes));
    opal_text_free(&causes);
    opal_story_tell_hosts(story, &text);
    return opal_text_take(&text);
}

/* How much of the page is logged at once: whole lines, if they are not too long. */
static size_t part_of(const char *page)
{
    size_t length = strlen(page);
    if (length <= PART_BYTES)
        return length;
    const char *last = memrchr(page, '\n', PART_BYTES);
    return last != NULL ? (size_t)(last - page) : PART_BYTES;
}

void opal_report_print(const opal_story_t *story, const char *title)
{
    char *page = opal_report_text(story), *at = page;
    size_t length = strlen(page);
    if (length > 0 && page[length - 1] == '\n')
        page[length - 1] = 0;
    size_t part = part_of(at);
    opal_log_warning("%s\n%.*s", title, (int)part, at);
    for (at += part; *at != 0; at += part) {
        at += *at == '\n';
        part = part_of(at);
        opal_log_note("%.*s", (int)part, at);
    }
    free(page);
}
