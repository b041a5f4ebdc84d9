/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Datatypes of array sections.
 *
 * A section is a tree of levels. The lowest level is the bytes of an element; each dimension is a
 * level above it. If a dimension has no gaps between its children, it is joined with the level
 * below it. The data that a message places into the section is counted in units; all children of
 * a level have the same number of units:
 *
 *   - data that is one run, as that of predefined types: units are bytes, data is a range of them;
 *   - elements of the type that fill whole elements of the array: a unit is an element of the type;
 *   - all else is cut: units are bytes, each segment of the data is a range of them.
 *
 * A range of units is, at each level, whole children, which are a loop, and a part of a child
 * before and behind them, which is a range of the level below.
 *
 * Each thread keeps the types that it made last, since a program sends the same sections again and
 * again. Its cache passes to another thread when it ends. At the end of MPI nothing is freed:
 * these types refer to nothing that ends with it.
 */
#include "ompi/fortran/section.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "ompi/datatype/datatype.h"
#include "ompi/handle/handle.h"

enum {
    LEVELS = 1 + 15, /* Fortran has 15 dimensions at most */
    SEGMENTS = 64,   /* at a time */
    CACHED = 8,      /* types of a thread: an exchange of three dimensions with some fields */
};

/* Larger numbers than this are no offsets in memory, and their sums would overflow. */
static const ptrdiff_t MAX_OFFSET = PTRDIFF_MAX / 8;

bool ompi_fortran_is_empty(const ompi_fortran_array_t *array)
{
    bool is_empty = array->base == NULL || array->element_bytes == 0;
    for (int i = 0; i < array->rank; i++)
        is_empty |= array->dims[i].extent == 0;
    return is_empty;
}

/* -- the frame of a section ------------------------------------------------------------------- */

/* `extent` children, a stride apart. The extent of the highest level says nothing. */
typedef struct step {
    ptrdiff_t extent, stride;
} step_t;

typedef struct frame {
    int count;
    step_t steps[LEVELS];
} frame_t;

static void frame_of_array(const ompi_fortran_array_t *array, frame_t *frame)
{
    step_t *last = frame->steps;
    *last = (step_t){(ptrdiff_t)array->element_bytes, 1};
    for (int i = 0; i < array->rank; i++) {
        ptrdiff_t extent = array->dims[i].extent, stride = array->dims[i].stride_bytes;
        if (extent == 1)
            continue;
        if (stride == last->extent * last->stride)
            last->extent *= extent;
        else
            *++last = (step_t){extent, stride};
    }
    frame->count = (int)(last - frame->steps) + 1;
}

static bool are_same_frames(const frame_t *a, const frame_t *b)
{
    if (a->count != b->count)
        return false;
    for (int i = 0; i < a->count; i++) {
        if (a->steps[i].extent != b->steps[i].extent || a->steps[i].stride != b->steps[i].stride)
            return false;
    }
    return true;
}

/* -- making a type ---------------------------------------------------------------------------- */

/* Bytes [low, high) from an origin. */
typedef struct reach {
    ptrdiff_t low, high;
} reach_t;

typedef struct level {
    ptrdiff_t stride; /* from child to child */
    ptrdiff_t units;  /* of a child */
    ompi_layout_t *child;
    reach_t reach; /* of a child */
} level_t;

/* What is placed into a section. */
typedef struct unit {
    ompi_layout_t *layout;
    ptrdiff_t origin; /* of the layout */
    ptrdiff_t extent;
    reach_t reach;
} unit_t;

typedef struct maker {
    level_t levels[LEVELS];
    int count;
    ptrdiff_t origin; /* of the units' layout */
    ompi_layout_list_t list;
    reach_t reach; /* of what is in the list */
} maker_t;

static ompi_layout_t byte_layout = OMPI_LAYOUT_STATIC_RUN(1);
static const unit_t byte_unit = {&byte_layout, 0, 1, {0, 1}};

static reach_t repeat_reach(reach_t reach, ptrdiff_t count, ptrdiff_t stride)
{
    ptrdiff_t span = (count - 1) * stride;
    return (reach_t){reach.low + (span < 0 ? span : 0), reach.high + (span > 0 ? span : 0)};
}

