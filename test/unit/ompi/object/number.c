/* SPDX-License-Identifier: BSD-3-Clause */
/* ompi/object/number.c: numbers of objects, for one thread at a time and for several. */
#include "ompi/object/number.h"

#include <limits.h>
#include <pthread.h>
#include <sched.h>

#include "test/unit/opal/support.h"

enum { FIRST = OMPI_NUMBER_FIRST, MOST_THREADS = 4 };

static void destroy(ompi_object_t *object)
{
    free(object);
}

static ompi_object_t *create(ompi_kind_t kind)
{
    ompi_object_t *object = malloc(sizeof *object);
    ck_assert_ptr_nonnull(object);
    ompi_object_init(object, kind, destroy);
    return object;
}

/* Each test of one thread runs with atomic changes and with plain ones. */
static void choose_changes(int alone)
{
    ompi_object_threads = !alone;
    ck_assert_int_eq(ompi_kind_is_of_one_thread(OMPI_REQUEST), alone);
}

/* Each kind counts for itself; the number given back last is given out first. */
START_TEST(numbers_are_reused)
{
    enum { COUNT = 1000 };
    ompi_object_t *objects[COUNT];
    choose_changes(_i);
    for (int i = 0; i < COUNT; i++) {
        objects[i] = create(OMPI_REQUEST);
        ck_assert_int_eq(ompi_object_number(objects[i]), FIRST + i);
        ck_assert_int_eq(ompi_object_number(objects[i]), FIRST + i);
    }
    ompi_object_t *other = create(OMPI_WIN);
    ck_assert_int_eq(ompi_object_number(other), FIRST);
    ck_assert_ptr_eq(ompi_object_of_number(OMPI_WIN, FIRST), other);
    for (int i = 0; i < COUNT; i++)
        ck_assert_ptr_eq(ompi_object_of_number(OMPI_REQUEST, FIRST + i), objects[i]);

    static const int freed[] = {3, COUNT - 1, 70};
    for (size_t i = 0; i < OPAL_COUNT_OF(freed); i++) {
        ompi_object_release(objects[freed[i]]);
        ck_assert_ptr_null(ompi_object_of_number(OMPI_REQUEST, FIRST + freed[i]));
    }
    for (size_t i = OPAL_COUNT_OF(freed); i > 0; i--) {
        objects[freed[i - 1]] = create(OMPI_REQUEST);
        ck_assert_int_eq(ompi_object_number(objects[freed[i - 1]]), FIRST + freed[i - 1]);
    }
    for (int i = 0; i < COUNT; i++) {
        ck_assert_ptr_eq(ompi_object_of_number(OMPI_REQUEST, FIRST + i), objects[i]);
        ompi_object_release(objects[i]);
        ck_assert_ptr_null(ompi_object_of_number(OMPI_REQUEST, FIRST + i));
    }
    ompi_object_release(other);
}
END_TEST

START_TEST(numbers_that_no_object_has)
{
    ompi_object_t *object = create(OMPI_REQUEST);
    static const int numbers[] = {INT_MIN,   -1,         0,          FIRST - 1,   FIRST,
                                  FIRST + 1, FIRST + 63, FIRST + 64, INT_MAX - 1, INT_MAX};
    for (size_t i = 0; i < OPAL_COUNT_OF(numbers); i++)
        ck_assert_ptr_null(ompi_object_of_number(OMPI_REQUEST, numbers[i]));
    ompi_object_release(object); /* which has none, either */
    object = create(OMPI_REQUEST);
    ck_assert_int_eq(ompi_object_number(object), FIRST);
    for (size_t i = 0; i < OPAL_COUNT_OF(numbers); i++)
        ck_assert_ptr_eq(ompi_object_of_number(OMPI_REQUEST, numbers[i]),
                         numbers[i] == FIRST ? object : NULL);
    ompi_object_release(object);
}
END_TEST

/* Threads that run the same function on something that they share. */
static void run_threads(int count, void *(*run)(void *), void *shared)
{
    pthread_t threads[MOST_THREADS];
    for (int i = 0; i < count; i++)
        ck_assert_int_eq(pthread_create(&threads[i], NULL, run, shared), 0);
    for (int i = 0; i < count; i++)
        pthread_join(threads[i], NULL);
}

/* Every object is found by its number as long as it lives: few objects, so that threads take and
 * give back the same numbers, and many, so that the table grows meanwhile. */
static void *churn(void *wrong)
{
    enum { MOST = 200, ROUNDS = 20000 };
    ompi_object_t *objects[MOST];
    int numbers[MOST];
    for (int round = 0; round < ROUNDS; round++) {
        int count = round % 500 == 0 ? MOST : 1 + round % 4;
        for (int i = 0; i < count; i++) {
            objects[i] = create(OMPI_SESSION);
            numbers[i] = ompi_object_number(objects[i]);
        }
        for (int i = 0; i < count; i++) {
            if (ompi_object_of_number(OMPI_SESSION, numbers[i]) != objects[i])
                atomic_fetch_add((atomic_int *)wrong, 1);
            ompi_object_release(objects[i]);
        }
    }
    return NULL;
}

START_TEST(threads_take_numbers)
{
    atomic_int wrong = 0;
    ompi_object_threads = _i; /* sessions are for all threads at both levels */
    run_threads(MOST_THREADS, churn, &wrong);
    ck_assert_int_eq(atomic_load(&wrong), 0);
    ompi_object_t *next = create(OMPI_SESSION);
    ck_assert_int_lt(ompi_object_number(next), FIRST + MOST_THREADS * 200); /* none was lost */
    ompi_object_release(next);
}
END_TEST

enum { COMMS = 5000 };

typedef struct shared {
    ompi_object_t *comms[COMMS];
    atomic_int arrived, wrong;
} shared_t;

/* Waits for the other threads before each object. */
static void *ask_for_all(void *argument)
{
    shared_t *shared = argument;
    for (int i = 0; i < COMMS; i++) {
        atomic_fetch_add(&shared->arrived, 1);
        for (int spin = 1; atomic_load(&shared->arrived) < 2 * (i + 1); spin++) {
            if (spin % 1000 == 0)
                sched_yield();
        }
        int number = ompi_object_number(shared->comms[i]);
        if (ompi_object_of_number(OMPI_COMM, number) != shared->comms[i])
            atomic_fetch_add(&shared->wrong, 1);
    }
    return NULL;
}

/* Threads that ask at once for the number of one object get the same, and no number is lost. */
START_TEST(threads_ask_for_the_number_of_one_object)
{
    static shared_t shared;
    for (int i = 0; i < COMMS; i++)
        shared.comms[i] = create(OMPI_COMM);
    run_threads(2, ask_for_all, &shared);
    ck_assert_int_eq(atomic_load(&shared.wrong), 0);

    /* At most one number was taken and given back; it is taken again at once. */
    int last = FIRST + COMMS, found = 0;
    for (int number = FIRST; number < last + 100; number++) {
        ompi_object_t *object = ompi_object_of_number(OMPI_COMM, number);
        ck_assert(object == NULL || (number <= last && ompi_object_number(object) == number));
        found += object != NULL;
    }
    ck_assert_int_eq(found, COMMS);
    for (int i = 0; i < COMMS; i++)
        ompi_object_release(shared.comms[i]);
}
END_TEST

static const unit_test_t tests[] = {
    {.test = &numbers_are_reused, .repeats = 2},
    {.test = &numbers_that_no_object_has},
    {.test = &threads_take_numbers, .repeats = 2},
    {.test = &threads_ask_for_the_number_of_one_object},
};

UNIT_MAIN("number", tests, NULL);
