/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Fortran's constants that are recognised by their addresses.
 *
 * They lie in two COMMON blocks, which mpif.h and the modules declare:
 *
 *   MPI_FORTRAN_CONSTANTS   integers, [24]
 *      0 MPI_BOTTOM  1 MPI_IN_PLACE  2 MPI_BUFFER_AUTOMATIC  3 MPI_UNWEIGHTED  4 MPI_WEIGHTS_EMPTY
 *      5 MPI_ERRCODES_IGNORE  6, 7 unused  8 MPI_STATUS_IGNORE [8]  16 MPI_STATUSES_IGNORE [8]
 *   MPI_FORTRAN_STRINGS     characters, [2]
 *      0 MPI_ARGV_NULL  1 MPI_ARGVS_NULL
 *
 * A compiler makes one of four symbols of the name of a block. The library defines all four; the
 * program may have a block of its own, which then takes the place of the library's under that name.
 * So an address is compared with all four.
 */
#ifndef OMPI_FORTRAN_CONSTANTS_H
#define OMPI_FORTRAN_CONSTANTS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "opal/include/compiler.h"
#include "ompi/api/mpi.h"

enum ompi_fortran_constant {
    OMPI_FORTRAN_BOTTOM,
    OMPI_FORTRAN_IN_PLACE,
    OMPI_FORTRAN_BUFFER_AUTOMATIC,
    OMPI_FORTRAN_UNWEIGHTED,
    OMPI_FORTRAN_WEIGHTS_EMPTY,
    OMPI_FORTRAN_ERRCODES_IGNORE,
    OMPI_FORTRAN_STATUS_IGNORE = 8,
    OMPI_FORTRAN_STATUSES_IGNORE = 16,
    OMPI_FORTRAN_CONSTANTS = 24,
};

typedef MPI_Fint ompi_fortran_constants_t[OMPI_FORTRAN_CONSTANTS];
OPAL_EXPORT extern ompi_fortran_constants_t mpi_fortran_constants, mpi_fortran_constants_,
    mpi_fortran_constants__, MPI_FORTRAN_CONSTANTS;

typedef char ompi_fortran_strings_t[2];
OPAL_EXPORT extern ompi_fortran_strings_t mpi_fortran_strings, mpi_fortran_strings_,
    mpi_fortran_strings__, MPI_FORTRAN_STRINGS;

static inline bool ompi_fortran_is_in(const void *address, const MPI_Fint *block)
{
    return (uintptr_t)address - (uintptr_t)block < sizeof(ompi_fortran_constants_t);
}

static inline bool ompi_fortran_is_constant(const void *address)
{
    return ompi_fortran_is_in(address, mpi_fortran_constants_) ||
           ompi_fortran_is_in(address, mpi_fortran_constants) ||
           ompi_fortran_is_in(address, mpi_fortran_constants__) ||
           ompi_fortran_is_in(address, MPI_FORTRAN_CONSTANTS);
}

/* What C has for the constant whose address it is; the address itself if it is of none. For
 * buffers and weights. */
void *ompi_fortran_constant_of(const void *address);

static inline void *ompi_fortran_address(const void *address)
{
    if (opal_unlikely(ompi_fortran_is_constant(address)))
        return ompi_fortran_constant_of(address);
    return (void *)address;
}

/* MPI_ARGV_NULL and MPI_ARGVS_NULL. */
bool ompi_fortran_is_argv_null(const char *address);

#endif
