/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Numbers of objects, by which Fortran and MPI_Comm_toint name them. An object gets a number when a
 * program first asks for it; numbers below 4096 are left to predefined handles.
 *
 * Threading: any thread.
 */
#ifndef OMPI_OBJECT_NUMBER_H
#define OMPI_OBJECT_NUMBER_H

#include "ompi/object/object.h"

enum { OMPI_NUMBER_FIRST = 4096 };

/* The number of an object that is not predefined; 0: no memory for the table. */
int ompi_object_number(ompi_object_t *object);

/* The object of that kind with a number >= OMPI_NUMBER_FIRST; NULL: no object has it. */
ompi_object_t *ompi_object_of_number(ompi_kind_t kind, int number);

/* The object ends: its number, if it has one, is free for another object. */
void ompi_object_release_number(ompi_object_t *object);

#endif
