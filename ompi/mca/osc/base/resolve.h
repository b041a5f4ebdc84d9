/* SPDX-License-Identifier: BSD-3-Clause */
/* Where the memory of an access is: whether it belongs to the window, and is mapped here. */
#ifndef OMPI_OSC_RESOLVE_H
#define OMPI_OSC_RESOLVE_H

#include "ompi/mca/osc/osc.h"

/*
 * Sets the remote buffer, `shift`, `is_here` and `is_shared` of an access whose window, target,
 * rank and remote type and count are known. `offset` is the displacement in bytes, or the address
 * in a dynamic window. MPI_ERR_RMA_RANGE: not all of the memory is the window's. Of a dynamic
 * window on another node that is found out there.
 */
OPAL_EXPORT int ompi_osc_resolve(ompi_osc_access_t *access, int64_t offset);

/* Of a dynamic window and a rank of this node: where its bytes from `start` on are mapped here
 * (NULL: they are not), and whether all ranks of its node use the CPU's atomics there.
 * MPI_ERR_RMA_RANGE: they are not attached. */
OPAL_EXPORT int ompi_osc_find_attached(const ompi_osc_window_t *window, int rank, uintptr_t start,
                                       size_t bytes, char **here, bool *is_shared);

#endif
