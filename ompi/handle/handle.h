/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * From handles to objects, and from handles to numbers and back.
 *
 * The standard's ABI reserves the values below 4096 for predefined handles; a table maps them to
 * their objects. Every other handle is the address of its object.
 *
 * The number of a predefined handle is its value; that of another handle is the number of its
 * object (ompi/object/number.h).
 *
 * Threading: any thread. Predefined objects are entered and taken out at start-up and shutdown.
 */
#ifndef OMPI_HANDLE_H
#define OMPI_HANDLE_H

#include "ompi/object/number.h"
#include "ompi/object/object.h"

enum { OMPI_HANDLE_PREDEFINED = OMPI_NUMBER_FIRST };

/*
 * NULL: no predefined handle, a null handle, or one whose object exists only between MPI_Init and
 * MPI_Finalize.
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
 * MPI_Comm_toint, MPI_Type_toint and so on. 0, which is the number of no handle: the handle leads
 * to no object of that kind, or there is no memory for the number.
 */
static inline int ompi_handle_to_int(ompi_kind_t kind, const void *handle)
{
    if ((uintptr_t)handle < OMPI_HANDLE_PREDEFINED)
        return (int)(uintptr_t)handle;
    ompi_object_t *object = ompi_handle_object(handle);
    return ompi_object_is(object, kind) ? ompi_object_number(object) : 0;
}

/*
 * The handle of a number; NULL, which is no valid handle, if no object has it. Does not touch the
 * object: another thread may be freeing it.
 */
static inline void *ompi_handle_from_int(ompi_kind_t kind, int number)
{
    if ((unsigned)number < OMPI_HANDLE_PREDEFINED)
        return (void *)(uintptr_t)number;
    return ompi_object_of_number(kind, number);
}

#endif
