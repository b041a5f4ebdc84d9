/* SPDX-License-Identifier: BSD-3-Clause */
/* ompi/datatype/signature.c: hashes of sequences, and of their beginnings. */
#include "ompi/datatype/signature.h"

#include "ompi/datatype/datatype.h"
#include "test/unit/opal/support.h"

enum { ELEMENTS_MAX = 64 };

static ompi_signature_t *of(MPI_Datatype handle)
{
    return ompi_datatype_of(handle)->shape.signature;
}

typedef struct part {
    ompi_signature_t *signature;
    size_t count;
} part_t;

static ompi_signature_t *join(const part_t *parts, size_t count)
{
    ompi_signature_list_t list = {0};
    for (size_t i = 0; i < count; i++)
        ompi_signature_list_add(&list, parts[i].signature, parts[i].count);
    return ompi_signature_list_finish(&list);
}

/* Appends the elements one by one. */
static size_t spread(ompi_signature_t *signature, part_t elements[], size_t count)
{
    if (signature->basic != NULL) {
        ck_assert_uint_lt(count, ELEMENTS_MAX);
        elements[count] = (part_t){signature, 1};
        return count + 1;
    }
    for (size_t i = 0; i < signature->count; i++) {
        for (size_t j = 0; j < signature->parts[i].count; j++)
            count = spread(signature->parts[i].signature, elements, count);
    }
    return count;
}

/* The hash of each beginning is that of a sequence of its elements. */
static void expect_prefixes(ompi_signature_t *signature)
{
    part_t elements[ELEMENTS_MAX];
    size_t one = spread(signature, elements, 0), three = one;
    for (int i = 0; i < 2; i++)
        three = spread(signature, elements, three);
    ck_assert_uint_eq(one, signature->elements);
    for (size_t length = 0; length <= three; length++) {
        ompi_signature_t *plain = join(elements, length);
        ck_assert_uint_eq(ompi_signature_prefix_hash(signature, length),
                          ompi_signature_hash(plain, 1));
        ompi_signature_release(plain);
    }
    ck_assert_uint_eq(ompi_signature_prefix_hash(signature, three),
                      ompi_signature_hash(signature, 3));
}

START_TEST(prefixes)
{
    part_t flat[] = {{of(MPI_INT), 2}, {of(MPI_DOUBLE), 3}, {of(MPI_INT), 1}};
    ompi_signature_t *inner = join(flat, OPAL_COUNT_OF(flat));
    part_t nested[] = {{of(MPI_CHAR), 1}, {inner, 2}, {of(MPI_FLOAT), 2}};
    ompi_signature_t *outer = join(nested, OPAL_COUNT_OF(nested));
    expect_prefixes(of(MPI_INT));
    expect_prefixes(of(MPI_DOUBLE_INT));
    expect_prefixes(inner);
    expect_prefixes(outer);
    ompi_signature_release(outer);
    ompi_signature_release(inner);
}
END_TEST

START_TEST(different_prefixes)
{
    part_t parts[] = {{of(MPI_INT), 2}, {of(MPI_FLOAT), 2}};
    part_t swapped[] = {{of(MPI_FLOAT), 2}, {of(MPI_INT), 2}};
    ompi_signature_t *one = join(parts, 2), *other = join(swapped, 2);
    for (size_t length = 1; length <= 8; length++)
        ck_assert_uint_ne(ompi_signature_prefix_hash(one, length),
                          ompi_signature_prefix_hash(other, length));
    ck_assert_uint_ne(ompi_signature_prefix_hash(one, 2), ompi_signature_prefix_hash(one, 3));
    ompi_signature_release(one);
    ompi_signature_release(other);
}
END_TEST

/* In logarithmic time. */
START_TEST(long_prefixes)
{
    part_t parts[] = {{of(MPI_INT), (size_t)1 << 40}, {of(MPI_FLOAT), (size_t)1 << 40}};
    ompi_signature_t *one = join(parts, 2);
    ck_assert_uint_eq(ompi_signature_prefix_hash(one, (size_t)1 << 40),
                      ompi_signature_hash(of(MPI_INT), (size_t)1 << 40));
    ck_assert_uint_eq(ompi_signature_prefix_hash(one, (size_t)1 << 60),
                      ompi_signature_hash(one, (size_t)1 << 19));
    ck_assert_uint_eq(ompi_signature_prefix_hash(&ompi_signature_empty, 7), 0);
    ompi_signature_release(one);
}
END_TEST

static const unit_test_t tests[] = {
    {.test = &prefixes}, {.test = &different_prefixes}, {.test = &long_prefixes}};

static void setup(void)
{
    ck_assert_int_eq(ompi_datatype_init(), MPI_SUCCESS);
}

UNIT_MAIN("ompi/datatype/signature", tests, setup);
