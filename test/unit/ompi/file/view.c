/* SPDX-License-Identifier: BSD-3-Clause */
/* ompi/file/view.c and ompi/datatype/order.c, on types made at random and on files of exabytes. */
#include "ompi/file/view.h"

#include "ompi/api/bodies.h"
#include "test/unit/ompi/file/sample_view.h"
#include "test/unit/opal/support.h"

enum { ROUNDS = 10, VIEWS = 300, TRIES = 15, MARK = 0xa5 };

static const MPI_Offset tib = (MPI_Offset)1 << 40;

static ompi_view_t *create_view(MPI_Offset disp, MPI_Datatype etype, ompi_datatype_t *filetype)
{
    ompi_view_t *view;
    const char *reason;
    ck_assert_int_eq(ompi_view_create(disp, ompi_datatype_of(etype), filetype,
                                      ompi_datarep_find("native"), &view, &reason),
                     MPI_SUCCESS);
    ompi_datatype_release(filetype);
    return view;
}

/* The first position whose byte is at `byte` or behind it. */
static size_t until(const sample_view_t *sample, MPI_Offset byte)
{
    size_t position = 0;
    while (position < sample->bytes && sample->offsets[position] < byte)
        position++;
    return position;
}

static void check_bytes(const sample_view_t *sample)
{
    bool is_right = true, is_ordered = true;
    for (size_t i = 0; i < sample->bytes; i++) {
        is_right &= ompi_view_byte(sample->view, i) == sample->offsets[i];
        is_ordered &= i == 0 || sample->offsets[i] > sample->offsets[i - 1];
    }
    ck_assert(is_right);
    ck_assert_int_eq(sample->view->is_ordered, is_ordered);
    if (sample->bytes > 0)
        ck_assert_int_eq(sample->view->start, sample->offsets[0]);
    else
        ck_assert_int_eq(ompi_view_byte(sample->view, 0), -1);
}

static void check_searches(const sample_view_t *sample)
{
    size_t all = sample->view->count * ompi_datatype_size(sample->view->layout);
    MPI_Offset low = sample->view->start;
    MPI_Offset high = sample->bytes > 0 ? sample->offsets[sample->bytes - 1] : low;
    for (int i = 0; i < TRIES; i++) {
        MPI_Offset byte = low < high ? model_random(low - 9, high + 9) : low + model_random(-9, 9);
        size_t wanted = until(sample, byte), found = ompi_view_bytes_before(sample->view, byte);
        if (wanted < sample->bytes || sample->bytes == all)
            ck_assert_uint_eq(found, wanted);
        if (wanted < sample->bytes && sample->view->is_ordered)
            ck_assert_uint_eq(ompi_view_position(sample->view, byte > 0 ? (uint64_t)byte : 0),
                              wanted);
    }
}

static void check_runs(const sample_view_t *sample)
{
    ompi_run_t runs[100];
    uint64_t from = (uint64_t)model_random(0, (MPI_Count)sample->bytes), listed, sum = 0;
    uint64_t bytes = (uint64_t)model_random(0, (MPI_Count)(sample->bytes - from));
    size_t max = (size_t)model_random(1, OPAL_COUNT_OF(runs));
    size_t count = ompi_view_runs(sample->view, from, bytes, runs, max, &listed);
    bool is_right = count <= max && listed <= bytes && (count == max || listed == bytes);
    for (size_t i = 0; i < count; i++) {
        is_right &= runs[i].bytes > 0;
        is_right &= i == 0 || runs[i].offset != runs[i - 1].offset + runs[i - 1].bytes;
        for (uint64_t k = 0; k < runs[i].bytes && is_right; k++, sum++)
            is_right = runs[i].offset + k == (uint64_t)sample->offsets[from + sum];
    }
    ck_assert(is_right && sum == listed);
}

