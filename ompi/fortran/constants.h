/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Constants of Fortran that MPI recognises by their addresses, MPI_BOTTOM and others. They are
 * variables of a COMMON block. Compilers spell its symbol in four ways, and a program may have a
 * block of its own under each of them, so each is looked at.
 *
 * Threading: any.
 */
#ifndef OMPI_FORTRAN_CONSTANTS_H
#define OMPI_FORTRAN_CONSTANTS_H

#include <stddef.h>
#include <stdint.h>

#include "opal/include/compiler.h"
#include "ompi/api/mpi.h"

/* The INTEGERs of the block. */
enum {
    OMPI_FORTRAN_BOTTOM = 0,
    OMPI_FORTRAN_IN_PLACE = 1,
    OMPI_FORTRAN_BUFFER_AUTOMATIC = 2,
    OMPI_FORTRAN_UNWEIGHTED = 3,
    OMPI_FORTRAN_WEIGHTS_EMPTY = 4,
    OMPI_FORTRAN_ERRCODES_IGNORE = 5,
    OMPI_FORTRAN_STATUS_IGNORE = 8,
    OMPI_FORTRAN_STATUSES_IGNORE = 16,
    OMPI_FORTRAN_CONSTANTS = 24
};

OPAL_EXPORT extern MPI_Fint mpi_fortran_constants[OMPI_FORTRAN_CONSTANTS];
OPAL_EXPORT extern MPI_Fint mpi_fortran_constants_[OMPI_FORTRAN_CONSTANTS];
OPAL_EXPORT extern MPI_Fint mpi_fortran_constants__[OMPI_FORTRAN_CONSTANTS];
OPAL_EXPORT extern MPI_Fint MPI_FORTRAN_CONSTANTS[OMPI_FORTRAN_CONSTANTS];

/* Whether an address lies in the block at `constants`, and in which INTEGER. */
static inline bool ompi_fortran_find_constant(const MPI_Fint *constants, const void *address,
                                              size_t *index)
{
    size_t offset = (uintptr_t)address - (uintptr_t)constants;
    *index = offset / sizeof *constants;
    return offset < OMPI_FORTRAN_CONSTANTS * sizeof *constants;
}

/* C's value of a buffer's address, which may be that of a constant. */
static inline void *ompi_fortran_address(const void *address)
{
    size_t index;
    if (opal_likely(!ompi_fortran_find_constant(mpi_fortran_constants_, address, &index) &&
                    !ompi_fortran_find_constant(mpi_fortran_constants, address, &index) &&
                    !ompi_fortran_find_constant(mpi_fortran_constants__, address, &index) &&
                    !ompi_fortran_find_constant(MPI_FORTRAN_CONSTANTS, address, &index)))
        return (void *)address;
    switch (index) {
    case OMPI_FORTRAN_BOTTOM:
        return MPI_BOTTOM;
    case OMPI_FORTRAN_IN_PLACE:
        return MPI_IN_PLACE;
    case OMPI_FORTRAN_BUFFER_AUTOMATIC:
        return MPI_BUFFER_AUTOMATIC;
    default:
        return (void *)address;
    }
}

#endif
