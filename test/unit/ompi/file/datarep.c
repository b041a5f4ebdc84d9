/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * ompi/file/datarep.c and datarep_layout.c, on types made at random.
 *
 * Where data lies in a file is compared with a type that is made by the same constructors of
 * elements that are so many bytes. A registered representation, "longer", is a byte longer than the
 * element, which it stores backwards behind that byte.
 */
#include "ompi/file/datarep.h"

#include <limits.h>

#include "ompi/api/bodies.h"
#include "ompi/datatype/envelope.h"
#include "ompi/datatype/external.h"
#include "ompi/file/view.h"
#include "test/unit/ompi/datatype/model.h"
#include "test/unit/opal/support.h"

enum { ROUNDS = 5, TYPES = 200, TRIES = 10, MARK = 0xa5 };

/* What the functions of "longer" know of the data that they convert. */
static struct {
    const model_t *model;
    MPI_Datatype handle;
    unsigned char *buffer;
    MPI_Count extent;
    size_t calls;
} data;

static ompi_datatype_t *element_at(size_t element, unsigned char **native)
{
    const model_entry_t *entry = &data.model->entries[element % data.model->count];
    *native = data.buffer + (MPI_Count)(element / data.model->count) * data.extent + entry->offset;
    return entry->basic;
}

static int longer_extent(MPI_Datatype handle, MPI_Aint *extent, void *extra_state OPAL_UNUSED)
{
    *extent = (MPI_Aint)ompi_datatype_size(ompi_datatype_of(handle)) + 1;
    return MPI_SUCCESS;
}

static int longer_write(void *buffer, MPI_Datatype handle, MPI_Count count, void *file,
                        MPI_Offset position, void *extra_state)
{
    unsigned char *native, *to = file;
    ck_assert(handle == data.handle && buffer == data.buffer && extra_state == &data);
    data.calls++;
    for (MPI_Count i = 0; i < count; i++) {
        size_t bytes = ompi_datatype_size(element_at((size_t)(position + i), &native));
        *to++ = MARK;
        while (bytes > 0)
            *to++ = native[--bytes];
    }
    return MPI_SUCCESS;
}

static int longer_read(void *buffer, MPI_Datatype handle, int count, void *file,
                       MPI_Offset position, void *extra_state)
{
    unsigned char *native, *from = file;
    ck_assert(handle == data.handle && buffer == data.buffer && extra_state == &data);
    data.calls++;
    for (MPI_Count i = 0; i < count; i++) {
        size_t bytes = ompi_datatype_size(element_at((size_t)(position + i), &native));
        if (*from++ != MARK)
            return MPI_ERR_OTHER;
        while (bytes > 0)
            native[--bytes] = *from++;
    }
    return MPI_SUCCESS;
}

static const ompi_datarep_fn_t no_function;

static const ompi_datarep_t *longer(void)
{
    int outcome = ompi_datarep_register("longer", ompi_datarep_fn_small(longer_read),
                                        ompi_datarep_fn_large(longer_write), longer_extent, &data);
    ck_assert(outcome == MPI_SUCCESS || outcome == MPI_ERR_DUP_DATAREP);
    return ompi_datarep_find("longer");
}

static size_t bytes_in_file(const ompi_datarep_t *datarep, const ompi_datatype_t *basic)
{
    return strcmp(ompi_datarep_name(datarep), "longer") == 0 ? ompi_datatype_size(basic) + 1
                                                             : ompi_external_bytes(basic, 1);
}

/* Where data lies. */

static ompi_datatype_t *mirror(const ompi_datarep_t *datarep, const ompi_datatype_t *type);

static int mirror_struct(const ompi_datarep_t *datarep, const ompi_envelope_t *envelope,
                         ompi_datatype_t **made)
{
    MPI_Count *lists = envelope->large_count_list, count = lists[0];
    MPI_Datatype members[16] = {NULL};
    for (MPI_Count i = 0; i < count; i++)
        members[i] = ompi_object_handle(mirror(datarep, envelope->datatype_list[i]));
    int outcome = ompi_api_type_create_struct(count, ompi_ints_large(lists + 1),
                                              ompi_ints_large(lists + 1 + count), members, made);
    for (MPI_Count i = 0; i < count; i++)
        ompi_datatype_release(ompi_handle_object(members[i]));
    return outcome;
}

