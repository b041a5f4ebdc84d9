/* SPDX-License-Identifier: BSD-3-Clause */
/* ompi/file/pointer.c, where it is a word of the file's area. */
#include "ompi/file/pointer.h"

#include <pthread.h>

#include "test/unit/opal/support.h"

enum { THREADS = 4, ROUNDS = 5000 };

static ompi_file_pointer_t *pointer;

static void setup(void)
{
    static ompi_communicator_t self = {.size = 1};
    static ompi_file_shared_t memory;
    static ompi_file_area_t area = {.memory = &memory, .nodes = 1};
    ck_assert_int_eq(ompi_file_pointer_create(&self, &area, MPI_SUCCESS, &pointer), MPI_SUCCESS);
}

static int64_t get(void)
{
    int64_t value = -1;
    ck_assert_int_eq(ompi_file_pointer_get(pointer, &value), MPI_SUCCESS);
    return value;
}

static void add(int64_t etypes, int64_t expected)
{
    int64_t before = -1;
    ck_assert_int_eq(ompi_file_pointer_add(pointer, etypes, &before), MPI_SUCCESS);
    ck_assert_int_eq(before, expected);
}

static void refuse(int64_t etypes)
{
    int64_t before = -1, value = get();
    ck_assert_int_eq(ompi_file_pointer_add(pointer, etypes, &before), MPI_ERR_ARG);
    ck_assert_int_eq(before, -1);
    ck_assert_int_eq(get(), value);
}

START_TEST(it_begins_at_0_and_moves)
{
    ck_assert_int_eq(get(), 0);
    add(5, 0);
    add(0, 5);
    add(7, 5);
    ck_assert_int_eq(get(), 12);
    ck_assert_int_eq(ompi_file_pointer_set(pointer, 3), MPI_SUCCESS);
    add(1, 3);
    ompi_file_pointer_destroy(pointer);
    ompi_file_pointer_destroy(NULL);
}
END_TEST

START_TEST(it_stays_within_its_limits)
{
    refuse(-1);
    ck_assert_int_eq(ompi_file_pointer_set(pointer, INT64_MAX - 4), MPI_SUCCESS);
    refuse(5);
    refuse(INT64_MAX);
    add(4, INT64_MAX - 4);
    refuse(1);
    add(0, INT64_MAX);
    add(-INT64_MAX, INT64_MAX);
    ck_assert_int_eq(get(), 0);
    ompi_file_pointer_destroy(pointer);
}
END_TEST

/* With an error there may be no area, and nothing is written. */
START_TEST(an_error_makes_no_pointer)
{
    static ompi_communicator_t self = {.size = 1};
    ompi_file_pointer_t *none = NULL;
    ck_assert_int_eq(ompi_file_pointer_create(&self, NULL, MPI_ERR_ACCESS, &none), MPI_ERR_ACCESS);
    ck_assert_ptr_null(none);
    ompi_file_pointer_destroy(pointer);
}
END_TEST

/* Returns how often the pointer was not behind where this thread had left it. */
static void *move(void *step)
{
    int64_t etypes = (int64_t)(uintptr_t)step, before, least = 0;
    uintptr_t wrong = 0;
    for (int round = 0; round < ROUNDS; round++) {
        if (ompi_file_pointer_add(pointer, etypes, &before) != MPI_SUCCESS || before < least)
            wrong++;
        least = before + etypes;
    }
    return (void *)wrong;
}

START_TEST(no_move_is_lost)
{
    pthread_t threads[THREADS];
    int64_t sum = 0;
    for (uintptr_t i = 0; i < THREADS; i++) {
        ck_assert_int_eq(pthread_create(&threads[i], NULL, move, (void *)(i + 1)), 0);
        sum += ROUNDS * (int64_t)(i + 1);
    }
    for (int i = 0; i < THREADS; i++) {
        void *wrong;
        ck_assert_int_eq(pthread_join(threads[i], &wrong), 0);
        ck_assert_ptr_null(wrong);
    }
    ck_assert_int_eq(get(), sum);
    ompi_file_pointer_destroy(pointer);
}
END_TEST

static const unit_test_t tests[] = {
    {.test = &it_begins_at_0_and_moves},
    {.test = &it_stays_within_its_limits},
    {.test = &an_error_makes_no_pointer},
    {.test = &no_move_is_lost},
};

UNIT_MAIN("pointer", tests, setup);
