/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * ompi/fortran/section.c: sections and types made at random, against a model that looks for each
 * byte by itself; which types are kept, and for how long.
 */
#include "ompi/fortran/section.h"

#include <pthread.h>

#include "ompi/datatype/datatype.h"
#include "test/unit/ompi/datatype/model.h"
#include "test/unit/ompi/fortran/arrays.h"

enum {
    ROUNDS = 10,    /* processes of the test */
    SECTIONS = 150, /* in each */
    AROUND = 16,    /* bytes in front of and behind the data */
};

/* -- the model -------------------------------------------------------------------------------- */

/* The dimension that data beyond the last element goes on in. */
static int last_dimension(const ompi_fortran_array_t *array)
{
    int last = array->rank - 1;
    while (last > 0 && array->dims[last].extent == 1)
        last--;
    return last;
}

/* Where byte `v` of the contiguous array lies in the section. */
static MPI_Count place_of(const ompi_fortran_array_t *array, MPI_Count v)
{
    MPI_Count bytes = (MPI_Count)array->element_bytes;
    MPI_Count element = v / bytes - (v % bytes < 0), place = v - element * bytes;
    int last = last_dimension(array);
    for (int i = 0; i < last; i++) {
        MPI_Count extent = array->dims[i].extent;
        MPI_Count index = (element % extent + extent) % extent;
        place += index * array->dims[i].stride_bytes;
        element = (element - index) / extent;
    }
    return place + element * array->dims[last].stride_bytes;
}

static ompi_fortran_array_t *random_array(MPI_Count element_bytes)
{
    int rank = (int)model_random(1, 5);
    ompi_fortran_array_t *array = create_array(NULL, (size_t)element_bytes, rank);
    MPI_Count stride = element_bytes;
    for (int i = 0; i < rank; i++) {
        if (model_random(0, 1) == 0)
            stride += model_random(1, 20);
        array->dims[i].extent = model_random(0, 3) == 0 ? 1 : model_random(2, 5);
        array->dims[i].stride_bytes = model_random(0, 3) == 0 ? -stride : stride;
        stride *= array->dims[i].extent;
    }
    if (model_random(0, 9) == 0) /* of the sections none ends there, so it says nothing */
        array->dims[rank - 1].extent = -1;
    return array;
}

/* Memory around a section, and where the data of a message lies in it. */
typedef struct memory {
    size_t bytes, packed_bytes;
    MPI_Count low, high; /* of the data, from the base on */
    MPI_Count *places;   /* of the packed bytes */
    unsigned char *block;
} memory_t;

static memory_t create_memory(ompi_fortran_array_t *array, const sample_t *sample, MPI_Count count)
{
    memory_t memory = {.packed_bytes = (size_t)count * model_size(&sample->model)};
    memory.places = model_offsets(&sample->model, (size_t)count);
    for (size_t i = 0; i < memory.packed_bytes; i++) {
        memory.places[i] = place_of(array, memory.places[i]);
        if (i == 0 || memory.places[i] < memory.low)
            memory.low = memory.places[i];
        if (i == 0 || memory.places[i] >= memory.high)
            memory.high = memory.places[i] + 1;
    }
    memory.bytes = (size_t)(memory.high - memory.low) + 2 * AROUND;
    memory.block = malloc(memory.bytes);
    ck_assert_ptr_nonnull(memory.block);
    uint32_t random = (uint32_t)model_random(0, UINT32_MAX);
    for (size_t i = 0; i < memory.bytes; i++) {
        random = random * 1664525 + 1013904223;
        memory.block[i] = (unsigned char)(random >> 24);
    }
    array->base = memory.block + AROUND - memory.low;
    return memory;
}

static void destroy_memory(memory_t *memory)
{
    free(memory->places);
    free(memory->block);
}

/* -- any section, any type -------------------------------------------------------------------- */

static void check_type(const ompi_datatype_t *made, const memory_t *memory, const sample_t *sample,
                       MPI_Count count)
{
    ck_assert(ompi_datatype_is_committed(made));
    ck_assert_uint_eq(ompi_datatype_size(made), memory->packed_bytes);
    ck_assert_int_eq(ompi_datatype_true_lb(made), memory->low);
    ck_assert_int_eq(ompi_datatype_true_extent(made), memory->high - memory->low);
    ck_assert_ptr_eq(ompi_datatype_element(made), ompi_datatype_element(sample->type));
    ck_assert_uint_eq(ompi_datatype_elements(made),
                      (size_t)count * ompi_datatype_elements(sample->type));
    ck_assert_uint_eq(ompi_datatype_signature_hash(made),
                      ompi_signature_hash(sample->type->shape.signature, (size_t)count));
}

