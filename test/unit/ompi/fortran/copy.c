/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * ompi/fortran/copy.c: what a section has before, during and behind an operation on its copy. The
 * operations are the test's: they write to the copy.
 */
#include "ompi/fortran/copy.h"

#include "ompi/datatype/datatype.h"
#include "ompi/request/request.h"
#include "test/unit/ompi/fortran/arrays.h"

enum { ROWS = 3, COLUMNS = 4, STRIDE = 5, CELLS = COLUMNS * STRIDE, NUMBERS = ROWS * COLUMNS };

/* ROWS of the STRIDE rows of a matrix, whose cells have their own numbers. */
typedef struct matrix {
    int cells[CELLS];
    ompi_fortran_array_t *section;
} matrix_t;

static void fill_matrix(matrix_t *matrix, int first)
{
    for (int i = 0; i < CELLS; i++)
        matrix->cells[i] = first + i;
}

static void create_matrix(matrix_t *matrix, int first)
{
    fill_matrix(matrix, first);
    matrix->section =
        create_block(&matrix->cells[1], sizeof(int), ROWS, COLUMNS, STRIDE * sizeof(int));
}

static int cell_of(int number)
{
    return 1 + number / ROWS * STRIDE + number % ROWS;
}

static void check_copy(const int *numbers, int first)
{
    for (int i = 0; i < NUMBERS; i++)
        ck_assert_int_eq(numbers[i], first + cell_of(i));
}

/* An operation adds this to each number. */
enum { ADDED = 1000 };

static void operate(int *numbers)
{
    for (int i = 0; i < NUMBERS; i++)
        numbers[i] += ADDED;
}

/* Cells of the section have been operated on so often, the others never. */
static void check_matrix(const matrix_t *matrix, int first, int times)
{
    int expected[CELLS];
    for (int i = 0; i < CELLS; i++)
        expected[i] = first + i;
    for (int i = 0; i < NUMBERS; i++)
        expected[cell_of(i)] += times * ADDED;
    ck_assert_mem_eq(matrix->cells, expected, sizeof expected);
}

/* -- blocking calls --------------------------------------------------------------------------- */

START_TEST(a_written_copy_goes_back)
{
    matrix_t matrix;
    bool is_written = _i == 0;
    create_matrix(&matrix, 10);
    ompi_fortran_copy_t copy = ompi_fortran_copy(matrix.section);
    ck_assert_ptr_ne(copy.buffer, matrix.section->base);
    ck_assert(!copy.has_failed);
    check_copy(copy.buffer, 10);
    operate(copy.buffer);
    check_matrix(&matrix, 10, 0);
    ompi_fortran_copy_end(&copy, is_written);
    check_matrix(&matrix, 10, is_written ? 1 : 0);
    free(matrix.section);
}
END_TEST

START_TEST(a_dense_array_is_its_own_copy)
{
    matrix_t matrix;
    create_matrix(&matrix, 10);
    matrix.section->dims[0].extent = STRIDE;
    ompi_fortran_copy_t copy = ompi_fortran_copy(matrix.section);
    ck_assert_ptr_eq(copy.buffer, matrix.section->base);
    ompi_fortran_copy_t *copies[] = {&copy};
    ompi_fortran_copy_attach(MPI_REQUEST_NULL, copies, (bool[]){true}, 1);
    ompi_fortran_copy_end(&copy, true);
    check_matrix(&matrix, 10, 0);
    free(matrix.section);

    ompi_fortran_array_t *array =
        create_array(&mpi_fortran_constants_[OMPI_FORTRAN_IN_PLACE], 4, 0);
    ck_assert_ptr_eq(ompi_fortran_copy(array).buffer, MPI_IN_PLACE);
    free(array);
}
END_TEST

/* For want of memory, or because MPI does not run. */
START_TEST(a_copy_that_is_not_made_fails_the_call)
{
    matrix_t matrix;
    create_matrix(&matrix, 10);
    ompi_datatype_fini();
    ompi_fortran_copy_t copy = ompi_fortran_copy(matrix.section);
    ck_assert(copy.has_failed);
    ck_assert(copy.has_failed);
    ompi_fortran_copy_end(&copy, true);
    check_matrix(&matrix, 10, 0);
    free(matrix.section);
}
END_TEST

/* -- requests --------------------------------------------------------------------------------- */

static int requests_left;

static void destroy(ompi_object_t *head)
{
    requests_left--;
    free(opal_container_of(head, ompi_request_t, head));
}

/* What the operation works on, as collectives do: a buffer that is only read, and another one. */
static int *reads, *writes;
static int first_read;

static int start(ompi_request_t *request OPAL_UNUSED)
{
    check_copy(reads, first_read);
    return MPI_SUCCESS;
}

static int cancel(ompi_request_t *request)
{
    ompi_request_complete(request);
    return MPI_SUCCESS;
}

