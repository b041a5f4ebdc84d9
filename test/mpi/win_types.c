/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Every predefined datatype with every operation that accumulates: all ranks work on the same
 * elements of one of them, many at once and one by one, and what must come out is known.
 */
#include <mpi.h>
#include <complex.h>
#include <stdint.h>
#include <string.h>

#include "tap.h"

/* The largest element is 32 bytes, a long double complex. An odd number of rounds. */
enum { ROUNDS = 7, ELEMENTS = 12, LARGEST = 32, BITS_MAX = 64 };

typedef enum kind { SIGNED, UNSIGNED, FLOATING, COMPLEX, BITS, LOGICAL } kind_t;

static int rank, size, target;
static MPI_Win win;
static char *memory;

/* -- elements ---------------------------------------------------------------------------------- */

typedef union element {
    char bytes[LARGEST];
    int64_t integer; /* its low bytes are those of every shorter integer */
    float real;
    double real_double;
    long double real_long;
    float _Complex pair;
    double _Complex pair_double;
    long double _Complex pair_long;
    bool truth;
} element_t;

typedef struct type {
    MPI_Datatype type;
    const char *name;
    kind_t kind;
    int bytes;
} type_t;

static element_t encode(const type_t *type, long value)
{
    element_t element = {{0}};
    const int bytes = type->bytes, halves = type->kind == COMPLEX ? 2 : 1;
    if (type->kind == LOGICAL && bytes == sizeof(bool))
        element.truth = value != 0;
    else if (type->kind == FLOATING && bytes == sizeof(float))
        element.real = (float)value;
    else if (type->kind == FLOATING && bytes == sizeof(double))
        element.real_double = (double)value;
    else if (type->kind == FLOATING)
        element.real_long = value;
    else if (type->kind == COMPLEX && bytes == halves * (int)sizeof(float))
        element.pair = (float)value;
    else if (type->kind == COMPLEX && bytes == halves * (int)sizeof(double))
        element.pair_double = (double)value;
    else if (type->kind == COMPLEX)
        element.pair_long = value;
    else
        element.integer = value;
    return element;
}

/* By value: 0 may be negative, and a long double has bytes that mean nothing. */
static bool is_value(const type_t *type, const char *bytes, long value)
{
    element_t found = {{0}}, wanted = encode(type, value);
    const int halves = type->kind == COMPLEX ? 2 : 1;
    memcpy(found.bytes, bytes, (size_t)type->bytes);
    if (type->kind != FLOATING && type->kind != COMPLEX)
        return memcmp(found.bytes, wanted.bytes, (size_t)type->bytes) == 0;
    if (type->bytes == halves * (int)sizeof(float))
        return halves == 1 ? found.real == wanted.real : found.pair == wanted.pair;
    if (type->bytes == halves * (int)sizeof(double))
        return halves == 1 ? found.real_double == wanted.real_double
                           : found.pair_double == wanted.pair_double;
    return halves == 1 ? found.real_long == wanted.real_long : found.pair_long == wanted.pair_long;
}

/* -- operations -------------------------------------------------------------------------------- */

/* What the elements begin with, what a rank gives in a round, and what comes out. */
typedef struct operation {
    MPI_Op op;
    const char *name;
    unsigned kinds; /* a bit for each kind that has it */
    long (*initial)(const type_t *type);
    long (*given)(const type_t *type, int origin, int round);
    long (*wanted)(const type_t *type);
} operation_t;

static long zero(const type_t *type)
{
    (void)type;
    return 0;
}

static long unity(const type_t *type)
{
    (void)type;
    return 1;
}

static long all_ones(const type_t *type)
{
    (void)type;
    return -1;
}

static long hundred(const type_t *type)
{
    (void)type;
    return 120;
}

/* One more is added than is taken away again. */
static long given_sum(const type_t *type, int origin, int round)
{
    (void)type, (void)origin;
    return round % 2 == 0 ? 1 : -1;
}

