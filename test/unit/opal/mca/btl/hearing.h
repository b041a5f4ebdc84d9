/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A client of the transports that tests use: it has all kinds of frames, and tells of them by rank.
 */
#ifndef OPAL_UNIT_BTL_HEARING_H
#define OPAL_UNIT_BTL_HEARING_H

#include "opal/mca/btl/base/base.h"

typedef void hear_frame_fn_t(unsigned rank, unsigned kind, const void *bytes, size_t length);

/* What the test wants to hear; NULL: nothing. */
typedef struct hearing {
    hear_frame_fn_t *frame;
    bool refuses; /* frames cannot be taken now */
    bool (*take)(unsigned lane, unsigned kind, const void *bytes, size_t length);
    size_t (*place)(unsigned rank, unsigned kind, uint64_t name, size_t offset, size_t bytes,
                    struct iovec *segments, size_t max);
    void (*placed)(unsigned rank, unsigned kind, uint64_t name, size_t offset, size_t bytes);
    void (*death)(unsigned rank);
    opal_status_t why; /* of the last death */
    void (*departure)(unsigned rank);
} hearing_t;

extern hearing_t hearing;

/* All clients' places are taken by it. */
void hear_all(void);

/* This process is that rank of a job, all on one node, until opal_process_stop. */
void hear_as(unsigned rank, unsigned size);

#endif