/* False: no memory. */
static bool begin(maker_t *maker, const frame_t *frame, const unit_t *unit)
{
    *maker = (maker_t){.count = frame->count, .origin = unit->origin, .reach = {PTRDIFF_MAX, 0}};
    level_t *level = maker->levels;
    *level = (level_t){unit->extent, 1, ompi_layout_retain(unit->layout), unit->reach};
    ptrdiff_t extent = frame->steps[0].extent / unit->extent;
    for (int i = 1; i < frame->count && level->child != NULL; i++, level++) {
        level[1] = (level_t){
            .stride = frame->steps[i].stride,
            .units = level->units * extent,
            .child = ompi_layout_repeat(level->child, (size_t)extent, level->stride),
            .reach = repeat_reach(level->reach, extent, level->stride),
        };
        extent = frame->steps[i].extent;
    }
    return level->child != NULL;
}

static void end(maker_t *maker)
{
    ompi_layout_list_discard(&maker->list);
    for (int i = 0; i < maker->count; i++)
        ompi_layout_release(maker->levels[i].child);
}

/* The section begins at `at`. */
static void add_children(maker_t *maker, const level_t *level, ptrdiff_t at, ptrdiff_t count)
{
    reach_t reach = repeat_reach(level->reach, count, level->stride);
    if (maker->reach.low > maker->reach.high) {
        maker->reach = (reach_t){at + reach.low, at + reach.high};
    } else {
        if (maker->reach.low > at + reach.low)
            maker->reach.low = at + reach.low;
        if (maker->reach.high < at + reach.high)
            maker->reach.high = at + reach.high;
    }
    ompi_layout_t *layout = ompi_layout_repeat(level->child, (size_t)count, level->stride);
    if (layout != NULL)
        ompi_layout_list_add(&maker->list, at + maker->origin, layout);
    else
        maker->list.no_memory = true;
    ompi_layout_release(layout);
}

static ptrdiff_t divide_down(ptrdiff_t value, ptrdiff_t by)
{
    return value / by - (value % by < 0);
}

/* Adds the units [from, to) of a level that begins at `at`. */
static void add_range(maker_t *maker, int index, ptrdiff_t at, ptrdiff_t from, ptrdiff_t to)
{
    const level_t *level = &maker->levels[index];
    ptrdiff_t child = divide_down(from, level->units), skip = from - child * level->units;
    if (skip > 0) {
        ptrdiff_t stop = to - child * level->units;
        add_range(maker, index - 1, at + child * level->stride, skip,
                  stop < level->units ? stop : level->units);
        child++;
    }
    ptrdiff_t left = to - child * level->units;
    if (left <= 0)
        return;
    ptrdiff_t whole = left / level->units, rest = left % level->units;
    if (whole > 0)
        add_children(maker, level, at + child * level->stride, whole);
    if (rest > 0)
        add_range(maker, index - 1, at + (child + whole) * level->stride, 0, rest);
}

/* Whether the units from `low` to `high` can have offsets. */
static bool can_reach(const maker_t *maker, MPI_Count low, MPI_Count high)
{
    const level_t *top = &maker->levels[maker->count - 1];
    ptrdiff_t first, last;
    return !__builtin_mul_overflow(divide_down(low, top->units), top->stride, &first) &&
           !__builtin_mul_overflow(divide_down(high, top->units), top->stride, &last) &&
           first > -MAX_OFFSET && first < MAX_OFFSET && last > -MAX_OFFSET && last < MAX_OFFSET;
}

/* The bytes that `count` elements of the type occupy in a contiguous array. False: too many. */
static bool virtual_reach(const ompi_datatype_t *type, MPI_Count count, reach_t *reach)
{
    const ompi_bounds_t *bounds = &type->shape.bounds;
    MPI_Count span;
    if (__builtin_mul_overflow(count - 1, ompi_datatype_extent(type), &span) || span > MAX_OFFSET ||
        span < -MAX_OFFSET || bounds->true_ub > MAX_OFFSET || bounds->true_lb < -MAX_OFFSET ||
        ompi_datatype_bytes(type, (size_t)count) > MAX_OFFSET)
        return false;
    *reach = repeat_reach((reach_t){bounds->true_lb, bounds->true_ub}, count,
                          ompi_datatype_extent(type));
    return true;
}

