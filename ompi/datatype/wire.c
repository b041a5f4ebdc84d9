/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Datatypes as words: see wire.h.
 *
 *   bounds | node                     node: kind, count, then by kind
 *                                       RUN      count is its bytes
 *                                       LOOP     stride, child
 *                                       BLOCKS   count offsets, child
 *                                       LIST     count times: offset, child
 *
 * All are words of 8 bytes. A layout that was made of such words packs its bytes in the same order.
 */
#include "ompi/datatype/wire.h"

#include <stdlib.h>
#include <string.h>

#include "ompi/datatype/layout.h"

typedef struct bounds {
    int64_t origin, lb, ub, true_lb, true_ub;
    uint64_t alignment, element; /* the handle of the predefined type that it is made of; 0: none */
} bounds_t;

/* -- writing ------------------------------------------------------------------------------- */

/* Words that grow; NULL with a count: there was no memory. */
typedef struct words {
    uint64_t *words;
    size_t count, capacity;
    bool no_memory;
} words_t;

static void add(words_t *to, uint64_t word)
{
    if (to->count == to->capacity && !to->no_memory) {
        size_t capacity = to->capacity > 0 ? 2 * to->capacity : 64;
        uint64_t *grown = realloc(to->words, capacity * sizeof *grown);
        to->no_memory = grown == NULL;
        to->words = grown != NULL ? grown : to->words;
        to->capacity = grown != NULL ? capacity : to->capacity;
    }
    if (!to->no_memory)
        to->words[to->count++] = word;
}

static void add_run(words_t *to, size_t bytes)
{
    add(to, OMPI_LAYOUT_RUN);
    add(to, bytes);
}

static void add_layout(words_t *to, const ompi_layout_t *layout)
{
    if (layout->kind == OMPI_LAYOUT_RUN) {
        add_run(to, layout->bytes);
        return;
    }
    add(to, layout->kind);
    add(to, layout->count);
    if (layout->kind == OMPI_LAYOUT_LOOP)
        add(to, (uint64_t)layout->stride);
    for (size_t i = 0; layout->kind == OMPI_LAYOUT_BLOCKS && i < layout->count; i++)
        add(to, (uint64_t)ompi_layout_child_offset(layout, i));
    if (layout->kind != OMPI_LAYOUT_LIST) {
        add_layout(to, layout->child);
        return;
    }
    for (size_t i = 0; i < layout->count; i++) {
        const ompi_layout_t *child = ompi_layout_child(layout, i);
        add(to, (uint64_t)ompi_layout_child_offset(layout, i));
        if (child != NULL)
            add_layout(to, child);
        else
            add_run(to, ompi_layout_child_bytes(layout, i));
    }
}

uint64_t *ompi_datatype_write(const ompi_datatype_t *type, size_t *bytes)
{
    const ompi_shape_t *shape = &type->shape;
    const ompi_bounds_t *bounds = &shape->bounds;
    uint64_t element =
        shape->element != NULL ? (uint64_t)(uintptr_t)ompi_object_handle(shape->element) : 0;
    uint64_t head[] = {(uint64_t)shape->origin,
                       (uint64_t)bounds->lb,
                       (uint64_t)bounds->ub,
                       (uint64_t)bounds->true_lb,
                       (uint64_t)bounds->true_ub,
                       shape->alignment,
                       element};
    words_t words = {0};
    for (size_t i = 0; i < OPAL_COUNT_OF(head); i++)
        add(&words, head[i]);
    add_layout(&words, shape->layout);
    *bytes = words.count * sizeof *words.words;
    if (!words.no_memory)
        return words.words;
    free(words.words);
    return NULL;
}

/* -- reading ------------------------------------------------------------------------------- */

enum { MOST_DEPTH = 128 };

/* Offsets and lengths above this are those of no memory; what all levels add up to can be counted.
 */
static const int64_t most = INT64_C(1) << 54;

typedef struct reader {
    const uint64_t *next, *end;
    unsigned depth;
    bool is_wrong; /* the words are no type */
} reader_t;

static uint64_t take(reader_t *reader)
{
    return reader->next < reader->end ? *reader->next++ : 0;
}

static bool is_distance(int64_t distance)
{
    return distance >= -most && distance <= most;
}

