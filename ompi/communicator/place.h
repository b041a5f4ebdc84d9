/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Where a process runs, for MPI_Comm_split_type: levels of the hardware, outermost first, each with
 * the name that hwloc has for it. The answers come from what the kernel shows of the CPUs that this
 * process may use, when it is asked; nothing is read at start-up.
 */
#ifndef OMPI_PLACE_H
#define OMPI_PLACE_H

#include <stdbool.h>

enum { OMPI_PLACE_LEVELS = 7 };

/* "Machine", "Package", "NUMANode", "L3Cache", "L2Cache", "Core", "PU". */
const char *ompi_place_name(int level);

/* The level of a name, in whatever letter case, or "mpi_shared_memory"; -1: there is none. */
int ompi_place_level(const char *name);

/*
 * A color that all processes have who run in the same part of that level, and nobody else. False:
 * this process may run in more than one of them, or nobody knows.
 */
bool ompi_place_color(int level, int *color);

#endif
