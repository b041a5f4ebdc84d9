/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Waiting for what other ranks write into shared memory, or for what progress does: by looking.
 *
 * A look function is called once by the thread that waits, and then by progress, until it says that
 * the wait is over.
 *
 * Threading: look functions and ompi_look_wait are called under ompi_lock.
 */
#ifndef OMPI_REQUEST_LOOK_H
#define OMPI_REQUEST_LOOK_H

#include "opal/include/compiler.h"

typedef enum ompi_look {
    OMPI_LOOK_WAITS,
    OMPI_LOOK_OVER,
    OMPI_LOOK_FAILED, /* a rank that it needs has ended */
} ompi_look_t;

/* What is waited for, in words for a person (ompi_describe_act). */
typedef struct ompi_look_reason {
    const struct ompi_communicator *comm; /* NULL: the reason is in no other rank */
    int peer;
    const char *words;
} ompi_look_reason_t;

/* Of this thread; NULL: unknown. Set around a wait. */
OPAL_EXPORT extern _Thread_local const ompi_look_reason_t *ompi_look_reason;

/* Looks whether what is waited for has happened. */
typedef ompi_look_t ompi_look_fn_t(void *what);

/* Waits. The one that makes it happen wakes this process (opal_doorbell_notify, or
 * opal_wait_notify_self), or holds ompi_lock and is in progress. Returns MPI_ERR_PROC_ABORTED if it
 * failed. */
OPAL_EXPORT int ompi_look_wait(ompi_look_fn_t *look, void *what);

#endif
