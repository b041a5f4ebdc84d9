/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * MPI_Dims_create. The smallest extent is tried from the largest divisor down that could do, and
 * what is left is divided the same way. Each solution bounds the largest extent of the next, so
 * that the search ends soon.
 */
#include <stdlib.h>

#include "opal/util/text.h"
#include "ompi/topology/topology.h"

typedef struct divisors {
    int *items; /* rising */
    int count;
} divisors_t;

/* 46341^2 is more than INT_MAX: half of the divisors are smaller. */
enum { MOST_DIVISORS = 2 * 46341 };

static divisors_t divisors_of(int number)
{
    divisors_t found = {.items = opal_xmalloc(MOST_DIVISORS * sizeof(int))};
    int low = 0, high = MOST_DIVISORS;
    for (int64_t i = 1; i * i <= number; i++) {
        if (number % i != 0)
            continue;
        found.items[low++] = (int)i;
        if (number / i != i)
            found.items[--high] = (int)(number / i);
    }
    for (; high < MOST_DIVISORS; high++)
        found.items[low++] = found.items[high];
    found.count = low;
    return found;
}

static int largest_prime_of(int number)
{
    int largest = 1;
    for (int prime = 2; (int64_t)prime * prime <= number; prime++) {
        for (; number % prime == 0; number /= prime)
            largest = prime;
    }
    return number > 1 ? number : largest;
}

/* Whether `count` factors up to `bound` can reach the number. */
static bool can_reach(int64_t number, int count, int64_t bound)
{
    int64_t product = 1;
    for (int i = 0; i < count && product < number; i++)
        product *= bound;
    return product >= number;
}

/*
 * `number` as `count` rising factors from `low` on, the last one below `limit` and as small as
 * possible, then the first one as large as possible, and so on. False: there are none.
 */
static bool factorize(const divisors_t *divisors, int number, int count, int low, int64_t limit,
                      int factors[])
{
    bool found = false;
    if (largest_prime_of(number) >= limit)
        return false;
    if (count == 1) {
        factors[0] = number;
        return number < limit;
    }
    for (int i = divisors->count - 1; i >= 0 && divisors->items[i] >= low; i--) {
        int factor = divisors->items[i];
        if (number % factor != 0 || can_reach((int64_t)number + 1, count, factor))
            continue;
        if (!can_reach(number / factor, count - 1, limit - 1))
            break;
        if (factorize(divisors, number / factor, count - 1, factor, limit, factors + 1)) {
            factors[0] = factor;
            limit = factors[count - 1];
            found = true;
        }
    }
    return found;
}

/* `number` as `count` rising factors, the first and the last as close as possible. */
static void balance(const divisors_t *divisors, int number, int count, int factors[])
{
    int64_t spread = number; /* no solution has so much */
    if (count == 1)
        factors[0] = number;
    for (int i = divisors->count - 1; i >= 0 && count > 1; i--) {
        int factor = divisors->items[i];
        if (can_reach((int64_t)number + 1, count, factor))
            continue;
        if (!can_reach(number / factor, count - 1, factor + spread - 1))
            break;
        if (factorize(divisors, number / factor, count - 1, factor, factor + spread, factors + 1)) {
            factors[0] = factor;
            spread = factors[count - 1] - factor;
        }
    }
}

bool ompi_dims_create(int nodes, int dimensions, int extents[])
{
    int open = 0, rest = nodes;
    for (int i = 0; i < dimensions; i++) {
        if (extents[i] == 0)
            open++;
        else if (rest % extents[i] == 0)
            rest /= extents[i];
        else
            return false;
    }
    if (open == 0)
        return rest == 1;
    int *factors = opal_xmalloc((size_t)open * sizeof *factors);
    divisors_t divisors = divisors_of(rest);
    balance(&divisors, rest, open, factors);
    for (int i = 0; i < dimensions; i++) {
        if (extents[i] == 0)
            extents[i] = factors[--open];
    }
    free(divisors.items);
    free(factors);
    return true;
}
