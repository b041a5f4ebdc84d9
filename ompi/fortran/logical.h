/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Values of Fortran's LOGICAL, whose bit patterns are the compiler's: .TRUE. is 1 for most of them
 * and -1 for some.
 *
 * Threading: the literals are set before main and do not change.
 */
#ifndef OMPI_FORTRAN_LOGICAL_H
#define OMPI_FORTRAN_LOGICAL_H

#include <stdbool.h>

#include "opal/include/compiler.h"
#include "ompi/api/mpi.h"

/* A LOGICAL of the default kind has the size of an INTEGER. */
typedef struct ompi_fortran_literals {
    MPI_Fint true_value;
    MPI_Fint false_value;
} ompi_fortran_literals_t;

OPAL_HIDDEN extern ompi_fortran_literals_t ompi_fortran_literals;

static inline MPI_Fint ompi_fortran_logical(bool flag)
{
    return flag ? ompi_fortran_literals.true_value : ompi_fortran_literals.false_value;
}

/* Compilers differ in what they take for true, but agree on what is false. */
static inline bool ompi_fortran_is_true(MPI_Fint logical)
{
    return logical != ompi_fortran_literals.false_value;
}

#endif
