/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * From handles to objects, and from handles to numbers and back.
 *
 * The standard's ABI reserves the values below 4096 for predefined handles; a table leads from
 * them to their objects. Every other handle is the address of its object.
 *
 * The number of a predefined handle is its value. Another one gets a number, from 4096 on, when
 * its program first asks for it; a table per kind leads back.
 */
#ifndef OMPI_HANDLE_H
#define OMPI_HANDLE_H

#include "ompi/object/object.h"

enum { OMPI_HANDLE_PREDEFINED = 4096 };

/*
 * Written at start-up and shutdown only. NULL: no predefined handle, a null handle, or one whose
 * object exists only between MPI_Init and MPI_Finalize.
 */
OPAL_EXPORT extern ompi_object_t *ompi_handle_predefined[OMPI_HANDLE_PREDEFINED];

/* The object, or NULL for a null handle. Does not look at the object: see ompi_object_is(). */
static inline void *ompi_handle_object(const void *handle)
{
    uintptr_t value = (uintptr_t)handle;
    return value < OMPI_HANDLE_PREDEFINED ? (void *)ompi_handle_predefined[value] : (void *)value;
}

/* Enters a predefined object under its handle, and takes it out again. */
void ompi_handle_define(ompi_object_t *object);
void ompi_handle_undefine(ompi_object_t *object);

/*
 * MPI_Comm_toint and the others like it. 0, which is the number of no handle: there is no such
 * object, or no memory for the table.
 */
int ompi_handle_to_int(ompi_kind_t kind, const void *handle);

/* The handle of a number; NULL, which is no valid handle, if no object has it. */
void *ompi_handle_from_int(ompi_kind_t kind, int number);

/* An object ends: nobody finds it by its number any more. */
void ompi_handle_forget(ompi_object_t *object);

#endif
