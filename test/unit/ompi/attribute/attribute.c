/* SPDX-License-Identifier: BSD-3-Clause */
/* ompi/attribute: values of all kinds of objects, copies, failing callbacks, threads. */
#include "ompi/attribute/attribute.h"

#include <pthread.h>

#include "test/unit/opal/support.h"

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

static void end(ompi_object_t *object)
{
    ck_assert_int_eq(ompi_attributes_delete_all(object), MPI_SUCCESS);
    ompi_object_release(object);
}

static char log_text[256]; /* what the callbacks were asked, a word each */

static void note(const char *what, int keyval, const void *value)
{
    size_t length = strlen(log_text);
    snprintf(log_text + length, sizeof log_text - length, "%s%d:%d ", what, keyval - 4096,
             (int)(intptr_t)value);
}

static void *number(intptr_t value)
{
    return (void *)value;
}

/* Copies the value + 100; does not copy 5; fails for 6. */
static int copy_comm(MPI_Comm comm OPAL_UNUSED, int keyval, void *extra OPAL_UNUSED, void *value,
                     void *copy, int *flag)
{
    note("c", keyval, value);
    *(void **)copy = number((intptr_t)value + 100);
    *flag = (intptr_t)value != 5;
    return (intptr_t)value == 6 ? MPI_ERR_IO : MPI_SUCCESS;
}

static bool is_lenient;

/* Fails for 7 and 107, unless it is lenient. */
static int delete_comm(MPI_Comm comm OPAL_UNUSED, int keyval, void *value, void *extra OPAL_UNUSED)
{
    note("d", keyval, value);
    return (intptr_t)value % 100 == 7 && !is_lenient ? MPI_ERR_ACCESS : MPI_SUCCESS;
}

static int make_keyval(void)
{
    int keyval;
    ck_assert_int_eq(ompi_keyval_create(OMPI_COMM, (ompi_attribute_copy_fn_t){.comm = copy_comm},
                                        (ompi_attribute_delete_fn_t){.comm = delete_comm}, NULL,
                                        &keyval),
                     MPI_SUCCESS);
    return keyval;
}

static void check_value(ompi_object_t *object, int keyval, intptr_t wanted)
{
    void *value = NULL;
    int flag = 0;
    ck_assert_int_eq(ompi_attribute_get(object, keyval, &value, &flag), MPI_SUCCESS);
    ck_assert_int_eq(flag, wanted != 0);
    ck_assert_int_eq((intptr_t)value, wanted);
}

START_TEST(copies_are_made_in_order)
{
    ompi_object_t *from = create(OMPI_COMM), *to = create(OMPI_COMM);
    int keyvals[4];
    for (int i = 0; i < 4; i++)
        keyvals[i] = make_keyval();
    for (int i = 0; i < 3; i++)
        ompi_attribute_set(from, keyvals[i], number(i == 1 ? 5 : i + 1));
    ck_assert_int_eq(ompi_attributes_copy_all(from, to), MPI_SUCCESS);
    ck_assert_str_eq(log_text, "c0:1 c1:5 c2:3 ");
    check_value(to, keyvals[0], 101);
    check_value(to, keyvals[1], 0);
    check_value(to, keyvals[2], 103);
    check_value(from, keyvals[2], 3);
    *log_text = 0;
    end(to);
    ck_assert_str_eq(log_text, "d2:103 d0:101 ");
    end(from);
    for (int i = 0; i < 4; i++)
        ompi_keyval_free(OMPI_COMM, keyvals[i]);
}
END_TEST

START_TEST(a_failing_copy_undoes_the_others)
{
    ompi_object_t *from = create(OMPI_COMM), *to = create(OMPI_COMM);
    int keyvals[4];
    for (int i = 0; i < 4; i++) {
        keyvals[i] = make_keyval();
        ompi_attribute_set(from, keyvals[i], number(i == 2 ? 6 : 7));
    }
    ck_assert_int_eq(ompi_attributes_copy_all(from, to), MPI_ERR_IO);
    ck_assert_str_eq(log_text, "c0:7 c1:7 c2:6 d1:107 d0:107 ");
    ck_assert_ptr_null(to->attributes);
    ompi_object_release(to);

    /* A failing delete leaves what is not deleted yet. */
    ck_assert_int_eq(ompi_attributes_delete_all(from), MPI_ERR_ACCESS);
    for (int i = 0; i < 4; i++)
        check_value(from, keyvals[i], i == 2 ? 6 : 7);
    is_lenient = true;
    end(from);
    for (int i = 0; i < 4; i++)
        ompi_keyval_free(OMPI_COMM, keyvals[i]);
}
END_TEST

