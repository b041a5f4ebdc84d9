/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The kernels of MPI_MINLOC and MPI_MAXLOC: the pair with the smaller or larger value; of equal
 * ones, that with the lower index.
 *
 * Which of two pairs it is cannot be foreseen, so no kernel branches on it: value and index are
 * chosen each for itself, which vectors can do. A long double is no part of a vector; there the
 * pair is chosen by its address.
 */
#include "ompi/op/kernel.h"

#define IS_FIRST(a, b, is_before)                                                                  \
    (((a).value is_before(b).value) | (((a).value == (b).value) & ((a).index < (b).index)))

#define LOCATION_LOOP(name, type, is_before)                                                       \
    OPAL_VECTOR_LOOPS static void name(const void *all_a, const void *all_b, void *out,            \
                                       size_t count)                                               \
    {                                                                                              \
        const type *as = all_a, *bs = all_b;                                                       \
        type *results = out;                                                                       \
        OPAL_INDEPENDENT                                                                           \
        for (size_t i = 0; i < count; i++) {                                                       \
            const type a = as[i], b = bs[i];                                                       \
            bool is_a = IS_FIRST(a, b, is_before);                                                 \
            results[i].value = is_a ? a.value : b.value;                                           \
            results[i].index = is_a ? a.index : b.index;                                           \
        }                                                                                          \
    }

#define LOCATION_BY_ADDRESS(name, type, is_before)                                                 \
    static void name(const void *all_a, const void *all_b, void *out, size_t count)                \
    {                                                                                              \
        const type *a = all_a, *b = all_b;                                                         \
        type *results = out;                                                                       \
        for (size_t i = 0; i < count; i++)                                                         \
            results[i] = *(IS_FIRST(a[i], b[i], is_before) ? &a[i] : &b[i]);                       \
    }

/* clang-format off */
#define LOCATION(LOOP, name, value_type, index_type)                                               \
    typedef struct name##_pair {                                                                   \
        value_type value;                                                                          \
        index_type index;                                                                          \
    } name##_pair_t;                                                                               \
    LOOP(minloc_##name, name##_pair_t, <)                                                          \
    LOOP(maxloc_##name, name##_pair_t, >)
LOCATION(LOCATION_LOOP, float_int, float, int)
LOCATION(LOCATION_LOOP, double_int, double, int)
LOCATION(LOCATION_LOOP, long_int, long, int)
LOCATION(LOCATION_LOOP, int_int, int, int)
LOCATION(LOCATION_LOOP, short_int, short, int)
LOCATION(LOCATION_LOOP, float_float, float, float)
LOCATION(LOCATION_LOOP, double_double, double, double)
LOCATION(LOCATION_BY_ADDRESS, long_double_int, long double, int)

#define TABLE(op)                                                                                  \
    {                                                                                              \
        [OMPI_OP_FLOAT_INT] = {op##_float_int, 1},                                                 \
        [OMPI_OP_DOUBLE_INT] = {op##_double_int, 1},                                               \
        [OMPI_OP_LONG_INT] = {op##_long_int, 1},                                                   \
        [OMPI_OP_INT_INT] = {op##_int_int, 1},                                                     \
        [OMPI_OP_SHORT_INT] = {op##_short_int, 1},                                                 \
        [OMPI_OP_LONG_DOUBLE_INT] = {op##_long_double_int, 1},                                     \
        [OMPI_OP_FLOAT_FLOAT] = {op##_float_float, 1},                                             \
        [OMPI_OP_DOUBLE_DOUBLE] = {op##_double_double, 1},                                         \
    }
const ompi_op_kernel_t ompi_op_minloc[OMPI_OP_KINDS] = TABLE(minloc);
const ompi_op_kernel_t ompi_op_maxloc[OMPI_OP_KINDS] = TABLE(maxloc);
/* clang-format on */