static ompi_datatype_t *mirror_predefined(const ompi_datarep_t *datarep,
                                          const ompi_datatype_t *type)
{
    const ompi_signature_t *signature = type->shape.signature;
    ompi_datatype_t *made;
    size_t bytes = signature->external_bytes;
    if (strcmp(ompi_datarep_name(datarep), "longer") == 0)
        bytes = signature->bytes + signature->elements;
    ck_assert_int_eq(
        ompi_api_type_contiguous((MPI_Count)bytes, ompi_datatype_of(MPI_BYTE), &made, true),
        MPI_SUCCESS);
    return made;
}

static int mirror_array(const ompi_envelope_t *envelope, ompi_datatype_t *old,
                        ompi_datatype_t **made)
{
    const int *integers = envelope->integer_list;
    const MPI_Count *large = envelope->large_count_list;
    int order = integers[envelope->integers - 1];
    if (envelope->combiner == MPI_COMBINER_SUBARRAY) {
        int dims = integers[0];
        return ompi_api_type_create_subarray(dims, ompi_ints_large(large),
                                             ompi_ints_large(large + dims),
                                             ompi_ints_large(large + 2 * dims), order, old, made);
    }
    int dims = integers[2];
    return ompi_api_type_create_darray(integers[0], integers[1], dims, ompi_ints_large(large),
                                       integers + 3, integers + 3 + dims, integers + 3 + 2 * dims,
                                       order, old, made);
}

/* The type, by the same constructors, of elements that are bytes. */
static ompi_datatype_t *mirror(const ompi_datarep_t *datarep, const ompi_datatype_t *type)
{
    const ompi_envelope_t *envelope = type->envelope;
    if (envelope == NULL)
        return mirror_predefined(datarep, type);
    int outcome = MPI_ERR_INTERN;
    const MPI_Count *a = envelope->large_count_list;
    ompi_datatype_t *old = NULL, *made = NULL;
    if (envelope->combiner != MPI_COMBINER_STRUCT)
        old = mirror(datarep, envelope->datatype_list[0]);
    switch (envelope->combiner) {
    case MPI_COMBINER_DUP:
        outcome = ompi_api_type_dup(old, &made);
        break;
    case MPI_COMBINER_CONTIGUOUS:
        outcome = ompi_api_type_contiguous(a[0], old, &made, true);
        break;
    case MPI_COMBINER_VECTOR:
        outcome = ompi_api_type_vector(a[0], a[1], a[2], old, &made, true);
        break;
    case MPI_COMBINER_HVECTOR:
        outcome = ompi_api_type_create_hvector(a[0], a[1], a[2], old, &made, true);
        break;
    case MPI_COMBINER_INDEXED:
        outcome = ompi_api_type_indexed(a[0], ompi_ints_large(a + 1), ompi_ints_large(a + 1 + a[0]),
                                        old, &made);
        break;
    case MPI_COMBINER_HINDEXED:
        outcome = ompi_api_type_create_hindexed(a[0], ompi_ints_large(a + 1),
                                                ompi_ints_large(a + 1 + a[0]), old, &made);
        break;
    case MPI_COMBINER_INDEXED_BLOCK:
        outcome =
            ompi_api_type_create_indexed_block(a[0], a[1], ompi_ints_large(a + 2), old, &made);
        break;
    case MPI_COMBINER_HINDEXED_BLOCK:
        outcome = ompi_api_type_create_hindexed_block(a[0], a[1], ompi_ints_large(a + 2), old,
                                                      &made, true);
        break;
    case MPI_COMBINER_STRUCT:
        outcome = mirror_struct(datarep, envelope, &made);
        break;
    case MPI_COMBINER_RESIZED:
        outcome = ompi_api_type_create_resized(old, a[0], a[1], &made, true);
        break;
    default:
        outcome = mirror_array(envelope, old, &made);
    }
    ck_assert_int_eq(outcome, MPI_SUCCESS);
    if (old != NULL)
        ompi_datatype_release(old);
    return made;
}

