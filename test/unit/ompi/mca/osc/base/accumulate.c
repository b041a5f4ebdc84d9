/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * ompi/mca/osc/base/accumulate.c: accumulates to memory of any layout, whole and in parts, against
 * a plain computation on packed data; the runs that they are made of; and when the mode changes.
 */
#include "ompi/mca/osc/base/accumulate.h"

#include "ompi/api/bodies.h"
#include "ompi/mca/osc/base/stripe.h"
#include "test/unit/ompi/mca/osc/base/fake_target.h"

enum { INTS, VECTOR, BACKWARD, INDEXED, ODD_DOUBLES, PAIRS, MADE };

static ompi_datatype_t *made[MADE];

static void make_types(void)
{
    MPI_Count lengths[] = {2, 1, 3}, ends[] = {20, 3, 7}, odd[] = {4, 44};
    ompi_datatype_t *ints = ompi_datatype_of(MPI_INT32_T), *doubles = ompi_datatype_of(MPI_DOUBLE);
    made[INTS] = ints;
    ompi_api_type_vector(50, 2, 3, ints, &made[VECTOR], true);
    ompi_api_type_vector(50, 1, -2, ints, &made[BACKWARD], true);
    ompi_api_type_indexed(3, ompi_ints_large(lengths), ompi_ints_large(ends), ints, &made[INDEXED]);
    ompi_api_type_create_hindexed_block(2, 3, ompi_ints_large(odd), doubles, &made[ODD_DOUBLES],
                                        true);
    ompi_api_type_vector(30, 2, 3, ompi_datatype_of(MPI_SHORT_INT), &made[PAIRS], true);
}

static void setup(void)
{
    fake_target_setup();
    make_types();
}

/* `made` if there is no handle. */
static const struct {
    MPI_Datatype handle;
    int made;
    size_t count, offset;
} layouts[] = {
    {MPI_INT32_T, 0, 1, 8},
    {MPI_INT8_T, 0, 1, 3},
    {MPI_INT32_T, 0, 8, OMPI_OSC_STRIPE_BYTES - 16}, /* short, in two stripes */
    {MPI_INT32_T, 0, 9000, 100},
    {MPI_DOUBLE, 0, 1, OMPI_OSC_STRIPE_BYTES - 4}, /* an element in two stripes */
    {MPI_C_DOUBLE_COMPLEX, 0, 1000, 16},
    {NULL, VECTOR, 30, 0},
    {NULL, BACKWARD, 1, 600},
    {NULL, INDEXED, 700, 8},
    {NULL, ODD_DOUBLES, 400, 0},
    {MPI_SHORT_INT, 0, 1, 16},
    {MPI_DOUBLE_INT, 0, 1000, 8},
    {MPI_LONG_DOUBLE_INT, 0, 300, 16},
    {NULL, PAIRS, 40, 4},
};

/* -- against a plain computation --------------------------------------------------------------- */

/* Packed data, and the same elements as an array in memory. */
typedef struct values {
    char packed[TARGET_BYTES];
    _Alignas(64) char array[TARGET_BYTES];
} values_t;

static values_t in, before, after;
static _Alignas(64) char origin[2][2 * TARGET_BYTES];
static char wanted[TARGET_BYTES];

static size_t count_elements(const ompi_osc_access_t *access)
{
    return ompi_datatype_bytes(access->remote.type, access->remote.count) /
           ompi_datatype_size(ompi_osc_element(access));
}

/* What the accumulate finds, gets, and must leave. */
static void compute(const ompi_osc_access_t *access, size_t total)
{
    const ompi_datatype_t *element = ompi_osc_element(access);
    size_t count = count_elements(access);
    char *remote = (char *)access->remote.buffer + access->shift;
    for (size_t i = 0; i < total; i++)
        in.packed[i] = (char)(i * 11 % 4);
    ompi_datatype_pack(access->remote.type, access->remote.count, remote, 0, before.packed, total);
    ompi_datatype_unpack(element, count, in.array, 0, in.packed, total);
    ompi_datatype_unpack(element, count, after.array, 0, before.packed, total);
    ompi_op_combine(access->op, in.array, after.array, after.array, count, element);
    ompi_datatype_pack(element, count, after.array, 0, after.packed, total);
    memcpy(wanted, target_memory, TARGET_BYTES);
    ompi_datatype_unpack(access->remote.type, access->remote.count,
                         wanted + (remote - target_memory), 0, after.packed, total);
}

/* Origin and result lie as the target does, or as an array. */
static void run_whole(ompi_osc_access_t *access, size_t total, bool is_spread)
{
    ompi_datatype_t *type = is_spread ? access->remote.type : ompi_osc_element(access);
    size_t count = is_spread ? access->remote.count : count_elements(access);
    access->origin = (ompi_data_t){origin[0] + TARGET_BYTES, count, type};
    access->result = (ompi_data_t){origin[1] + TARGET_BYTES, count, type};
    ompi_datatype_unpack(type, count, (void *)access->origin.buffer, 0, in.packed, total);
    ompi_osc_accumulate_here(access);
    ompi_datatype_pack(type, count, access->result.buffer, 0, in.packed, total);
}

