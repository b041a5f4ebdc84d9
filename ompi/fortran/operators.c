/* SPDX-License-Identifier: BSD-3-Clause */
/* The operators == and /= of mpi_f08's handles: a function for each type, which are all the same.
 */
#include "ompi/fortran/fortran.h"

OPAL_EXPORT MPI_Fint mpi_comm_eq_(const MPI_Fint *a, const MPI_Fint *b)
{
    return ompi_fortran_logical(*a == *b);
}

OPAL_EXPORT MPI_Fint mpi_comm_ne_(const MPI_Fint *a, const MPI_Fint *b)
{
    return ompi_fortran_logical(*a != *b);
}

SPELL(mpi_comm_eq, MPI_COMM_EQ)
SPELL(mpi_comm_ne, MPI_COMM_NE)

#define OPERATORS(lower, upper)                                                                    \
    SPELL_AS(mpi_comm_eq, lower##_eq, upper##_EQ)                                                  \
    SPELL_AS(mpi_comm_ne, lower##_ne, upper##_NE)

OPERATORS(mpi_datatype, MPI_DATATYPE)
OPERATORS(mpi_errhandler, MPI_ERRHANDLER)
OPERATORS(mpi_file, MPI_FILE)
OPERATORS(mpi_group, MPI_GROUP)
OPERATORS(mpi_info, MPI_INFO)
OPERATORS(mpi_message, MPI_MESSAGE)
OPERATORS(mpi_op, MPI_OP)
OPERATORS(mpi_request, MPI_REQUEST)
OPERATORS(mpi_session, MPI_SESSION)
OPERATORS(mpi_win, MPI_WIN)