static void check_same_layout(const ompi_datatype_t *a, const ompi_datatype_t *b)
{
    struct iovec of_a[16], of_b[16];
    size_t listed_a = 0, listed_b = 0;
    ck_assert_uint_eq(ompi_datatype_size(a), ompi_datatype_size(b));
    ck_assert_int_eq(ompi_datatype_lb(a), ompi_datatype_lb(b));
    ck_assert_int_eq(ompi_datatype_extent(a), ompi_datatype_extent(b));
    for (size_t at = 0; at < ompi_datatype_size(a); at += listed_a) {
        size_t count = ompi_datatype_segments(a, 1, NULL, at, of_a, 16, &listed_a);
        ck_assert_uint_eq(ompi_datatype_segments(b, 1, NULL, at, of_b, 16, &listed_b), count);
        ck_assert_mem_eq(of_a, of_b, count * sizeof *of_a);
    }
}

static void check_layout(const ompi_datarep_t *datarep, ompi_datatype_t *type)
{
    ompi_datatype_t *layout, *wanted = mirror(datarep, type);
    MPI_Count extent;
    ck_assert_int_eq(ompi_datarep_layout(datarep, type, &layout), MPI_SUCCESS);
    check_same_layout(layout, wanted);
    ck_assert_int_eq(ompi_datarep_extent(datarep, type, &extent), MPI_SUCCESS);
    ck_assert_int_eq(extent, ompi_datatype_extent(wanted));
    ck_assert_uint_eq(ompi_datarep_bytes(datarep, type, 3), 3 * ompi_datatype_size(wanted));
    ompi_datatype_release(layout);
    ompi_datatype_release(wanted);
}

/* Sizes and conversion. */

static void check_sizes(const ompi_datarep_t *datarep, const sample_t *sample, size_t count)
{
    const model_t *model = &sample->model;
    size_t bytes = 0;
    bool is_right = true;
    for (size_t i = 0; i < count * model->count; i++) {
        size_t more = bytes_in_file(datarep, model->entries[i % model->count].basic);
        is_right &= ompi_datarep_bytes_of(datarep, sample->type, count, i) == bytes;
        is_right &= ompi_datarep_elements_in(datarep, sample->type, count, bytes) == i;
        is_right &= ompi_datarep_elements_in(datarep, sample->type, count, bytes + more - 1) == i;
        bytes += more;
    }
    ck_assert(is_right);
    ck_assert_uint_eq(ompi_datarep_bytes(datarep, sample->type, count), bytes);
    ck_assert_uint_eq(ompi_datarep_elements_in(datarep, sample->type, count, SIZE_MAX),
                      count * model->count);
}

/* Memory for `count` elements of a sample, with random bytes; `*buffer` is the user's address. */
static unsigned char *create_buffer(const sample_t *sample, size_t count, unsigned char **buffer)
{
    MPI_Count low = ompi_datatype_true_lb(sample->type),
              extent = ompi_datatype_extent(sample->type);
    size_t bytes = (size_t)ompi_datatype_span(sample->type, count);
    unsigned char *block = malloc(bytes + 1);
    ck_assert_ptr_nonnull(block);
    for (size_t i = 0; i < bytes; i++)
        block[i] = (unsigned char)model_random(0, 1);
    low += extent < 0 ? (MPI_Count)(count - 1) * extent : 0;
    *buffer = (unsigned char *)((uintptr_t)block - (uintptr_t)low);
    return block;
}

/* Converts all elements of a file in pieces, to or from it. */
static void convert(const ompi_datarep_t *datarep, const sample_t *sample, size_t count,
                    unsigned char *buffer, unsigned char *file, bool is_read)
{
    size_t all = count * sample->model.count, elements;
    data.model = &sample->model;
    data.handle = ompi_object_handle(sample->type);
    data.buffer = buffer;
    data.extent = ompi_datatype_extent(sample->type);
    for (size_t from = 0; from < all; from += elements) {
        unsigned char *piece = file + ompi_datarep_bytes_of(datarep, sample->type, count, from);
        elements = (size_t)model_random(1, (MPI_Count)(all - from));
        int outcome =
            is_read
                ? ompi_datarep_read(datarep, sample->type, count, buffer, from, elements, piece)
                : ompi_datarep_write(datarep, sample->type, count, buffer, from, elements, piece);
        ck_assert_int_eq(outcome, MPI_SUCCESS);
    }
}

