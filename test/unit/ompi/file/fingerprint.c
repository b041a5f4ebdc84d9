/* SPDX-License-Identifier: BSD-3-Clause */
/* ompi/file/fingerprint.c, against sums byte by byte, and on what it is for: parts of a range. */
#include "ompi/api/bodies.h"
#include "ompi/file/view.h"
#include "test/unit/ompi/file/sample_view.h"
#include "test/unit/opal/support.h"

enum { ROUNDS = 5, VIEWS = 200, TRIES = 4, MAX_BYTES = 1500 };

static const uint64_t prime = (UINT64_C(1) << 61) - 1;
static const uint64_t keys[][2] = {
    {UINT64_C(0x123456789abcdef1), UINT64_C(0xfedcba9876543217)},
    {0, (UINT64_C(1) << 61) - 3}, /* whose powers are 1, and 1 or -1 */
};

static uint64_t multiply(uint64_t a, uint64_t b)
{
    __extension__ unsigned __int128 product = a;
    return (uint64_t)(product * b % prime);
}

static uint64_t power(uint64_t base, uint64_t exponent)
{
    uint64_t result = 1;
    for (; exponent > 0; exponent /= 2, base = multiply(base, base))
        result = exponent % 2 != 0 ? multiply(result, base) : result;
    return result;
}

static void check_range(const sample_view_t *sample, size_t from, size_t bytes,
                        const uint64_t key[2])
{
    ompi_fingerprint_t found = ompi_view_fingerprint(sample->view, from, bytes, key);
    for (size_t k = 0; k < 2; k++) {
        uint64_t sum = 0;
        for (size_t i = from; i < from + bytes; i++)
            sum = (sum + power(key[k] % (prime - 1) + 1, (uint64_t)sample->offsets[i])) % prime;
        ck_assert_uint_eq(found.words[k], sum);
    }
}

START_TEST(random_views_are_sums_of_their_bytes)
{
    model_seed((uint64_t)_i + 1);
    for (int i = 0; i < VIEWS; i++) {
        sample_view_t sample = sample_view_create(3);
        size_t bytes = sample.bytes < MAX_BYTES ? sample.bytes : MAX_BYTES;
        check_range(&sample, 0, bytes, keys[i % 2]);
        for (int k = 0; k < TRIES; k++) {
            size_t from = (size_t)model_random(0, (MPI_Count)bytes);
            check_range(&sample, from, (size_t)model_random(0, (MPI_Count)(bytes - from)),
                        keys[i % 2]);
        }
        sample_view_destroy(&sample);
    }
}
END_TEST

static bool is_same(ompi_fingerprint_t a, ompi_fingerprint_t b)
{
    return a.words[0] == b.words[0] && a.words[1] == b.words[1];
}

/* Process `rank` of 6 of an array of 2^20 x 2^20 x 2^8 numbers: 2 PiB. */
static ompi_view_t *create_part(int rank)
{
    static const int distribs[] = {MPI_DISTRIBUTE_CYCLIC, MPI_DISTRIBUTE_BLOCK,
                                   MPI_DISTRIBUTE_NONE};
    static const int dargs[] = {7, MPI_DISTRIBUTE_DFLT_DARG, MPI_DISTRIBUTE_DFLT_DARG};
    static const int processes[] = {2, 3, 1};
    static const MPI_Count sizes[] = {1 << 20, 1 << 20, 1 << 8};
    ompi_datatype_t *filetype;
    ompi_view_t *view;
    const char *reason;
    ck_assert_int_eq(ompi_api_type_create_darray(6, rank, 3, ompi_ints_large(sizes), distribs,
                                                 dargs, processes, MPI_ORDER_C,
                                                 ompi_datatype_of(MPI_DOUBLE), &filetype),
                     MPI_SUCCESS);
    ck_assert_int_eq(ompi_view_create(1000, ompi_datatype_of(MPI_DOUBLE), filetype,
                                      ompi_datarep_find("native"), &view, &reason),
                     MPI_SUCCESS);
    ompi_datatype_release(filetype);
    return view;
}

START_TEST(parts_of_an_array_make_up_a_range)
{
    ompi_fingerprint_t sum = {0}, less = {0};
    for (int rank = 0; rank < 6; rank++) {
        ompi_view_t *view = create_part(rank);
        uint64_t bytes = ompi_datatype_size(view->filetype);
        sum = ompi_fingerprint_add(sum, ompi_view_fingerprint(view, 0, 3 * bytes, keys[0]));
        less = ompi_fingerprint_add(
            less, ompi_view_fingerprint(view, 0, 3 * bytes - (rank == 4), keys[0]));
        ompi_view_release(view);
    }
    ompi_fingerprint_t all = ompi_fingerprint_of_range(1000, UINT64_C(3) << 51, keys[0]);
    ck_assert(is_same(sum, all));
    ck_assert(!is_same(less, all));
    ck_assert(!is_same(sum, ompi_fingerprint_of_range(1001, UINT64_C(3) << 51, keys[0])));
}
END_TEST

START_TEST(ranges_add_up)
{
    ompi_fingerprint_t whole = ompi_fingerprint_of_range(77, 1000, keys[0]);
    ompi_fingerprint_t parts = ompi_fingerprint_add(ompi_fingerprint_of_range(77, 400, keys[0]),
                                                    ompi_fingerprint_of_range(477, 600, keys[0]));
    ompi_fingerprint_t none = ompi_fingerprint_of_range(77, 0, keys[0]);
    ck_assert(is_same(whole, parts));
    ck_assert(none.words[0] == 0 && none.words[1] == 0);
    /* Ranges that overlap: a byte too often is no byte too few. */
    parts = ompi_fingerprint_add(ompi_fingerprint_of_range(77, 401, keys[0]),
                                 ompi_fingerprint_of_range(477, 599, keys[0]));
    ck_assert(!is_same(whole, parts));
}
END_TEST

static const unit_test_t tests[] = {
    {.test = &random_views_are_sums_of_their_bytes, .repeats = ROUNDS},
    {.test = &parts_of_an_array_make_up_a_range},
    {.test = &ranges_add_up},
};

static void setup(void)
{
    ck_assert_int_eq(ompi_datatype_init(), MPI_SUCCESS);
    model_seed(1);
}

UNIT_MAIN("ompi/file/fingerprint", tests, setup);
