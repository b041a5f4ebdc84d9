/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Moving data between layouts and packed bytes, from any byte on.
 *
 * A range of packed bytes begins and ends somewhere inside of a layout: inside of one child, and
 * there inside of a child of that. walk() finds the way down in one step a level, a division or a
 * binary search, and leaves all children that lie wholly in the range to a visitor, which is a
 * fast loop (kernel.c) or lists segments.
 */
#include "ompi/datatype/datatype.h"

#include "opal/arch/copy.h"
#include "ompi/datatype/kernel.h"

enum { COPY_CHUNK_BYTES = 8192 };

/* Functions that a walk calls for the pieces of a range, in their order. */
typedef struct visitor {
    /* A part of a run. Both return false to end the walk. */
    bool (*run)(struct visitor *visitor, uintptr_t address, size_t bytes);
    /* Whole children. */
    bool (*children)(struct visitor *visitor, const ompi_layout_t *layout, uintptr_t origin,
                     size_t first, size_t count);
} visitor_t;

/* How many children from `first` on lie wholly in the next `length` bytes; takes theirs away. */
static size_t whole_children(const ompi_layout_t *layout, size_t first, size_t *length)
{
    size_t end, rest;
    if (layout->kind != OMPI_LAYOUT_LIST) {
        size_t whole = *length / layout->child->bytes;
        *length -= whole * layout->child->bytes;
        return whole;
    }
    size_t limit = layout->starts[first] + *length;
    if (limit == layout->bytes) {
        end = layout->count;
        rest = 0;
    } else {
        end = ompi_layout_child_at(layout, limit, &rest);
    }
    *length = rest;
    return end - first;
}

static bool walk(const ompi_layout_t *layout, uintptr_t origin, size_t from, size_t length,
                 visitor_t *visitor);

static bool walk_child(const ompi_layout_t *layout, size_t index, uintptr_t origin, size_t from,
                       size_t length, visitor_t *visitor)
{
    const ompi_layout_t *child = ompi_layout_child(layout, index);
    uintptr_t start = origin + (uintptr_t)ompi_layout_child_offset(layout, index);
    return child != NULL ? walk(child, start, from, length, visitor)
                         : visitor->run(visitor, start + from, length);
}

/* The range [from, from + length), which is not empty and does not reach beyond the layout. */
static bool walk(const ompi_layout_t *layout, uintptr_t origin, size_t from, size_t length,
                 visitor_t *visitor)
{
    size_t skip = 0, index = 0;
    if (layout->kind == OMPI_LAYOUT_RUN)
        return visitor->run(visitor, origin + from, length);
    if (length == layout->bytes)
        return visitor->children(visitor, layout, origin, 0, layout->count);
    if (from > 0)
        index = ompi_layout_child_at(layout, from, &skip);
    if (skip > 0) {
        size_t rest = ompi_layout_child_bytes(layout, index) - skip;
        size_t begun = rest < length ? rest : length;
        if (!walk_child(layout, index, origin, skip, begun, visitor))
            return false;
        length -= begun;
        index++;
    }
    if (length == 0)
        return true;
    size_t whole = whole_children(layout, index, &length);
    if (whole > 0 && !visitor->children(visitor, layout, origin, index, whole))
        return false;
    return length == 0 || walk_child(layout, index + whole, origin, 0, length, visitor);
}

/* The layout of `count` elements: that of the type, or one that is made in *room. */
static const ompi_layout_t *repeated(const ompi_datatype_t *type, size_t count, ompi_layout_t *room)
{
    ompi_layout_t *layout = type->shape.layout;
    ptrdiff_t extent = ompi_datatype_extent(type);
    if (count == 1)
        return layout;
    room->bytes = ompi_datatype_bytes(type, count);
    room->kind = OMPI_LAYOUT_LOOP;
    room->count = count;
    room->stride = extent;
    room->child = layout;
    if (layout->kind == OMPI_LAYOUT_RUN && (ptrdiff_t)layout->bytes == extent) {
        room->kind = OMPI_LAYOUT_RUN;
    } else if (layout->kind == OMPI_LAYOUT_LOOP &&
               (uintptr_t)extent == layout->count * (uintptr_t)layout->stride) {
        room->count = count * layout->count;
        room->stride = layout->stride;
        room->child = layout->child;
    }
    return room;
}

/* Packing and unpacking. */

typedef struct mover {
    visitor_t visitor;
    ompi_kernel_fn_t *kernel;
    char *packed;
} mover_t;

static bool pack_run(visitor_t *visitor, uintptr_t address, size_t bytes)
{
    mover_t *mover = (mover_t *)visitor;
    opal_copy(mover->packed, (const char *)address, bytes);
    mover->packed += bytes;
    return true;
}

