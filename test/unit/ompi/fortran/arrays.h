/* SPDX-License-Identifier: BSD-3-Clause */
/* Descriptors of arrays, as a Fortran compiler would make them, for the tests of ompi/fortran. */
#ifndef TEST_FORTRAN_ARRAYS_H
#define TEST_FORTRAN_ARRAYS_H

#include <stdlib.h>

#include "ompi/fortran/section.h"
#include "test/unit/opal/support.h"

enum { MAX_RANK = 15 };

/* The extents and strides are set by the caller. To be freed. */
static inline ompi_fortran_array_t *create_array(void *base, size_t element_bytes, int rank)
{
    ompi_fortran_array_t *array = calloc(1, sizeof *array + MAX_RANK * sizeof array->dims[0]);
    ck_assert_ptr_nonnull(array);
    array->base = base;
    array->element_bytes = element_bytes;
    array->rank = (int8_t)rank;
    for (int i = 0; i < rank; i++)
        array->dims[i].lower = 1;
    return array;
}

/* count elements, `stride` bytes apart. */
static inline ompi_fortran_array_t *create_row(void *base, size_t element_bytes, ptrdiff_t count,
                                               ptrdiff_t stride)
{
    ompi_fortran_array_t *array = create_array(base, element_bytes, 1);
    array->dims[0].extent = count;
    array->dims[0].stride_bytes = stride;
    return array;
}

/* rows x columns elements out of a matrix whose columns are `stride` bytes apart. */
static inline ompi_fortran_array_t *create_block(void *base, size_t element_bytes, ptrdiff_t rows,
                                                 ptrdiff_t columns, ptrdiff_t stride)
{
    ompi_fortran_array_t *array = create_array(base, element_bytes, 2);
    array->dims[0].extent = rows;
    array->dims[0].stride_bytes = (ptrdiff_t)element_bytes;
    array->dims[1].extent = columns;
    array->dims[1].stride_bytes = stride;
    return array;
}

#endif
