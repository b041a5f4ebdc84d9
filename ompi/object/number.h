/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Numbers of objects, by which Fortran and MPI_Comm_toint name them. An object gets a number when a
 * program first asks for it, and keeps it until it ends; then the number is free for another object
 * of the kind. Numbers below 4096 are left to predefined handles.
 *
 * Every request of a Fortran program takes a number, so taking one, giving it back and looking it
 * up take no lock.
 *
 * Threading: any thread, as far as threads may use objects of the kind at the same time
 * (ompi_kind_is_of_one_thread). Looking up a number is wait-free.
 */
#ifndef OMPI_OBJECT_NUMBER_H
#define OMPI_OBJECT_NUMBER_H

#include "ompi/object/object.h"

enum { OMPI_NUMBER_FIRST = 4096 };

/* For an object without a number. If another thread was faster, the number that it has taken. */
OPAL_EXPORT int ompi_object_take_number(ompi_object_t *object);

/* The number of an object that is not predefined; 0: no memory for the table, or no number left. */
static inline int ompi_object_number(ompi_object_t *object)
{
    /* Acquire: the thread that reads the number finds the object by it. */
    int number = atomic_load_explicit(&object->number, memory_order_acquire);
    return number != 0 ? number : ompi_object_take_number(object);
}

/*
 * The object of that kind with a number; NULL: no object has it, or it is less than
 * OMPI_NUMBER_FIRST. The object is not touched.
 */
OPAL_EXPORT ompi_object_t *ompi_object_of_number(ompi_kind_t kind, int number);

/* For an object with a number. */
void ompi_object_return_number(ompi_object_t *object);

/* The object ends: its number, if it has one, is free for another object. */
static inline void ompi_object_release_number(ompi_object_t *object)
{
    if (atomic_load_explicit(&object->number, memory_order_relaxed) != 0)
        ompi_object_return_number(object);
}

#endif