START_TEST(predefined_copy_functions)
{
    static const ompi_kind_t kinds[] = {OMPI_COMM, OMPI_DATATYPE, OMPI_WIN};
    ompi_object_t *from = create(kinds[_i]), *to = create(kinds[_i]);
    int dup, null;
    ompi_keyval_create(kinds[_i], (ompi_attribute_copy_fn_t){.type = MPI_TYPE_DUP_FN},
                       (ompi_attribute_delete_fn_t){.win = MPI_WIN_NULL_DELETE_FN}, NULL, &dup);
    ompi_keyval_create(kinds[_i], (ompi_attribute_copy_fn_t){.type = MPI_TYPE_NULL_COPY_FN},
                       (ompi_attribute_delete_fn_t){.win = MPI_WIN_NULL_DELETE_FN}, NULL, &null);
    ompi_attribute_set(from, dup, number(11));
    ompi_attribute_set(from, null, number(12));
    ck_assert_int_eq(ompi_keyval_free(kinds[_i], dup), MPI_SUCCESS);
    ck_assert_int_eq(ompi_attributes_copy_all(from, to), MPI_SUCCESS);
    end(from);
    check_value(to, dup, 11); /* the keyval lives on in the copy */
    check_value(to, null, 0);
    ck_assert_int_eq(ompi_keyval_free(kinds[(_i + 1) % 3], null), MPI_ERR_KEYVAL);
    end(to);
    ck_assert_int_eq(ompi_keyval_free(kinds[_i], dup), MPI_ERR_KEYVAL);
    ck_assert_int_eq(ompi_keyval_free(kinds[_i], null), MPI_SUCCESS);
}
END_TEST

static int delete_type(MPI_Datatype type, int keyval OPAL_UNUSED, void *value, void *extra)
{
    *(void **)extra = value;
    return (void *)type == value ? MPI_SUCCESS : MPI_ERR_TYPE;
}

static int delete_win(MPI_Win win, int keyval OPAL_UNUSED, void *value, void *extra)
{
    *(void **)extra = value;
    return (void *)win == value ? MPI_SUCCESS : MPI_ERR_WIN;
}

START_TEST(callbacks_get_their_kind_of_handle)
{
    void *got = NULL;
    int keyval;
    ompi_object_t *type = create(OMPI_DATATYPE), *win = create(OMPI_WIN);
    ompi_keyval_create(OMPI_DATATYPE, (ompi_attribute_copy_fn_t){.type = MPI_TYPE_NULL_COPY_FN},
                       (ompi_attribute_delete_fn_t){.type = delete_type}, &got, &keyval);
    ompi_attribute_set(type, keyval, type);
    end(type);
    ck_assert_ptr_eq(got, type);
    ompi_keyval_free(OMPI_DATATYPE, keyval);
    ompi_keyval_create(OMPI_WIN, (ompi_attribute_copy_fn_t){.win = MPI_WIN_NULL_COPY_FN},
                       (ompi_attribute_delete_fn_t){.win = delete_win}, &got, &keyval);
    ompi_attribute_set(win, keyval, win);
    end(win);
    ck_assert_ptr_eq(got, win);
    ompi_keyval_free(OMPI_WIN, keyval);
}
END_TEST

