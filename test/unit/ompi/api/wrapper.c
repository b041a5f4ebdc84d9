/* SPDX-License-Identifier: BSD-3-Clause */
/* ompi/api/wrapper.h: arrays of either width. */
#include "ompi/api/wrapper.h"

#include "test/unit/opal/support.h"

START_TEST(arrays_of_either_width)
{
    static const int small[] = {1, -2, 2147483647};
    static const MPI_Count large[] = {1, -2, INT64_C(5000000000)};
    static const MPI_Aint displacements[] = {7, -8};
    ompi_ints_t ints = ompi_ints_small(small);
    ck_assert_int_eq(ompi_ints_at(ints, 1), -2);
    ck_assert_int_eq(ompi_ints_at(ints, 2), 2147483647);
    ints = ompi_ints_large(large);
    ck_assert_int_eq(ompi_ints_at(ints, 1), -2);
    ck_assert_int_eq(ompi_ints_at(ints, 2), INT64_C(5000000000));
    ints = ompi_wide_ints_small(displacements);
    ck_assert_int_eq(ompi_ints_at(ints, 1), -8);
}
END_TEST

static const unit_test_t tests[] = {{.test = &arrays_of_either_width}};

UNIT_MAIN("wrapper", tests, NULL);
