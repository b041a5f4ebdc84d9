/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Bodies of the chapter datatype: constructors, but for those of arrays.
 *
 * A constructor makes a shape out of old shapes and, if that succeeds, records its arguments in an
 * envelope. Constructors with large counts (_c) record all counts, displacements and addresses in
 * the large counts of the envelope; the others use its integers and addresses.
 */
#include "ompi/api/datatype_create.h"

#include <stdlib.h>

#include "ompi/api/bodies.h"
#include "ompi/attribute/attribute.h"

int ompi_api_shape_error(int outcome)
{
    if (outcome == MPI_ERR_VALUE_TOO_LARGE)
        return ompi_api_set_error_detail(outcome,
                                         "The type's size or a bound is more than 63 bits.");
    return outcome;
}

int ompi_api_create_type(ompi_shape_t *shape, ompi_envelope_t *envelope, ompi_datatype_t **newtype)
{
    if (envelope == NULL) {
        ompi_shape_release(shape);
        return MPI_ERR_NO_MEM;
    }
    *newtype = ompi_datatype_create(shape, envelope);
    return *newtype != NULL ? MPI_SUCCESS : MPI_ERR_NO_MEM;
}

int ompi_api_check_list(ompi_ints_t list, MPI_Count count)
{
    if (list.items == NULL && count > 0)
        return ompi_api_set_error_detail(MPI_ERR_ARG, "A list is NULL, but its length is not 0.");
    return MPI_SUCCESS;
}

static int check_blocklengths(ompi_ints_t blocklengths, MPI_Count count)
{
    int outcome = ompi_api_check_list(blocklengths, count);
    for (MPI_Count i = 0; i < count && outcome == MPI_SUCCESS; i++) {
        if (ompi_ints_at(blocklengths, (size_t)i) < 0)
            outcome = ompi_api_set_error_detail(MPI_ERR_ARG, "A block length is negative.");
    }
    return outcome;
}

void ompi_api_record_counts(ompi_envelope_t *envelope, ompi_ints_t list, MPI_Count count)
{
    for (size_t i = 0; i < (size_t)count; i++) {
        if (list.wide)
            ompi_envelope_add_large_count(envelope, ompi_ints_at(list, i));
        else
            ompi_envelope_add_integer(envelope, (int)ompi_ints_at(list, i));
    }
}

/* A count that is large if the constructor is. */
static void record_count(ompi_envelope_t *envelope, MPI_Count value, bool large)
{
    if (large)
        ompi_envelope_add_large_count(envelope, value);
    else
        ompi_envelope_add_integer(envelope, (int)value);
}

/* Records an argument that is an address, and no integer, in a constructor without large counts. */
static void record_wide(ompi_envelope_t *envelope, MPI_Count value, bool large)
{
    if (large)
        ompi_envelope_add_large_count(envelope, value);
    else
        ompi_envelope_add_address(envelope, value);
}

static void record_wides(ompi_envelope_t *envelope, ompi_ints_t list, MPI_Count count, bool large)
{
    for (size_t i = 0; i < (size_t)count; i++)
        record_wide(envelope, ompi_ints_at(list, i), large);
}

/* An envelope for so many counts and addresses, which are all large counts if any is. */
static ompi_envelope_t *create_envelope(int combiner, MPI_Count counts, MPI_Count wides,
                                        MPI_Count datatypes, bool large)
{
    if (large)
        return ompi_envelope_create(combiner, 0, 0, (size_t)(counts + wides), (size_t)datatypes);
    return ompi_envelope_create(combiner, (size_t)counts, (size_t)wides, 0, (size_t)datatypes);
}

int ompi_api_type_dup(ompi_datatype_t *oldtype, ompi_datatype_t **newtype)
{
    ompi_shape_t shape = ompi_shape_copy(&oldtype->shape);
    ompi_envelope_t *envelope = create_envelope(MPI_COMBINER_DUP, 0, 0, 1, false);
    if (envelope != NULL)
        ompi_envelope_add_datatype(envelope, oldtype);
    int outcome = ompi_api_create_type(&shape, envelope, newtype);
    if (outcome != MPI_SUCCESS)
        return outcome;
    if (ompi_datatype_is_committed(oldtype))
        ompi_datatype_commit(*newtype);
    outcome = ompi_attributes_copy_all(&oldtype->head, &(*newtype)->head);
    if (outcome != MPI_SUCCESS)
        ompi_datatype_release(*newtype);
    return outcome;
}

