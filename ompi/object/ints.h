/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * An array of counts or displacements of the user's: int in X, 64 bits in X_c. MPI_Aint and
 * MPI_Count are both 64 bits where Mica runs.
 */
#ifndef OMPI_INTS_H
#define OMPI_INTS_H

#include <stdbool.h>
#include <stddef.h>

#include "ompi/api/mpi.h"

typedef struct ompi_ints {
    const void *items;
    bool wide;
} ompi_ints_t;

_Static_assert(sizeof(MPI_Aint) == sizeof(MPI_Count), "one view serves both");

static inline ompi_ints_t ompi_ints_small(const int *items)
{
    return (ompi_ints_t){items, false};
}

static inline ompi_ints_t ompi_ints_large(const void *items)
{
    return (ompi_ints_t){items, true};
}

/* For arrays that are MPI_Aint in X and MPI_Count in X_c. */
#define ompi_wide_ints_small ompi_ints_large
#define ompi_wide_ints_large ompi_ints_large

static inline MPI_Count ompi_ints_at(ompi_ints_t ints, size_t index)
{
    return ints.wide ? ((const MPI_Count *)ints.items)[index] : ((const int *)ints.items)[index];
}

#endif
