/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Kinds of memory, as the info keys mpi_memory_alloc_kinds and mpi_assert_memory_alloc_kinds name
 * them: a comma-separated list; each kind may be followed by restrictors, ":alloc_mem".
 *
 * The library takes buffers of the same kinds in every session and world, whatever was requested:
 * those of ompi_memory_kinds. A program that has requested memory of a GPU finds that it is not
 * among them.
 */
#ifndef OMPI_INFO_MEMORY_KINDS_H
#define OMPI_INFO_MEMORY_KINDS_H

#include <stdbool.h>

#define OMPI_MEMORY_KINDS        "mpi_memory_alloc_kinds"
#define OMPI_ASSERT_MEMORY_KINDS "mpi_assert_memory_alloc_kinds"

/* All kinds that buffers may have, the value of mpi_memory_alloc_kinds. */
extern const char ompi_memory_kinds[];

/* Whether buffers may have each kind of a list. The empty list has none. */
bool ompi_memory_kinds_are_supported(const char *list);

#endif
