/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What a thread does over time, in a bounded space: bins, whose width doubles when the program runs
 * longer than they reach, and the longest calls, of which the shorter ones are dropped when there
 * is no room.
 */
#ifndef OPAL_PROFILE_TIMELINE_H
#define OPAL_PROFILE_TIMELINE_H

#include "opal/profile/layout.h"

typedef struct opal_timeline_call {
    uint64_t begin, end, waited; /* ticks */
    uint64_t weight;             /* the calls that it stands for */
    uint64_t site;
} opal_timeline_call_t;

/* The time line of a block begins at these ticks. */
void opal_timeline_start(opal_profile_block_t *block, uint64_t ticks);

void opal_timeline_add(opal_profile_block_t *block, const opal_timeline_call_t *call);

#endif
