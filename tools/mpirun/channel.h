/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * One stream of a rank, moved from its pipe to a sink: the bytes that were read and wait for a
 * newline, and the bytes that are being written. gather.c decides which channel may write;
 * channel_step does one turn of it.
 */
#ifndef MPIRUN_CHANNEL_H
#define MPIRUN_CHANNEL_H

#include "opal/util/text.h"
#include "tools/mpirun/loop.h"

/* The destination of the bytes. A write may be partial, and may fail with EAGAIN. */
typedef struct target {
    int fd;
    bool is_socket;
    bool may_block; /* it could not be made non-blocking: one small write at a time */
    bool can_splice;
} target_t;

typedef struct channel {
    loop_watch_t watch; /* of the pipe's read end; -1: ended */
    struct sink *sink;
    target_t *target;            /* the sink's */
    struct channel *next;        /* of the gather */
    struct channel **link;       /* what leads to this one, until it has ended */
    struct channel *queued_next; /* in the sink's queue */
    bool is_queued;
    bool stamped;
    char *label; /* NULL: the bytes are not changed */

    char *held; /* read from the pipe, not yet passed on */
    size_t held_bytes, held_capacity;
    size_t ready_bytes;   /* the first bytes of `held`, to be written; only without label */
    opal_text_t labelled; /* the bytes to be written, with labels */
    size_t written;       /* of the ready bytes or of `labelled` */
    size_t to_splice;     /* bytes to move from pipe to target after that */
    bool mid_line;        /* the last byte in the target is inside a line of this channel */
    bool drains;          /* no writer is left: an empty pipe is the end of the stream */
} channel_t;

typedef enum step {
    STEP_MORE,    /* the target is at the start of a line; there may be more to read */
    STEP_EMPTY,   /* the target is at the start of a line; there is nothing to read now */
    STEP_WAITING, /* there is nothing to read now, but the target is inside a line */
    STEP_BLOCKED, /* the target accepts nothing now */
    STEP_ENDED,   /* the stream has ended and is written */
    STEP_BROKEN,  /* the target failed, with errno */
} step_t;

/* Reads and writes until one of the states above. Blocks only on a target that may_block. */
step_t channel_step(channel_t *channel);

/* Frees what the channel holds. The caller closes the pipe. */
void channel_fini(channel_t *channel);

#endif
