/* SPDX-License-Identifier: BSD-3-Clause */
/* ompi/topology/dims.c: against all ways to write a number as a product. */
#include <limits.h>
#include <string.h>

#include "ompi/topology/topology.h"
#include "test/unit/opal/support.h"

static void setup(void)
{
}

enum { MOST = 6 };

/* Whether falling factors are better than others: closer, or else the last ones larger. */
static bool is_better(const int factors[], const int others[], int count)
{
    int spread = factors[0] - factors[count - 1], other = others[0] - others[count - 1];
    for (int i = count - 1; spread == other && i >= 0; i--) {
        if (factors[i] != others[i])
            return factors[i] > others[i];
    }
    return spread < other;
}

/* Goes through all products of falling factors, of which the first `done` are there. */
static void search(int rest, int count, int done, int factors[], int best[])
{
    if (done == count) {
        if (rest == 1 && (best[0] == 0 || is_better(factors, best, count)))
            memcpy(best, factors, (size_t)count * sizeof *best);
        return;
    }
    for (int factor = 1; factor <= (done > 0 ? factors[done - 1] : rest); factor++) {
        factors[done] = factor;
        if (rest % factor == 0)
            search(rest / factor, count, done + 1, factors, best);
    }
}

START_TEST(small_numbers)
{
    for (int nodes = 1; nodes <= 400; nodes++) {
        for (int count = 1; count <= MOST; count++) {
            int extents[MOST] = {0}, factors[MOST], best[MOST] = {0};
            search(nodes, count, 0, factors, best);
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

/* Where the smallest first factor is not the best, and where the differences are the same. */
START_TEST(close_ones)
{
    int first[3] = {0}, second[3] = {0};
    ck_assert(ompi_dims_create(5040, 3, first));
    ck_assert(first[0] == 21 && first[1] == 16 && first[2] == 15); /* and not 20 x 18 x 14 */
    ck_assert(ompi_dims_create(7488, 3, second));
    ck_assert(second[0] == 26 && second[1] == 18 && second[2] == 16); /* and not 24 x 24 x 13 */
}
END_TEST

static const unit_test_t tests[] = {
    {.test = &small_numbers},
    {.test = &given_ones},
    {.test = &large_numbers},
    {.test = &close_ones},
};

UNIT_MAIN("ompi/topology/dims", tests, setup);
