/* SPDX-License-Identifier: BSD-3-Clause */
/* The model's bounds, bytes and constructors. */
#include "test/unit/ompi/datatype/model.h"

#include <check.h>
#include <stdlib.h>

#include "ompi/api/bodies.h"

enum {
    MAX_ENTRIES = 1500,
    MAX_SPAN = 60000,
    MAX_DEPTH = 4,
    MAX_BLOCKS = 6,
    MAX_DIMS = 3,
};

static uint64_t state;

void model_seed(uint64_t seed)
{
    state = seed * UINT64_C(0x9e3779b97f4a7c15) + 1;
}

MPI_Count model_random(MPI_Count low, MPI_Count high)
{
    state ^= state << 13;
    state ^= state >> 7;
    state ^= state << 17;
    return low + (MPI_Count)((state >> 11) % (uint64_t)(high - low + 1));
}

/* The model. */

static void add_entry(model_t *model, MPI_Count offset, ompi_datatype_t *basic)
{
    if ((model->count & (model->count - 1)) == 0) {
        size_t room = model->count > 0 ? 2 * model->count : 1;
        model->entries = realloc(model->entries, room * sizeof *model->entries);
        ck_assert_ptr_nonnull(model->entries);
    }
    model->entries[model->count++] = (model_entry_t){offset, basic};
}

static void add_markers(model_t *model, MPI_Count lb, MPI_Count ub)
{
    if (!model->has_markers || lb < model->lb_marker)
        model->lb_marker = lb;
    if (!model->has_markers || ub > model->ub_marker)
        model->ub_marker = ub;
    model->has_markers = true;
}

static MPI_Count extent_of(const model_t *model)
{
    MPI_Count lb, ub;
    model_bounds(model, &lb, &ub);
    return ub - lb;
}

/* `count` copies of a model, an extent apart. */
static void add_block(model_t *model, const model_t *old, MPI_Count displacement, MPI_Count count)
{
    MPI_Count extent = extent_of(old);
    for (MPI_Count i = 0; i < count; i++, displacement += extent) {
        for (size_t j = 0; j < old->count; j++)
            add_entry(model, displacement + old->entries[j].offset, old->entries[j].basic);
        if (old->has_markers)
            add_markers(model, displacement + old->lb_marker, displacement + old->ub_marker);
    }
}

size_t model_elements(const model_t *model)
{
    return model->count;
}

size_t model_size(const model_t *model)
{
    size_t size = 0;
    for (size_t i = 0; i < model->count; i++)
        size += ompi_datatype_size(model->entries[i].basic);
    return size;
}

void model_true_bounds(const model_t *model, MPI_Count *lb, MPI_Count *ub)
{
    *lb = *ub = 0;
    for (size_t i = 0; i < model->count; i++) {
        const model_entry_t *entry = &model->entries[i];
        MPI_Count end = entry->offset + (MPI_Count)ompi_datatype_size(entry->basic);
        if (i == 0 || entry->offset < *lb)
            *lb = entry->offset;
        if (i == 0 || end > *ub)
            *ub = end;
    }
}

void model_bounds(const model_t *model, MPI_Count *lb, MPI_Count *ub)
{
    MPI_Count alignment = 1;
    for (size_t i = 0; i < model->count; i++) {
        MPI_Count other = (MPI_Count)model->entries[i].basic->shape.alignment;
        alignment = other > alignment ? other : alignment;
    }
    model_true_bounds(model, lb, ub);
    while ((*ub - *lb) % alignment != 0)
        ++*ub;
    if (model->has_markers) {
        *lb = model->lb_marker;
        *ub = model->ub_marker;
    }
}

MPI_Count *model_offsets(const model_t *model, size_t count)
{
    MPI_Count *offsets = malloc((count * model_size(model) + 1) * sizeof *offsets);
    MPI_Count extent = extent_of(model);
    size_t n = 0;
    ck_assert_ptr_nonnull(offsets);
    for (size_t i = 0; i < count; i++) {
        for (size_t j = 0; j < model->count; j++) {
            MPI_Count offset = (MPI_Count)i * extent + model->entries[j].offset;
            for (size_t k = 0; k < ompi_datatype_size(model->entries[j].basic); k++)
                offsets[n++] = offset + (MPI_Count)k;
        }
    }
    return offsets;
}

