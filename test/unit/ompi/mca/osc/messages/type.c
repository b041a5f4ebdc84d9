/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * ompi/mca/osc/messages/type.c: datatypes that were sent pack the same bytes, whatever they are
 * made of; a type is sent once. The transport is the test's.
 */
#include "ompi/api/bodies.h"
#include "test/unit/ompi/datatype/model.h"
#include "test/unit/ompi/mca/osc/messages/fake_btl.h"

enum { RANDOM_TYPES = 300, ROUNDS = 4 };

static void check_properties(const ompi_datatype_t *made, const ompi_datatype_t *type)
{
    ck_assert_uint_eq(ompi_datatype_size(made), ompi_datatype_size(type));
    ck_assert_int_eq(ompi_datatype_lb(made), ompi_datatype_lb(type));
    ck_assert_int_eq(ompi_datatype_extent(made), ompi_datatype_extent(type));
    ck_assert_int_eq(ompi_datatype_true_lb(made), ompi_datatype_true_lb(type));
    ck_assert_int_eq(ompi_datatype_true_extent(made), ompi_datatype_true_extent(type));
    ck_assert(ompi_datatype_is_contiguous(made) == ompi_datatype_is_contiguous(type));
    ck_assert_ptr_eq(ompi_datatype_element(made), ompi_datatype_element(type));
    ck_assert_uint_eq(made->shape.alignment, type->shape.alignment);
}

static void check(const ompi_datatype_t *type)
{
    const ompi_datatype_t *made = transfer(type);
    check_properties(made, type);
    model_check_packs_alike(type, made);
    forget();
}

START_TEST(types_made_at_random_come_back)
{
    model_seed(1000 + (uint64_t)_i);
    for (int i = 0; i < RANDOM_TYPES; i++) {
        sample_t sample = sample_create();
        check(sample.type);
        sample_destroy(&sample);
    }
}
END_TEST

/* A list of so many blocks of one or two doubles at irregular places. */
static ompi_datatype_t *irregular(MPI_Count count)
{
    ompi_datatype_t *type;
    MPI_Count *lengths = calloc((size_t)count, sizeof *lengths), *ends = calloc((size_t)count, 8);
    for (MPI_Count i = 0; i < count; i++) {
        lengths[i] = 1 + i * i % 3 % 2;
        ends[i] = (count - i) * 5 + i * i % 3;
    }
    ck_assert_int_eq(ompi_api_type_indexed(count, ompi_ints_large(lengths), ompi_ints_large(ends),
                                           ompi_datatype_of(MPI_DOUBLE), &type),
                     MPI_SUCCESS);
    free(lengths);
    free(ends);
    return type;
}

START_TEST(large_types_come_in_many_frames)
{
    ompi_datatype_t *type = irregular(20000);
    check(type);
    ck_assert_uint_gt(frames, 100);
    ompi_datatype_release(type);
}
END_TEST

/* Each level is a structure of the one before, once or twice, and of a char far behind it or before
 * it. */
START_TEST(deep_types_come_back)
{
    ompi_datatype_t *type = irregular(3);
    for (MPI_Count level = 0; level < (_i == 0 ? 6 : 300); level++) {
        MPI_Datatype parts[] = {ompi_object_handle(type), MPI_CHAR};
        MPI_Count lengths[] = {_i == 0 ? 2 : 1, 1};
        MPI_Count behind = 4 * ompi_datatype_extent(type), before = -16 * level;
        MPI_Count places[] = {level % 2 * 16, (_i == 0 ? behind : before) - level % 3};
        ompi_datatype_t *next;
        ck_assert_int_eq(ompi_api_type_create_struct(2, ompi_ints_large(lengths),
                                                     ompi_ints_large(places), parts, &next),
                         MPI_SUCCESS);
        ompi_datatype_release(type);
        type = next;
    }
    check(type);
    ompi_datatype_release(type);
}
END_TEST

/* -- slots ------------------------------------------------------------------------------------- */

START_TEST(a_type_is_sent_once)
{
    ompi_datatype_t *types[2 * MESSAGES_TYPE_SLOTS];
    for (MPI_Count i = 0; i < 2 * MESSAGES_TYPE_SLOTS; i++) {
        types[i] = irregular(3 + i);
        ompi_datatype_t *made = transfer(types[i]);
        size_t before = frames;
        ck_assert_ptr_eq(transfer(types[i]), made);
        ck_assert_uint_eq(frames, before);
    }
    /* Again, of those whose slots were taken by others. */
    size_t before = frames;
    for (int i = 0; i < 2 * MESSAGES_TYPE_SLOTS; i++) {
        ck_assert_uint_eq(ompi_datatype_size(transfer(types[i])), ompi_datatype_size(types[i]));
        ompi_datatype_release(types[i]);
    }
    ck_assert_uint_gt(frames, before);
    forget();
}
END_TEST

START_TEST(a_type_waits_for_room)
{
    uint16_t slot;
    ompi_datatype_t *type = irregular(200);
    is_full = true;
    ck_assert_int_eq(messages_type_slot(&sender, type, &slot), MPI_SUCCESS);
    ck_assert_uint_eq(frames, 0);
    is_full = false;
    opal_progress();
    ck_assert_uint_gt(frames, 1);
    check_properties(receiver.received[slot], type);
    ompi_datatype_release(type);
    forget();
}
END_TEST

static const unit_test_t tests[] = {
    {.test = &types_made_at_random_come_back, .repeats = ROUNDS},
    {.test = &large_types_come_in_many_frames},
    {.test = &deep_types_come_back, .repeats = 2},
    {.test = &a_type_is_sent_once},
    {.test = &a_type_waits_for_room},
};

UNIT_MAIN("type", tests, setup);
