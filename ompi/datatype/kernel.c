/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Each loop is written once for both directions and all lengths of a block. It is inlined with the
 * direction, and for the common lengths with the length, as constants.
 *
 * A grid is two loops, one in the other, around a block: what vectors, columns and faces are. More
 * loops than that are recursion around a grid.
 */
#include "ompi/datatype/kernel.h"

#include "opal/arch/copy.h"

typedef struct grid {
    uintptr_t address;
    size_t rows, columns;
    ptrdiff_t row_stride, column_stride;
} grid_t;

static OPAL_ALWAYS_INLINE void copy_block(uintptr_t address, char *packed, size_t bytes,
                                          bool is_unpack)
{
    char *block = (char *)address;
    if (is_unpack)
        opal_copy(block, packed, bytes);
    else
        opal_copy(packed, block, bytes);
}

/* Blocks up to this length are copied four in a round: one a round is held up by the counting. */
enum { FOUR_MAX_BYTES = 32 };

static OPAL_ALWAYS_INLINE char *copy_row(uintptr_t address, ptrdiff_t stride, size_t count,
                                         char *packed, size_t bytes, bool is_unpack)
{
    uintptr_t step = (uintptr_t)stride;
    size_t left = count;
    if (__builtin_constant_p(bytes) && bytes <= FOUR_MAX_BYTES) {
        /* Two addresses are counted up, so that the four addresses are not a chain of four
         * additions. */
        uintptr_t third = address + 2 * step;
        for (; left >= 4; left -= 4, packed += 4 * bytes) {
            copy_block(address, packed, bytes, is_unpack);
            copy_block(address + step, packed + bytes, bytes, is_unpack);
            copy_block(third, packed + 2 * bytes, bytes, is_unpack);
            copy_block(third + step, packed + 3 * bytes, bytes, is_unpack);
            address += 4 * step;
            third += 4 * step;
        }
    }
    for (; left > 0; left--, address += step, packed += bytes)
        copy_block(address, packed, bytes, is_unpack);
    return packed;
}

static OPAL_ALWAYS_INLINE char *copy_grid(const grid_t *grid, char *packed, size_t bytes,
                                          bool is_unpack)
{
    uintptr_t row = grid->address;
    for (size_t i = 0; i < grid->rows; i++, row += (uintptr_t)grid->row_stride)
        packed = copy_row(row, grid->column_stride, grid->columns, packed, bytes, is_unpack);
    return packed;
}

static OPAL_ALWAYS_INLINE char *copy_narrow(uintptr_t origin, const int32_t *offsets, size_t count,
                                            char *packed, size_t bytes, bool is_unpack)
{
    size_t i = 0;
    if (__builtin_constant_p(bytes) && bytes <= FOUR_MAX_BYTES) {
        for (; i + 4 <= count; i += 4, packed += 4 * bytes) {
            copy_block(origin + (uintptr_t)offsets[i], packed, bytes, is_unpack);
            copy_block(origin + (uintptr_t)offsets[i + 1], packed + bytes, bytes, is_unpack);
            copy_block(origin + (uintptr_t)offsets[i + 2], packed + 2 * bytes, bytes, is_unpack);
            copy_block(origin + (uintptr_t)offsets[i + 3], packed + 3 * bytes, bytes, is_unpack);
        }
    }
    for (; i < count; i++, packed += bytes)
        copy_block(origin + (uintptr_t)offsets[i], packed, bytes, is_unpack);
    return packed;
}

static OPAL_ALWAYS_INLINE char *copy_wide(uintptr_t origin, const ptrdiff_t *offsets, size_t count,
                                          char *packed, size_t bytes, bool is_unpack)
{
    for (size_t i = 0; i < count; i++, packed += bytes)
        copy_block(origin + (uintptr_t)offsets[i], packed, bytes, is_unpack);
    return packed;
}

/* Calls a loop with the length as a constant, if it is a common one. */
#define FOR_CONSTANT(bytes, CALL)                                                                  \
    switch (bytes) {                                                                               \
    case 1:                                                                                        \
        return CALL(1);                                                                            \
    case 2:                                                                                        \
        return CALL(2);                                                                            \
    case 4:                                                                                        \
        return CALL(4);                                                                            \
    case 8:                                                                                        \
        return CALL(8);                                                                            \
    case 12:                                                                                       \
        return CALL(12);                                                                           \
    case 16:                                                                                       \
        return CALL(16);                                                                           \
    case 24:                                                                                       \
        return CALL(24);                                                                           \
    case 32:                                                                                       \
        return CALL(32);                                                                           \
    case 64:                                                                                       \
        return CALL(64);                                                                           \
    default:                                                                                       \
        return CALL(bytes);                                                                        \
    }