/* As a target gets the frames of an accumulate. */
static void run_parts(ompi_osc_access_t *access, size_t total, size_t parts)
{
    ompi_datatype_t *element = ompi_osc_element(access);
    size_t bytes = ompi_datatype_size(element), extent = (size_t)ompi_datatype_extent(element);
    size_t count = count_elements(access);
    for (size_t part = 0, from = 0; part < parts; part++) {
        size_t end = count * (part + 1) / parts, length = end - from;
        access->part_from = from * bytes;
        access->part_bytes = length * bytes;
        access->origin = (ompi_data_t){in.array + from * extent, length, element};
        access->result = (ompi_data_t){origin[1] + from * extent, length, element};
        if (length > 0)
            ompi_osc_accumulate_here(access);
        from = end;
    }
    ompi_datatype_pack(element, count, origin[1], 0, in.packed, total);
}

enum { AT_ONCE = 100 };

/* Whether an access can be made at once: the elements lie one after the other, and aligned. */
static bool is_plain(const ompi_osc_access_t *access)
{
    const ompi_datatype_t *type = access->remote.type;
    return type->is_predefined && type->run != 0 &&
           ((uintptr_t)access->remote.buffer & (type->shape.alignment - 1)) == 0;
}

static void run_at_once(ompi_osc_access_t *access, size_t total)
{
    bool has_data = access->op->action != OMPI_OP_KEEP;
    ompi_osc_accumulate_run(access, has_data ? in.array : NULL, origin[1]);
    ompi_datatype_pack(access->remote.type, access->remote.count, origin[1], 0, in.packed, total);
}

/* `how`: 0 and 1 as a whole; else in so many parts. */
static void check(ompi_osc_access_t access, size_t how)
{
    size_t total = ompi_datatype_bytes(access.remote.type, access.remote.count);
    const ompi_datatype_t *element = ompi_osc_element(&access);
    compute(&access, total);
    if (how == AT_ONCE)
        run_at_once(&access, total);
    else if (how < 2)
        run_whole(&access, total, how == 1);
    else
        run_parts(&access, total, how);
    ck_assert_mem_eq(in.packed, before.packed, total); /* the result */
    ompi_datatype_pack(access.remote.type, access.remote.count,
                       (char *)access.remote.buffer + access.shift, 0, in.packed, total);
    ck_assert_mem_eq(in.packed, after.packed, total);
    if ((MPI_Count)ompi_datatype_size(element) == ompi_datatype_extent(element))
        ck_assert_mem_eq(target_memory, wanted, TARGET_BYTES);
}

START_TEST(every_layout_is_as_computed)
{
    static const MPI_Op numbers[] = {MPI_SUM, MPI_REPLACE, MPI_NO_OP};
    static const size_t ways[] = {0, 1, 2, 7, AT_ONCE};
    static const MPI_Op locations[] = {MPI_MINLOC, MPI_REPLACE, MPI_NO_OP};
    ompi_datatype_t *type =
        layouts[_i].handle != NULL ? ompi_datatype_of(layouts[_i].handle) : made[layouts[_i].made];
    bool is_pair = ompi_op_type(ompi_datatype_element(type)).class == OMPI_OP_PAIR;
    for (size_t i = 0; i < 30; i++) {
        MPI_Op op = is_pair ? locations[i % 3] : numbers[i % 3];
        ompi_osc_access_t access = target_access(op, type, layouts[_i].count, layouts[_i].offset);
        access.is_shared = i / 3 % 2 != 0;
        atomic_store(&fake_shared_area()->lines[TARGET].mode, OMPI_OSC_BY_CPU);
        if (ways[i / 6] != AT_ONCE || is_plain(&access))
            check(access, ways[i / 6]);
    }
}
END_TEST

/* -- runs -------------------------------------------------------------------------------------- */

static size_t runs, elements_run, fails_at;
static uintptr_t next_address;

/* All of its elements begin in the stripe whose lock is held, or it is short. */
static int look_at_run(ompi_osc_access_t *access OPAL_UNUSED, uintptr_t address,
                       const void *from OPAL_UNUSED, void *to, size_t count)
{
    uintptr_t last = address + (count - 1) * sizeof(int32_t);
    bool is_short = last + sizeof(int32_t) - next_address <= 1024 && runs == 0;
    ck_assert_uint_eq(address, next_address);
    ck_assert(is_short || address / OMPI_OSC_STRIPE_BYTES == last / OMPI_OSC_STRIPE_BYTES);
    ck_assert_ptr_null(to);
    ck_assert_uint_eq(atomic_load(&ompi_osc_stripe_of(TARGET, address)->holder), 1);
    ck_assert_uint_eq(atomic_load(&ompi_osc_stripe_of(TARGET, last)->holder), 1);
    next_address += count * sizeof(int32_t);
    elements_run += count;
    return ++runs == fails_at ? MPI_ERR_RMA_RANGE : MPI_SUCCESS;
}