static void check_windows(const sample_view_t *sample)
{
    size_t from = (size_t)model_random(0, (MPI_Count)sample->bytes);
    size_t bytes = (size_t)model_random(0, (MPI_Count)(sample->bytes - from));
    MPI_Count first = INT64_MAX, behind = 0;
    for (size_t i = from; i < from + bytes; i++) {
        first = sample->offsets[i] < first ? sample->offsets[i] : first;
        behind = sample->offsets[i] >= behind ? sample->offsets[i] + 1 : behind;
    }
    if (bytes == 0)
        return;
    size_t room = (size_t)(behind - first);
    unsigned char *window = malloc(room), *wanted = malloc(room), *data = malloc(bytes);
    ck_assert(window != NULL && wanted != NULL && data != NULL);
    memset(window, MARK, room);
    memset(wanted, MARK, room);
    for (size_t i = 0; i < bytes; i++) {
        data[i] = (unsigned char)model_random(0, 255);
        wanted[sample->offsets[from + i] - first] = data[i];
    }
    ompi_view_to_window(sample->view, from, bytes, data, window, (uint64_t)first);
    ck_assert_mem_eq(window, wanted, room);
    memset(data, MARK, bytes);
    ompi_view_from_window(sample->view, from, bytes, data, window, (uint64_t)first);
    bool is_right = true;
    for (size_t i = 0; i < bytes; i++)
        is_right &= data[i] == window[sample->offsets[from + i] - first];
    ck_assert(is_right);
    free(window);
    free(wanted);
    free(data);
}

START_TEST(random_views_are_as_the_model_says)
{
    model_seed((uint64_t)_i + 1);
    for (int i = 0; i < VIEWS; i++) {
        sample_view_t sample = sample_view_create(3);
        check_bytes(&sample);
        check_searches(&sample);
        for (int k = 0; k < TRIES; k++) {
            check_runs(&sample);
            check_windows(&sample);
        }
        sample_view_destroy(&sample);
    }
}
END_TEST

START_TEST(a_file_of_exabytes)
{
    ompi_datatype_t *blocks, *filetype;
    ompi_run_t runs[2];
    uint64_t listed;
    char data[4] = "abc", window[32] = {0};
    /* 2^30 blocks of 8 bytes, 2^20 apart; of these 1000, 2^52 apart. */
    ck_assert_int_eq(ompi_api_type_create_hvector((MPI_Count)1 << 30, 2, 1 << 20,
                                                  ompi_datatype_of(MPI_INT), &blocks, true),
                     MPI_SUCCESS);
    ck_assert_int_eq(ompi_api_type_create_hvector(1000, 1, 4096 * tib, blocks, &filetype, true),
                     MPI_SUCCESS);
    ompi_datatype_release(blocks);
    ompi_view_t *view = create_view(3 * tib, MPI_INT, filetype);
    ck_assert(view->is_ordered && !view->is_run && view->etype_bytes == 4);
    MPI_Offset byte = 3 * tib + 17 * 4096 * tib + ((MPI_Offset)12345 << 20) + 5;
    uint64_t position = ((uint64_t)17 << 33) + UINT64_C(12345) * 8 + 5;
    ck_assert_int_eq(ompi_view_byte(view, position), byte);
    ck_assert_uint_eq(ompi_view_position(view, (uint64_t)byte), position);
    ck_assert_uint_eq(ompi_view_position(view, (uint64_t)byte + 3), position + 3);
    ck_assert_uint_eq(ompi_view_position(view, (uint64_t)byte + 4), position + 3);
    ck_assert_uint_eq(ompi_view_position(view, 0), 0);
    ck_assert_uint_eq(ompi_view_runs(view, position, 7, runs, 2, &listed), 2);
    ck_assert_uint_eq(listed, 7);
    ck_assert_uint_eq(runs[1].offset, (uint64_t)byte - 5 + (1 << 20));
    ck_assert_uint_eq(runs[1].bytes, 4);
    ompi_view_to_window(view, position, 3, data, window, (uint64_t)byte - 10);
    ck_assert_mem_eq(window + 9, "\0abc\0", 5);
    ompi_view_release(view);
}
END_TEST

START_TEST(a_run_has_no_end_below_2_63)
{
    ompi_datatype_t *type = ompi_datatype_of(MPI_DOUBLE);
    ompi_datatype_retain(type);
    ompi_view_t *view = create_view(5, MPI_DOUBLE, type);
    ck_assert(view->is_run && view->is_ordered && view->start == 5);
    ck_assert_uint_eq(view->count, (size_t)(INT64_MAX - 5) / 8);
    ck_assert_int_eq(ompi_view_byte(view, INT64_MAX / 8 * 8), -1);
    ck_assert_int_eq(ompi_view_byte(view, (uint64_t)tib), tib + 5);
    ck_assert_uint_eq(ompi_view_position(view, (uint64_t)tib + 5), (uint64_t)tib);
    ck_assert_uint_eq(ompi_view_bytes_before(view, 3), 0);
    ompi_view_release(view);
}
END_TEST

