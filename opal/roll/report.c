/* SPDX-License-Identifier: BSD-3-Clause */
/* See report.h. */
#include "opal/roll/report.h"

#include <stdio.h>
#include <stdlib.h>

#include "opal/include/clock.h"
#include "opal/lines/lines.h"

enum { PLACE_BYTES = 160 };

void opal_report_begin(opal_story_t *story, const opal_census_t *census)
{
    *story = (opal_story_t){0};
    for (size_t i = 0; i < census->count; i++)
        opal_story_add(story, &census->processes[i]);
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

char *opal_report_text(const opal_story_t *story)
{
    opal_text_t text = {0}, causes = {0};
    opal_story_tell_groups(story, &text);
    opal_story_tell_causes(story, &causes);
    if (causes.length > 0)
        opal_text_printf(&text, "What is wrong:\n%s", opal_text_string(&causes));
    opal_text_free(&causes);
    return opal_text_take(&text);
}
