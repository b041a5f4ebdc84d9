/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Fingerprints of sets of bytes: for each of two keys the sum of key^x over the offsets x, modulo
 * the prime P = 2^61 - 1.
 *
 * Two different multisets have the same sum for at most as many keys as the distance from the first
 * byte to the last, because their difference is a polynomial of the key that is not zero.
 *
 * The sum of a layout follows from those of its children, each times key^offset: an offset counts
 * modulo P - 1, so that negative ones need no inverse. Repetitions are geometric series, which are
 * summed up by doubling: 1 + x + ... has no closed form where x = 1, and division is slow.
 */
#include <stdint.h>

#include "ompi/file/view.h"

#define PRIME ((UINT64_C(1) << 61) - 1)

__extension__ typedef unsigned __int128 product_t;

/* The powers of a key: digit d of an exponent, in base 16, stands for key^(d * 16^place). */
enum { DIGIT_BITS = 4, DIGITS = 16, PLACES = 16 };

typedef struct powers {
    uint64_t of[PLACES][DIGITS];
} powers_t;

static uint64_t add(uint64_t a, uint64_t b)
{
    uint64_t sum = a + b;
    return sum >= PRIME ? sum - PRIME : sum;
}

static uint64_t multiply(uint64_t a, uint64_t b)
{
    product_t product = (product_t)a * b;
    return add((uint64_t)product & PRIME, (uint64_t)(product >> 61));
}

static void list_powers(powers_t *powers, uint64_t key)
{
    uint64_t base = key % (PRIME - 1) + 1; /* not 0 */
    for (size_t place = 0; place < PLACES; place++) {
        powers->of[place][0] = 1;
        for (size_t digit = 1; digit < DIGITS; digit++)
            powers->of[place][digit] = multiply(powers->of[place][digit - 1], base);
        base = multiply(powers->of[place][DIGITS - 1], base);
    }
}

static uint64_t power(const powers_t *powers, ptrdiff_t exponent)
{
    uint64_t result = 1;
    int64_t rest = exponent % (int64_t)(PRIME - 1);
    uint64_t left = (uint64_t)(rest < 0 ? rest + (int64_t)(PRIME - 1) : rest);
    for (size_t place = 0; left > 0; place++, left >>= DIGIT_BITS)
        if (left % DIGITS != 0)
            result = multiply(result, powers->of[place][left % DIGITS]);
    return result;
}

/* 1 + base + base^2 ..., `count` terms. */
static uint64_t series(uint64_t base, uint64_t count)
{
    uint64_t sum = 0, next = 1; /* of the terms so far; base^(how many these are) */
    for (uint64_t bit = count > 0 ? UINT64_C(1) << (63 - __builtin_clzll(count)) : 0; bit > 0;
         bit >>= 1) {
        sum = add(sum, multiply(sum, next));
        next = multiply(next, next);
        if ((count & bit) != 0) {
            sum = add(sum, next);
            next = multiply(next, base);
        }
    }
    return sum;
}

static uint64_t sum_run(const powers_t *powers, uint64_t from, uint64_t bytes)
{
    return multiply(power(powers, (ptrdiff_t)from), series(powers->of[0][1], bytes));
}

static uint64_t sum_children(const powers_t *powers, const ompi_layout_t *layout, size_t first,
                             size_t behind);

static uint64_t sum_all(const powers_t *powers, const ompi_layout_t *layout)
{
    return layout->kind == OMPI_LAYOUT_RUN ? sum_run(powers, 0, layout->bytes)
                                           : sum_children(powers, layout, 0, layout->count);
}

/* Of whole children. */
static uint64_t sum_children(const powers_t *powers, const ompi_layout_t *layout, size_t first,
                             size_t behind)
{
    uint64_t sum = 0, of_child = 0;
    size_t bytes = 0; /* of the run that of_child is the sum of, if last is NULL */
    const ompi_layout_t *last = NULL;
    if (first == behind)
        return 0;
    if (layout->kind == OMPI_LAYOUT_LOOP) {
        uint64_t begin = power(powers, ompi_layout_child_offset(layout, first));
        uint64_t repeated = series(power(powers, layout->stride), behind - first);
        return multiply(multiply(begin, repeated), sum_all(powers, layout->child));
    }
    for (size_t i = first; i < behind; i++) {
        const ompi_layout_t *child = ompi_layout_child(layout, i);
        size_t of = ompi_layout_child_bytes(layout, i);
        if (child != last || (child == NULL && of != bytes))
            of_child = child != NULL ? sum_all(powers, child) : sum_run(powers, 0, of);
        last = child;
        bytes = of;
        uint64_t begin = power(powers, ompi_layout_child_offset(layout, i));
        sum = add(sum, multiply(begin, of_child));
    }
    return sum;
}

static uint64_t sum_range(const powers_t *powers, const ompi_layout_t *layout, size_t from,
                          size_t to);

/* The bytes [from, to) of a child. */
static uint64_t sum_of_child(const powers_t *powers, const ompi_layout_t *layout, size_t index,
                             size_t from, size_t to)
{
    const ompi_layout_t *child = ompi_layout_child(layout, index);
    uint64_t sum =
        child != NULL ? sum_range(powers, child, from, to) : sum_run(powers, from, to - from);
    return multiply(power(powers, ompi_layout_child_offset(layout, index)), sum);
}

/* The bytes [from, to) of the packed form. */
static uint64_t sum_range(const powers_t *powers, const ompi_layout_t *layout, size_t from,
                          size_t to)
{
    size_t skip, last = layout->count, end = 0;
    uint64_t sum = 0;
    if (from == to)
        return 0;
    if (layout->kind == OMPI_LAYOUT_RUN)
        return sum_run(powers, from, to - from);
    size_t first = ompi_layout_child_at(layout, from, &skip);
    if (to < layout->bytes)
        last = ompi_layout_child_at(layout, to, &end);
    if (first == last)
        return sum_of_child(powers, layout, first, skip, end);
    if (skip > 0) {
        sum = sum_of_child(powers, layout, first, skip, ompi_layout_child_bytes(layout, first));
        first++;
    }
    sum = add(sum, sum_children(powers, layout, first, last));
    return end > 0 ? add(sum, sum_of_child(powers, layout, last, 0, end)) : sum;
}

ompi_fingerprint_t ompi_view_fingerprint(const ompi_view_t *view, uint64_t position, uint64_t bytes,
                                         const uint64_t key[2])
{
    powers_t powers;
    ompi_fingerprint_t fingerprint;
    size_t length = ompi_datatype_clamp(view->tree->bytes, position, bytes);
    for (size_t i = 0; i < OPAL_COUNT_OF(fingerprint.words); i++) {
        list_powers(&powers, key[i]);
        uint64_t sum = length > 0 ? sum_range(&powers, view->tree, position, position + length) : 0;
        fingerprint.words[i] = multiply(power(&powers, view->start), sum);
    }
    return fingerprint;
}

ompi_fingerprint_t ompi_fingerprint_of_range(uint64_t first, uint64_t bytes, const uint64_t key[2])
{
    powers_t powers;
    ompi_fingerprint_t fingerprint;
    for (size_t i = 0; i < OPAL_COUNT_OF(fingerprint.words); i++) {
        list_powers(&powers, key[i]);
        fingerprint.words[i] = sum_run(&powers, first, bytes);
    }
    return fingerprint;
}

ompi_fingerprint_t ompi_fingerprint_add(ompi_fingerprint_t a, ompi_fingerprint_t b)
{
    return (ompi_fingerprint_t){{add(a.words[0], b.words[0]), add(a.words[1], b.words[1])}};
}