static void check_packs(const ompi_datatype_t *made, const memory_t *memory, char *base)
{
    size_t bytes = memory->packed_bytes;
    unsigned char *packed = malloc(bytes), *expected = malloc(bytes + memory->bytes);
    ck_assert(packed != NULL && expected != NULL);
    for (size_t i = 0; i < bytes; i++)
        expected[i] = (unsigned char)base[memory->places[i]];
    ck_assert_uint_eq(ompi_datatype_pack(made, 1, base, 0, packed, bytes), bytes);
    ck_assert_mem_eq(packed, expected, bytes);

    /* Bytes between the data stay; those that the type has more than once get the same again. */
    memcpy(expected, memory->block, memory->bytes);
    for (size_t i = 0; i < bytes; i++) {
        packed[i] = (unsigned char)~packed[i];
        expected[memory->places[i] - memory->low + AROUND] = packed[i];
    }
    ck_assert_uint_eq(ompi_datatype_unpack(made, 1, base, 0, packed, bytes), bytes);
    ck_assert_mem_eq(memory->block, expected, memory->bytes);
    free(packed);
    free(expected);
}

static void check_message(const ompi_fortran_array_t *array, const sample_t *sample,
                          MPI_Count count, const memory_t *memory)
{
    MPI_Datatype handle = ompi_object_handle(sample->type);
    ompi_fortran_message_t message = ompi_fortran_message(array, count, handle);
    ck_assert_ptr_eq(message.buffer, array->base);
    if (ompi_fortran_is_dense(array) || memory->packed_bytes == 0) {
        ck_assert_ptr_null(message.made);
        ck_assert_int_eq(message.count, count);
        ck_assert_ptr_eq(message.type, handle);
    } else {
        ck_assert_ptr_nonnull(message.made);
        ck_assert_int_eq(message.count, 1);
        ck_assert_ptr_eq(message.type, ompi_object_handle(message.made));
        check_type(message.made, memory, sample, count);
        check_packs(message.made, memory, array->base);
    }
    ompi_fortran_message_end(&message);
}

static void check_section(sample_t sample, MPI_Count element_bytes)
{
    MPI_Count count = model_random(1, 12);
    ompi_fortran_array_t *array = random_array(element_bytes);
    memory_t memory = create_memory(array, &sample, count);
    ompi_datatype_commit(sample.type);
    check_message(array, &sample, count, &memory);
    destroy_memory(&memory);
    sample_destroy(&sample);
    free(array);
}

/* Elements of any length, so that data ends and begins within them. */
START_TEST(random_sections_are_as_the_model_says)
{
    model_seed((uint64_t)_i + 1);
    for (int i = 0; i < SECTIONS; i++)
        check_section(sample_create(), model_random(1, 16));
}
END_TEST

/* Elements of a whole number of elements of the type. */
START_TEST(random_sections_of_their_own_types)
{
    model_seed((uint64_t)_i + 1000);
    for (int i = 0; i < SECTIONS; i++) {
        sample_t sample = sample_create();
        MPI_Count lb, ub;
        model_bounds(&sample.model, &lb, &ub);
        check_section(sample, ub > lb ? (ub - lb) * model_random(1, 3) : 8);
    }
}
END_TEST

/* -- arrays without gaps ---------------------------------------------------------------------- */

static void check_dense(ompi_fortran_array_t *array)
{
    ck_assert(ompi_fortran_is_dense(array));
    ompi_fortran_message_t message = ompi_fortran_message(array, 3, MPI_INT);
    ck_assert_ptr_eq(message.buffer, array->base);
    ck_assert_int_eq(message.count, 3);
    ck_assert_ptr_eq(message.type, MPI_INT);
    ck_assert_ptr_null(message.made);
    free(array);
}