/* Samples of one constructor. */

static ompi_ints_t ints(const MPI_Count *items)
{
    return ompi_ints_large(items);
}

static sample_t create_predefined(void)
{
    static const MPI_Datatype handles[] = {MPI_CHAR,  MPI_SHORT,    MPI_INT,        MPI_DOUBLE,
                                           MPI_BYTE,  MPI_LONG,     MPI_FLOAT,      MPI_C_BOOL,
                                           MPI_WCHAR, MPI_COMPLEX8, MPI_LONG_DOUBLE};
    static const MPI_Datatype pairs[][3] = {{MPI_SHORT_INT, MPI_SHORT, MPI_INT},
                                            {MPI_DOUBLE_INT, MPI_DOUBLE, MPI_INT},
                                            {MPI_2INT, MPI_INT, MPI_INT}};
    sample_t sample = {0};
    if (model_random(0, 9) > 0) {
        sample.type = ompi_datatype_of(handles[model_random(0, OPAL_COUNT_OF(handles) - 1)]);
        add_entry(&sample.model, 0, sample.type);
    } else {
        const MPI_Datatype *pair = pairs[model_random(0, OPAL_COUNT_OF(pairs) - 1)];
        ompi_datatype_t *index = ompi_datatype_of(pair[2]);
        sample.type = ompi_datatype_of(pair[0]);
        add_entry(&sample.model, 0, ompi_datatype_of(pair[1]));
        add_entry(&sample.model,
                  pair[1] == MPI_DOUBLE ? (MPI_Count)sizeof(double) : (MPI_Count)sizeof(int),
                  index);
    }
    return sample;
}

static int make_vector(sample_t *new, const sample_t *old)
{
    MPI_Count count = model_random(0, 5), length = model_random(0, 4);
    MPI_Count stride = model_random(-5, 8), extent = extent_of(&old->model);
    bool in_bytes = model_random(0, 1) == 1;
    if (in_bytes)
        stride = model_random(-40, 60);
    for (MPI_Count i = 0; i < count; i++)
        add_block(&new->model, &old->model, i * stride * (in_bytes ? 1 : extent), length);
    return in_bytes
               ? ompi_api_type_create_hvector(count, length, stride, old->type, &new->type, true)
               : ompi_api_type_vector(count, length, stride, old->type, &new->type, true);
}

static int make_contiguous(sample_t *new, const sample_t *old)
{
    MPI_Count count = model_random(0, 6);
    add_block(&new->model, &old->model, 0, count);
    return ompi_api_type_contiguous(count, old->type, &new->type, true);
}

static int make_indexed(sample_t *new, const sample_t *old)
{
    MPI_Count count = model_random(0, MAX_BLOCKS), length = model_random(0, 3);
    MPI_Count lengths[MAX_BLOCKS], offsets[MAX_BLOCKS], at = 0;
    bool in_bytes = model_random(0, 1) == 1, is_equal = model_random(0, 1) == 1;
    bool is_dense = model_random(0, 2) == 0, is_regular = model_random(0, 3) == 0;
    MPI_Count unit = in_bytes ? 1 : extent_of(&old->model);
    for (MPI_Count i = 0; i < count; i++) {
        lengths[i] = is_equal ? length : model_random(0, 3);
        offsets[i] = is_regular ? i * 7 : is_dense ? at : model_random(-20, 40);
        at += lengths[i] * (in_bytes ? extent_of(&old->model) : 1);
        add_block(&new->model, &old->model, offsets[i] * unit, lengths[i]);
    }
    if (is_equal && in_bytes)
        return ompi_api_type_create_hindexed_block(count, length, ints(offsets), old->type,
                                                   &new->type, true);
    if (is_equal)
        return ompi_api_type_create_indexed_block(count, length, ints(offsets), old->type,
                                                  &new->type);
    if (in_bytes)
        return ompi_api_type_create_hindexed(count, ints(lengths), ints(offsets), old->type,
                                             &new->type);
    return ompi_api_type_indexed(count, ints(lengths), ints(offsets), old->type, &new->type);
}

