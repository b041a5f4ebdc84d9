/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Whether a job stands still: all ranks wait in MPI, for each other, and nothing has moved for a
 * time. A watcher looks at the job now and then; each standstill is reported once.
 *
 * A rank that computes, sleeps outside of MPI, is stopped or waits for another job is no
 * standstill. What ends a wait may be there, and the rank about to wake; and a loop may have ended,
 * unless it still goes round. So one look proves nothing, and it takes two.
 */
#ifndef OPAL_ROLL_STANDSTILL_H
#define OPAL_ROLL_STANDSTILL_H

#include "opal/roll/story.h"

typedef struct opal_standstill {
    double seconds;        /* without a move */
    double pause;          /* seconds between two looks */
    uint64_t suspected_at; /* by the look before; 0: it was not; opal_clock_nsec */
    uint64_t reported_at;  /* 0: never */
    double cpu_seconds;    /* of the ranks that were asleep at the look before */
} opal_standstill_t;

OPAL_EXPORT void opal_standstill_begin(opal_standstill_t *standstill, double seconds);

/* Whether this look proves a standstill that was not reported. It is now: the title says so. */
enum { OPAL_STANDSTILL_TITLE_BYTES = 96 };
OPAL_EXPORT bool opal_standstill_look(opal_standstill_t *standstill, const opal_story_t *story,
                                      char title[OPAL_STANDSTILL_TITLE_BYTES]);

/* A look without a story: some rank moves. */
OPAL_EXPORT void opal_standstill_moves(opal_standstill_t *standstill);

/* Whether what the story shows was reported, and nothing has moved since. */
OPAL_EXPORT bool opal_standstill_is_reported(const opal_standstill_t *standstill,
                                             const opal_story_t *story);

#endif
