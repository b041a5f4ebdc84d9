/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Making layouts, and making them simple.
 *
 * The rules, in the order in which they are tried on the parts of a list:
 *   - a run that begins where the one before ends lengthens it (as the parts are added);
 *   - one part is itself;
 *   - equal parts at equal distances are a LOOP, and a LOOP whose child is a LOOP that it
 *     continues is one LOOP;
 *   - parts of few runs each are replaced by their runs, and the rules are tried again;
 *   - equal parts are BLOCKS, and so are runs that a common divisor of their lengths cuts into few
 *     pieces; others are a LIST.
 */
#include "ompi/datatype/layout.h"

#include <stdlib.h>

enum {
    /* Parts are expanded if there are at most so many runs in all, and in each on average: above,
     * a tree is smaller and not slower. */
    EXPAND_MAX_SEGMENTS = 64 * 1024,
    EXPAND_MAX_SEGMENTS_A_PART = 32,
    /* Runs are cut into pieces if these are at most so many for a run on average. */
    CUT_MAX_PIECES_A_RUN = 8,
    LIST_FIRST_CAPACITY = 16,
    /* From this depth on a chain of lists is made shorter. */
    SPLICE_MIN_DEPTH = 32,
};

ompi_layout_t ompi_layout_empty = OMPI_LAYOUT_STATIC_RUN(0);

ompi_layout_t *ompi_layout_retain(ompi_layout_t *layout)
{
    atomic_fetch_add_explicit(&layout->references, 1, memory_order_relaxed);
    return layout;
}

/* Gives a reference back; the last one puts the node into the list of the dead. */
static void drop(ompi_layout_t *layout, ompi_layout_t **dead)
{
    if (layout == NULL ||
        atomic_fetch_sub_explicit(&layout->references, 1, memory_order_acq_rel) > 1)
        return;
    layout->next_dead = *dead;
    *dead = layout;
}

void ompi_layout_release(ompi_layout_t *layout)
{
    ompi_layout_t *dead = NULL;
    drop(layout, &dead);
    while (dead != NULL) {
        ompi_layout_t *node = dead;
        dead = node->next_dead;
        drop(node->child, &dead);
        for (size_t i = 0; node->children != NULL && i < node->count; i++)
            drop(node->children[i], &dead);
        free(node->narrow_offsets);
        free(node->offsets);
        free(node->starts);
        free(node->children);
        free(node);
    }
}

static size_t multiply_or_max(size_t a, size_t b)
{
    size_t product;
    return __builtin_mul_overflow(a, b, &product) ? SIZE_MAX : product;
}

static ompi_layout_t *create(ompi_layout_kind_t kind, size_t count, size_t bytes)
{
    ompi_layout_t *layout = calloc(1, sizeof *layout);
    if (layout == NULL)
        return NULL;
    atomic_init(&layout->references, 1);
    layout->kind = kind;
    layout->count = count;
    layout->bytes = bytes;
    layout->segments = 1;
    return layout;
}

static ompi_layout_t *create_run(size_t bytes)
{
    return create(OMPI_LAYOUT_RUN, 0, bytes);
}

/* A LOOP or BLOCKS. Takes the reference to the child, also if there is no memory. */
static ompi_layout_t *create_equal(ompi_layout_kind_t kind, ompi_layout_t *child, size_t count)
{
    ompi_layout_t *layout = create(kind, count, count * child->bytes);
    if (layout == NULL) {
        ompi_layout_release(child);
        return NULL;
    }
    layout->segments = multiply_or_max(count, child->segments);
    layout->depth = child->depth + 1;
    layout->child = child;
    return layout;
}

ompi_layout_t *ompi_layout_repeat(ompi_layout_t *child, size_t count, ptrdiff_t stride)
{
    if (count == 0 || child->bytes == 0)
        return ompi_layout_retain(&ompi_layout_empty);
    if (count == 1)
        return ompi_layout_retain(child);
    if (child->kind == OMPI_LAYOUT_RUN && stride == (ptrdiff_t)child->bytes)
        return create_run(count * child->bytes);
    if (child->kind == OMPI_LAYOUT_LOOP) {
        ptrdiff_t next;
        if (!__builtin_mul_overflow((ptrdiff_t)child->count, child->stride, &next) &&
            stride == next)
            return ompi_layout_repeat(child->child, count * child->count, child->stride);
    }
    ompi_layout_t *layout = create_equal(OMPI_LAYOUT_LOOP, ompi_layout_retain(child), count);
    if (layout != NULL)
        layout->stride = stride;
    return layout;
}