/* Whether `count` layouts of so many bytes, or so far apart, are not too large. */
static bool is_countable(uint64_t count, int64_t bytes)
{
    int64_t all;
    return count <= (uint64_t)most && !__builtin_mul_overflow((int64_t)count, bytes, &all) &&
           is_distance(all);
}

static ompi_layout_t *refuse(reader_t *reader, ompi_layout_t *child)
{
    reader->is_wrong = true;
    ompi_layout_release(child);
    return NULL;
}

static ompi_layout_t *read_layout(reader_t *reader);

static ompi_layout_t *read_loop(reader_t *reader, size_t count)
{
    ptrdiff_t stride = (ptrdiff_t)take(reader);
    ompi_layout_t *child = read_layout(reader);
    if (child == NULL)
        return NULL;
    if (!is_countable(count, stride) || !is_countable(count, (int64_t)child->bytes))
        return refuse(reader, child);
    ompi_layout_t *layout = ompi_layout_repeat(child, count, stride);
    ompi_layout_release(child);
    return layout;
}

static ompi_layout_t *read_blocks(reader_t *reader, size_t count)
{
    ptrdiff_t origin;
    ompi_layout_list_t list = {0};
    const uint64_t *offsets = reader->next;
    if (count > (size_t)(reader->end - reader->next))
        return refuse(reader, NULL);
    reader->next += count;
    ompi_layout_t *child = read_layout(reader);
    if (child == NULL)
        return NULL;
    bool is_good = is_countable(count, (int64_t)child->bytes);
    for (size_t i = 0; is_good && i < count; i++) {
        is_good = is_distance((int64_t)offsets[i]);
        ompi_layout_list_add(&list, (ptrdiff_t)offsets[i], child);
    }
    ompi_layout_release(child);
    if (is_good)
        return ompi_layout_list_finish(&list, &origin);
    ompi_layout_list_discard(&list);
    return refuse(reader, NULL);
}

static ompi_layout_t *read_list(reader_t *reader, size_t count)
{
    ptrdiff_t origin;
    ompi_layout_list_t list = {0};
    int64_t bytes = 0;
    for (size_t i = 0; i < count; i++) {
        int64_t offset = (int64_t)take(reader);
        ompi_layout_t *child = read_layout(reader);
        bytes += child != NULL ? (int64_t)child->bytes : 0;
        if (child == NULL || !is_distance(offset) || !is_distance(bytes)) {
            ompi_layout_list_discard(&list);
            return child != NULL ? refuse(reader, child) : NULL;
        }
        ompi_layout_list_add(&list, offset, child);
        ompi_layout_release(child);
    }
    return ompi_layout_list_finish(&list, &origin);
}

static ompi_layout_t *read_run(reader_t *reader, size_t bytes)
{
    ptrdiff_t origin;
    ompi_layout_list_t list = {0};
    if (bytes > (size_t)most)
        return refuse(reader, NULL);
    ompi_layout_list_add_run(&list, 0, bytes);
    return ompi_layout_list_finish(&list, &origin);
}

/* NULL: no memory, or the words are no layout. */
static ompi_layout_t *read_layout(reader_t *reader)
{
    ompi_layout_t *layout;
    if (reader->end - reader->next < 2 || reader->depth == MOST_DEPTH)
        return refuse(reader, NULL);
    reader->depth++;
    uint64_t kind = take(reader), count = take(reader);
    switch (kind) {
    case OMPI_LAYOUT_RUN:
        layout = read_run(reader, count);
        break;
    case OMPI_LAYOUT_LOOP:
        layout = read_loop(reader, count);
        break;
    case OMPI_LAYOUT_BLOCKS:
        layout = read_blocks(reader, count);
        break;
    case OMPI_LAYOUT_LIST:
        layout = read_list(reader, count);
        break;
    default:
        layout = refuse(reader, NULL);
    }
    reader->depth--;
    return layout;
}

static ompi_datatype_t *element_of(uint64_t handle)
{
    ompi_object_t *object = handle < OMPI_HANDLE_PREDEFINED ? ompi_handle_predefined[handle] : NULL;
    return ompi_object_is(object, OMPI_DATATYPE) ? (ompi_datatype_t *)object : NULL;
}

static bool is_sound(const bounds_t *bounds)
{
    int64_t extent;
    return is_distance(bounds->origin) && is_distance(bounds->true_lb) &&
           is_distance(bounds->true_ub) && bounds->true_lb <= bounds->true_ub &&
           (bounds->alignment & (bounds->alignment - 1)) == 0 &&
           !__builtin_sub_overflow(bounds->ub, bounds->lb, &extent);
}

