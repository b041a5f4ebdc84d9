/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The page about jobs, as mpirun and mica-ps print it: groups of ranks, what is wrong, the table.
 *
 * Running out of memory ends the process: it is for tools.
 */
#ifndef OPAL_ROLL_REPORT_H
#define OPAL_ROLL_REPORT_H

#include "opal/roll/story.h"

/* Begins a story with the processes of a census. The caller may add ranks that it knows of, and
 * finishes it. */
OPAL_EXPORT void opal_report_begin(opal_story_t *story, const opal_census_t *census);
OPAL_EXPORT void opal_report_finish(opal_story_t *story);

/* Groups and causes, in allocated text. */
OPAL_EXPORT char *opal_report_text(const opal_story_t *story);

#endif
