/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * One stream of a rank on its way to a sink: what was read and waits for its newline,
 * and what is being written. gather.c decides whose turn it is; a turn is
 * channel_step.
 */
#ifndef MPIRUN_CHANNEL_H
#define MPIRUN_CHANNEL_H

#include "opal/util/text.h"
#include "tools/mpirun/loop.h"

/* Where the bytes go. The write may take less than all; -1 with EAGAIN: later. */
typedef struct target {
    int fd;
    bool is_socket;
    bool may_block; /* could not be made non-blocking: small writes, one at a time */
    bool can_splice;
} target_t;

typedef struct channel {
    loop_watch_t watch; /* of the pipe's read end; -1: ended */
    struct sink *sink;
    target_t *target;            /* the sink's */
    struct channel *next;        /* of the gather */
    struct channel *queued_next; /* in the sink's queue */
    bool is_queued;
    bool stamped;
    char *label; /* NULL: bytes pass unchanged */

    char *held; /* read from the pipe, not yet passed on */
    size_t held_bytes, held_capacity;
    size_t ready_bytes;   /* the first of `held` are to be written; only without label */
    opal_text_t labelled; /* the same with label */
    size_t written;       /* of `ready` or `labelled` */
    size_t to_splice;     /* then move so much from pipe to target */
    bool mid_line;        /* the target stands inside of a line of ours */
    bool drains;          /* no writer is left: an empty pipe is at its end */
} channel_t;

typedef enum step {
    STEP_MORE,    /* the target stands at a line's start; there may be more to read */
    STEP_EMPTY,   /* the same, and there is nothing to read now */
    STEP_WAITING, /* nothing to read now, but the target stands inside of a line */
    STEP_BLOCKED, /* the target takes nothing now */
    STEP_ENDED,   /* all is passed on */
    STEP_BROKEN,  /* the target failed, with errno */
} step_t;

/* Reads and writes until one of the above. Does not block, but for a target that may. */
step_t channel_step(channel_t *channel);

/* Frees what it holds; the pipe is the caller's to close. */
void channel_fini(channel_t *channel);

#endif
