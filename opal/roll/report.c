/* SPDX-License-Identifier: BSD-3-Clause */
/* See report.h. */
#include "opal/roll/report.h"

#include <stdio.h>
#include <stdlib.h>

#include "opal/include/clock.h"

void opal_report_begin(opal_story_t *story, const opal_census_t *census)
{
    *story = (opal_story_t){0};
    for (size_t i = 0; i < census->count; i++)
        opal_story_add(story, &census->processes[i]);
}

static char *where(int pid, uint64_t address)
{
    (void)pid;
    return opal_xprintf("0x%llx", (unsigned long long)address);
}

void opal_report_finish(opal_story_t *story)
{
    opal_story_finish(story, opal_clock_nsec(), where);
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
