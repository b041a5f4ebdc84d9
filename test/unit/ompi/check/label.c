/* SPDX-License-Identifier: BSD-3-Clause */
/* ompi/check/label.c: which receives may take a message. */
#include "ompi/check/label.h"

#include "ompi/check/finding.h"
#include "test/unit/opal/support.h"

static ompi_communicator_t comm = {.rank = 1};

static ompi_datatype_t *of(MPI_Datatype handle)
{
    return ompi_datatype_of(handle);
}

/* `ints` ints, then `doubles` doubles. */
static ompi_datatype_t *mixed(int ints, int doubles)
{
    ompi_shape_join_t join;
    ompi_shape_t shape;
    ompi_shape_join_begin(&join);
    ompi_shape_join_add(&join, &of(MPI_INT)->shape, 0, ints);
    ompi_shape_join_add(&join, &of(MPI_DOUBLE)->shape, 64, doubles);
    ck_assert_int_eq(ompi_shape_join_finish(&join, &shape), MPI_SUCCESS);
    return ompi_datatype_create(&shape, NULL);
}

static int send(const ompi_datatype_t *sent, size_t count, const ompi_datatype_t *awaited,
                size_t room)
{
    ompi_check_label_t label = ompi_check_label_of(sent, count);
    ck_assert_uint_eq(label.mark, OMPI_CHECK_LABEL_MARK);
    return ompi_check_label_compare(&label, awaited, room, &comm, 0, 5);
}

START_TEST(one_kind_of_element)
{
    ck_assert_int_eq(send(of(MPI_INT), 4, of(MPI_INT), 4), MPI_SUCCESS);
    ck_assert_int_eq(send(of(MPI_INT), 4, of(MPI_INT32_T), 100), MPI_SUCCESS);
    ck_assert_int_eq(send(of(MPI_INT), 4, of(MPI_BYTE), 16), MPI_SUCCESS);
    ck_assert_int_eq(send(of(MPI_PACKED), 16, of(MPI_DOUBLE), 2), MPI_SUCCESS);
    ck_assert_int_eq(send(of(MPI_INT), 0, of(MPI_DOUBLE), 2), MPI_SUCCESS);
    ck_assert_int_eq(send(of(MPI_INT), 4, of(MPI_DOUBLE), 0), MPI_SUCCESS);
    ck_assert_int_eq(send(of(MPI_INT), 4, of(MPI_FLOAT), 6), MPI_ERR_TYPE);
    ck_assert_str_eq(ompi_check_finding.text,
                     "The datatypes of a message differ: rank 0 has sent 4 MPI_INT with tag 5, and "
                     "the receive of rank 1 is of 6 MPI_FLOAT.");
    ck_assert_ptr_eq(ompi_check_finding.about, &comm.head);
}
END_TEST

/* Only the elements that were sent count, wherever a structure of the receiver ends. */
START_TEST(several_kinds)
{
    ompi_datatype_t *two = mixed(2, 3), *same = mixed(2, 3), *other = mixed(3, 2);
    ompi_datatype_t *short_one = mixed(2, 1), *long_one = mixed(2, 4);
    ck_assert_int_eq(send(two, 2, same, 2), MPI_SUCCESS);
    ck_assert_int_eq(send(two, 2, same, 7), MPI_SUCCESS);
    ck_assert_int_eq(send(two, 1, other, 1), MPI_ERR_TYPE);
    ck_assert_int_eq(send(short_one, 1, long_one, 1), MPI_SUCCESS);
    ck_assert_int_eq(send(short_one, 2, long_one, 2), MPI_ERR_TYPE);
    ck_assert_int_eq(send(of(MPI_INT), 2, two, 1), MPI_SUCCESS);
    ck_assert_int_eq(send(of(MPI_INT), 3, two, 1), MPI_ERR_TYPE);
    ck_assert_ptr_nonnull(strstr(ompi_check_finding.text, "has sent 3 MPI_INT with tag 5"));
    ck_assert_ptr_nonnull(strstr(ompi_check_finding.text, "is of 5 elements, 32 bytes."));
    ck_assert_int_eq(send(two, 1, of(MPI_INT), 8), MPI_ERR_TYPE);
    ck_assert_int_eq(send(two, 1, of(MPI_BYTE), 32), MPI_SUCCESS);
    ompi_datatype_t *all[] = {two, same, other, short_one, long_one};
    for (size_t i = 0; i < OPAL_COUNT_OF(all); i++)
        ompi_datatype_release(all[i]);
}
END_TEST

/* A pair is two elements. */
START_TEST(pairs)
{
    ompi_check_label_t label = ompi_check_label_of(of(MPI_DOUBLE_INT), 3);
    ck_assert_uint_eq(label.elements, 6);
    ck_assert_uint_eq(label.bytes, 36);
    ck_assert_int_eq(send(of(MPI_DOUBLE_INT), 3, of(MPI_DOUBLE_INT), 3), MPI_SUCCESS);
    ck_assert_int_eq(send(of(MPI_DOUBLE_INT), 3, of(MPI_FLOAT_INT), 6), MPI_ERR_TYPE);
}
END_TEST

static const unit_test_t tests[] = {
    {.test = &one_kind_of_element}, {.test = &several_kinds}, {.test = &pairs}};

static void setup(void)
{
    ck_assert_int_eq(ompi_datatype_init(), MPI_SUCCESS);
}

UNIT_MAIN("ompi/check/label", tests, setup);
