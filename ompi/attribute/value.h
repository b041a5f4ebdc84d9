/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The value of an attribute in C and in Fortran, as the standard's section on attributes of several
 * languages has it:
 *
 *   set in                 C gets                     Fortran gets
 *   C: a pointer           the pointer                the address
 *   Fortran: an integer    a pointer to an integer    the integer
 *
 * The integer is an MPI_Aint, or an MPI_Fint (INTEGER) in the functions of MPI-1. Those get from
 * the other ones what of an address fits an MPI_Fint.
 *
 * Threading: the caller holds the lock of attribute.c, or nothing else changes the value.
 */
#ifndef OMPI_ATTRIBUTE_VALUE_H
#define OMPI_ATTRIBUTE_VALUE_H

#include <stdint.h>

#include "ompi/object/language.h"

typedef struct ompi_attribute_value {
    ompi_language_t language;
    union {
        void *pointer;    /* OMPI_LANGUAGE_C */
        MPI_Aint address; /* OMPI_LANGUAGE_FORTRAN */
        MPI_Fint integer; /* OMPI_LANGUAGE_FORTRAN_MPI1 */
    } is;
} ompi_attribute_value_t;

static inline ompi_attribute_value_t ompi_attribute_value_of_c(void *pointer)
{
    return (ompi_attribute_value_t){.language = OMPI_LANGUAGE_C, .is.pointer = pointer};
}

static inline ompi_attribute_value_t ompi_attribute_value_of_fortran(ompi_language_t language,
                                                                     MPI_Aint value)
{
    if (language == OMPI_LANGUAGE_FORTRAN)
        return (ompi_attribute_value_t){.language = language, .is.address = value};
    return (ompi_attribute_value_t){.language = language, .is.integer = (MPI_Fint)value};
}

/* What C gets; it may be a pointer into *value. */
static inline void *ompi_attribute_value_in_c(ompi_attribute_value_t *value)
{
    return value->language == OMPI_LANGUAGE_C ? value->is.pointer : &value->is;
}

/* What Fortran gets. */
static inline MPI_Aint ompi_attribute_value_in_fortran(const ompi_attribute_value_t *value)
{
    switch (value->language) {
    case OMPI_LANGUAGE_FORTRAN:
        return value->is.address;
    case OMPI_LANGUAGE_FORTRAN_MPI1:
        return value->is.integer;
    default:
        return (MPI_Aint)value->is.pointer;
    }
}

#endif
