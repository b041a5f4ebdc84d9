/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The one io_uring of this process: what the engine (engine_io_uring.c) and the fixed sends
 * (uring_fixed.c) share of it.
 *
 * What is asked carries 64 bits that come back with the answer. Their lowest three say whom it is
 * for: a pointer keeps its place above them, and so does a number.
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
    URING_FOR_NOBODY,
    URING_FOR_WATCH, /* of a descriptor: slot and count of askings above */
    URING_FOR_WORD,  /* the doorbell: count of askings above */
    URING_FOR_SEND,  /* opal_fixed_send_t */
    URING_FOR_MASK = 7
};

extern struct io_uring opal_uring;

/* An entry to fill in, to be handed over by the next submit; NULL: the system takes none now. */
struct io_uring_sqe *opal_uring_ask(void);

/* Does nothing if nothing was asked. What the system refuses for now stays for the next time. */
void opal_uring_submit(void);

/* What was asked last writes to a socket: it must not bring SIGPIPE. */
void opal_uring_expect_pipe(void);

/* -- uring_fixed.c ---------------------------------------------------------------- */

extern const opal_engine_fixed_t opal_uring_fixed;

/* An answer for a send. */
void opal_uring_fixed_answer(uint64_t whom, int result, unsigned flags);

/* Asks again for those that could not be done at once. */
void opal_uring_fixed_resume(void);

#endif
