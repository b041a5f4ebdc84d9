/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Types as they lie in a file whose elements have other sizes than in memory.
 *
 * A type is made once more as its envelope says, of elements that are as many bytes as in the file
 * and byte-aligned. So what counts extents is scaled, and what counts bytes
 * (MPI_Type_create_hvector and its like, structures, resized types) is not.
 *
 * Programs make chains of types of any length, and types of the same types many times over, so this
 * does not recurse: types wait on a stack until all that they are made of are done, and each is
 * made once.
 */
#include <assert.h>
#include <stdlib.h>

#include "ompi/datatype/array.h"
#include "ompi/datatype/envelope.h"
#include "ompi/file/datarep.h"

typedef struct made {
    const ompi_datatype_t *type;
    ompi_shape_t shape;
} made_t;

/* Invariant: every shape is of the file; less than half of the slots of the hash table are taken.
 */
typedef struct maker {
    const ompi_datarep_t *datarep;
    made_t *slots; /* no type: free */
    const ompi_datatype_t **waiting;
    size_t made_count, slots_count, waiting_count, waiting_capacity;
} maker_t;

/* The slot of a type, or the free one that it would have. */
static made_t *slot_of(const maker_t *maker, const ompi_datatype_t *type)
{
    size_t mask = maker->slots_count - 1;
    size_t i = (size_t)(((uintptr_t)type * UINT64_C(0x9e3779b97f4a7c15)) >> 32) & mask;
    while (maker->slots[i].type != NULL && maker->slots[i].type != type)
        i = (i + 1) & mask;
    return &maker->slots[i];
}

/* NULL: it has not been made. */
static const ompi_shape_t *find(const maker_t *maker, const ompi_datatype_t *type)
{
    const made_t *slot = slot_of(maker, type);
    return slot->type != NULL ? &slot->shape : NULL;
}

/* Makes a table with more slots of the one there is, if it has too few for one more type. */
static int reserve_slot(maker_t *maker)
{
    maker_t more = *maker;
    if (2 * (maker->made_count + 1) < maker->slots_count)
        return MPI_SUCCESS;
    more.slots_count = maker->slots_count > 0 ? 2 * maker->slots_count : 16;
    more.slots = calloc(more.slots_count, sizeof *more.slots);
    if (more.slots == NULL)
        return MPI_ERR_NO_MEM;
    for (size_t i = 0; i < maker->slots_count; i++) {
        if (maker->slots[i].type != NULL)
            *slot_of(&more, maker->slots[i].type) = maker->slots[i];
    }
    free(maker->slots);
    *maker = more;
    return MPI_SUCCESS;
}

static int wait_for(maker_t *maker, const ompi_datatype_t *type)
{
    if (maker->waiting_count == maker->waiting_capacity) {
        size_t more = maker->waiting_capacity > 0 ? 2 * maker->waiting_capacity : 16;
        const ompi_datatype_t **grown = realloc(maker->waiting, more * sizeof *grown);
        if (grown == NULL)
            return MPI_ERR_NO_MEM;
        maker->waiting = grown;
        maker->waiting_capacity = more;
    }
    maker->waiting[maker->waiting_count++] = type;
    return MPI_SUCCESS;
}

/* Elements. */

static int make_element(const ompi_datarep_t *datarep, const ompi_basic_t *basic,
                        ompi_shape_t *shape)
{
    size_t bytes;
    int outcome = ompi_datarep_element_bytes(datarep, basic, &bytes);
    if (outcome == MPI_SUCCESS)
        outcome = ompi_shape_repeat(&ompi_datatype_of(MPI_BYTE)->shape, bytes, 1, shape);
    return outcome;
}

/* A predefined type; of a pair, one element behind the other. */
static int make_predefined(const ompi_datarep_t *datarep, const ompi_datatype_t *type,
                           ompi_shape_t *shape)
{
    const ompi_signature_t *signature = type->shape.signature;
    ompi_shape_t elements[2];
    ompi_shape_join_t join;
    size_t made = 0;
    int outcome = MPI_SUCCESS;
    if (signature->basic != NULL)
        return make_element(datarep, signature->basic, shape);
    ompi_shape_join_begin(&join);
    for (size_t i = 0; i < signature->count && outcome == MPI_SUCCESS; i++) {
        const ompi_signature_part_t *part = &signature->parts[i];
        outcome = make_element(datarep, part->signature->basic, &elements[made]);
        if (outcome == MPI_SUCCESS)
            ompi_shape_join_add(&join, &elements[made++], (MPI_Count)join.bytes,
                                (MPI_Count)part->count);
    }
    int joined = ompi_shape_join_finish(&join, shape);
    if (outcome != MPI_SUCCESS && joined == MPI_SUCCESS)
        ompi_shape_release(shape);
    while (made > 0)
        ompi_shape_release(&elements[--made]);
    return outcome != MPI_SUCCESS ? outcome : joined;
}

