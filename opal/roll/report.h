/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The page about jobs, as mpirun, mica-ps and the watch print it: groups of ranks, what is wrong,
 * the table.
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

/* Adds the ranks of a job of `size` that are not among the first `known` ones, which are in order.
 * `state` says what became of them, and their pid, if that is known. */
typedef opal_story_state_t opal_report_state_fn_t(unsigned rank, int *pid, const void *context);
OPAL_EXPORT void opal_report_add_absent(opal_story_t *story, size_t known, const char *job_id,
                                        unsigned size, opal_report_state_fn_t *state,
                                        const void *context);

/* Notes in the census which places a finished story of it has found. */
OPAL_EXPORT void opal_report_note_places(const opal_story_t *story, opal_census_t *census);

/* Groups, causes and hosts, in allocated text. */
OPAL_EXPORT char *opal_report_text(const opal_story_t *story);

/* Logs that text as a warning, below a title. */
OPAL_EXPORT void opal_report_print(const opal_story_t *story, const char *title);

#endif
