/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Start and end of the message layer: its frameworks (mpool, btl, pml, coll), and the communicators
 * that exist from the start.
 *
 * Threading: called by the first and the last user of the runtime, one at a time.
 */
#ifndef OMPI_RUNTIME_MESSAGES_H
#define OMPI_RUNTIME_MESSAGES_H

#include <stdbool.h>

#include "opal/include/status.h"

/* `threads`: several threads may call MPI at the same time. A failure has been logged. */
opal_status_t ompi_messages_start(bool threads);

/* Waits until all messages have left, and closes the frameworks. */
void ompi_messages_stop(void);

#endif
