/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Keyvals: from the numbers that users hold to what they stand for. Of attribute.c only.
 *
 * Threading: the caller holds the lock of attribute.c. What a keyval is does not change; it may
 * be read without the lock by who has a reference.
 */
#ifndef OMPI_KEYVAL_H
#define OMPI_KEYVAL_H

#include "ompi/object/object.h"

/* The program's callbacks, or the standard's, which are small numbers; the keyval's kind says which
 * member. */
typedef union ompi_attribute_copy_fn {
    MPI_Comm_copy_attr_function *comm;
    MPI_Type_copy_attr_function *type;
    MPI_Win_copy_attr_function *win;
} ompi_attribute_copy_fn_t;

typedef union ompi_attribute_delete_fn {
    MPI_Comm_delete_attr_function *comm;
    MPI_Type_delete_attr_function *type;
    MPI_Win_delete_attr_function *win;
} ompi_attribute_delete_fn_t;

typedef struct ompi_keyval {
    int number;
    ompi_kind_t kind;
    ompi_attribute_copy_fn_t copy;
    ompi_attribute_delete_fn_t delete;
    void *extra_state;
    unsigned references; /* values that have it, and 1 until it is freed; of a predefined one: 0 */
    bool is_predefined, is_freed;
} ompi_keyval_t;

/* Enters a keyval, which must be malloc'ed, and gives it its number; false: no memory. */
bool ompi_keyval_enter(ompi_keyval_t *keyval);

/* NULL: there is none of that kind. */
ompi_keyval_t *ompi_keyval_find(ompi_kind_t kind, int number);

void ompi_keyval_retain(ompi_keyval_t *keyval);

/* The last one frees it. */
void ompi_keyval_release(ompi_keyval_t *keyval);

#endif
