/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Whether mpi_leave_pinned is in effect: what the user asked for, and what this process can see of
 * memory.
 *
 * Memory components decide before main whether they watch the allocator, and find out in MPI_Init
 * whether that works. If it does not, kept registrations would move old data: so a user who asked
 * for mpi_leave_pinned is warned, and it is off.
 */
#ifndef OMPI_MCA_MPOOL_BASE_LEAVE_PINNED_H
#define OMPI_MCA_MPOOL_BASE_LEAVE_PINNED_H

#include <stdbool.h>

#include "opal/mca/memory/base/leave_pinned.h"

typedef struct ompi_mpool_leave_pinned {
    opal_leave_pinned_t leave, pipeline;
} ompi_mpool_leave_pinned_t;

/*
 * `support`: OPAL_MEMORY_*_SUPPORT bits. `use_mem_hooks`: mpool_use_mem_hooks. Warnings are
 * findings (diagnostic.h). OPAL_LEAVE_PINNED_RUNTIME in the result: where a device gains.
 */
OPAL_EXPORT ompi_mpool_leave_pinned_t ompi_mpool_decide(ompi_mpool_leave_pinned_t asked,
                                                        bool use_mem_hooks, unsigned support);

#endif
