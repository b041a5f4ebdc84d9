/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Parts of arrays, one dimension at a time: the shape of a row becomes that of a plane, and so on.
 * What comes out has the bounds of the whole dimension, whatever part of it there is.
 *
 * Errors as in shape.h. Threading: as shape.h.
 */
#ifndef OMPI_ARRAY_H
#define OMPI_ARRAY_H

#include "ompi/datatype/shape.h"

/* [start, start + part) of a dimension of that size. */
int ompi_array_slice(const ompi_shape_t *old, MPI_Count size, MPI_Count part, MPI_Count start,
                     ompi_shape_t *shape);

/* What process `process` of `processes` has of a dimension of that size if it is dealt out in
 * blocks: block 0 to process 0, block 1 to process 1 ... */
int ompi_array_deal(const ompi_shape_t *old, MPI_Count size, MPI_Count block, int process,
                    int processes, ompi_shape_t *shape);

#endif
