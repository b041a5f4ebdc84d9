/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Layouts: where the bytes of a datatype lie, in the order in which they are packed.
 *
 * A layout is a small tree of nodes. Each says where its children lie, relative to its own origin;
 * the leaves are runs of bytes:
 *
 *   RUN     bytes                       [origin, origin + bytes)
 *   LOOP    count, stride, child        the child at 0, stride, 2 stride ...
 *   BLOCKS  count, offsets, child       the child at each offset
 *   LIST    count, offsets, starts,     children that differ; those that are runs are only a
 *           children                    length, starts[i + 1] - starts[i]
 *
 * A vector of structures is a LOOP of a LIST, however many structures it has: repetitions are not
 * expanded. Small parts are: a list of lists becomes one list, adjacent runs become one run, equal
 * runs at equal distances become a LOOP.
 *
 * No tree is deep, however a program nests types, so functions on trees may be recursive: a LOOP
 * and BLOCKS at least double the bytes, and a chain of LISTs is shortened until its depth is about
 * the logarithm of its length (splice in layout.c).
 *
 * Nodes are immutable and shared; offsets are made relative to the first child, which makes a
 * shifted layout the same layout with another origin.
 *
 * Threading: any. References are counted atomically.
 */
#ifndef OMPI_LAYOUT_H
#define OMPI_LAYOUT_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "opal/include/compiler.h"

typedef enum ompi_layout_kind {
    OMPI_LAYOUT_RUN,
    OMPI_LAYOUT_LOOP,
    OMPI_LAYOUT_BLOCKS,
    OMPI_LAYOUT_LIST,
} ompi_layout_kind_t;

typedef struct ompi_layout {
    atomic_size_t references;
    ompi_layout_kind_t kind;
    unsigned depth;                /* of the tree below; 0: a run */
    size_t bytes;                  /* of data, that is when packed */
    size_t segments;               /* runs, at most; SIZE_MAX: more than can be counted */
    size_t count;                  /* children */
    ptrdiff_t stride;              /* LOOP */
    struct ompi_layout *child;     /* LOOP, BLOCKS */
    int32_t *narrow_offsets;       /* BLOCKS: [count], if all fit, for less memory to go through */
    ptrdiff_t *offsets;            /* LIST, other BLOCKS: [count] */
    size_t *starts;                /* LIST: [count + 1], packed bytes before a child */
    struct ompi_layout **children; /* LIST: [count], NULL for a run; NULL: all are runs */
    struct ompi_layout *next_dead; /* while it ends */
} ompi_layout_t;

/* The layout without bytes: a RUN of none. */
OPAL_EXPORT extern ompi_layout_t ompi_layout_empty;

/* A RUN of static storage; its first reference is never given back. */
#define OMPI_LAYOUT_STATIC_RUN(size)                                                               \
    {                                                                                              \
        .references = 1, .kind = OMPI_LAYOUT_RUN, .bytes = (size), .segments = (size) > 0          \
    }

OPAL_EXPORT ompi_layout_t *ompi_layout_retain(ompi_layout_t *layout);
OPAL_EXPORT void ompi_layout_release(ompi_layout_t *layout); /* may be NULL */

/* `count` times the child, `stride` bytes apart. The caller knows that the bytes can be counted.
 * NULL: no memory. */
OPAL_EXPORT ompi_layout_t *ompi_layout_repeat(ompi_layout_t *child, size_t count, ptrdiff_t stride);

/* A child: its bytes, its offset, its layout (NULL: it is a run). */
static inline size_t ompi_layout_child_bytes(const ompi_layout_t *layout, size_t index)
{
    return layout->kind == OMPI_LAYOUT_LIST ? layout->starts[index + 1] - layout->starts[index]
                                            : layout->child->bytes;
}

static inline ptrdiff_t ompi_layout_child_offset(const ompi_layout_t *layout, size_t index)
{
    if (layout->kind == OMPI_LAYOUT_LOOP)
        return (ptrdiff_t)index * layout->stride;
    return layout->narrow_offsets != NULL ? layout->narrow_offsets[index] : layout->offsets[index];
}

static inline ompi_layout_t *ompi_layout_child(const ompi_layout_t *layout, size_t index)
{
    if (layout->kind != OMPI_LAYOUT_LIST)
        return layout->child;
    return layout->children != NULL ? layout->children[index] : NULL;
}

/* The child that has the byte `from` < bytes of the packed form, and how much of it lies before. */
static inline size_t ompi_layout_child_at(const ompi_layout_t *layout, size_t from, size_t *skip)
{
    if (layout->kind != OMPI_LAYOUT_LIST) {
        *skip = from % layout->child->bytes;
        return from / layout->child->bytes;
    }
    size_t low = 0, high = layout->count;
    while (high - low > 1) {
        size_t middle = low + (high - low) / 2;
        if (layout->starts[middle] <= from)
            low = middle;
        else
            high = middle;
    }
    *skip = from - layout->starts[low];
    return low;
}

/* Concatenation of layouts. {0} is an empty list. */
typedef struct ompi_layout_part {
    ptrdiff_t offset;
    size_t bytes;
    ompi_layout_t *layout; /* NULL: a run */
} ompi_layout_part_t;

typedef struct ompi_layout_list {
    ompi_layout_part_t *parts;
    size_t count, capacity;
    bool no_memory;  /* parts added since are lost; finish returns NULL */
    bool is_spliced; /* it is a part of a long chain: its parts are not expanded */
} ompi_layout_list_t;

OPAL_EXPORT void ompi_layout_list_add_run(ompi_layout_list_t *list, ptrdiff_t offset, size_t bytes);
OPAL_EXPORT void ompi_layout_list_add(ompi_layout_list_t *list, ptrdiff_t offset,
                                      ompi_layout_t *layout);

/* Makes one layout of the list, with its origin, and empties the list. NULL: no memory. */
OPAL_EXPORT ompi_layout_t *ompi_layout_list_finish(ompi_layout_list_t *list, ptrdiff_t *origin);

/* Empties the list. */
OPAL_EXPORT void ompi_layout_list_discard(ompi_layout_list_t *list);

#endif
