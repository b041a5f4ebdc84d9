/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Keyvals: a table from the numbers that users hold to the keys. Only attribute.c calls these
 * functions.
 *
 * Threading: the caller holds the lock of attribute.c. Kind, callbacks, their language and extra
 * state of a keyval that the program has never change; a caller with a reference may read them
 * without the lock.
 */
#ifndef OMPI_KEYVAL_H
#define OMPI_KEYVAL_H

#include "ompi/object/language.h"
#include "ompi/object/object.h"

/* The program's callbacks, or the standard's, which are small numbers. The language and the kind of
 * the keyval say which member is valid. */
typedef union ompi_attribute_copy_fn {
    MPI_Comm_copy_attr_function *comm;
    MPI_Type_copy_attr_function *type;
    MPI_Win_copy_attr_function *win;
    ompi_fortran_copy_fn_t *fortran;
    ompi_fortran_mpi1_copy_fn_t *fortran_mpi1;
} ompi_attribute_copy_fn_t;

typedef union ompi_attribute_delete_fn {
    MPI_Comm_delete_attr_function *comm;
    MPI_Type_delete_attr_function *type;
    MPI_Win_delete_attr_function *win;
    ompi_fortran_delete_fn_t *fortran;
    ompi_fortran_mpi1_delete_fn_t *fortran_mpi1;
} ompi_attribute_delete_fn_t;

typedef struct ompi_keyval {
    int number;
    ompi_kind_t kind;
    ompi_language_t language; /* of the callbacks; predefined: of the value, see keyval.c */
    ompi_attribute_copy_fn_t copy;
    ompi_attribute_delete_fn_t delete;
    void *extra_state;
    unsigned references; /* by values, and 1 until it is freed; predefined: 0 */
    bool is_predefined, is_freed;
} ompi_keyval_t;

/* Enters a keyval, which must be malloc'ed, and gives it its number; false: no memory. */
bool ompi_keyval_enter(ompi_keyval_t *keyval);

/* NULL: no keyval of that kind has the number. */
ompi_keyval_t *ompi_keyval_find(ompi_kind_t kind, int number);

void ompi_keyval_retain(ompi_keyval_t *keyval);

/* The last release frees the keyval. */
void ompi_keyval_release(ompi_keyval_t *keyval);

#endif
