/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The kernels of MPI_SUM, MPI_PROD, MPI_MAX and MPI_MIN.
 *
 * Sums and products of integers are those of unsigned numbers, which wrap around where signed ones
 * must not. Products of complex numbers are as in Fortran: what C does about infinite parts costs
 * five times as much.
 */
#include "ompi/op/kernel.h"

#define VECTOR      OMPI_OP_VECTOR
#define SCALAR      OMPI_OP_SCALAR
#define IF_INT128   OMPI_OP_IF_INT128
#define IF_FLOAT16  OMPI_OP_IF_FLOAT16
#define IF_FLOAT128 OMPI_OP_IF_FLOAT128

IF_INT128(typedef __int128 int128_t;)
IF_INT128(typedef unsigned __int128 uint128_t;)

/* clang-format off */
VECTOR(sum_int8, uint8_t, a + b)
VECTOR(sum_int16, uint16_t, a + b)
VECTOR(sum_int32, uint32_t, a + b)
VECTOR(sum_int64, uint64_t, a + b)
VECTOR(sum_float, float, a + b)
VECTOR(sum_double, double, a + b)
SCALAR(sum_long_double, long double, a + b)
IF_INT128(SCALAR(sum_int128, uint128_t, a + b))
IF_FLOAT16(SCALAR(sum_float16, _Float16, a + b))
IF_FLOAT128(SCALAR(sum_float128, ompi_op_float128_t, a + b))

/* 1u: short operands would become signed. */
VECTOR(prod_int8, uint8_t, 1u * a * b)
VECTOR(prod_int16, uint16_t, 1u * a * b)
VECTOR(prod_int32, uint32_t, a * b)
VECTOR(prod_int64, uint64_t, a * b)
VECTOR(prod_float, float, a * b)
VECTOR(prod_double, double, a * b)
SCALAR(prod_long_double, long double, a * b)
IF_INT128(SCALAR(prod_int128, uint128_t, a * b))
IF_FLOAT16(SCALAR(prod_float16, _Float16, a * b))
IF_FLOAT128(SCALAR(prod_float128, ompi_op_float128_t, a * b))

#define MAX_AND_MIN(LOOP, name, type)     \
    LOOP(max_##name, type, a > b ? a : b) \
    LOOP(min_##name, type, a < b ? a : b)
MAX_AND_MIN(VECTOR, int8, int8_t)
MAX_AND_MIN(VECTOR, int16, int16_t)
MAX_AND_MIN(VECTOR, int32, int32_t)
MAX_AND_MIN(VECTOR, int64, int64_t)
MAX_AND_MIN(VECTOR, uint8, uint8_t)
MAX_AND_MIN(VECTOR, uint16, uint16_t)
MAX_AND_MIN(VECTOR, uint32, uint32_t)
MAX_AND_MIN(VECTOR, uint64, uint64_t)
MAX_AND_MIN(VECTOR, float, float)
MAX_AND_MIN(VECTOR, double, double)
MAX_AND_MIN(SCALAR, long_double, long double)
IF_INT128(MAX_AND_MIN(SCALAR, int128, int128_t))
IF_FLOAT16(MAX_AND_MIN(SCALAR, float16, _Float16))
IF_FLOAT128(MAX_AND_MIN(SCALAR, float128, ompi_op_float128_t))

#define COMPLEX_PROD(LOOP, name, part)                                                   \
    typedef struct name##_number {                                                       \
        part real, imaginary;                                                            \
    } name##_number_t;                                                                   \
    LOOP(name, name##_number_t,                                                          \
         ((name##_number_t){a.real * b.real - a.imaginary * b.imaginary,                 \
                            a.real * b.imaginary + a.imaginary * b.real}))
COMPLEX_PROD(VECTOR, prod_complex_float, float)
COMPLEX_PROD(VECTOR, prod_complex_double, double)
COMPLEX_PROD(SCALAR, prod_complex_long_double, long double)
IF_FLOAT16(COMPLEX_PROD(SCALAR, prod_complex_float16, _Float16))
IF_FLOAT128(COMPLEX_PROD(SCALAR, prod_complex_float128, ompi_op_float128_t))
/* clang-format on */

#define ONE(kind, kernel) [OMPI_OP_##kind] = {kernel, 1}
#define TWO(kind, kernel) [OMPI_OP_##kind] = {kernel, 2}

#define REALS(op)                                                                                  \
    ONE(FLOAT, op##_float), ONE(DOUBLE, op##_double), ONE(LONG_DOUBLE, op##_long_double),          \
        IF_FLOAT16(ONE(FLOAT16, op##_float16), ) IF_FLOAT128(ONE(FLOAT128, op##_float128), )

#define WRAPPING(op)                                                                               \
    ONE(INT8, op##_int8), ONE(INT16, op##_int16), ONE(INT32, op##_int32), ONE(INT64, op##_int64),  \
        ONE(UINT8, op##_int8), ONE(UINT16, op##_int16), ONE(UINT32, op##_int32),                   \
        ONE(UINT64, op##_int64), IF_INT128(ONE(INT128, op##_int128), )

#define ORDERED(op)                                                                                \
    ONE(INT8, op##_int8), ONE(INT16, op##_int16), ONE(INT32, op##_int32), ONE(INT64, op##_int64),  \
        ONE(UINT8, op##_uint8), ONE(UINT16, op##_uint16), ONE(UINT32, op##_uint32),                \
        ONE(UINT64, op##_uint64), IF_INT128(ONE(INT128, op##_int128), )

/* clang-format off */
const ompi_op_kernel_t ompi_op_sum[OMPI_OP_KINDS] = {
    WRAPPING(sum)
    REALS(sum)
    TWO(COMPLEX_FLOAT, sum_float),
    TWO(COMPLEX_DOUBLE, sum_double),
    TWO(COMPLEX_LONG_DOUBLE, sum_long_double),
    IF_FLOAT16(TWO(COMPLEX_FLOAT16, sum_float16),)
    IF_FLOAT128(TWO(COMPLEX_FLOAT128, sum_float128),)
};

const ompi_op_kernel_t ompi_op_prod[OMPI_OP_KINDS] = {
    WRAPPING(prod)
    REALS(prod)
    ONE(COMPLEX_FLOAT, prod_complex_float),
    ONE(COMPLEX_DOUBLE, prod_complex_double),
    ONE(COMPLEX_LONG_DOUBLE, prod_complex_long_double),
    IF_FLOAT16(ONE(COMPLEX_FLOAT16, prod_complex_float16),)
    IF_FLOAT128(ONE(COMPLEX_FLOAT128, prod_complex_float128),)
};

const ompi_op_kernel_t ompi_op_max[OMPI_OP_KINDS] = {ORDERED(max) REALS(max)};
const ompi_op_kernel_t ompi_op_min[OMPI_OP_KINDS] = {ORDERED(min) REALS(min)};
/* clang-format on */