static bool is_one_run(const ompi_datatype_t *type, MPI_Count count)
{
    return ompi_datatype_is_contiguous(type) || (count == 1 && ompi_datatype_is_run(type));
}

/* Whether elements of the type fill the lowest level, none of them reaching out of its extent. */
static bool fills(const ompi_datatype_t *type, const frame_t *frame)
{
    MPI_Count extent = ompi_datatype_extent(type);
    return extent > 0 && frame->steps[0].extent % extent == 0 && type->shape.bounds.true_lb >= 0 &&
           type->shape.bounds.true_ub <= extent;
}

static void add_segments(maker_t *maker, const ompi_datatype_t *type, MPI_Count count)
{
    struct iovec segments[SEGMENTS];
    size_t bytes, total = ompi_datatype_bytes(type, (size_t)count);
    for (size_t from = 0; from < total && !maker->list.no_memory; from += bytes) {
        size_t found =
            ompi_datatype_segments(type, (size_t)count, NULL, from, segments, SEGMENTS, &bytes);
        for (size_t i = 0; i < found; i++) {
            ptrdiff_t begins = (ptrdiff_t)segments[i].iov_base;
            add_range(maker, maker->count - 1, 0, begins, begins + (ptrdiff_t)segments[i].iov_len);
        }
    }
}

/* Fills the list. False: no memory, or offsets that are too large. */
static bool place(maker_t *maker, const frame_t *frame, const ompi_datatype_t *type,
                  MPI_Count count)
{
    reach_t reach;
    bool is_run = is_one_run(type, count), is_unit = !is_run && fills(type, frame);
    unit_t unit = byte_unit;
    if (is_unit)
        unit = (unit_t){type->shape.layout,
                        type->shape.origin,
                        ompi_datatype_extent(type),
                        {type->shape.bounds.true_lb, type->shape.bounds.true_ub}};
    if (!begin(maker, frame, &unit) || !virtual_reach(type, count, &reach) ||
        !can_reach(maker, reach.low, reach.high))
        return false;
    if (is_run)
        add_range(maker, maker->count - 1, 0, reach.low, reach.high);
    else if (is_unit)
        add_range(maker, maker->count - 1, 0, 0, count);
    else
        add_segments(maker, type, count);
    return true;
}

/* NULL: as place. */
static ompi_datatype_t *make(const frame_t *frame, const ompi_datatype_t *type, MPI_Count count)
{
    maker_t maker;
    ompi_datatype_t *made = NULL;
    ompi_shape_t shape = {.alignment = type->shape.alignment, .element = type->shape.element};
    if (place(&maker, frame, type, count)) {
        shape.layout = ompi_layout_list_finish(&maker.list, &shape.origin);
        shape.signature = ompi_signature_repeat(type->shape.signature, (size_t)count);
        shape.bounds = (ompi_bounds_t){
            .lb = maker.reach.low,
            .ub = maker.reach.high,
            .true_lb = maker.reach.low,
            .true_ub = maker.reach.high,
            .has_data = true,
        };
        if (shape.layout != NULL && shape.signature != NULL)
            made = ompi_datatype_create(&shape, NULL);
        else
            ompi_shape_release(&shape);
    }
    end(&maker);
    if (made != NULL)
        ompi_datatype_commit(made);
    return made;
}

/* -- the cache of a thread -------------------------------------------------------------------- */

typedef struct entry {
    ompi_datatype_t *made; /* NULL: the entry is free */
    MPI_Count count;
    ompi_shape_t shape; /* of the type, which need not live */
    frame_t frame;
} entry_t;

typedef struct cache {
    entry_t entries[CACHED];
    unsigned next; /* to be replaced */
    struct cache *next_free;
} cache_t;

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER; /* of the free ones */
static cache_t *free_caches;                             /* of threads that have ended */
static pthread_key_t key;
static bool has_key;
static pthread_once_t key_once = PTHREAD_ONCE_INIT;

static _Thread_local cache_t *own_cache;