START_TEST(runs_are_cut_at_stripes)
{
    static const struct {
        size_t count, runs, fails_at;
    } wanted_runs[] = {{10, 1, 0}, {256, 1, 0}, {257, 2, 0}, {6000, 4, 0}, {6000, 2, 2}};
    size_t count = wanted_runs[_i].count;
    ompi_osc_access_t access =
        target_access(MPI_SUM, made[INTS], count, OMPI_OSC_STRIPE_BYTES - 20);
    access.origin = (ompi_data_t){in.array, count, made[INTS]};
    next_address = (uintptr_t)access.remote.buffer;
    fails_at = wanted_runs[_i].fails_at;
    ck_assert_int_eq(ompi_osc_accumulate_runs(&access, look_at_run),
                     fails_at != 0 ? MPI_ERR_RMA_RANGE : MPI_SUCCESS);
    ck_assert_uint_eq(runs, wanted_runs[_i].runs);
    ck_assert(fails_at != 0 || elements_run == count);
    for (size_t i = 0; i < OMPI_OSC_STRIPE_LOCKS; i++)
        ck_assert_uint_eq(atomic_load(&ompi_osc_stripes[i].holder), 0);
}
END_TEST

/* -- the mode, and compare --------------------------------------------------------------------- */

/* An accumulate of `count` elements, and what the mode is afterwards. */
START_TEST(longer_ones_change_the_mode)
{
    static const struct {
        MPI_Datatype type;
        size_t count, offset;
        bool is_shared, changes;
    } cases[] = {{MPI_INT32_T, 1, 8, true, false},
                 {MPI_INT32_T, 2, 8, true, true},
                 {MPI_INT32_T, 2, 8, false, false},
                 {MPI_C_DOUBLE_COMPLEX, 2, 16, true, false},
                 {MPI_SHORT_INT, 2, 8, true, false}};
    ompi_datatype_t *type = ompi_datatype_of(cases[_i].type);
    for (int i = 0; i < 3; i++) {
        ompi_osc_access_t access =
            target_access(MPI_REPLACE, type, cases[_i].count, cases[_i].offset);
        access.is_shared = cases[_i].is_shared;
        bool at_once = i == 2 && cases[_i].count > 1 && is_plain(&access);
        if (at_once)
            atomic_store(&fake_shared_area()->lines[TARGET].mode, OMPI_OSC_BY_CPU);
        check(access, at_once ? AT_ONCE : 0);
        ck_assert_uint_eq(target_mode(), cases[_i].changes ? OMPI_OSC_BY_LOCK : OMPI_OSC_BY_CPU);
    }
    ck_assert_uint_eq(atomic_load(&fake_windows[SELF].own->inside), 0);
    ompi_osc_access_t one = target_access(MPI_SUM, made[INTS], 1, 8);
    one.is_shared = true;
    check(one, 0);
}
END_TEST

/* By the CPU, under a lock since the mode has changed, and of memory that is not shared. */
START_TEST(compare_is_the_same_in_all_modes)
{
    int32_t *where = (void *)(target_memory + 40), with = 5, value = 9, found = 0;
    ompi_osc_access_t access = target_access(MPI_REPLACE, made[INTS], 1, 40);
    access.is_shared = _i < 2;
    access.origin = (ompi_data_t){&value, 1, made[INTS]};
    access.result = (ompi_data_t){&found, 1, made[INTS]};
    atomic_store(&fake_shared_area()->lines[TARGET].mode,
                 _i == 1 ? OMPI_OSC_CHANGES : OMPI_OSC_BY_CPU);
    *where = 4;
    ompi_osc_compare_here(&access, &with);
    ck_assert(found == 4 && *where == 4);
    *where = 5;
    access.result.buffer = &with; /* one buffer for both */
    ompi_osc_compare_here(&access, &with);
    ck_assert(with == 5 && *where == 9);
    ck_assert_uint_eq(target_mode(), _i == 1 ? OMPI_OSC_BY_LOCK : OMPI_OSC_BY_CPU);
}
END_TEST

static const unit_test_t tests[] = {
    {.test = &every_layout_is_as_computed, .repeats = OPAL_COUNT_OF(layouts)},
    {.test = &runs_are_cut_at_stripes, .repeats = 5},
    {.test = &longer_ones_change_the_mode, .repeats = 5},
    {.test = &compare_is_the_same_in_all_modes, .repeats = 3},
};

UNIT_MAIN("accumulate", tests, setup);