static bool grow(ompi_layout_list_t *list)
{
    size_t capacity = list->capacity > 0 ? 2 * list->capacity : LIST_FIRST_CAPACITY;
    ompi_layout_part_t *parts = realloc(list->parts, capacity * sizeof *parts);
    if (parts == NULL)
        return false;
    list->parts = parts;
    list->capacity = capacity;
    return true;
}

static void append(ompi_layout_list_t *list, ompi_layout_part_t part)
{
    if (!list->no_memory && list->count == list->capacity)
        list->no_memory = !grow(list);
    if (list->no_memory || list->parts == NULL)
        ompi_layout_release(part.layout);
    else
        list->parts[list->count++] = part;
}

void ompi_layout_list_add_run(ompi_layout_list_t *list, ptrdiff_t offset, size_t bytes)
{
    if (bytes == 0)
        return;
    ompi_layout_part_t *last = list->count > 0 ? &list->parts[list->count - 1] : NULL;
    if (last != NULL && last->layout == NULL && last->offset + (ptrdiff_t)last->bytes == offset)
        last->bytes += bytes;
    else
        append(list, (ompi_layout_part_t){offset, bytes, NULL});
}

void ompi_layout_list_add(ompi_layout_list_t *list, ptrdiff_t offset, ompi_layout_t *layout)
{
    if (layout->kind == OMPI_LAYOUT_RUN)
        ompi_layout_list_add_run(list, offset, layout->bytes);
    else
        append(list, (ompi_layout_part_t){offset, layout->bytes, ompi_layout_retain(layout)});
}

void ompi_layout_list_discard(ompi_layout_list_t *list)
{
    for (size_t i = 0; i < list->count; i++)
        ompi_layout_release(list->parts[i].layout);
    free(list->parts);
    *list = (ompi_layout_list_t){0};
}

static bool is_worth_expanding(const ompi_layout_list_t *list)
{
    size_t segments = 0, trees = 0;
    for (size_t i = 0; i < list->count; i++) {
        const ompi_layout_t *layout = list->parts[i].layout;
        trees += layout != NULL;
        if (__builtin_add_overflow(segments, layout != NULL ? layout->segments : 1, &segments))
            return false;
    }
    return trees > 0 && !list->is_spliced && segments <= EXPAND_MAX_SEGMENTS &&
           segments <= EXPAND_MAX_SEGMENTS_A_PART * list->count;
}

static void add_runs_of(ompi_layout_list_t *list, ptrdiff_t offset, const ompi_layout_t *layout)
{
    for (size_t i = 0; i < layout->count; i++) {
        ptrdiff_t start = offset + ompi_layout_child_offset(layout, i);
        const ompi_layout_t *child = ompi_layout_child(layout, i);
        if (child == NULL)
            ompi_layout_list_add_run(list, start, layout->starts[i + 1] - layout->starts[i]);
        else if (child->kind == OMPI_LAYOUT_RUN)
            ompi_layout_list_add_run(list, start, child->bytes);
        else
            add_runs_of(list, start, child);
    }
}

/* Replaces the parts by their runs. */
static void expand(ompi_layout_list_t *list)
{
    ompi_layout_list_t runs = {0};
    for (size_t i = 0; i < list->count; i++) {
        const ompi_layout_part_t *part = &list->parts[i];
        if (part->layout != NULL)
            add_runs_of(&runs, part->offset, part->layout);
        else
            ompi_layout_list_add_run(&runs, part->offset, part->bytes);
    }
    ompi_layout_list_discard(list);
    *list = runs;
}

/* A run, if there is no layout. */
static void add_part(ompi_layout_list_t *list, ptrdiff_t offset, size_t bytes,
                     ompi_layout_t *layout)
{
    if (layout == NULL)
        ompi_layout_list_add_run(list, offset, bytes);
    else
        ompi_layout_list_add(list, offset, layout);
}

static void add_children(ompi_layout_list_t *list, ptrdiff_t offset, const ompi_layout_t *layout)
{
    for (size_t i = 0; i < layout->count; i++)
        add_part(list, offset + ompi_layout_child_offset(layout, i),
                 ompi_layout_child_bytes(layout, i), ompi_layout_child(layout, i));
}

static unsigned depth_of(const ompi_layout_part_t *part)
{
    return part->layout != NULL ? part->layout->depth : 0;
}