static void check_conversion(const ompi_datarep_t *datarep, const sample_t *sample, size_t count)
{
    unsigned char *buffer;
    unsigned char *block = create_buffer(sample, count, &buffer);
    size_t bytes = ompi_datarep_bytes(datarep, sample->type, count);
    size_t span = (size_t)ompi_datatype_span(sample->type, count);
    unsigned char *file = malloc(bytes + 1), *wanted = malloc(bytes + 1), *back = malloc(span + 1);
    ck_assert(file != NULL && wanted != NULL && back != NULL);
    file[bytes] = wanted[bytes] = MARK;
    convert(datarep, sample, count, buffer, file, false);
    if (strcmp(ompi_datarep_name(datarep), "longer") == 0)
        longer_write(buffer, data.handle, (MPI_Count)(count * sample->model.count), wanted, 0,
                     &data);
    else
        ompi_external_pack(sample->type, count, buffer, wanted);
    ck_assert_mem_eq(file, wanted, bytes + 1);
    /* What is read is what was written, also in other pieces. */
    memset(block, 0, span);
    convert(datarep, sample, count, buffer, file, true);
    memcpy(back, block, span);
    convert(datarep, sample, count, buffer, file, false);
    ck_assert_mem_eq(file, wanted, bytes + 1);
    convert(datarep, sample, count, buffer, file, true);
    ck_assert_mem_eq(back, block, span);
    free(block);
    free(file);
    free(wanted);
    free(back);
}

/* Types whose bytes do not overlap can be read back. */
static bool has_overlaps(const sample_t *sample, size_t count)
{
    MPI_Count *offsets = model_offsets(&sample->model, count), low = 0, high = 0;
    size_t bytes = count * model_size(&sample->model);
    for (size_t i = 0; i < bytes; i++) {
        low = offsets[i] < low ? offsets[i] : low;
        high = offsets[i] > high ? offsets[i] : high;
    }
    bool *seen = calloc((size_t)(high - low) + 1, sizeof *seen), has = false;
    ck_assert_ptr_nonnull(seen);
    for (size_t i = 0; i < bytes; i++) {
        has |= seen[offsets[i] - low];
        seen[offsets[i] - low] = true;
    }
    free(seen);
    free(offsets);
    return has;
}

START_TEST(random_types_in_files)
{
    const ompi_datarep_t *datareps[] = {ompi_datarep_find("external32"), longer()};
    model_seed((uint64_t)_i + 1);
    for (int i = 0; i < TYPES; i++) {
        sample_t sample = sample_create();
        size_t count = (size_t)model_random(1, 3);
        for (size_t k = 0; k < OPAL_COUNT_OF(datareps); k++) {
            check_layout(datareps[k], sample.type);
            check_sizes(datareps[k], &sample, count);
            if (!has_overlaps(&sample, count))
                check_conversion(datareps[k], &sample, count);
        }
        sample_destroy(&sample);
    }
    ck_assert_uint_gt(data.calls, 0);
}
END_TEST

