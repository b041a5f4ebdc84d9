/* SPDX-License-Identifier: BSD-3-Clause */
/* Bounds, and shapes out of shapes. Every number that a user can make large is checked here. */
#include "ompi/datatype/shape.h"

#include <stdlib.h>
#include <string.h>

static bool multiply(MPI_Count a, MPI_Count b, MPI_Count *product)
{
    return !__builtin_mul_overflow(a, b, product);
}

static bool add(MPI_Count a, MPI_Count b, MPI_Count *sum)
{
    return !__builtin_add_overflow(a, b, sum);
}

static MPI_Count smaller(MPI_Count a, MPI_Count b)
{
    return a < b ? a : b;
}

static MPI_Count larger(MPI_Count a, MPI_Count b)
{
    return a > b ? a : b;
}

/* count >= 1 copies at 0, stride, 2 stride ... */
static bool repeat_bounds(ompi_bounds_t *bounds, MPI_Count count, MPI_Count stride)
{
    MPI_Count span;
    if (!multiply(count - 1, stride, &span))
        return false;
    MPI_Count back = smaller(span, 0), forth = larger(span, 0);
    return add(bounds->lb, back, &bounds->lb) && add(bounds->ub, forth, &bounds->ub) &&
           add(bounds->true_lb, back, &bounds->true_lb) &&
           add(bounds->true_ub, forth, &bounds->true_ub);
}

static bool shift_bounds(ompi_bounds_t *bounds, MPI_Count displacement)
{
    return add(bounds->lb, displacement, &bounds->lb) &&
           add(bounds->ub, displacement, &bounds->ub) &&
           add(bounds->true_lb, displacement, &bounds->true_lb) &&
           add(bounds->true_ub, displacement, &bounds->true_ub);
}

/* Takes `more` into the bounds; lb and ub are of use only if there are markers. */
static void join_bounds(ompi_bounds_t *bounds, const ompi_bounds_t *more)
{
    if (more->has_data && bounds->has_data) {
        bounds->true_lb = smaller(bounds->true_lb, more->true_lb);
        bounds->true_ub = larger(bounds->true_ub, more->true_ub);
    } else if (more->has_data) {
        bounds->true_lb = more->true_lb;
        bounds->true_ub = more->true_ub;
    }
    if (more->has_markers && bounds->has_markers) {
        bounds->lb = smaller(bounds->lb, more->lb);
        bounds->ub = larger(bounds->ub, more->ub);
    } else if (more->has_markers) {
        bounds->lb = more->lb;
        bounds->ub = more->ub;
    }
    bounds->has_data |= more->has_data;
    bounds->has_markers |= more->has_markers;
}

/* Sets the bounds of a type without markers: from the first byte to the last, rounded up. False: an
 * extent overflows. */
static bool settle_bounds(ompi_bounds_t *bounds, size_t alignment)
{
    MPI_Count extent, unused;
    if (!bounds->has_data)
        bounds->true_lb = bounds->true_ub = 0;
    if (__builtin_sub_overflow(bounds->true_ub, bounds->true_lb, &extent))
        return false;
    if (!bounds->has_markers) {
        MPI_Count beyond = extent % (MPI_Count)alignment;
        bounds->lb = bounds->true_lb;
        if (!add(bounds->true_ub, beyond > 0 ? (MPI_Count)alignment - beyond : 0, &bounds->ub))
            return false;
    }
    return !__builtin_sub_overflow(bounds->ub, bounds->lb, &unused);
}

ompi_shape_t ompi_shape_nothing(void)
{
    return (ompi_shape_t){
        .layout = ompi_layout_retain(&ompi_layout_empty),
        .signature = ompi_signature_retain(&ompi_signature_empty),
        .alignment = 1,
    };
}

ompi_shape_t ompi_shape_copy(const ompi_shape_t *shape)
{
    ompi_layout_retain(shape->layout);
    ompi_signature_retain(shape->signature);
    return *shape;
}

void ompi_shape_release(ompi_shape_t *shape)
{
    ompi_layout_release(shape->layout);
    ompi_signature_release(shape->signature);
    shape->layout = NULL;
    shape->signature = NULL;
}

