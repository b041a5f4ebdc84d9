/* SPDX-License-Identifier: BSD-3-Clause */
/* ompi/handle/handle.h and ompi/object/object.c: handles, and the life of objects. */
#include "ompi/handle/handle.h"

#include "ompi/communicator/communicator.h"
#include "ompi/errhandler/errhandler.h"
#include "test/unit/opal/support.h"

static atomic_int destroyed;

static void destroy(ompi_object_t *object)
{
    atomic_fetch_add(&destroyed, 1);
    free(object);
}

static ompi_object_t *create(ompi_kind_t kind)
{
    ompi_object_t *object = malloc(sizeof *object);
    ck_assert_ptr_nonnull(object);
    ompi_object_init(object, kind, destroy);
    return object;
}

START_TEST(objects_are_recognised)
{
    _Alignas(ompi_object_t) char nothing[2 * sizeof(ompi_object_t)] = "";
    ompi_object_t *object = create(OMPI_WIN);
    ck_assert(ompi_object_is(object, OMPI_WIN));
    ck_assert(!ompi_object_is(object, OMPI_COMM));
    ck_assert(!ompi_object_is(NULL, OMPI_WIN));
    ck_assert(!ompi_object_is(nothing, OMPI_WIN));
    ck_assert(!ompi_object_is(nothing + 1, OMPI_WIN));
    ck_assert_int_eq(ompi_object_kind(object), OMPI_WIN);
    ck_assert_ptr_eq(ompi_object_handle(object), object);
    ck_assert_ptr_eq(ompi_handle_object(object), object);
    ompi_object_release(object);
}
END_TEST

START_TEST(last_reference_destroys)
{
    ompi_object_t *object = create(OMPI_GROUP);
    ompi_object_retain(object);
    ompi_object_release(object);
    ck_assert_int_eq(atomic_load(&destroyed), 0);
    ompi_object_release(object);
    ck_assert_int_eq(atomic_load(&destroyed), 1);
}
END_TEST

START_TEST(predefined_objects_stay)
{
    ompi_object_t *object = &ompi_errors_return.head;
    for (int i = 0; i < 3; i++)
        ompi_object_release(object);
    ck_assert(ompi_object_is(object, OMPI_ERRHANDLER));
    ck_assert_ptr_eq(ompi_handle_object(MPI_ERRORS_RETURN), object);
    ck_assert_ptr_eq(ompi_object_handle(object), MPI_ERRORS_RETURN);
}
END_TEST

START_TEST(predefined_handles_lead_to_objects_while_defined)
{
    ck_assert_ptr_null(ompi_handle_object(MPI_COMM_WORLD));
    ompi_handle_define(&ompi_comm_world.head);
    ck_assert_ptr_eq(ompi_handle_object(MPI_COMM_WORLD), &ompi_comm_world);
    ompi_handle_undefine(&ompi_comm_world.head);
    ck_assert_ptr_null(ompi_handle_object(MPI_COMM_WORLD));
    ck_assert_ptr_null(ompi_handle_object(MPI_COMM_NULL));
    ck_assert_ptr_null(ompi_handle_object((void *)4095));
}
END_TEST

START_TEST(predefined_numbers_are_values)
{
    ck_assert_int_eq(ompi_handle_to_int(OMPI_OP, MPI_SUM), 0x21);
    ck_assert_ptr_eq(ompi_handle_from_int(OMPI_OP, 0x21), MPI_SUM);
    ck_assert_int_eq(ompi_handle_to_int(OMPI_OP, NULL), 0);
    ck_assert_ptr_null(ompi_handle_from_int(OMPI_OP, 0));
    ck_assert_ptr_null(ompi_handle_from_int(OMPI_OP, -1));
}
END_TEST

START_TEST(other_handles_have_the_number_of_their_object)
{
    _Alignas(ompi_object_t) char nothing[2 * sizeof(ompi_object_t)] = "";
    ompi_object_t *object = create(OMPI_WIN);
    ck_assert_int_eq(ompi_handle_to_int(OMPI_WIN, object), OMPI_HANDLE_PREDEFINED);
    ck_assert_ptr_eq(ompi_handle_from_int(OMPI_WIN, OMPI_HANDLE_PREDEFINED), object);
    ck_assert_int_eq(ompi_handle_to_int(OMPI_COMM, object), 0);
    ck_assert_ptr_null(ompi_handle_from_int(OMPI_COMM, OMPI_HANDLE_PREDEFINED));
    ck_assert_int_eq(ompi_handle_to_int(OMPI_WIN, nothing), 0);
    ck_assert_int_eq(ompi_handle_to_int(OMPI_WIN, nothing + 1), 0);
    ompi_object_release(object);
    ck_assert_ptr_null(ompi_handle_from_int(OMPI_WIN, OMPI_HANDLE_PREDEFINED));
}
END_TEST

static const unit_test_t tests[] = {
    {.test = &objects_are_recognised},
    {.test = &last_reference_destroys},
    {.test = &predefined_objects_stay},
    {.test = &predefined_handles_lead_to_objects_while_defined},
    {.test = &predefined_numbers_are_values},
    {.test = &other_handles_have_the_number_of_their_object},
};

UNIT_MAIN("handle", tests, NULL);
