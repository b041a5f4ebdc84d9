/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The elements of win_random: predefined types, values of them, and what each predefined operation
 * makes of two values. The values are such that the order of a commutative operation does not
 * change a result by a bit: real numbers are small integers, factors are powers of two.
 *
 * Some types have padding, whose bytes a copy or an operation may change: is_significant() tells
 * which bytes count.
 */
#ifndef TEST_MPI_WIN_TYPES_H
#define TEST_MPI_WIN_TYPES_H

#include <mpi.h>
#include <complex.h>
#include <float.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

enum { ELEMENT_MAX = 32 };

static inline uint64_t mix(uint64_t x)
{
    x = (x ^ (x >> 31)) * UINT64_C(0x7fb5d329728ea185);
    x = (x ^ (x >> 27)) * UINT64_C(0x81dadef4bc2dd44d);
    return x ^ (x >> 33);
}

/* -- operations ---------------------------------------------------------------------- */

/* In such an order that those of a class are neighbours. */
typedef enum fold {
    MINLOC,
    MAXLOC,
    MIN,
    MAX,
    SUM,
    PROD,
    LAND,
    LOR,
    LXOR,
    BAND,
    BOR,
    BXOR,
    REPLACE,
    NO_OP,
    FOLDS
} fold_t;

static const MPI_Op fold_ops[FOLDS] = {MPI_MINLOC, MPI_MAXLOC, MPI_MIN,     MPI_MAX,  MPI_SUM,
                                       MPI_PROD,   MPI_LAND,   MPI_LOR,     MPI_LXOR, MPI_BAND,
                                       MPI_BOR,    MPI_BXOR,   MPI_REPLACE, MPI_NO_OP};
static const char *const fold_names[FOLDS] = {"MINLOC", "MAXLOC", "MIN",     "MAX",  "SUM",
                                              "PROD",   "LAND",   "LOR",     "LXOR", "BAND",
                                              "BOR",    "BXOR",   "REPLACE", "NO_OP"};

typedef enum class { INTEGER, BITS, LOGICAL, REAL, COMPLEX, PAIR, CLASSES } class_t;

static const struct class_folds {
    fold_t first, last;
} class_folds[CLASSES] = {
    [INTEGER] = {MIN, BXOR}, [BITS] = {BAND, BXOR},   [LOGICAL] = {LAND, LXOR},
    [REAL] = {MIN, PROD},    [COMPLEX] = {SUM, PROD}, [PAIR] = {MINLOC, MAXLOC},
};

/* *into = *into fold *from. */
typedef void combine_fn_t(fold_t fold, void *into, const void *from);

#define FOLD(name, type, cases)                                                                    \
    static inline void combine_##name(fold_t fold, void *into, const void *from)                   \
    {                                                                                              \
        type a, b;                                                                                 \
        memcpy(&a, into, sizeof a);                                                                \
        memcpy(&b, from, sizeof b);                                                                \
        switch (fold) {                                                                            \
            cases default : break;                                                                 \
        }                                                                                          \
        memcpy(into, &a, sizeof a);                                                                \
    }
#define CASE(fold, type, expression)                                                               \
    case fold:                                                                                     \
        a = (type)(expression);                                                                    \
        break;

#define ORDER_CASES(type) CASE(MIN, type, a < b ? a : b) CASE(MAX, type, a > b ? a : b)
#define LOGICAL_CASES(type)                                                                        \
    CASE(LAND, type, a &&b) CASE(LOR, type, a || b) CASE(LXOR, type, !a != !b)
#define BIT_CASES(type)    CASE(BAND, type, a &b) CASE(BOR, type, a | b) CASE(BXOR, type, a ^ b)
#define NUMBER_CASES(type) CASE(SUM, type, a + b) CASE(PROD, type, a *b)

/* Integers wrap around, so they are taken in 64 bits without a sign. */
#define INTEGER_CASES(type)                                                                        \
    ORDER_CASES(type)                                                                              \
    LOGICAL_CASES(type)                                                                            \
    BIT_CASES(type)                                                                                \
    CASE(SUM, type, (uint64_t)a + (uint64_t)b) CASE(PROD, type, (uint64_t)a *(uint64_t)b)
#define REAL_CASES(type) ORDER_CASES(type) NUMBER_CASES(type)

