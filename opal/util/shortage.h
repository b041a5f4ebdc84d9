/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What a server does that may open no more descriptors. The caller whom accept4 has not taken stays
 * in the backlog, and the listening socket stays readable, so who polls it on spins. It is left
 * alone for OPAL_SHORTAGE_NSEC, in which others of the process, or of the system, may close some.
 *
 * Threading: pure functions.
 */
#ifndef OPAL_UTIL_SHORTAGE_H
#define OPAL_UTIL_SHORTAGE_H

#include <errno.h>
#include <stdbool.h>

enum { OPAL_SHORTAGE_NSEC = 100000000 };

/* Whether an accept4 has failed with `error` for want of descriptors or memory. */
static inline bool opal_is_shortage(int error)
{
    return error == EMFILE || error == ENFILE || error == ENOMEM || error == ENOBUFS;
}

#endif
