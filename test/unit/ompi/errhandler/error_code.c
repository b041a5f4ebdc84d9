/* SPDX-License-Identifier: BSD-3-Clause */
/* ompi/errhandler/error_code.c: what test/mpi/error_codes.c cannot reach. */
#include "ompi/errhandler/error_code.h"

#include <limits.h>

#include "test/unit/opal/support.h"

START_TEST(every_status_becomes_a_code)
{
    char string[MPI_MAX_ERROR_STRING];
    ck_assert_int_eq(ompi_error_of_status(OPAL_SUCCESS), MPI_SUCCESS);
    ck_assert_int_eq(ompi_error_of_status(OPAL_ERR_NO_MEMORY), MPI_ERR_NO_MEM);
    ck_assert_int_eq(ompi_error_of_status(OPAL_ERR_TRUNCATED), MPI_ERR_TRUNCATE);
    ck_assert_int_eq(ompi_error_of_status(OPAL_STATUS_COUNT), MPI_ERR_INTERN);
    for (int status = OPAL_SUCCESS + 1; status < OPAL_STATUS_COUNT; status++) {
        int code = ompi_error_of_status((opal_status_t)status);
        ck_assert_int_ne(code, MPI_SUCCESS);
        ompi_error_string(code, string);
        unit_assert_part(string, "MPI_ERR_");
    }
}
END_TEST

START_TEST(any_number_has_a_string_and_a_class)
{
    static const int numbers[] = {INT_MIN, -1, 63, 1000, MPI_ERR_LASTCODE, 16384, INT_MAX};
    char string[MPI_MAX_ERROR_STRING];
    for (size_t i = 0; i < OPAL_COUNT_OF(numbers); i++) {
        ck_assert(!ompi_error_is_known(numbers[i]));
        ck_assert_int_eq(ompi_error_class(numbers[i]), MPI_ERR_UNKNOWN);
        ompi_error_string(numbers[i], string);
        unit_assert_part(string, "is not an error code");
    }
    ck_assert(ompi_error_is_known(MPI_ERR_UNKNOWN));
}
END_TEST

/* A number is given out again only when no later one is in use. */
START_TEST(numbers_of_removed_codes_rest)
{
    int class, first, second, third;
    ck_assert_int_eq(ompi_error_add_class(&class), MPI_SUCCESS);
    ck_assert_int_eq(ompi_error_add_code(class, &first), MPI_SUCCESS);
    ck_assert_int_eq(ompi_error_add_code(class, &second), MPI_SUCCESS);
    ck_assert_int_eq(ompi_error_remove_code(first), MPI_SUCCESS);
    ck_assert_int_eq(ompi_error_remove_code(first), MPI_ERR_ARG);
    ck_assert_int_eq(ompi_error_add_code(class, &third), MPI_SUCCESS);
    ck_assert_int_gt(third, second);
    ck_assert_int_eq(ompi_error_remove_code(third), MPI_SUCCESS);
    ck_assert_int_eq(ompi_error_remove_code(second), MPI_SUCCESS);
    ck_assert_int_eq(ompi_error_remove_class(class), MPI_SUCCESS);
    ck_assert_int_eq(ompi_error_add_class(&third), MPI_SUCCESS);
    ck_assert_int_eq(third, class);
}
END_TEST

START_TEST(the_list_grows)
{
    int class = 0;
    for (int i = 0; i < 1000; i++) {
        ck_assert_int_eq(ompi_error_add_class(&class), MPI_SUCCESS);
        ck_assert_int_eq(class, MPI_ERR_LASTCODE + 1 + i);
    }
    ck_assert_int_eq(ompi_error_class(MPI_ERR_LASTCODE + 500), MPI_ERR_LASTCODE + 500);
}
END_TEST

static const unit_test_t tests[] = {
    {.test = &every_status_becomes_a_code},
    {.test = &any_number_has_a_string_and_a_class},
    {.test = &numbers_of_removed_codes_rest},
    {.test = &the_list_grows},
};

UNIT_MAIN("error_code", tests, NULL);