/*
 * Puts the children of the deepest parts into the place of these, if they are lists that have no
 * more parts than all the others are; false: they are not. Once begun with a deep tree, it goes on
 * downwards: as in a binary counter each list of a chain is then longer than the one above it, and
 * a part is copied no more often than the chain has lists.
 */
static bool splice(ompi_layout_list_t *list)
{
    unsigned depth = 0;
    size_t others = 0;
    ompi_layout_list_t spliced = {.is_spliced = true};
    for (size_t i = 0; i < list->count; i++)
        depth = depth_of(&list->parts[i]) > depth ? depth_of(&list->parts[i]) : depth;
    if (depth < (list->is_spliced ? 1 : SPLICE_MIN_DEPTH) || list->count > EXPAND_MAX_SEGMENTS)
        return false;
    for (size_t i = 0; i < list->count; i++)
        others += depth_of(&list->parts[i]) < depth;
    bool can_splice = true;
    for (size_t i = 0; can_splice && i < list->count; i++) {
        const ompi_layout_part_t *part = &list->parts[i];
        if (depth_of(part) < depth)
            add_part(&spliced, part->offset, part->bytes, part->layout);
        else if (part->layout->kind == OMPI_LAYOUT_LIST && part->layout->count <= others + 1)
            add_children(&spliced, part->offset, part->layout);
        else
            can_splice = false;
    }
    can_splice &= !spliced.no_memory;
    ompi_layout_list_discard(can_splice ? list : &spliced);
    if (can_splice)
        *list = spliced;
    return can_splice;
}

static bool has_equal_parts(const ompi_layout_list_t *list)
{
    const ompi_layout_part_t *parts = list->parts;
    for (size_t i = 1; i < list->count; i++) {
        if (parts[i].bytes != parts[0].bytes || parts[i].layout != parts[0].layout)
            return false;
    }
    return true;
}

static bool has_equal_distances(const ompi_layout_list_t *list)
{
    const ompi_layout_part_t *parts = list->parts;
    for (size_t i = 2; i < list->count; i++) {
        if (parts[i].offset - parts[i - 1].offset != parts[1].offset - parts[0].offset)
            return false;
    }
    return true;
}

static ptrdiff_t *offsets_of(const ompi_layout_list_t *list)
{
    ptrdiff_t *offsets = malloc(list->count * sizeof *offsets);
    for (size_t i = 0; offsets != NULL && i < list->count; i++)
        offsets[i] = list->parts[i].offset - list->parts[0].offset;
    return offsets;
}

/* Whether all bytes of the runs have offsets of 32 bits from the first. */
static bool is_narrow(const ompi_layout_list_t *list)
{
    for (size_t i = 0; i < list->count; i++) {
        ptrdiff_t offset = list->parts[i].offset - list->parts[0].offset;
        if (offset < INT32_MIN || offset > INT32_MAX ||
            (size_t)(INT32_MAX - offset) < list->parts[i].bytes)
            return false;
    }
    return true;
}

/* The offsets of the parts, each cut into pieces of that length. */
static int32_t *narrow_offsets_of(const ompi_layout_list_t *list, size_t count, size_t piece)
{
    int32_t *offsets = malloc(count * sizeof *offsets);
    if (offsets == NULL)
        return NULL;
    for (size_t i = 0, n = 0; i < list->count; i++) {
        ptrdiff_t offset = list->parts[i].offset - list->parts[0].offset;
        for (size_t done = 0; done < list->parts[i].bytes; done += piece)
            offsets[n++] = (int32_t)(offset + (ptrdiff_t)done);
    }
    return offsets;
}

/* The child of parts that are equal. */
static ompi_layout_t *equal_child(const ompi_layout_list_t *list)
{
    ompi_layout_t *layout = list->parts[0].layout;
    return layout != NULL ? ompi_layout_retain(layout) : create_run(list->parts[0].bytes);
}

static ompi_layout_t *make_loop(const ompi_layout_list_t *list)
{
    ompi_layout_t *child = equal_child(list);
    if (child == NULL || list->count == 1)
        return child;
    ptrdiff_t stride = list->parts[1].offset - list->parts[0].offset;
    ompi_layout_t *layout = ompi_layout_repeat(child, list->count, stride);
    ompi_layout_release(child);
    return layout;
}

