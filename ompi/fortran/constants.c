/* SPDX-License-Identifier: BSD-3-Clause */
/* The constants that are recognised by their addresses. See constants.h. */
#include "ompi/fortran/constants.h"

ompi_fortran_constants_t mpi_fortran_constants_;
ompi_fortran_strings_t mpi_fortran_strings_;

#define SAME_AS(block, name) extern __typeof__(block) name __attribute__((alias(#block)));
SAME_AS(mpi_fortran_constants_, mpi_fortran_constants)
SAME_AS(mpi_fortran_constants_, mpi_fortran_constants__)
SAME_AS(mpi_fortran_constants_, MPI_FORTRAN_CONSTANTS)
SAME_AS(mpi_fortran_strings_, mpi_fortran_strings)
SAME_AS(mpi_fortran_strings_, mpi_fortran_strings__)
SAME_AS(mpi_fortran_strings_, MPI_FORTRAN_STRINGS)

void *ompi_fortran_constant_of(const void *address)
{
    static void *const values[] = {
        [OMPI_FORTRAN_BOTTOM] = MPI_BOTTOM,
        [OMPI_FORTRAN_IN_PLACE] = MPI_IN_PLACE,
        [OMPI_FORTRAN_BUFFER_AUTOMATIC] = MPI_BUFFER_AUTOMATIC,
        [OMPI_FORTRAN_UNWEIGHTED] = MPI_UNWEIGHTED,
        [OMPI_FORTRAN_WEIGHTS_EMPTY] = MPI_WEIGHTS_EMPTY,
    };
    const MPI_Fint *const blocks[] = {mpi_fortran_constants_, mpi_fortran_constants,
                                      mpi_fortran_constants__, MPI_FORTRAN_CONSTANTS};
    for (size_t i = 0; i < OPAL_COUNT_OF(blocks); i++) {
        size_t index = ((uintptr_t)address - (uintptr_t)blocks[i]) / sizeof(MPI_Fint);
        if (index < OPAL_COUNT_OF(values))
            return values[index];
    }
    return (void *)address;
}

bool ompi_fortran_is_argv_null(const char *address)
{
    const char *const blocks[] = {mpi_fortran_strings_, mpi_fortran_strings, mpi_fortran_strings__,
                                  MPI_FORTRAN_STRINGS};
    for (size_t i = 0; i < OPAL_COUNT_OF(blocks); i++) {
        if ((uintptr_t)address - (uintptr_t)blocks[i] < sizeof(ompi_fortran_strings_t))
            return true;
    }
    return false;
}
