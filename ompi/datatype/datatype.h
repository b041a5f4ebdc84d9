/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Datatypes: what the rest of the library sees of them.
 *
 *   - objects: predefined ones, made ones, references;
 *   - properties: size, bounds, whether the data is one run, its element;
 *   - moving data: between a user's buffer of `count` elements and its packed form, from any byte
 *     of the packed form on, so that a message can be cut anywhere.
 *
 * Positions and lengths are bytes of the packed form, 0 <= position <= size * count. A buffer is
 * the user's address: data begins at buffer + true_lb. It may be MPI_BOTTOM if the type has
 * absolute addresses.
 *
 * Threading: any. Only the name of a datatype and its committed flag change. Moving data allocates
 * nothing and takes no lock. A caller that keeps a type beyond a call retains it.
 */
#ifndef OMPI_DATATYPE_H
#define OMPI_DATATYPE_H

#include <sys/uio.h>

#include "opal/arch/copy.h"
#include "opal/include/compiler.h"
#include "ompi/datatype/shape.h"
#include "ompi/handle/handle.h"
#include "ompi/object/object.h"

struct ompi_envelope;

typedef struct ompi_datatype {
    ompi_object_t head;
    atomic_bool is_committed;
    bool is_predefined;
    size_t run; /* bytes of an element, if the data of any number of them is one run; 0: it is not,
                   or there is none */
    ompi_shape_t shape;             /* see ompi_datatype_set_shape */
    struct ompi_envelope *envelope; /* how it was made; NULL: predefined, with a name */
    const char *predefined_name;    /* "MPI_INT"; NULL: none */
    char *name;                     /* the user's; NULL: the predefined one. Lock of datatype.c */
} ompi_datatype_t;

/* Objects. */

/* Defines the predefined types. MPI_ERR_NO_MEM: none is defined. */
int ompi_datatype_init(void);
void ompi_datatype_fini(void);

/* The predefined type of a handle, for example MPI_INT. */
static inline ompi_datatype_t *ompi_datatype_of(MPI_Datatype handle)
{
    return (ompi_datatype_t *)ompi_handle_predefined[(uintptr_t)handle];
}

/* A new type, not committed, with one reference. Takes the shape and the envelope, also if it
 * returns NULL for want of memory. */
OPAL_EXPORT ompi_datatype_t *ompi_datatype_create(ompi_shape_t *shape,
                                                  struct ompi_envelope *envelope);

static inline void ompi_datatype_retain(ompi_datatype_t *type)
{
    ompi_object_retain(&type->head);
}

static inline void ompi_datatype_release(ompi_datatype_t *type)
{
    ompi_object_release(&type->head);
}

void ompi_datatype_set_shape(ompi_datatype_t *type, const ompi_shape_t *shape);
OPAL_EXPORT void ompi_datatype_commit(ompi_datatype_t *type);

/* Copies at most MPI_MAX_OBJECT_NAME bytes with the final 0; longer names are cut. */
int ompi_datatype_set_name(ompi_datatype_t *type, const char *name);
void ompi_datatype_get_name(const ompi_datatype_t *type, char name[MPI_MAX_OBJECT_NAME]);

/* For the argument checks; safe for any object that a handle led to. An optional predefined type
 * that this compiler lacks is a type for MPI_Type_size only. */
static inline bool ompi_datatype_is_type(const ompi_datatype_t *type)
{
    return ompi_object_is(type, OMPI_DATATYPE) && type->shape.layout != NULL;
}

static inline bool ompi_datatype_is_committed(const ompi_datatype_t *type)
{
    return ompi_object_is(type, OMPI_DATATYPE) &&
           atomic_load_explicit(&type->is_committed, memory_order_relaxed);
}

/* Properties. */

static inline size_t ompi_datatype_size(const ompi_datatype_t *type)
{
    return type->shape.layout->bytes;
}

static inline MPI_Count ompi_datatype_lb(const ompi_datatype_t *type)
{
    return type->shape.bounds.lb;
}

static inline MPI_Count ompi_datatype_extent(const ompi_datatype_t *type)
{
    return ompi_shape_extent(&type->shape);
}

static inline MPI_Count ompi_datatype_true_lb(const ompi_datatype_t *type)
{
    return type->shape.bounds.true_lb;
}

static inline MPI_Count ompi_datatype_true_extent(const ompi_datatype_t *type)
{
    return type->shape.bounds.true_ub - type->shape.bounds.true_lb;
}

/* The bytes of `count` elements when packed; SIZE_MAX if that is more than can be counted. */
static inline size_t ompi_datatype_bytes(const ompi_datatype_t *type, size_t count)
{
    size_t bytes;
    return __builtin_mul_overflow(ompi_datatype_size(type), count, &bytes) ? SIZE_MAX : bytes;
}