/* It is not freed: below MPI_THREAD_MULTIPLE another thread may count references meanwhile. */
static void give_back(void *value)
{
    cache_t *cache = value;
    own_cache = NULL;
    pthread_mutex_lock(&lock);
    cache->next_free = free_caches;
    free_caches = cache;
    pthread_mutex_unlock(&lock);
}

static void create_key(void)
{
    has_key = pthread_key_create(&key, give_back) == 0;
}

/* The library is perhaps unloaded before its threads end. */
__attribute__((destructor)) static void delete_key(void)
{
    if (has_key)
        pthread_key_delete(key);
}

static cache_t *take_free(void)
{
    pthread_mutex_lock(&lock);
    cache_t *cache = free_caches;
    if (cache != NULL)
        free_caches = cache->next_free;
    pthread_mutex_unlock(&lock);
    return cache;
}

/* NULL: no memory. */
OPAL_NOINLINE static cache_t *create_cache(void)
{
    pthread_once(&key_once, create_key);
    if (!has_key)
        return NULL;
    cache_t *cache = take_free();
    if (cache == NULL)
        cache = calloc(1, sizeof *cache);
    if (cache != NULL && pthread_setspecific(key, cache) != 0) {
        give_back(cache);
        return NULL;
    }
    own_cache = cache;
    return cache;
}

/* Types with the same data. Layouts and signatures are shared by copies of a type, and cannot end
 * while an entry has them. */
static bool are_same_shapes(const ompi_shape_t *a, const ompi_shape_t *b)
{
    return a->layout == b->layout && a->signature == b->signature && a->origin == b->origin &&
           a->element == b->element && ompi_shape_extent(a) == ompi_shape_extent(b);
}

static ompi_datatype_t *find(const cache_t *cache, const frame_t *frame,
                             const ompi_datatype_t *type, MPI_Count count)
{
    for (const entry_t *entry = cache->entries; entry < cache->entries + CACHED; entry++) {
        if (entry->count == count && are_same_shapes(&entry->shape, &type->shape) &&
            are_same_frames(&entry->frame, frame))
            return entry->made;
    }
    return NULL;
}

static void enter(cache_t *cache, const frame_t *frame, const ompi_datatype_t *type,
                  MPI_Count count, ompi_datatype_t *made)
{
    entry_t *entry = &cache->entries[cache->next];
    cache->next = (cache->next + 1) % CACHED;
    if (entry->made != NULL) {
        ompi_datatype_release(entry->made);
        ompi_shape_release(&entry->shape);
    }
    ompi_datatype_retain(made);
    *entry = (entry_t){made, count, ompi_shape_copy(&type->shape), *frame};
}

/* With a reference for the caller. */
static ompi_datatype_t *find_or_make(const frame_t *frame, const ompi_datatype_t *type,
                                     MPI_Count count)
{
    cache_t *cache = own_cache != NULL ? own_cache : create_cache();
    ompi_datatype_t *made = cache != NULL ? find(cache, frame, type, count) : NULL;
    if (made != NULL) {
        ompi_datatype_retain(made);
        return made;
    }
    made = make(frame, type, count);
    if (made != NULL && cache != NULL)
        enter(cache, frame, type, count, made);
    return made;
}

/* -- messages --------------------------------------------------------------------------------- */

ompi_fortran_message_t ompi_fortran_message_of_section(const ompi_fortran_array_t *array,
                                                       MPI_Count count, MPI_Datatype type)
{
    const ompi_datatype_t *object = ompi_handle_object(type);
    /* No data, or an argument that MPI refuses. */
    if (count <= 0 || !ompi_datatype_is_type(object) || !ompi_datatype_is_committed(object) ||
        ompi_datatype_size(object) == 0)
        return (ompi_fortran_message_t){array->base, count, type, NULL};
    frame_t frame;
    frame_of_array(array, &frame);
    ompi_datatype_t *made = find_or_make(&frame, object, count);
    MPI_Datatype handle = made != NULL ? ompi_object_handle(made) : MPI_DATATYPE_NULL;
    return (ompi_fortran_message_t){array->base, 1, handle, made};
}

void ompi_fortran_message_release(ompi_datatype_t *made)
{
    ompi_datatype_release(made);
}