int ompi_api_type_create_resized(ompi_datatype_t *oldtype, MPI_Count lb, MPI_Count extent,
                                 ompi_datatype_t **newtype, bool large)
{
    ompi_shape_t shape = ompi_shape_copy(&oldtype->shape);
    int outcome = ompi_shape_resize(&shape, lb, extent);
    if (outcome != MPI_SUCCESS) {
        ompi_shape_release(&shape);
        return ompi_api_shape_error(outcome);
    }
    ompi_envelope_t *envelope = create_envelope(MPI_COMBINER_RESIZED, 0, 2, 1, large);
    if (envelope != NULL) {
        record_wide(envelope, lb, large);
        record_wide(envelope, extent, large);
        ompi_envelope_add_datatype(envelope, oldtype);
    }
    return ompi_api_create_type(&shape, envelope, newtype);
}

int ompi_api_type_contiguous(MPI_Count count, ompi_datatype_t *oldtype, ompi_datatype_t **newtype,
                             bool large)
{
    ompi_shape_t shape;
    MPI_Count extent = ompi_datatype_extent(oldtype);
    int outcome = ompi_shape_repeat(&oldtype->shape, (size_t)count, extent, &shape);
    if (outcome != MPI_SUCCESS)
        return ompi_api_shape_error(outcome);
    ompi_envelope_t *envelope = create_envelope(MPI_COMBINER_CONTIGUOUS, 1, 0, 1, large);
    if (envelope != NULL) {
        record_count(envelope, count, large);
        ompi_envelope_add_datatype(envelope, oldtype);
    }
    return ompi_api_create_type(&shape, envelope, newtype);
}

/* `count` blocks, `stride` bytes apart. */
static int repeat_block(MPI_Count count, MPI_Count blocklength, MPI_Count stride,
                        const ompi_datatype_t *oldtype, ompi_shape_t *shape)
{
    ompi_shape_t block;
    MPI_Count extent = ompi_datatype_extent(oldtype);
    int outcome = ompi_shape_repeat(&oldtype->shape, (size_t)blocklength, extent, &block);
    if (outcome == MPI_SUCCESS) {
        outcome = ompi_shape_repeat(&block, (size_t)count, stride, shape);
        ompi_shape_release(&block);
    }
    return ompi_api_shape_error(outcome);
}

int ompi_api_type_vector(MPI_Count count, MPI_Count blocklength, MPI_Count stride,
                         ompi_datatype_t *oldtype, ompi_datatype_t **newtype, bool large)
{
    ompi_shape_t shape;
    MPI_Count bytes;
    if (__builtin_mul_overflow(stride, ompi_datatype_extent(oldtype), &bytes))
        return ompi_api_shape_error(MPI_ERR_VALUE_TOO_LARGE);
    int outcome = repeat_block(count, blocklength, bytes, oldtype, &shape);
    if (outcome != MPI_SUCCESS)
        return outcome;
    ompi_envelope_t *envelope = create_envelope(MPI_COMBINER_VECTOR, 3, 0, 1, large);
    if (envelope != NULL) {
        record_count(envelope, count, large);
        record_count(envelope, blocklength, large);
        record_count(envelope, stride, large);
        ompi_envelope_add_datatype(envelope, oldtype);
    }
    return ompi_api_create_type(&shape, envelope, newtype);
}