static long wanted_sum(const type_t *type)
{
    (void)type;
    return size;
}

/* Without overflow of what is signed. */
static long given_product(const type_t *type, int origin, int round)
{
    (void)origin, (void)round;
    return type->kind == UNSIGNED ? 3 : -1;
}

static long wanted_product(const type_t *type)
{
    uint64_t product = 1;
    for (int i = 0; i < ROUNDS * size; i++)
        product *= (uint64_t)given_product(type, 0, 0);
    return (long)product;
}

static long given_max(const type_t *type, int origin, int round)
{
    (void)type;
    return (round * size + origin) % 100 + 1;
}

static long wanted_max(const type_t *type)
{
    (void)type;
    return ROUNDS * size > 100 ? 100 : ROUNDS * size;
}

static long given_min(const type_t *type, int origin, int round)
{
    return 120 - given_max(type, origin, round);
}

static long wanted_min(const type_t *type)
{
    return 120 - wanted_max(type);
}

static long given_bit(const type_t *type, int origin, int round)
{
    return (long)(UINT64_C(1) << ((origin * ROUNDS + round) % (8 * type->bytes)));
}

static long given_hole(const type_t *type, int origin, int round)
{
    return ~given_bit(type, origin, round);
}

static long wanted_or(const type_t *type)
{
    long bits = 0;
    for (int i = 0; i < ROUNDS * size; i++)
        bits |= given_bit(type, i / ROUNDS, i % ROUNDS);
    return bits;
}

static long wanted_and(const type_t *type)
{
    return ~wanted_or(type);
}

static long wanted_xor(const type_t *type)
{
    long bits = 0;
    for (int i = 0; i < ROUNDS * size; i++)
        bits ^= given_bit(type, i / ROUNDS, i % ROUNDS);
    return bits;
}

/* Only the last rank does, once. */
static long given_once(const type_t *type, int origin, int round)
{
    (void)type;
    return origin == size - 1 && round == 3;
}

static long given_never(const type_t *type, int origin, int round)
{
    return !given_once(type, origin, round);
}

static long given_truth(const type_t *type, int origin, int round)
{
    (void)type, (void)origin, (void)round;
    return 1;
}

static long wanted_parity(const type_t *type)
{
    (void)type;
    return ROUNDS * size % 2;
}

enum {
    INTEGERS = 1 << SIGNED | 1 << UNSIGNED,
    REALS = INTEGERS | 1 << FLOATING,
    NUMBERS = REALS | 1 << COMPLEX
};

static const operation_t operations[] = {
    {MPI_SUM, "MPI_SUM", NUMBERS, zero, given_sum, wanted_sum},
    {MPI_PROD, "MPI_PROD", NUMBERS, unity, given_product, wanted_product},
    {MPI_MAX, "MPI_MAX", REALS, zero, given_max, wanted_max},
    {MPI_MIN, "MPI_MIN", REALS, hundred, given_min, wanted_min},
    {MPI_BAND, "MPI_BAND", INTEGERS | 1 << BITS, all_ones, given_hole, wanted_and},
    {MPI_BOR, "MPI_BOR", INTEGERS | 1 << BITS, zero, given_bit, wanted_or},
    {MPI_BXOR, "MPI_BXOR", INTEGERS | 1 << BITS, zero, given_bit, wanted_xor},
    {MPI_LAND, "MPI_LAND", INTEGERS | 1 << LOGICAL, unity, given_never, zero},
    {MPI_LOR, "MPI_LOR", INTEGERS | 1 << LOGICAL, zero, given_once, unity},
    {MPI_LXOR, "MPI_LXOR", INTEGERS | 1 << LOGICAL, zero, given_truth, wanted_parity},
};
enum { OPERATIONS = sizeof operations / sizeof *operations };

/* -- all ranks at once ------------------------------------------------------------------------- */

