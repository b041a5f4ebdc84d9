/* SPDX-License-Identifier: BSD-3-Clause */
/* Parts of one dimension of an array. */
#include "ompi/datatype/array.h"

/* Finishes a collection with the bounds of `size` old elements from 0 on. */
static int finish(ompi_shape_join_t *join, const ompi_shape_t *old, MPI_Count size,
                  ompi_shape_t *shape)
{
    MPI_Count extent;
    int outcome = ompi_shape_join_finish(join, shape);
    if (outcome != MPI_SUCCESS)
        return outcome;
    outcome = __builtin_mul_overflow(size, ompi_shape_extent(old), &extent)
                  ? MPI_ERR_VALUE_TOO_LARGE
                  : ompi_shape_resize(shape, 0, extent);
    if (outcome != MPI_SUCCESS)
        ompi_shape_release(shape);
    return outcome;
}

/* Adds [start, start + part) of the dimension. */
static void add_part(ompi_shape_join_t *join, const ompi_shape_t *old, MPI_Count start,
                     MPI_Count part)
{
    MPI_Count displacement;
    if (__builtin_mul_overflow(start, ompi_shape_extent(old), &displacement))
        join->outcome = MPI_ERR_VALUE_TOO_LARGE;
    else
        ompi_shape_join_add(join, old, displacement, part);
}

int ompi_array_slice(const ompi_shape_t *old, MPI_Count size, MPI_Count part, MPI_Count start,
                     ompi_shape_t *shape)
{
    ompi_shape_join_t join;
    ompi_shape_join_begin(&join);
    add_part(&join, old, start, part);
    return finish(&join, old, size, shape);
}

/* Whole blocks, `distance` elements apart, as one shape; they do not fill their dimension, so it
 * has no bounds that count. */
static int repeat_blocks(const ompi_shape_t *old, MPI_Count block, MPI_Count count,
                         MPI_Count distance, ompi_shape_t *blocks)
{
    MPI_Count stride;
    ompi_shape_t one;
    if (__builtin_mul_overflow(distance, ompi_shape_extent(old), &stride))
        return MPI_ERR_VALUE_TOO_LARGE;
    int outcome = ompi_shape_repeat(old, (size_t)block, ompi_shape_extent(old), &one);
    if (outcome != MPI_SUCCESS)
        return outcome;
    outcome = ompi_shape_repeat(&one, (size_t)count, stride, blocks);
    ompi_shape_release(&one);
    return outcome;
}

int ompi_array_deal(const ompi_shape_t *old, MPI_Count size, MPI_Count block, int process,
                    int processes, ompi_shape_t *shape)
{
    MPI_Count first, distance, displacement, beyond;
    ompi_shape_join_t join;
    ompi_shape_t blocks;
    if (block > size)
        block = size; /* and so nothing below is too large because of it */
    if (__builtin_mul_overflow(block, process, &first) ||
        __builtin_mul_overflow(block, processes, &distance) ||
        __builtin_add_overflow(size, distance, &beyond) ||
        __builtin_mul_overflow(first, ompi_shape_extent(old), &displacement))
        return MPI_ERR_VALUE_TOO_LARGE;
    MPI_Count left = size > first ? size - first : 0;
    MPI_Count whole = left / distance + (left % distance >= block);
    MPI_Count last = first + whole * distance; /* where a block begins that is not whole */
    int outcome = repeat_blocks(old, block, whole, distance, &blocks);
    if (outcome != MPI_SUCCESS)
        return outcome;
    ompi_shape_join_begin(&join);
    ompi_shape_join_add(&join, &blocks, displacement, 1);
    if (last < size)
        add_part(&join, old, last, size - last);
    outcome = finish(&join, old, size, shape);
    ompi_shape_release(&blocks);
    return outcome;
}
