/* SPDX-License-Identifier: BSD-3-Clause */
/* Predefined operations: the result of each on each kind of type, by MPI_Reduce_local. */
#include <mpi.h>
#include <limits.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <wchar.h>

#include "tap.h"

/* Not a multiple of any vector. */
enum { COUNT = 1003, BYTES = COUNT * 32 };

static _Alignas(64) char in[BYTES], out[BYTES], before[BYTES];

static unsigned random_number(void)
{
    static unsigned state = 12345;
    state = state * 1103515245u + 12345u;
    return state >> 16;
}

/* Fills both buffers with numbers of a type, small ones and large ones. */
#define FILL(type)                                                                                 \
    for (int i = 0; i < COUNT; i++) {                                                              \
        unsigned x = random_number(), y = random_number();                                         \
        ((type *)in)[i] = (type)(x % 5 == 0 ? x % 3 : x * 2654435769.0);                           \
        ((type *)out)[i] = (type)(y % 5 == 0 ? y % 3 : y * 3266489917.0);                          \
        ((type *)before)[i] = ((type *)out)[i];                                                    \
    }

/* For types that are no wider than their numbers: bits as they come. */
#define FILL_BITS(type)                                                                            \
    for (size_t i = 0; i < COUNT * sizeof(type); i++) {                                            \
        in[i] = (char)(random_number() % 3 == 0 ? 0 : random_number());                            \
        before[i] = out[i] = (char)(random_number() % 3 == 0 ? 0 : random_number());               \
    }

#define RUN(fill, type, mpi_type, op, expression)                                                  \
    do {                                                                                           \
        int right = 0;                                                                             \
        fill(type);                                                                                \
        int error = MPI_Reduce_local(in, out, COUNT, mpi_type, op);                                \
        for (int i = 0; i < COUNT; i++) {                                                          \
            type a = ((type *)in)[i], b = ((type *)before)[i];                                     \
            type wanted = (type)(expression);                                                      \
            right += memcmp(&((type *)out)[i], &wanted, sizeof wanted) == 0;                       \
        }                                                                                          \
        tap_check(error == MPI_SUCCESS && right == COUNT, "%s of %s: %d right", #op, #mpi_type,    \
                  right);                                                                          \
    } while (0)

#define CHECK_LOGICAL(fill, type, mpi_type)                                                        \
    RUN(fill, type, mpi_type, MPI_LAND, a != 0 && b != 0);                                         \
    RUN(fill, type, mpi_type, MPI_LOR, a != 0 || b != 0);                                          \
    RUN(fill, type, mpi_type, MPI_LXOR, (a != 0) != (b != 0))

#define CHECK_BITS(type, mpi_type)                                                                 \
    RUN(FILL_BITS, type, mpi_type, MPI_BAND, a &b);                                                \
    RUN(FILL_BITS, type, mpi_type, MPI_BOR, a | b);                                                \
    RUN(FILL_BITS, type, mpi_type, MPI_BXOR, a ^ b)

/* Sums and products wrap around: they are taken in 64 bits without a sign. */
#define CHECK_INTEGER(type, mpi_type)                                                              \
    RUN(FILL_BITS, type, mpi_type, MPI_SUM, (uint64_t)a + (uint64_t)b);                            \
    RUN(FILL_BITS, type, mpi_type, MPI_PROD, (uint64_t)a *(uint64_t)b);                            \
    RUN(FILL_BITS, type, mpi_type, MPI_MAX, a > b ? a : b);                                        \
    RUN(FILL_BITS, type, mpi_type, MPI_MIN, a < b ? a : b);                                        \
    CHECK_LOGICAL(FILL_BITS, type, mpi_type);                                                      \
    CHECK_BITS(type, mpi_type)

static void check_c_integers(void)
{
    CHECK_INTEGER(signed char, MPI_SIGNED_CHAR);
    CHECK_INTEGER(short, MPI_SHORT);
    CHECK_INTEGER(int, MPI_INT);
    CHECK_INTEGER(long, MPI_LONG);
    CHECK_INTEGER(long long, MPI_LONG_LONG);
    CHECK_INTEGER(unsigned char, MPI_UNSIGNED_CHAR);
    CHECK_INTEGER(unsigned short, MPI_UNSIGNED_SHORT);
    CHECK_INTEGER(unsigned, MPI_UNSIGNED);
    CHECK_INTEGER(unsigned long, MPI_UNSIGNED_LONG);
    CHECK_INTEGER(unsigned long long, MPI_UNSIGNED_LONG_LONG);
    CHECK_INTEGER(char, MPI_CHAR);
}

