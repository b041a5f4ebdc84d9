/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Parts of arrays, one dimension at a time: the shape of a row becomes that of a plane, and so on.
 * What comes out has the bounds of the whole array, whatever part of it there is.
 *
 * The caller has checked the arguments. Errors as in shape.h. Threading: as shape.h.
 */
#ifndef OMPI_ARRAY_H
#define OMPI_ARRAY_H

#include "ompi/datatype/shape.h"
#include "ompi/object/ints.h"

/* [start, start + subsize) of each dimension. */
int ompi_array_slice(const ompi_shape_t *old, int ndims, ompi_ints_t sizes, ompi_ints_t subsizes,
                     ompi_ints_t starts, int order, ompi_shape_t *shape);

/* What a process has of an array that is dealt out to a grid of processes, of MPI_DISTRIBUTE_...
 * in each dimension. */
typedef struct ompi_array_deal {
    int rank, ndims, order;
    ompi_ints_t sizes;
    const int *distribs, *dargs, *psizes;
} ompi_array_deal_t;

int ompi_array_deal(const ompi_shape_t *old, const ompi_array_deal_t *deal, ompi_shape_t *shape);

#endif
