/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * ompi/mca/osc/base/attach.c: which memory is attached, with lists in the memory of the process
 * (_i is 0) and in the node's segment (1), which is the test's and is shared with a forked process.
 */
#include "ompi/mca/osc/base/attach.h"

#include <sys/wait.h>

#include "test/unit/ompi/mca/osc/base/fake_window.h"

enum { SELF = 1, READER = 2, SEGMENT_BYTES = 1 << 20, PLACE = 1 << 20 };

static char *segment;
static size_t carved = 64;

void *__wrap_opal_node_base(void);
size_t __wrap_opal_node_bytes(void);
uint64_t __wrap_opal_node_carve_spare(size_t bytes);
opal_status_t __wrap_opal_node_populate(void *begin, size_t bytes);

void *__wrap_opal_node_base(void)
{
    return segment;
}

size_t __wrap_opal_node_bytes(void)
{
    return SEGMENT_BYTES;
}

uint64_t __wrap_opal_node_carve_spare(size_t bytes)
{
    if (bytes > SEGMENT_BYTES - carved)
        return 0;
    carved += (bytes + 63) / 64 * 64;
    return carved - (bytes + 63) / 64 * 64;
}

opal_status_t __wrap_opal_node_populate(void *begin OPAL_UNUSED, size_t bytes OPAL_UNUSED)
{
    return OPAL_SUCCESS;
}

static void setup(void)
{
    fake_setup();
    segment = fake_shared(SEGMENT_BYTES);
}

/* -- attaching, and asking --------------------------------------------------------------------- */

static ompi_osc_window_t *window;

/* As this process sees its own memory, or another one. */
static void begin(int is_shared)
{
    window = &fake_windows[SELF];
    fake_windows[SELF].area_is_shared = fake_windows[READER].area_is_shared = is_shared != 0;
}

static int attach(uintptr_t base, size_t bytes)
{
    return ompi_osc_attach(window, base, bytes);
}

static bool is_attached(uintptr_t start, size_t bytes)
{
    bool found = ompi_osc_is_attached(window, SELF, start, bytes);
    ck_assert(ompi_osc_is_attached(&fake_windows[READER], SELF, start, bytes) == found);
    ck_assert(!ompi_osc_is_attached(window, READER, start, bytes));
    return found;
}

START_TEST(what_is_attached_may_be_accessed)
{
    begin(_i);
    ck_assert(!is_attached(1000, 1));
    ck_assert_int_eq(attach(1000, 100), MPI_SUCCESS);
    ck_assert(is_attached(1000, 100));
    ck_assert(is_attached(1099, 1));
    ck_assert(!is_attached(999, 1));
    ck_assert(!is_attached(999, 50));
    ck_assert(!is_attached(1100, 1));
    ck_assert(!is_attached(1050, 51));
    ck_assert(!is_attached(1050, SIZE_MAX));
    ck_assert_int_eq(ompi_osc_detach(window, 1000), MPI_SUCCESS);
    ck_assert(!is_attached(1000, 1));
    ompi_osc_detach_all(window);
}
END_TEST

START_TEST(regions_do_not_overlap)
{
    static const struct {
        uintptr_t base;
        size_t bytes;
        bool overlaps;
    } others[] = {{1000, 100, true}, {1000, 1, true},   {1099, 1, true},  {999, 2, true},
                  {900, 500, true},  {1100, 10, false}, {990, 10, false}, {1050, 0, false}};
    begin(_i);
    ck_assert_int_eq(attach(500, 10), MPI_SUCCESS);
    ck_assert_int_eq(attach(2000, 10), MPI_SUCCESS);
    ck_assert_int_eq(attach(1000, 100), MPI_SUCCESS);
    for (size_t i = 0; i < OPAL_COUNT_OF(others); i++) {
        int error = attach(others[i].base, others[i].bytes);
        ck_assert_int_eq(error, others[i].overlaps ? MPI_ERR_RMA_ATTACH : MPI_SUCCESS);
        if (error == MPI_SUCCESS)
            ck_assert_int_eq(ompi_osc_detach(window, others[i].base), MPI_SUCCESS);
    }
    ck_assert(is_attached(1000, 100));
    ompi_osc_detach_all(window);
}
END_TEST

/* In whatever order they are attached, with empty ones between, at their ends and inside. */
START_TEST(regions_that_adjoin_are_one)
{
    static const ompi_osc_region_t regions[] = {{1000, 100}, {1100, 50}, {1150, 1}, {1151, 49},
                                                {1150, 0},   {1000, 0},  {1125, 0}, {1200, 0}};
    static const uintptr_t places[] = {990,  999,  1000, 1001, 1099, 1100, 1101, 1125,
                                       1149, 1150, 1151, 1152, 1199, 1200, 1201, 1300};
    enum { COUNT = OPAL_COUNT_OF(regions) };
    for (int order = 0; order < COUNT; order++) {
        begin(_i);
        for (int i = 0; i < COUNT; i++) {
            const ompi_osc_region_t *region =
                &regions[order % 2 == 0 ? (i + order) % COUNT : (order - i + COUNT) % COUNT];
            ck_assert_int_eq(attach(region->base, region->bytes), MPI_SUCCESS);
        }
        for (size_t i = 0; i < OPAL_COUNT_OF(places); i++)
            for (size_t k = i + 1; k < OPAL_COUNT_OF(places); k++)
                ck_assert(is_attached(places[i], places[k] - places[i]) ==
                          (places[i] >= 1000 && places[k] <= 1200));
        ck_assert_int_eq(attach(1130, 2), MPI_ERR_RMA_ATTACH);
        ck_assert_int_eq(attach(1120, 100), MPI_ERR_RMA_ATTACH);
        ompi_osc_detach_all(window);
        atomic_store(&window->own->region_count, 0);
    }
}
END_TEST

