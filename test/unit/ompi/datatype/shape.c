/* SPDX-License-Identifier: BSD-3-Clause */
/* ompi/datatype/shape.c: numbers that are too large, elements, what is given back. */
#include "ompi/datatype/shape.h"

#include "ompi/datatype/datatype.h"
#include "test/unit/opal/support.h"

static const MPI_Count huge = (MPI_Count)1 << 61;

static const ompi_shape_t *shape_of(MPI_Datatype handle)
{
    return &ompi_datatype_of(handle)->shape;
}

START_TEST(sizes_that_do_not_fit)
{
    ompi_shape_t shape;
    const ompi_shape_t *number = shape_of(MPI_DOUBLE), *byte = shape_of(MPI_BYTE);
    ck_assert_int_eq(ompi_shape_repeat(number, (size_t)huge, 8, &shape), MPI_ERR_VALUE_TOO_LARGE);
    ck_assert_int_eq(ompi_shape_repeat(number, 3, huge * 2, &shape), MPI_ERR_VALUE_TOO_LARGE);
    ck_assert_int_eq(ompi_shape_repeat(number, SIZE_MAX, 0, &shape), MPI_ERR_VALUE_TOO_LARGE);
    ck_assert_int_eq(ompi_shape_repeat(byte, (size_t)huge, 1, &shape), MPI_SUCCESS);
    ck_assert_uint_eq(shape.layout->bytes, huge);
    ck_assert_int_eq(ompi_shape_resize(&shape, huge * 2, huge * 2), MPI_ERR_VALUE_TOO_LARGE);
    ompi_shape_release(&shape);
}
END_TEST

/* Displacements that are far from each other, and a sum of many blocks. */
START_TEST(joins_that_do_not_fit)
{
    static const struct {
        MPI_Count displacement, count;
    } blocks[][2] = {
        {{-2 * huge - huge, 1}, {2 * huge, 1}},
        {{4 * (huge - 1), 1}, {4 * (huge - 1) + 2, huge}},
        {{0, huge / 8}, {0, huge}},
    };
    for (size_t i = 0; i < OPAL_COUNT_OF(blocks); i++) {
        ompi_shape_join_t join;
        ompi_shape_t shape;
        ompi_shape_join_begin(&join);
        for (size_t j = 0; j < 2; j++)
            ompi_shape_join_add(&join, shape_of(MPI_DOUBLE), blocks[i][j].displacement,
                                blocks[i][j].count);
        ck_assert_int_eq(ompi_shape_join_finish(&join, &shape), MPI_ERR_VALUE_TOO_LARGE);
    }
}
END_TEST

START_TEST(elements_of_one_predefined_type)
{
    ompi_shape_join_t join;
    ompi_shape_t twice, mixed, pairs;
    ompi_shape_join_begin(&join);
    ompi_shape_join_add(&join, shape_of(MPI_INT), 0, 3);
    ompi_shape_join_add(&join, shape_of(MPI_DOUBLE), 0, 0);
    ompi_shape_join_add(&join, shape_of(MPI_INT), 40, 1);
    ck_assert_int_eq(ompi_shape_join_finish(&join, &twice), MPI_SUCCESS);
    ck_assert_ptr_eq(twice.element, ompi_datatype_of(MPI_INT));
    ck_assert_uint_eq(twice.signature->count, 1);

    ompi_shape_join_begin(&join);
    ompi_shape_join_add(&join, &twice, 0, 1);
    ompi_shape_join_add(&join, shape_of(MPI_FLOAT), 60, 1);
    ompi_shape_join_add(&join, &twice, 80, 1);
    ck_assert_int_eq(ompi_shape_join_finish(&join, &mixed), MPI_SUCCESS);
    ck_assert_ptr_null(mixed.element);
    ck_assert_uint_eq(mixed.signature->elements, 9);

    ck_assert_int_eq(ompi_shape_repeat(shape_of(MPI_DOUBLE_INT), 5, 16, &pairs), MPI_SUCCESS);
    ck_assert_ptr_eq(pairs.element, ompi_datatype_of(MPI_DOUBLE_INT));
    ck_assert_uint_eq(pairs.signature->elements, 10);
    ompi_shape_release(&pairs);
    ompi_shape_release(&mixed);
    ompi_shape_release(&twice);
}
END_TEST

START_TEST(nothing_has_no_bounds)
{
    ompi_shape_join_t join;
    ompi_shape_t nothing, marked, shape;
    ck_assert_int_eq(ompi_shape_repeat(shape_of(MPI_INT), 0, 4, &nothing), MPI_SUCCESS);
    marked = ompi_shape_copy(&nothing);
    ck_assert_int_eq(ompi_shape_resize(&marked, 0, 16), MPI_SUCCESS);
    ompi_shape_join_begin(&join);
    ompi_shape_join_add(&join, &nothing, 1000, 5);
    ompi_shape_join_add(&join, shape_of(MPI_INT), 8, 1);
    ck_assert_int_eq(ompi_shape_join_finish(&join, &shape), MPI_SUCCESS);
    ck_assert_int_eq(shape.bounds.lb, 8);
    ck_assert_int_eq(shape.bounds.ub, 12);
    ompi_shape_release(&shape);

    /* Markers count although there is no data with them. */
    ompi_shape_join_begin(&join);
    ompi_shape_join_add(&join, &marked, 100, 2);
    ompi_shape_join_add(&join, shape_of(MPI_INT), 8, 1);
    ck_assert_int_eq(ompi_shape_join_finish(&join, &shape), MPI_SUCCESS);
    ck_assert_int_eq(shape.bounds.lb, 100);
    ck_assert_int_eq(shape.bounds.ub, 132);
    ck_assert_int_eq(shape.bounds.true_lb, 8);
    ompi_shape_release(&shape);
    ompi_shape_release(&marked);
    ompi_shape_release(&nothing);
}
END_TEST

/* A row of blocks of one length shares the block's layout. */
START_TEST(memory_is_bounded)
{
    ompi_shape_t vector, shape;
    ompi_shape_join_t join;
    ck_assert_int_eq(ompi_shape_repeat(shape_of(MPI_INT), 100000, 12, &vector), MPI_SUCCESS);
    ompi_shape_join_begin(&join);
    for (MPI_Count i = 0; i < 1000; i++)
        ompi_shape_join_add(&join, &vector, i * i * 10000000, 7);
    ck_assert_int_eq(ompi_shape_join_finish(&join, &shape), MPI_SUCCESS);
    ck_assert_int_eq(shape.layout->kind, OMPI_LAYOUT_BLOCKS);
    ck_assert_uint_eq(shape.layout->count, 1000);
    ck_assert_uint_eq(shape.layout->segments, (size_t)1000 * 7 * 100000);
    ck_assert_uint_eq(shape.signature->count, 1);
    ompi_shape_release(&shape);
    ompi_shape_release(&vector);
}
END_TEST

static const unit_test_t tests[] = {
    {.test = &sizes_that_do_not_fit},
    {.test = &joins_that_do_not_fit},
    {.test = &elements_of_one_predefined_type},
    {.test = &nothing_has_no_bounds},
    {.test = &memory_is_bounded},
};

static void setup(void)
{
    ck_assert_int_eq(ompi_datatype_init(), MPI_SUCCESS);
}

UNIT_MAIN("ompi/datatype/shape", tests, setup);
