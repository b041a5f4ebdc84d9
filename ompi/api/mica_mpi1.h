/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What MPI 3.0 has removed, for old programs: mpi.h includes this with -DMICA_MPI1. All of it is
 * made of functions of today, so that a program runs on any library with the standard's ABI.
 *
 * The markers MPI_LB and MPI_UB are types for MPI_Type_struct and MPI_Type_create_struct alone.
 * These compute the bounds by the rules of MPI-1 and make a resized type of them:
 *
 * - A bound is where its outermost marker is, in the struct or in a part of it, whatever else there
 *   is. The other bound is not affected.
 * - A bound without a marker is where the data begins or ends; an upper one is rounded up, so that
 *   the extent is a multiple of the largest alignment.
 *
 * Today's resized types have both bounds set. One that was made of markers on one side is therefore
 * resized twice, first to what no program asks for, by which it is recognized as a part of others.
 */
#ifndef MICA_MPI1_H_INCLUDED
#define MICA_MPI1_H_INCLUDED

#include <stddef.h>
#include <stdlib.h>

/* No type of the standard has these numbers, and no library ever sees them. */
#define MPI_LB ((MPI_Datatype)0x000002fe)
#define MPI_UB ((MPI_Datatype)0x000002ff)

/* No type has these. */
#define MPI_COMBINER_HVECTOR_INTEGER  1105
#define MPI_COMBINER_HINDEXED_INTEGER 1107
#define MPI_COMBINER_STRUCT_INTEGER   1110

typedef MPI_Comm_errhandler_function MPI_Handler_function;