FOLD(int8, int8_t, INTEGER_CASES(int8_t))
FOLD(int16, int16_t, INTEGER_CASES(int16_t))
FOLD(int32, int32_t, INTEGER_CASES(int32_t))
FOLD(int64, int64_t, INTEGER_CASES(int64_t))
FOLD(uint8, uint8_t, INTEGER_CASES(uint8_t))
FOLD(uint16, uint16_t, INTEGER_CASES(uint16_t))
FOLD(uint32, uint32_t, INTEGER_CASES(uint32_t))
FOLD(uint64, uint64_t, INTEGER_CASES(uint64_t))
FOLD(bool, bool, LOGICAL_CASES(bool))
FOLD(float, float, REAL_CASES(float))
FOLD(double, double, REAL_CASES(double))
FOLD(long_double, long double, REAL_CASES(long double))
FOLD(float_complex, float complex, NUMBER_CASES(float complex))
FOLD(double_complex, double complex, NUMBER_CASES(double complex))
FOLD(long_double_complex, long double complex, NUMBER_CASES(long double complex))

#define PAIR_CASES                                                                                 \
    case MINLOC:                                                                                   \
        if (b.value < a.value || (b.value == a.value && b.index < a.index))                        \
            a = b;                                                                                 \
        break;                                                                                     \
    case MAXLOC:                                                                                   \
        if (b.value > a.value || (b.value == a.value && b.index < a.index))                        \
            a = b;                                                                                 \
        break;
