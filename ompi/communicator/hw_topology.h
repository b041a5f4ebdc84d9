/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Where a process runs, for MPI_Comm_split_type and MPI_Get_hw_resource_info: levels of the
 * hardware, outermost first, each with hwloc's name as "hwloc://NAME". The answers come from sysfs
 * and the CPUs that this process may use. They are read when they are asked for, not at start-up.
 */
#ifndef OMPI_HW_TOPOLOGY_H
#define OMPI_HW_TOPOLOGY_H

#include "opal/include/compiler.h"

enum { OMPI_HW_LEVELS = 7 };

/* Of "hwloc://Machine", Package, NUMANode, L3Cache, L2Cache, Core, PU. */
const char *ompi_hw_level_name(int level);

/* The level of a name, with or without hwloc://, in any letter case, or of "mpi_shared_memory"; -1:
 * there is none. */
OPAL_EXPORT int ompi_hw_level_of(const char *name);

typedef enum ompi_hw_binding {
    OMPI_HW_UNKNOWN, /* there is no such level here, or the kernel does not say */
    OMPI_HW_SEVERAL, /* this process may run in more than one part of that level */
    OMPI_HW_ONE,
} ompi_hw_binding_t;

/* OMPI_HW_ONE: *color is equal in all processes of the same part of that level, and differs in all
 * others. Other results leave *color alone. */
OPAL_EXPORT ompi_hw_binding_t ompi_hw_level_find(int level, int *color);

#endif