static OPAL_ALWAYS_INLINE char *copy_any_grid(const grid_t *grid, char *packed, size_t bytes,
                                              bool is_unpack)
{
#define COPY_GRID(length) copy_grid(grid, packed, length, is_unpack)
    FOR_CONSTANT(bytes, COPY_GRID)
#undef COPY_GRID
}

static OPAL_ALWAYS_INLINE char *copy_any_narrow(uintptr_t origin, const int32_t *offsets,
                                                size_t count, char *packed, size_t bytes,
                                                bool is_unpack)
{
#define COPY_NARROW(length) copy_narrow(origin, offsets, count, packed, length, is_unpack)
    FOR_CONSTANT(bytes, COPY_NARROW)
#undef COPY_NARROW
}

static OPAL_ALWAYS_INLINE char *copy_loop(const ompi_layout_t *layout, uintptr_t origin,
                                          size_t first, size_t count, char *packed, bool is_unpack)
{
    ompi_kernel_fn_t *self = is_unpack ? ompi_kernel_unpack : ompi_kernel_pack;
    const ompi_layout_t *child = layout->child;
    grid_t grid = {origin + first * (uintptr_t)layout->stride, 1, count, 0, layout->stride};
    if (child->kind == OMPI_LAYOUT_RUN)
        return copy_any_grid(&grid, packed, child->bytes, is_unpack);
    if (child->kind == OMPI_LAYOUT_LOOP && child->child->kind == OMPI_LAYOUT_RUN) {
        grid.rows = count;
        grid.row_stride = layout->stride;
        grid.columns = child->count;
        grid.column_stride = child->stride;
        return copy_any_grid(&grid, packed, child->child->bytes, is_unpack);
    }
    for (size_t i = 0; i < count; i++)
        packed = self(child, grid.address + i * (uintptr_t)layout->stride, 0, child->count, packed);
    return packed;
}

static OPAL_ALWAYS_INLINE char *copy_blocks(const ompi_layout_t *layout, uintptr_t origin,
                                            size_t first, size_t count, char *packed,
                                            bool is_unpack)
{
    ompi_kernel_fn_t *self = is_unpack ? ompi_kernel_unpack : ompi_kernel_pack;
    const ompi_layout_t *child = layout->child;
    if (child->kind == OMPI_LAYOUT_RUN && layout->narrow_offsets != NULL)
        return copy_any_narrow(origin, layout->narrow_offsets + first, count, packed, child->bytes,
                               is_unpack);
    if (child->kind == OMPI_LAYOUT_RUN)
        return copy_wide(origin, layout->offsets + first, count, packed, child->bytes, is_unpack);
    for (size_t i = first; i < first + count; i++)
        packed = self(child, origin + (uintptr_t)ompi_layout_child_offset(layout, i), 0,
                      child->count, packed);
    return packed;
}

static OPAL_ALWAYS_INLINE char *copy_list(const ompi_layout_t *layout, uintptr_t origin,
                                          size_t first, size_t count, char *packed, bool is_unpack)
{
    ompi_kernel_fn_t *self = is_unpack ? ompi_kernel_unpack : ompi_kernel_pack;
    for (size_t i = first; i < first + count; i++) {
        uintptr_t address = origin + (uintptr_t)layout->offsets[i];
        size_t bytes = layout->starts[i + 1] - layout->starts[i];
        const ompi_layout_t *child = layout->children != NULL ? layout->children[i] : NULL;
        if (child != NULL) {
            packed = self(child, address, 0, child->count, packed);
        } else {
            copy_block(address, packed, bytes, is_unpack);
            packed += bytes;
        }
    }
    return packed;
}

static OPAL_ALWAYS_INLINE char *copy_children(const ompi_layout_t *layout, uintptr_t origin,
                                              size_t first, size_t count, char *packed,
                                              bool is_unpack)
{
    switch (layout->kind) {
    case OMPI_LAYOUT_LOOP:
        return copy_loop(layout, origin, first, count, packed, is_unpack);
    case OMPI_LAYOUT_BLOCKS:
        return copy_blocks(layout, origin, first, count, packed, is_unpack);
    case OMPI_LAYOUT_LIST:
        return copy_list(layout, origin, first, count, packed, is_unpack);
    default:
        copy_block(origin, packed, layout->bytes, is_unpack);
        return packed + layout->bytes;
    }
}

char *ompi_kernel_pack(const ompi_layout_t *layout, uintptr_t origin, size_t first, size_t count,
                       char *packed)
{
    return copy_children(layout, origin, first, count, packed, false);
}

char *ompi_kernel_unpack(const ompi_layout_t *layout, uintptr_t origin, size_t first, size_t count,
                         char *packed)
{
    return copy_children(layout, origin, first, count, packed, true);
}
