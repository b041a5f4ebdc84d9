/* SPDX-License-Identifier: BSD-3-Clause */
/* ompi/errhandler/errhandler.c: which object has which handler. */
#include "ompi/errhandler/errhandler.h"

#include "test/unit/opal/support.h"

static void handle(MPI_Win *win OPAL_UNUSED, int *code OPAL_UNUSED, ...)
{
}

static ompi_errhandler_t *create(void)
{
    return ompi_errhandler_create(OMPI_WIN, (ompi_errhandler_fn_t){.win = handle});
}

static void destroy(ompi_object_t *object OPAL_UNUSED)
{
}

START_TEST(a_handler_fits_its_kind)
{
    ompi_errhandler_t *mine = create();
    ck_assert(ompi_errhandler_fits(mine, OMPI_WIN));
    ck_assert(!ompi_errhandler_fits(mine, OMPI_COMM));
    ck_assert(ompi_errhandler_fits(&ompi_errors_return, OMPI_WIN));
    ck_assert(ompi_errhandler_fits(&ompi_errors_return, OMPI_COMM));
    ompi_object_release(&mine->head);
}
END_TEST

START_TEST(get_and_detach)
{
    ompi_object_t win;
    ompi_object_init(&win, OMPI_WIN, destroy);
    ompi_errhandler_t *mine = create();
    ompi_errhandler_attach(&win, mine);
    ck_assert_int_eq(atomic_load(&mine->head.references), 2);
    ck_assert_ptr_eq(ompi_errhandler_get(&win), mine);
    ck_assert_int_eq(atomic_load(&mine->head.references), 3);
    ompi_object_release(&mine->head);
    ompi_errhandler_attach(&win, &ompi_errors_return);
    ck_assert_int_eq(atomic_load(&mine->head.references), 1);
    ck_assert_ptr_eq(ompi_errhandler_get(&win), &ompi_errors_return);
    ompi_errhandler_detach(&win);
    ck_assert_ptr_null(ompi_errhandler_get(&win));
    ompi_object_release(&mine->head);
}
END_TEST

/* An object that ends releases its handler. */
START_TEST(the_end_of_an_object)
{
    ompi_object_t win;
    ompi_object_init(&win, OMPI_WIN, destroy);
    ompi_errhandler_t *mine = create();
    ompi_errhandler_attach(&win, mine);
    ck_assert(!ompi_errhandler_ends_job(&win));
    ompi_object_release(&win);
    ck_assert_int_eq(atomic_load(&mine->head.references), 1);
    ompi_object_release(&mine->head);
}
END_TEST

START_TEST(which_ones_end_the_job)
{
    ompi_object_t win;
    ompi_object_init(&win, OMPI_WIN, destroy);
    ck_assert(!ompi_errhandler_ends_job(&win));
    ompi_errhandler_attach(&win, &ompi_errors_abort);
    ck_assert(ompi_errhandler_ends_job(&win));
    ompi_errhandler_attach(&win, &ompi_errors_are_fatal);
    ck_assert(ompi_errhandler_ends_job(&win));
    ompi_errhandler_attach(&win, &ompi_errors_return);
    ck_assert(!ompi_errhandler_ends_job(&win));
}
END_TEST

static const unit_test_t tests[] = {
    {.test = &a_handler_fits_its_kind},
    {.test = &get_and_detach},
    {.test = &the_end_of_an_object},
    {.test = &which_ones_end_the_job},
};

UNIT_MAIN("errhandler", tests, NULL);
