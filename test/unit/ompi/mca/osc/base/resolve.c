/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * ompi/mca/osc/base/resolve.c: which accesses are within the memory of a target, also of types with
 * negative bounds and extents and with counts that overflow; and where the memory is here.
 */
#include "ompi/mca/osc/base/resolve.h"

#include "ompi/api/bodies.h"
#include "ompi/mca/osc/base/attach.h"
#include "test/unit/ompi/mca/osc/base/fake_window.h"

enum { SELF = 0, PEER = 1, BYTES = 1000, SHIFT = 1 << 16 };

static char memory[2 * BYTES];

static void setup(void)
{
    ck_assert_int_eq(ompi_datatype_init(), MPI_SUCCESS);
    fake_setup();
    for (int rank = SELF; rank <= PEER; rank++) {
        ompi_osc_target_t *target = &fake_windows[SELF].targets[rank];
        target->base = (uintptr_t)memory;
        target->bytes = BYTES;
    }
}

static ompi_osc_access_t access_to(int rank, size_t count, ompi_datatype_t *type)
{
    ompi_osc_window_t *window = &fake_windows[SELF];
    return (ompi_osc_access_t){.window = window,
                               .target = &window->targets[rank],
                               .rank = rank,
                               .remote = {.count = count, .type = type}};
}

/* Lower bound and extent are markers; the data is an int at 0. */
static ompi_datatype_t *resized(MPI_Count lb, MPI_Count extent)
{
    ompi_datatype_t *type;
    ck_assert_int_eq(
        ompi_api_type_create_resized(ompi_datatype_of(MPI_INT32_T), lb, extent, &type, true),
        MPI_SUCCESS);
    return type;
}

static ompi_datatype_t *displaced(MPI_Count displacement)
{
    MPI_Count length = 1;
    ompi_datatype_t *type;
    ck_assert_int_eq(ompi_api_type_create_hindexed(1, ompi_ints_large(&length),
                                                   ompi_ints_large(&displacement),
                                                   ompi_datatype_of(MPI_INT32_T), &type),
                     MPI_SUCCESS);
    return type;
}

static int resolve(ompi_datatype_t *type, size_t count, int64_t offset)
{
    ompi_osc_access_t access = access_to(PEER, count, type);
    int error = ompi_osc_resolve(&access, offset);
    ck_assert_uint_eq((uintptr_t)access.remote.buffer, (uintptr_t)memory + (uintptr_t)offset);
    return error;
}

static bool is_inside(ompi_datatype_t *type, size_t count, int64_t offset)
{
    int error = resolve(type, count, offset);
    ck_assert(error == MPI_SUCCESS || error == MPI_ERR_RMA_RANGE);
    return error == MPI_SUCCESS;
}

/* -- bounds ------------------------------------------------------------------------------------ */

START_TEST(all_bytes_are_within_the_memory)
{
    ompi_datatype_t *type = ompi_datatype_of(MPI_INT32_T);
    ck_assert(is_inside(type, BYTES / 4, 0));
    ck_assert(is_inside(type, 1, BYTES - 4));
    ck_assert(!is_inside(type, BYTES / 4 + 1, 0));
    ck_assert(!is_inside(type, 1, BYTES - 3));
    ck_assert(!is_inside(type, 1, BYTES));
    ck_assert(!is_inside(type, 1, -1));
    ck_assert(!is_inside(type, BYTES / 4, -4));
    ck_assert(!is_inside(type, 1, INT64_MAX));
    ck_assert(!is_inside(type, 1, INT64_MIN));
}
END_TEST

START_TEST(nothing_may_be_anywhere)
{
    ompi_datatype_t *empty;
    ck_assert_int_eq(ompi_api_type_contiguous(0, ompi_datatype_of(MPI_INT32_T), &empty, true),
                     MPI_SUCCESS);
    ck_assert(is_inside(ompi_datatype_of(MPI_INT32_T), 0, -5));
    ck_assert(is_inside(ompi_datatype_of(MPI_INT32_T), 0, INT64_MAX));
    ck_assert(is_inside(empty, 7, BYTES + 1));
    ompi_datatype_release(empty);
}
END_TEST

/* The data counts, and not the markers. */
START_TEST(bounds_are_those_of_the_data)
{
    ompi_datatype_t *before = displaced(-40), *behind = displaced(40);
    ck_assert(is_inside(before, 1, 40));
    ck_assert(!is_inside(before, 1, 39));
    ck_assert(is_inside(before, 1, BYTES + 36));
    ck_assert(!is_inside(before, 1, BYTES + 37));
    ck_assert(is_inside(behind, 1, -40));
    ck_assert(!is_inside(behind, 1, -41));
    ck_assert(!is_inside(behind, 1, BYTES - 43));
    ompi_datatype_t *marked = resized(-500, 2000);
    ck_assert(is_inside(marked, 1, 0));
    ck_assert(is_inside(marked, 1, BYTES - 4));
    ck_assert(!is_inside(marked, 2, 0));
    ompi_datatype_release(before);
    ompi_datatype_release(behind);
    ompi_datatype_release(marked);
}
END_TEST

/* Each element lies before the one before. */
START_TEST(extents_may_be_negative)
{
    ompi_datatype_t *type = resized(0, -8);
    ck_assert(is_inside(type, 10, 9 * 8));
    ck_assert(!is_inside(type, 10, 9 * 8 - 1));
    ck_assert(is_inside(type, 10, BYTES - 4));
    ck_assert(!is_inside(type, 10, BYTES - 3));
    ompi_datatype_release(type);
}
END_TEST

