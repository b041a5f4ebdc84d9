/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The plan of win_random, which all ranks of a communicator draw alike from the seed and the
 * round's number, and the model: what every window and every result must hold, each byte of it.
 *
 * An epoch divides the memory of each rank into segments. Each has a role, so that the model is
 * exact in whatever order the operations happen:
 *   OWNED   one rank alone accesses it: in one step by puts one behind the other, by gets, or by
 *           accumulates of all kinds, whose order counts
 *   SHARED  all ranks accumulate with one operation that commutes; what they fetch is not known
 *   READ    all ranks get
 *   IDLE    nobody accesses it
 * An owner has completed what it did in a step before it begins the next one.
 *
 * For one program, and one thread.
 */
#ifndef TEST_MPI_WIN_PLAN_H
#define TEST_MPI_WIN_PLAN_H

#include <stdarg.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>

#include "tap.h"
#include "win_types.h"

enum { RANKS_MAX = 64, REGIONS_MAX = 3, MARGIN = 64, STEPS_MAX = 3 };
enum { SEGMENTS_MAX = 64, OPERATIONS_MAX = 240, COUNT_MAX = 60000 };

/* What every displacement unit divides, and what is aligned for each element. */
enum { GRANULE = 240 };

static uint64_t seed, round_number;

/* -- chance -------------------------------------------------------------------------- */

static uint64_t common_state, own_state;

static inline int draw(uint64_t *state, int below)
{
    return (int)(mix(*state += UINT64_C(0x9e3779b97f4a7c15)) % (unsigned)below);
}

static inline bool one_in(uint64_t *state, int n)
{
    return draw(state, n) == 0;
}

/* The same for all ranks, of this round. */
static inline uint64_t hash(uint64_t a, uint64_t b, uint64_t c)
{
    uint64_t x = mix(mix(seed + 1) + round_number + 1);
    return mix(mix(mix(x + a) + b) + c);
}

static inline MPI_Aint lcm(MPI_Aint a, MPI_Aint b)
{
    MPI_Aint multiple = a;
    while (multiple % b != 0)
        multiple += a;
    return multiple;
}

/* -- faults -------------------------------------------------------------------------- */

static int world_rank, world_size, epoch_number;
static atomic_int fault_count;

__attribute__((format(printf, 1, 2))) static inline void fault(const char *format, ...)
{
    va_list arguments;
    char text[TAP_LINE];
    if (fault_count++ >= 5)
        return;
    va_start(arguments, format);
    vsnprintf(text, sizeof text, format, arguments);
    va_end(arguments);
    fprintf(stderr, "seed %llu, round %llu, epoch %d, rank %d of %d: %s\n",
            (unsigned long long)seed, (unsigned long long)round_number, epoch_number, world_rank,
            world_size, text);
}