/* Where the bytes of a layout lie, relative to its origin. */
typedef struct span {
    int64_t first, behind;
} span_t;

static span_t span_of(const ompi_layout_t *layout)
{
    span_t all = {0, 0};
    if (layout->kind == OMPI_LAYOUT_RUN)
        return (span_t){0, (int64_t)layout->bytes};
    span_t child = layout->kind == OMPI_LAYOUT_LIST ? all : span_of(layout->child);
    size_t step = layout->kind == OMPI_LAYOUT_LOOP && layout->count > 1 ? layout->count - 1 : 1;
    for (size_t i = 0; i < layout->count; i += step) {
        const ompi_layout_t *node = ompi_layout_child(layout, i);
        ptrdiff_t offset = ompi_layout_child_offset(layout, i);
        if (layout->kind == OMPI_LAYOUT_LIST)
            child = node != NULL ? span_of(node)
                                 : (span_t){0, (int64_t)ompi_layout_child_bytes(layout, i)};
        if (i == 0 || offset + child.first < all.first)
            all.first = offset + child.first;
        if (i == 0 || offset + child.behind > all.behind)
            all.behind = offset + child.behind;
    }
    return all;
}

/* Whether each run has whole elements of so many bytes. */
static bool has_whole_elements(const ompi_layout_t *layout, size_t bytes)
{
    if (layout->kind == OMPI_LAYOUT_RUN)
        return layout->bytes % bytes == 0;
    if (layout->kind != OMPI_LAYOUT_LIST)
        return has_whole_elements(layout->child, bytes);
    bool is_whole = true;
    for (size_t i = 0; i < layout->count && is_whole; i++) {
        const ompi_layout_t *child = ompi_layout_child(layout, i);
        is_whole = child != NULL ? has_whole_elements(child, bytes)
                                 : ompi_layout_child_bytes(layout, i) % bytes == 0;
    }
    return is_whole;
}

/* Whether the layout is what bounds and element say, which accesses rely on: the bounds are
 * compared with the window, and accumulates change whole elements. */
static bool is_as_described(const ompi_shape_t *shape)
{
    const ompi_layout_t *layout = shape->layout;
    span_t span = span_of(layout);
    if (layout->bytes == 0)
        return true;
    if (shape->origin + span.first < shape->bounds.true_lb ||
        shape->origin + span.behind > shape->bounds.true_ub)
        return false;
    if (shape->element == NULL)
        return true;
    size_t bytes = ompi_datatype_size(shape->element);
    bool has_hole = (MPI_Count)bytes != ompi_datatype_extent(shape->element);
    return bytes > 0 && layout->bytes % bytes == 0 &&
           (has_hole || has_whole_elements(layout, bytes));
}

ompi_datatype_t *ompi_datatype_read(const char *bytes, size_t length, bool *is_wrong)
{
    bounds_t bounds;
    *is_wrong = length < sizeof bounds || length % sizeof(uint64_t) != 0;
    if (*is_wrong)
        return NULL;
    memcpy(&bounds, bytes, sizeof bounds);
    *is_wrong = !is_sound(&bounds);
    if (*is_wrong)
        return NULL;
    reader_t reader = {.next = (const uint64_t *)(const void *)(bytes + sizeof bounds),
                       .end = (const uint64_t *)(const void *)(bytes + length)};
    ompi_shape_t shape = ompi_shape_nothing();
    ompi_layout_release(shape.layout);
    shape.layout = read_layout(&reader);
    *is_wrong = reader.is_wrong;
    shape.origin = (ptrdiff_t)bounds.origin;
    shape.bounds = (ompi_bounds_t){.lb = bounds.lb,
                                   .ub = bounds.ub,
                                   .true_lb = bounds.true_lb,
                                   .true_ub = bounds.true_ub,
                                   .has_data = true};
    shape.alignment = bounds.alignment > 0 ? bounds.alignment : 1;
    shape.element = element_of(bounds.element);
    if (shape.layout == NULL)
        shape.layout = ompi_layout_retain(&ompi_layout_empty);
    else if (is_as_described(&shape))
        return ompi_datatype_create(&shape, NULL);
    else
        *is_wrong = true;
    ompi_shape_release(&shape);
    return NULL;
}
