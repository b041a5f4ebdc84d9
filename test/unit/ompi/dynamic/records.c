/* SPDX-License-Identifier: BSD-3-Clause */
/* ompi/dynamic/records.c: what the root of another job sends is checked. */
#include "ompi/dynamic/records.h"

#include <limits.h>

#include "ompi/errhandler/error_code.h"
#include "test/unit/opal/support.h"

static ompi_side_head_t receive(int error)
{
    ompi_records_t records = {0};
    ompi_side_head_t head = {0};
    ck_assert(ompi_records_finish(&records, &(ompi_side_head_t){.error = error}));
    ck_assert(ompi_records_check(&head, records.bytes, records.length));
    ompi_records_free(&records);
    return head;
}

/* A code that either program added means nothing in the other one. */
START_TEST(errors_are_classes_of_the_standard)
{
    int class;
    ck_assert_int_eq(ompi_error_add_class(&class), MPI_SUCCESS);
    const int strange[] = {class, MPI_ERR_LASTCODE, 1000, INT_MAX};
    ck_assert_int_eq(receive(MPI_SUCCESS).error, MPI_SUCCESS);
    ck_assert_int_eq(receive(MPI_ERR_NO_MEM).error, MPI_ERR_NO_MEM);
    for (size_t i = 0; i < OPAL_COUNT_OF(strange); i++)
        ck_assert_int_eq(receive(strange[i]).error, MPI_ERR_OTHER);
}
END_TEST

START_TEST(records_are_as_many_as_the_head_says)
{
    ompi_records_t records = {0};
    ompi_side_head_t head;
    ompi_records_add(&records, "abc", 3);
    ompi_records_add(&records, "defgh", 5);
    ck_assert(ompi_records_finish(&records, &(ompi_side_head_t){.count = 2, .leader = 1}));
    ck_assert(ompi_records_check(&head, records.bytes, records.length));
    ck_assert_int_eq(head.count, 2);
    ck_assert_int_eq(head.leader, 1);
    for (size_t length = 0; length < records.length; length++)
        ck_assert(!ompi_records_check(&head, records.bytes, length));
    ck_assert(ompi_records_finish(&records, &(ompi_side_head_t){.count = 2, .leader = 2}));
    ck_assert(!ompi_records_check(&head, records.bytes, records.length));
    ompi_records_free(&records);
}
END_TEST

static const unit_test_t tests[] = {
    {.test = &errors_are_classes_of_the_standard},
    {.test = &records_are_as_many_as_the_head_says},
};

UNIT_MAIN("records", tests, NULL);