/* The bytes from the first to the last that `count` >= 1 elements occupy in memory. */
static inline MPI_Count ompi_datatype_span(const ompi_datatype_t *type, size_t count)
{
    MPI_Count apart = (MPI_Count)(count - 1) * ompi_datatype_extent(type);
    return ompi_datatype_true_extent(type) + (apart < 0 ? -apart : apart);
}

/* Whether one element's data is one run of bytes in the order in which it is packed. */
static inline bool ompi_datatype_is_run(const ompi_datatype_t *type)
{
    return type->shape.layout->kind == OMPI_LAYOUT_RUN;
}

/* Whether the data of any number of elements is one run, which begins at buffer + true_lb. */
static inline bool ompi_datatype_is_contiguous(const ompi_datatype_t *type)
{
    return type->run != 0 || ompi_datatype_size(type) == 0;
}

/* Whether the data is one run, for short paths: false if it has none, or too much. */
static inline bool ompi_datatype_run_bytes(const ompi_datatype_t *type, size_t count, size_t *bytes)
{
    return type->run != 0 && !__builtin_mul_overflow(type->run, count, bytes);
}

/* The predefined type that the type repeats (MPI_FLOAT_INT counts as one); NULL: the type has
 * several, or no data. */
static inline ompi_datatype_t *ompi_datatype_element(const ompi_datatype_t *type)
{
    return type->shape.element;
}

/* The number of elements of predefined types, a pair counting as two; and a hash of their sequence:
 * two different sequences have equal hashes with a chance of 2^-64. */
static inline size_t ompi_datatype_elements(const ompi_datatype_t *type)
{
    return type->shape.signature->elements;
}

static inline uint64_t ompi_datatype_signature_hash(const ompi_datatype_t *type)
{
    return type->shape.signature->hash;
}

/* Moving data. */

/* Where the layout begins; of a run, its data. A number, because MPI_BOTTOM is no address to count
 * from. */
static inline uintptr_t ompi_datatype_origin(const ompi_datatype_t *type, const void *buffer)
{
    return (uintptr_t)buffer + (uintptr_t)type->shape.origin;
}

/* For types that are no run. */
OPAL_EXPORT size_t ompi_datatype_pack_pieces(const ompi_datatype_t *type, size_t count,
                                             const void *buffer, size_t from, void *packed,
                                             size_t length);
OPAL_EXPORT size_t ompi_datatype_unpack_pieces(const ompi_datatype_t *type, size_t count,
                                               void *buffer, size_t from, const void *packed,
                                               size_t length);

/* The length of the part of [from, from + length) that lies below `bytes`. */
static inline size_t ompi_datatype_clamp(size_t bytes, size_t from, size_t length)
{
    return from >= bytes ? 0 : bytes - from < length ? bytes - from : length;
}

/*
 * Copies the bytes [from, from + length) of the packed form of `count` elements to `packed`, or
 * fewer where it ends. Returns how many.
 */
static inline size_t ompi_datatype_pack(const ompi_datatype_t *type, size_t count,
                                        const void *buffer, size_t from, void *packed,
                                        size_t length)
{
    if (opal_unlikely(!ompi_datatype_is_contiguous(type)))
        return ompi_datatype_pack_pieces(type, count, buffer, from, packed, length);
    length = ompi_datatype_clamp(ompi_datatype_bytes(type, count), from, length);
    opal_copy(packed, (const void *)(ompi_datatype_origin(type, buffer) + from), length);
    return length;
}

/* The other direction. Bytes outside of the given range are not written. */
static inline size_t ompi_datatype_unpack(const ompi_datatype_t *type, size_t count, void *buffer,
                                          size_t from, const void *packed, size_t length)
{
    if (opal_unlikely(!ompi_datatype_is_contiguous(type)))
        return ompi_datatype_unpack_pieces(type, count, buffer, from, packed, length);
    length = ompi_datatype_clamp(ompi_datatype_bytes(type, count), from, length);
    opal_copy((void *)(ompi_datatype_origin(type, buffer) + from), packed, length);
    return length;
}

/*
 * Lists where the data lies, from the byte `from` on, in the order of packing: writes at most `max`
 * segments; adjacent ones are merged. *bytes is their total. Returns the number of segments.
 */
OPAL_EXPORT size_t ompi_datatype_segments(const ompi_datatype_t *type, size_t count,
                                          const void *buffer, size_t from, struct iovec *segments,
                                          size_t max, size_t *bytes);

/* Copies from one layout to another until one of them ends; they do not overlap. Returns the bytes.
 */
OPAL_EXPORT size_t ompi_datatype_copy(const ompi_datatype_t *source_type, size_t source_count,
                                      const void *source, const ompi_datatype_t *target_type,
                                      size_t target_count, void *target);

#endif