static int make_struct(sample_t *new, const sample_t *old)
{
    MPI_Count count = model_random(0, MAX_BLOCKS), at = 0;
    MPI_Count lengths[MAX_BLOCKS], offsets[MAX_BLOCKS];
    MPI_Datatype types[MAX_BLOCKS] = {NULL};
    bool is_dense = model_random(0, 1) == 1;
    sample_t others[MAX_BLOCKS];
    for (MPI_Count i = 0; i < count; i++) {
        others[i] = create_predefined();
        const sample_t *member = model_random(0, 2) == 0 ? old : &others[i];
        lengths[i] = model_random(0, 3);
        offsets[i] = is_dense ? at : model_random(-60, 120);
        at += lengths[i] * extent_of(&member->model);
        types[i] = ompi_object_handle(member->type);
        add_block(&new->model, &member->model, offsets[i], lengths[i]);
    }
    int outcome =
        ompi_api_type_create_struct(count, ints(lengths), ints(offsets), types, &new->type);
    for (MPI_Count i = 0; i < count; i++)
        sample_destroy(&others[i]);
    return outcome;
}

static int make_resized(sample_t *new, const sample_t *old)
{
    MPI_Count lb = model_random(-30, 30), extent = model_random(-10, 90);
    for (size_t i = 0; i < old->model.count; i++)
        add_entry(&new->model, old->model.entries[i].offset, old->model.entries[i].basic);
    add_markers(&new->model, lb, lb + extent);
    return ompi_api_type_create_resized(old->type, lb, extent, &new->type, true);
}

static int make_dup(sample_t *new, const sample_t *old)
{
    add_block(&new->model, &old->model, 0, 1);
    return ompi_api_type_dup(old->type, &new->type);
}

/* Which elements of an array are taken; in the order of memory, so the last index is the fastest
 * in MPI_ORDER_C. */
typedef struct array {
    int ndims, order;
    MPI_Count sizes[MAX_DIMS];
    bool taken[MAX_DIMS][16];
} array_t;

static array_t random_array(void)
{
    array_t array = {.ndims = (int)model_random(1, MAX_DIMS),
                     .order = model_random(0, 1) == 0 ? MPI_ORDER_C : MPI_ORDER_FORTRAN};
    for (int i = 0; i < array.ndims; i++)
        array.sizes[i] = model_random(1, 7);
    return array;
}

static void add_array(model_t *model, const array_t *array, const model_t *old)
{
    MPI_Count total = 1, extent = extent_of(old);
    for (int i = 0; i < array->ndims; i++)
        total *= array->sizes[i];
    for (MPI_Count element = 0; element < total; element++) {
        bool is_taken = true;
        MPI_Count rest = element;
        for (int step = 0; step < array->ndims; step++) {
            int i = array->order == MPI_ORDER_C ? array->ndims - 1 - step : step;
            is_taken &= array->taken[i][rest % array->sizes[i]];
            rest /= array->sizes[i];
        }
        if (is_taken)
            for (size_t j = 0; j < old->count; j++)
                add_entry(model, element * extent + old->entries[j].offset, old->entries[j].basic);
    }
    add_markers(model, 0, total * extent);
}

static int make_subarray(sample_t *new, const sample_t *old)
{
    MPI_Count parts[MAX_DIMS], starts[MAX_DIMS];
    array_t array = random_array();
    for (int i = 0; i < array.ndims; i++) {
        parts[i] = model_random(1, array.sizes[i]);
        starts[i] = model_random(0, array.sizes[i] - parts[i]);
        for (MPI_Count j = starts[i]; j < starts[i] + parts[i]; j++)
            array.taken[i][j] = true;
    }
    /* Markers of the old type lie within those of the array, unless its lower bound is not 0. */
    add_array(&new->model, &array, &old->model);
    return ompi_api_type_create_subarray(array.ndims, ints(array.sizes), ints(parts), ints(starts),
                                         array.order, old->type, &new->type);
}

