/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Fortran's names of MPI's own callbacks, MPI_COMM_DUP_FN and others: functions in Fortran, which
 * programs may call, too; numbers in C.
 *
 * A function has several names (fortran.h). In a program that is not position-independent each has
 * an address of its own, so one is recognised by comparing with all.
 */
#ifndef OMPI_FORTRAN_PREDEFINED_H
#define OMPI_FORTRAN_PREDEFINED_H

#include <stdbool.h>

typedef void (*ompi_fortran_fn_t)(void);

bool ompi_fortran_is_null_copy_fn(ompi_fortran_fn_t function);
bool ompi_fortran_is_dup_fn(ompi_fortran_fn_t function);
bool ompi_fortran_is_null_delete_fn(ompi_fortran_fn_t function);
bool ompi_fortran_is_null_conversion_fn(ompi_fortran_fn_t function);

#endif
