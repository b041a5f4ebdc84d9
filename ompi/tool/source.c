/* SPDX-License-Identifier: BSD-3-Clause */
/* The table of event sources. */
#include "ompi/tool/source.h"

#include <stddef.h>

static const ompi_source_row_t sources[OMPI_SOURCES] = {
    [OMPI_SOURCE_PROCESS] =
        {
            .name = "process",
            .prose = "Events of this process while one thread at a time raises them",
            .order = MPI_T_SOURCE_ORDERED,
        },
    [OMPI_SOURCE_THREADS] =
        {
            .name = "threads",
            .prose = "Events of this process while several threads may raise them, and those that "
                     "are raised by calls of a callback",
            .order = MPI_T_SOURCE_UNORDERED,
        },
};

const ompi_source_row_t *ompi_source_at(int index)
{
    return index >= 0 && index < OMPI_SOURCES ? &sources[index] : NULL;
}
