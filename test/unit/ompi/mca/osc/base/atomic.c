/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * ompi/mca/osc/base/atomic.c: every operation on every element that fits, against the loops of
 * ompi/op and against C; and threads whose changes must not be lost.
 */
#include "ompi/mca/osc/base/atomic.h"

#include <pthread.h>

#include "test/unit/opal/support.h"

enum { VALUES = 40, THREADS = 4, ROUNDS = 5000, OPS_END = 0x100 };

static void setup(void)
{
    ck_assert_int_eq(ompi_datatype_init(), MPI_SUCCESS);
    ompi_op_init();
}

static ompi_op_t *op_of(MPI_Op handle)
{
    return ompi_handle_object(handle);
}

/* Random bits; those of a logical value are 0 or 1. */
static uint64_t draw(const ompi_datatype_t *type)
{
    static uint64_t state = 12345;
    state = state * UINT64_C(6364136223846793005) + 1442695040888963407;
    return (ompi_op_type(type).class & OMPI_OP_LOGICAL) != 0 ? state >> 63 : state ^ state >> 29;
}

/* -- one thread -------------------------------------------------------------------------------- */

/* Neighbours of the element are not touched, and the operand may lie at any address. */
static void check(const ompi_op_t *op, const ompi_datatype_t *type, size_t bytes)
{
    for (int i = 0; i < VALUES; i++) {
        uint64_t words[3] = {draw(type), draw(type), draw(type)}, in = draw(type), wanted = 0;
        uint64_t kept[3] = {words[0], words[1], words[2]}, before = 0;
        char odd[9];
        memcpy(odd + 1, &in, 8);
        ompi_op_combine(op, &in, &words[1], &wanted, 1, type);
        memcpy(&kept[1], &wanted, bytes);
        uint64_t old = words[1];
        bool keeps = op->action == OMPI_OP_KEEP;
        ompi_osc_atomic(op, type, bytes, &words[1], keeps ? NULL : odd + 1,
                        i % 4 == 0 ? NULL : &before);
        ck_assert_mem_eq(words, kept, sizeof words);
        if (i % 4 != 0)
            ck_assert_mem_eq(&before, &old, bytes);
    }
}

START_TEST(every_operation_is_as_in_the_loops)
{
    unsigned checked = 0;
    for (unsigned o = 1; o < OPS_END; o++) {
        ompi_op_t *op = (ompi_op_t *)ompi_handle_predefined[o];
        for (unsigned t = 0; ompi_object_is(op, OMPI_OP) && t < OMPI_OP_HANDLES; t++) {
            ompi_datatype_t *type =
                (ompi_datatype_t *)ompi_handle_predefined[OMPI_OP_FIRST_HANDLE + t];
            if (!ompi_datatype_is_type(type) || ompi_datatype_element(type) == NULL ||
                !ompi_op_is_valid_for_rma(op, type))
                continue;
            size_t bytes = ompi_datatype_size(type);
            if ((MPI_Count)bytes != ompi_datatype_extent(type) || !ompi_osc_atomic_fits(0, bytes))
                continue;
            check(op, type, bytes);
            checked++;
        }
    }
    ck_assert_uint_gt(checked, 300);
}
END_TEST

static const struct {
    MPI_Datatype type;
    size_t bytes;
} words[] = {{MPI_UINT8_T, 1}, {MPI_UINT16_T, 2}, {MPI_UINT32_T, 4}, {MPI_UINT64_T, 8}};

START_TEST(every_instruction_is_as_in_c)
{
    static const uint64_t a = UINT64_C(0xf0e1d2c3b4a59687), b = UINT64_C(0x99aabbccddeeff80);
    static const struct {
        MPI_Op op;
        uint64_t result;
    } ops[] = {{MPI_SUM, a + b},  {MPI_PROD, a * b}, {MPI_BAND, a & b},    {MPI_BOR, a | b},
               {MPI_BXOR, a ^ b}, {MPI_NO_OP, b},    {MPI_REPLACE, a},     {MPI_LAND, 1},
               {MPI_LOR, 1},      {MPI_LXOR, 0},     {MPI_MIN, UINT64_MAX}};
    size_t bytes = words[_i].bytes;
    for (size_t i = 0; i < OPAL_COUNT_OF(ops); i++) {
        uint64_t where = b, before = 0, wanted = b, result = ops[i].result;
        uint64_t mask = UINT64_MAX >> (64 - 8 * bytes);
        if (ops[i].op == MPI_MIN)
            result = (a & mask) < (b & mask) ? a : b;
        memcpy(&wanted, &result, bytes);
        ompi_osc_atomic(op_of(ops[i].op), ompi_datatype_of(words[_i].type), bytes, &where, &a,
                        &before);
        ck_assert_uint_eq(where, wanted);
        ck_assert_uint_eq(before, b & mask);
    }
}
END_TEST