int ompi_api_type_create_hvector(MPI_Count count, MPI_Count blocklength, MPI_Count stride,
                                 ompi_datatype_t *oldtype, ompi_datatype_t **newtype, bool large)
{
    ompi_shape_t shape;
    int outcome = repeat_block(count, blocklength, stride, oldtype, &shape);
    if (outcome != MPI_SUCCESS)
        return outcome;
    ompi_envelope_t *envelope = create_envelope(MPI_COMBINER_HVECTOR, 2, 1, 1, large);
    if (envelope != NULL) {
        record_count(envelope, count, large);
        record_count(envelope, blocklength, large);
        record_wide(envelope, stride, large);
        ompi_envelope_add_datatype(envelope, oldtype);
    }
    return ompi_api_create_type(&shape, envelope, newtype);
}

/* Blocks at displacements that are multiples of `unit` bytes. Their lengths stand in the list, or
 * are all the same if it is NULL. */
static int join_blocks(MPI_Count count, const ompi_ints_t *blocklengths, MPI_Count blocklength,
                       ompi_ints_t displacements, MPI_Count unit, const ompi_datatype_t *oldtype,
                       ompi_shape_t *shape)
{
    ompi_shape_join_t join;
    int outcome = ompi_api_check_list(displacements, count);
    if (outcome == MPI_SUCCESS && blocklengths != NULL)
        outcome = check_blocklengths(*blocklengths, count);
    if (outcome != MPI_SUCCESS)
        return outcome;
    ompi_shape_join_begin(&join);
    for (size_t i = 0; i < (size_t)count; i++) {
        MPI_Count length = blocklengths != NULL ? ompi_ints_at(*blocklengths, i) : blocklength;
        MPI_Count bytes;
        if (__builtin_mul_overflow(ompi_ints_at(displacements, i), unit, &bytes))
            join.outcome = MPI_ERR_VALUE_TOO_LARGE;
        else
            ompi_shape_join_add(&join, &oldtype->shape, bytes, length);
    }
    return ompi_api_shape_error(ompi_shape_join_finish(&join, shape));
}

int ompi_api_type_indexed(MPI_Count count, ompi_ints_t array_of_blocklengths,
                          ompi_ints_t array_of_displacements, ompi_datatype_t *oldtype,
                          ompi_datatype_t **newtype)
{
    ompi_shape_t shape;
    bool large = array_of_blocklengths.wide;
    int outcome = join_blocks(count, &array_of_blocklengths, 0, array_of_displacements,
                              ompi_datatype_extent(oldtype), oldtype, &shape);
    if (outcome != MPI_SUCCESS)
        return outcome;
    ompi_envelope_t *envelope = create_envelope(MPI_COMBINER_INDEXED, 1 + 2 * count, 0, 1, large);
    if (envelope != NULL) {
        record_count(envelope, count, large);
        ompi_api_record_counts(envelope, array_of_blocklengths, count);
        ompi_api_record_counts(envelope, array_of_displacements, count);
        ompi_envelope_add_datatype(envelope, oldtype);
    }
    return ompi_api_create_type(&shape, envelope, newtype);
}

int ompi_api_type_create_hindexed(MPI_Count count, ompi_ints_t array_of_blocklengths,
                                  ompi_ints_t array_of_displacements, ompi_datatype_t *oldtype,
                                  ompi_datatype_t **newtype)
{
    ompi_shape_t shape;
    bool large = array_of_blocklengths.wide;
    int outcome =
        join_blocks(count, &array_of_blocklengths, 0, array_of_displacements, 1, oldtype, &shape);
    if (outcome != MPI_SUCCESS)
        return outcome;
    ompi_envelope_t *envelope = create_envelope(MPI_COMBINER_HINDEXED, 1 + count, count, 1, large);
    if (envelope != NULL) {
        record_count(envelope, count, large);
        ompi_api_record_counts(envelope, array_of_blocklengths, count);
        record_wides(envelope, array_of_displacements, count, large);
        ompi_envelope_add_datatype(envelope, oldtype);
    }
    return ompi_api_create_type(&shape, envelope, newtype);
}