/* Constructors without _c keep their arguments elsewhere. */
START_TEST(small_constructors)
{
    static const int lengths[] = {2, 1}, places[] = {3, 0}, sizes[] = {4, 6}, parts[] = {2, 3},
                     starts[] = {1, 2};
    static const MPI_Aint addresses[] = {70, 2};
    static const MPI_Count l[] = {2, 1}, p[] = {3, 0}, z[] = {4, 6}, u[] = {2, 3}, t[] = {1, 2};
    static const int distribs[] = {MPI_DISTRIBUTE_CYCLIC, MPI_DISTRIBUTE_BLOCK}, dargs[] = {1, 4},
                     grid[] = {2, 2};
    MPI_Datatype members[] = {MPI_LONG, MPI_WCHAR};
    ompi_datatype_t *old = ompi_datatype_of(MPI_LONG_INT), *types[20] = {NULL};
    size_t n = 0;
    ompi_api_type_contiguous(3, old, &types[n++], false);
    ompi_api_type_contiguous(3, old, &types[n++], true);
    ompi_api_type_vector(3, 2, 5, old, &types[n++], false);
    ompi_api_type_vector(3, 2, 5, old, &types[n++], true);
    ompi_api_type_create_hvector(3, 2, 55, old, &types[n++], false);
    ompi_api_type_create_hvector(3, 2, 55, old, &types[n++], true);
    ompi_api_type_indexed(2, ompi_ints_small(lengths), ompi_ints_small(places), old, &types[n++]);
    ompi_api_type_indexed(2, ompi_ints_large(l), ompi_ints_large(p), old, &types[n++]);
    ompi_api_type_create_hindexed(2, ompi_ints_small(lengths), ompi_wide_ints_small(addresses), old,
                                  &types[n++]);
    ompi_api_type_create_hindexed(2, ompi_ints_large(l), ompi_wide_ints_large(addresses), old,
                                  &types[n++]);
    ompi_api_type_create_struct(2, ompi_ints_small(lengths), ompi_wide_ints_small(addresses),
                                members, &types[n++]);
    ompi_api_type_create_struct(2, ompi_ints_large(l), ompi_wide_ints_large(addresses), members,
                                &types[n++]);
    ompi_api_type_create_hindexed_block(2, 3, ompi_wide_ints_small(addresses), old, &types[n++],
                                        false);
    ompi_api_type_create_hindexed_block(2, 3, ompi_wide_ints_large(addresses), old, &types[n++],
                                        true);
    ompi_api_type_create_resized(old, -3, 44, &types[n++], false);
    ompi_api_type_create_resized(old, -3, 44, &types[n++], true);
    ompi_api_type_create_subarray(2, ompi_ints_small(sizes), ompi_ints_small(parts),
                                  ompi_ints_small(starts), MPI_ORDER_FORTRAN, old, &types[n++]);
    ompi_api_type_create_subarray(2, ompi_ints_large(z), ompi_ints_large(u), ompi_ints_large(t),
                                  MPI_ORDER_FORTRAN, old, &types[n++]);
    ompi_api_type_create_darray(4, 2, 2, ompi_ints_small(sizes), distribs, dargs, grid, MPI_ORDER_C,
                                old, &types[n++]);
    ompi_api_type_create_darray(4, 2, 2, ompi_ints_large(z), distribs, dargs, grid, MPI_ORDER_C,
                                old, &types[n++]);
    for (size_t i = 0; i < n; i += 2) {
        ompi_datatype_t *layouts[2];
        for (size_t k = 0; k < 2; k++) {
            ck_assert_int_eq(ompi_datarep_layout(longer(), types[i + k], &layouts[k]), MPI_SUCCESS);
            ompi_datatype_release(types[i + k]);
        }
        ck_assert_uint_gt(ompi_datatype_size(layouts[0]), 0);
        check_same_layout(layouts[0], layouts[1]);
        ompi_datatype_release(layouts[0]);
        ompi_datatype_release(layouts[1]);
    }
}
END_TEST

/* A chain that would be too deep for the stack, and a type that has itself very often. */
START_TEST(long_chains)
{
    enum { CHAIN = 200000, DOUBLINGS = 40 };
    ompi_datatype_t *type = ompi_datatype_of(MPI_LONG), *next;
    MPI_Count extent, lengths[] = {1, 1};
    for (int i = 0; i < CHAIN; i++) {
        ck_assert_int_eq(ompi_api_type_dup(type, &next), MPI_SUCCESS);
        ompi_datatype_release(type);
        type = next;
    }
    for (int i = 0; i < DOUBLINGS; i++) {
        MPI_Datatype members[] = {ompi_object_handle(type), ompi_object_handle(type)};
        MPI_Count offsets[] = {0, (MPI_Count)4 << i};
        ck_assert_int_eq(ompi_api_type_create_struct(2, ompi_ints_large(lengths),
                                                     ompi_ints_large(offsets), members, &next),
                         MPI_SUCCESS);
        ompi_datatype_release(type);
        type = next;
    }
    ck_assert_int_eq(ompi_datarep_extent(ompi_datarep_find("external32"), type, &extent),
                     MPI_SUCCESS);
    ck_assert_int_eq(extent, (MPI_Count)4 << DOUBLINGS);
    ompi_datatype_release(type);
}
END_TEST