START_TEST(compare_writes_if_it_is_equal)
{
    size_t bytes = (size_t)1 << _i;
    uint64_t words[3] = {77, UINT64_C(0x1122334455667788), 99}, old = words[1], before = 0;
    uint64_t in = UINT64_C(0x99aabbccddeeff00), with = old ^ UINT64_C(1) << (8 * bytes - 1);
    ompi_osc_atomic_compare(bytes, &words[1], &in, &with, &before);
    ck_assert_uint_eq(words[1], old);
    ck_assert_mem_eq(&before, &old, bytes);
    with = old ^ (bytes < 8 ? UINT64_C(1) << 8 * bytes : 0); /* what is behind does not count */
    ompi_osc_atomic_compare(bytes, &words[1], &in, &with, &with);
    ck_assert_mem_eq(&with, &old, bytes);
    memcpy(&old, &in, bytes);
    ck_assert_uint_eq(words[1], old);
    ck_assert(words[0] == 77 && words[2] == 99);
}
END_TEST

START_TEST(aligned_powers_of_two_fit)
{
    for (size_t bytes = 0; bytes <= 32; bytes++) {
        for (uintptr_t address = 64; address < 80; address++) {
            bool fits =
                (bytes == 1 || bytes == 2 || bytes == 4 || bytes == 8) && address % bytes == 0;
            ck_assert(ompi_osc_atomic_fits(address, bytes) == fits);
        }
    }
}
END_TEST

/* -- several threads --------------------------------------------------------------------------- */

typedef struct pair {
    float value;
    int index;
} pair_t;

static double sum;
static pair_t least = {1e9F, -1};
static uint8_t bytes_of_word[4];
static uint64_t total, befores[THREADS];

static void *change_all(void *number)
{
    unsigned self = (unsigned)(uintptr_t)number;
    for (int i = 0; i < ROUNDS; i++) {
        double half = 0.5;
        uint64_t one = 1, before;
        uint8_t byte = 1;
        pair_t pair = {(float)((self * 7919 + (unsigned)i * 31) % 10007), (int)self};
        ompi_osc_atomic(op_of(MPI_SUM), ompi_datatype_of(MPI_DOUBLE), 8, &sum, &half, NULL);
        ompi_osc_atomic(op_of(MPI_SUM), ompi_datatype_of(MPI_UINT64_T), 8, &total, &one, &before);
        befores[self] += before;
        ompi_osc_atomic(op_of(MPI_SUM), ompi_datatype_of(MPI_UINT8_T), 1, &bytes_of_word[self],
                        &byte, NULL);
        ompi_osc_atomic(op_of(MPI_MINLOC), ompi_datatype_of(MPI_FLOAT_INT), 8, &least, &pair, NULL);
    }
    return NULL;
}

/* The least pair of all, as MPI_MINLOC has it. */
static pair_t least_of_all(void)
{
    pair_t found = {1e9F, -1};
    for (unsigned self = 0; self < THREADS; self++) {
        for (unsigned i = 0; i < ROUNDS; i++) {
            float value = (float)((self * 7919 + i * 31) % 10007);
            if (value < found.value)
                found = (pair_t){value, (int)self};
        }
    }
    return found;
}

START_TEST(nothing_is_lost_between_threads)
{
    pthread_t threads[THREADS];
    uint64_t all = 0;
    for (uintptr_t i = 0; i < THREADS; i++)
        ck_assert_int_eq(pthread_create(&threads[i], NULL, change_all, (void *)i), 0);
    for (int i = 0; i < THREADS; i++)
        pthread_join(threads[i], NULL);
    for (int i = 0; i < THREADS; i++) {
        all += befores[i];
        ck_assert_uint_eq(bytes_of_word[i], ROUNDS % 256);
    }
    ck_assert_double_eq(sum, THREADS * ROUNDS * 0.5);
    ck_assert_uint_eq(total, THREADS * ROUNDS);
    /* Each value before the change was seen by one thread. */
    ck_assert_uint_eq(all, (uint64_t)THREADS * ROUNDS * (THREADS * ROUNDS - 1) / 2);
    pair_t wanted = least_of_all();
    ck_assert(least.value == wanted.value && least.index == wanted.index);
}
END_TEST

static const unit_test_t tests[] = {
    {.test = &every_operation_is_as_in_the_loops},
    {.test = &every_instruction_is_as_in_c, .repeats = 4},
    {.test = &compare_writes_if_it_is_equal, .repeats = 4},
    {.test = &aligned_powers_of_two_fit},
    {.test = &nothing_is_lost_between_threads},
};

UNIT_MAIN("atomic", tests, setup);
