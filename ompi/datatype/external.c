/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Conversion to and from external32.
 *
 * The signature gives, in the order of packing, rows of equal elements. A row is taken out of the
 * layout in chunks, by packing, and converted number by number; unpacking goes the other way. What
 * lies outside of a range of elements is skipped, all repetitions of a signature in one step.
 */
#include "ompi/datatype/external.h"

#include <string.h>

enum { CHUNK_BYTES = 4096, NUMBER_MAX_BYTES = 16 };

#if __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__
static const bool is_little_endian = true;
#else
static const bool is_little_endian = false;
#endif

/* On one side, where the other is. */
typedef struct conversion {
    const ompi_datatype_t *type;
    size_t count;
    void *buffer;
    size_t position; /* in the packed form */
    char *external;
    size_t skip, left; /* elements up to the range, elements of the range */
    bool is_unpack;
} conversion_t;

/* Native to big-endian and back. */
static void copy_swapped(char *to, const char *from, size_t bytes)
{
    for (size_t i = 0; i < bytes; i++)
        to[i] = from[is_little_endian ? bytes - 1 - i : i];
}

/* An integer of another size, both big-endian. */
static void resize_integer(char *to, size_t to_bytes, const char *from, size_t from_bytes,
                           bool is_signed)
{
    size_t common = to_bytes < from_bytes ? to_bytes : from_bytes;
    bool is_negative = is_signed && (from[0] & 0x80) != 0;
    memset(to, is_negative ? 0xff : 0, to_bytes - common);
    memcpy(to + to_bytes - common, from + from_bytes - common, common);
}

/*
 * A long double is binary128 here already, or there is a type that is, or it is no more than a
 * double.
 */
#if __LDBL_MANT_DIG__ != 113 && defined __SIZEOF_FLOAT128__
typedef __float128 binary128_t;
#else
typedef long double binary128_t;
#endif
_Static_assert(sizeof(binary128_t) == NUMBER_MAX_BYTES,
               "external32 has 16 bytes for a long double");

static void number_to_external(const ompi_basic_t *basic, char *external, const char *native)
{
    char big[NUMBER_MAX_BYTES];
    if (basic->format == OMPI_FORMAT_LONG_DOUBLE) {
        long double value;
        memcpy(&value, native, sizeof value);
        binary128_t quad = value;
        copy_swapped(external, (const char *)&quad, sizeof quad);
    } else if (basic->bytes == basic->external_bytes) {
        copy_swapped(external, native, basic->bytes);
    } else {
        copy_swapped(big, native, basic->bytes);
        resize_integer(external, basic->external_bytes, big, basic->bytes,
                       basic->format == OMPI_FORMAT_INTEGER);
    }
}

static void number_from_external(const ompi_basic_t *basic, char *native, const char *external)
{
    char big[NUMBER_MAX_BYTES];
    if (basic->format == OMPI_FORMAT_LONG_DOUBLE) {
        binary128_t quad;
        copy_swapped((char *)&quad, external, sizeof quad);
        long double value = (long double)quad;
        memset(native, 0, basic->bytes); /* a part of it may be padding */
        memcpy(native, &value, sizeof value);
    } else if (basic->bytes == basic->external_bytes) {
        copy_swapped(native, external, basic->bytes);
    } else {
        resize_integer(big, basic->bytes, external, basic->external_bytes,
                       basic->format == OMPI_FORMAT_INTEGER);
        copy_swapped(native, big, basic->bytes);
    }
}

static void convert_numbers(conversion_t *conversion, const ompi_basic_t *basic, char *native,
                            size_t numbers)
{
    for (size_t i = 0; i < numbers; i++) {
        if (conversion->is_unpack)
            number_from_external(basic, native, conversion->external);
        else
            number_to_external(basic, conversion->external, native);
        native += basic->bytes;
        conversion->external += basic->external_bytes;
    }
}

/* `count` elements of one type. */
static void convert_row(conversion_t *conversion, const ompi_basic_t *basic, size_t count)
{
    _Alignas(NUMBER_MAX_BYTES) char chunk[CHUNK_BYTES];
    size_t rest = count * basic->numbers;
    while (rest > 0) {
        size_t numbers = sizeof chunk / basic->bytes;
        if (numbers > rest)
            numbers = rest;
        size_t bytes = numbers * basic->bytes;
        if (!conversion->is_unpack)
            ompi_datatype_pack(conversion->type, conversion->count, conversion->buffer,
                               conversion->position, chunk, bytes);
        convert_numbers(conversion, basic, chunk, numbers);
        if (conversion->is_unpack)
            ompi_datatype_unpack(conversion->type, conversion->count, conversion->buffer,
                                 conversion->position, chunk, bytes);
        conversion->position += bytes;
        rest -= numbers;
    }
}

static void convert(conversion_t *conversion, const ompi_signature_t *signature, size_t count)
{
    if (conversion->left == 0 || signature->elements == 0)
        return;
    size_t skipped = conversion->skip / signature->elements;
    skipped = skipped < count ? skipped : count;
    conversion->skip -= skipped * signature->elements;
    count -= skipped;
    if (signature->basic != NULL) {
        count = count < conversion->left ? count : conversion->left;
        conversion->left -= count;
        convert_row(conversion, signature->basic, count);
        return;
    }
    if (signature->count == 1) {
        convert(conversion, signature->parts[0].signature, count * signature->parts[0].count);
        return;
    }
    for (size_t i = 0; i < count && conversion->left > 0; i++) {
        for (size_t j = 0; j < signature->count; j++)
            convert(conversion, signature->parts[j].signature, signature->parts[j].count);
    }
}

/* The packed bytes in front of the range are those of `from` elements, of which there are so many.
 */
static void convert_range(conversion_t *conversion, size_t from, size_t elements)
{
    const ompi_signature_t *signature = conversion->type->shape.signature;
    if (!ompi_signature_bytes(signature, from, &conversion->position))
        return; /* there is no data */
    conversion->skip = from;
    conversion->left = elements;
    convert(conversion, signature, conversion->count);
}

size_t ompi_external_bytes(const ompi_datatype_t *type, size_t count)
{
    size_t bytes;
    return __builtin_mul_overflow(type->shape.signature->external_bytes, count, &bytes) ? SIZE_MAX
                                                                                        : bytes;
}

void ompi_external_pack_elements(const ompi_datatype_t *type, size_t count, const void *buffer,
                                 size_t from, size_t elements, void *external)
{
    conversion_t conversion = {
        .type = type, .count = count, .buffer = (void *)buffer, .external = external};
    convert_range(&conversion, from, elements);
}

void ompi_external_unpack_elements(const ompi_datatype_t *type, size_t count, void *buffer,
                                   size_t from, size_t elements, const void *external)
{
    conversion_t conversion = {.type = type,
                               .count = count,
                               .buffer = buffer,
                               .external = (char *)external,
                               .is_unpack = true};
    convert_range(&conversion, from, elements);
}

void ompi_external_pack(const ompi_datatype_t *type, size_t count, const void *buffer,
                        void *external)
{
    ompi_external_pack_elements(type, count, buffer, 0, SIZE_MAX, external);
}

void ompi_external_unpack(const ompi_datatype_t *type, size_t count, void *buffer,
                          const void *external)
{
    ompi_external_unpack_elements(type, count, buffer, 0, SIZE_MAX, external);
}
