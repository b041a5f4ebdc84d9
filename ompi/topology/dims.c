/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * MPI_Dims_create. The largest extent is tried from the smallest divisor on that could do, and
 * what is left is divided the same way, with nothing larger.
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
static bool can_reach(int64_t number, int count, int bound)
{
    int64_t product = 1;
    for (int i = 0; i < count && product < number; i++)
        product *= bound;
    return product >= number;
}

/* `number` as `count` falling factors, none larger than `bound`. */
static bool factorize(const divisors_t *divisors, int number, int count, int bound, int factors[])
{
    if (count == 1) {
        factors[0] = number;
        return number <= bound;
    }
    int prime = largest_prime_of(number);
    for (int i = 0; i < divisors->count && divisors->items[i] <= bound; i++) {
        int factor = divisors->items[i];
        if (factor < prime || number % factor != 0 || !can_reach(number, count, factor))
            continue;
        if (factorize(divisors, number / factor, count - 1, factor, factors + 1)) {
            factors[0] = factor;
            return true;
        }
    }
    return false;
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
    int *factors = opal_xmalloc((size_t)open * sizeof *factors), next = 0;
    divisors_t divisors = divisors_of(rest);
    factorize(&divisors, rest, open, rest, factors); /* the number itself and ones would do */
    for (int i = 0; i < dimensions; i++) {
        if (extents[i] == 0)
            extents[i] = factors[next++];
    }
    free(divisors.items);
    free(factors);
    return true;
}
