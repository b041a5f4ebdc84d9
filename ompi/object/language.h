/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The languages of what a program gives to MPI: functions, and values of attributes.
 *
 * A function in Fortran gets its arguments by reference, and handles as their numbers
 * (ompi/handle/handle.h). The Fortran library gives it to the C function of MPI, cast to the type
 * of a C function, and then marks the new object: ompi_op_set_fortran,
 * ompi_errhandler_set_fortran, ompi_keyval_set_language. The mark is set before the program gets
 * the object, and never changes.
 */
#ifndef OMPI_OBJECT_LANGUAGE_H
#define OMPI_OBJECT_LANGUAGE_H

#include "ompi/api/mpi.h"

/* Of what is not marked: C. */
typedef enum ompi_language {
    OMPI_LANGUAGE_C,
    OMPI_LANGUAGE_FORTRAN,      /* values of attributes are INTEGER(KIND=MPI_ADDRESS_KIND) */
    OMPI_LANGUAGE_FORTRAN_MPI1, /* they are INTEGER: MPI_KEYVAL_CREATE, MPI_ATTR_PUT */
} ompi_language_t;

/* Operations, of MPI_Op_create and MPI_Op_create_c. */
typedef void ompi_fortran_op_fn_t(void *in, void *inout, MPI_Fint *length, MPI_Fint *datatype);
typedef void ompi_fortran_op_c_fn_t(void *in, void *inout, MPI_Count *length, MPI_Fint *datatype);

/* Error handlers of all kinds of objects. */
typedef void ompi_fortran_errhandler_fn_t(MPI_Fint *handle, MPI_Fint *error_code);

/* Callbacks of attributes of all kinds of objects. `flag` is a LOGICAL; .FALSE. is 0. */
typedef void ompi_fortran_copy_fn_t(MPI_Fint *handle, MPI_Fint *keyval, MPI_Aint *extra_state,
                                    MPI_Aint *value, MPI_Aint *copy, MPI_Fint *flag,
                                    MPI_Fint *error);
typedef void ompi_fortran_delete_fn_t(MPI_Fint *handle, MPI_Fint *keyval, MPI_Aint *value,
                                      MPI_Aint *extra_state, MPI_Fint *error);

/* The same of MPI-1. */
typedef void ompi_fortran_mpi1_copy_fn_t(MPI_Fint *handle, MPI_Fint *keyval, MPI_Fint *extra_state,
                                         MPI_Fint *value, MPI_Fint *copy, MPI_Fint *flag,
                                         MPI_Fint *error);
typedef void ompi_fortran_mpi1_delete_fn_t(MPI_Fint *handle, MPI_Fint *keyval, MPI_Fint *value,
                                           MPI_Fint *extra_state, MPI_Fint *error);

#endif