static ompi_layout_t *make_blocks(const ompi_layout_list_t *list)
{
    ompi_layout_t *child = equal_child(list);
    if (child == NULL)
        return NULL;
    ompi_layout_t *layout = create_equal(OMPI_LAYOUT_BLOCKS, child, list->count);
    if (layout == NULL)
        return NULL;
    if (is_narrow(list))
        layout->narrow_offsets = narrow_offsets_of(list, list->count, list->parts[0].bytes);
    else
        layout->offsets = offsets_of(list);
    if (layout->narrow_offsets == NULL && layout->offsets == NULL) {
        ompi_layout_release(layout);
        return NULL;
    }
    return layout;
}

/* The length into which different runs can be cut; 0: they had better stay whole. */
static size_t piece_of(const ompi_layout_list_t *list)
{
    size_t piece = 0, total = 0;
    for (size_t i = 0; i < list->count; i++) {
        if (list->parts[i].layout != NULL)
            return 0;
        total += list->parts[i].bytes;
        for (size_t rest = list->parts[i].bytes; rest > 0;) { /* Euclid */
            size_t next = piece % rest;
            piece = rest;
            rest = next;
        }
    }
    bool is_cut = piece > 0 && total / piece <= CUT_MAX_PIECES_A_RUN * list->count;
    return is_cut && is_narrow(list) ? piece : 0;
}

static ompi_layout_t *make_pieces(const ompi_layout_list_t *list, size_t piece)
{
    size_t total = list->parts[0].bytes;
    for (size_t i = 1; i < list->count; i++)
        total += list->parts[i].bytes;
    ompi_layout_t *child = create_run(piece);
    if (child == NULL)
        return NULL;
    ompi_layout_t *layout = create_equal(OMPI_LAYOUT_BLOCKS, child, total / piece);
    if (layout == NULL)
        return NULL;
    layout->segments = list->count;
    layout->narrow_offsets = narrow_offsets_of(list, layout->count, piece);
    if (layout->narrow_offsets == NULL) {
        ompi_layout_release(layout);
        return NULL;
    }
    return layout;
}

/* The lengths and the trees of the parts. */
static bool fill_list(ompi_layout_t *layout, const ompi_layout_list_t *list)
{
    layout->starts[0] = 0;
    layout->segments = 0;
    layout->depth = 1;
    for (size_t i = 0; i < list->count; i++) {
        const ompi_layout_part_t *part = &list->parts[i];
        size_t segments = part->layout != NULL ? part->layout->segments : 1;
        layout->starts[i + 1] = layout->starts[i] + part->bytes;
        if (__builtin_add_overflow(layout->segments, segments, &layout->segments))
            layout->segments = SIZE_MAX;
        if (part->layout == NULL)
            continue;
        if (layout->children == NULL)
            layout->children = calloc(list->count, sizeof *layout->children);
        if (layout->children == NULL)
            return false;
        layout->children[i] = ompi_layout_retain(part->layout);
        if (layout->depth <= part->layout->depth)
            layout->depth = part->layout->depth + 1;
    }
    layout->bytes = layout->starts[list->count];
    return true;
}

static ompi_layout_t *make_list(const ompi_layout_list_t *list)
{
    ompi_layout_t *layout = create(OMPI_LAYOUT_LIST, list->count, 0);
    if (layout == NULL)
        return NULL;
    layout->offsets = offsets_of(list);
    layout->starts = malloc((list->count + 1) * sizeof *layout->starts);
    if (layout->offsets == NULL || layout->starts == NULL || !fill_list(layout, list)) {
        ompi_layout_release(layout);
        return NULL;
    }
    return layout;
}

static ompi_layout_t *make(ompi_layout_list_t *list)
{
    bool is_equal = has_equal_parts(list);
    if (is_equal && has_equal_distances(list))
        return make_loop(list);
    if (is_worth_expanding(list)) {
        expand(list);
        return list->no_memory ? NULL : make(list);
    }
    if (is_equal)
        return make_blocks(list);
    size_t piece = piece_of(list);
    return piece > 0 ? make_pieces(list, piece) : make_list(list);
}

ompi_layout_t *ompi_layout_list_finish(ompi_layout_list_t *list, ptrdiff_t *origin)
{
    ompi_layout_t *layout = NULL;
    *origin = 0;
    if (list->count == 0 && !list->no_memory) {
        layout = ompi_layout_retain(&ompi_layout_empty);
    } else if (!list->no_memory) {
        *origin = list->parts[0].offset;
        while (splice(list))
            ;
        layout = make(list);
    }
    ompi_layout_list_discard(list);
    return layout;
}
