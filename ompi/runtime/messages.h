/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The message layer's start and end: the btl and pml frameworks, and the communicators that are
 * there from the beginning.
 *
 * Threading: MPI_Init's and MPI_Finalize's thread.
 */
#ifndef OMPI_RUNTIME_MESSAGES_H
#define OMPI_RUNTIME_MESSAGES_H

#include <stdbool.h>

#include "opal/include/status.h"

/* `threads`: several may call MPI at the same time. A failure has been reported. */
opal_status_t ompi_messages_start(bool threads);

/* Sends what still waits for room, and ends. */
void ompi_messages_stop(void);

#endif