static bool unpack_run(visitor_t *visitor, uintptr_t address, size_t bytes)
{
    mover_t *mover = (mover_t *)visitor;
    opal_copy((char *)address, mover->packed, bytes);
    mover->packed += bytes;
    return true;
}

static bool move_children(visitor_t *visitor, const ompi_layout_t *layout, uintptr_t origin,
                          size_t first, size_t count)
{
    mover_t *mover = (mover_t *)visitor;
    mover->packed = mover->kernel(layout, origin, first, count, mover->packed);
    return true;
}

size_t ompi_datatype_pack_pieces(const ompi_datatype_t *type, size_t count, const void *buffer,
                                 size_t from, void *packed, size_t length)
{
    ompi_layout_t room;
    mover_t mover = {{pack_run, move_children}, ompi_kernel_pack, packed};
    length = ompi_datatype_clamp(ompi_datatype_bytes(type, count), from, length);
    if (length > 0)
        walk(repeated(type, count, &room), ompi_datatype_origin(type, buffer), from, length,
             &mover.visitor);
    return length;
}

size_t ompi_datatype_unpack_pieces(const ompi_datatype_t *type, size_t count, void *buffer,
                                   size_t from, const void *packed, size_t length)
{
    ompi_layout_t room;
    /* The unpacking kernel only reads what is packed. */
    mover_t mover = {{unpack_run, move_children}, ompi_kernel_unpack, (char *)packed};
    length = ompi_datatype_clamp(ompi_datatype_bytes(type, count), from, length);
    if (length > 0)
        walk(repeated(type, count, &room), ompi_datatype_origin(type, buffer), from, length,
             &mover.visitor);
    return length;
}

/* Segments. */

typedef struct lister {
    visitor_t visitor;
    struct iovec *segments;
    size_t count, max, bytes;
} lister_t;

static uintptr_t end_of(const struct iovec *segment)
{
    return (uintptr_t)segment->iov_base + segment->iov_len;
}

static bool list_run(visitor_t *visitor, uintptr_t address, size_t bytes)
{
    lister_t *lister = (lister_t *)visitor;
    if (lister->count > 0 && end_of(&lister->segments[lister->count - 1]) == address)
        lister->segments[lister->count - 1].iov_len += bytes;
    else if (lister->count < lister->max)
        lister->segments[lister->count++] = (struct iovec){(void *)address, bytes};
    else
        return false;
    lister->bytes += bytes;
    return true;
}

static bool list_children(visitor_t *visitor, const ompi_layout_t *layout, uintptr_t origin,
                          size_t first, size_t count)
{
    for (size_t i = first; i < first + count; i++) {
        size_t bytes = ompi_layout_child_bytes(layout, i);
        if (!walk_child(layout, i, origin, 0, bytes, visitor))
            return false;
    }
    return true;
}

size_t ompi_datatype_segments(const ompi_datatype_t *type, size_t count, const void *buffer,
                              size_t from, struct iovec *segments, size_t max, size_t *bytes)
{
    ompi_layout_t room;
    lister_t lister = {{list_run, list_children}, segments, 0, max, 0};
    size_t length = ompi_datatype_clamp(ompi_datatype_bytes(type, count), from, SIZE_MAX);
    if (length > 0)
        walk(repeated(type, count, &room), ompi_datatype_origin(type, buffer), from, length,
             &lister.visitor);
    *bytes = lister.bytes;
    return lister.count;
}

/* From layout to layout. */

static char *run_of(const ompi_datatype_t *type, size_t count, const void *buffer)
{
    bool is_run = count == 1 ? ompi_datatype_is_run(type) : ompi_datatype_is_contiguous(type);
    return is_run ? (char *)ompi_datatype_origin(type, buffer) : NULL;
}

size_t ompi_datatype_copy(const ompi_datatype_t *source_type, size_t source_count,
                          const void *source, const ompi_datatype_t *target_type,
                          size_t target_count, void *target)
{
    char chunk[COPY_CHUNK_BYTES];
    size_t source_bytes = ompi_datatype_bytes(source_type, source_count);
    size_t target_bytes = ompi_datatype_bytes(target_type, target_count);
    size_t total = source_bytes < target_bytes ? source_bytes : target_bytes;
    if (total == 0)
        return 0;
    char *run = run_of(target_type, target_count, target);
    if (run != NULL)
        return ompi_datatype_pack(source_type, source_count, source, 0, run, total);
    run = run_of(source_type, source_count, source);
    if (run != NULL)
        return ompi_datatype_unpack(target_type, target_count, target, 0, run, total);
    for (size_t done = 0, bytes; done < total; done += bytes) {
        bytes = ompi_datatype_clamp(total, done, sizeof chunk);
        ompi_datatype_pack(source_type, source_count, source, done, chunk, bytes);
        ompi_datatype_unpack(target_type, target_count, target, done, chunk, bytes);
    }
    return total;
}