/* Constructors. */

/* Argument `i` of a constructor that is no array's: envelopes have counts before addresses, or both
 * as large counts. */
static MPI_Count argument(const ompi_envelope_t *envelope, size_t i)
{
    if (envelope->large_counts > 0)
        return envelope->large_count_list[i];
    return i < envelope->integers ? envelope->integer_list[i]
                                  : envelope->address_list[i - envelope->integers];
}

/* `count` blocks, `stride` times `unit` bytes apart. */
static int make_vector(const ompi_envelope_t *envelope, const ompi_shape_t *old, MPI_Count unit,
                       ompi_shape_t *shape)
{
    ompi_shape_t block;
    MPI_Count stride;
    if (__builtin_mul_overflow(argument(envelope, 2), unit, &stride))
        return MPI_ERR_VALUE_TOO_LARGE;
    int outcome =
        ompi_shape_repeat(old, (size_t)argument(envelope, 1), ompi_shape_extent(old), &block);
    if (outcome == MPI_SUCCESS) {
        outcome = ompi_shape_repeat(&block, (size_t)argument(envelope, 0), stride, shape);
        ompi_shape_release(&block);
    }
    return outcome;
}

/* Blocks at displacements that are multiples of `unit` bytes, of one length or of one each. A
 * structure has a type each. */
static int make_blocks(const maker_t *maker, const ompi_envelope_t *envelope, bool has_lengths,
                       MPI_Count unit, ompi_shape_t *shape)
{
    ompi_shape_join_t join;
    size_t count = (size_t)argument(envelope, 0);
    ompi_shape_join_begin(&join);
    for (size_t i = 0; i < count; i++) {
        size_t member = envelope->combiner == MPI_COMBINER_STRUCT ? i : 0;
        MPI_Count length = argument(envelope, has_lengths ? 1 + i : 1), displacement;
        if (__builtin_mul_overflow(argument(envelope, (has_lengths ? 1 + count : 2) + i), unit,
                                   &displacement))
            join.outcome = MPI_ERR_VALUE_TOO_LARGE;
        else
            ompi_shape_join_add(&join, find(maker, envelope->datatype_list[member]), displacement,
                                length);
    }
    return ompi_shape_join_finish(&join, shape);
}

static int make_resized(const ompi_envelope_t *envelope, const ompi_shape_t *old,
                        ompi_shape_t *shape)
{
    ompi_shape_t made = ompi_shape_copy(old);
    int outcome = ompi_shape_resize(&made, argument(envelope, 0), argument(envelope, 1));
    if (outcome == MPI_SUCCESS)
        *shape = made;
    else
        ompi_shape_release(&made);
    return outcome;
}

/* The list number `i` of `dims` counts of an array, the first of which stands behind `before`
 * integers, or they are large counts. */
static ompi_ints_t counts_of(const ompi_envelope_t *envelope, size_t before, size_t i, size_t dims)
{
    return envelope->large_counts > 0 ? ompi_ints_large(envelope->large_count_list + i * dims)
                                      : ompi_ints_small(envelope->integer_list + before + i * dims);
}

static int make_subarray(const ompi_envelope_t *envelope, const ompi_shape_t *old,
                         ompi_shape_t *shape)
{
    size_t dims = (size_t)envelope->integer_list[0];
    return ompi_array_slice(old, (int)dims, counts_of(envelope, 1, 0, dims),
                            counts_of(envelope, 1, 1, dims), counts_of(envelope, 1, 2, dims),
                            envelope->integer_list[envelope->integers - 1], shape);
}

static int make_darray(const ompi_envelope_t *envelope, const ompi_shape_t *old,
                       ompi_shape_t *shape)
{
    size_t dims = (size_t)envelope->integer_list[2];
    const int *lists = envelope->integer_list + envelope->integers - 1 - 3 * dims;
    ompi_array_deal_t deal = {
        .rank = envelope->integer_list[1],
        .ndims = (int)dims,
        .order = envelope->integer_list[envelope->integers - 1],
        .sizes = counts_of(envelope, 3, 0, dims),
        .distribs = lists,
        .dargs = lists + dims,
        .psizes = lists + 2 * dims,
    };
    return ompi_array_deal(old, &deal, shape);
}

