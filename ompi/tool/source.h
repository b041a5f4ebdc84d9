/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Event sources. There are two, and which one an event has says what its callback may rely on:
 *
 *   process   one thread at a time raises events: they come in the order of their time
 *   threads   other threads may raise events meanwhile, or a callback has made the call that raises
 *             this one: there is no order. Callbacks must be thread-safe then
 *
 * All have one clock, that of opal/include/clock.h, in nanoseconds.
 */
#ifndef OMPI_TOOL_SOURCE_H
#define OMPI_TOOL_SOURCE_H

#include "opal/include/clock.h"
#include "ompi/api/mpi.h"

typedef enum ompi_source { OMPI_SOURCE_PROCESS, OMPI_SOURCE_THREADS, OMPI_SOURCES } ompi_source_t;

typedef struct ompi_source_row {
    const char *name, *prose;
    MPI_T_source_order order;
} ompi_source_row_t;

/* NULL: there is none at that index. */
const ompi_source_row_t *ompi_source_at(int index);

enum { OMPI_SOURCE_TICKS_PER_SECOND = 1000000000 };

static inline MPI_Count ompi_source_now(void)
{
    return (MPI_Count)opal_clock_nsec();
}

#endif
