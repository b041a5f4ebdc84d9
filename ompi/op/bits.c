/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The kernels of the logical and the bitwise operations.
 *
 * What is not 0 is true; the result is 1 or 0, as C and Fortran compilers have it. Bitwise
 * operations go byte by byte, whatever the size of an element: in vectors that is the same.
 */
#include "ompi/op/kernel.h"

#define IF_INT128   OMPI_OP_IF_INT128
#define IF_FLOAT16  OMPI_OP_IF_FLOAT16
#define IF_FLOAT128 OMPI_OP_IF_FLOAT128

/* clang-format off */
#define LOGICAL(LOOP, name, type)                                                                  \
    LOOP(land_##name, type, (a != 0) & (b != 0))                                                   \
    LOOP(lor_##name, type, (a != 0) | (b != 0))                                                    \
    LOOP(lxor_##name, type, (a != 0) != (b != 0))
LOGICAL(OMPI_OP_VECTOR, int8, uint8_t)
LOGICAL(OMPI_OP_VECTOR, int16, uint16_t)
LOGICAL(OMPI_OP_VECTOR, int32, uint32_t)
LOGICAL(OMPI_OP_VECTOR, int64, uint64_t)
LOGICAL(OMPI_OP_VECTOR, float, float)
LOGICAL(OMPI_OP_VECTOR, double, double)
LOGICAL(OMPI_OP_SCALAR, long_double, long double)
IF_INT128(LOGICAL(OMPI_OP_SCALAR, int128, unsigned __int128))
IF_FLOAT16(LOGICAL(OMPI_OP_SCALAR, float16, _Float16))
IF_FLOAT128(LOGICAL(OMPI_OP_SCALAR, float128, ompi_op_float128_t))

OMPI_OP_VECTOR(band, uint8_t, a & b)
OMPI_OP_VECTOR(bor, uint8_t, a | b)
OMPI_OP_VECTOR(bxor, uint8_t, a ^ b)

#define ROW(kind, kernel, units) [OMPI_OP_##kind] = {kernel, units}

#define LOGICAL_TABLE(op)                                                                          \
    {                                                                                              \
        ROW(INT8, op##_int8, 1), ROW(UINT8, op##_int8, 1),                                         \
        ROW(INT16, op##_int16, 1), ROW(UINT16, op##_int16, 1),                                     \
        ROW(INT32, op##_int32, 1), ROW(UINT32, op##_int32, 1),                                     \
        ROW(INT64, op##_int64, 1), ROW(UINT64, op##_int64, 1),                                     \
        ROW(FLOAT, op##_float, 1), ROW(DOUBLE, op##_double, 1),                                    \
        ROW(LONG_DOUBLE, op##_long_double, 1),                                                     \
        IF_INT128(ROW(INT128, op##_int128, 1),)                                                    \
        IF_FLOAT16(ROW(FLOAT16, op##_float16, 1),)                                                 \
        IF_FLOAT128(ROW(FLOAT128, op##_float128, 1),)                                              \
    }
const ompi_op_kernel_t ompi_op_land[OMPI_OP_KINDS] = LOGICAL_TABLE(land);
const ompi_op_kernel_t ompi_op_lor[OMPI_OP_KINDS] = LOGICAL_TABLE(lor);
const ompi_op_kernel_t ompi_op_lxor[OMPI_OP_KINDS] = LOGICAL_TABLE(lxor);

#define BITWISE_TABLE(kernel)                                                                      \
    {                                                                                              \
        ROW(INT8, kernel, 1), ROW(UINT8, kernel, 1), ROW(INT16, kernel, 2),                        \
        ROW(UINT16, kernel, 2), ROW(INT32, kernel, 4), ROW(UINT32, kernel, 4),                     \
        ROW(INT64, kernel, 8), ROW(UINT64, kernel, 8), IF_INT128(ROW(INT128, kernel, 16),)         \
    }
const ompi_op_kernel_t ompi_op_band[OMPI_OP_KINDS] = BITWISE_TABLE(band);
const ompi_op_kernel_t ompi_op_bor[OMPI_OP_KINDS] = BITWISE_TABLE(bor);
const ompi_op_kernel_t ompi_op_bxor[OMPI_OP_KINDS] = BITWISE_TABLE(bxor);
/* clang-format on */
