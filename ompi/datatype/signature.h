/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Type signatures: which predefined elements a datatype has, in their order, wherever they lie.
 *
 * A signature is either one element of a predefined type or a sequence of parts, each a signature
 * and how often it comes. Only structures of different types need more than one part, so that a
 * signature is small however large its type is.
 *
 * No signature is deep, as no layout is (layout.h): a long chain of them is made shorter.
 *
 * Signatures count elements (MPI_Get_elements), say how to convert (external32), and are compared
 * by a hash that does not depend on how the sequence was put together.
 *
 * Threading: any. Signatures are immutable, references are counted atomically.
 */
#ifndef OMPI_SIGNATURE_H
#define OMPI_SIGNATURE_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "opal/include/compiler.h"

/* How a number looks in external32: big-endian, of a size of its own. */
typedef enum ompi_format {
    OMPI_FORMAT_INTEGER,     /* a longer one loses its upper bytes, a shorter one gets signs */
    OMPI_FORMAT_UNSIGNED,    /* a longer one loses its upper bytes, a shorter one gets zeros */
    OMPI_FORMAT_FLOAT,       /* IEEE 754 of the same size */
    OMPI_FORMAT_LONG_DOUBLE, /* becomes IEEE 754 binary128 */
} ompi_format_t;

/* An element: one number, or two for a complex one. */
typedef struct ompi_basic {
    ompi_format_t format;
    unsigned numbers, bytes, external_bytes; /* the bytes are those of a number */
} ompi_basic_t;

typedef struct ompi_signature ompi_signature_t;

typedef struct ompi_signature_part {
    ompi_signature_t *signature;
    size_t count;
    size_t bytes_before, elements_before; /* of the sequence, in front of this part */
} ompi_signature_part_t;

struct ompi_signature {
    atomic_size_t references;
    const ompi_basic_t *basic; /* it is one such element; NULL: a sequence */
    size_t bytes, elements, external_bytes;
    uint64_t hash;
    unsigned depth;               /* of the parts below; 0: one element */
    size_t count;                 /* of the sequence */
    ompi_signature_part_t *parts; /* [count] */
    ompi_signature_t *next_dead;  /* while it ends */
};

/* The signature without elements. */
extern ompi_signature_t ompi_signature_empty;

/* Makes `signature` that of one element; `id` is different for each predefined type. For static
 * storage: the first reference is never released. */
void ompi_signature_init(ompi_signature_t *signature, const ompi_basic_t *basic, unsigned id);

ompi_signature_t *ompi_signature_retain(ompi_signature_t *signature);
void ompi_signature_release(ompi_signature_t *signature); /* may be NULL */

/* `count` times the signature, whose bytes the caller has found to be countable. NULL: no memory.
 */
OPAL_EXPORT ompi_signature_t *ompi_signature_repeat(ompi_signature_t *signature, size_t count);

/* The hash of `count` times the signature: equal for equal sequences, however they were made. */
uint64_t ompi_signature_hash(const ompi_signature_t *signature, size_t count);

/* The hash of the first `elements` of the signature, repeated as often as needed. */
uint64_t ompi_signature_prefix_hash(const ompi_signature_t *signature, size_t elements);

/* Concatenation of signatures. {0} is an empty list. */
typedef struct ompi_signature_list {
    ompi_signature_part_t *parts;
    size_t count, capacity;
    bool no_memory;
} ompi_signature_list_t;

void ompi_signature_list_add(ompi_signature_list_t *list, ompi_signature_t *signature,
                             size_t count);
ompi_signature_t *ompi_signature_list_finish(ompi_signature_list_t *list);
void ompi_signature_list_discard(ompi_signature_list_t *list);

/*
 * Counts the elements in the first `bytes` of repeated data of that signature. false: the last of
 * them is not complete, or the signature has no elements and there are bytes.
 */
bool ompi_signature_elements(const ompi_signature_t *signature, size_t bytes, size_t *elements);

/* The inverse: the bytes of the first `elements`. false: it has no elements, or too many bytes. */
bool ompi_signature_bytes(const ompi_signature_t *signature, size_t elements, size_t *bytes);

#endif
