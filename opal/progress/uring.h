/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The one io_uring of this process: what the engine (engine_io_uring.c) and the fixed sends
 * (uring_fixed.c) share of it.
 *
 * A submission carries 64 bits of user data that come back with its completion. Their lowest three
 * say what the completion is for; a pointer or a number stands above them.
 *
 * Threading: the upper layer's lock.
 */
#ifndef OPAL_PROGRESS_URING_H
#define OPAL_PROGRESS_URING_H

#include <liburing.h>
#include <stdbool.h>
#include <stdint.h>

#include "opal/include/status.h"
#include "opal/progress/engine.h"

enum {
    URING_FOR_NONE,
    URING_FOR_WATCH, /* a descriptor; above: its slot and a count of submissions */
    URING_FOR_WORD,  /* the doorbell; above: a count of submissions */
    URING_FOR_SEND,  /* above: opal_fixed_send_t */
    URING_FOR_MASK = 7
};

extern struct io_uring opal_uring;

/* A submission entry to fill in, handed over by the next submit. NULL: there is none now. */
struct io_uring_sqe *opal_uring_get_sqe(void);

/* Submits the entries, if there are any. Those that the system refuses stay for the next call. */
void opal_uring_submit(void);

/* The last submission entry writes to a socket: it must not raise SIGPIPE. */
void opal_uring_expect_pipe(void);

/* -- uring_fixed.c ---------------------------------------------------------------- */

extern const opal_engine_fixed_t opal_uring_fixed;

/* A completion of a send. */
void opal_uring_fixed_complete(uint64_t whom, int result, unsigned flags);

/* Submits the sends again that could not be done at once. */
void opal_uring_fixed_resume(void);

#endif