#ifdef __cplusplus
extern "C" {
#endif

/* -- what a type is made of ---------------------------------------------------------------- */

typedef struct mica_mpi1_parts {
    int combiner, integer_count, address_count, type_count;
    int *integers;
    MPI_Aint *addresses;
    MPI_Datatype *types;
} mica_mpi1_parts_t;

/* A type that has no parts is not freed. */
static __inline__ int mica_mpi1_is_named(int combiner)
{
    return combiner == MPI_COMBINER_NAMED || combiner == MPI_COMBINER_VALUE_INDEX ||
           combiner == MPI_COMBINER_F90_REAL || combiner == MPI_COMBINER_F90_COMPLEX ||
           combiner == MPI_COMBINER_F90_INTEGER;
}

static __inline__ void mica_mpi1_close(mica_mpi1_parts_t *parts)
{
    int i, integers, addresses, types, combiner;
    for (i = 0; i < parts->type_count; i++)
        if (MPI_Type_get_envelope(parts->types[i], &integers, &addresses, &types, &combiner) ==
                MPI_SUCCESS &&
            !mica_mpi1_is_named(combiner))
            MPI_Type_free(&parts->types[i]);
    free(parts->integers);
    free(parts->addresses);
    free(parts->types);
}

/* Of a named type there are no parts. If it succeeds, mica_mpi1_close gives back what it took. */
static __inline__ int mica_mpi1_open(MPI_Datatype type, mica_mpi1_parts_t *parts)
{
    int error = MPI_Type_get_envelope(type, &parts->integer_count, &parts->address_count,
                                      &parts->type_count, &parts->combiner);
    if (error != MPI_SUCCESS)
        return error;
    if (mica_mpi1_is_named(parts->combiner))
        parts->integer_count = parts->address_count = parts->type_count = 0;
    parts->integers = (int *)malloc(((size_t)parts->integer_count + 1) * sizeof(int));
    parts->addresses = (MPI_Aint *)malloc(((size_t)parts->address_count + 1) * sizeof(MPI_Aint));
    parts->types = (MPI_Datatype *)malloc(((size_t)parts->type_count + 1) * sizeof(MPI_Datatype));
    if (parts->integers == NULL || parts->addresses == NULL || parts->types == NULL)
        error = MPI_ERR_NO_MEM;
    else if (parts->type_count > 0)
        error = MPI_Type_get_contents(type, parts->integer_count, parts->address_count,
                                      parts->type_count, parts->integers, parts->addresses,
                                      parts->types);
    if (error != MPI_SUCCESS) {
        parts->type_count = 0;
        mica_mpi1_close(parts);
    }
    return error;
}

/* Whether there is a copy of a part at all. */
static __inline__ int mica_mpi1_has_part(const mica_mpi1_parts_t *parts, int part)
{
    int i;
    switch (parts->combiner) {
    case MPI_COMBINER_CONTIGUOUS:
        return parts->integers[0] > 0;
    case MPI_COMBINER_VECTOR:
    case MPI_COMBINER_HVECTOR:
    case MPI_COMBINER_INDEXED_BLOCK:
    case MPI_COMBINER_HINDEXED_BLOCK:
        return parts->integers[0] > 0 && parts->integers[1] > 0;
    case MPI_COMBINER_INDEXED:
    case MPI_COMBINER_HINDEXED:
        for (i = 1; i <= parts->integers[0]; i++)
            if (parts->integers[i] > 0)
                return 1;
        return 0;
    case MPI_COMBINER_STRUCT:
        return parts->integers[1 + part] > 0;
    default:
        return 1;
    }
}

/* -- bounds -------------------------------------------------------------------------------- */

/* A type on its way to the real extent: its first lower bound, and as extent which side is set. */
enum { MICA_MPI1_ONE_SIDED = 0x4d504931, MICA_MPI1_ONLY_LB = 1, MICA_MPI1_ONLY_UB = 2 };

typedef struct mica_mpi1_bounds {
    int has_lb, has_ub; /* by a marker */
    MPI_Aint lb, ub;
} mica_mpi1_bounds_t;

static __inline__ void mica_mpi1_mark_lb(mica_mpi1_bounds_t *bounds, MPI_Aint at)
{
    if (!bounds->has_lb || at < bounds->lb)
        bounds->lb = at;
    bounds->has_lb = 1;
}

static __inline__ void mica_mpi1_mark_ub(mica_mpi1_bounds_t *bounds, MPI_Aint at)
{
    if (!bounds->has_ub || at > bounds->ub)
        bounds->ub = at;
    bounds->has_ub = 1;
}

/* Which bounds of a resized type are set: 0 stands for both. */
static __inline__ int mica_mpi1_side(MPI_Datatype inner, int *side)
{
    mica_mpi1_parts_t parts;
    int error = mica_mpi1_open(inner, &parts);
    if (error != MPI_SUCCESS)
        return error;
    *side = parts.combiner == MPI_COMBINER_RESIZED && parts.addresses[0] == MICA_MPI1_ONE_SIDED
                ? (int)parts.addresses[1]
                : 0;
    mica_mpi1_close(&parts);
    return MPI_SUCCESS;
}

/* Finds out which bounds of a type were set by markers, in it or in its parts. */
static __inline__ int mica_mpi1_find_markers(MPI_Datatype type, int *has_lb, int *has_ub)
{
    mica_mpi1_parts_t parts;
    int i, side = 0, error = mica_mpi1_open(type, &parts);
    if (error != MPI_SUCCESS)
        return error;
    if (parts.combiner == MPI_COMBINER_RESIZED)
        error = mica_mpi1_side(parts.types[0], &side);
    if (parts.combiner == MPI_COMBINER_RESIZED || parts.combiner == MPI_COMBINER_SUBARRAY ||
        parts.combiner == MPI_COMBINER_DARRAY) {
        *has_lb |= side != MICA_MPI1_ONLY_UB;
        *has_ub |= side != MICA_MPI1_ONLY_LB;
    } else {
        for (i = 0; i < parts.type_count && error == MPI_SUCCESS; i++)
            if (mica_mpi1_has_part(&parts, i))
                error = mica_mpi1_find_markers(parts.types[i], has_lb, has_ub);
    }
    mica_mpi1_close(&parts);
    return error;
}

/* Takes the markers of `length` copies of a type, the first at displacement, into the bounds. */
static __inline__ int mica_mpi1_inherit(mica_mpi1_bounds_t *bounds, MPI_Datatype type, int length,
                                        MPI_Aint displacement)
{
    int has_lb = 0, has_ub = 0, error = mica_mpi1_find_markers(type, &has_lb, &has_ub);
    MPI_Aint lb, extent, span;
    if (error == MPI_SUCCESS)
        error = MPI_Type_get_extent(type, &lb, &extent);
    if (error != MPI_SUCCESS)
        return error;
    lb += displacement;
    span = (length - 1) * extent;
    if (has_lb)
        mica_mpi1_mark_lb(bounds, span < 0 ? lb + span : lb);
    if (has_ub)
        mica_mpi1_mark_ub(bounds, span > 0 ? lb + extent + span : lb + extent);
    return MPI_SUCCESS;
}

/* The alignment of a named type: a struct of it and a byte is rounded up to twice that. */
static __inline__ int mica_mpi1_named_alignment(MPI_Datatype type, MPI_Aint *alignment)
{
    const int lengths[2] = {1, 1};
    MPI_Aint displacements[2] = {0, 0}, lb, extent, padded;
    MPI_Datatype types[2] = {MPI_DATATYPE_NULL, MPI_BYTE}, probe;
    int error = MPI_Type_get_extent(type, &lb, &extent);
    if (error != MPI_SUCCESS)
        return error;
    types[0] = type;
    displacements[1] = extent;
    error = MPI_Type_create_struct(2, lengths, displacements, types, &probe);
    if (error != MPI_SUCCESS)
        return error;
    error = MPI_Type_get_extent(probe, &lb, &padded);
    if (error == MPI_SUCCESS && padded - extent > *alignment)
        *alignment = padded - extent;
    MPI_Type_free(&probe);
    return error;
}

/* The largest alignment of what a type is made of. */
static __inline__ int mica_mpi1_alignment(MPI_Datatype type, MPI_Aint *alignment)
{
    mica_mpi1_parts_t parts;
    int i, error = mica_mpi1_open(type, &parts);
    if (error != MPI_SUCCESS)
        return error;
    if (mica_mpi1_is_named(parts.combiner))
        error = mica_mpi1_named_alignment(type, alignment);
    for (i = 0; i < parts.type_count && error == MPI_SUCCESS; i++)
        if (mica_mpi1_has_part(&parts, i))
            error = mica_mpi1_alignment(parts.types[i], alignment);
    mica_mpi1_close(&parts);
    return error;
}

/* Sets the bound that has no marker, by the data. */
static __inline__ int mica_mpi1_settle(MPI_Datatype type, mica_mpi1_bounds_t *bounds)
{
    MPI_Aint lb, extent, alignment = 1, beyond;
    int error = MPI_Type_get_true_extent(type, &lb, &extent);
    if (error == MPI_SUCCESS && !bounds->has_ub)
        error = mica_mpi1_alignment(type, &alignment);
    if (error != MPI_SUCCESS)
        return error;
    if (!bounds->has_lb)
        bounds->lb = lb;
    if (!bounds->has_ub) {
        bounds->ub = lb + extent;
        beyond = (bounds->ub - bounds->lb) % alignment;
        if (beyond != 0)
            bounds->ub += beyond > 0 ? alignment - beyond : -beyond;
    }
    return MPI_SUCCESS;
}

/* Replaces a type by one with the bounds. */
static __inline__ int mica_mpi1_resize(MPI_Datatype *type, mica_mpi1_bounds_t bounds)
{
    MPI_Datatype between = *type, resized = MPI_DATATYPE_NULL;
    int error = mica_mpi1_settle(*type, &bounds);
    if (error == MPI_SUCCESS && bounds.has_lb != bounds.has_ub)
        error = MPI_Type_create_resized(*type, MICA_MPI1_ONE_SIDED,
                                        bounds.has_lb ? MICA_MPI1_ONLY_LB : MICA_MPI1_ONLY_UB,
                                        &between);
    if (error == MPI_SUCCESS)
        error = MPI_Type_create_resized(between, bounds.lb, bounds.ub - bounds.lb, &resized);
    if (between != *type && between != MPI_DATATYPE_NULL)
        MPI_Type_free(&between);
    MPI_Type_free(type);
    *type = resized;
    return error;
}

/* -- structs ------------------------------------------------------------------------------- */

/* The entries of a struct that are no markers; these go into the bounds. */
typedef struct mica_mpi1_entries {
    int count, *lengths;
    MPI_Aint *displacements;
    MPI_Datatype *types;
    mica_mpi1_bounds_t bounds;
} mica_mpi1_entries_t;

static __inline__ int mica_mpi1_add_entry(mica_mpi1_entries_t *entries, int length,
                                          MPI_Aint displacement, MPI_Datatype type)
{
    if (type == MPI_LB || type == MPI_UB) {
        if (length > 0 && type == MPI_LB)
            mica_mpi1_mark_lb(&entries->bounds, displacement);
        else if (length > 0)
            mica_mpi1_mark_ub(&entries->bounds, displacement);
        return MPI_SUCCESS;
    }
    entries->lengths[entries->count] = length;
    entries->displacements[entries->count] = displacement;
    entries->types[entries->count++] = type;
    return length > 0 ? mica_mpi1_inherit(&entries->bounds, type, length, displacement)
                      : MPI_SUCCESS;
}

static __inline__ int MPI_Type_struct(int count, const int array_of_blocklengths[],
                                      const MPI_Aint array_of_displacements[],
                                      const MPI_Datatype array_of_types[], MPI_Datatype *newtype)
{
    mica_mpi1_entries_t entries = {0, NULL, NULL, NULL, {0, 0, 0, 0}};
    int i, error = MPI_SUCCESS;
    if (count <= 0 || array_of_blocklengths == NULL || array_of_displacements == NULL ||
        array_of_types == NULL || newtype == NULL) /* the library says what is wrong */
        return MPI_Type_create_struct(count, array_of_blocklengths, array_of_displacements,
                                      array_of_types, newtype);
    entries.lengths = (int *)malloc((size_t)count * sizeof(int));
    entries.displacements = (MPI_Aint *)malloc((size_t)count * sizeof(MPI_Aint));
    entries.types = (MPI_Datatype *)malloc((size_t)count * sizeof(MPI_Datatype));
    if (entries.lengths == NULL || entries.displacements == NULL || entries.types == NULL)
        error = MPI_ERR_NO_MEM;
    for (i = 0; i < count && error == MPI_SUCCESS; i++)
        error = mica_mpi1_add_entry(&entries, array_of_blocklengths[i], array_of_displacements[i],
                                    array_of_types[i]);
    if (error == MPI_SUCCESS)
        error = MPI_Type_create_struct(entries.count, entries.lengths, entries.displacements,
                                       entries.types, newtype);
    if (error == MPI_SUCCESS && (entries.bounds.has_lb || entries.bounds.has_ub))
        error = mica_mpi1_resize(newtype, entries.bounds);
    free(entries.lengths);
    free(entries.displacements);
    free(entries.types);
    return error;
}

/* -- other names of today's functions ------------------------------------------------------ */

static __inline__ int MPI_Address(const void *location, MPI_Aint *address)
{
    return MPI_Get_address(location, address);
}

static __inline__ int MPI_Type_hvector(int count, int blocklength, MPI_Aint stride,
                                       MPI_Datatype oldtype, MPI_Datatype *newtype)
{
    return MPI_Type_create_hvector(count, blocklength, stride, oldtype, newtype);
}

static __inline__ int MPI_Type_hindexed(int count, const int array_of_blocklengths[],
                                        const MPI_Aint array_of_displacements[],
                                        MPI_Datatype oldtype, MPI_Datatype *newtype)
{
    return MPI_Type_create_hindexed(count, array_of_blocklengths, array_of_displacements, oldtype,
                                    newtype);
}

static __inline__ int MPI_Type_extent(MPI_Datatype datatype, MPI_Aint *extent)
{
    MPI_Aint lb;
    return MPI_Type_get_extent(datatype, &lb, extent);
}

static __inline__ int MPI_Type_lb(MPI_Datatype datatype, MPI_Aint *displacement)
{
    MPI_Aint extent;
    return MPI_Type_get_extent(datatype, displacement, &extent);
}

static __inline__ int MPI_Type_ub(MPI_Datatype datatype, MPI_Aint *displacement)
{
    MPI_Aint extent;
    int error = MPI_Type_get_extent(datatype, displacement, &extent);
    if (error == MPI_SUCCESS)
        *displacement += extent;
    return error;
}

static __inline__ int MPI_Errhandler_create(MPI_Handler_function *function,
                                            MPI_Errhandler *errhandler)
{
    return MPI_Comm_create_errhandler(function, errhandler);
}

static __inline__ int MPI_Errhandler_set(MPI_Comm comm, MPI_Errhandler errhandler)
{
    return MPI_Comm_set_errhandler(comm, errhandler);
}

static __inline__ int MPI_Errhandler_get(MPI_Comm comm, MPI_Errhandler *errhandler)
{
    return MPI_Comm_get_errhandler(comm, errhandler);
}

/* MPI-2 had the markers still, with the new name of the function. */
#define MPI_Type_create_struct MPI_Type_struct

#ifdef __cplusplus
}
#endif

#endif