static void check_other_integers(void)
{
    CHECK_INTEGER(int8_t, MPI_INT8_T);
    CHECK_INTEGER(int16_t, MPI_INT16_T);
    CHECK_INTEGER(int32_t, MPI_INT32_T);
    CHECK_INTEGER(int64_t, MPI_INT64_T);
    CHECK_INTEGER(uint8_t, MPI_UINT8_T);
    CHECK_INTEGER(uint16_t, MPI_UINT16_T);
    CHECK_INTEGER(uint32_t, MPI_UINT32_T);
    CHECK_INTEGER(uint64_t, MPI_UINT64_T);
    CHECK_INTEGER(MPI_Aint, MPI_AINT);
    CHECK_INTEGER(MPI_Count, MPI_COUNT);
    CHECK_INTEGER(MPI_Offset, MPI_OFFSET);
    CHECK_INTEGER(int32_t, MPI_INTEGER);
    CHECK_INTEGER(int8_t, MPI_INTEGER1);
    CHECK_INTEGER(int16_t, MPI_INTEGER2);
    CHECK_INTEGER(int32_t, MPI_INTEGER4);
    CHECK_INTEGER(int64_t, MPI_INTEGER8);
    CHECK_BITS(unsigned char, MPI_BYTE);
}

#define CHECK_REAL(type, mpi_type)                                                                 \
    RUN(FILL, type, mpi_type, MPI_SUM, a + b);                                                     \
    RUN(FILL, type, mpi_type, MPI_PROD, a *b);                                                     \
    RUN(FILL, type, mpi_type, MPI_MAX, a > b ? a : b);                                             \
    RUN(FILL, type, mpi_type, MPI_MIN, a < b ? a : b)

static void check_reals(void)
{
    CHECK_REAL(float, MPI_FLOAT);
    CHECK_REAL(double, MPI_DOUBLE);
    CHECK_REAL(float, MPI_REAL);
    CHECK_REAL(float, MPI_REAL4);
    CHECK_REAL(double, MPI_REAL8);
    CHECK_REAL(double, MPI_DOUBLE_PRECISION);
    CHECK_LOGICAL(FILL, float, MPI_FLOAT);
    CHECK_LOGICAL(FILL, double, MPI_DOUBLE);
}

/* Padding is not compared. */
static void check_long_double(void)
{
    static const MPI_Op ops[] = {MPI_SUM, MPI_PROD, MPI_MAX, MPI_MIN, MPI_LAND};
    long double *a = (long double *)in, *b = (long double *)before, *got = (long double *)out;
    for (int k = 0; k < 5; k++) {
        int right = 0;
        FILL(long double)
        MPI_Reduce_local(in, out, COUNT, MPI_LONG_DOUBLE, ops[k]);
        for (int i = 0; i < COUNT; i++) {
            long double wanted[] = {a[i] + b[i], a[i] * b[i], a[i] > b[i] ? a[i] : b[i],
                                    a[i] < b[i] ? a[i] : b[i], a[i] != 0 && b[i] != 0};
            right += got[i] == wanted[k];
        }
        tap_check(right == COUNT, "MPI_LONG_DOUBLE, operation %d: %d right", k, right);
    }
}

static void check_logicals(void)
{
    static const MPI_Datatype bools[] = {MPI_C_BOOL, MPI_CXX_BOOL};
    CHECK_LOGICAL(FILL_BITS, int32_t, MPI_LOGICAL);
    CHECK_LOGICAL(FILL_BITS, int8_t, MPI_LOGICAL1);
    CHECK_LOGICAL(FILL_BITS, int16_t, MPI_LOGICAL2);
    CHECK_LOGICAL(FILL_BITS, int32_t, MPI_LOGICAL4);
    CHECK_LOGICAL(FILL_BITS, int64_t, MPI_LOGICAL8);
    for (int k = 0; k < 2; k++) {
        const bool a[] = {false, false, true, true}, b[] = {false, true, false, true};
        bool and[4], or [4], xor[4];
        memcpy(and, b, sizeof b);
        memcpy(or, b, sizeof b);
        memcpy(xor, b, sizeof b);
        MPI_Reduce_local(a, and, 4, bools[k], MPI_LAND);
        MPI_Reduce_local(a, or, 4, bools[k], MPI_LOR);
        MPI_Reduce_local(a, xor, 4, bools[k], MPI_LXOR);
        tap_check(!and[0] && !and[1] && !and[2] && and[3] && ! or [0] && or [1] && or [2] &&
                      or [3] && !xor[0] && xor[1] && xor[2] && !xor[3],
                  "truth table of the C type bool, %d", k);
    }
}