START_TEST(windows_have_predefined_values)
{
    ompi_object_t *win = create(OMPI_WIN), *comm = create(OMPI_COMM);
    check_value(win, MPI_WIN_BASE, 0);
    ck_assert_int_eq(ompi_attribute_predefine(win, MPI_WIN_BASE, number(77)), MPI_SUCCESS);
    check_value(win, MPI_WIN_BASE, 77);
    ck_assert_int_eq(ompi_attribute_set(win, MPI_WIN_BASE, NULL), MPI_ERR_KEYVAL);
    ck_assert_int_eq(ompi_attribute_delete(win, MPI_WIN_BASE), MPI_ERR_KEYVAL);
    ck_assert_int_eq(ompi_attribute_predefine(comm, MPI_WIN_BASE, NULL), MPI_ERR_KEYVAL);
    end(win);
    end(comm);
}
END_TEST

START_TEST(numbers_are_used_again)
{
    enum { COUNT = 100 };
    int keyvals[COUNT];
    for (int i = 0; i < COUNT; i++)
        keyvals[i] = make_keyval();
    ck_assert_int_eq(ompi_keyval_free(OMPI_COMM, keyvals[40]), MPI_SUCCESS);
    ck_assert_int_eq(ompi_keyval_free(OMPI_COMM, keyvals[20]), MPI_SUCCESS);
    ck_assert_int_eq(make_keyval(), keyvals[20]);
    ck_assert_int_eq(make_keyval(), keyvals[40]);
    ck_assert_int_eq(make_keyval(), keyvals[COUNT - 1] + 1);
    ck_assert_int_eq(ompi_keyval_free(OMPI_COMM, keyvals[COUNT - 1] + 1), MPI_SUCCESS);
    for (int i = 0; i < COUNT; i++)
        ck_assert_int_eq(ompi_keyval_free(OMPI_COMM, keyvals[i]), MPI_SUCCESS);
    ck_assert_int_eq(ompi_keyval_free(OMPI_COMM, keyvals[0]), MPI_ERR_KEYVAL);
}
END_TEST

static ompi_object_t *shared;

static int delete_quietly(MPI_Comm comm OPAL_UNUSED, int keyval OPAL_UNUSED,
                          void *value OPAL_UNUSED, void *extra OPAL_UNUSED)
{
    return MPI_SUCCESS;
}

static void *churn(void *failed)
{
    for (intptr_t i = 1; i < 3000; i++) {
        int keyval, flag;
        void *value = NULL;
        ompi_object_t *copy = create(OMPI_COMM);
        ompi_keyval_create(OMPI_COMM, (ompi_attribute_copy_fn_t){.comm = MPI_COMM_DUP_FN},
                           (ompi_attribute_delete_fn_t){.comm = delete_quietly}, NULL, &keyval);
        bool good = ompi_attribute_set(shared, keyval, number(i)) == MPI_SUCCESS &&
                    ompi_attribute_set(shared, keyval, number(2 * i)) == MPI_SUCCESS &&
                    ompi_keyval_free(OMPI_COMM, keyval) == MPI_SUCCESS &&
                    ompi_attributes_copy_all(shared, copy) == MPI_SUCCESS &&
                    ompi_attribute_get(copy, keyval, &value, &flag) == MPI_SUCCESS && flag &&
                    value == number(2 * i) &&
                    ompi_attribute_delete(shared, keyval) == MPI_SUCCESS &&
                    ompi_attributes_delete_all(copy) == MPI_SUCCESS;
        ompi_object_release(copy);
        if (!good)
            return failed;
    }
    return NULL;
}

START_TEST(threads_share_objects)
{
    pthread_t threads[4];
    shared = create(OMPI_COMM);
    for (int i = 0; i < 4; i++)
        ck_assert_int_eq(pthread_create(&threads[i], NULL, churn, threads), 0);
    for (int i = 0; i < 4; i++) {
        void *failed;
        pthread_join(threads[i], &failed);
        ck_assert_ptr_null(failed);
    }
    ck_assert_ptr_null(shared->attributes);
    end(shared);
}
END_TEST

static const unit_test_t tests[] = {
    {.test = &copies_are_made_in_order},
    {.test = &a_failing_copy_undoes_the_others},
    {.test = &predefined_copy_functions, .repeats = 3},
    {.test = &callbacks_get_their_kind_of_handle},
    {.test = &windows_have_predefined_values},
    {.test = &numbers_are_used_again},
    {.test = &threads_share_objects},
};

UNIT_MAIN("attribute", tests, NULL);