START_TEST(a_view_of_external32)
{
    ompi_datatype_t *filetype;
    ompi_view_t *view;
    const char *reason;
    ck_assert_int_eq(ompi_api_type_vector(2, 1, 3, ompi_datatype_of(MPI_LONG), &filetype, false),
                     MPI_SUCCESS);
    ck_assert_int_eq(ompi_view_create(100, ompi_datatype_of(MPI_LONG), filetype,
                                      ompi_datarep_find("external32"), &view, &reason),
                     MPI_SUCCESS);
    ck_assert_uint_eq(view->etype_bytes, 4);
    ck_assert_int_eq(ompi_view_byte(view, 4), 112);
    ck_assert_int_eq(ompi_view_byte(view, 8), 116);
    ompi_view_release(view);
    ompi_datatype_release(filetype);
}
END_TEST

/* Registration and what programs do wrong. */

START_TEST(names)
{
    static const char *const taken[] = {"native", "internal", "external32", "longer"};
    char name[MPI_MAX_DATAREP_STRING + 1];
    longer();
    for (size_t i = 0; i < OPAL_COUNT_OF(taken); i++) {
        ck_assert_int_eq(
            ompi_datarep_register(taken[i], no_function, no_function, longer_extent, NULL),
            MPI_ERR_DUP_DATAREP);
        ck_assert_str_eq(ompi_datarep_name(ompi_datarep_find(taken[i])), taken[i]);
    }
    memset(name, 'x', sizeof name);
    name[MPI_MAX_DATAREP_STRING] = 0;
    ck_assert_int_eq(ompi_datarep_register(name, no_function, no_function, longer_extent, NULL),
                     MPI_ERR_ARG);
    ck_assert_int_eq(ompi_datarep_register("", no_function, no_function, longer_extent, NULL),
                     MPI_ERR_ARG);
    name[MPI_MAX_DATAREP_STRING - 1] = 0;
    ck_assert_int_eq(ompi_datarep_register(name, no_function, no_function, longer_extent, NULL),
                     MPI_SUCCESS);
    ck_assert_ptr_nonnull(ompi_datarep_find(name));
    ck_assert(ompi_datarep_is_native(ompi_datarep_find(name)));
    ck_assert(!ompi_datarep_is_native(longer()));
    ompi_datarep_fini();
    ck_assert_ptr_null(ompi_datarep_find(name));
    ck_assert_ptr_null(ompi_datarep_find("longer"));
}
END_TEST

static unsigned released;

static void release_state(void *extra_state)
{
    ck_assert_ptr_eq(extra_state, &released);
    released++;
}

START_TEST(state_is_released_at_the_end)
{
    int other;
    for (unsigned round = 1; round <= 2; round++) {
        ck_assert_int_eq(
            ompi_datarep_register("own", no_function, no_function, longer_extent, &released),
            MPI_SUCCESS);
        longer();
        ompi_datarep_set_release(&other, release_state); /* of none */
        ompi_datarep_set_release(&released, release_state);
        ck_assert_uint_eq(released, round - 1);
        ompi_datarep_fini();
        ck_assert_uint_eq(released, round);
    }
}
END_TEST

static int same_extent(MPI_Datatype handle, MPI_Aint *extent, void *extra_state OPAL_UNUSED)
{
    *extent = (MPI_Aint)ompi_datatype_size(ompi_datatype_of(handle));
    return MPI_SUCCESS;
}

static int no_extent(MPI_Datatype handle OPAL_UNUSED, MPI_Aint *extent OPAL_UNUSED,
                     void *extra_state OPAL_UNUSED)
{
    return MPI_ERR_OTHER;
}