static void fill(const type_t *type, const operation_t *operation)
{
    const element_t element = encode(type, operation->initial(type));
    MPI_Barrier(MPI_COMM_WORLD);
    MPI_Win_lock(MPI_LOCK_EXCLUSIVE, rank, 0, win);
    for (int i = 0; i < ELEMENTS; i++)
        memcpy(memory + i * type->bytes, element.bytes, (size_t)type->bytes);
    MPI_Win_unlock(rank, win);
    MPI_Barrier(MPI_COMM_WORLD);
}

static void operate(const type_t *type, MPI_Op op, const char *out, int way)
{
    static char old[ELEMENTS * LARGEST];
    const MPI_Datatype one = type->type;
    switch (way % 4) {
    case 0:
        MPI_Accumulate(out, ELEMENTS, one, target, 0, ELEMENTS, one, op, win);
        break;
    case 1:
        MPI_Get_accumulate(out, ELEMENTS, one, old, ELEMENTS, one, target, 0, ELEMENTS, one, op,
                           win);
        break;
    default:
        for (int i = 0; i < ELEMENTS; i++) {
            const MPI_Aint place = i * type->bytes;
            if (way % 4 == 2)
                MPI_Fetch_and_op(out, old + place, one, target, place, op, win);
            else
                MPI_Accumulate(out + place, 1, one, target, place, 1, one, op, win);
        }
    }
    MPI_Win_flush(target, win);
}

/* Returns whether the elements of the target are what they must be. */
static bool run(const type_t *type, const operation_t *operation)
{
    char out[ELEMENTS * LARGEST], got[ELEMENTS * LARGEST];
    bool good = true;
    fill(type, operation);
    MPI_Win_lock_all(0, win);
    for (int round = 0; round < ROUNDS; round++) {
        const element_t element = encode(type, operation->given(type, rank, round));
        for (int i = 0; i < ELEMENTS; i++)
            memcpy(out + i * type->bytes, element.bytes, (size_t)type->bytes);
        operate(type, operation->op, out, round + rank);
    }
    MPI_Win_unlock_all(win);
    MPI_Barrier(MPI_COMM_WORLD);
    MPI_Win_lock(MPI_LOCK_SHARED, target, 0, win);
    MPI_Get(got, ELEMENTS, type->type, target, 0, ELEMENTS, type->type, win);
    MPI_Win_unlock(target, win);
    for (int i = 0; i < ELEMENTS; i++)
        good &= is_value(type, got + i * type->bytes, operation->wanted(type));
    if (!good)
        fprintf(stderr, "rank %d: %s is wrong for %s\n", rank, operation->name, type->name);
    return good;
}

static void check_type(const type_t *type)
{
    bool good = true;
    int bytes = 0;
    MPI_Type_size(type->type, &bytes);
    if (!tap_check(bytes == type->bytes, "%s has %d bytes", type->name, type->bytes))
        return;
    for (int i = 0; i < OPERATIONS; i++)
        if ((operations[i].kinds & 1u << type->kind) != 0)
            good &= run(type, &operations[i]);
    tap_check(good, "every operation on %s", type->name);
}

#define TYPE(type, kind, c_type)                                                                   \
    {                                                                                              \
        type, #type, kind, (int)sizeof(c_type)                                                     \
    }