/* Which of MPI_X and MPI_X_c each rank draws for itself. */
#define CALL(name, ...)                                                                            \
    (draw(&own_state, 2) == 0 ? MPI_##name(__VA_ARGS__) : MPI_##name##_c(__VA_ARGS__))

/* A call that must succeed. */
#define TRY(call) check_error(call, #call)

static inline void check_error(int error, const char *call)
{
    char text[MPI_MAX_ERROR_STRING];
    int length;
    if (error == MPI_SUCCESS)
        return;
    MPI_Error_string(error, text, &length);
    fault("%.60s: %s", call, text);
}

/* -- memory -------------------------------------------------------------------------- */

/* Memory and what it must hold; `accepts` marks bytes that may hold anything. */
typedef struct memory {
    size_t bytes;
    char *memory, *image, *accepts;
} memory_t;

static inline void make_memory(memory_t *m, size_t bytes, char *memory)
{
    *m = (memory_t){bytes, memory, malloc(bytes + 1), calloc(bytes + 1, 1)};
    for (size_t i = 0; i < bytes; i++)
        m->image[i] = (char)(i * 7 + 3);
}

static inline void free_images(memory_t *m)
{
    free(m->image);
    free(m->accepts);
    *m = (memory_t){0};
}

/* Where the memory differs first, or -1. */
static inline long find_difference(const memory_t *m)
{
    for (size_t i = 0; i < m->bytes; i++) {
        if (m->memory[i] != m->image[i] && !m->accepts[i])
            return (long)i;
    }
    return -1;
}

/* An element of the image gets a value; its padding may then hold anything. */
static inline void expect_element(memory_t *m, const element_t *element, MPI_Aint at,
                                  const void *value)
{
    store_element(element, m->image + at, value);
    for (int i = 0; i < element->bytes; i++)
        m->accepts[at + i] = !is_significant(element, i);
}

/* -- shapes -------------------------------------------------------------------------- */

/* Where the elements of a buffer are. Element i is at i / units * extent + inner[i % units]. */
typedef enum form {
    PLAIN,       /* the predefined type */
    WHOLE,       /* one contiguous type */
    VECTOR,      /* one vector */
    BACKWARD,    /* one vector with a negative stride */
    BLOCK,       /* one indexed block that begins later */
    HOLES,       /* a struct of one element, resized */
    BEFORE,      /* an element at a negative displacement, and a negative lower bound */
    CROSSED,     /* two elements, the later one first */
    INTERLEAVED, /* the data of one lies in the gaps of others */
    FORMS
} form_t;

enum { UNITS_MAX = 3 };

typedef struct shape {
    form_t form;
    int elements, count, units;
    MPI_Aint extent, inner[UNITS_MAX];
    MPI_Aint low, high; /* of the data, from the address of the buffer */
} shape_t;

static inline MPI_Aint element_at(const shape_t *shape, int i)
{
    return i / shape->units * shape->extent + shape->inner[i % shape->units];
}

static inline void set_bounds(shape_t *shape, MPI_Aint bytes)
{
    int n = shape->elements;
    shape->low = shape->high = 0;
    for (int i = 0; i < 2 * shape->units && n > 0; i++) {
        MPI_Aint at = element_at(shape, i < shape->units ? i : n - 1 - i % shape->units);
        if (i == 0 || at < shape->low)
            shape->low = at;
        if (i == 0 || at + bytes > shape->high)
            shape->high = at + bytes;
    }
}

static inline shape_t make_shape(form_t form, int elements, MPI_Aint e)
{
    shape_t shape = {.form = form, .elements = elements, .count = 1, .units = 1, .extent = e};
    if (form == PLAIN || form == HOLES || form == BEFORE)
        shape.count = elements;
    if (form == VECTOR && elements % 3 == 0)
        shape = (shape_t){form, elements, 1, 3, 4 * e, {0, e, 2 * e}, 0, 0};
    else if (form == VECTOR)
        shape.extent = 3 * e;
    else if (form == BACKWARD)
        shape.extent = -e;
    else if (form == BLOCK)
        shape.inner[0] = 2 * e;
    else if (form == HOLES)
        shape = (shape_t){form, elements, elements, 1, 3 * e, {e}, 0, 0};
    else if (form == BEFORE)
        shape = (shape_t){form, elements, elements, 1, 2 * e, {-e}, 0, 0};
    else if (form == CROSSED)
        shape = (shape_t){form, elements, elements / 2, 2, 4 * e, {2 * e, 0}, 0, 0};
    else if (form == INTERLEAVED)
        shape = (shape_t){form, elements, elements / 2, 2, 2 * e, {0, 3 * e}, 0, 0};
    set_bounds(&shape, e);
    return shape;
}

/* One of that many elements that fits in the room. */
static inline shape_t draw_shape(int elements, MPI_Aint bytes, MPI_Aint room)
{
    form_t form = (form_t)draw(&common_state, FORMS);
    if (elements == 0 || (elements % 2 != 0 && form >= CROSSED))
        form = PLAIN;
    shape_t shape = make_shape(form, elements, bytes);
    MPI_Aint before = shape.low < 0 ? -shape.low : 0, grain = lcm(GRANULE, bytes);
    if ((before + grain - 1) / grain * grain + shape.high > room)
        return make_shape(PLAIN, elements, bytes);
    return shape;
}

/* The datatype of a shape, which the caller frees if it is not the element's. */
static inline MPI_Datatype make_type(const shape_t *shape, const element_t *element)
{
    MPI_Datatype inner = element->type, type;
    MPI_Aint e = element->bytes;
    int n = shape->elements, units = shape->units;
    if (shape->form == PLAIN)
        return inner;
    if (shape->form == WHOLE) {
        MPI_Type_contiguous(n, inner, &type);
    } else if (shape->form == VECTOR) {
        MPI_Type_vector(n / units, units, (int)(shape->extent / e), inner, &type);
    } else if (shape->form == BACKWARD) {
        MPI_Type_create_hvector(n, 1, -e, inner, &type);
    } else if (shape->form == BLOCK) {
        MPI_Type_indexed(1, &n, &(int){2}, inner, &type);
    } else {
        MPI_Datatype whole;
        MPI_Aint low = shape->form == BEFORE ? -2 * e : 0;
        MPI_Type_create_struct(units, (int[]){1, 1, 1}, shape->inner,
                               (MPI_Datatype[]){inner, inner, inner}, &whole);
        MPI_Type_create_resized(whole, low, shape->extent, &type);
        MPI_Type_free(&whole);
    }
    MPI_Type_commit(&type);
    return type;
}

/* A buffer of this rank. */
typedef struct buffer {
    memory_t data;
    char *address; /* that MPI gets */
    shape_t shape;
} buffer_t;

static inline MPI_Aint buffer_at(const buffer_t *buffer, int i)
{
    return buffer->address - buffer->data.memory + element_at(&buffer->shape, i);
}

static inline void make_buffer(buffer_t *buffer, const shape_t *shape)
{
    MPI_Aint before = shape->low < 0 ? (-shape->low + 15) / 16 * 16 : 0;
    size_t bytes = (size_t)(2 * MARGIN + before + (shape->high > 0 ? shape->high : 0));
    make_memory(&buffer->data, bytes, malloc(bytes));
    memcpy(buffer->data.memory, buffer->data.image, bytes);
    buffer->shape = *shape;
    buffer->address = buffer->data.memory + MARGIN + before;
}

static inline void free_buffer(buffer_t *buffer)
{
    free(buffer->data.memory);
    free_images(&buffer->data);
}

/* -- the window ---------------------------------------------------------------------- */

typedef enum flavor { CREATE, ALLOCATE, SHARED_MEMORY, DYNAMIC, FLAVORS } flavor_t;

/* Memory of a rank in the window. A dynamic window has several of each rank. */
typedef struct region {
    MPI_Aint address; /* of a dynamic window */
    memory_t data;    /* `memory` is NULL where this rank cannot load and store */
} region_t;

typedef struct window {
    MPI_Win win;
    MPI_Comm comm;
    int rank, size;
    flavor_t flavor;
    bool has_locks, is_ordered, has_one_op, has_compute;
    int units[RANKS_MAX], region_counts[RANKS_MAX];
    region_t regions[RANKS_MAX][REGIONS_MAX];
} window_t;

static window_t w;

/* The displacement of an offset in a region. */
static inline MPI_Aint displacement(int target, int region, MPI_Aint offset)
{
    return w.flavor == DYNAMIC ? MPI_Aint_add(w.regions[target][region].address, offset)
                               : offset / w.units[target];
}

/* -- segments ------------------------------------------------------------------------ */

typedef enum role { OWNED, SHARED, READ, IDLE } role_t;

typedef struct segment {
    int target, region, owner;
    MPI_Aint start, bytes;
    role_t role;
    const element_t *element;
    fold_t fold;
    int used;         /* in this step: 1 + the verb */
    MPI_Aint put_end; /* of what this step has put there */
} segment_t;

static segment_t segments[SEGMENTS_MAX];
static int segment_count;

static inline fold_t draw_fold(class_t class)
{
    const struct class_folds *folds = &class_folds[class];
    return (fold_t)(folds->first + draw(&common_state, (int)(folds->last - folds->first) + 1));
}

/* The first values of a segment, which its rank has yet to store. */
static inline void set_first_values(const segment_t *segment)
{
    memory_t *data = &w.regions[segment->target][segment->region].data;
    uint64_t key = hash(31, common_state, 0);
    int bytes = segment->element->bytes;
    for (MPI_Aint at = segment->start; at + bytes <= segment->start + segment->bytes; at += bytes) {
        char value[ELEMENT_MAX];
        make_value(segment->element, segment->fold, mix(key + (uint64_t)at), value);
        store_element(segment->element, data->image + at, value);
    }
    memset(data->accepts + segment->start, 1, (size_t)segment->bytes);
}

static inline void draw_segment(int target, int region, MPI_Aint start, MPI_Aint bytes, bool is_hot)
{
    static const role_t roles[] = {OWNED, OWNED, OWNED, SHARED, SHARED, READ, IDLE};
    segment_t *segment = &segments[segment_count];
    *segment = (segment_t){.target = target, .region = region, .start = start, .bytes = bytes};
    segment->owner = draw(&common_state, w.size);
    segment->role = is_hot ? SHARED : roles[draw(&common_state, 7)];
    segment->element = &elements[draw(&common_state, ELEMENTS)];
    segment->fold = draw_fold(segment->element->class);
    if (segment->element->bytes > bytes)
        return;
    segment_count++;
    if (segment->role != IDLE)
        set_first_values(segment);
}

/* Divides all memory of all ranks; that of a hot epoch has few segments, which all ranks use. */
static inline void draw_segments(bool is_hot)
{
    segment_count = 0;
    for (int target = 0; target < w.size; target++) {
        for (int region = 0; region < w.region_counts[target]; region++) {
            MPI_Aint at = 0, bytes = (MPI_Aint)w.regions[target][region].data.bytes;
            int left = is_hot ? 1 : SEGMENTS_MAX / w.size / w.region_counts[target];
            for (; at < bytes && left > 0; left--) {
                int most = (int)((bytes - at) / GRANULE) + 1;
                int granules = 1 + draw(&common_state, one_in(&common_state, 4) ? most : 4);
                MPI_Aint length = granules * GRANULE;
                if (length > bytes - at)
                    length = bytes - at;
                if (!one_in(&common_state, 8))
                    draw_segment(target, region, at, length, is_hot);
                at += length;
            }
        }
    }
}

/* -- operations ---------------------------------------------------------------------- */

typedef enum verb {
    PUT,
    GET,
    ACCUMULATE,
    GET_ACCUMULATE,
    FETCH_AND_OP,
    COMPARE_AND_SWAP,
    VERBS
} verb_t;

static const char *const verb_names[VERBS] = {
    "put", "get", "accumulate", "get_accumulate", "fetch_and_op", "compare_and_swap"};

typedef enum state { WAITING, STARTED, FINISHED } state_t;

typedef struct operation {
    const segment_t *segment;
    int step, origin;
    verb_t verb;
    fold_t fold;
    uint64_t key;
    MPI_Aint offset; /* of the target's buffer in the region */
    shape_t target_shape, origin_shape, result_shape;
    bool swaps;
    /* Of its origin. */
    state_t state;
    buffer_t origin_buffer, result_buffer;
    char compare[ELEMENT_MAX];
    MPI_Request request;
} operation_t;

static operation_t operations[OPERATIONS_MAX];
static int operation_count;

static inline bool fetches(const operation_t *o)
{
    return o->verb != PUT && o->verb != ACCUMULATE;
}

static inline bool has_origin(const operation_t *o)
{
    return o->verb != GET && o->fold != NO_OP;
}

static inline bool writes(const operation_t *o)
{
    return o->verb == PUT || has_origin(o);
}

static inline int draw_count(MPI_Aint most)
{
    int chance = draw(&common_state, 10);
    if (chance == 0 || most == 0)
        return 0;
    if (chance < 4)
        return 1;
    if (chance < 8 && most > 20)
        most = 20;
    return 1 + draw(&common_state, most > COUNT_MAX ? COUNT_MAX : (int)most);
}

/* Elements lie at multiples of their size, and of the displacement unit. */
static inline MPI_Aint grain_of(const segment_t *s)
{
    MPI_Aint e = s->element->bytes;
    return w.flavor == DYNAMIC ? e : lcm(w.units[s->target], e);
}

/* Where in the segment it goes to, from the byte `begin` of it on. */
static inline void draw_target(operation_t *o, MPI_Aint begin, int count)
{
    const segment_t *s = o->segment;
    MPI_Aint e = s->element->bytes, grain = grain_of(s);
    bool is_single = o->verb >= FETCH_AND_OP;
    o->target_shape = is_single ? make_shape(PLAIN, 1, e) : draw_shape(count, e, s->bytes - begin);
    const shape_t *shape = &o->target_shape;
    MPI_Aint least = shape->low < 0 ? (-shape->low + grain - 1) / grain : 0;
    MPI_Aint most = (s->bytes - begin - shape->high) / grain;
    o->offset = s->start + begin + (least + draw(&common_state, (int)(most - least) + 1)) * grain;
    o->origin_shape = is_single ? *shape : draw_shape(count, e, PTRDIFF_MAX);
    o->result_shape = is_single ? *shape : draw_shape(count, e, PTRDIFF_MAX);
}

static inline verb_t draw_accumulate(const segment_t *s)
{
    static const verb_t verbs[] = {ACCUMULATE, GET_ACCUMULATE, FETCH_AND_OP, COMPARE_AND_SWAP,
                                   COMPARE_AND_SWAP};
    bool can_swap = s->role == OWNED && s->element->class <= LOGICAL && !w.has_one_op;
    return verbs[draw(&common_state, can_swap ? 5 : 3)];
}

/* What the role and what came before in this step allow; PUT + 1 is 1. */
static inline bool draw_verb(operation_t *o, segment_t *s)
{
    bool reads = s->role == READ;
    static const verb_t verbs[] = {PUT, PUT, PUT, GET, ACCUMULATE};
    if (s->role == IDLE || s->put_end + s->element->bytes > s->bytes)
        return false;
    if (s->used == 0)
        s->used = 1 + (s->role == SHARED ? ACCUMULATE
                       : reads           ? GET
                                         : verbs[draw(&common_state, 5)]);
    else if (s->used == 1 + ACCUMULATE && s->role == OWNED && !w.is_ordered)
        return false;
    o->verb = (verb_t)(s->used - 1);
    if (o->verb == ACCUMULATE)
        o->verb = draw_accumulate(s);
    else if (o->verb == GET && !w.has_one_op && one_in(&common_state, 4))
        o->verb = (verb_t)(GET_ACCUMULATE + draw(&common_state, 2));
    return true;
}

/* Real numbers stay exact as long as one operation is used. */
static inline fold_t draw_operator(const operation_t *o, const segment_t *s)
{
    bool is_mixed = s->role == OWNED && !w.has_one_op;
    if (s->used == 1 + GET || (is_mixed && o->verb > ACCUMULATE && one_in(&common_state, 6)))
        return NO_OP;
    if (is_mixed && one_in(&common_state, 4))
        return REPLACE;
    if (is_mixed && (s->element->class <= LOGICAL || s->element->class == PAIR))
        return draw_fold(s->element->class);
    return s->role == SHARED && o->verb > ACCUMULATE && !w.has_one_op && one_in(&common_state, 6)
               ? NO_OP
               : s->fold;
}

static inline void draw_operation(int step)
{
    operation_t *o = &operations[operation_count];
    segment_t *s = &segments[draw(&common_state, segment_count)];
    *o = (operation_t){.segment = s, .step = step, .request = MPI_REQUEST_NULL};
    o->origin = s->role == OWNED ? s->owner : draw(&common_state, w.size);
    if (!draw_verb(o, s))
        return;
    o->fold = o->verb == PUT                ? REPLACE
              : o->verb == GET              ? NO_OP
              : o->verb == COMPARE_AND_SWAP ? REPLACE
                                            : draw_operator(o, s);
    o->swaps = !one_in(&common_state, 3);
    o->key = hash(32, common_state, 0);
    MPI_Aint begin = o->verb == PUT ? s->put_end : 0;
    draw_target(o, begin, draw_count((s->bytes - begin) / s->element->bytes));
    MPI_Aint end = o->offset - s->start + o->target_shape.high, grain = grain_of(s);
    if (o->verb == PUT && o->target_shape.elements > 0)
        s->put_end = (end + grain - 1) / grain * grain;
    operation_count++;
}

/* Returns the number of steps. */
static inline int draw_operations(bool is_hot)
{
    int steps = 1 + draw(&common_state, STEPS_MAX), most = is_hot ? OPERATIONS_MAX / STEPS_MAX : 40;
    operation_count = 0;
    for (int step = 0; step < steps && segment_count > 0; step++) {
        for (int i = 0; i < segment_count; i++)
            segments[i].used = 0, segments[i].put_end = 0;
        for (int left = draw(&common_state, most); left > 0; left--)
            draw_operation(step);
    }
    return steps;
}

/* -- the model ----------------------------------------------------------------------- */

static inline void set_buffers(operation_t *o)
{
    const segment_t *s = o->segment;
    if (has_origin(o)) {
        make_buffer(&o->origin_buffer, &o->origin_shape);
        for (int i = 0; i < o->origin_shape.elements; i++) {
            char value[ELEMENT_MAX];
            make_value(s->element, s->fold, mix(o->key + (uint64_t)i), value);
            store_element(s->element, o->origin_buffer.data.image + buffer_at(&o->origin_buffer, i),
                          value);
        }
        memcpy(o->origin_buffer.data.memory, o->origin_buffer.data.image,
               o->origin_buffer.data.bytes);
    }
    if (fetches(o))
        make_buffer(&o->result_buffer, &o->result_shape);
}

/* A compare_and_swap compares with what is there, or not. */
static inline bool model_compare(operation_t *o, const char *old)
{
    memcpy(o->compare, old, (size_t)o->segment->element->bytes);
    if (!o->swaps)
        o->compare[0] ^= 1;
    return o->swaps;
}

static inline void model_element(operation_t *o, int i)
{
    const segment_t *s = o->segment;
    const element_t *element = s->element;
    memory_t *data = &w.regions[s->target][s->region].data;
    MPI_Aint at = o->offset + element_at(&o->target_shape, i);
    char old[ELEMENT_MAX], value[ELEMENT_MAX], new[ELEMENT_MAX];
    memcpy(old, data->image + at, (size_t)element->bytes);
    memcpy(new, old, sizeof new);
    make_value(element, s->fold, mix(o->key + (uint64_t)i), value);
    if (o->verb == COMPARE_AND_SWAP) {
        if (model_compare(o, old))
            memcpy(new, value, sizeof new);
    } else if (o->fold == REPLACE) {
        memcpy(new, value, sizeof new);
    } else {
        element->combine(o->fold, new, value);
    }
    if (writes(o))
        expect_element(data, element, at, new);
    if (fetches(o) && o->origin == w.rank) {
        memory_t *result = &o->result_buffer.data;
        expect_element(result, element, buffer_at(&o->result_buffer, i), old);
        if (s->role == SHARED)
            memset(result->accepts + buffer_at(&o->result_buffer, i), 1, (size_t)element->bytes);
    }
}

/* All operations of the epoch, in an order that gives what each order must give. */
static inline void run_model(void)
{
    for (int i = 0; i < operation_count; i++) {
        operation_t *o = &operations[i];
        if (o->origin == w.rank)
            set_buffers(o);
        for (int e = 0; e < o->target_shape.elements; e++)
            model_element(o, e);
    }
}

#endif
