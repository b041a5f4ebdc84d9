/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Shapes: where the data of a datatype lies, and of which elements it is. A datatype is an object
 * with a shape; constructors make shapes out of shapes by the operations of this header.
 *
 * Bounds are those of the standard's typemap. A type without markers reaches from its first byte
 * to its last, rounded up to its alignment; markers, which MPI_Type_create_resized sets, replace
 * that, and where a type with markers takes part in another, only markers count.
 *
 * Every operation returns an MPI error code: MPI_ERR_NO_MEM, or MPI_ERR_VALUE_TOO_LARGE if a size
 * or a bound does not fit into 63 bits. The caller releases a new shape with ompi_shape_release().
 *
 * Threading: shapes do not change once they are made.
 */
#ifndef OMPI_SHAPE_H
#define OMPI_SHAPE_H

#include "opal/include/compiler.h"
#include "ompi/api/mpi.h"
#include "ompi/datatype/layout.h"
#include "ompi/datatype/signature.h"

struct ompi_datatype;

typedef struct ompi_bounds {
    MPI_Count lb, ub;
    MPI_Count true_lb, true_ub;
    bool has_data, has_markers; /* without either, all four are 0 */
} ompi_bounds_t;

typedef struct ompi_shape {
    ompi_layout_t *layout;
    ptrdiff_t origin; /* of the layout, in the user's buffer */
    ompi_signature_t *signature;
    ompi_bounds_t bounds;
    size_t alignment;              /* the largest of its elements */
    struct ompi_datatype *element; /* the predefined type that it is made of; NULL: of several, or
                                      of nothing */
} ompi_shape_t;

static inline MPI_Count ompi_shape_extent(const ompi_shape_t *shape)
{
    return shape->bounds.ub - shape->bounds.lb;
}

/* The shape without data. */
OPAL_EXPORT ompi_shape_t ompi_shape_nothing(void);

/* A copy that shares the layout and the signature. */
OPAL_EXPORT ompi_shape_t ompi_shape_copy(const ompi_shape_t *shape);

OPAL_EXPORT void ompi_shape_release(ompi_shape_t *shape);

/* `count` times the old shape, `stride` bytes apart. */
int ompi_shape_repeat(const ompi_shape_t *old, size_t count, MPI_Count stride, ompi_shape_t *shape);

/* Gives the shape markers. */
int ompi_shape_resize(ompi_shape_t *shape, MPI_Count lb, MPI_Count extent);

/*
 * Concatenation of shapes: begin, add, ..., finish. finish returns the first error of adding, and
 * is to be called in any case.
 */
typedef struct ompi_shape_join {
    ompi_layout_list_t layouts;
    ompi_signature_list_t signatures;
    ompi_bounds_t bounds;
    size_t bytes, alignment;
    struct ompi_datatype *element;
    const ompi_shape_t *last; /* the last shape added, and its repeated layout */
    MPI_Count last_count;
    ompi_layout_t *last_layout;
    int outcome;
} ompi_shape_join_t;

void ompi_shape_join_begin(ompi_shape_join_t *join);

/* A block of `count` >= 0 copies, an extent apart, the first displaced by `displacement`. The
 * shape has to live until the join is finished. */
void ompi_shape_join_add(ompi_shape_join_t *join, const ompi_shape_t *shape, MPI_Count displacement,
                         MPI_Count count);

int ompi_shape_join_finish(ompi_shape_join_t *join, ompi_shape_t *shape);

#endif