#define CHECK_COMPLEX(part, mpi_type)                                                              \
    do {                                                                                           \
        int right = 0;                                                                             \
        part(*a)[2] = (void *)in, (*b)[2] = (void *)before, (*got)[2] = (void *)out;               \
        for (int i = 0; i < 2 * COUNT; i++) {                                                      \
            (&a[0][0])[i] = (part)(int)(random_number() % 101) - 50;                               \
            (&b[0][0])[i] = (&got[0][0])[i] = (part)(int)(random_number() % 101) - 50;             \
        }                                                                                          \
        MPI_Reduce_local(in, out, COUNT, mpi_type, MPI_SUM);                                       \
        for (int i = 0; i < COUNT; i++)                                                            \
            right += got[i][0] == a[i][0] + b[i][0] && got[i][1] == a[i][1] + b[i][1];             \
        memcpy(out, before, sizeof out);                                                           \
        MPI_Reduce_local(in, out, COUNT, mpi_type, MPI_PROD);                                      \
        for (int i = 0; i < COUNT; i++)                                                            \
            right += got[i][0] == a[i][0] * b[i][0] - a[i][1] * b[i][1] &&                         \
                     got[i][1] == a[i][0] * b[i][1] + a[i][1] * b[i][0];                           \
        tap_check(right == 2 * COUNT, "sums and products of %s: %d right", #mpi_type, right);      \
    } while (0)

static void check_complexes(void)
{
    CHECK_COMPLEX(float, MPI_C_FLOAT_COMPLEX);
    CHECK_COMPLEX(double, MPI_C_DOUBLE_COMPLEX);
    CHECK_COMPLEX(long double, MPI_C_LONG_DOUBLE_COMPLEX);
    CHECK_COMPLEX(float, MPI_CXX_FLOAT_COMPLEX);
    CHECK_COMPLEX(double, MPI_CXX_DOUBLE_COMPLEX);
    CHECK_COMPLEX(long double, MPI_CXX_LONG_DOUBLE_COMPLEX);
    CHECK_COMPLEX(float, MPI_COMPLEX);
    CHECK_COMPLEX(double, MPI_DOUBLE_COMPLEX);
    CHECK_COMPLEX(float, MPI_COMPLEX8);
    CHECK_COMPLEX(double, MPI_COMPLEX16);
}

#define CHECK_PAIR(value_type, index_type, mpi_type)                                               \
    do {                                                                                           \
        typedef struct {                                                                           \
            value_type value;                                                                      \
            index_type index;                                                                      \
        } pair_t;                                                                                  \
        pair_t *a = (pair_t *)in, *b = (pair_t *)before, *got = (pair_t *)out;                     \
        int right = 0;                                                                             \
        for (int i = 0; i < COUNT; i++) {                                                          \
            a[i] = (pair_t){(value_type)(random_number() % 5), (index_type)(random_number() % 9)}; \
            b[i] = (pair_t){(value_type)(random_number() % 5), (index_type)(random_number() % 9)}; \
        }                                                                                          \
        for (int k = 0; k < 2; k++) {                                                              \
            memcpy(out, before, sizeof out);                                                       \
            MPI_Reduce_local(in, out, COUNT, mpi_type, k == 0 ? MPI_MINLOC : MPI_MAXLOC);          \
            for (int i = 0; i < COUNT; i++) {                                                      \
                bool is_a = a[i].value == b[i].value ? a[i].index < b[i].index                     \
                                                     : (a[i].value < b[i].value) == (k == 0);      \
                pair_t wanted = is_a ? a[i] : b[i];                                                \
                right += got[i].value == wanted.value && got[i].index == wanted.index;             \
            }                                                                                      \
        }                                                                                          \
        tap_check(right == 2 * COUNT, "MPI_MINLOC and MPI_MAXLOC of %s: %d right", #mpi_type,      \
                  right);                                                                          \
    } while (0)

static void check_pairs(void)
{
    CHECK_PAIR(float, int, MPI_FLOAT_INT);
    CHECK_PAIR(double, int, MPI_DOUBLE_INT);
    CHECK_PAIR(long, int, MPI_LONG_INT);
    CHECK_PAIR(int, int, MPI_2INT);
    CHECK_PAIR(short, int, MPI_SHORT_INT);
    CHECK_PAIR(long double, int, MPI_LONG_DOUBLE_INT);
    CHECK_PAIR(float, float, MPI_2REAL);
    CHECK_PAIR(double, double, MPI_2DOUBLE_PRECISION);
    CHECK_PAIR(int, int, MPI_2INTEGER);
}

/* Types that not every compiler has. */
static void check_optional(void)
{
#ifdef __SIZEOF_INT128__
    __int128 a = (__int128)1 << 100, b = 5, wide = b;
    if (MPI_Reduce_local(&a, &wide, 1, MPI_INTEGER16, MPI_SUM) == MPI_SUCCESS)
        tap_check(wide == a + b, "MPI_SUM of MPI_INTEGER16");
    MPI_Reduce_local(&b, &wide, 1, MPI_INTEGER16, MPI_MIN);
    tap_check(wide == b, "MPI_MIN of MPI_INTEGER16");
    wide = 6;
    MPI_Reduce_local(&b, &wide, 1, MPI_INTEGER16, MPI_BXOR);
    tap_check(wide == 3, "MPI_BXOR of MPI_INTEGER16");
    MPI_Reduce_local(&a, &wide, 1, MPI_LOGICAL16, MPI_LAND);
    tap_check(wide == 1, "MPI_LAND of MPI_LOGICAL16");
#endif
#ifdef __SIZEOF_FLOAT128__
    __float128 x = 1, y = x / 3, quad = y, complex_x[2] = {1, 2}, complex_y[2] = {3, 4};
    MPI_Reduce_local(&x, &quad, 1, MPI_REAL16, MPI_SUM);
    tap_check(quad == x + y, "MPI_SUM of MPI_REAL16");
    MPI_Reduce_local(complex_x, complex_y, 1, MPI_COMPLEX32, MPI_PROD);
    tap_check(complex_y[0] == -5 && complex_y[1] == 10, "MPI_PROD of MPI_COMPLEX32");
#endif
#if defined(__FLT16_MANT_DIG__) && !defined(__clang__)
    _Float16 h = 1.5, half = 2, complex_h[2] = {1, 2}, complex_half[2] = {3, 4};
    MPI_Reduce_local(&h, &half, 1, MPI_REAL2, MPI_SUM);
    tap_check(half == (_Float16)3.5, "MPI_SUM of MPI_REAL2");
    MPI_Reduce_local(&h, &half, 1, MPI_REAL2, MPI_MIN);
    tap_check(half == (_Float16)1.5, "MPI_MIN of MPI_REAL2");
    MPI_Reduce_local(complex_h, complex_half, 1, MPI_COMPLEX4, MPI_SUM);
    tap_check(complex_half[0] == 4 && complex_half[1] == 6, "MPI_SUM of MPI_COMPLEX4");
#endif
}

static void check_fortran_kinds(void)
{
    MPI_Datatype real, integer;
    double a = 1, b = 2;
    int64_t i = 3, k = 4;
    MPI_Type_create_f90_real(15, MPI_UNDEFINED, &real);
    MPI_Type_create_f90_integer(15, &integer);
    tap_check(MPI_Reduce_local(&a, &b, 1, real, MPI_SUM) == MPI_SUCCESS && b == 3 &&
                  MPI_Reduce_local(&i, &k, 1, integer, MPI_PROD) == MPI_SUCCESS && k == 12,
              "types that Fortran asks for by precision");
}

/* Counts around the sizes of vectors, from any element on; nothing else is written. */
static void check_edges(void)
{
    int right = 0, runs = 0;
    int *a = (int *)in, *b = (int *)out;
    for (int start = 0; start < 20; start++) {
        for (int count = 0; count < 70; count++) {
            for (int i = 0; i < 128; i++)
                a[i] = b[i] = i;
            MPI_Reduce_local(a + 3, b + start, count, MPI_INT, MPI_SUM);
            runs++;
            int good = 0;
            for (int i = 0; i < 128; i++)
                good += b[i] == (i >= start && i < start + count ? i + i - start + 3 : i);
            right += good == 128;
        }
    }
    tap_check(right == runs, "%d of %d lengths and places", right, runs);
}

int main(int argc, char **argv)
{
    MPI_Init(&argc, &argv);
    tap_rank(0);
    check_c_integers();
    check_other_integers();
    check_reals();
    check_long_double();
    check_logicals();
    check_complexes();
    check_pairs();
    check_optional();
    check_fortran_kinds();
    check_edges();
    MPI_Finalize();
    return tap_finish();
}
