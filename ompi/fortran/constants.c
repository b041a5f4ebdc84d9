/* SPDX-License-Identifier: BSD-3-Clause */
/* The COMMON block of the constants, under each of its spellings. */
#include "ompi/fortran/constants.h"

MPI_Fint mpi_fortran_constants[OMPI_FORTRAN_CONSTANTS];
MPI_Fint mpi_fortran_constants_[OMPI_FORTRAN_CONSTANTS];
MPI_Fint mpi_fortran_constants__[OMPI_FORTRAN_CONSTANTS];
MPI_Fint MPI_FORTRAN_CONSTANTS[OMPI_FORTRAN_CONSTANTS];
