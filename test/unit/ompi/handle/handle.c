/* SPDX-License-Identifier: BSD-3-Clause */
/* ompi/handle/handle.c, ompi/object/number.c and object.c: handles, their numbers, and the life of
 * objects. */
#include "ompi/handle/handle.h"

#include <pthread.h>

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

/* Each kind counts for itself; a number given back is the next one given out. */
START_TEST(numbers_are_reused)
{
    ompi_object_t *objects[200];
    for (int i = 0; i < 200; i++) {
        objects[i] = create(OMPI_INFO);
        ck_assert_int_eq(ompi_handle_to_int(OMPI_INFO, objects[i]), 4096 + i);
    }
    ompi_object_t *other = create(OMPI_WIN);
    ck_assert_int_eq(ompi_handle_to_int(OMPI_WIN, other), 4096);
    ck_assert_int_eq(ompi_handle_to_int(OMPI_INFO, other), 0);
    ck_assert_ptr_eq(ompi_handle_from_int(OMPI_WIN, 4096), other);
    ck_assert_ptr_eq(ompi_handle_from_int(OMPI_INFO, 4096), objects[0]);

    ompi_object_release(objects[70]);
    ompi_object_release(objects[3]);
    ck_assert_ptr_null(ompi_handle_from_int(OMPI_INFO, 4096 + 3));
    objects[3] = create(OMPI_INFO);
    objects[70] = create(OMPI_INFO);
    ck_assert_int_eq(ompi_handle_to_int(OMPI_INFO, objects[3]), 4096 + 3);
    ck_assert_int_eq(ompi_handle_to_int(OMPI_INFO, objects[70]), 4096 + 70);
    ck_assert_int_eq(ompi_handle_to_int(OMPI_INFO, objects[3]), 4096 + 3);
    ck_assert_ptr_eq(ompi_handle_from_int(OMPI_INFO, 4096 + 70), objects[70]);
    ck_assert_ptr_null(ompi_handle_from_int(OMPI_INFO, 4096 + 200));

    for (int i = 0; i < 200; i++)
        ompi_object_release(objects[i]);
    ompi_object_release(other);
    ck_assert_int_eq(atomic_load(&destroyed), 203);
}
END_TEST

START_TEST(an_object_without_a_number_ends)
{
    ompi_object_release(create(OMPI_REQUEST));
    ompi_object_t *object = create(OMPI_REQUEST);
    ck_assert_int_eq(ompi_handle_to_int(OMPI_REQUEST, object), 4096);
    ompi_object_release(object);
}
END_TEST

static void *churn(void *wrong)
{
    for (int i = 0; i < 5000; i++) {
        ompi_object_t *object = create(OMPI_SESSION);
        int number = ompi_handle_to_int(OMPI_SESSION, object);
        if (ompi_handle_from_int(OMPI_SESSION, number) != object)
            atomic_fetch_add((atomic_int *)wrong, 1);
        ompi_object_release(object);
    }
    return NULL;
}

START_TEST(threads_share_the_table)
{
    pthread_t threads[4];
    atomic_int wrong = 0;
    for (int i = 0; i < 4; i++)
        ck_assert_int_eq(pthread_create(&threads[i], NULL, churn, &wrong), 0);
    for (int i = 0; i < 4; i++)
        pthread_join(threads[i], NULL);
    ck_assert_int_eq(atomic_load(&wrong), 0);
    ck_assert_int_eq(atomic_load(&destroyed), 4 * 5000);
}
END_TEST

static const unit_test_t tests[] = {
    {.test = &objects_are_recognised},
    {.test = &last_reference_destroys},
    {.test = &predefined_objects_stay},
    {.test = &predefined_handles_lead_to_objects_while_defined},
    {.test = &predefined_numbers_are_values},
    {.test = &numbers_are_reused},
    {.test = &an_object_without_a_number_ends},
    {.test = &threads_share_the_table},
};

UNIT_MAIN("handle", tests, NULL);
