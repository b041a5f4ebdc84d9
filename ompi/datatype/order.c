/* SPDX-License-Identifier: BSD-3-Clause */
/* Spans, and the search for an offset, down the tree. */
#include "ompi/datatype/order.h"

#include <assert.h>

static ompi_layout_span_t run_span(size_t bytes)
{
    return (ompi_layout_span_t){0, (ptrdiff_t)bytes, 0, true, true};
}

/* The span of a child, from its own origin. A list often has the same child many times: `*last` is
 * the child whose span is in `*span`. */
static void update_child_span(const ompi_layout_t *layout, size_t index, const ompi_layout_t **last,
                              ompi_layout_span_t *span)
{
    const ompi_layout_t *child = ompi_layout_child(layout, index);
    assert(child != NULL || layout->kind == OMPI_LAYOUT_LIST);
    if (child == NULL)
        *span = run_span(ompi_layout_child_bytes(layout, index));
    else if (child != *last)
        *span = ompi_layout_span(child);
    *last = child;
}

ompi_layout_span_t ompi_layout_span(const ompi_layout_t *layout)
{
    ompi_layout_span_t all = run_span(layout->bytes), child;
    const ompi_layout_t *last = NULL;
    ptrdiff_t end = 0; /* of the child before */
    if (layout->kind == OMPI_LAYOUT_RUN)
        return all;
    if (layout->kind == OMPI_LAYOUT_LOOP) {
        ptrdiff_t distance = ompi_layout_child_offset(layout, layout->count - 1);
        all = ompi_layout_span(layout->child);
        all.is_ordered &= layout->stride >= all.behind - all.first;
        all.is_rising &= layout->stride >= all.last;
        all.last += distance;
        all.first += distance < 0 ? distance : 0;
        all.behind += distance > 0 ? distance : 0;
        return all;
    }
    for (size_t i = 0; i < layout->count; i++) {
        ptrdiff_t offset = ompi_layout_child_offset(layout, i);
        update_child_span(layout, i, &last, &child);
        if (i == 0)
            all = child; /* the first child is at 0 */
        all.is_ordered &= child.is_ordered && (i == 0 || offset + child.first >= all.behind);
        all.is_rising &= child.is_rising && (i == 0 || offset >= all.last);
        if (i == 0 || offset != end || child.last != 0) /* else it carries the run on */
            all.last = offset + child.last;
        end = offset + child.behind;
        all.first = offset + child.first < all.first ? offset + child.first : all.first;
        all.behind = offset + child.behind > all.behind ? offset + child.behind : all.behind;
    }
    return all;
}

static size_t bytes_before_child(const ompi_layout_t *layout, size_t index)
{
    return layout->kind == OMPI_LAYOUT_LIST ? layout->starts[index] : index * layout->child->bytes;
}

static size_t run_bytes_until(size_t bytes, ptrdiff_t offset)
{
    return offset <= 0 ? 0 : (size_t)offset < bytes ? (size_t)offset : bytes;
}

/* The last child that begins at an offset, or before it, in a layout that is ordered. */
static size_t last_child_at(const ompi_layout_t *layout, ptrdiff_t offset)
{
    size_t low = 0, high = layout->count;
    if (layout->kind == OMPI_LAYOUT_LOOP) {
        size_t index = (size_t)(offset / layout->stride);
        return index < layout->count ? index : layout->count - 1;
    }
    while (high - low > 1) {
        size_t middle = low + (high - low) / 2;
        if (ompi_layout_child_offset(layout, middle) <= offset)
            low = middle;
        else
            high = middle;
    }
    return low;
}

static size_t ordered_bytes_until(const ompi_layout_t *layout, ptrdiff_t offset)
{
    size_t before = 0;
    while (layout->kind != OMPI_LAYOUT_RUN && offset > 0) {
        size_t index = last_child_at(layout, offset);
        before += bytes_before_child(layout, index);
        offset -= ompi_layout_child_offset(layout, index);
        const ompi_layout_t *child = ompi_layout_child(layout, index);
        if (child == NULL)
            return before + run_bytes_until(ompi_layout_child_bytes(layout, index), offset);
        layout = child;
    }
    return before + run_bytes_until(layout->bytes, offset);
}

/* The first child that reaches beyond an offset; one of them does. */
static size_t first_child_beyond(const ompi_layout_t *layout, ptrdiff_t offset)
{
    ompi_layout_span_t span;
    const ompi_layout_t *last = NULL;
    size_t index = 0;
    if (layout->kind == OMPI_LAYOUT_LOOP) {
        ptrdiff_t beyond = offset - ompi_layout_span(layout->child).behind;
        return layout->stride <= 0 || beyond < 0 ? 0 : (size_t)(beyond / layout->stride) + 1;
    }
    update_child_span(layout, index, &last, &span);
    while (ompi_layout_child_offset(layout, index) + span.behind <= offset)
        update_child_span(layout, ++index, &last, &span);
    return index;
}

static size_t any_bytes_until(const ompi_layout_t *layout, ptrdiff_t offset)
{
    if (layout->kind == OMPI_LAYOUT_RUN)
        return run_bytes_until(layout->bytes, offset);
    if (ompi_layout_span(layout).behind <= offset)
        return layout->bytes;
    size_t index = first_child_beyond(layout, offset), before = bytes_before_child(layout, index);
    const ompi_layout_t *child = ompi_layout_child(layout, index);
    offset -= ompi_layout_child_offset(layout, index);
    return before + (child != NULL
                         ? any_bytes_until(child, offset)
                         : run_bytes_until(ompi_layout_child_bytes(layout, index), offset));
}

size_t ompi_layout_bytes_until(const ompi_layout_t *layout, ptrdiff_t offset, bool is_ordered)
{
    return is_ordered ? ordered_bytes_until(layout, offset) : any_bytes_until(layout, offset);
}
