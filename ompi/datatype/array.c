/* SPDX-License-Identifier: BSD-3-Clause */
/* Parts of one dimension of an array, and of all. */
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

/* [start, start + part) of a dimension of that size. */
static int slice_dimension(const ompi_shape_t *old, MPI_Count size, MPI_Count part, MPI_Count start,
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

/* What process `process` of `processes` has of a dimension of that size if it is dealt out in
 * blocks: block 0 to process 0, block 1 to process 1 ... */
static int deal_dimension(const ompi_shape_t *old, MPI_Count size, MPI_Count block, int process,
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

/* The dimension that is treated as number `step`: the one that is dense in memory comes first. */
static size_t dimension_at(int step, int ndims, int order)
{
    return (size_t)(order == MPI_ORDER_FORTRAN ? step : ndims - 1 - step);
}

int ompi_array_slice(const ompi_shape_t *old, int ndims, ompi_ints_t sizes, ompi_ints_t subsizes,
                     ompi_ints_t starts, int order, ompi_shape_t *shape)
{
    int outcome = MPI_SUCCESS;
    ompi_shape_t outer = ompi_shape_copy(old);
    for (int step = 0; step < ndims && outcome == MPI_SUCCESS; step++) {
        size_t i = dimension_at(step, ndims, order);
        ompi_shape_t inner = outer;
        outcome = slice_dimension(&inner, ompi_ints_at(sizes, i), ompi_ints_at(subsizes, i),
                                  ompi_ints_at(starts, i), &outer);
        ompi_shape_release(&inner);
    }
    if (outcome == MPI_SUCCESS)
        *shape = outer;
    return outcome;
}

/* The coordinates of a process in its grid, whose last dimension varies fastest whatever the order
 * of the array is: the coordinate in dimension i. */
static int coordinate(const ompi_array_deal_t *deal, size_t i)
{
    int rank = deal->rank;
    for (size_t k = (size_t)deal->ndims - 1; k > i; k--)
        rank /= deal->psizes[k];
    return rank % deal->psizes[i];
}

static MPI_Count block_of(const ompi_array_deal_t *deal, size_t i)
{
    MPI_Count size = ompi_ints_at(deal->sizes, i), processes = deal->psizes[i];
    if (deal->distribs[i] == MPI_DISTRIBUTE_NONE)
        return size;
    if (deal->dargs[i] != MPI_DISTRIBUTE_DFLT_DARG)
        return deal->dargs[i];
    return deal->distribs[i] == MPI_DISTRIBUTE_CYCLIC ? 1
                                                      : size / processes + (size % processes > 0);
}

int ompi_array_deal(const ompi_shape_t *old, const ompi_array_deal_t *deal, ompi_shape_t *shape)
{
    int outcome = MPI_SUCCESS;
    ompi_shape_t outer = ompi_shape_copy(old);
    for (int step = 0; step < deal->ndims && outcome == MPI_SUCCESS; step++) {
        size_t i = dimension_at(step, deal->ndims, deal->order);
        ompi_shape_t inner = outer;
        outcome = deal_dimension(&inner, ompi_ints_at(deal->sizes, i), block_of(deal, i),
                                 coordinate(deal, i), deal->psizes[i], &outer);
        ompi_shape_release(&inner);
    }
    if (outcome == MPI_SUCCESS)
        *shape = outer;
    return outcome;
}