/* A window may reach beyond 2^63, the view does not. */
START_TEST(a_byte_beyond_2_63_is_behind_all)
{
    ompi_datatype_t *type = ompi_datatype_of(MPI_BYTE);
    ompi_datatype_retain(type);
    ompi_view_t *view = create_view(0, MPI_BYTE, type);
    uint64_t all = (uint64_t)view->count;
    ck_assert_uint_eq(ompi_view_position(view, INT64_MAX), all);
    ck_assert_uint_eq(ompi_view_position(view, (uint64_t)INT64_MAX + 5), all);
    ck_assert_uint_eq(ompi_view_position(view, UINT64_MAX), all);
    ompi_view_release(view);
}
END_TEST

/* A rank may see nothing of a file. */
START_TEST(a_view_without_data)
{
    ompi_datatype_t *nothing;
    ompi_run_t run;
    uint64_t listed;
    ck_assert_int_eq(ompi_api_type_contiguous(0, ompi_datatype_of(MPI_INT), &nothing, false),
                     MPI_SUCCESS);
    ompi_view_t *view = create_view(100, MPI_INT, nothing);
    ck_assert(!view->is_run && view->count == 0);
    ck_assert_int_eq(ompi_view_byte(view, 0), -1);
    ck_assert_uint_eq(ompi_view_bytes_before(view, tib), 0);
    ck_assert_uint_eq(ompi_view_runs(view, 0, 10, &run, 1, &listed), 0);
    ck_assert_uint_eq(listed, 0);
    ompi_view_release(view);
}
END_TEST

static void check_refused(MPI_Offset disp, ompi_datatype_t *etype, ompi_datatype_t *filetype,
                          int error)
{
    ompi_view_t *view;
    const char *reason = NULL;
    ck_assert_int_eq(
        ompi_view_create(disp, etype, filetype, ompi_datarep_find("native"), &view, &reason),
        error);
    ck_assert_ptr_nonnull(reason);
}

START_TEST(what_is_refused)
{
    ompi_datatype_t *integer = ompi_datatype_of(MPI_INT), *byte = ompi_datatype_of(MPI_BYTE);
    ompi_datatype_t *negative, *nothing, *marked;
    MPI_Count displacement = -4;
    ck_assert_int_eq(ompi_api_type_create_hindexed_block(1, 1, ompi_ints_large(&displacement),
                                                         integer, &negative, true),
                     MPI_SUCCESS);
    ck_assert_int_eq(ompi_api_type_contiguous(0, integer, &nothing, false), MPI_SUCCESS);
    ck_assert_int_eq(ompi_api_type_create_resized(integer, -8, 24, &marked, false), MPI_SUCCESS);
    check_refused(-1, integer, integer, MPI_ERR_ARG);
    check_refused(INT64_MAX - 3, integer, integer, MPI_ERR_ARG);
    check_refused(0, integer, negative, MPI_ERR_IO);
    check_refused(100, negative, integer, MPI_ERR_IO);
    check_refused(0, nothing, nothing, MPI_ERR_TYPE);
    check_refused(0, integer, ompi_datatype_of(MPI_FLOAT), MPI_ERR_TYPE);
    check_refused(0, integer, ompi_datatype_of(MPI_CHAR), MPI_ERR_TYPE);
    check_refused(0, ompi_datatype_of(MPI_DOUBLE), integer, MPI_ERR_TYPE);
    check_refused(0, integer, byte, MPI_ERR_TYPE);
    ompi_datatype_retain(integer);
    ompi_view_release(create_view(0, MPI_BYTE, integer));
    ompi_view_t *view = create_view(1, MPI_INT, marked);
    ck_assert_int_eq(ompi_view_byte(view, 4), 25);
    ompi_view_release(view);
    ompi_datatype_release(negative);
    ompi_datatype_release(nothing);
}
END_TEST

static const unit_test_t tests[] = {
    {.test = &random_views_are_as_the_model_says, .repeats = ROUNDS},
    {.test = &a_file_of_exabytes},
    {.test = &a_run_has_no_end_below_2_63},
    {.test = &a_byte_beyond_2_63_is_behind_all},
    {.test = &a_view_without_data},
    {.test = &what_is_refused},
};

static void setup(void)
{
    ck_assert_int_eq(ompi_datatype_init(), MPI_SUCCESS);
    model_seed(1);
}

UNIT_MAIN("ompi/file/view", tests, setup);
