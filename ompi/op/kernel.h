/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What predefined operations are made of: kinds of elements, and a loop for each operation and
 * kind.
 *
 * A kind is a representation in memory, which several datatypes may have: MPI_INT, MPI_INTEGER and
 * MPI_INT32_T are one kind. The class of a datatype says which operations are valid for it, as in
 * the standard's chapter on predefined operations.
 *
 * Threading: everything is constant.
 */
#ifndef OMPI_OP_KERNEL_H
#define OMPI_OP_KERNEL_H

#include "opal/arch/vector.h"
#include "opal/include/compiler.h"
#include "ompi/datatype/datatype.h"

/* Types that not every compiler has; IF_...(text) is the text if it does. */
#ifdef __SIZEOF_INT128__
#define OMPI_OP_IF_INT128(...) __VA_ARGS__
#else
#define OMPI_OP_IF_INT128(...)
#endif
#ifdef __FLT16_MANT_DIG__
#define OMPI_OP_IF_FLOAT16(...) __VA_ARGS__
#else
#define OMPI_OP_IF_FLOAT16(...)
#endif
#if defined(__SIZEOF_FLOAT128__)
#define OMPI_OP_IF_FLOAT128(...) __VA_ARGS__
typedef __float128 ompi_op_float128_t;
#elif __LDBL_MANT_DIG__ == 113
#define OMPI_OP_IF_FLOAT128(...) __VA_ARGS__
typedef long double ompi_op_float128_t;
#else
#define OMPI_OP_IF_FLOAT128(...)
#endif

typedef enum ompi_op_kind {
    OMPI_OP_NOTHING, /* no operation is for it */
    OMPI_OP_INT8,
    OMPI_OP_INT16,
    OMPI_OP_INT32,
    OMPI_OP_INT64,
    OMPI_OP_INT128,
    OMPI_OP_UINT8,
    OMPI_OP_UINT16,
    OMPI_OP_UINT32,
    OMPI_OP_UINT64,
    OMPI_OP_FLOAT16,
    OMPI_OP_FLOAT,
    OMPI_OP_DOUBLE,
    OMPI_OP_LONG_DOUBLE,
    OMPI_OP_FLOAT128,
    OMPI_OP_COMPLEX_FLOAT16,
    OMPI_OP_COMPLEX_FLOAT,
    OMPI_OP_COMPLEX_DOUBLE,
    OMPI_OP_COMPLEX_LONG_DOUBLE,
    OMPI_OP_COMPLEX_FLOAT128,
    OMPI_OP_FLOAT_INT, /* a value and an index, from here on */
    OMPI_OP_DOUBLE_INT,
    OMPI_OP_LONG_INT,
    OMPI_OP_INT_INT,
    OMPI_OP_SHORT_INT,
    OMPI_OP_LONG_DOUBLE_INT,
    OMPI_OP_FLOAT_FLOAT,
    OMPI_OP_DOUBLE_DOUBLE,
    OMPI_OP_KINDS
} ompi_op_kind_t;

enum ompi_op_class {
    OMPI_OP_INTEGER = 1,
    OMPI_OP_REAL = 2,
    OMPI_OP_LOGICAL = 4,
    OMPI_OP_COMPLEX = 8,
    OMPI_OP_BYTE = 16,
    OMPI_OP_PAIR = 32,
};

typedef struct ompi_op_type {
    unsigned char kind;  /* ompi_op_kind_t */
    unsigned char class; /* enum ompi_op_class; 0: no operation is for it */
} ompi_op_type_t;

/* Kinds and classes of the predefined datatypes, by handle. */
enum { OMPI_OP_FIRST_HANDLE = 0x200, OMPI_OP_HANDLES = 0x200 };
OPAL_EXPORT extern const ompi_op_type_t ompi_op_types[OMPI_OP_HANDLES];

/* Kind and class of a datatype. A type that Fortran made for a precision is predefined, but has no
 * such handle; its element has one. */
static inline ompi_op_type_t ompi_op_type(const ompi_datatype_t *type)
{
    const ompi_datatype_t *element = ompi_datatype_element(type);
    if (!type->is_predefined || element == NULL)
        return (ompi_op_type_t){OMPI_OP_NOTHING, 0};
    return ompi_op_types[(uintptr_t)ompi_object_handle(element) - OMPI_OP_FIRST_HANDLE];
}

/* out[i] = a[i] op b[i]; `out` may be `a` or `b`. `units` is what an element counts as: a complex
 * number is two sums. */
typedef struct ompi_op_kernel {
    void (*run)(const void *a, const void *b, void *out, size_t count); /* NULL: there is none */
    unsigned units;
} ompi_op_kernel_t;

/* Tables by kind. */
extern const ompi_op_kernel_t ompi_op_sum[OMPI_OP_KINDS], ompi_op_prod[OMPI_OP_KINDS],
    ompi_op_max[OMPI_OP_KINDS], ompi_op_min[OMPI_OP_KINDS], ompi_op_land[OMPI_OP_KINDS],
    ompi_op_lor[OMPI_OP_KINDS], ompi_op_lxor[OMPI_OP_KINDS], ompi_op_band[OMPI_OP_KINDS],
    ompi_op_bor[OMPI_OP_KINDS], ompi_op_bxor[OMPI_OP_KINDS], ompi_op_minloc[OMPI_OP_KINDS],
    ompi_op_maxloc[OMPI_OP_KINDS];

/* The function of a kernel. The expression says what becomes of a and b. */
#define OMPI_OP_LOOP(attributes, pragma, name, type, expression)                                   \
    attributes static void name(const void *all_a, const void *all_b, void *out, size_t count)     \
    {                                                                                              \
        const type *as = all_a, *bs = all_b;                                                       \
        type *results = out;                                                                       \
        pragma for (size_t i = 0; i < count; i++)                                                  \
        {                                                                                          \
            const type a = as[i], b = bs[i];                                                       \
            results[i] = (type)(expression);                                                       \
        }                                                                                          \
    }

#define OMPI_OP_VECTOR(name, type, expression)                                                     \
    OMPI_OP_LOOP(OPAL_VECTOR_LOOPS, OPAL_INDEPENDENT, name, type, expression)

/* For types that vectors are not made of. */
#define OMPI_OP_SCALAR(name, type, expression) OMPI_OP_LOOP(, , name, type, expression)

#endif