static int make_darray(sample_t *new, const sample_t *old)
{
    static const int kinds[] = {MPI_DISTRIBUTE_NONE, MPI_DISTRIBUTE_BLOCK, MPI_DISTRIBUTE_CYCLIC};
    int distribs[MAX_DIMS], dargs[MAX_DIMS], processes[MAX_DIMS], size = 1, rest;
    array_t array = random_array();
    for (int i = 0; i < array.ndims; i++) {
        distribs[i] = kinds[model_random(0, 2)];
        processes[i] = distribs[i] == MPI_DISTRIBUTE_NONE ? 1 : (int)model_random(1, 3);
        size *= processes[i];
    }
    int rank = rest = (int)model_random(0, size - 1);
    for (int i = array.ndims - 1; i >= 0; rest /= processes[i], i--) {
        MPI_Count least = (array.sizes[i] + processes[i] - 1) / processes[i];
        MPI_Count block = distribs[i] == MPI_DISTRIBUTE_CYCLIC ? model_random(1, 4)
                                                               : model_random(least, least + 2);
        dargs[i] = (int)block;
        if (model_random(0, 2) == 0) {
            dargs[i] = MPI_DISTRIBUTE_DFLT_DARG;
            block = distribs[i] == MPI_DISTRIBUTE_CYCLIC ? 1 : least;
        }
        for (MPI_Count j = 0; j < array.sizes[i]; j++)
            array.taken[i][j] = distribs[i] == MPI_DISTRIBUTE_NONE ||
                                j / block % processes[i] == rest % processes[i];
    }
    add_array(&new->model, &array, &old->model);
    return ompi_api_type_create_darray(size, rank, array.ndims, ints(array.sizes), distribs, dargs,
                                       processes, array.order, old->type, &new->type);
}

/* Samples. */

static bool is_small(const model_t *model)
{
    MPI_Count lb, ub, true_lb, true_ub;
    model_bounds(model, &lb, &ub);
    model_true_bounds(model, &true_lb, &true_ub);
    return model->count <= MAX_ENTRIES && llabs(lb) < MAX_SPAN && llabs(ub) < MAX_SPAN &&
           llabs(true_lb) < MAX_SPAN && llabs(true_ub) < MAX_SPAN;
}

void sample_destroy(sample_t *sample)
{
    ompi_datatype_release(sample->type);
    free(sample->model.entries);
    *sample = (sample_t){0};
}

sample_t sample_create(void)
{
    static int (*const makers[])(sample_t *, const sample_t *) = {
        make_contiguous, make_vector,  make_vector,   make_indexed, make_indexed,
        make_struct,     make_resized, make_subarray, make_darray,  make_dup,
    };
    sample_t sample = create_predefined();
    for (MPI_Count depth = model_random(0, MAX_DEPTH); depth > 0; depth--) {
        sample_t next = {0};
        int outcome = makers[model_random(0, OPAL_COUNT_OF(makers) - 1)](&next, &sample);
        ck_assert_int_eq(outcome, MPI_SUCCESS);
        if (!is_small(&next.model)) {
            sample_destroy(&next);
            break;
        }
        sample_destroy(&sample);
        sample = next;
    }
    return sample;
}

void model_check_packs_alike(const ompi_datatype_t *type, const ompi_datatype_t *made)
{
    enum { COUNT = 3 };
    size_t total = ompi_datatype_bytes(type, COUNT);
    if (total == 0)
        return;
    MPI_Count extent = ompi_datatype_extent(type);
    MPI_Count first = ompi_datatype_true_lb(type) + (extent < 0 ? (COUNT - 1) * extent : 0);
    size_t span = (size_t)ompi_datatype_span(type, COUNT);
    char *memory = malloc(span), *packed = malloc(2 * total);
    const void *buffer = (void *)((uintptr_t)memory - (uintptr_t)first);
    for (size_t i = 0; i < span; i++)
        memory[i] = (char)(i * 31 + i / 251);
    ompi_datatype_pack(type, COUNT, buffer, 0, packed, total);
    ompi_datatype_pack(made, COUNT, buffer, 0, packed + total, total);
    ck_assert_mem_eq(packed + total, packed, total);
    free(memory);
    free(packed);
}