int ompi_shape_repeat(const ompi_shape_t *old, size_t count, MPI_Count stride, ompi_shape_t *shape)
{
    if (count == 0) {
        *shape = ompi_shape_nothing();
        return MPI_SUCCESS;
    }
    MPI_Count bytes;
    ompi_shape_t made = *old;
    if (__builtin_mul_overflow(count, old->layout->bytes, &bytes) || count > PTRDIFF_MAX ||
        !repeat_bounds(&made.bounds, (MPI_Count)count, stride) ||
        !settle_bounds(&made.bounds, made.alignment))
        return MPI_ERR_VALUE_TOO_LARGE;
    made.layout = ompi_layout_repeat(old->layout, count, stride);
    made.signature = ompi_signature_repeat(old->signature, count);
    if (made.layout == NULL || made.signature == NULL) {
        ompi_shape_release(&made);
        return MPI_ERR_NO_MEM;
    }
    *shape = made;
    return MPI_SUCCESS;
}

int ompi_shape_resize(ompi_shape_t *shape, MPI_Count lb, MPI_Count extent)
{
    MPI_Count ub;
    if (!add(lb, extent, &ub))
        return MPI_ERR_VALUE_TOO_LARGE;
    shape->bounds.lb = lb;
    shape->bounds.ub = ub;
    shape->bounds.has_markers = true;
    return MPI_SUCCESS;
}

void ompi_shape_join_begin(ompi_shape_join_t *join)
{
    *join = (ompi_shape_join_t){.alignment = 1, .outcome = MPI_SUCCESS};
}

/* Blocks of the same shape and length come in long rows: their layout is made once. */
static ompi_layout_t *block_layout(ompi_shape_join_t *join, const ompi_shape_t *shape,
                                   MPI_Count count)
{
    if (count == 1)
        return shape->layout;
    if (join->last != shape || join->last_count != count || join->last_layout == NULL) {
        ompi_layout_release(join->last_layout);
        join->last = shape;
        join->last_count = count;
        join->last_layout =
            ompi_layout_repeat(shape->layout, (size_t)count, ompi_shape_extent(shape));
    }
    return join->last_layout;
}

static void add_layout(ompi_shape_join_t *join, const ompi_shape_t *shape, ptrdiff_t origin,
                       MPI_Count count)
{
    size_t bytes = shape->layout->bytes;
    if (shape->layout->kind == OMPI_LAYOUT_RUN && (MPI_Count)bytes == ompi_shape_extent(shape)) {
        ompi_layout_list_add_run(&join->layouts, origin, (size_t)count * bytes);
        return;
    }
    ompi_layout_t *layout = block_layout(join, shape, count);
    if (layout != NULL)
        ompi_layout_list_add(&join->layouts, origin, layout);
    else
        join->outcome = MPI_ERR_NO_MEM;
}

void ompi_shape_join_add(ompi_shape_join_t *join, const ompi_shape_t *shape, MPI_Count displacement,
                         MPI_Count count)
{
    ompi_bounds_t bounds = shape->bounds;
    MPI_Count bytes, total, origin;
    if (count == 0 || !(bounds.has_data || bounds.has_markers) || join->outcome != MPI_SUCCESS)
        return;
    if (!multiply(count, (MPI_Count)shape->layout->bytes, &bytes) ||
        !add((MPI_Count)join->bytes, bytes, &total) || !add(shape->origin, displacement, &origin) ||
        !repeat_bounds(&bounds, count, ompi_shape_extent(shape)) ||
        !shift_bounds(&bounds, displacement)) {
        join->outcome = MPI_ERR_VALUE_TOO_LARGE;
        return;
    }
    if (bounds.has_data)
        join->element = join->bytes == 0 || join->element == shape->element ? shape->element : NULL;
    join->bytes = (size_t)total;
    join_bounds(&join->bounds, &bounds);
    if (join->alignment < shape->alignment)
        join->alignment = shape->alignment;
    add_layout(join, shape, origin, count);
    ompi_signature_list_add(&join->signatures, shape->signature, (size_t)count);
}

int ompi_shape_join_finish(ompi_shape_join_t *join, ompi_shape_t *shape)
{
    ompi_shape_t made = {.alignment = join->alignment, .element = join->element};
    if (join->outcome == MPI_SUCCESS && !settle_bounds(&join->bounds, join->alignment))
        join->outcome = MPI_ERR_VALUE_TOO_LARGE;
    if (join->outcome == MPI_SUCCESS) {
        made.bounds = join->bounds;
        made.layout = ompi_layout_list_finish(&join->layouts, &made.origin);
        made.signature = ompi_signature_list_finish(&join->signatures);
        if (made.layout == NULL || made.signature == NULL)
            join->outcome = MPI_ERR_NO_MEM;
    }
    ompi_layout_list_discard(&join->layouts);
    ompi_signature_list_discard(&join->signatures);
    ompi_layout_release(join->last_layout);
    if (join->outcome == MPI_SUCCESS)
        *shape = made;
    else
        ompi_shape_release(&made);
    return join->outcome;
}