START_TEST(arrays_without_gaps_are_passed_on)
{
    int numbers[12];
    check_dense(create_array(numbers, 4, 0));
    check_dense(create_row(numbers, 4, 12, 4));
    check_dense(create_row(numbers, 4, 1, 40));
    check_dense(create_row(numbers, 4, 0, 8));
    check_dense(create_row(numbers, 0, 3, 8));
    check_dense(create_block(numbers, 4, 3, 4, 12));
    check_dense(create_block(numbers, 4, 3, -1, 12)); /* of assumed size */
    check_dense(create_block(numbers, 4, 3, 1, 100));
    check_dense(create_block(numbers, 4, 0, 4, 100));
    check_dense(create_block(numbers, 4, 2, 0, 100));
}
END_TEST

START_TEST(constants_become_those_of_c)
{
    static MPI_Fint *const blocks[] = {mpi_fortran_constants, mpi_fortran_constants_,
                                       mpi_fortran_constants__, MPI_FORTRAN_CONSTANTS};
    for (size_t i = 0; i < OPAL_COUNT_OF(blocks); i++) {
        ompi_fortran_array_t *array = create_array(&blocks[i][OMPI_FORTRAN_BOTTOM], 4, 0);
        ck_assert_ptr_eq(ompi_fortran_message(array, 1, MPI_INT).buffer, MPI_BOTTOM);
        array->base = &blocks[i][OMPI_FORTRAN_IN_PLACE];
        ck_assert_ptr_eq(ompi_fortran_message(array, 1, MPI_INT).buffer, MPI_IN_PLACE);
        array->base = &blocks[i][OMPI_FORTRAN_BUFFER_AUTOMATIC];
        ck_assert_ptr_eq(ompi_fortran_message(array, 1, MPI_INT).buffer, MPI_BUFFER_AUTOMATIC);
        array->base = &blocks[i][OMPI_FORTRAN_STATUS_IGNORE];
        ck_assert_ptr_eq(ompi_fortran_message(array, 1, MPI_INT).buffer, array->base);
        free(array);
    }
}
END_TEST

/* -- arguments -------------------------------------------------------------------------------- */

static void check_passed_on(const ompi_fortran_array_t *array, MPI_Count count, MPI_Datatype type)
{
    ompi_fortran_message_t message = ompi_fortran_message(array, count, type);
    ck_assert_ptr_null(message.made);
    ck_assert_ptr_eq(message.buffer, array->base);
    ck_assert_int_eq(message.count, count);
    ck_assert_ptr_eq(message.type, type);
}

/* MPI says what is wrong with them. */
START_TEST(bad_arguments_are_passed_on)
{
    int numbers[12];
    sample_t sample;
    do
        sample = sample_create();
    while (sample.type->is_predefined);
    ompi_fortran_array_t *array = create_row(numbers, 4, 6, 8);
    check_passed_on(array, 0, MPI_INT);
    check_passed_on(array, -1, MPI_INT);
    check_passed_on(array, 1, MPI_DATATYPE_NULL);
    check_passed_on(array, 1, (MPI_Datatype)(uintptr_t)MPI_COMM_WORLD);
    check_passed_on(array, 1, ompi_object_handle(sample.type)); /* not committed */
    sample_destroy(&sample);
    free(array);
}
END_TEST

START_TEST(more_data_than_memory_has_is_refused)
{
    int numbers[12];
    ompi_fortran_array_t *array = create_row(numbers, 4, 6, 8);
    static const MPI_Count counts[] = {INT64_MAX / 8, INT64_MAX};
    for (size_t i = 0; i < OPAL_COUNT_OF(counts); i++) {
        ompi_fortran_message_t message = ompi_fortran_message(array, counts[i], MPI_INT);
        ck_assert_ptr_eq(message.type, MPI_DATATYPE_NULL);
        ck_assert_ptr_null(message.made);
    }
    array->dims[0].stride_bytes = INT64_MAX / 16;
    ck_assert_ptr_eq(ompi_fortran_message(array, 100, MPI_INT).type, MPI_DATATYPE_NULL);
    free(array);
}
END_TEST

/* -- how large a type is ---------------------------------------------------------------------- */

