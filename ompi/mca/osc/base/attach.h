/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The memory that is attached to a dynamic window: for each rank of the node a list of regions,
 * sorted by address, in memory that the others read.
 *
 * The list's owner makes the version odd while it changes the list; who reads it meanwhile reads it
 * again. A list that has become too small is given back at once: a reader may still look at it, but
 * finds another version afterwards.
 *
 * Threading: attach and detach under ompi_lock; contains by any.
 */
#ifndef OMPI_OSC_ATTACH_H
#define OMPI_OSC_ATTACH_H

#include "ompi/mca/osc/base/area.h"

typedef struct ompi_osc_region {
    uintptr_t base;
    size_t bytes;
} ompi_osc_region_t;

/* MPI_ERR_RMA_ATTACH: it overlaps an attached one, or begins nowhere; MPI_ERR_NO_MEM. */
int ompi_osc_attach(ompi_osc_window_t *window, uintptr_t base, size_t bytes);
int ompi_osc_detach(ompi_osc_window_t *window, uintptr_t base);
void ompi_osc_detach_all(ompi_osc_window_t *window);

/* Whether all of these bytes, of a rank's addresses, are attached. */
OPAL_EXPORT bool ompi_osc_is_attached(const ompi_osc_window_t *window, int local, uintptr_t start,
                                      size_t bytes);

#endif