START_TEST(what_is_not_attached_cannot_be_detached)
{
    begin(_i);
    ck_assert_int_eq(ompi_osc_detach(window, 1000), MPI_ERR_RMA_ATTACH);
    ck_assert_int_eq(attach(1000, 100), MPI_SUCCESS);
    ck_assert_int_eq(ompi_osc_detach(window, 1001), MPI_ERR_RMA_ATTACH);
    ck_assert_int_eq(ompi_osc_detach(window, 999), MPI_ERR_RMA_ATTACH);
    ck_assert_int_eq(ompi_osc_detach(window, 1000), MPI_SUCCESS);
    ck_assert_int_eq(ompi_osc_detach(window, 1000), MPI_ERR_RMA_ATTACH);
    ompi_osc_detach_all(window);
}
END_TEST

/* 300 regions of 10 bytes, 10 bytes apart, in a mixed order; then every third is detached. */
START_TEST(lists_grow)
{
    enum { COUNT = 300, STEP = 20, BYTES = 10 };
    begin(_i);
    for (uintptr_t i = 0; i < COUNT; i++)
        ck_assert_int_eq(attach(PLACE + i * 7 % COUNT * STEP, BYTES), MPI_SUCCESS);
    for (uintptr_t i = 0; i < COUNT; i += 3)
        ck_assert_int_eq(ompi_osc_detach(window, PLACE + i * STEP), MPI_SUCCESS);
    for (uintptr_t i = 0; i < COUNT; i++) {
        ck_assert(is_attached(PLACE + i * STEP, BYTES) == (i % 3 != 0));
        ck_assert(is_attached(PLACE + i * STEP + BYTES - 1, 1) == (i % 3 != 0));
        ck_assert(!is_attached(PLACE + i * STEP, BYTES + 1));
    }
    ompi_osc_detach_all(window);
}
END_TEST

START_TEST(without_room_in_the_segment_nothing_is_attached)
{
    begin(1);
    for (uintptr_t i = 0; i < 32; i++)
        ck_assert_int_eq(attach(PLACE + 2 * i, 1), MPI_SUCCESS);
    carved = SEGMENT_BYTES;
    ck_assert_int_eq(attach(PLACE + 64, 1), MPI_ERR_NO_MEM);
    ck_assert(is_attached(PLACE + 62, 1));
    ck_assert(!is_attached(PLACE + 64, 1));
}
END_TEST

/* -- a reader ---------------------------------------------------------------------------------- */

enum { CHANGES = 1500, FIXED = 40 };

/* What is attached all the time is found, and nothing else. The end is a region at PLACE - 100. */
static int read_until_end(void)
{
    const ompi_osc_window_t *other = &fake_windows[READER];
    for (uintptr_t i = 0; !ompi_osc_is_attached(other, SELF, PLACE - 100, 1); i++) {
        uintptr_t fixed = PLACE + i % FIXED * 200;
        if (!ompi_osc_is_attached(other, SELF, fixed, 100))
            return 1;
        if (ompi_osc_is_attached(other, SELF, fixed + 99, 2))
            return 2;
    }
    return 0;
}

START_TEST(a_reader_finds_what_stays)
{
    int status;
    begin(1);
    for (uintptr_t i = 0; i < FIXED; i++)
        ck_assert_int_eq(attach(PLACE + i * 200, 100), MPI_SUCCESS);
    pid_t reader = fork();
    ck_assert_int_ge(reader, 0);
    if (reader == 0)
        _exit(read_until_end());
    for (uintptr_t i = 0; i < CHANGES; i++) {
        uintptr_t base = PLACE + i * 7 % FIXED * 200 + 150;
        ck_assert_int_eq(attach(base, 10), MPI_SUCCESS);
        ck_assert_int_eq(attach(PLACE - 10, 10), MPI_SUCCESS);
        ck_assert_int_eq(ompi_osc_detach(window, PLACE - 10), MPI_SUCCESS);
        ck_assert_int_eq(ompi_osc_detach(window, base), MPI_SUCCESS);
    }
    ck_assert_int_eq(attach(PLACE - 100, 1), MPI_SUCCESS);
    ck_assert_int_eq(waitpid(reader, &status, 0), reader);
    ck_assert_int_eq(status, 0);
}
END_TEST

/* It died while it changed the list. */
START_TEST(the_memory_of_a_dead_rank_is_not_attached)
{
    begin(1);
    ck_assert_int_eq(attach(1000, 100), MPI_SUCCESS);
    atomic_fetch_add(&window->own->regions_version, 1);
    fake_death(SELF);
    ck_assert(!ompi_osc_is_attached(&fake_windows[READER], SELF, 1000, 100));
}
END_TEST

static const unit_test_t tests[] = {
    {.test = &what_is_attached_may_be_accessed, .repeats = 2},
    {.test = &regions_do_not_overlap, .repeats = 2},
    {.test = &regions_that_adjoin_are_one, .repeats = 2},
    {.test = &what_is_not_attached_cannot_be_detached, .repeats = 2},
    {.test = &lists_grow, .repeats = 2},
    {.test = &without_room_in_the_segment_nothing_is_attached},
    {.test = &a_reader_finds_what_stays},
    {.test = &the_memory_of_a_dead_rank_is_not_attached},
};

UNIT_MAIN("attach", tests, setup);