/* A type; what it is made of has been made. */
static int make(const maker_t *maker, const ompi_datatype_t *type, ompi_shape_t *shape)
{
    const ompi_envelope_t *envelope = type->envelope;
    if (type->is_predefined)
        return make_predefined(maker->datarep, type, shape);
    assert(envelope != NULL); /* all others have one */
    const ompi_shape_t *old =
        envelope->datatypes > 0 ? find(maker, envelope->datatype_list[0]) : NULL;
    MPI_Count extent = old != NULL ? ompi_shape_extent(old) : 0;
    switch (envelope->combiner) {
    case MPI_COMBINER_DUP:
        *shape = ompi_shape_copy(old);
        return MPI_SUCCESS;
    case MPI_COMBINER_CONTIGUOUS:
        return ompi_shape_repeat(old, (size_t)argument(envelope, 0), extent, shape);
    case MPI_COMBINER_VECTOR:
        return make_vector(envelope, old, extent, shape);
    case MPI_COMBINER_HVECTOR:
        return make_vector(envelope, old, 1, shape);
    case MPI_COMBINER_INDEXED:
        return make_blocks(maker, envelope, true, extent, shape);
    case MPI_COMBINER_INDEXED_BLOCK:
        return make_blocks(maker, envelope, false, extent, shape);
    case MPI_COMBINER_HINDEXED_BLOCK:
        return make_blocks(maker, envelope, false, 1, shape);
    case MPI_COMBINER_HINDEXED:
    case MPI_COMBINER_STRUCT:
        return make_blocks(maker, envelope, true, 1, shape);
    case MPI_COMBINER_RESIZED:
        return make_resized(envelope, old, shape);
    case MPI_COMBINER_SUBARRAY:
        return make_subarray(envelope, old, shape);
    case MPI_COMBINER_DARRAY:
        return make_darray(envelope, old, shape);
    default:
        return MPI_ERR_CONVERSION;
    }
}

/* Makes the type that waits on top, or lets what it is made of wait above it. */
static int step(maker_t *maker)
{
    const ompi_datatype_t *type = maker->waiting[maker->waiting_count - 1];
    const ompi_envelope_t *envelope = type->is_predefined ? NULL : type->envelope;
    size_t before = maker->waiting_count;
    int outcome = MPI_SUCCESS;
    if (find(maker, type) != NULL) {
        maker->waiting_count--;
        return MPI_SUCCESS;
    }
    for (size_t i = 0; envelope != NULL && i < envelope->datatypes && outcome == MPI_SUCCESS; i++) {
        if (find(maker, envelope->datatype_list[i]) == NULL)
            outcome = wait_for(maker, envelope->datatype_list[i]);
    }
    if (outcome != MPI_SUCCESS || maker->waiting_count > before)
        return outcome;
    ompi_shape_t shape;
    outcome = make(maker, type, &shape);
    if (outcome != MPI_SUCCESS)
        return outcome;
    *slot_of(maker, type) = (made_t){type, shape};
    maker->made_count++;
    maker->waiting_count--;
    return reserve_slot(maker);
}

static int make_shape(const ompi_datarep_t *datarep, const ompi_datatype_t *type,
                      ompi_shape_t *shape)
{
    maker_t maker = {.datarep = datarep};
    int outcome = reserve_slot(&maker);
    if (outcome == MPI_SUCCESS)
        outcome = wait_for(&maker, type);
    while (outcome == MPI_SUCCESS && maker.waiting_count > 0)
        outcome = step(&maker);
    if (outcome == MPI_SUCCESS)
        *shape = ompi_shape_copy(find(&maker, type));
    for (size_t i = 0; i < maker.slots_count; i++) {
        if (maker.slots[i].type != NULL)
            ompi_shape_release(&maker.slots[i].shape);
    }
    free(maker.slots);
    free(maker.waiting);
    return outcome;
}

int ompi_datarep_layout(const ompi_datarep_t *datarep, ompi_datatype_t *type,
                        ompi_datatype_t **layout)
{
    ompi_shape_t shape;
    if (ompi_datarep_is_native(datarep)) {
        ompi_datatype_retain(type);
        *layout = type;
        return MPI_SUCCESS;
    }
    int outcome = make_shape(datarep, type, &shape);
    if (outcome != MPI_SUCCESS)
        return outcome;
    ompi_datatype_t *made = ompi_datatype_create(&shape, NULL);
    if (made == NULL)
        return MPI_ERR_NO_MEM;
    *layout = made;
    return MPI_SUCCESS;
}

int ompi_datarep_extent(const ompi_datarep_t *datarep, ompi_datatype_t *type, MPI_Count *extent)
{
    ompi_datatype_t *layout;
    int outcome = ompi_datarep_layout(datarep, type, &layout);
    if (outcome != MPI_SUCCESS)
        return outcome;
    *extent = ompi_datatype_extent(layout);
    ompi_datatype_release(layout);
    return MPI_SUCCESS;
}