#define FOLD_PAIR(name, type)                                                                      \
    typedef struct name {                                                                          \
        type value;                                                                                \
        int index;                                                                                 \
    } name##_t;                                                                                    \
    FOLD(name, name##_t, PAIR_CASES)

FOLD_PAIR(float_int, float)
FOLD_PAIR(double_int, double)
FOLD_PAIR(long_int, long)
FOLD_PAIR(int_int, int)
FOLD_PAIR(short_int, short)
FOLD_PAIR(long_double_int, long double)

/* -- elements ------------------------------------------------------------------------ */

typedef enum number { FLOAT, DOUBLE, LONG_DOUBLE, SHORT, INT, LONG } number_t;

typedef struct element {
    MPI_Datatype type;
    const char *name;
    class_t class;
    int bytes;
    combine_fn_t *combine;
    number_t number; /* what it is made of, from REAL on */
    int index_at;    /* of a pair */
} element_t;

#define ROW(class, name, type, mpi_type)                                                           \
    {                                                                                              \
        mpi_type, #mpi_type, class, sizeof(type), combine_##name, INT, 0                           \
    }
#define REAL_ROW(class, name, type, mpi_type, number)                                              \
    {                                                                                              \
        mpi_type, #mpi_type, class, sizeof(type), combine_##name, number, 0                        \
    }
#define PAIR_ROW(name, mpi_type, number)                                                           \
    {                                                                                              \
        mpi_type, #mpi_type, PAIR, sizeof(name##_t), combine_##name, number,                       \
            offsetof(name##_t, index)                                                              \
    }

static const element_t elements[] = {
    ROW(INTEGER, int8, int8_t, MPI_INT8_T),
    ROW(INTEGER, int16, int16_t, MPI_INT16_T),
    ROW(INTEGER, int32, int32_t, MPI_INT32_T),
    ROW(INTEGER, int64, int64_t, MPI_INT64_T),
    ROW(INTEGER, uint8, uint8_t, MPI_UINT8_T),
    ROW(INTEGER, uint16, uint16_t, MPI_UINT16_T),
    ROW(INTEGER, uint32, uint32_t, MPI_UINT32_T),
    ROW(INTEGER, uint64, uint64_t, MPI_UINT64_T),
    ROW(INTEGER, int8, signed char, MPI_SIGNED_CHAR),
    ROW(INTEGER, uint16, unsigned short, MPI_UNSIGNED_SHORT),
    ROW(INTEGER, int32, int, MPI_INT),
    ROW(INTEGER, int64, long, MPI_LONG),
    ROW(INTEGER, int64, MPI_Aint, MPI_AINT),
    ROW(BITS, uint8, unsigned char, MPI_BYTE),
    ROW(LOGICAL, bool, bool, MPI_C_BOOL),
    REAL_ROW(REAL, float, float, MPI_FLOAT, FLOAT),
    REAL_ROW(REAL, double, double, MPI_DOUBLE, DOUBLE),
    REAL_ROW(REAL, long_double, long double, MPI_LONG_DOUBLE, LONG_DOUBLE),
    REAL_ROW(COMPLEX, float_complex, float complex, MPI_C_FLOAT_COMPLEX, FLOAT),
    REAL_ROW(COMPLEX, double_complex, double complex, MPI_C_DOUBLE_COMPLEX, DOUBLE),
    REAL_ROW(COMPLEX, long_double_complex, long double complex, MPI_C_LONG_DOUBLE_COMPLEX,
             LONG_DOUBLE),
    PAIR_ROW(float_int, MPI_FLOAT_INT, FLOAT),
    PAIR_ROW(double_int, MPI_DOUBLE_INT, DOUBLE),
    PAIR_ROW(long_int, MPI_LONG_INT, LONG),
    PAIR_ROW(int_int, MPI_2INT, INT),
    PAIR_ROW(short_int, MPI_SHORT_INT, SHORT),
    PAIR_ROW(long_double_int, MPI_LONG_DOUBLE_INT, LONG_DOUBLE),
};
enum { ELEMENTS = sizeof elements / sizeof *elements };

static inline int number_bytes(number_t number)
{
    /* The rest of an 80-bit number is padding. */
    static const int bytes[] = {
        sizeof(float), sizeof(double), LDBL_MANT_DIG == 64 ? 10 : sizeof(long double),
        sizeof(short), sizeof(int),    sizeof(long)};
    return bytes[number];
}

static inline bool is_significant(const element_t *element, int byte)
{
    int used = number_bytes(element->number);
    if (element->class == PAIR)
        return byte < used ||
               (byte >= element->index_at && byte < element->index_at + (int)sizeof(int));
    if (element->class == COMPLEX)
        return byte % (element->bytes / 2) < used;
    return element->class != REAL || byte < used;
}

/* Padding stays as it is. */
static inline void store_element(const element_t *element, char *to, const void *from)
{
    for (int i = 0; i < element->bytes; i++) {
        if (is_significant(element, i))
            to[i] = ((const char *)from)[i];
    }
}

static inline bool is_same_element(const element_t *element, const void *a, const void *b)
{
    for (int i = 0; i < element->bytes; i++) {
        if (is_significant(element, i) && ((const char *)a)[i] != ((const char *)b)[i])
            return false;
    }
    return true;
}

/* -- values -------------------------------------------------------------------------- */

static inline void set_number(number_t number, void *to, int value)
{
    float f = (float)value;
    double d = value;
    long double g = value;
    short s = (short)value;
    long l = value;
    const void *const from[] = {&f, &d, &g, &s, &value, &l};
    memcpy(to, from[number], (size_t)number_bytes(number));
}

/* No factor is 0, since products of 0 have signs that depend on the order; few are not 1 or -1,
 * since there may be hundreds. */
static inline int real_value(fold_t fold, uint64_t key)
{
    if (fold != PROD)
        return (int)(key % 17) - 8;
    return (key % 16 == 0 ? 2 : 1) * (key & 32 ? 1 : -1);
}

/* The value that belongs to a key, of those that may be combined by this operation. */
static inline void make_value(const element_t *element, fold_t fold, uint64_t key, void *to)
{
    char *bytes = to;
    uint64_t bits = key % 4 == 0 ? key >> 62 : key;
    bool truth = key % 2;
    switch (element->class) {
    case LOGICAL:
        memcpy(to, &truth, sizeof truth);
        break;
    case REAL:
        set_number(element->number, to, real_value(fold, key));
        break;
    case COMPLEX: /* its factors are 1+i and the like, so that not both parts become 0 */
        set_number(element->number, to, fold == PROD ? 1 - (int)(key & 2) : real_value(fold, key));
        set_number(element->number, bytes + element->bytes / 2,
                   fold == PROD ? 1 - (int)(key >> 1 & 2) : real_value(fold, key >> 20));
        break;
    case PAIR:
        set_number(element->number, to, (int)(key % 9) - 4);
        set_number(INT, bytes + element->index_at, (int)(key >> 10 & 1023) - 512);
        break;
    default:
        memcpy(to, &bits, (size_t)element->bytes);
    }
}

static inline uint64_t get_integer(const element_t *element, const void *from)
{
    uint8_t one;
    uint16_t two;
    uint32_t four;
    uint64_t eight;
    switch (element->bytes) {
    case 1:
        memcpy(&one, from, sizeof one);
        return one;
    case 2:
        memcpy(&two, from, sizeof two);
        return two;
    case 4:
        memcpy(&four, from, sizeof four);
        return four;
    default:
        memcpy(&eight, from, sizeof eight);
        return eight;
    }
}

static inline void set_integer(const element_t *element, void *to, uint64_t value)
{
    uint8_t one = (uint8_t)value;
    uint16_t two = (uint16_t)value;
    uint32_t four = (uint32_t)value;
    const void *from = element->bytes == 1   ? (const void *)&one
                       : element->bytes == 2 ? (const void *)&two
                       : element->bytes == 4 ? (const void *)&four
                                             : (const void *)&value;
    memcpy(to, from, (size_t)element->bytes);
}

#endif