int ompi_api_type_create_indexed_block(MPI_Count count, MPI_Count blocklength,
                                       ompi_ints_t array_of_displacements, ompi_datatype_t *oldtype,
                                       ompi_datatype_t **newtype)
{
    ompi_shape_t shape;
    bool large = array_of_displacements.wide;
    int outcome = join_blocks(count, NULL, blocklength, array_of_displacements,
                              ompi_datatype_extent(oldtype), oldtype, &shape);
    if (outcome != MPI_SUCCESS)
        return outcome;
    ompi_envelope_t *envelope = create_envelope(MPI_COMBINER_INDEXED_BLOCK, 2 + count, 0, 1, large);
    if (envelope != NULL) {
        record_count(envelope, count, large);
        record_count(envelope, blocklength, large);
        ompi_api_record_counts(envelope, array_of_displacements, count);
        ompi_envelope_add_datatype(envelope, oldtype);
    }
    return ompi_api_create_type(&shape, envelope, newtype);
}

int ompi_api_type_create_hindexed_block(MPI_Count count, MPI_Count blocklength,
                                        ompi_ints_t array_of_displacements,
                                        ompi_datatype_t *oldtype, ompi_datatype_t **newtype,
                                        bool large)
{
    ompi_shape_t shape;
    int outcome = join_blocks(count, NULL, blocklength, array_of_displacements, 1, oldtype, &shape);
    if (outcome != MPI_SUCCESS)
        return outcome;
    ompi_envelope_t *envelope = create_envelope(MPI_COMBINER_HINDEXED_BLOCK, 2, count, 1, large);
    if (envelope != NULL) {
        record_count(envelope, count, large);
        record_count(envelope, blocklength, large);
        record_wides(envelope, array_of_displacements, count, large);
        ompi_envelope_add_datatype(envelope, oldtype);
    }
    return ompi_api_create_type(&shape, envelope, newtype);
}

static int check_types(const MPI_Datatype types[], MPI_Count count)
{
    if (types == NULL && count > 0)
        return ompi_api_set_error_detail(MPI_ERR_ARG,
                                         "The list of types is NULL, but the count is not 0.");
    for (MPI_Count i = 0; i < count; i++) {
        if (!ompi_datatype_is_type(ompi_handle_object(types[i])))
            return ompi_api_set_error_detail(MPI_ERR_TYPE, "One of the list is no datatype.");
    }
    return MPI_SUCCESS;
}

static int join_members(MPI_Count count, ompi_ints_t blocklengths, ompi_ints_t displacements,
                        const MPI_Datatype types[], ompi_shape_t *shape)
{
    ompi_shape_join_t join;
    int outcome = check_blocklengths(blocklengths, count);
    if (outcome == MPI_SUCCESS)
        outcome = ompi_api_check_list(displacements, count);
    if (outcome == MPI_SUCCESS)
        outcome = check_types(types, count);
    if (outcome != MPI_SUCCESS)
        return outcome;
    ompi_shape_join_begin(&join);
    for (size_t i = 0; i < (size_t)count; i++) {
        const ompi_datatype_t *type = ompi_handle_object(types[i]);
        ompi_shape_join_add(&join, &type->shape, ompi_ints_at(displacements, i),
                            ompi_ints_at(blocklengths, i));
    }
    return ompi_api_shape_error(ompi_shape_join_finish(&join, shape));
}

int ompi_api_type_create_struct(MPI_Count count, ompi_ints_t array_of_blocklengths,
                                ompi_ints_t array_of_displacements,
                                const MPI_Datatype array_of_types[], ompi_datatype_t **newtype)
{
    ompi_shape_t shape;
    bool large = array_of_blocklengths.wide;
    int outcome =
        join_members(count, array_of_blocklengths, array_of_displacements, array_of_types, &shape);
    if (outcome != MPI_SUCCESS)
        return outcome;
    ompi_envelope_t *envelope =
        create_envelope(MPI_COMBINER_STRUCT, 1 + count, count, count, large);
    if (envelope != NULL) {
        record_count(envelope, count, large);
        ompi_api_record_counts(envelope, array_of_blocklengths, count);
        record_wides(envelope, array_of_displacements, count, large);
        for (MPI_Count i = 0; i < count; i++)
            ompi_envelope_add_datatype(envelope, ompi_handle_object(array_of_types[i]));
    }
    return ompi_api_create_type(&shape, envelope, newtype);
}
