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

/* Of a process that has started alone (opal/process/job.h): meets the other ranks. Collective. A
 * failure has been logged. */
opal_status_t ompi_messages_catch_up(void);

/* Waits until all messages have left, and frees what the program forgot. The frameworks stay open.
 * False: all ranks have to stop together, and nothing was done. */
bool ompi_messages_rest(void);

/* Waits until all messages have left, and closes the frameworks. */
void ompi_messages_stop(void);

#endif