/* The inner part of a cube, and most of it: no run of it has a node of its own. */
START_TEST(layouts_of_sections_are_small)
{
    enum { EDGE = 1000 };
    static double first; /* of a cube that is not there: nothing is copied */
    ompi_fortran_array_t *array = create_array(&first, 8, 3);
    for (int i = 0; i < 3; i++) {
        array->dims[i].extent = EDGE - 2;
        array->dims[i].stride_bytes = i == 0 ? 8 : array->dims[i - 1].stride_bytes * EDGE;
    }
    MPI_Count all = (MPI_Count)(EDGE - 2) * (EDGE - 2) * (EDGE - 2);
    ompi_fortran_message_t whole = ompi_fortran_message(array, all, MPI_DOUBLE);
    const ompi_layout_t *layout = whole.made->shape.layout;
    ck_assert_int_eq(layout->kind, OMPI_LAYOUT_LOOP);
    ck_assert_uint_eq(layout->count, EDGE - 2);
    ck_assert_int_eq(layout->child->kind, OMPI_LAYOUT_LOOP);
    ck_assert_uint_eq(layout->child->count, EDGE - 2);
    ck_assert_int_eq(layout->child->child->kind, OMPI_LAYOUT_RUN);
    ck_assert_uint_eq(layout->child->child->bytes, (EDGE - 2) * 8);
    ompi_fortran_message_end(&whole);

    /* The loop of planes, that of rows in the last plane, a part of the last row. */
    ompi_fortran_message_t most = ompi_fortran_message(array, all - 5, MPI_DOUBLE);
    ck_assert_int_eq(most.made->shape.layout->kind, OMPI_LAYOUT_LIST);
    ck_assert_uint_eq(most.made->shape.layout->count, 3);
    ompi_fortran_message_end(&most);
    free(array);
}
END_TEST

/* -- types that are kept ---------------------------------------------------------------------- */

static ompi_datatype_t *made_of(const ompi_fortran_array_t *array, MPI_Count count,
                                MPI_Datatype type)
{
    ompi_fortran_message_t message = ompi_fortran_message(array, count, type);
    ck_assert_ptr_nonnull(message.made);
    ompi_datatype_t *made = message.made;
    ompi_fortran_message_end(&message);
    return made;
}

START_TEST(equal_sections_have_one_type)
{
    int numbers[64], others[64];
    ompi_fortran_array_t *array = create_block(numbers, 4, 2, 4, 32);
    ompi_datatype_t *made = made_of(array, 6, MPI_INT);
    ck_assert_ptr_eq(made_of(array, 6, MPI_INT), made);
    array->base = others;
    array->dims[0].lower = 0;
    ck_assert_ptr_eq(made_of(array, 6, MPI_INT), made);

    ck_assert_ptr_ne(made_of(array, 5, MPI_INT), made);
    ck_assert_ptr_ne(made_of(array, 6, MPI_FLOAT), made);
    ck_assert_ptr_ne(made_of(array, 6, MPI_UNSIGNED), made);
    array->dims[1].stride_bytes = 40;
    ck_assert_ptr_ne(made_of(array, 6, MPI_INT), made);
    array->dims[1].stride_bytes = 32;
    array->dims[0].extent = 3;
    ck_assert_ptr_ne(made_of(array, 6, MPI_INT), made);
    array->dims[0].extent = 2;
    ck_assert_ptr_eq(made_of(array, 6, MPI_INT), made);
    free(array);
}
END_TEST

/* Nothing leads to a type that the user has freed, if the next one lies at its address. */
START_TEST(types_of_the_user_may_end)
{
    int numbers[64];
    ompi_fortran_array_t *array = create_row(numbers, 4, 16, 8);
    for (int i = 0; i < 100; i++) {
        ompi_shape_t shape;
        size_t gap = (size_t)i % 3;
        ck_assert_int_eq(ompi_shape_repeat(&ompi_datatype_of(MPI_INT)->shape, 2,
                                           4 * ((MPI_Count)gap + 1), &shape),
                         MPI_SUCCESS);
        ompi_datatype_t *type = ompi_datatype_create(&shape, NULL);
        ck_assert_ptr_nonnull(type);
        ompi_datatype_commit(type);
        ompi_datatype_t *made = made_of(array, 1, ompi_object_handle(type));
        ck_assert_int_eq(ompi_datatype_true_extent(made), 8 * ((MPI_Count)gap + 1) + 4);
        ompi_datatype_release(type);
    }
    free(array);
}
END_TEST