/* A request that uses copies of both matrices. */
static ompi_request_t *begin(matrix_t *from, matrix_t *to, bool is_persistent, bool is_done)
{
    static const ompi_request_ops_t ops = {.start = start, .cancel = cancel};
    ompi_fortran_copy_t read = ompi_fortran_copy(from->section);
    ompi_fortran_copy_t write = ompi_fortran_copy(to->section);
    ompi_fortran_copy_t *copies[] = {&read, &write};
    reads = read.buffer;
    writes = write.buffer;
    ompi_request_t *request = malloc(sizeof *request);
    ck_assert_ptr_nonnull(request);
    requests_left++;
    ompi_request_init(request, &ops, NULL, destroy);
    if (is_persistent)
        ompi_request_make_persistent(request);
    if (is_done) {
        operate(writes);
        ompi_request_complete(request);
    }
    ompi_fortran_copy_attach(ompi_object_handle(request), copies, (bool[]){false, true}, 2);
    ompi_fortran_copy_end(&read, true); /* nothing is left to do */
    ompi_fortran_copy_end(&write, true);
    return request;
}

enum { COMPLETED, DONE_BEFORE, FREED, CANCELLED, FAILED, ENDS };

/* The operation writes to both, and the matrix that is only read does not get that. */
static void finish(ompi_request_t *request, int how)
{
    ompi_request_t *slot = request;
    if (how != DONE_BEFORE) {
        operate(reads);
        operate(writes);
    }
    if (how == FREED)
        ck_assert_int_eq(ompi_request_free(&slot), MPI_SUCCESS);
    if (how == FAILED)
        request->status.MPI_ERROR = MPI_ERR_OTHER;
    if (how == CANCELLED)
        ck_assert_int_eq(ompi_request_cancel(request), MPI_SUCCESS);
    else if (how != DONE_BEFORE)
        ompi_request_complete(request);
    if (how != FREED)
        ck_assert_int_eq(ompi_request_finish(&slot, MPI_STATUS_IGNORE),
                         how == FAILED ? MPI_ERR_OTHER : MPI_SUCCESS);
}

START_TEST(copies_go_back_however_a_request_ends)
{
    matrix_t from, to;
    create_matrix(&from, 10);
    create_matrix(&to, 500);
    ompi_request_t *request = begin(&from, &to, false, _i == DONE_BEFORE);
    if (_i != DONE_BEFORE) {
        check_copy(reads, 10);
        check_copy(writes, 500);
        check_matrix(&to, 500, 0);
    }
    finish(request, _i);
    check_matrix(&from, 10, 0);
    check_matrix(&to, 500, 1);
    ck_assert_int_eq(requests_left, 0);
    free(from.section);
    free(to.section);
}
END_TEST

START_TEST(persistent_requests_copy_at_each_start)
{
    matrix_t from, to;
    create_matrix(&from, 10);
    create_matrix(&to, 500);
    ompi_request_t *request = begin(&from, &to, true, false);
    for (int round = 0; round < 3; round++) {
        first_read = 100 * round;
        fill_matrix(&from, first_read);
        fill_matrix(&to, 500 + round);
        ck_assert_int_eq(ompi_request_start(request), MPI_SUCCESS);
        check_copy(writes, 500 + round);
        finish(request, COMPLETED);
        check_matrix(&from, first_read, 0);
        check_matrix(&to, 500 + round, 1);
    }
    fill_matrix(&to, 0);
    if (_i == 0) {
        ck_assert_int_eq(ompi_request_free(&request), MPI_SUCCESS);
        check_matrix(&to, 0, 0);
    } else {
        ck_assert_int_eq(ompi_request_start(request), MPI_SUCCESS);
        finish(request, FREED);
        check_matrix(&to, 0, 1);
    }
    ck_assert_int_eq(requests_left, 0);
    free(from.section);
    free(to.section);
}
END_TEST

START_TEST(a_call_that_failed_has_no_request)
{
    matrix_t matrix;
    create_matrix(&matrix, 10);
    ompi_fortran_copy_t copy = ompi_fortran_copy(matrix.section);
    ompi_fortran_copy_t *copies[] = {&copy};
    operate(copy.buffer);
    ompi_fortran_copy_attach(MPI_REQUEST_NULL, copies, (bool[]){true}, 1);
    check_matrix(&matrix, 10, 0);
    free(matrix.section);
}
END_TEST

static const unit_test_t tests[] = {
    {.test = &a_written_copy_goes_back, .repeats = 2},
    {.test = &a_dense_array_is_its_own_copy},
    {.test = &a_copy_that_is_not_made_fails_the_call},
    {.test = &copies_go_back_however_a_request_ends, .repeats = ENDS},
    {.test = &persistent_requests_copy_at_each_start, .repeats = 2},
    {.test = &a_call_that_failed_has_no_request},
};

static void setup(void)
{
    ck_assert_int_eq(ompi_datatype_init(), MPI_SUCCESS);
    ompi_lock_start(false);
}

UNIT_MAIN("ompi/fortran/copy", tests, setup);