/* Bounds that do not fit into 63 bits are no bounds of this memory. */
START_TEST(nothing_overflows)
{
    static const struct {
        MPI_Count extent;
        size_t count;
    } large[] = {{4, SIZE_MAX},      {4, (size_t)INT64_MAX + 1},
                 {4, INT64_MAX},     {4, ((size_t)1 << 62) + 1}, /* 2^64 bytes, and a few */
                 {INT64_MAX, 2},     {INT64_MAX, 3},
                 {INT64_MIN / 2, 3}, {INT64_MIN / 2, 2},
                 {-1, INT64_MAX},    {-1, INT64_MAX - 2},
                 {1, INT64_MAX}};
    for (size_t i = 0; i < OPAL_COUNT_OF(large); i++) {
        ompi_datatype_t *type = resized(0, large[i].extent);
        ck_assert(!is_inside(type, large[i].count, 0));
        ck_assert(!is_inside(type, large[i].count, BYTES - 4));
        ck_assert(!is_inside(type, large[i].count, INT64_MAX));
        ck_assert(!is_inside(type, large[i].count, INT64_MIN));
        ompi_datatype_release(type);
    }
}
END_TEST

/* The lower bound and the distance of the elements fit, but not their sum. */
START_TEST(lower_bounds_do_not_overflow)
{
    ompi_datatype_t *before = displaced(-100), *type;
    ck_assert_int_eq(ompi_api_type_create_resized(before, 0, -1, &type, true), MPI_SUCCESS);
    ck_assert(!is_inside(type, INT64_MAX - 10, 0));
    ck_assert(!is_inside(type, INT64_MAX - 10, INT64_MIN));
    ompi_datatype_t *lowest = displaced(INT64_MIN + 8);
    ck_assert(!is_inside(lowest, 1, INT64_MIN));
    ompi_datatype_release(lowest);
    ompi_datatype_release(type);
    ompi_datatype_release(before);
}
END_TEST

/* -- where it is ------------------------------------------------------------------------------- */

START_TEST(memory_may_be_mapped_elsewhere)
{
    ompi_osc_window_t *window = &fake_windows[SELF];
    ompi_osc_access_t own = access_to(SELF, 1, ompi_datatype_of(MPI_INT32_T));
    ompi_osc_access_t far = access_to(PEER, 1, ompi_datatype_of(MPI_INT32_T)), local = far;
    ck_assert_int_eq(ompi_osc_resolve(&own, 8), MPI_SUCCESS);
    ck_assert(own.is_here && own.shift == 0 && !own.is_shared);
    ck_assert_int_eq(ompi_osc_resolve(&far, 8), MPI_SUCCESS);
    ck_assert(!far.is_here && !far.is_shared);
    window->targets[PEER].here = memory + SHIFT % BYTES;
    window->targets[PEER].is_shared = true;
    ck_assert_int_eq(ompi_osc_resolve(&local, 8), MPI_SUCCESS);
    ck_assert(local.is_here && local.is_shared);
    ck_assert_int_eq(local.shift, SHIFT % BYTES);
}
END_TEST

/* The offset is an address. */
START_TEST(dynamic_memory_is_attached)
{
    ompi_osc_window_t *window = &fake_windows[_i];
    int64_t start = (int64_t)(uintptr_t)memory;
    ompi_osc_access_t access = access_to(SELF, 10, ompi_datatype_of(MPI_INT32_T));
    access.window = window;
    access.target = &window->targets[SELF];
    access.target->base = 0;
    access.target->bytes = 0;
    fake_windows[SELF].area_is_shared = window->area_is_shared = false;
    window->is_dynamic = window->all_map = true;
    window->locals[SELF].view =
        (opal_node_view_t){.base = (uintptr_t)memory, .bytes = BYTES, .shift = SHIFT};
    ck_assert_int_eq(ompi_osc_attach(&fake_windows[SELF], (uintptr_t)memory, 100), MPI_SUCCESS);
    ck_assert_int_eq(ompi_osc_resolve(&access, start + 61), MPI_ERR_RMA_RANGE);
    ck_assert_int_eq(ompi_osc_resolve(&access, start - 1), MPI_ERR_RMA_RANGE);
    ck_assert_int_eq(ompi_osc_resolve(&access, INT64_MAX), MPI_ERR_RMA_RANGE);
    ck_assert_int_eq(ompi_osc_resolve(&access, start + 60), MPI_SUCCESS);
    ck_assert(access.is_here);
    ck_assert_int_eq(access.shift, _i == SELF ? 0 : SHIFT);
    ck_assert(access.is_shared == (_i != SELF)); /* its own is not in a region */
    window->locals[SELF].view.bytes = 50;
    ck_assert_int_eq(ompi_osc_resolve(&access, start + 60), MPI_SUCCESS);
    ck_assert(access.is_here == (_i == SELF) && !access.is_shared);
    access.target->local = -1; /* the target finds out */
    ck_assert_int_eq(ompi_osc_resolve(&access, start - 1), MPI_SUCCESS);
    ompi_osc_detach_all(&fake_windows[SELF]);
}
END_TEST

static const unit_test_t tests[] = {
    {.test = &all_bytes_are_within_the_memory},
    {.test = &nothing_may_be_anywhere},
    {.test = &bounds_are_those_of_the_data},
    {.test = &extents_may_be_negative},
    {.test = &nothing_overflows},
    {.test = &lower_bounds_do_not_overflow},
    {.test = &memory_may_be_mapped_elsewhere},
    {.test = &dynamic_memory_is_attached, .repeats = 2},
};

UNIT_MAIN("resolve", tests, setup);