/* As a type made of MPI_INT and one made of MPI_FLOAT could be. */
START_TEST(types_may_share_a_layout)
{
    int numbers[64];
    ompi_fortran_array_t *array = create_row(numbers, 4, 16, 8);
    ompi_datatype_t *made = made_of(array, 3, MPI_INT);
    ompi_shape_t shape = ompi_shape_copy(&ompi_datatype_of(MPI_INT)->shape);
    ompi_signature_release(shape.signature);
    shape.signature = ompi_signature_retain(ompi_datatype_of(MPI_FLOAT)->shape.signature);
    ompi_datatype_t *type = ompi_datatype_create(&shape, NULL);
    ck_assert_ptr_nonnull(type);
    ompi_datatype_commit(type);
    ck_assert_ptr_ne(made_of(array, 3, ompi_object_handle(type)), made);
    ompi_datatype_release(type);
    free(array);
}
END_TEST

/* The types of a message live as long as it holds them, whatever comes between. */
START_TEST(types_that_are_in_use_live_on)
{
    int numbers[64];
    ompi_fortran_array_t *array = create_row(numbers, 4, 32, 8);
    ompi_fortran_message_t first = ompi_fortran_message(array, 1, MPI_INT);
    for (MPI_Count count = 2; count < 32; count++)
        made_of(array, count, MPI_INT);
    ck_assert_uint_eq(ompi_datatype_size(first.made), 4);
    ck_assert_int_eq(atomic_load(&first.made->head.references), 1);
    ompi_fortran_message_end(&first);
    free(array);
}
END_TEST

START_TEST(kept_types_outlive_the_end_of_mpi)
{
    int numbers[64];
    ompi_fortran_array_t *array = create_row(numbers, 4, 32, 8);
    for (int round = 0; round < 3; round++) {
        for (MPI_Count count = 1; count < 20; count++) {
            made_of(array, 1, MPI_INT);
            made_of(array, count, count % 2 != 0 ? MPI_INT : MPI_2INT);
        }
        ompi_datatype_fini();
        check_passed_on(array, 1, MPI_INT);
        ck_assert_int_eq(ompi_datatype_init(), MPI_SUCCESS);
    }
    free(array);
}
END_TEST

static void *make_many(void *argument)
{
    unsigned seed = *(unsigned *)argument;
    int numbers[64];
    ompi_fortran_array_t *array = create_row(numbers, 4, 32, 8);
    for (unsigned i = 0; i < 2000; i++) {
        MPI_Count count = 1 + (MPI_Count)((i * 7 + seed) % 5 * (i / 100 % 4 + 1));
        ck_assert_uint_eq(ompi_datatype_size(made_of(array, count, MPI_INT)), 4 * (size_t)count);
    }
    free(array);
    return NULL;
}

/* They end, and others begin with what they have kept. */
START_TEST(threads_keep_types_of_their_own)
{
    enum { THREADS = 4, TIMES = 3 };
    for (unsigned time = 0; time < TIMES; time++) {
        pthread_t threads[THREADS];
        unsigned seeds[THREADS];
        for (unsigned i = 0; i < THREADS; i++) {
            seeds[i] = time + i;
            ck_assert_int_eq(pthread_create(&threads[i], NULL, make_many, &seeds[i]), 0);
        }
        for (unsigned i = 0; i < THREADS; i++)
            ck_assert_int_eq(pthread_join(threads[i], NULL), 0);
    }
}
END_TEST

static const unit_test_t tests[] = {
    {.test = &random_sections_are_as_the_model_says, .repeats = ROUNDS},
    {.test = &random_sections_of_their_own_types, .repeats = ROUNDS},
    {.test = &arrays_without_gaps_are_passed_on},
    {.test = &constants_become_those_of_c},
    {.test = &bad_arguments_are_passed_on},
    {.test = &more_data_than_memory_has_is_refused},
    {.test = &layouts_of_sections_are_small},
    {.test = &equal_sections_have_one_type},
    {.test = &types_of_the_user_may_end},
    {.test = &types_may_share_a_layout},
    {.test = &types_that_are_in_use_live_on},
    {.test = &kept_types_outlive_the_end_of_mpi},
    {.test = &threads_keep_types_of_their_own},
};

static void setup(void)
{
    ck_assert_int_eq(ompi_datatype_init(), MPI_SUCCESS);
    model_seed(1);
}

UNIT_MAIN("ompi/fortran/section", tests, setup);
