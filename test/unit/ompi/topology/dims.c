/* SPDX-License-Identifier: BSD-3-Clause */
/* ompi/topology/dims.c: against all ways to write a number as a product. */
#include <limits.h>

#include "ompi/topology/topology.h"
#include "test/unit/opal/support.h"

static void setup(void)
{
}

enum { MOST = 6 };

/* Falling factors, tried from the smallest first one on, so that the first product is the best. */
static bool search(int rest, int count, int bound, int factors[])
{
    if (count == 0)
        return rest == 1;
    for (int factor = 1; factor <= bound; factor++) {
        factors[0] = factor;
        if (rest % factor == 0 && search(rest / factor, count - 1, factor, factors + 1))
            return true;
    }
    return false;
}

START_TEST(small_numbers)
{
    for (int nodes = 1; nodes <= 400; nodes++) {
        for (int count = 1; count <= MOST; count++) {
            int extents[MOST] = {0}, best[MOST];
            ck_assert(search(nodes, count, nodes, best));
            ck_assert(ompi_dims_create(nodes, count, extents));
            for (int i = 0; i < count; i++)
                ck_assert_int_eq(extents[i], best[i]);
        }
    }
}
END_TEST

START_TEST(given_ones)
{
    int extents[] = {0, 3, 0, 1};
    ck_assert(ompi_dims_create(36, 4, extents));
    ck_assert_int_eq(extents[0], 4);
    ck_assert_int_eq(extents[1], 3);
    ck_assert_int_eq(extents[2], 3);
    ck_assert_int_eq(extents[3], 1);
    int wrong[] = {5, 0};
    ck_assert(!ompi_dims_create(36, 2, wrong));
    int full[] = {6, 6};
    ck_assert(ompi_dims_create(36, 2, full));
    ck_assert(!ompi_dims_create(72, 2, full));
    ck_assert(ompi_dims_create(1, 0, NULL));
    ck_assert(!ompi_dims_create(2, 0, NULL));
}
END_TEST

/* Numbers where a careless search would take for ever. */
START_TEST(large_numbers)
{
    static const int numbers[] = {INT_MAX,   1 << 30,    2 * 1073676287, 46337 * 46337,
                                  735134400, 1102701600, 2095133040};
    for (size_t i = 0; i < OPAL_COUNT_OF(numbers); i++) {
        for (int count = 1; count <= 31; count++) {
            int extents[31] = {0};
            int64_t product = 1;
            ck_assert(ompi_dims_create(numbers[i], count, extents));
            for (int k = 0; k < count; k++) {
                product *= extents[k];
                ck_assert(k == 0 || extents[k] <= extents[k - 1]);
            }
            ck_assert_int_eq(product, numbers[i]);
        }
    }
    int square[2] = {0};
    ck_assert(ompi_dims_create(46337 * 46337, 2, square));
    ck_assert_int_eq(square[0], 46337);
}
END_TEST

static const unit_test_t tests[] = {
    {.test = &small_numbers}, {.test = &given_ones}, {.test = &large_numbers}};

UNIT_MAIN("ompi/topology/dims", tests, setup);