static int refuse(void *buffer OPAL_UNUSED, MPI_Datatype handle OPAL_UNUSED, int count OPAL_UNUSED,
                  void *file OPAL_UNUSED, MPI_Offset position OPAL_UNUSED,
                  void *extra_state OPAL_UNUSED)
{
    return MPI_ERR_OTHER;
}

static const ompi_datarep_t *reads_only(const char *name, MPI_Datarep_extent_function *extent)
{
    ck_assert_int_eq(
        ompi_datarep_register(name, ompi_datarep_fn_small(refuse), no_function, extent, NULL),
        MPI_SUCCESS);
    return ompi_datarep_find(name);
}

/* Without a function bytes are native, if that is possible. */
START_TEST(one_direction)
{
    const ompi_datarep_t *same = reads_only("same", same_extent);
    const ompi_datarep_t *other = reads_only("other", longer_extent);
    ompi_datatype_t *type = ompi_datatype_of(MPI_INT);
    int numbers[] = {1, 2, 3}, file[3] = {0};
    ck_assert_int_eq(ompi_datarep_write(same, type, 3, numbers, 1, 2, file), MPI_SUCCESS);
    ck_assert(file[0] == 2 && file[1] == 3 && file[2] == 0);
    ck_assert_int_eq(ompi_datarep_read(same, type, 3, numbers, 1, 2, file), MPI_ERR_CONVERSION);
    ck_assert_int_eq(ompi_datarep_write(other, type, 3, numbers, 0, 1, file), MPI_ERR_CONVERSION);
}
END_TEST

START_TEST(elements_without_a_size)
{
    const ompi_datarep_t *datarep = reads_only("unsized", no_extent);
    ompi_datatype_t *type = ompi_datatype_of(MPI_INT);
    ompi_view_t *view;
    const char *reason = NULL;
    ck_assert_uint_eq(ompi_datarep_bytes(datarep, type, 1), SIZE_MAX);
    ck_assert_int_eq(ompi_view_create(0, type, type, datarep, &view, &reason), MPI_ERR_CONVERSION);
    ck_assert_ptr_nonnull(reason);
}
END_TEST

static struct {
    int calls;
    MPI_Offset positions[2];
    void *files[2];
    int counts[2];
} counted;

static int count_calls(void *buffer OPAL_UNUSED, MPI_Datatype handle OPAL_UNUSED, int count,
                       void *file, MPI_Offset position, void *extra_state OPAL_UNUSED)
{
    counted.positions[counted.calls] = position;
    counted.files[counted.calls] = file;
    counted.counts[counted.calls++] = count;
    return MPI_SUCCESS;
}

START_TEST(more_elements_than_an_int_counts)
{
    char nothing[1];
    size_t many = (size_t)INT_MAX + 10;
    ck_assert_int_eq(ompi_datarep_register("counted", no_function,
                                           ompi_datarep_fn_small(count_calls), longer_extent, NULL),
                     MPI_SUCCESS);
    ck_assert_int_eq(ompi_datarep_write(ompi_datarep_find("counted"), ompi_datatype_of(MPI_BYTE),
                                        many + 5, nothing, 5, many, nothing),
                     MPI_SUCCESS);
    ck_assert_int_eq(counted.calls, 2);
    ck_assert(counted.positions[0] == 5 && counted.positions[1] == (MPI_Offset)INT_MAX + 5);
    ck_assert(counted.counts[0] == INT_MAX && counted.counts[1] == 10);
    ck_assert_uint_eq((uintptr_t)counted.files[1] - (uintptr_t)nothing, (uintptr_t)INT_MAX * 2);
}
END_TEST

static const unit_test_t tests[] = {
    {.test = &random_types_in_files, .repeats = ROUNDS},
    {.test = &small_constructors},
    {.test = &long_chains},
    {.test = &a_view_of_external32},
    {.test = &names},
    {.test = &state_is_released_at_the_end},
    {.test = &one_direction},
    {.test = &elements_without_a_size},
    {.test = &more_elements_than_an_int_counts},
};

static void setup(void)
{
    ck_assert_int_eq(ompi_datatype_init(), MPI_SUCCESS);
    model_seed(1);
}

UNIT_MAIN("ompi/file/datarep", tests, setup);