static const type_t types[] = {
    TYPE(MPI_SIGNED_CHAR, SIGNED, char),
    TYPE(MPI_UNSIGNED_CHAR, UNSIGNED, char),
    TYPE(MPI_SHORT, SIGNED, short),
    TYPE(MPI_UNSIGNED_SHORT, UNSIGNED, short),
    TYPE(MPI_INT, SIGNED, int),
    TYPE(MPI_UNSIGNED, UNSIGNED, int),
    TYPE(MPI_LONG, SIGNED, long),
    TYPE(MPI_UNSIGNED_LONG, UNSIGNED, long),
    TYPE(MPI_LONG_LONG, SIGNED, long long),
    TYPE(MPI_UNSIGNED_LONG_LONG, UNSIGNED, long long),
    TYPE(MPI_INT8_T, SIGNED, int8_t),
    TYPE(MPI_INT16_T, SIGNED, int16_t),
    TYPE(MPI_INT32_T, SIGNED, int32_t),
    TYPE(MPI_INT64_T, SIGNED, int64_t),
    TYPE(MPI_UINT8_T, UNSIGNED, int8_t),
    TYPE(MPI_UINT16_T, UNSIGNED, int16_t),
    TYPE(MPI_UINT32_T, UNSIGNED, int32_t),
    TYPE(MPI_UINT64_T, UNSIGNED, int64_t),
    TYPE(MPI_AINT, SIGNED, MPI_Aint),
    TYPE(MPI_OFFSET, SIGNED, MPI_Offset),
    TYPE(MPI_COUNT, SIGNED, MPI_Count),
    TYPE(MPI_FLOAT, FLOATING, float),
    TYPE(MPI_DOUBLE, FLOATING, double),
    TYPE(MPI_LONG_DOUBLE, FLOATING, long double),
    TYPE(MPI_C_FLOAT_COMPLEX, COMPLEX, float _Complex),
    TYPE(MPI_C_DOUBLE_COMPLEX, COMPLEX, double _Complex),
    TYPE(MPI_C_LONG_DOUBLE_COMPLEX, COMPLEX, long double _Complex),
    TYPE(MPI_C_BOOL, LOGICAL, bool),
    TYPE(MPI_BYTE, BITS, char),
};

/* Pairs of a value and a place: the best value stays with its place. */
static void check_pairs(MPI_Op op, const char *name)
{
    typedef struct pair {
        double value;
        int place;
    } pair_t;
    const int sign = op == MPI_MAXLOC ? 1 : -1;
    pair_t out, old, got = {0, -1}, none = {0, -1};
    MPI_Barrier(MPI_COMM_WORLD);
    MPI_Win_lock(MPI_LOCK_EXCLUSIVE, rank, 0, win);
    memcpy(memory, &none, sizeof none);
    MPI_Win_unlock(rank, win);
    MPI_Barrier(MPI_COMM_WORLD);
    MPI_Win_lock_all(0, win);
    for (int i = 1; i <= ROUNDS; i++) {
        out = (pair_t){sign * (i * size + rank), i * 1000 + rank};
        if (i % 2 == 0)
            MPI_Accumulate(&out, 1, MPI_DOUBLE_INT, target, 0, 1, MPI_DOUBLE_INT, op, win);
        else
            MPI_Fetch_and_op(&out, &old, MPI_DOUBLE_INT, target, 0, op, win);
        MPI_Win_flush(target, win);
    }
    MPI_Win_unlock_all(win);
    MPI_Barrier(MPI_COMM_WORLD);
    MPI_Win_lock(MPI_LOCK_SHARED, target, 0, win);
    MPI_Get(&got, 1, MPI_DOUBLE_INT, target, 0, 1, MPI_DOUBLE_INT, win);
    MPI_Win_unlock(target, win);
    tap_check(got.value == sign * (ROUNDS * size + size - 1) &&
                  got.place == ROUNDS * 1000 + size - 1,
              "%s on MPI_DOUBLE_INT", name);
}

int main(int argc, char **argv)
{
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    tap_rank(rank);
    MPI_Win_allocate(ELEMENTS * LARGEST, 1, MPI_INFO_NULL, MPI_COMM_WORLD, &memory, &win);
    for (int i = 0; i < (int)(sizeof types / sizeof *types); i++) {
        target = i % size;
        check_type(&types[i]);
    }
    check_pairs(MPI_MAXLOC, "MPI_MAXLOC");
    check_pairs(MPI_MINLOC, "MPI_MINLOC");
    MPI_Win_free(&win);
    MPI_Finalize();
    return tap_finish();
}
